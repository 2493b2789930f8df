#!/bin/bash
# Streams of pictures through a small network: half the bytes with 8 bits and the same scores, nothing that depends on threads,
# bursts that depth 3 hides and depth 1 does not, too few IO tiles. How streams end: stream_ends.sh.
#
#   SUPERSTEP=FILE  the program (default: build/superstep, built first)
. "$(dirname "$0")/common.sh"
build
net="efficientnet-b0 --resolution 32 --no-calibration --set tiles=128 --quiet"

# stream NAME OPTIONS...: its answer in $tmp/NAME
# shellcheck disable=SC2086 # the network stands with options
stream() { "$superstep" stream $net --threads 1 --json "${@:2}" >"$tmp/$1" 2>"$tmp/error"; }
value() { number "$tmp/$1" "$2"; }
# passed WHAT: says so when nothing has failed.
passed() { [ "$failed" -eq 0 ] && echo "ok: $1"; }

for type in u8 f16; do
    stream $type --io-tiles 6 --limit 4 --input-type $type --check --output "$tmp/$type.csv" || fail "$type"
done
[ "$(value f16 .bytes_in)" -eq $((2 * $(value u8 .bytes_in))) ] || fail "8 bits are not half of 16"
cmp -s "$tmp/u8.csv" "$tmp/f16.csv" || fail "scores of 8 bits and 16"
for k in 1 2; do
    stream one --io-tiles 6 --limit $k --output "$tmp/one$k.csv" || fail "$k pictures"
done
[ "$(tail -1 "$tmp/one2.csv")" = "$(sed -n 3p "$tmp/u8.csv")" ] || fail "a picture alone and in a stream"
passed "bytes and scores"

stream threads --threads 2 --decoders 1 --queue 1 --io-tiles 6 --limit 4 || fail "threads"
[ "$(value threads .digest)" = "$(value u8 .digest)" ] || fail "digests of other threads"
passed "digests"

for depth in 1 3; do
    stream jitter$depth --io-tiles 6 --prefetch $depth --host-jitter 200000 --limit 12 || fail "jitter"
done
holds "$tmp/jitter1" ".steady.period > 1.2 * $(value jitter3 .rule.compute_cycles)" &&
    holds "$tmp/jitter3" '.steady.period < 1.02 * .rule.compute_cycles' || fail "depth 3 hides bursts"
passed "jitter, $(value jitter1 .steady.period) cycles at depth 1, $(value jitter3 .steady.period) at depth 3"

# Exit status 2: refused before anything runs, with nothing on stdout.
refused() { stream refused "$@"; [ $? -eq 2 ] && [ ! -s "$tmp/refused" ] || fail "not refused: $*"; }
refused --io-tiles 2
refused --io-tiles 3 --batch 64 --resolution 380
stream none --io-tiles 0 --prefetch 0 --limit 2 || fail "no IO tiles"
stream none --io-tiles 4 --prefetch 0 --limit 2 || fail "depth 0"
stream all --io-tiles 6 --limit 1 --resolution 96 || fail "resolution 96"
for option in "--memory-proportion 0.001" "--parameter-memory 0.1"; do
    # shellcheck disable=SC2086 # an option and its value
    stream less --io-tiles 6 --limit 1 --resolution 96 $option || fail "$option"
    [ "$(value less .digest)" != "$(value all .digest)" ] || fail "$option changes nothing"
done
passed "sizes"
finish
