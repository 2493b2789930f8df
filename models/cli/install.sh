#!/bin/sh
# Installs the program, the libraries, their headers, a pkg-config file, the module for Python, the man page, the pages of docs/, and completion for bash and zsh.
#   install.sh PREFIX VERSION ABI PROGRAM LIBRARY.a LIBRARY.so      below $DESTDIR
set -e
cd "$(dirname "$0")/../.."
prefix=$1 version=$2 abi=$3 program=$4 library=$5 shared=$6
to=$DESTDIR$prefix
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT

install -d "$to/bin" "$to/lib/pkgconfig" "$to/include/superstep" "$to/share/man/man1"
install -m 755 "$program" "$to/bin/superstep"
install -m 644 docs/man/superstep.1 "$to/share/man/man1/superstep.1"
for shell in bash-completion/completions/superstep zsh/site-functions/_superstep; do
    install -d "$to/share/$(dirname "$shell")"
    "$program" completion "$(echo "$shell" | sed 's/[-/].*//')" >"$work/completion"
    install -m 644 "$work/completion" "$to/share/$shell"
done
find docs -type f ! -path 'docs/man/*' | while read -r page; do
    install -D -m 644 "$page" "$to/share/doc/superstep/${page#docs/}"
done
install -D -m 644 models/python/superstep.py "$to/share/superstep/python/superstep.py"
sed "s|@PREFIX@|$prefix|; s|@VERSION@|$version|" docs/man/superstep.pc.in >"$to/lib/pkgconfig/superstep.pc"

# The headers that superstep.h needs, at their places in the tree.
for h in $(${CC:-cc} -I. -MM -x c models/api/superstep.h | tr ' \\' '\n' | grep -E '\.(h|def)$'); do
    install -D -m 644 "$h" "$to/include/superstep/$h"
done
install -m 644 models/api/superstep.h "$to/include/superstep/superstep.h"

# The static library is one object, in which what the compiler hid is hidden from the linker, too.
ld -r -o "$work/superstep.o" --whole-archive "$library"
objcopy --localize-hidden "$work/superstep.o"
rm -f "$to/lib/libsuperstep.a"
ar rcs "$to/lib/libsuperstep.a" "$work/superstep.o"
install -m 755 "$shared" "$to/lib/libsuperstep.so.$version"
ln -sf "libsuperstep.so.$version" "$to/lib/libsuperstep.so.$abi"
ln -sf "libsuperstep.so.$abi" "$to/lib/libsuperstep.so"
echo "installed below $to: bin/superstep, lib/libsuperstep.a, lib/libsuperstep.so.$version"
