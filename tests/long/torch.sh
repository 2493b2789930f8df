#!/bin/bash
# The f64 reference of networks against torch in float64, on the same seeded weights and pictures: every block and the scores. Then
# what the machine computes in f16 against torch, from weights and picture files to logits.
# Needs torch of the system's Python (python3-torch); with python3-torchvision its models are compared, too.
#
#   PYTHON=PROGRAM  the Python that has torch (default /usr/bin/python3)
#   RESOLUTION=N    of the pictures on the machine (default: the network's own)
#   SUPERSTEP=FILE  the program (default: build/superstep, built first)
. "$(dirname "$0")/common.sh"
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch' 2>/dev/null || skip "$python has no torch (python3-torch)"
"$python" -c 'import torchvision' 2>/dev/null || echo "torchvision is absent (python3-torchvision): its own models are not compared"
tool=build/obj/release/long/torch_dump
build $tool

compare() { # network, padding, norm, resolution
    printf '%-20s %-6s %-16s %4s  ' "$@"
    $tool "$@" "$tmp/net" && "$python" tests/long/torch_compare.py "$1" "$2" "$3" "$tmp/net" || fail "$*"
}

# The two pictures of Superstep.
compare_machine() { # network, padding, norm
    printf '%-20s %-6s %-16s       ' "$@"
    padding=()
    [ "$2" = torch ] && padding=(--torch-padding)
    "$superstep" models "$1" --padding "$2" --norm "$3" -o "$tmp/weights" 2>/dev/null || { fail "models $1"; return; }
    "$superstep" run "$1" "${padding[@]}" --batch 2 --weights "$tmp/weights" ${RESOLUTION:+--resolution "$RESOLUTION"} \
        --logits "$tmp/logits" --quiet >"$tmp/out" || { fail "run $1"; cat "$tmp/out"; return; }
    "$python" tests/long/torch_compare.py "$1" "$2" "$3" "$tmp/weights" "$tmp/logits" || fail "$* on the machine"
}

compare efficientnet-b4 same batch 380
compare efficientnet-b4 torch batch 380
compare efficientnet-b4-g16 same group 380
compare efficientnet-b0 torch batch 224
compare efficientnet-b0 same group 97
compare efficientnet-b3-g16 same batch 150
compare efficientnet-b6-g16 torch group 64
compare efficientnet-b6-g16 torch group-contiguous 64
compare efficientnet-b7 torch batch 96
compare resnet-50 torch batch 224
compare_machine efficientnet-b4 same batch
compare_machine efficientnet-b4-g16 same group
compare_machine resnet-50 torch batch
finish
