#!/bin/sh
# Fails when a header does not compile by itself, when two source files have one name, or when a public header (emu/base/api.h) is no C++
# or includes one that is not public. CC and CPPFLAGS as in the Makefile.
# Headers that assembly includes (emu/asm/include, programs) are no C.
cd "$(dirname "$0")/.." || exit 2
same=$(git ls-files -co --exclude-standard -- '*.[chS]' '*.def' '*.sh' | sed 's|.*/||' | sort | uniq -d)
[ -z "$same" ] || { printf 'two files are called %s\n' $same; exit 1; }
export CC="${CC:-cc}" CPPFLAGS="${CPPFLAGS:--I. -D_GNU_SOURCE}"
headers=$(git ls-files -co --exclude-standard -- '*.h' | grep -vE '^(emu/asm/include|programs/lab/(overlap|stream))')
printf '%s\n' $headers | xargs -P 2 -I {} sh -c \
    'printf "#include \"%s\"\n" {} | $CC $CPPFLAGS -std=gnu11 -march=x86-64-v3 -Wall -Wno-unused-function -Werror -fsyntax-only -x c - ||
     { echo "{}: does not compile by itself"; exit 1; }' || exit 1

# Who lowers asks about readers in one way (models/lower/readers.h): the field is hidden.
if printf '#include "models/lower/lowering.h"\nextern int reads;int reads=sizeof(((struct op_value *)0)->%s);' readers |
    $CC $CPPFLAGS -std=gnu11 -march=x86-64-v3 -fsyntax-only -x c - 2>/dev/null; then
    echo "models/lower/lowering.h: who reads a value can be seen beside readers.h"
    exit 1
fi

# superstep.h reaches all public headers and, besides those that only gather, no others.
public=$(git grep -l --untracked '^SUPERSTEP_API_BEGIN$' -- '*.h' | sort)
reached=$($CC $CPPFLAGS -MM -x c models/api/superstep.h | tr ' \\' '\n\n' | grep '\.h$' |
    grep -vxE 'emu/base/api.h|models/api/superstep.h|programs/programs.h' | sort)
[ "$public" = "$reached" ] || {
    echo "superstep.h reaches other headers than the public ones:"
    printf '%s\n' $public $reached | sort | uniq -u
    exit 1
}
printf '%s\n' $public | xargs -P 2 -I {} sh -c \
    'printf "#include \"%s\"\n" {} | ${CXX:-c++} -I. -std=c++17 -Wall -Werror -fsyntax-only -x c++ - || { echo "{}: is no C++"; exit 1; }' || exit 1
echo "$(printf '%s\n' $headers | wc -l) headers compile by themselves, $(printf '%s\n' $public | wc -l) of them are public"
