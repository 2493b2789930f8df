#!/bin/sh
# run_cases.sh SUPERSTEP CASE...: every case file must pass, with and without the fast paths, and say the same both times.
program=$1
shift
passed=0 failed=0
for case in "$@"; do
    fast=$("$program" tile --json --case "$case" 2>&1)
    status=$?
    plain=$("$program" tile --json --plain --case "$case" 2>&1)
    if [ $status -eq 0 ] && [ "$fast" = "$plain" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $program tile --case $case"
        [ "$fast" = "$plain" ] || echo "  the plain path says something else"
        printf '%s\n' "$fast" | head -n 20
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
