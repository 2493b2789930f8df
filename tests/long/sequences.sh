#!/bin/bash
# A Transformer with encoder and decoder, encoders of BERT-base's size for 128 and 384 tokens, one of BERT-large's on two chips, and LSTMs of GNMT's size, one step and a sequence of 20, on mk2 beside torch's f32: at most 2 % of
# the largest number off. What does not fit must be the report of it, which names layers.
# Needs torch and onnx of the system's Python (python3-torch, python3-onnx), 6 GB of memory.
#
#   PYTHON=PROGRAM     the Python that has them (default /usr/bin/python3)
#   NETWORKS="NAME.."  some of transformer, encoder128, encoder384, large128, lstm1, lstm20
. "$(dirname "$0")/common.sh"
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch, onnx' 2>/dev/null || skip "$python has no torch or onnx (python3-torch, python3-onnx)"
build

for name in ${NETWORKS:-transformer encoder128 encoder384 large128 lstm1 lstm20}; do
    "$python" tests/long/sequences_export.py "$tmp" "$name" 2>/dev/null || { fail "$name: export"; continue; }
    inputs=(--input a="$tmp/$name.a.npy")
    [ ! -e "$tmp/$name.b.npy" ] || inputs+=(--input b="$tmp/$name.b.npy")
    [ "$name" != large128 ] || inputs+=(--chips 2)
    "$superstep" run "$tmp/$name.onnx" "${inputs[@]}" --save y="$tmp/$name.chip.npy" --json \
        >"$tmp/answer" 2>"$tmp/messages"
    case $? in
    0)
        error=$("$python" tests/long/sequences_export.py "$tmp" "$name" compare)
        echo "$name: $(number "$tmp/answer" .cycles) cycles, off by $error of the largest"
        [ "$(calculate "$error <= 0.02")" = 1 ] || fail "$name: too far from torch"
        ;;
    1) # out of memory
        holds "$tmp/answer" '.fits == false and (.tiles | length > 0 and all(.peak != ""))' || fail "$name: no report of what does not fit"
        echo "$name: does not fit"
        [ "$name" != large128 ] || fail "$name: two chips hold it"
        ;;
    *)
        fail "$name: $(tail -n 1 "$tmp/messages")"
        ;;
    esac
    rm -f "$tmp/$name".*
done
finish
