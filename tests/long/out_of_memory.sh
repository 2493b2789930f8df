#!/bin/bash
# A network that cannot fit, EfficientNet-B7 at 600 x 600 and batch 8, ends with exit status 1 and the full report: which tiles and by how
# much, what would help, categories, histogram, the five fullest tiles with their worst moment. About 2 minutes, 8 GB of memory.
#
#   SUPERSTEP=FILE  the program (default: build/superstep, built first)
. "$(dirname "$0")/common.sh"
build

"$superstep" run -q efficientnet-b7 --resolution 600 --batch 8 --no-calibration --report --json >"$tmp/report" 2>"$tmp/error"
status=$?
[ $status -eq 1 ] || { fail "exit status $status, expected 1"; head -n 5 "$tmp/error"; }

# says CONDITION: of the report
says() { holds "$tmp/report" "$1" || fail "not so in the report: $1"; }

says '.fits == false and .need_bytes > .tile_bytes'
says '.need_bytes == ([.tiles_over[].need_bytes] | max)'
says '.advice | length > 0'
says '[.by_category[].total_bytes] | add > 0'
says '([.histogram[].tiles] | add) + (.tiles_over | length) == .tiles_used'
says '.tiles | length == 5 and all(.fits == false and .peak_operation >= 0 and .peak != "" and (.peak_owners | length) > 0)'
# What a tile would need is its categories and what is lost in gaps, exactly.
says '.tiles | all(([.by_category[]] | add) + .gap_bytes == .need_bytes)'
jq -c '{need_bytes, tile_bytes, tiles_over: (.tiles_over | length), advice}' "$tmp/report"
finish
