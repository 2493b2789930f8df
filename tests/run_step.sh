#!/bin/sh
# run_step.sh SUPERSTEP SCRIPT...: runs each script with `superstep step`; its first line, "# step ARGUMENTS", says of what. The
# answers must be those of the file beside it that ends in .expect; after "# compiled ARGUMENTS" but for numbers, which change
# with the compiler. With SET=1 they are written there.
program=$1
shift
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0
for script; do
    expect=${script%.script}.expect
    arguments=$(sed -n '1s/^# [a-z]* //p' "$script")
    compiled=$(sed -n '1s/^# \(compiled\) .*/\1/p' "$script")
    # shellcheck disable=SC2086 # words of a command line
    SUPERSTEP_CACHE="$tmp/cache" "$program" step $arguments --script "$script" >"$tmp/out" 2>"$tmp/err"
    echo "exit status $?" >>"$tmp/out"
    [ -n "$compiled" ] && sed -i -E 's/0x[0-9a-f]+|[0-9]+/N/g; s/N  +/N /g; s/ \| .*//; s/  +N/ N/g' "$tmp/out"
    [ -n "$SET" ] && cp "$tmp/out" "$expect"
    if diff -u "$expect" "$tmp/out"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $script"
        cat "$tmp/err"
    fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
