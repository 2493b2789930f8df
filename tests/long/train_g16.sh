#!/bin/bash
# EfficientNet-B0-G16 at 64 x 64 on scikit-learn's digits, executed with all values, beside the same training in torch's f32.
# Needs torch, torchvision and scikit-learn of the system's Python (python3-torch, python3-torchvision, python3-sklearn).
#
#   PYTHON=PROGRAM  the Python that has them (default /usr/bin/python3)
#   STEPS=N         how many (default 200)
#   BATCH=N         pictures of a step (default 2)
#   RATE=R          constant (default 0.0001: with two pictures 0.01 throws the network off, torch's too)
#   SUPERSTEP=FILE  the program (default: build/superstep, built first)
. "$(dirname "$0")/common.sh"
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch, torchvision, sklearn' 2>/dev/null || skip "$python has no torch, torchvision or scikit-learn"
build
twin="$python -W ignore tests/long/train_g16_twin.py"
batch=${BATCH:-2} rate=${RATE:-0.0001}
$twin make "$batch" "$tmp" >"$tmp/log" 2>&1 || { cat "$tmp/log"; exit 2; }
begun=$SECONDS
"$superstep" train "$tmp/net.onnx" --data "$tmp" --batch "$batch" --limit "${STEPS:-200}" --epochs 1 --schedule constant --rate "$rate" \
    --exchange memory --augment none --curve "$tmp/curve.csv" -q >"$tmp/answer" || fail "train"
cat "$tmp/answer"
echo "$((SECONDS - begun)) seconds of the host with compiling"
$twin compare "$batch" "$rate" "$tmp/curve.csv" || fail "it is not that of torch"
finish
