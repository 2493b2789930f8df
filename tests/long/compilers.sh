#!/bin/bash
# Results must not depend on the compiler, its level, the number of threads, or the fast paths: builds with gcc and clang at -O0, -O2 and
# -O3, and compares what every build says of the ISA tests, the one-tile cases and the lab programs with the first build, byte by byte.
#
#   KEEP=1  keeps the object folders
set -u
cd "$(dirname "$0")/../.." || exit 2
passed=0 failed=0
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

say() { # name, exit status
    if [ "$2" -eq 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
    printf '%-44s %s\n' "$1" "$([ "$2" -eq 0 ] && echo ok || echo DIFFERS)"
}

# Everything a build says that must be the same; $3: further options of run.
results() { # program, file, options
    for c in tests/cases/*.json; do "$1" tile --case "$c"; done > "$2" 2>&1
    for p in programs/lab/*.bsp.json; do
        "$1" run $3 --digests "$2.digests" "$p" >> "$2" 2>&1
        cat "$2.digests" >> "$2" 2>/dev/null
    done
}

first=
for cc in gcc clang; do
    command -v $cc >/dev/null || { echo "$cc: not installed, skipped"; continue; }
    for level in O0 O2 O3; do
        mode=$cc-$level
        make -s -j2 CC=$cc MODE="$mode" OPT=-$level "build/$mode/superstep" "build/obj/$mode/isa/run_isa" > "$out/log" 2>&1 ||
            { tail -20 "$out/log"; say "$mode builds" 1; continue; }
        program=build/$mode/superstep
        build/obj/"$mode"/isa/run_isa tests/isa/*.isa > "$out/isa" 2>&1
        say "$mode ISA tests" $?
        results "$program" "$out/$mode" "-j 2"
        if [ -z "$first" ]; then
            first=$mode
            for options in "-j 1" "-j 3" "-j 16" "-j 2 --plain" "-j 2 --check"; do
                results "$program" "$out/other" "$options"
                grep -v '^check' "$out/other" | cmp -s - <(grep -v '^check' "$out/$mode")
                say "$mode run $options" $?
            done
        else
            cmp "$out/$first" "$out/$mode"
            say "$mode same as $first" $?
        fi
        [ -n "${KEEP:-}" ] || rm -rf "build/obj/$mode" "build/$mode"
    done
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
