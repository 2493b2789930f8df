#!/bin/bash
# Twenty unlike pictures from file to class on the emulated chip, f16 with f16 partials, against the f64 reference on the same weights.
# Every logit is within 2e-2 of the picture's largest one, and every reference class that leads the sixth by more than twice the error
# is among the machine's best five. Prints, for each picture: the largest reference logit, the largest error and its part of that, how
# many such classes there are and were found, and the best class of both.
#
#   NETWORKS        default "efficientnet-b4 efficientnet-b4-g16"
#   RESOLUTION      default: the network's own
#   BATCH           pictures of one run, which divides 20 (default 4: the process takes 1.8 GB for B4, 4.4 GB for G16)
#   SUPERSTEP=FILE  the program (default: build/superstep, built first)
. "$(dirname "$0")/common.sh"
networks=${NETWORKS:-efficientnet-b4 efficientnet-b4-g16} batch=${BATCH:-4}
tool=build/obj/release/long/pictures
build $tool
$tool draw "$tmp" || exit 2
files=("$tmp"/*.png)

for net in $networks; do
    "$superstep" models "$net" -o "$tmp/weights" 2>/dev/null || exit 2
    answers=()
    for ((i = 0; i < ${#files[@]}; i += batch)); do
        images=()
        for f in "${files[@]:i:batch}"; do images+=(--image "$f"); done
        answers+=("$tmp/$net.$i")
        "$superstep" run "$net" --weights "$tmp/weights" --batch "$batch" ${RESOLUTION:+--resolution "$RESOLUTION"} "${images[@]}" \
            --logits "$tmp/$net.$i" --quiet >"$tmp/out" || { fail "run $net"; cat "$tmp/out"; finish; }
    done
    $tool compare "$net" "$tmp/weights" "${answers[@]}" || fail "$net"
done
finish
