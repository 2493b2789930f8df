#!/bin/bash
# One step of training, executed with all values, beside torch in f64: the loss and the gradient of every parameter, from the same
# weights, pictures and masks. The gradient is what SGD's momentum is after the first step (with --decay 0).
# Needs torch and torchvision of the system's Python (python3-torch, python3-torchvision).
#
#   PYTHON=PROGRAM  the Python that has them (default /usr/bin/python3)
#   NETS=LIST       of masks, encoder, mobilenet, efficientnet, resnet50 (default: masks; the others are compiled for minutes)
#   SUPERSTEP=FILE  the program (default: build/superstep, built first)
. "$(dirname "$0")/common.sh"
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch, torchvision' 2>/dev/null || skip "$python has no torch or torchvision"
build
twin=tests/long/train_step_twin.py
nets=${NETS:-masks}

step() { # network, pictures, options
    local net=$1 batch=$2
    shift 2
    "$python" -W ignore $twin make "$net" "$batch" "$tmp/$net.onnx" "$tmp" >/dev/null 2>&1 || fail "no $net.onnx"
    "$superstep" train "$tmp/$net.onnx" --data "$tmp" --augment none --batch "$batch" --limit 1 --epochs 1 --rate 1e-3 \
        --checkpoint "$tmp/$net.checkpoint" -q "$@" >"$tmp/answer" || fail "train $net $*"
    "$python" -W ignore $twin compare "$net" "$batch" "$tmp/$net.checkpoint" || fail "$net is not that of torch"
}

for net in $nets; do
    case $net in
    encoder) step encoder 8 --set tiles=256 ;;
    masks) step masks 8 --set tiles=256 --dropout 0.3 ;;
    *) step "$net" 2 --exchange memory ;;
    esac
done
finish
