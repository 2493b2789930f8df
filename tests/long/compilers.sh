#!/bin/bash
# Results must not depend on the compiler, its level, the number of threads, or the fast paths: builds with gcc and clang at -O0, -O2 and
# -O3, and compares what every build says with the first build, byte by byte: of the ISA tests, the one-tile cases, the lab programs,
# programs of 2 and 4 chips, and a small network (images, and what both engines say of them).
#
#   KEEP=1  keeps the object folders
. "$(dirname "$0")/common.sh"
passed=0
network="efficientnet-b0 --resolution 32 --set tiles=128 --no-calibration --quiet"

say() { # name, exit status
    if [ "$2" -eq 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
    printf '%-44s %s\n' "$1" "$([ "$2" -eq 0 ] && echo ok || echo DIFFERS)"
}

# chip_results PROGRAM NAME -j N OPTIONS...: what a build says of systems of chips, the timing engine without options
chip_results() {
    local program=$1 name=$2 arguments
    shift 2
    chip_programs "build/obj/$mode/long/chips_image" >"$tmp/programs"
    while read -r arguments; do
        case $arguments in
        *timing)
            # shellcheck disable=SC2086 # arguments, one by one
            "$program" run -q "$1" "$2" --steps --tiles $arguments >>"$tmp/$name.timing"
            ;;
        *)
            # shellcheck disable=SC2086
            "$program" run -q "$@" --json --digests "$tmp/digests" $arguments >>"$tmp/$name.answers" 2>>"$tmp/$name.errors"
            cat "$tmp/digests" >>"$tmp/$name.digests"
            ;;
        esac
    done <"$tmp/programs"
    cat "$tmp"/ring?.img | sha256sum >>"$tmp/$name.image"
}

# results PROGRAM NAME -j N OPTIONS...: everything a build says that must be the same, as files called NAME
results() {
    local program=$1 name=$2
    shift 2
    for c in tests/cases/*.json; do "$program" tile --json --case "$c"; done >"$tmp/$name.cases" 2>&1
    for p in programs/lab/*.bsp.json; do
        "$program" run "$@" --json --digests "$tmp/digests" "$p" 2>>"$tmp/$name.errors"
        cat "$tmp/digests" >>"$tmp/$name.digests" 2>/dev/null # a program that is refused leaves none
        rm -f "$tmp/digests"
    done >"$tmp/$name.answers"
    # shellcheck disable=SC2086 # a network and its options
    "$program" compile $network "$1" "$2" -o "$tmp/image" >"$tmp/$name.image" && sha256sum <"$tmp/image" >>"$tmp/$name.image"
    "$program" run "$@" --json "$tmp/image" >>"$tmp/$name.answers"
    "$program" run "$1" "$2" --engine timing --steps --tiles "$tmp/image" >"$tmp/$name.timing"
    chip_results "$program" "$name" "$@"
}

# Without what --check adds to an answer; what it finds may be clashes in memory elements, which change no value (docs/lab.md 4).
unchecked() { jq 'with_entries(select(.key | startswith("check") | not)) | if .status == "check" then .status = "ok" else . end' "$1"; }

# same NAME NAME: both said the same
same() {
    for part in cases errors digests image timing; do cmp "$tmp/$1.$part" "$tmp/$2.$part" || return; done
    cmp <(unchecked "$tmp/$1.answers") <(unchecked "$tmp/$2.answers")
}

first=
for cc in gcc clang; do
    command -v $cc >/dev/null || { echo "$cc: not installed, skipped"; continue; }
    for level in O0 O2 O3; do
        mode=$cc-$level
        make -s -j2 CC=$cc MODE="$mode" OPT=-$level "build/$mode/superstep" "build/obj/$mode/isa/run_isa" \
            "build/obj/$mode/long/chips_image" > "$tmp/log" 2>&1 ||
            { tail -20 "$tmp/log"; say "$mode builds" 1; continue; }
        program=build/$mode/superstep
        build/obj/"$mode"/isa/run_isa tests/isa/*.isa > "$tmp/isa" 2>&1
        say "$mode ISA tests" $?
        results "$program" "$mode" -j 2
        if [ -z "$first" ]; then
            first=$mode
            for options in "-j 1" "-j 3" "-j 16" "-j 2 --plain" "-j 2 --check"; do
                rm -f "$tmp"/other.*
                # shellcheck disable=SC2086 # two options
                results "$program" other $options
                same "$mode" other
                say "$mode run $options" $?
            done
        else
            same "$first" "$mode"
            say "$mode same as $first" $?
        fi
        [ -n "${KEEP:-}" ] || rm -rf "build/obj/$mode" "build/$mode"
    done
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
