#!/bin/bash
# ResNet-50 in f16 at batch 1 and 4 on one Mk2 chip: every layer, fed with the machine's inputs, agrees with the f64 reference within its
# bound; then the network as it runs, with checks, and its cycles. About 4 minutes on two cores; the process takes 2 GB at batch 4.
#
#   BATCHES="1 4"   the batches
#   SUPERSTEP=FILE  the program (default: build/superstep, built first)
set -u
cd "$(dirname "$0")/../.." || exit 2
superstep=${SUPERSTEP:-build/superstep}
[ -n "${SUPERSTEP:-}" ] || make -s -j2 all || exit 2
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
failed=0

miss() {
    echo "FAILED: $1"
    head -n 5 "$tmp/error"
    failed=$((failed + 1))
}

for batch in ${BATCHES:-1 4}; do
    "$superstep" run resnet-50 -q --batch "$batch" --compare-layers >"$tmp/answer" 2>"$tmp/error" || miss "layers at batch $batch"
    echo "batch $batch: $(grep 'results compared' "$tmp/answer" || tail -n 3 "$tmp/answer")"
    "$superstep" run resnet-50 -q --batch "$batch" --check >"$tmp/answer" 2>"$tmp/error" || miss "run at batch $batch"
    grep -A 1 '^Time on the chip' "$tmp/answer" | tail -n 1
    grep -E 'cycles a picture|^Memory of|  used ' "$tmp/answer"
done
[ $failed -eq 0 ] && echo "all right"
exit $((failed != 0))
