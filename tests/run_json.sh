#!/bin/sh
# run_json.sh SUPERSTEP: the answers of commands as JSON: each is an object with the version of docs/json.md, whose names at the top are all on
# that page, and what one quantity is called is the same in all of them.
program=$1
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
export SUPERSTEP_CACHE="$tmp/cache"
mkdir "$tmp/cache"
passed=0 failed=0
version=$(sed -n 's/.*`json_version`, which is \([0-9]*\):.*/\1/p' docs/json.md)

fail() {
    failed=$((failed + 1))
    echo "FAILED: $1"
}

# answer NAME ARGUMENTS...: prints JSON with only the names of the page
answer() {
    name=$1
    shift
    "$program" "$@" --json >"$tmp/$name" 2>"$tmp/err"
    [ "$(jq -r .json_version "$tmp/$name" 2>&1)" = "$version" ] || { fail "$*: no version $version"; head -n 3 "$tmp/err"; return; }
    for key in $(jq -r 'keys_unsorted[]' "$tmp/$name"); do
        grep -q "\`$key\`" docs/json.md || fail "$*: \"$key\" is not in docs/json.md"
    done
    passed=$((passed + 1))
}

# same PATH NAME...: a number that all of them have
same() {
    path=$1
    shift
    for name; do
        jq -e "$path | numbers" "$tmp/$name" >/dev/null || fail "$name has no number $path"
        passed=$((passed + 1))
    done
}

small="efficientnet-b0 --resolution 32 --set tiles=128 -q --no-calibration"
answer network run $small --engine timing --profile "$tmp/a.db"
answer stream stream ${small% --no-calibration} --limit 1 --io-tiles 32 --prefetch 1
answer manifest run ring --steps
answer program run softmax -m toy64 --steps
answer oom run matmul -m toy16 -D m=512 -D n=512 -D k=512
answer fault run mistake_silent
answer report report "$tmp/a.db"
answer compare compare "$tmp/a.db" "$tmp/a.db"
answer kept cache
same .cycles network stream manifest program report
same .seconds network manifest program report
same .batch network stream
same '.pictures_per_second // .steady.pictures_per_second' network stream
same .bsp.predicted_cycles manifest program
same .need_bytes oom
jq -e '.bsp[0].predicted' "$tmp/report" >/dev/null || fail "report has no prediction"
[ $failed -eq 0 ] && echo "$passed answers and numbers as documented" || echo "$failed failed"
exit $((failed != 0))
