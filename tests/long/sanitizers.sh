#!/bin/bash
# Runs the unit tests, the ISA tests, the one-tile cases, the lab programs, programs of several chips by both engines, wrong command lines and
# streams built with the address and
# the undefined behaviour sanitizer (gcc, MODE=asan, whose objects stay). Any report ends the program that caused it, and fails the test.
. "$(dirname "$0")/common.sh"
command -v gcc >/dev/null || skip "gcc is not installed"
mode=asan log=$tmp/log
export ASAN_OPTIONS=detect_stack_use_after_return=1:check_initialization_order=1:strict_string_checks=1
export UBSAN_OPTIONS=print_stacktrace=1
passed=0

built() { make -s -j2 CC=gcc MODE=$mode "$@"; }

step() { # what is tested, command
    what=$1
    shift
    seconds=$SECONDS
    if "$@" >"$log" 2>&1 && ! grep -qE 'AddressSanitizer|LeakSanitizer|runtime error' "$log"; then
        passed=$((passed + 1)) verdict=ok
    else
        failed=$((failed + 1)) verdict=FAILED
    fi
    printf '%-24s %-8s %5d s   %s\n' "$what" $verdict $((SECONDS - seconds)) "$(grep -E '^[0-9]+ passed' "$log" | tail -n 1)"
    [ $verdict = ok ] && return
    grep -m1 -E -A14 'ERROR: (Address|Leak)Sanitizer|runtime error' "$log"
    grep -E '^(not ok|SUMMARY|FAILED|make: )|exit [0-9]+$|error:' "$log" | head -n 20
}

# Programs of several chips, all on one to sixteen threads.
chips() {
    local arguments threads
    chip_programs "build/obj/$mode/long/chips_image" >"$tmp/programs"
    while read -r arguments; do
        for threads in 1 2 3 16; do
            # shellcheck disable=SC2086 # arguments, one by one
            "build/$mode/superstep" run -q -j$threads $arguments || return
        done
    done <"$tmp/programs"
}

# A sanitizer that reports nothing says nothing: it must find what is planted here.
planted() { # name, code
    printf '#include <stdlib.h>\nint main(int n, char **v)\n{\n    (void)v;\n    %s\n}\n' "$2" >"$log.c"
    if gcc -fsanitize=address,undefined -fno-sanitize-recover=undefined -o "$log.bin" "$log.c" && ! "$log.bin" >"$log" 2>&1; then
        passed=$((passed + 1)) verdict=found
    else
        failed=$((failed + 1)) verdict=MISSED
    fi
    printf '%-24s %s\n' "$1" $verdict
}

planted "planted: bad address" 'char *p = malloc(4); return p[n + 3];'
planted "planted: leak" 'void *volatile p = malloc(4); p = NULL; return p != NULL;'
planted "planted: overflow" 'return (0x7fffffff + n) & 1;'
step "everything builds" built all "build/obj/$mode/isa/run_isa" "build/obj/$mode/long/chips_image"
step "unit tests" built check-unit
step "instructions" built check-isa
step "cases" built check-cases
step "lab programs" built check-lab
step "several chips" chips
step "wrong input" built check-input
step "streams" env SUPERSTEP=build/$mode/superstep tests/long/stream.sh
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
