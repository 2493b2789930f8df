#!/bin/bash
# Trainings on real data (scikit-learn's digits), executed with all values, beside the same trainings in torch; stopped and resumed,
# with other numbers of threads, killed: the same bits.
# Needs torch and scikit-learn of the system's Python (python3-torch, python3-sklearn).
#
#   PYTHON=PROGRAM  the Python that has them (default /usr/bin/python3)
#   KILLS=N         how often a training is killed (default 50)
#   SUPERSTEP=FILE  the program (default: build/superstep, built first)
. "$(dirname "$0")/common.sh"
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch, sklearn' 2>/dev/null || skip "$python has no torch or scikit-learn (python3-torch, python3-sklearn)"
build
twin=tests/long/train_twin.py
mkdir "$tmp/data"
"$python" $twin data "$tmp/data"
for net in mlp cnn raw plain; do
    "$python" -W ignore $twin network $net "$tmp/$net.onnx" >/dev/null 2>&1 || fail "no $net.onnx"
done

train() { # network, options
    local net=$1
    shift
    "$superstep" train "$tmp/$net.onnx" --data "$tmp/data" --rate "${rate:-0.1}" -q "$@" >"$tmp/answer" || fail "train $net $*"
}

train mlp -m toy64 --epochs 5 --format f32 --curve "$tmp/mlp-f32.csv"
train mlp -m toy64 --epochs 5 --curve "$tmp/mlp-f16.csv"
train mlp -m toy64 --epochs 5 --format 16.16 --curve "$tmp/mlp-16.16.csv"
train cnn --set tiles=256 --epochs 5 --curve "$tmp/cnn-f16.csv"
train cnn --set tiles=256 --epochs 5 --format 16.16 --curve "$tmp/cnn-16.16.csv"
"$python" $twin compare mlp 5 0.1 "$tmp/mlp-f32.csv" "$tmp/mlp-f16.csv" "$tmp/mlp-16.16.csv" || fail "the perceptron is not that of torch"
"$python" $twin compare cnn 5 0.1 "$tmp/cnn-f16.csv" "$tmp/cnn-16.16.csv" || fail "the convolutional network is not that of torch"

# What a newcomer types: folders of pictures, and nothing else said.
mkdir "$tmp/folders"
"$python" $twin folders "$tmp/folders"
"$superstep" train "$tmp/plain.onnx" --data "$tmp/folders" -q --json -o "$tmp/plain.safetensors" >"$tmp/answer" || fail "train plain"
"$python" $twin parameters plain "$tmp/folders" "$tmp/plain.safetensors" "$tmp/answer" || fail "digits in folders are not as in torch"
"$superstep" evaluate "$tmp/plain.onnx" -w "$tmp/plain.safetensors" --data "$tmp/folders" -q --json >"$tmp/evaluated" || fail "evaluate plain"
[ "$(number "$tmp/evaluated" .accuracy)" = "$(number "$tmp/answer" '.epochs[-1].test.accuracy')" ] || fail "evaluate says another accuracy"

for kind in "f32" "16.16" "16.16 --rounding nearest"; do
    rate=0.0003 train mlp -m toy64 --epochs 20 --momentum 0 --schedule constant --format $kind --curve "$tmp/small-${kind##* }.csv"
done
"$python" $twin rounding "$tmp"/small-f32.csv "$tmp"/small-16.16.csv "$tmp"/small-nearest.csv || fail "rounding is not as it should be"

for scale in 1024 1; do
    train raw -m toy64 --epochs 20 --batch 256 --loss-scale $scale --curve "$tmp/scale-$scale.csv"
done
"$python" $twin scale "$tmp"/scale-1024.csv "$tmp"/scale-1.csv || fail "the loss scale is not as it should be"

train mlp -m toy64 --epochs 2 -j 1 -o "$tmp/whole"
train mlp -m toy64 --epochs 2 --checkpoint "$tmp/part" --every 7 --limit 30
train mlp -m toy64 --epochs 2 --checkpoint "$tmp/part" --every 7 --resume -j 3 -o "$tmp/resumed"
cmp "$tmp/whole" "$tmp/resumed" || fail "resumed, it ends with other bits"

for k in $(seq 1 "${KILLS:-50}"); do
    timeout -s KILL "0.$((10 + k * 37 % 80))" "$superstep" train "$tmp/mlp.onnx" --data "$tmp/data" --rate 0.1 -q -m toy64 --epochs 2 \
        --checkpoint "$tmp/killed" --every 1 --resume >"$tmp/answer" 2>&1
done
train mlp -m toy64 --epochs 2 --checkpoint "$tmp/killed" --every 1 --resume -o "$tmp/after"
cmp "$tmp/whole" "$tmp/after" || fail "killed ${KILLS:-50} times, it ends with other bits"
echo "stopped and resumed, on 1 and 3 threads, killed ${KILLS:-50} times: the same parameters"
finish
