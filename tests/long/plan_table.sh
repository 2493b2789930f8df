#!/bin/bash
# The planner's prediction against executed cycles, layer by layer, of whole networks at full size. Goal: on efficientnet-b4 at batch 1
# nine planned layers in ten within 10 %.
#
#   SUPERSTEP_PLANS="resnet-50 'efficientnet-b4 --batch 3'"  only these; what stands after a name are options of `superstep run`
set -u
cd "$(dirname "$0")/../.." || exit 2
make -s -j2 all || exit 2
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
failed=0

# Prints the table of a network and how many layers are near; counts a miss below $1 tenths.
table() { # tenths, network and options
    local goal=$1 near all
    shift
    echo "== $*"
    if ! build/superstep run "$@" --plan --no-calibration -q >"$tmp/answer" 2>"$tmp/error"; then
        cat "$tmp/error"
        failed=$((failed + 1))
        return
    fi
    grep 'cycles a picture' "$tmp/answer"
    sed -n '/^Plans:/,/planned layers/p' "$tmp/answer"
    read -r near all < <(sed -n 's/^\([0-9]*\) of \([0-9]*\) planned layers.*/\1 \2/p' "$tmp/answer")
    if [ -z "${near:-}" ] || [ $((10 * near)) -lt $((goal * all)) ]; then
        echo "  MISSED: ${near:-none} of ${all:-none} layers within 10 %, expected $goal of 10"
        failed=$((failed + 1))
    fi
}

if [ -n "${SUPERSTEP_PLANS:-}" ]; then
    eval "set -- $SUPERSTEP_PLANS"
    for plan; do table 9 $plan; done
else
    table 9 efficientnet-b4
    table 0 efficientnet-b4 --batch 3
    table 0 efficientnet-b4-g16
    table 0 resnet-50
fi
echo "$failed missed"
[ "$failed" -eq 0 ]
