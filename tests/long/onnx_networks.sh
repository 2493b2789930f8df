#!/bin/bash
# Networks of torchvision, exported as ONNX with drawn weights: read, folded, fused, computed in f64, beside torch's answer in f32.
# Needs torch and torchvision of the system's Python (python3-torchvision, python3-onnx), 4 GB of memory and of disk.
#
#   PYTHON=PROGRAM     the Python that has them (default /usr/bin/python3)
#   NETWORKS="NAME.."  some of those in onnx_export.py (default: all)
. "$(dirname "$0")/common.sh"
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torchvision, onnx' 2>/dev/null || skip "$python has no torchvision or onnx (python3-torchvision, python3-onnx)"
tool=build/obj/release/long/onnx_reference
build $tool

while read -r name; do
    echo "$name"
    "$superstep" models "$tmp/$name.onnx" >"$tmp/listing" || { fail "models $name.onnx"; cat "$tmp/listing"; continue; }
    sed -n "2,3s,^,  ,p" "$tmp/listing"
    "$tool" "$tmp/$name.onnx" "$tmp/$name.x.pb" "$tmp/$name.y.pb" || fail "$name"
    rm -f "$tmp/$name".*
done < <("$python" tests/long/onnx_export.py "$tmp" ${NETWORKS:-} 2>/dev/null)
finish
