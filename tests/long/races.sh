#!/bin/bash
# Looks for data races between the threads of one run, with ThreadSanitizer: on the lab programs, on a small network that is compiled and
# run by either engine, on random programs for whole chips (test_threads), and on programs of several chips: those of the lab and compiled
# ones, by either engine, and random ones on 1 to 16 threads (test_pod, test_pod_random, test_chips). Only clang with its own OpenMP library and archer, which
# tells the sanitizer what a barrier is, can be trusted: gcc's library gives false reports. Skipped where archer is absent.
#
#   CLANG=PROGRAM  the compiler (default clang-14, else clang)
#   KEEP=1         keeps the object folder
. "$(dirname "$0")/common.sh"
mode=race
clang=${CLANG:-$(command -v clang-14 || command -v clang)}
[ -n "$clang" ] || skip "clang is not installed"
archer=$("$clang" -print-file-name=libarcher.so)
[ -e "$archer" ] || archer=$(ls /usr/lib/llvm-*/lib/libarcher.so 2>/dev/null | tail -n 1)
[ -e "$archer" ] || skip "libarcher.so is not installed (libomp-14-dev)"
[ "$(nproc)" -gt 1 ] || skip "one core, so never more than one thread"
trap 'rm -rf "$tmp"; [ -n "${KEEP:-}" ] || rm -rf build/$mode build/obj/$mode' EXIT
export OMP_TOOL_LIBRARIES=$archer
export TSAN_OPTIONS="ignore_noninstrumented_modules=1 exitcode=66"
passed=0

say() { # name, verdict, what else
    case $2 in
    ok | found) passed=$((passed + 1)) ;;
    *) failed=$((failed + 1)) ;;
    esac
    printf '%-44s %-8s %s\n' "$1" "$2" "${3:-}"
}

# The checker itself: it must report the race of the first program and nothing of the second, which only a barrier puts right.
planted() { # name, pragma between the two halves, wanted exit status
    cat >"$tmp/planted.c" <<END
#include <omp.h>
int main(void)
{
    int x[2] = { 0, 0 };
#pragma omp parallel num_threads(2)
    {
        int me = omp_get_thread_num();

        x[me] = me + 1;
        $2
        x[1 - me] += 1;
    }
    return x[0] + x[1] == 99;
}
END
    "$clang" -fopenmp -fsanitize=thread -g -o "$tmp/planted" "$tmp/planted.c" 2>"$tmp/log" || { cat "$tmp/log"; say "$1" FAILED; return; }
    status=0
    for _ in 1 2 3 4 5; do
        ARCHER_OPTIONS=verbose=1 "$tmp/planted" >"$tmp/log" 2>&1 || status=$?
        grep -q 'Archer detected' "$tmp/log" || status=archer
    done
    [ "$status" = "$3" ] && say "$1" ok || { cat "$tmp/log"; say "$1" "FAILED" "status $status, not $3"; }
}

watch() { # name, program and arguments
    name=$1 seconds=$SECONDS
    shift
    "$@" >"$tmp/log" 2>&1
    status=$?
    if [ $status -eq 0 ] && ! grep -q 'WARNING: ThreadSanitizer' "$tmp/log"; then
        say "$name" ok "$((SECONDS - seconds)) s"
    else
        say "$name" FAILED "exit $status, $(grep -c 'WARNING: ThreadSanitizer' "$tmp/log") reports"
        grep -m1 -A12 'WARNING: ThreadSanitizer' "$tmp/log" || tail -n 5 "$tmp/log"
    fi
}

planted "planted: a race" "" 66
planted "planted: the same after a barrier" "_Pragma(\"omp barrier\")" 0
objects=build/obj/$mode
make -s -j2 CC="$clang" MODE=$mode OPT="-O1 -fsanitize=thread" all $objects/long/chips_image \
    $objects/tests/{emu/test_threads,emu/test_pod,emu/test_pod_random,compiler/test_chips} >"$tmp/log" 2>&1 ||
    { tail -n 20 "$tmp/log"; say "everything builds" FAILED; echo "$passed passed, $failed failed"; exit 1; }
for program in programs/lab/*.bsp.json; do
    watch "$program" build/$mode/superstep run -j2 "$program"
done
for engine in values timing; do
    watch "a small network, $engine" build/$mode/superstep run efficientnet-b0 --resolution 32 --set tiles=128 --no-calibration -j2 \
        --engine $engine
done
chip_programs $objects/long/chips_image >"$tmp/programs"
while read -r arguments; do
    # shellcheck disable=SC2086 # arguments, one by one
    watch "${arguments#"$tmp/"}" build/$mode/superstep run -q -j2 $arguments
done <"$tmp/programs"
for test in emu/test_threads emu/test_pod emu/test_pod_random compiler/test_chips; do
    watch "random programs, ${test##*/}" $objects/tests/$test
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
