#!/bin/sh
# Installs into an empty folder, builds a program outside the tree against it, in C and in C++, runs both, and removes all again.
#   installed.sh MAKE-ARGUMENTS...
cd "$(dirname "$0")/.." || exit 2
to=$(mktemp -d) && trap 'rm -rf "$to"' EXIT && trap 'exit 130' INT TERM || exit 2
export PKG_CONFIG_PATH="$to/usr/lib/pkgconfig" OMP_WAIT_POLICY=passive
make --no-print-directory "$@" install PREFIX="$to/usr" >"$to/log" 2>&1 || { cat "$to/log"; exit 1; }
bad() { echo "$*"; exit 1; }

"$to/usr/bin/superstep" machines | grep -q mk2 || bad "the installed program does not run"

# Every name the library exports is declared in a header.
nm -g --defined-only "$to/usr/lib/libsuperstep.a" | awk 'NF == 3 { print $3 }' | sort -u >"$to/names"
cat $(find "$to/usr/include" -name '*.h') | grep -oE '[A-Za-z_][A-Za-z_0-9]*' | sort -u >"$to/words"
hidden=$(comm -23 "$to/names" "$to/words")
[ -z "$hidden" ] || bad "exported, but in no header:" $hidden
grep -qx graph_compile "$to/names" || bad "graph_compile is not exported"
grep -qx lower_graph "$to/names" && bad "lower_graph is private, but exported"

cp docs/howto/own_program.c "$to/own.c"
cp "$to/own.c" "$to/own.cc"
flags=$(pkg-config --cflags --libs --static superstep) || bad "pkg-config does not know superstep"
for build in "${CC:-cc} -std=c11 $to/own.c" "${CXX:-c++} -std=c++17 $to/own.cc"; do
    (cd "$to" && $build -Wall -Werror -o own $flags) || bad "does not build: $build"
    "$to/own" >"$to/said" || bad "does not run: $build: $(cat "$to/said")"
    grep -q '^cycles [0-9]' "$to/said" || bad "wrong answer: $(cat "$to/said")"
done

make --no-print-directory "$@" uninstall PREFIX="$to/usr" >/dev/null
left=$(find "$to/usr" -type f)
[ -z "$left" ] || bad "uninstall leaves" $left
echo "installed, linked from C and C++ ($(wc -l <"$to/names") names exported), and removed again"
