#!/bin/bash
# Networks with drawn weights on mk2 beside onnxruntime on the same input: the largest error as a part of the largest number, at most 2 %,
# and the best class; with cycles and the fullest tile. Where numbers of 16 bits are not exact enough for the drawn weights, a second line
# says what 32 bits give, and that decides.
# Needs torch and torchvision of the system's Python (python3-torchvision, python3-onnx), node, and its package onnxruntime-node with the
# library for this processor (npm install onnxruntime-node --ignore-scripts, in a folder of its own); 6 GB of memory and of disk.
#
#   ORT=DIR             the folder in which it was installed
#   PYTHON=PROGRAM      the Python that has the others (default /usr/bin/python3)
#   NETWORKS="NAME.."   some of those below
#   PRECISION="f32"     only this one (default "f16 f32": the second where the first is too far)
#   OPTIONS="..."       of superstep run
. "$(dirname "$0")/common.sh"
python=${PYTHON:-/usr/bin/python3}
export NODE_PATH=${ORT:-.}/node_modules
command -v node >/dev/null || skip "node is not installed"
node -e "require('onnxruntime-node')" 2>/dev/null || skip "node finds no onnxruntime-node; ORT=DIR says where it was installed"
"$python" -c 'import torchvision, onnx' 2>/dev/null || skip "$python has no torchvision or onnx (python3-torchvision, python3-onnx)"
build

# export_network NAME: writes its file, and sets `in` and `out`: names and files of what it reads and makes.
export_network() {
    case $1 in
    ssd_*)
        "$python" tests/long/ssd_export.py "$tmp" "${1#ssd_}" 2>/dev/null || return 1
        mv "$tmp/ssd.onnx" "$tmp/$1.onnx"
        in=(picture="$tmp/x.npy")
        out=(boxes="$tmp/boxes.npy" scores="$tmp/scores.npy")
        ;;
    transformer | lstm* | encoder*)
        "$python" tests/long/sequences_export.py "$tmp" "$1" 2>/dev/null || return 1
        in=(a="$tmp/$1.a.npy")
        [ ! -e "$tmp/$1.b.npy" ] || in+=(b="$tmp/$1.b.npy")
        out=(y="$tmp/$1.chip.npy")
        ;;
    efficientnet-*) # ours, as we write it
        "$superstep" models "$1" -o "$tmp/$1.onnx" >/dev/null 2>&1 || return 1
        "$python" -c "
import numpy, onnx
d = onnx.load('$tmp/$1.onnx', load_external_data=False).graph.input[0].type.tensor_type.shape.dim
numpy.save('$tmp/x.npy', numpy.random.RandomState(1).randn(*[n.dim_value or 1 for n in d]).astype('f4'))" || return 1
        in=("$tmp/x.npy")
        out=("$tmp/y.npy")
        ;;
    *)
        "$python" tests/long/onnx_export.py "$tmp" "$1" >/dev/null 2>&1 || return 1
        in=("$tmp/$1.x.npy")
        out=("$tmp/y.npy")
        ;;
    esac
}

# answer PRECISION: runs the file of $name and compares it; sets verdict to good, far or failed, and prints a row.
answer() {
    # shellcheck disable=SC2086 # several options
    "$superstep" run "$tmp/$name.onnx" "${in[@]/#/--input=}" "${out[@]/#/--save=}" --precision "$1" --json ${OPTIONS:-} \
        >"$tmp/answer" 2>"$tmp/messages"
    case $? in
    0) ;;
    1) # out of memory: the report names layers
        printf '%-16s %-9s %s\n' "$name" "$1" "does not fit"
        holds "$tmp/answer" '.fits == false and (.tiles | length > 0 and all(.peak != ""))' ||
            { verdict=failed; fail "$name: no report of what does not fit"; return; }
        [ $verdict = far ] || verdict=good
        return
        ;;
    *)
        verdict=failed
        fail "$name: $(tail -n 1 "$tmp/messages")"
        return
        ;;
    esac
    node tests/long/onnxruntime.js "$tmp/$name.onnx" "${in[@]}" -- "${out[@]}" >"$tmp/compared" 2>"$tmp/messages" ||
        { verdict=failed; fail "$name: onnxruntime: $(tail -n 1 "$tmp/messages")"; return; }
    error=$(number "$tmp/compared" .error) best=$(number "$tmp/compared" .best)
    printf '%-16s %-9s %12s %14s %10.3f %10.4f\n' "$name" "$1" "$(number "$tmp/answer" .cycles)" \
        "$(number "$tmp/answer" .memory.max_tile_bytes)" "$(calculate "100 * $error")" "$best"
    verdict=far
    [ "$(calculate "($error <= 0.02 && $best >= 0.99)")" = 0 ] || verdict=good
}

networks="resnet18 resnet50 mobilenet_v2 mobilenet_v3 densenet121 googlenet inception_v3 efficientnet_b0 efficientnet_b4 vit_b_16 vgg16
    encoder128 encoder384 transformer lstm1 lstm20 ssd_vgg16 ssd_resnet34 efficientnet-b4"
printf '%-16s %-9s %12s %14s %10s %10s\n' network precision cycles 'fullest tile' 'error, %' 'same best'
for name in ${NETWORKS:-$networks}; do
    export_network "$name" || { fail "$name: export"; continue; }
    verdict=
    for precision in ${PRECISION:-f16 f32}; do
        answer "$precision"
        [ $verdict = far ] || break
    done
    [ $verdict != far ] || fail "$name: too far from onnxruntime"
    rm -f "$tmp"/*.onnx "$tmp"/*.npy "$tmp"/*.pb
done
finish
