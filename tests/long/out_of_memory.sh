#!/bin/bash
# A network that cannot fit, EfficientNet-B7 at 600 x 600 and batch 8, ends with exit status 1 and the full report: which tiles and by how
# much, what would help, categories, histogram, the five fullest tiles with their worst moment. About 2 minutes, 8 GB of memory.
#
#   SUPERSTEP=FILE  the program (default: build/superstep, built first)
set -u
cd "$(dirname "$0")/../.." || exit 2
superstep=${SUPERSTEP:-build/superstep}
[ -n "${SUPERSTEP:-}" ] || make -s -j2 all || exit 2
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
failed=0

"$superstep" run -q efficientnet-b7 --resolution 600 --batch 8 --no-calibration --report >"$tmp/report" 2>"$tmp/error"
status=$?
[ $status -eq 1 ] || { echo "FAILED: exit status $status, expected 1"; head -n 5 "$tmp/error"; failed=1; }
while read -r words; do
    grep -qF "$words" "$tmp/report" || { echo "FAILED: the report does not say '$words'"; failed=1; }
done <<END
OUT OF MEMORY:
need, bytes
What would help
category, bytes
message buffer
lost in gaps
add up to the memory, or to what it would need, exactly
Tiles by bytes used
do not fit
Fullest tiles
worst moment: operation
largest at the worst moment
END
fullest=$(grep -c 'DOES NOT FIT: needs' "$tmp/report")
[ "$fullest" -eq 5 ] || { echo "FAILED: $fullest fullest tiles, expected 5"; failed=1; }
head -n 20 "$tmp/report"
[ $failed -eq 0 ] && echo "all right"
exit $failed
