#!/bin/bash
# The planner's prediction against executed cycles, layer by layer, of whole networks at full size. Goal: on efficientnet-b4 at batch 1
# nine planned layers in ten within 10 %.
#
#   SUPERSTEP_PLANS="resnet-50 'efficientnet-b4 --batch 3'"  only these; what stands after a name are options of `superstep run`
#   SUPERSTEP=FILE                                           the program (default: build/superstep, built first)
. "$(dirname "$0")/common.sh"
build

# table TENTHS NETWORK OPTIONS...: the layers of a network that the planner was asked about; at least so many tenths are near.
table() {
    local goal=$1 near all
    shift
    echo "== $*"
    if ! "$superstep" run "$@" --json --no-calibration -q >"$tmp/answer" 2>"$tmp/error"; then
        fail "$*"
        cat "$tmp/error"
        return
    fi
    printf '%-20s %9s %9s %9s %7s\n' layer predicted executed compute ratio
    jq -r '.layers[] | select(.predicted > 0) | [.name, .predicted, .cycles, .compute, .cycles / .predicted] | @tsv' "$tmp/answer" |
        awk -F'\t' '{ printf "%-20s %9d %9d %9d %7.2f\n", $1, $2, $3, $4, $5 }'
    all=$(number "$tmp/answer" '[.layers[] | select(.predicted > 0)] | length')
    near=$(number "$tmp/answer" '[.layers[] | select(.predicted > 0) | .cycles / .predicted | select(. > 0.9 and . < 1.1)] | length')
    echo "$(number "$tmp/answer" .cycles_per_picture) cycles a picture; $near of $all planned layers within 10 % of the prediction"
    [ "$all" -gt 0 ] && [ $((10 * near)) -ge $((goal * all)) ] || fail "$*: $near of $all layers within 10 %, expected $goal of 10"
}

if [ -n "${SUPERSTEP_PLANS:-}" ]; then
    eval "set -- $SUPERSTEP_PLANS"
    # shellcheck disable=SC2086 # options stand with the name
    for plan; do table 9 $plan; done
else
    table 9 efficientnet-b4
    table 0 efficientnet-b4 --batch 3
    table 0 efficientnet-b4-g16
    table 0 resnet-50
fi
finish
