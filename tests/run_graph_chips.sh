#!/bin/sh
# run_graph_chips.sh SUPERSTEP: graph files of several chips (docs/programs/graph_format.md), on rings of 2 and 4 chips of toy4, in one replica and
# in two. Every way to run one ends in the same cycles and digest: engines, threads, --plain, --check, with and without the cache, read back
# from --dump, as an image; what chips send each other is checked against what they must get. Then what is refused.
program=$1
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0

fail() {
    failed=$((failed + 1))
    echo "FAILED: $1"
    head -n 20 "$tmp/out" "$tmp/err"
}

# expect STATUS TEXT ARGUMENTS...: ends so, and says TEXT
expect() {
    status=$1 text=$2
    shift 2
    "$program" "$@" >"$tmp/out" 2>"$tmp/err"
    [ $? -eq "$status" ] && grep -qF -- "$text" "$tmp/out" "$tmp/err" && passed=$((passed + 1)) || fail "$*: expected status $status and '$text'"
}

value() {
    sed -n "s/^$1 //p" "$tmp/out"
}

# ring CHIPS: each chip sends x, which has 10 more than that of the chip before, to the next one, adds up what it has got, and sends that on
ring() {
    printf 'superstep-graph 1\nmachine toy4 chips %u\n' "$1"
    for chip in $(seq 0 $(($1 - 1))); do
        cat <<END
chip $chip
variable x f32 [8] kept contents
    [0:8] on tiles 0 to 3, 2 each
    = ${chip}1 ${chip}2 ${chip}3 ${chip}4 ${chip}5 ${chip}6 ${chip}7 ${chip}8
variable y f32 [8] kept
    [0:8] on tiles 0 to 1, 4 each
variable last f32 [8] kept
    [0:8] on tile 3
variable seed_$chip f32 [2,4] input
    [0:8] on tile 2
variable seen f32 [2,4] kept
    [0:8] on tile 1
$([ "$chip" -eq 1 ] && printf 'variable part f32 [4]\n    [0:4] on tile 2\nstream fed in f32 [4] depth 1\nstream told out f32 [4] depth 1')
channel to$chip send f32 [8]
channel to$((($chip + $1 - 1) % $1)) receive f32 [8]
compute set mark
  vertex fill_f32 on tile 3
    out = y[6:8]
    value = ${chip}00
program
  sequence
    copy seed_$chip to seen
    repeat $1
      sequence
        meet replica
          send x to to$chip
          receive y from to$((($chip + $1 - 1) % $1))
        copy y to x
    meet pod
    copy y to last
    execute mark
$([ "$chip" -eq 1 ] && printf '    stream fed to part\n    stream told from part')
END
    done
}

# numbers NAME SHAPE N...: a .npy file of f32
numbers() {
    name=$1 shape=$2
    shift 2
    printf 'superstep-graph 1\nmachine toy4\nvariable v f32 %s kept contents\n    [0:%u] on tile 0\n    = %s\nprogram\n  sequence\n' "$shape" $# "$*" >"$tmp/v.graph"
    "$program" run -q "$tmp/v.graph" --save "v=$name" >"$tmp/out" 2>"$tmp/err" || fail "$name is not written"
}

# same WHAT KEY...: the run before has what the first one had
same() {
    what=$1
    shift
    for key; do
        [ "$(value "$key")" ] && [ "$(value "$key")" = "$(sed -n "s/^$key //p" "$tmp/first")" ] && passed=$((passed + 1)) || fail "$what: another $key"
    done
}

cache=$tmp/cache
export SUPERSTEP_CACHE="$cache"
numbers "$tmp/fed.npy" '[4]' 7 8 9 10
numbers "$tmp/more.npy" '[2,4]' 1 2 3 4 5 6 7 8
numbers "$tmp/seed.npy" '[2,4]' 1 -2 3 -4 5 -6 7 -8
tail -c 16 "$tmp/fed.npy" >"$tmp/fed.bin"

for chips in 2 4; do
    ring $chips >"$tmp/ring.graph"
    in="--input fed=$tmp/fed.npy --input seed_0=$tmp/seed.npy"
    # shellcheck disable=SC2086 # words of a command line
    {
        expect 0 "answer.last@1 f32 [8]: 11 12 13 14 15 16 17 18" run -q "$tmp/ring.graph" $in --digests "$tmp/first.digests" --save "told=$tmp/told.npy" --save "last@0=$tmp/last.npy"
        cp "$tmp/out" "$tmp/first"
        cmp -s "$tmp/told.npy" "$tmp/fed.npy" || { tail -c 16 "$tmp/told.npy" | cmp -s - "$tmp/fed.bin"; } || fail "$chips chips: the stream out is not the stream in"
        [ "$(value chips)" = $chips ] && [ "$(value outer_syncs)" = $((chips + 1)) ] && passed=$((passed + 1)) || fail "$chips chips: chips, syncs"
        [ "$(value bytes_between_chips)" = $((32 * chips * chips)) ] && passed=$((passed + 1)) || fail "$chips chips: bytes"
        grep -q '^answer.y@0 f32 \[8\]: 1 2 3 4 5 6 0 0$' "$tmp/first" && grep -q "^answer.seen@0 f32 \[2,4\]: 1 -2 3 -4 5 -6 7 -8$" "$tmp/first" &&
            grep -q "^answer.seen@1 f32 \[2,4\]: 0 0" "$tmp/first" && passed=$((passed + 1)) || fail "$chips chips: answers"
        for chip in $(seq 0 $((chips - 1))); do
            sum=0
            for part in $(sed -n "s/^each_chip\[$chip\].bill.\(host\|exchange\|link\|compute\|wait\|sync\|outer\)_cycles //p" "$tmp/first"); do
                sum=$((sum + part))
            done
            [ "$sum" = "$(value "each_chip\[$chip\].cycles")" ] && passed=$((passed + 1)) || fail "$chips chips: the bill of chip $chip is $sum cycles"
        done
        # every way
        for way in -j1 -j3 --plain --check "--cache=" "--dump="; do
            case $way in
            --cache=) SUPERSTEP_CACHE='' expect 0 "status ok" run -q "$tmp/ring.graph" $in ;;
            --dump=)
                "$program" run "$tmp/ring.graph" --dump >"$tmp/read.graph" && "$program" run "$tmp/read.graph" --dump | cmp -s - "$tmp/read.graph" || fail "$chips chips: --dump is another file when it is read"
                expect 0 "status ok" run -q "$tmp/read.graph" $in
                ;;
            *) expect 0 "status ok" run -q "$tmp/ring.graph" $in "$way" ;;
            esac
            same "$chips chips $way" cycles digest
        done
        expect 0 "engine timing" run -q "$tmp/ring.graph" $in --engine timing
        same "$chips chips --engine timing" cycles
        expect 0 "answer.last@1 f32 [8]: 11 12 13 14 15 16 17 18" run -q "$tmp/ring.graph" $in --exchange memory
        # the image holds what was written, and its streams have a chip
        expect 0 "" compile -q "$tmp/ring.graph" --input "seed_0=$tmp/seed.npy" -o "$tmp/ring.img"
        expect 0 "status ok" run -q "$tmp/ring.img" --stream "0@1=$tmp/fed.bin" --digests "$tmp/image.digests"
        same "$chips chips as an image" cycles digest
        expect 0 "status equal" diff "$tmp/first.digests" "$tmp/image.digests"
        # two replicas, of which one gets other numbers
        expect 0 "answer.last@$((chips + 1)) f32 [8]: 11 12 13" run -q "$tmp/ring.graph" --chips $((2 * chips)) --input "fed=$tmp/fed.npy" --input "seed_0@$chips=$tmp/more.npy" --save "seen@$chips=$tmp/seen.npy"
        cmp -s "$tmp/seen.npy" "$tmp/more.npy" && grep -q "^answer.seen@0 f32 \[2,4\]: 0 0 0" "$tmp/out" && passed=$((passed + 1)) || fail "$chips chips twice: a replica has the input of the other"
        same "$chips chips twice" cycles
    }
done
expect 0 '"seen@1"' run -q "$tmp/ring.graph" --json --steps --input "fed=$tmp/fed.npy"
expect 0 "chip 3" run -q "$tmp/ring.graph" --steps --report --input "fed=$tmp/fed.npy"
expect 0 "x@1.0 tile 0 of chip 1" run -q "$tmp/ring.graph" --report --show x@1.0 --input "fed=$tmp/fed.npy"
expect 3 "status limit" run -q "$tmp/ring.graph" --max-cycles 1000 --input "fed=$tmp/fed.npy"


# ---- profiles, pages, charts

# is QUERY FILE: of an answer in JSON
is() {
    jq -e "$1" "$2" >/dev/null && passed=$((passed + 1)) || fail "$2: not $1"
}
for chips in 2 4; do
    expect 0 "status ok" run -q tests/step/pair.graph --chips $chips --profile "$tmp/$chips.db" --html "$tmp/a.html" --chart "$tmp/a.svg" --trace-out "$tmp/a.json"
    [ "$(grep -c '>chip [0-9]*: ' "$tmp/a.svg")" -eq $chips ] && passed=$((passed + 1)) || fail "--chart: no panel for each chip"
    grep -q second_marks "$tmp/a.html" && [ "$(grep -o '"bytes live on the fullest tile"' "$tmp/a.json" | wc -l)" -eq $((2 * chips)) ] && passed=$((passed + 1)) || fail "--html, --trace-out: nothing of chip 1"
    for chip in 0 1; do
        "$program" report "$tmp/$chips.db" --chip $chip --json >"$tmp/report"
        is "[.owners[].chip] | unique == [$chip]" "$tmp/report"
        is "[.owners[].owner] | index(\"$([ $chip -eq 0 ] && echo first || echo second)_marks\")" "$tmp/report"
        is "[.owners[].owner] | index(\"$([ $chip -eq 1 ] && echo first || echo second)_marks\") | not" "$tmp/report"
    done
done
expect 0 "Chips: cycles of sync group 0 of both" compare "$tmp/2.db" "$tmp/4.db"
"$program" compare "$tmp/2.db" "$tmp/4.db" --json >"$tmp/report"
is '[.chips[].chip] == [0, 1, 2, 3] and .chips[0].difference == 0 and .chips[2].cycles_a == null' "$tmp/report"
# one that does not fit, on chip 1
sed 's/^compute set second_marks/variable much f32 [200000] kept\n    [0:200000] on tile 2\n&/' tests/step/pair.graph >"$tmp/much.graph"
expect 1 "OUT OF MEMORY: chip 1: 1 of 4 tiles" run -q "$tmp/much.graph" --profile "$tmp/much.db"
"$program" report "$tmp/much.db" --json >"$tmp/report"
is '.needs[0].chip == 1 and .needs[0].tile == 2 and .peak_owners[0].owner == "much" and ([.advice[].chip] | unique == [1])' "$tmp/report"
"$program" report "$tmp/much.db" --html "$tmp/a.html" && grep -q '"much"' "$tmp/a.html" && passed=$((passed + 1)) || fail "report much.db --html"
# of programs of one chip reports say nothing of chips
expect 0 "status ok" run -q softmax -m toy4 -D n=100 --profile "$tmp/one.db"
"$program" report "$tmp/one.db" --json >"$tmp/report"
is '.owners[0] | has("chip") | not' "$tmp/report"

# ---- what is refused

refuse() {
    text=$1
    shift
    expect 2 "$text" "$@"
}
refuse "several of 4 chips have x: expected x@CHIP=FILE.npy" run -q "$tmp/ring.graph" --save "x=$tmp/x.npy"
refuse "with a name that the host may read: x@0, y@0" run -q "$tmp/ring.graph" --save "x@4=$tmp/x.npy"
refuse "several of 8 chips have told" run -q "$tmp/ring.graph" --chips 8 --save "told=$tmp/x.npy"
refuse "a name that the host may write" run -q "$tmp/ring.graph" --input "seed_0@1=$tmp/seed.npy"
refuse "a second file for seed_0" run -q "$tmp/ring.graph" --chips 8 --input "seed_0=$tmp/seed.npy" --input "seed_0@4=$tmp/seed.npy"
refuse "stream fed has no numbers" run -q "$tmp/ring.graph"
refuse "chips 6: expected a multiple of 4: the program is for 4 chips" run -q "$tmp/ring.graph" --chips 6
refuse "chips 1: expected a multiple of 4" run -q "$tmp/ring.graph" --set chips=1
refuse "expected the same input seed_0 on chips 0 and 4" compile -q "$tmp/ring.graph" --chips 8 --input "seed_0@4=$tmp/seed.npy" -o "$tmp/a.img"
refuse "chips 2: expected 1: the program runs on one chip" run softmax -q --chips 2
sed 's/^chip 1$/chip 2/' "$tmp/ring.graph" >"$tmp/wrong.graph"
refuse "expected the number of the next chip, from 1 to 1, found '2'" run -q "$tmp/wrong.graph"
sed 's/send f32 \[8\]/send f32 [4]/' "$tmp/ring.graph" >"$tmp/wrong.graph"
refuse "wrong.graph:" run -q "$tmp/wrong.graph"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
