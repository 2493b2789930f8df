#!/bin/bash
# ResNet-50 in f16 at batch 1 and 4 on one Mk2 chip: every layer, fed with the machine's inputs, agrees with the f64 reference within its
# bound; then the network as it runs, with checks, and its cycles. About 4 minutes on two cores; the process takes 2 GB at batch 4.
#
#   BATCHES="1 4"   the batches
#   RESOLUTION=N    of the pictures (default: the network's own)
#   SUPERSTEP=FILE  the program (default: build/superstep, built first)
. "$(dirname "$0")/common.sh"
build

# run WHAT OPTIONS...
run() {
    "$superstep" run resnet-50 -q --json --batch "$batch" ${RESOLUTION:+--resolution "$RESOLUTION"} "${@:2}" >"$tmp/answer" 2>"$tmp/error" && return
    fail "$1 at batch $batch"
    head -n 5 "$tmp/error"
}

for batch in ${BATCHES:-1 4}; do
    run layers --compare-layers
    echo "batch $batch: $(number "$tmp/answer" .compared) results compared, $(number "$tmp/answer" .beyond_bound) beyond their bound"
    run check --check
    jq -r '"  \(.cycles) cycles, \(.cycles_per_picture) a picture, \(.pictures_per_second | floor) pictures a second; " +
        "fullest tile \(.memory.max_tile_bytes) of \(.memory.tile_bytes) bytes"' "$tmp/answer"
done
finish
