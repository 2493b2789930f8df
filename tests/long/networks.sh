#!/bin/bash
# Every network that `superstep models` lists compiles and runs at a small resolution; those with groups that are no whole blocks of 16
# channels also agree with the f64 reference, at batch 1 and 3. About 4 minutes.
#
#   SUPERSTEP=FILE           the program (default: build/superstep, built first)
#   SUPERSTEP_NETWORKS="b0"  only these
set -u
cd "$(dirname "$0")/../.." || exit 2
superstep=${SUPERSTEP:-build/superstep}
[ -n "${SUPERSTEP:-}" ] || make -s -j2 all || exit 2
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0

# check WORDS ARGUMENTS...: runs, and says so.
check() {
    words=$1
    shift
    if "$superstep" run -q --resolution 64 --no-calibration "$@" >"$tmp/answer" 2>"$tmp/error" && grep -qF "$words" "$tmp/answer"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $*"
        head -n 5 "$tmp/answer" "$tmp/error"
    fi
}

for network in ${SUPERSTEP_NETWORKS:-$("$superstep" models | awk '/^ *(efficientnet|resnet)-/ { print $1 }')}; do
    check '"digest"' "$network" --json
done
for batch in 1 3; do
    check ', 0 beyond their bound' efficientnet-b3-g16 --batch $batch --compare-layers
    check ', 0 beyond their bound' efficientnet-b6-g16 --batch $batch --compare-layers
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 4 ]
