#!/bin/sh
# Streams of pictures through a small network: half the bytes with 8 bits and the same scores, nothing that depends on threads,
# bursts that depth 3 hides and depth 1 does not, too few IO tiles. How streams end: stream_ends.sh.
#   tests/long/stream.sh [superstep]
S=${1:-build/superstep}
NET="efficientnet-b0 --resolution 32 --no-calibration --set tiles=128 --quiet"
D=$(mktemp -d)
trap 'rm -rf "$D"' EXIT
stream() { "$S" stream $NET --threads 1 "$@"; }
number() { sed -n "s/^ *\"$1\": \"*\([0-9a-f.]*\).*/\1/p" "$D/$2" | head -1; }
fail() { echo "not ok: $1"; exit 1; }

for type in u8 f16; do
    stream --io-tiles 6 --limit 4 --input-type $type --check --output "$D/$type.csv" --json > "$D/$type" || fail "$type"
done
[ "$(number bytes_in f16)" -eq $((2 * $(number bytes_in u8))) ] || fail "8 bits are not half of 16"
cmp -s "$D/u8.csv" "$D/f16.csv" || fail "scores of 8 bits and 16"
for k in 1 2; do
    stream --io-tiles 6 --limit $k --output "$D/one$k.csv" --json > "$D/one" || fail "$k pictures"
done
[ "$(tail -1 "$D/one2.csv")" = "$(sed -n 3p "$D/u8.csv")" ] || fail "a picture alone and in a stream"
echo "ok: bytes and scores"

"$S" stream $NET --threads 2 --decoders 1 --queue 1 --io-tiles 6 --limit 4 --json > "$D/threads" || fail "threads"
[ "$(number digest threads)" = "$(number digest u8)" ] || fail "digests of other threads"
echo "ok: digests"

for depth in 1 3; do
    stream --io-tiles 6 --prefetch $depth --host-jitter 200000 --limit 12 --json > "$D/jitter$depth" || fail "jitter"
done
awk -v a="$(number period jitter1)" -v b="$(number period jitter3)" -v c="$(number compute_cycles jitter3)" \
    'BEGIN { exit !(a > 1.2 * c && b < 1.02 * c) }' || fail "depth 3 hides bursts"
echo "ok: jitter, $(number period jitter1) cycles at depth 1, $(number period jitter3) at depth 3"

stream --io-tiles 2 2> /dev/null; [ $? = 2 ] || fail "too few IO tiles"
stream --io-tiles 3 --batch 64 --resolution 380 2> "$D/err"; [ $? = 2 ] || fail "too small IO tiles"
grep -q "IO tiles are needed" "$D/err" || fail "how many are needed"
stream --io-tiles 0 --prefetch 0 --limit 2 > /dev/null || fail "no IO tiles"
stream --io-tiles 4 --prefetch 0 --limit 2 > /dev/null || fail "depth 0"
for option in "--memory-proportion 0.001" "--parameter-memory 0.1"; do
    stream --io-tiles 6 --limit 1 --resolution 96 $option --json > "$D/less" || fail "$option"
    stream --io-tiles 6 --limit 1 --resolution 96 --json > "$D/all" || fail "resolution 96"
    [ "$(number digest less)" != "$(number digest all)" ] || fail "$option changes nothing"
done
echo "ok: sizes"
