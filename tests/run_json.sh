#!/bin/sh
# run_json.sh SUPERSTEP: the answers of commands as JSON: each is an object with the version of docs/json.md, whose names at the top, and those of
# the objects that the page explains, are all on that page, and what one quantity is called is the same in all of them. Objects of the
# stepper are in docs/step.md, a sweep's points in docs/sweep.md.
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

# names PAGE FILE PATH: what the objects there have stands on the page
names() {
    keys=$(jq -r "$3 | objects | keys_unsorted[]" "$2" | sort -u)
    [ "$keys" ] || fail "$2: nothing at $3"
    for key in $keys; do
        grep -q "\`$key\`" "$1" || fail "${2##*/} $3: \"$key\" is not in $1"
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
answer network run $small --engine timing --tiles=3 --profile "$tmp/a.db"
answer stream stream ${small% --no-calibration} --limit 1 --io-tiles 32 --prefetch 1
answer manifest run ring --steps
answer program run softmax -m toy64 --steps
answer oom run matmul -m toy16 -D m=512 -D n=512 -D k=512
answer fault run mistake_silent
cat >"$tmp/pair.bsp.json" <<'END'
{ "machine": "toy4", "chips": 2, "programs": [ { "tiles": 0, "asm": "main: sync 5\nsync 7" } ],
  "streams": [ { "id": 1, "chip": 1, "direction": "to_host" } ] }
END
answer chips run "$tmp/pair.bsp.json" --steps
names docs/json.md "$tmp/chips" '.each_chip[]'
names docs/json.md "$tmp/chips" '.steps[]'
[ "$(jq -c '[.steps[].chip]' "$tmp/chips")" = "[0,0,1,1]" ] || fail "steps of two chips: $(jq -c '[.steps[].chip]' "$tmp/chips")"
answer graph_chips run -q tests/step/pair.graph --steps
names docs/json.md "$tmp/graph_chips" '.each_chip[]'
answer report report "$tmp/a.db"
answer compare compare "$tmp/a.db" "$tmp/a.db"
answer kept cache
answer lesson lab ring
answer mistake lab mistake_race
answer task lab exercise 1
answer check lab check 1 programs/lab/solution/send_solution.S
answer graph models tests/fuzz/corpus/onnx/convolution.onnx
answer known models efficientnet-b0 --resolution 32
answer refused run -q tests/fuzz/corpus/onnx/typed.onnx
answer sweep sweep -q matmul -m toy16 --vary n=32,64 -o "$tmp/s.db"
answer points report "$tmp/s.db"
names docs/json.md "$tmp/program" .memory
for list in models operators; do
    "$program" $list --json >"$tmp/$list" 2>"$tmp/err"
    names docs/json.md "$tmp/$list" '.[]'
done
names docs/json.md "$tmp/operators" '.[].attributes[]'
names docs/json.md "$tmp/graph" '.nodes[]'
names docs/json.md "$tmp/graph" '.inputs[]'
names docs/json.md "$tmp/refused" '.problems[]'
names docs/json.md "$tmp/oom" .
names docs/json.md "$tmp/program" .bill
names docs/json.md "$tmp/program" .bsp
names docs/json.md "$tmp/manifest" '.steps[]'
names docs/json.md "$tmp/network" '.steps[]'
jq -e '.cycles as $c | [.steps[].bill.total_cycles] | add == $c' "$tmp/network" >/dev/null || fail "the steps of a network do not add up to its cycles"
names docs/json.md "$tmp/lesson" .lesson
names docs/json.md "$tmp/check" '.checks[]'
printf 'superstep\ns\nb 1\nregisters\nx here\nd\nv\ne\nwho there\nwatch there\nc\ninfo\ntable\nwaits\ndigest\nhistory\nhelp\nx nowhere\nto end\n' >"$tmp/script"
"$program" step ring --json --script "$tmp/script" >"$tmp/step" 2>"$tmp/err"
names docs/step.md "$tmp/step" .
names docs/step.md "$tmp/step" .where
names docs/step.md "$tmp/step" .writer
names docs/step.md "$tmp/step" .memory
for key in $("$program" report "$tmp/s.db" --csv points | head -n 1 | tr , ' '); do
    [ "$key" = n ] && continue # the axis
    jq -e ".points[0] | has(\"$key\")" "$tmp/points" >/dev/null || fail "the points of a sweep have no $key, which its CSV has"
done
same .cycles network stream manifest program report
same .seconds network manifest program report
same .batch network stream
same '.pictures_per_second // .steady.pictures_per_second' network stream
same .bsp.predicted_cycles manifest program
same .need_bytes oom
jq -e '.bsp[0].predicted' "$tmp/report" >/dev/null || fail "report has no prediction"
[ $failed -eq 0 ] && echo "$passed answers and numbers as documented" || echo "$failed failed"
exit $((failed != 0))
