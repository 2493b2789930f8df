#!/bin/sh
# Period of a stream against the bandwidth of the host link at depth 0, 1 and 3, as in docs/stream.md. At depth 3 it must be the
# longer of fetching and computing within 2 per cent, at depth 0 what the sum of all ways says.
#   tests/long/stream_curves.sh [superstep]
set -e
S=${1:-build/superstep}
NET="efficientnet-b0 --resolution 64 --no-calibration --set tiles=128 --limit 10 --threads 1 --quiet --json"
OUT=$(mktemp)
trap 'rm -f "$OUT"' EXIT
number() { sed -n "s/^ *\"$1\": \([0-9.]*\).*/\1/p" "$OUT" | head -1; }
printf '%6s %5s %12s %12s %12s %8s  %s\n' MB/s depth period transfer compute expected bound
for rate in ${RATES:-10 20 40 60 100 1000}; do
    for depth in 0 1 3; do
        "$S" stream $NET --io-tiles 6 --prefetch $depth --host-bandwidth $rate > "$OUT"
        awk -v r="$rate" -v d="$depth" -v p="$(number period)" -v h="$(number host_cycles)" -v c="$(number compute_cycles)" \
            -v e="$(number expected_period)" -v b="$(sed -n 's/.*"bound": "\(.*\)"/\1/p' "$OUT")" 'BEGIN {
                off = p / e - 1; most = h > c ? h : c
                printf "%6d %5d %12.0f %12.0f %12.0f %+7.2f%%  %s\n", r, d, p, h, c, 100 * off, b
                if (d == 3 && (p < 0.98 * most || p > 1.02 * most)) exit 1
                if (d == 0 && (off < -0.02 || off > 0.02)) exit 1
            }' || { echo "not within 2 per cent"; exit 1; }
    done
done
