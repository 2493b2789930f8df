#!/bin/bash
# coverage.sh OBJECTS TABLE: what of emu, programs and models the runs of programs built with MODE=coverage executed (`make coverage`): lines
# and functions by folder on the screen, and with them every function that nothing called in TABLE. A function that is static in a
# header counts once for each file that includes it.
#
#   GCOV=PROGRAM  of the compiler that built them (default: gcov)
objects=$1 table=$2
cd "$(dirname "$0")/.." || exit 2
command -v jq >/dev/null || { echo "jq is not installed (.ci/setup does that)"; exit 2; }
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
find "$objects" -name '*.gcda' -not -path '*/tests/*' >"$tmp/files"
[ -s "$tmp/files" ] || { echo "coverage.sh: no .gcda files below $objects: nothing ran"; exit 1; }
export tmp gcov=${GCOV:-gcov}
# shellcheck disable=SC2016 # for the shell that xargs begins
xargs -P "$(nproc)" -n 1 sh -c '
    "$gcov" --json-format --stdout "$0" 2>/dev/null | jq -r ".files[] | select(.file | test(\"^(emu|programs|models)/.*[.]c\$\")) |
        .file as \$f | [\$f, (.lines | length), (.lines | map(select(.count > 0)) | length),
        (.functions | length), (.functions | map(select(.execution_count > 0)) | length),
        (.functions | map(select(.execution_count == 0) | .name) | join(\" \"))] | @tsv" >"$tmp/$(echo "$0" | tr / _).tsv"' <"$tmp/files"
cat "$tmp"/*.tsv | sort >"$tmp/all"
{
    printf '%-28s %8s %10s %9s %8s\n' folder lines executed functions called
    awk -F'\t' '
        function row(name, k) { printf "%-28s %8d %8.1f %% %9d %6.1f %%\n", name, l[k], 100 * lr[k] / l[k], f[k], 100 * fr[k] / f[k] }
        function add(k) { l[k] += $2; lr[k] += $3; f[k] += $4; fr[k] += $5 }
        { folder = $1; sub(/\/[^\/]*$/, "", folder); add(folder); add("all") }
        END { for (k in l) row(k == "all" ? "~all" : k, k) }' "$tmp/all" | LC_ALL=C sort | sed 's/^~all/all /'
} >"$tmp/folders"
{
    cat "$tmp/folders"
    printf '\nFunctions that nothing called:\n'
    awk -F'\t' '$6 != "" { print $1 ": " $6 }' "$tmp/all"
} >"$table"
cat "$tmp/folders"
echo "functions that nothing called: $(awk -F'\t' '{ n += $4 - $5 } END { print n }' "$tmp/all"), in $table"
