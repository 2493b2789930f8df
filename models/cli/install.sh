#!/bin/sh
# Installs the program, the library, its headers, a pkg-config file and the man page.
#   install.sh PREFIX VERSION PROGRAM LIBRARY.a      below $DESTDIR
# The installed library is one object in which only the names that the headers declare are global.
set -e
cd "$(dirname "$0")/../.."
prefix=$1 version=$2 program=$3 library=$4
to=$DESTDIR$prefix
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT

install -d "$to/bin" "$to/lib/pkgconfig" "$to/include/superstep" "$to/share/man/man1"
install -m 755 "$program" "$to/bin/superstep"
install -m 644 docs/man/superstep.1 "$to/share/man/man1/superstep.1"
sed "s|@PREFIX@|$prefix|; s|@VERSION@|$version|" docs/man/superstep.pc.in >"$to/lib/pkgconfig/superstep.pc"

# The headers that superstep.h needs, at their places in the tree.
for h in $(${CC:-cc} -I. -MM -x c programs/superstep.h | tr ' \\' '\n' | grep -E '\.(h|def)$'); do
    install -D -m 644 "$h" "$to/include/superstep/$h"
done
install -m 644 programs/superstep.h "$to/include/superstep/superstep.h"

nm -g --defined-only "$library" | awk 'NF == 3 { print $3 }' | sort -u >"$work/defined"
${CC:-cc} -I. -E -P -x c programs/superstep.h | grep -oE '[A-Za-z_][A-Za-z_0-9]*' | sort -u >"$work/declared"
cat $(find "$to/include/superstep" -name '*.h') | grep -oE '[A-Za-z_][A-Za-z_0-9]*' | sort -u >"$work/written" # not made by a table
comm -12 "$work/defined" "$work/declared" | comm -12 - "$work/written" >"$work/public"
ld -r -o "$work/superstep.o" --whole-archive "$library"
objcopy --keep-global-symbols="$work/public" "$work/superstep.o"
rm -f "$to/lib/libsuperstep.a"
ar rcs "$to/lib/libsuperstep.a" "$work/superstep.o"
echo "installed below $to: bin/superstep, lib/libsuperstep.a ($(wc -l <"$work/public") names)"
