#!/bin/bash
# One step of training beside torch in f64: the loss and the gradient of every parameter, from the same weights, pictures and masks.
# Executed on the chip with all values: gradients are those of --gradients, and what SGD's momentum is after the first step. Networks with batch norms amplify what
# f16 rounds, whoever computes them; so the bound is what torch itself is off by when its layers' numbers are rounded.
# And the same graph in f64 (train_step_reference.c) at sizes that no chip holds, where only the order of sums differs.
# Needs torch and torchvision of the system's Python (python3-torch, python3-torchvision). All of them take more than an hour.
#
#   PYTHON=PROGRAM  the Python that has them (default /usr/bin/python3)
#   CHIP=LIST       NETWORK@SIDExBATCH[,FIELD=VALUE]: executed, on mk2 with such a field (default: two that take a minute)
#   FORMATS=LIST    of --format (default 16.32, with f32 partial sums)
#   F64=LIST        NETWORK@SIDExBATCH: in f64 (default: none)
#   ALL=1           every network: CHIP and F64 as below
#   SUPERSTEP=FILE  the program (default: build/superstep, built first)
. "$(dirname "$0")/common.sh"
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch, torchvision' 2>/dev/null || skip "$python has no torch or torchvision"
tool=build/obj/release/long/train_step_reference
twin="$python -W ignore tests/long/train_step_twin.py"
if [ -n "${ALL:-}" ]; then
    CHIP="masks@32x8,tiles=256 encoder@32x8,tiles=256 mobilenet@64x4 efficientnet-b0@64x2 efficientnet-b0-g16@64x2 resnet50@64x2 resnet50@224x1
          vgg16-convolutions@224x1 efficientnet-b4@380x1 efficientnet-b4-g16@380x1"
    F64="mobilenet@224x2 efficientnet-b0@224x2 efficientnet-b0-g16@224x1 resnet50@224x2 vgg16@224x1 efficientnet-b4@380x2
        efficientnet-b4-g16@380x1"
fi
[ -z "${F64:-}" ] || make -s -j2 $tool || exit 2
build

# take NETWORK@SIDExBATCH[,FIELD=VALUE]: sets name, side, batch, field and makes its files
take() {
    local sizes=${1#*@}
    name=${1%@*} side=${sizes%%x*} batch=${sizes#*x} field=
    [ "$batch" = "${batch#*,}" ] || field=${batch#*,}
    batch=${batch%%,*}
    rm -f "$tmp"/*
    $twin make "$name" "$side" "$batch" "$tmp" >"$tmp/log" 2>&1 || { fail "no net.onnx of $1"; cat "$tmp/log"; return 1; }
}

for what in ${CHIP-masks@32x8,tiles=256 encoder@32x8,tiles=256}; do
    take "$what" || continue
    options=(--batch "$batch" --exchange memory)
    [ -z "$field" ] || options+=(--set "$field")
    [ "$name" != masks ] || options+=(--dropout 0.3)
    for format in ${FORMATS:-16.32}; do
        "$superstep" train "$tmp/net.onnx" --data "$tmp" --limit 1 --epochs 1 --rate 1e-3 --loss-scale 64 --partials f32 \
            --format "$format" --checkpoint "$tmp/checkpoint" --gradients "$tmp/chip" -q --json "${options[@]}" >"$tmp/answer" || { fail "train $what"; continue; }
        $twin chip "$name" "$side" "$batch" "$tmp" "$format" || fail "$name is not that of torch"
    done
done
for what in ${F64:-}; do
    take "$what" || continue
    $twin f64 "$name" "$side" "$batch" "$tmp" $tool || fail "$name is not that of torch"
done
finish
