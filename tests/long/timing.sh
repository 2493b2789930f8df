#!/bin/bash
# The timing engine against the values engine: whole networks at several batches have the same answer but for what is made of numbers
# (cycles, bill, every layer), and their images the same cycles of every superstep on every tile, on any number of threads; so have
# streams of pictures, which need values and say so. Random graphs: random_graphs.sh.
#
#   SUPERSTEP=FILE           the program (default: build/superstep, built first)
#   SUPERSTEP_NETWORKS="efficientnet-b0"  only these (default: EfficientNet B0 to B7 of both kinds, ResNet-50)
#   BATCHES                  default "1 3 4 12"
#   OPTIONS                  more for every command, such as "--resolution 64"
. "$(dirname "$0")/common.sh"
build
options=${OPTIONS:-}

# same A B: two answers are equal without what is made of numbers, or says which engine it was
same() {
    for file in "$1" "$2"; do
        jq 'del(.digest, .engine, .weights, .top5, .pictures, .host_seconds)' "$file" >"$file.rest" || return
    done
    cmp -s "$1.rest" "$2.rest"
}

# tiles NAME: every superstep and tile of the image
tiles() {
    "$superstep" run "$tmp/image" --steps --tiles -j1 | sed '/^status /,$d' >"$tmp/values.tiles"
    for threads in 1 2 16; do
        "$superstep" run "$tmp/image" --steps --tiles -j$threads --engine timing >"$tmp/timing.tiles"
        grep -q '^engine timing$' "$tmp/timing.tiles" || fail "$1: not run by the timing engine"
        sed '/^status /,$d' "$tmp/timing.tiles" | cmp -s - "$tmp/values.tiles" || fail "$1: tiles, $threads threads"
    done
}

# network NAME BATCH
network() {
    local run="$1 --batch $2 --no-calibration --quiet $options"

    "$superstep" run $run --json -o "$tmp/image" >"$tmp/values" 2>"$tmp/error"
    case $? in
    0) ;;
    1) echo "$1, batch $2: does not fit"; return ;;
    *) fail "$1, batch $2: $(cat "$tmp/error")"; return ;;
    esac
    "$superstep" run $run --json --engine timing >"$tmp/timing" 2>"$tmp/error" || fail "$1, batch $2"
    same "$tmp/values" "$tmp/timing" || fail "$1, batch $2: other cycles"
    tiles "$1, batch $2"
    echo "$1, batch $2: $(number "$tmp/timing" .cycles) cycles, $(wc -l <"$tmp/values.tiles") equal rows"
}

# stream NAME
stream() {
    local run="$1 models/pictures models/pictures models/pictures --no-calibration --quiet --json $options"

    "$superstep" stream $run >"$tmp/values" && "$superstep" stream $run --engine timing >"$tmp/timing" || fail "stream of $1"
    same "$tmp/values" "$tmp/timing" || fail "stream of $1: other cycles"
    echo "stream of $1: $(number "$tmp/timing" .cycles) cycles"
}

all="$(for k in 0 1 2 3 4 5 6 7; do echo "efficientnet-b$k efficientnet-b$k-g16"; done) resnet-50"
for name in ${SUPERSTEP_NETWORKS:-$all}; do
    for batch in ${BATCHES:-1 3 4 12}; do
        network "$name" "$batch"
    done
    stream "$name"
done
finish
