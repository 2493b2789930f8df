#!/bin/bash
# SSD300 with VGG-16, and with ResNet-34 as in MLPerf, on mk2, one picture of 300 x 300: six scales, boxes and scores of 8,732 places, beside
# torch's in f32: at most 2 % of the largest off, and the same best class of 99 % of the places.
# Needs torch and torchvision of the system's Python (python3-torchvision, python3-onnx), 3 GB of memory.
#
#   PYTHON=PROGRAM        the Python that has them (default /usr/bin/python3)
#   BACKBONES="NAME.."    some of vgg16, resnet34
. "$(dirname "$0")/common.sh"
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torchvision, onnx' 2>/dev/null || skip "$python has no torchvision or onnx (python3-torchvision, python3-onnx)"
build

for name in ${BACKBONES:-vgg16 resnet34}; do
    "$python" tests/long/ssd_export.py "$tmp" "$name" 2>/dev/null || { fail "$name: export"; continue; }
    "$superstep" run "$tmp/ssd.onnx" --input picture="$tmp/x.npy" --save boxes="$tmp/chip_boxes.npy" --save scores="$tmp/chip_scores.npy" \
        --json >"$tmp/answer" 2>"$tmp/messages" || { fail "$name: $(tail -n 3 "$tmp/messages")"; continue; }
    "$python" tests/long/ssd_export.py "$tmp" compare >"$tmp/compared" || fail "$name: compare"
    echo "$name: $(number "$tmp/answer" .cycles) cycles; $(cat "$tmp/compared")"
    holds "$tmp/compared" '.boxes <= 0.02 and .scores <= 0.02 and .scores_best >= 0.99' || fail "$name: too far from torch"
done
finish
