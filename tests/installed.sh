#!/bin/sh
# Installs into an empty folder, builds programs outside the tree against it, in C and in C++, with the shared and the static library, runs
# them, uses it from Python (python.sh), and removes all again.
#   installed.sh MAKE-ARGUMENTS...
cd "$(dirname "$0")/.." || exit 2
to=$(mktemp -d) && trap 'rm -rf "$to"' EXIT && trap 'exit 130' INT TERM || exit 2
export PKG_CONFIG_PATH="$to/usr/lib/pkgconfig" LD_LIBRARY_PATH="$to/usr/lib" OMP_WAIT_POLICY=passive
make --no-print-directory "$@" install PREFIX="$to/usr" >"$to/log" 2>&1 || { cat "$to/log"; exit 1; }
bad() { echo "$*"; exit 1; }

"$to/usr/bin/superstep" machines | grep -q mk2 || bad "the installed program does not run"

# What help and lessons point at is there.
"$to/usr/bin/superstep" lab | grep -q "^  the course  *$to/usr/share/doc/superstep/course.md\$" || bad "lab does not name the installed course"
"$to/usr/bin/superstep" report --help | tr -d '\n ' | grep -q "$to/usr/share/doc/superstep/profile.md" || bad "help does not name the installed pages"
for page in course.md lab.md profile.md howto/train.md; do
    [ -s "$to/usr/share/doc/superstep/$page" ] || bad "$page is not installed"
done

# completes WORD WORDS...: bash offers WORD for the last of the words, as it cuts them.
completes()
{
    wanted=$1
    shift
    bash -c '. "$1"; shift; compopt() { :; }; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _superstep; printf "%s\n" "${COMPREPLY[@]}"' - \
        "$to/usr/share/bash-completion/completions/superstep" "$@" >"$to/said" 2>&1
    grep -qx -- "$wanted" "$to/said" || bad "$*: bash does not offer $wanted, but" $(cat "$to/said")
}
if command -v bash >/dev/null; then
    completes models superstep mo
    completes completion superstep help comp
    completes resnet-50 superstep run resn
    completes matvec-rows superstep sweep matv
    completes exercise superstep lab ex
    completes mk2 superstep machines mk
    completes mk2 superstep run ring --machine = mk
    completes --engine= superstep run ring --eng
    completes timing superstep run ring --engine = ""
    completes cosine superstep train --schedule cos
    completes zsh superstep completion z
    cd docs && completes course.md superstep run cour && cd ..
fi
zsh=share/zsh/site-functions/_superstep
grep -q "resnet-50" "$to/usr/$zsh" || bad "no names in $zsh"
if command -v zsh >/dev/null; then
    zsh -n "$to/usr/$zsh" || bad "zsh does not read $zsh"
fi

# Both libraries export what the headers declare, and nothing else.
echo '#include <superstep.h>' | ${CC:-cc} $(pkg-config --cflags superstep) -E -x c - |
    awk -v root="$to/usr/include" -f models/api/declared_names.awk | sort >"$to/declared"
grep -qx ss_graph_compile "$to/declared" || bad "no declarations in superstep.h"
! grep -v "^ss_" "$to/declared" || bad "names of superstep.h that do not begin with ss_"
nm -D --defined-only "$to/usr/lib/libsuperstep.so" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort >"$to/shared"
nm -g --defined-only "$to/usr/lib/libsuperstep.a" | awk 'NF == 3 { print $3 }' | sort >"$to/static"
for library in shared static; do
    diff "$to/declared" "$to/$library" >"$to/log" || bad "declared (<), but not exported (>) by the $library library: $(cat "$to/log")"
done

# build FILE: as $to/own, in C and C++ and with both libraries; each is run with arguments and says what `wanted` matches.
# A name by itself is the shared library to the linker.
build()
{
    wanted=$2
    cp "docs/howto/$1.c" "$to/own.c"
    cp "docs/howto/$1.c" "$to/own.cc"
    shift 2
    for compiler in "${CC:-cc} -std=c11 $to/own.c" "${CXX:-c++} -std=c++17 $to/own.cc"; do
        for flags in "$(pkg-config --cflags --libs superstep)" \
            "$(pkg-config --cflags --libs --static superstep | sed 's/-lsuperstep/-l:libsuperstep.a/')"; do
            (cd "$to" && $compiler -Wall -Werror -o own $flags) || bad "does not build: $compiler $flags"
            "$to/own" "$@" >"$to/said" || bad "does not run: $compiler $flags: $(cat "$to/said")"
            grep -qE "$wanted" "$to/said" || bad "wrong answer: $compiler $flags: $(cat "$to/said")"
        done
    done
    ldd "$to/own" | grep -q libsuperstep && bad "the static library is not linked in"
}

# Programs ask for the number of what is exported, not for a version (own_program.md).
abi=$(sed -n 's/^ABI *:= *//p' Makefile)
objdump -p "$to/usr/lib/libsuperstep.so" | grep -qx " *SONAME *libsuperstep.so.$abi" || bad "the library is not called libsuperstep.so.$abi"
[ -e "$to/usr/lib/libsuperstep.so.$abi" ] || bad "no libsuperstep.so.$abi"

build own_program '^ *"status": "ok"' --machine toy16 --n 1000 --json
build own_session '^cycles [0-9]'
build own_network '^[0-9]+ cycles, ' docs/howto/small_cnn.onnx -m toy64 --no-cache
"$to/usr/bin/superstep" asm -c docs/howto/own_codelet.S -o "$to/cube.o" || bad "no object"
ar rc "$to/cube.a" "$to/cube.o" || exit 2
build own_codelet '^0 of 1000 wrong' docs/howto/own_codelet.S
for code in cube.o cube.a; do
    "$to/own" "$to/$code" | grep -q '^0 of 1000 wrong' || bad "wrong answer with $code"
done

tests/python.sh "$to/usr" || exit 1
make --no-print-directory "$@" uninstall PREFIX="$to/usr" >/dev/null
left=$(find "$to/usr" ! -type d)
[ -z "$left" ] || bad "uninstall leaves" $left
echo "installed, linked from C and C++ with both libraries ($(wc -l <"$to/declared") names exported), and removed again"
