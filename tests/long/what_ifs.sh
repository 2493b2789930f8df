#!/bin/bash
# What if the machine were another one: EfficientNet-B4 at batch 1 on a faster chip, with half of the tiles, with half and with twice the
# SRAM. Each runs, or ends with exit status 1 and the report of what does not fit. About 3 minutes on two cores.
#
#   NETWORK="efficientnet-b4-g16 --batch 2"  another network, with options
#   SUPERSTEP=FILE                           the program (default: build/superstep, built first)
set -u
cd "$(dirname "$0")/../.." || exit 2
superstep=${SUPERSTEP:-build/superstep}
[ -n "${SUPERSTEP:-}" ] || make -s -j2 all || exit 2
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
failed=0

# number KEY: of the first such key of the answer
number() { sed -n "s/^ *\"$1\": \([0-9.e+-]*\),*$/\1/p" "$tmp/answer" | head -n 1; }

# what, options of the machine
try() {
    local what=$1 status fits=no
    shift
    # shellcheck disable=SC2086 # the network stands with options
    "$superstep" run -q ${NETWORK:-efficientnet-b4} --no-calibration --json "$@" >"$tmp/answer" 2>"$tmp/error"
    status=$?
    grep -q '"fits": true' "$tmp/answer" && fits=yes
    printf '%-24s %-5s %10s %10.5s %16s %16s %5d\n' "$what" $fits "$(number cycles)" "$(number images_per_second)" \
        "$(number need_bytes)" "$(number tile_bytes)" $status
    if [ $fits$status != yes0 ] && { [ $fits$status != no1 ] || ! grep -q '"advice"' "$tmp/answer"; }; then
        echo "FAILED: $what: neither ran nor ended with a report"
        head -n 3 "$tmp/error"
        failed=$((failed + 1))
    fi
}

printf '%-24s %-5s %10s %10s %16s %16s %5s\n' machine fits cycles images/s "fullest tile" "memory of tile" exit
try "mk2"
try "bow" --machine bow
try "736 tiles" --set tiles=736
# Elements half as large, so that everything is halved.
half="--set mem_bytes=319488 --set region0_bytes=106496 --set element_bytes=8192"
try "half the SRAM" $half
try "half, --exchange memory" $half --exchange memory
try "twice the SRAM" --set mem_bytes=1277952 --set region0_bytes=425984
[ $failed -eq 0 ] && echo "all right"
exit $((failed != 0))
