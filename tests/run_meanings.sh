#!/bin/bash
# run_meanings.sh SUPERSTEP: every figure has one meaning (docs/json.md): what the screen, --report, --json, the database and the page say of one run
# is the same number. Of a network, a program, a stream, a training and a sweep. The numbers are read from each place, none is known here.
program=$1
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
export SUPERSTEP_CACHE="$tmp/cache"
mkdir "$tmp/cache"
passed=0 failed=0

fail() {
    failed=$((failed + 1))
    echo "FAILED: $1"
}

run() { "$program" "$@" 2>"$tmp/messages" || { fail "$*"; head -n 3 "$tmp/messages"; }; }
# json FILE PATH: a value of an answer
json() { jq -r "$2" "$tmp/$1"; }
# page FILE PATH: a value of the data in a page
page() { sed -n 's/^<script id="data" type="application\/json">\(.*\)<\/script>$/\1/p' "$tmp/$1" | jq -r "$2"; }
# row TABLE: rows of the page's first run as objects
row() { echo ".[0].$1 as \$t | [\$t.rows[] | [\$t.columns, .] | transpose | map({key: .[0], value: .[1]}) | from_entries]"; }
# text FILE EXPRESSION: what an extended regular expression with one group finds, without commas in numbers
text() { sed -nE "s/$2/\1/p" "$tmp/$1" | head -n 1 | sed -E ':a; s/([0-9]),([0-9]{3})/\1\2/; ta'; }
# equal WORDS VALUE VALUE..: all of them, none of them empty
equal() {
    local words=$1 first=$2 v
    shift
    for v; do
        [ -n "$v" ] && [ "$v" != null ] && [ "$v" = "$first" ] || { fail "$words: $*"; return; }
    done
    passed=$((passed + 1))
}
# near WORDS VALUE VALUE DIGITS: equal when both are printed with so many digits behind the point
near() { equal "$1" "$(printf "%.$4f" "$2")" "$(printf "%.$4f" "$3")"; }
# percent PART WHOLE DIGITS
percent() { awk -v a="$1" -v b="$2" -v d="$3" 'BEGIN { printf "%.*f", d, 100 * a / b }'; }

# ---- a network: screen, report, JSON, profile, page

net="efficientnet-b0 --resolution 32 --set tiles=128 -q --no-calibration --engine timing"
run run $net --profile "$tmp/n.db" --html "$tmp/n.html" >"$tmp/n.text"
run run $net --json >"$tmp/n.json"
run run $net --report >"$tmp/n.report"
run report "$tmp/n.db" --json >"$tmp/n.report.json"
equal "cycles" "$(json n.json .cycles)" "$(text n.text '^([0-9,]+) cycles, .* on the chip.*')" "$(text n.report '^  ([0-9,]+) cycles, .*\/s$')" \
    "$(json n.report.json .cycles)" "$(page n.html '.[0].meta.cycles')" "$(json n.json '[.layers[].cycles] | add')"
near "seconds" "$(json n.json .seconds)" "$(text n.text '.* cycles, ([0-9.]+) s on the chip.*')" 6
near "seconds of the database" "$(json n.json .seconds)" "$(json n.report.json .seconds)" 12
near "seconds of the page" "$(json n.json .seconds)" "$(page n.html '.[0].meta.seconds')" 12
near "images a second" "$(json n.json .inputs_per_second)" "$(text n.text '.* s on the chip, ([0-9.]+) images\/s.*')" 1
equal "an older name" "$(json n.json .pictures_per_second)" "$(json n.json .inputs_per_second)"
near "multiply-adds" "$(awk -v m="$(json n.json .macs_per_input)" 'BEGIN { print m / 1e6 }')" "$(text n.text '.* ([0-9.]+) M multiply-adds for one picture.*')" 1
equal "multiply-adds of layers" "$(json n.json .macs_per_input)" "$(json n.json '[.layers[].macs] | add')" "$(page n.html "$(row layers) | map(.macs) | add")"
near "of the peak" "$(json n.json '100 * .mac_efficiency')" "$(text n.text '.* ([0-9.]+) % of the peak.*')" 2
cycles=$(json n.json .cycles)
for part in compute exchange sync; do
    equal "$part" "$(json n.json .phases.$part)" "$(json n.json "[.layers[].$part] | add")" "$(json n.report.json "[.layers[].$part] | add")" \
        "$(page n.html "$(row layers) | map(.$part) | add")"
    near "$part on the screen" "$(percent "$(json n.json .phases.$part)" "$cycles" 1)" "$(text n.text ".*$part ([0-9.]+) %.*")" 1
    equal "$part of the report" "$(json n.json .phases.$part)" "$(text n.report "^  $part +([0-9,]+) .*")"
done
near "imbalance on the screen" "$(percent "$(json n.json .phases.imbalance)" "$cycles" 1)" "$(text n.text '.*compute [0-9.]+ % \(([0-9.]+) % waiting for the slowest tile.*')" 1
equal "imbalance" "$(json n.json .phases.imbalance)" "$(json n.report.json '[.layers[].imbalance] | add')" "$(page n.html "$(row layers) | map(.imbalance) | add")"
equal "bytes in use" "$(json n.json .memory.max_tile_bytes)" "$(text n.text '.*the fullest has ([0-9,]+) of.*')" \
    "$(json n.report.json '[.fullest_tiles[].used_bytes] | max')" "$(page n.html "$(row tiles) | map(.used_bytes) | max")" "$(text n.report '^  used .* ([0-9,]+) +[0-9]+ +[0-9.]+ %$')"
equal "bytes to fit" "$(json n.json .memory.need_bytes)" "$(text n.text '.*needs ([0-9,]+) bytes of a tile to fit.*')" "$(page n.html "$(row needs) | map(.need_bytes) | max")" \
    "$(text n.report '^  Tile [0-9]+ needs most to fit: ([0-9,]+) bytes.*')"
equal "engine" "$(json n.json .engine)" "$(text n.text '^engine (.*)$')" "$(json n.report.json .engine)" "$(page n.html '.[0].meta.engine')" timing
equal "machine" "$(text n.text '.*, on (mk2 with tiles=128): .*')" "$(page n.html '.[0].meta.machine_title')" "$(json n.report.json .machine_title)" \
    "$(json n.json '.machine + " with " + .machine_changes[0]')"
# The reason beside each of the slowest layers is the same sentence everywhere, "compute is N %" too.
while read -r name; do
    words=$(json n.json ".layers[] | select(.name == \"$name\").why")
    equal "why $name" "$words" "$(page n.html "$(row layers) | .[] | select(.name == \"$name\").why")" "$(json n.report.json ".layers[] | select(.name == \"$name\").why")"
    grep -q "^  ${name:0:16} .* %  ${words:0:41}\$" "$tmp/n.text" || fail "the screen does not say of $name: $words"
done <<<"$(json n.json '[.layers[] | select(.name != "(no layer)")] | sort_by(-.cycles) | .[:5][].name')"
equal "compute with imbalance" "$(json n.json '[.layers[] | select(.cycles > 0 and (.why | startswith("compute is"))) | .why == "compute is \(100 * .compute / .cycles | round) %\(if .lower_bound > 0 then "; at full rate \(100 * .lower_bound / .cycles | round) %" else "" end)"] | all')" true

# ---- what is in a network, without a run of it

run models efficientnet-b0 --resolution 32 --json >"$tmp/m.json"
for part in macs_per_input parameters batch resolution; do
    equal "$part of a name" "$(json m.json .$part)" "$(json n.json .$part)"
done
onnx=tests/fuzz/corpus/onnx
for net in "$onnx/convolution.onnx" "$onnx/layer_norm.onnx" "$onnx/convolution.onnx -b 3" "$onnx/group_norm.onnx" "$onnx/rms_norm.onnx" "$onnx/layer_norm.onnx --precision f32"; do
    run models $net >"$tmp/m.text"
    run models $net --json >"$tmp/m.json"
    run run $net -m toy64 -q --engine timing --json >"$tmp/o.json"
    for part in network batch parameters macs_per_input f32_nodes; do
        equal "$part of $net" "$(json m.json .$part)" "$(json o.json .$part)"
    done
    equal "multiply-adds of nodes of $net" "$(json m.json '[.nodes[].macs] | add')" "$(json m.json .macs)" "$(json o.json '[.layers[].macs] | add')" \
        "$(text m.text '^total +([0-9,]+).*')"
    for part in weight result; do
        equal "bytes of ${part}s of $net" "$(json m.json "[.nodes[].${part}_bytes] | add")" "$(json m.json ".${part}_bytes")"
    done
    equal "bytes of $net" "$(json m.json '"\(.weight_bytes) \(.result_bytes)"')" "$(tail -n 1 "$tmp/m.text" | tr -d , | awk '{ print $3, $4 }')"
    equal "parameters of $net" "$(json m.json .parameters)" "$(text m.text '^weights ([0-9,]+) parameters.*')"
    case $net in
    *f32) equal "all in f32" "$(json m.json '[.nodes[].precision] | unique[]')" f32 ;;
    *) equal "nodes in f32 of $net" "$(json m.json '[.nodes[] | select(.precision == "f32")] | length')" "$(json o.json .f32_nodes)" ;;
    esac
done
# What is no picture is an input, wherever it is counted.
run run $onnx/rms_norm.onnx -m toy16 -q --engine timing --chart "$tmp/i.svg" --html "$tmp/i.html" >"$tmp/i.text"
run run $onnx/rms_norm.onnx -m toy16 -q --engine timing --json >"$tmp/i.json"
near "inputs a second" "$(json i.json .inputs_per_second)" "$(text i.text '.* s on the chip, ([0-9.]+) inputs\/s.*')" 1
equal "multiply-adds of an input" "$(json i.json .macs_per_input)" "$(text i.text '.* ([0-9.]+) multiply-adds for one input, .*')"
equal "inputs a second of the chart" "$(json i.json '.inputs_per_second | round')" "$(text i.svg '.*, ([0-9]+) inputs\/s.*')"
grep -q 'images/s\|one picture' "$tmp/i.text" "$tmp/i.svg" && fail "pictures where there are none"
run models >"$tmp/m.text"
run models --json >"$tmp/m.json"
equal "the list of networks" "$(json m.json '.[] | "\(.name) \(.parameters) \(.resolution)"')" "$(awk 'NR > 1 { print $1, $2, $4 }' "$tmp/m.text")"
run operators >"$tmp/m.text"
run operators --json >"$tmp/m.json"
equal "the list of operators" "$(json m.json '.[].name')" "$(awk 'NR > 1 { print $1 }' "$tmp/m.text")"

# ---- two runs: time first where clocks differ

run run matmul -m toy16 -q --set clock_mhz=1000 --profile "$tmp/a.db" >/dev/null
run run matmul -m toy16 -q --set clock_mhz=1600 --set sync_chip_cycles=200 --profile "$tmp/b.db" >"$tmp/b.text"
run compare "$tmp/a.db" "$tmp/b.db" >"$tmp/c.text"
run compare "$tmp/a.db" "$tmp/b.db" --json >"$tmp/c.json"
run report "$tmp/a.db" --json >"$tmp/a.json"
run report "$tmp/b.db" --json >"$tmp/b.json"
head=$(text c.text '^(A takes .*)$')
a=$(json a.json '1e6 * .seconds') b=$(json b.json '1e6 * .seconds')
[[ "$head" == "A takes $(printf %.1f "$a") us, B $(printf %.1f "$b") us: $(printf %+.2f "$(percent "$(awk "BEGIN { print $b - $a }")" "$a" 6)") %"* ]] || fail "times first: $head"
equal "clocks beside cycles" "$(text c.text '.*at ([0-9]+ MHz), .*')" "1000 MHz"
near "microseconds" "$(json c.json '.totals[] | select(.what == "microseconds").b')" "$b" 1
grep -q "^on toy16 with clock_mhz=1000:" <<<"$("$program" report "$tmp/a.db")" || fail "the report of a profile does not say what was changed of its machine"
passed=$((passed + 2))

# ---- a program

run run matmul -m toy16 -q --html "$tmp/p.html" --profile "$tmp/p.db" >"$tmp/p.text"
run run matmul -m toy16 -q --json >"$tmp/p.json"
run report "$tmp/p.db" --json >"$tmp/p.report.json"
equal "cycles of a program" "$(json p.json .cycles)" "$(text p.text '^cycles ([0-9,]+).*')" "$(json p.report.json .cycles)" "$(page p.html '.[0].meta.cycles')" "$(json p.json .bill.total_cycles)"
equal "engine of a program" "$(json p.json .engine)" "$(text p.text '^engine (.*)$')" "$(json p.report.json .engine)" "$(page p.html '.[0].meta.engine')" values
equal "need of a program" "$(json p.json .memory.need_bytes)" "$(page p.html "$(row needs) | map(.need_bytes) | max")"

# ---- a stream

stream="efficientnet-b0 --resolution 32 --set tiles=128 -q --limit 2 --io-tiles 32 --prefetch 1 --engine timing"
run stream $stream --profile "$tmp/s.db" >"$tmp/s.text"
run stream $stream --json >"$tmp/s.json"
run report "$tmp/s.db" --json >"$tmp/s.report.json"
equal "cycles of a stream" "$(json s.json .cycles)" "$(json s.report.json .cycles)"
near "pictures a second" "$(json s.json .steady.pictures_per_second)" "$(text s.text '^ +pictures a second +([0-9.,]+)$')" 1
equal "engine of a stream" "$(json s.json .engine)" "$(text s.text '^engine +(.*)$')" "$(json s.report.json '"\(.engine) (\(.engine_note))"')"

# The same network, picture and tiles give the same scores, whatever sums are made in and whether blocks are functions.
pictured="--resolution 32 --no-calibration --set tiles=200 -q"
for options in "" "--partials f32" "--share-blocks on" "--precision f32" "--f32-until block1a.dw"; do
    run run efficientnet-b0 $pictured --image models/pictures/cat.jpg $options --json >"$tmp/one.json"
    run stream efficientnet-b0 models/pictures/cat.jpg $pictured --io-tiles 0 --prefetch 0 $options -o "$tmp/scores.csv" >/dev/null
    equal "scores of a stream $options" "$(json one.json '[.top5[] | "\(.class),\(.score)"] | join(",")')" "$(tail -n 1 "$tmp/scores.csv" | cut -d , -f 3-12)"
done

# ---- a training

train="tests/fuzz/corpus/onnx/layer_norm.onnx -m toy64 -q --engine timing"
run train $train --profile "$tmp/t.db" >"$tmp/t.text"
run train $train --json >"$tmp/t.json"
run report "$tmp/t.db" --json >"$tmp/t.report.json"
equal "cycles of a step" "$(json t.json '.cycles_per_step | round')" "$(text t.text '^a step +([0-9,]+) cycles.*')" "$(json t.report.json .cycles)" "$(json t.json '[.passes[].cycles] | add')"
equal "engine of a training" "$(json t.json .engine)" "$(text t.text '^engine +(.*)$')" "$(json t.report.json '"\(.engine) (\(.engine_note))"')"
equal "the timing engine timed it" "$(json t.report.json .engine)" timing
equal "need of a training" "$(json t.json .memory.need_bytes)" "$(text t.text '.*needs ([0-9,]+) to fit.*')"
equal "in use of a training" "$(json t.json .memory.max_tile_bytes)" "$(text t.text '.*fullest tile has ([0-9,]+) of.*')" "$(json t.report.json '[.fullest_tiles[].used_bytes] | max')"

# ---- a sweep

run sweep matmul -q --vary tiles=16,64 --vary n=32,64 -D m=64 --set sram=192K -o "$tmp/w.db" --html "$tmp/w.html" >"$tmp/w.text"
run report "$tmp/w.db" --json >"$tmp/w.json"
run report "$tmp/w.db" --csv points >"$tmp/w.csv"
# line POINT: what the screen says of it: "tiles n m k pareto? status cycles inputs need"
for p in 1 2 3 4; do
    point=".points[] | select(.point == $p)"
    line=$(grep -E "^ +$p  " "$tmp/w.text" | head -n 1)
    for name in tiles n m k; do
        [[ " $line " == *" $(json w.json "$point | .$name") "* ]] || fail "point $p: the screen has no $name: $line"
    done
    equal "point $p: cycles" "$(json w.json "$point | .cycles")" "$(page w.html ".points[] | select(.point == $p).cycles")" "$(awk -F, -v p=$p 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i } $1 == p { print $c["cycles"] }' "$tmp/w.csv")"
    [[ "$line" == *" $(json w.json "$point | .cycles") "* ]] || fail "point $p: other cycles on the screen: $line"
    need=$(json w.json "$point | .need_bytes")
    [[ "$line" == *" $(awk -v n="$need" 'BEGIN { printf "%.1f", n / 1024 }') "* ]] || fail "point $p: another need on the screen: $line"
    want=$("$program" run matmul -q --set tiles=$(json w.json "$point | .tiles") --set sram=192K -D m=64 -D k=$(json w.json "$point | .k") -D n=$(json w.json "$point | .n") --engine timing --json)
    equal "point $p: a run of its own" "$(json w.json "$point | .cycles, .need_bytes" | xargs)" "$(jq -r '.cycles, .memory.need_bytes' <<<"$want" | xargs)"
done
equal "one question" "$(json w.json '[.points[] | [.m, .k]] | unique | length')" 1
equal "machine of a sweep" "$(json w.json .machine)" "$(page w.html .machine)" "$(text w.text '^Sweep of matmul on (.*), engine .*')"

[ $failed -eq 0 ] && echo "$passed figures are the same everywhere" || echo "$failed failed"
exit $((failed != 0))
