#!/bin/bash
# What if the machine were another one: EfficientNet-B4 at batch 1 on a faster chip, with half of the tiles, with half and with twice the
# SRAM. Each runs, or ends with exit status 1 and the report of what does not fit. About 3 minutes on two cores.
#
#   NETWORK="efficientnet-b4-g16 --batch 2"  another network, with options
#   SUPERSTEP=FILE                           the program (default: build/superstep, built first)
. "$(dirname "$0")/common.sh"
build

# try WHAT OPTIONS...: of the machine. The figures of memory are at the top of the report of what does not fit, else under "memory".
try() {
    local what=$1 status
    shift
    # shellcheck disable=SC2086 # the network stands with options
    "$superstep" run -q ${NETWORK:-efficientnet-b4} --no-calibration --json "$@" >"$tmp/answer" 2>"$tmp/error"
    status=$?
    printf '%-24s %-6s %10s %10s %16s %16s %5d\n' "$what" "$(number "$tmp/answer" '.memory // . | .fits')" "$(number "$tmp/answer" .cycles)" \
        "$(number "$tmp/answer" '.pictures_per_second | values | floor')" "$(number "$tmp/answer" '.memory // . | .need_bytes')" \
        "$(number "$tmp/answer" '.memory // . | .tile_bytes')" $status
    case $status in
    0) holds "$tmp/answer" '.memory.fits and .cycles > 0' ;;
    1) holds "$tmp/answer" '.fits == false and (.advice | length) > 0' ;;
    *) false ;;
    esac && return
    fail "$what: neither ran nor ended with a report"
    head -n 3 "$tmp/error"
}

printf '%-24s %-6s %10s %10s %16s %16s %5s\n' machine fits cycles images/s "fullest tile" "memory of tile" exit
try "mk2"
try "bow" --machine bow
try "736 tiles" --set tiles=736
# Elements half as large, so that everything is halved.
half="--set mem_bytes=319488 --set region0_bytes=106496 --set element_bytes=8192"
# shellcheck disable=SC2086
try "half the SRAM" $half
# shellcheck disable=SC2086
try "half, --exchange memory" $half --exchange memory
try "twice the SRAM" --set mem_bytes=1277952 --set region0_bytes=425984
finish
