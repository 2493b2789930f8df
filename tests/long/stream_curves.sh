#!/bin/bash
# Period of a stream against the bandwidth of the host link at depth 0, 1 and 3, as in docs/stream.md. At depth 3 it must be the
# longer of fetching and computing within 2 per cent, at depth 0 what the sum of all ways says.
#
#   RATES="10 40"   bandwidths in MB/s
#   SUPERSTEP=FILE  the program (default: build/superstep, built first)
. "$(dirname "$0")/common.sh"
build
net="efficientnet-b0 --resolution 64 --no-calibration --set tiles=128 --limit 10 --threads 1 --quiet --json"

printf '%6s %5s %12s %12s %12s %8s  %s\n' MB/s depth period transfer compute expected bound
for rate in ${RATES:-10 20 40 60 100 1000}; do
    for depth in 0 1 3; do
        # shellcheck disable=SC2086 # the network stands with options
        "$superstep" stream $net --io-tiles 6 --prefetch $depth --host-bandwidth "$rate" >"$tmp/answer" || { fail "$rate MB/s, depth $depth"; continue; }
        off=$(number "$tmp/answer" '100 * (.steady.period / .rule.expected_period - 1)')
        printf '%6d %5d %12.0f %12.0f %12.0f %+7.2f%%  %s\n' "$rate" $depth "$(number "$tmp/answer" .steady.period)" \
            "$(number "$tmp/answer" .rule.host_cycles)" "$(number "$tmp/answer" .rule.compute_cycles)" "$off" \
            "$(number "$tmp/answer" .rule.bound)"
        case $depth in
        3) holds "$tmp/answer" '.steady.period / ([.rule.host_cycles, .rule.compute_cycles] | max) | . > 0.98 and . < 1.02' ;;
        0) holds "$tmp/answer" '.steady.period / .rule.expected_period | . > 0.98 and . < 1.02' ;;
        esac || fail "$rate MB/s, depth $depth: not within 2 per cent"
    done
done
finish
