#!/bin/sh
# run_unit.sh PROGRAM...: runs unit test programs, as many at a time as there are cores; prints a line per program and a total; fails
# when one fails.
#
#   JOBS=N  so many at a time
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0
# Threads of programs that share the cores must not spin while they wait.
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"

# Those that take longest begin first, so that none is left running alone at the end.
slow='test_onnx_vectors|test_random_operators|test_train_chip|test_training|test_gradients|test_random_graph|test_validate'
{
    printf '%s\n' "$@" | grep -E "/($slow)\$"
    printf '%s\n' "$@" | grep -vE "/($slow)\$"
} >"$tmp/order"

# shellcheck disable=SC2016 # for the shell that xargs begins
xargs -P "${JOBS:-$(nproc)}" -I '{}' sh -c '
    out=$0/${1##*/} begin=$(date +%s)
    "$1" >"$out" 2>&1
    echo $? $(($(date +%s) - begin)) >"$out.status"' "$tmp" '{}' <"$tmp/order"

for t in "$@"; do
    out=$tmp/${t##*/}
    read -r status seconds <"$out.status" || status=2 seconds=0
    ok=$(grep -cE '^(\[       OK|ok )' "$out")
    bad=$(grep -cE '^(\[  FAILED  \] test|not ok )' "$out")
    if [ "$status" -ne 0 ]; then
        tail -n 40 "$out"
        echo "$t: exit $status"
        [ "$bad" -eq 0 ] && bad=1
    fi
    printf '%-28s %4d passed %4d failed %5d s\n' "${t##*/}" "$ok" "$bad" "$seconds"
    passed=$((passed + ok)) failed=$((failed + bad))
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
