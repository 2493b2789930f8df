#!/bin/sh
# Runs the unit test binaries given as arguments; prints a line per binary and a total; fails when one fails.
passed=0 failed=0
for t in "$@"; do
    out=$("$t" 2>&1)
    status=$?
    ok=$(printf '%s\n' "$out" | grep -cE '^(\[       OK|ok )')
    bad=$(printf '%s\n' "$out" | grep -cE '^(\[  FAILED  \] test|not ok )')
    if [ $status -ne 0 ]; then
        printf '%s\n' "$out" | tail -n 40
        echo "$t: exit $status"
        [ "$bad" -eq 0 ] && bad=1
    fi
    printf '%-28s %4d passed %4d failed\n' "${t##*/}" "$ok" "$bad"
    passed=$((passed + ok)) failed=$((failed + bad))
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
