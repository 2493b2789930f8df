#!/bin/sh
# Fails when a header does not compile by itself, or two source files have one name. CC and CPPFLAGS as in the Makefile.
# Headers that assembly includes (emu/asm/include, programs) are no C.
cd "$(dirname "$0")/.." || exit 2
same=$(git ls-files -co --exclude-standard -- '*.[chS]' '*.def' '*.sh' | sed 's|.*/||' | sort | uniq -d)
[ -z "$same" ] || { printf 'two files are called %s\n' $same; exit 1; }
export CC="${CC:-cc}" CPPFLAGS="${CPPFLAGS:--I. -D_GNU_SOURCE}"
headers=$(git ls-files -co --exclude-standard -- '*.h' | grep -vE '^(emu/asm/include|programs/lab/(overlap|stream))')
printf '%s\n' $headers | xargs -P 2 -I {} sh -c \
    'printf "#include \"%s\"\n" {} | $CC $CPPFLAGS -std=gnu11 -march=x86-64-v3 -Wall -Wno-unused-function -Werror -fsyntax-only -x c - ||
     { echo "{}: does not compile by itself"; exit 1; }' || exit 1
echo "$(printf '%s\n' $headers | wc -l) headers compile by themselves"
