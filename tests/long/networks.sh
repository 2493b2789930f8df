#!/bin/bash
# Every network that `superstep models` lists compiles and runs at a small resolution; those with groups that are no whole blocks of 16
# channels also agree with the f64 reference, at batch 1 and 3.
#
#   SUPERSTEP=FILE           the program (default: build/superstep, built first)
#   SUPERSTEP_NETWORKS="efficientnet-b0"  only these
. "$(dirname "$0")/common.sh"
build

# check CONDITION ARGUMENTS...: the network runs, and its answer meets the condition.
check() {
    "$superstep" run -q --resolution 64 --no-calibration --json "${@:2}" >"$tmp/answer" 2>"$tmp/error" && holds "$tmp/answer" "$1" && return
    fail "${*:2}"
    head -n 5 "$tmp/error"
}

# run NETWORK: cycles and digest
run() {
    check '.cycles > 0 and (.digest | length) == 32' "$1" || return
    printf '%-22s %10d cycles, digest %s\n' "$1" "$(number "$tmp/answer" .cycles)" "$(number "$tmp/answer" .digest)"
}

# compare NETWORK BATCH: every layer with the reference
compare() {
    check '.compared > 0 and .beyond_bound == 0' "$1" --batch "$2" --compare-layers || return
    echo "$1, batch $2: $(number "$tmp/answer" .compared) layers agree with the reference"
}

for network in ${SUPERSTEP_NETWORKS:-$("$superstep" models | awk '$1 ~ /-/ { print $1 }')}; do
    run "$network"
    case $network in
    efficientnet-b3-g16 | efficientnet-b6-g16) compare "$network" 1 && compare "$network" 3 ;;
    esac
done
finish
