#!/bin/bash
# `superstep validate --all`: every figure that needs no other file is measured, and those of the matrix codelet that was measured on
# silicon with SUPERSTEP_POPLIBS; the sizes agree with silicon up to a constant. Half an hour at most.
#
#   SUPERSTEP_POPLIBS=DIR  a checkout of PopLibs; without it its figures are skipped
#   SUPERSTEP=FILE         the program (default: build/superstep, built first)
. "$(dirname "$0")/common.sh"
build
poplibs=()
[ -n "${SUPERSTEP_POPLIBS:-}" ] && [ -d "$SUPERSTEP_POPLIBS/lib" ] && poplibs=(--poplibs "$SUPERSTEP_POPLIBS")
"$superstep" validate -q --all --json "${poplibs[@]}" >"$tmp/answer" || fail "validate --all"
jq -r '.[] | [.id, .published_low, .here // .skipped, .error_percent // ""] | @tsv' "$tmp/answer"

# figure LOW HIGH: what is measured lies between them
figure() {
    local value
    value=$(jq -r --arg id "$1" '.[] | select(.id == $id) | .here // "none"' "$tmp/answer")
    jq -en "($value) >= $2 and ($value) <= $3" >/dev/null 2>&1 || fail "$1 is $value, not from $2 to $3"
}
figure layers.all 1 33.3
figure batch.b4 12 1000
figure batch.b4_g16 26 1000
if [ ${#poplibs[@]} -gt 0 ]; then
    figure amp.poplibs.slope 3.995 4.005
    figure amp.poplibs.farthest 0 0.1
fi
finish
