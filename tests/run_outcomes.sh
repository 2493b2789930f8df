#!/bin/sh
# run_outcomes.sh SUPERSTEP: how runs of small programs end: status, exit status and what they say. What the machine lets pass but a
# program should not do is an outcome of its own.
program=$1
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0

# ends STATUS TEXT ARGUMENTS...: exits so and prints TEXT.
ends() {
    status=$1 text=$2
    shift 2
    "$program" "$@" >"$tmp/out" 2>&1 </dev/null
    got=$?
    if [ $got -ne "$status" ] || ! grep -qF -- "$text" "$tmp/out"; then
        failed=$((failed + 1))
        echo "FAILED: $*: exit status $got, expected $status and '$text'"
        head -n 12 "$tmp/out"
        return
    fi
    passed=$((passed + 1))
}

# tile NAME ASSEMBLY...: a case for six workers with one memory that they share.
tile() {
    cat >"$tmp/$1.json" <<END
{ "asm": ".worker\\ne: ld32 \$m0, \$m13, 0\\n $2 exitz \$mzero\\n", "entry": "e", "as": "workers",
  "memory": [ { "name": "x", $3 } ], "state": [ "x" ] }
END
}

# manifest NAME ASSEMBLY [MORE]: the same program on all tiles of a toy; MORE are further keys.
manifest() {
    cat >"$tmp/$1.bsp.json" <<END
{
  "machine": "toy4",
  "programs": [ { "tiles": "all", "memory": [ { "name": "x", "u32": [1, 2, 3, 4] } ],
    "asm": "#include <superstep/bsp.h>\\n.supervisor\\nmain: sync SYNC_CHIP\\n$2\\n" } ] $3
}
END
}

# ---- one tile

tile good 'ld32 $m1, $m0, 0\n' '"u32": [7]'
tile race 'st32 $mzero, $m0, 0\n' '"u32": [7]'
tile unwritten 'ld32 $m1, $m0, 0\nbrnz $m1, used\nused:\n' '"bytes": 4'
# a source without a case: from its first label, as .worker or .supervisor before it says
printf '/* .supervisor */\n.worker\nfirst: setzi $m0, 5\n add $m1, $m0, 7\n exitz $mzero\n.supervisor\nsecond: br $m10\n' >"$tmp/worker.S"
printf '  .supervisor\nstart: setzi $m1, 7\n ld32 $m2, $m15, 3\n.worker\nother: exitz $mzero\n' >"$tmp/supervisor.S"
ends 0 "w0  m0 0x00000005  m1 0x0000000c (12)" tile "$tmp/worker.S"
ends 0 '"as": "worker"' tile --json "$tmp/worker.S"
ends 0 "mk2, as worker 0: 35 cycles, 3 instructions" tile "$tmp/worker.S"
ends 1 "as the supervisor" tile "$tmp/supervisor.S"
ends 1 "supervisor.S:3, address 0xc" tile "$tmp/supervisor.S"
ends 1 "toy4, as the supervisor" tile "$tmp/supervisor.S" -m toy4
for case in good race unwritten; do
    ends 0 '"status": "pass"' tile --json "$tmp/$case.json"
done
ends 0 '"status": "pass"' tile --json --check "$tmp/good.json"
ends 1 '"status": "check"' tile --json --check "$tmp/race.json"
ends 1 '"kind":"RACE"' tile --json --check "$tmp/race.json"
ends 0 '"status": "pass"' run --json "$tmp/good.json"
ends 1 '"status": "check"' run --json --check "$tmp/race.json"
ends 1 '"status": "check"' tile --json --check "$tmp/unwritten.json"
ends 0 "status pass" tile "$tmp/good.json"
ends 1 "RACE: two workers touch the same bytes" tile --check "$tmp/race.json"
ends 0 "m1 0x00000007" tile "$tmp/good.json"
ends 0 "Memory that changed:" tile "$tmp/race.json"

sed 's/exitz [$]mzero/nop/' "$tmp/good.json" >"$tmp/no_exitz.json"
ends 1 "ran past the end of e (asm:4): exitz missing?" tile "$tmp/no_exitz.json"

# ---- a machine

manifest dropped 'setzi $m0, MEM_BASE + 60000\nld32 $m1, $m0, $mzero, 0\nsync SYNC_HOST'
ends 0 "status ok" run --check "$tmp/dropped.bsp.json"
manifest unwritten 'setzi $m0, MEM_BASE + 60000\nld32 $m1, $m0, $mzero, 0\nbrnz $m1, used\nused:\nsync SYNC_HOST'
ends 0 "status ok" run "$tmp/unwritten.bsp.json"
ends 1 "status check" run --check "$tmp/unwritten.bsp.json"
ends 1 "checks[0].name UNWRITTEN" run --check "$tmp/unwritten.bsp.json"

# a vertex that writes behind its field of 5 words
printf '\t.section .text.beyond, "ax"\n\t.globl beyond\n\t.type beyond, @function\n\t.worker\nbeyond:\n\tget $m0, $WSR\n\tand $m0, $m0, 7\n\tld32 $m2, $mvertex_base, $mzero, 0\n\tstm32 $m0, $m2, $m0\n\texitz $mzero\n\t.size beyond, . - beyond\n' >"$tmp/beyond.S"
printf 'superstep-graph 1\nmachine toy4\ncodelet beyond multi from "beyond.S"\n  out y u32\nvariable out u32 [5] kept\n    [0:5] on tile 1\ncompute set five\n  vertex beyond on tile 1\n    y = out\nprogram\n  execute five\n' >"$tmp/beyond.graph"
ends 0 "status ok" run "$tmp/beyond.graph"
ends 1 ".name OUTSIDE" run --check "$tmp/beyond.graph"
ends 1 "(out+0x14)" run --check "$tmp/beyond.graph"
# the same with another array behind it, and one that reads there
sed 's/^compute set/variable next u32 [4] kept\n    [0:4] on tile 1\n&/; s/y = out/y = next/' "$tmp/beyond.graph" >"$tmp/neighbour.graph"
ends 0 "status ok" run "$tmp/neighbour.graph"
ends 1 "(out)" run --check "$tmp/neighbour.graph"
ends 1 "checks[0].codelet beyond" run --check "$tmp/neighbour.graph"
ends 1 "checks[0].vertex five" run --check "$tmp/neighbour.graph"
ends 1 "checks[0].field 0 bytes behind the end of y" run --check "$tmp/neighbour.graph"
ends 1 "checks[0].context w4" run --check "$tmp/neighbour.graph"
sed 's/stm32 [$]m0, [$]m2, [$]m0/ld32 $m3, $m2, $mzero, 6\n\tbrz $m3, done\ndone:/' "$tmp/beyond.S" >"$tmp/reads.S"
sed 's/"beyond.S"/"reads.S"/; s/  out y/  in y/; s/\(.*u32 \[[45]\]\) kept/\1 contents/; s/^    \[0:.*/&\n    = 1 2 3 4 5/; s/\[4\] contents/[5] contents/; s/0:4/0:5/' "$tmp/neighbour.graph" >"$tmp/reads.graph"
ends 0 "status ok" run "$tmp/reads.graph"
ends 1 "checks[0].name FOREIGN" run --check "$tmp/reads.graph"
ends 1 "checks[0].field 4 bytes behind the end of y" run --check "$tmp/reads.graph"

# bytes that end in the middle of a word, with nothing written behind them: they are none of what is cast
for n in 1 2 3 6; do
    for type in f16 f32; do
        printf 'superstep-graph 1\nmachine toy4\nvariable x u8 [8] contents\n    [0:8] on tile 1\n    = 255 1 2 3 4 5 6 7\nvariable part u8 [%d]\n    [0:%d] on tile 1\nvariable y %s [%d] kept\n    [0:%d] on tile 1\ncompute set c\n  vertex cast_u8_%s on tile 1\n    x = part\n    y = y\nprogram\n  sequence\n    copy x[0:%d] to part\n    execute c\n' $n $n $type $n $n $type $n >"$tmp/bytes.graph"
        ends 0 "answer.y $type [$n]: 255" run --check "$tmp/bytes.graph"
    done
done

manifest deadlock '.if TILE == 2\nsync SYNC_HOST\n.else\nsync SYNC_CHIP\n.endif'
ends 1 "status deadlock" run "$tmp/deadlock.bsp.json"
ends 1 "deadlock: tiles 0-1, 3 (group 0) wait for a sync of the chip since cycle 120, missing there: 2; tile 2" run "$tmp/deadlock.bsp.json"
ends 1 "; tile 2 (group 0) waits for a sync with the host since cycle 120, missing there: 0-1, 3" run "$tmp/deadlock.bsp.json"
ends 1 "waiting[1].source" run "$tmp/deadlock.bsp.json"

exchange='.exchange TILE\n.if TILE == 1\n.send x, 4, 0\n.elseif TILE == 3\n.receive x, 3, 0, 1\n.endif\n.endexchange'
manifest no_recv "$exchange\\n.if TILE != 3\\nsync SYNC_RECV\\n.endif\\nsync SYNC_HOST"
ends 1 "fault.exchange MISSING_RECV" run "$tmp/no_recv.bsp.json"
ends 1 "tile 3 ends its superstep" run "$tmp/no_recv.bsp.json"

manifest unheard "$exchange\\nsync SYNC_RECV\\nsync SYNC_HOST"
ends 0 "words_sent 4" run "$tmp/unheard.bsp.json"
ends 1 "status check" run --check "$tmp/unheard.bsp.json"
ends 1 "check_unheard_words 1" run --check "$tmp/unheard.bsp.json"
ends 1 "check_unheard[0].tile 1" run --check "$tmp/unheard.bsp.json"
"$program" run "$tmp/unheard.bsp.json" | grep -q unheard && failed=$((failed + 1)) && echo "FAILED: unheard words without --check"

# A word arrives in x while tile 1 sends from there, and another one while it sends from the other element of the pair.
clash='.exchange TILE\n.if TILE == 1\n.send x, 4, 20\n.receive x, 2, 11, 3\n.elseif TILE == 3\n.send x, 2, 11\n.endif\n.endexchange'
manifest clash "$clash\\nsync SYNC_RECV\\nsync SYNC_HOST"
ends 0 "status ok" run "$tmp/clash.bsp.json"
ends 1 "status check" run --check "$tmp/clash.bsp.json"
ends 1 "check_clash_words 1" run --check "$tmp/clash.bsp.json"
ends 1 "check_clashes[0].exchange CLASH_SEND" run --check "$tmp/clash.bsp.json"
ends 1 "check_clashes[0].superstep 1" run --check "$tmp/clash.bsp.json"
ends 1 "fault.exchange CLASH_SEND" run --set exchange_clash=fault "$tmp/clash.bsp.json"
ends 1 "at event 21 (cycle 141) while it sends its word at" run --set exchange_clash=fault "$tmp/clash.bsp.json"
ends 2 'expected "ignore" or "fault" (a stall' run --set exchange_clash=stall "$tmp/clash.bsp.json"

# What the compiler placed is a finding like any other, and it can compile the program so that it has none.
clashing="-m toy64 -D steps=2 -D rows=3 -D width=34 --check"
ends 1 "status check" run stencil -q $clashing
ends 1 "compiled with --set exchange_clash=fault sends" run stencil -q $clashing
ends 1 '"status": "check"' run stencil -q --json $clashing
ends 0 "status ok" run stencil -q $clashing --set exchange_clash=fault
ends 0 '"g_cycles": 1' lab stencil -q --json -m toy64 --set exchange_clash=fault

ends 0 "status ok: faulted as expected" lab mistake_silent
ends 0 "mistake_silent.bsp.json:6: asm:8" lab mistake_silent
ends 0 "status ok: reported as expected" lab mistake_race
ends 0 "The machine says: RACE: two workers touch the same bytes" lab mistake_race
ends 0 "mistake_race.S:19" lab mistake_race
ends 0 "The machine says: EXERR TWICE: tile 0 receives a second word for 0x54008" lab mistake_two_writers
ends 0 "How to mend it: .receive gathered + 4" lab mistake_two_writers
ends 0 "How to find it: The tile is named" lab mistake_recv
ends 0 "status ok: does not fit, as expected" lab mistake_memory
ends 0 "everything" lab mistake_memory
ends 1 "do not fit" run -q mistake_memory
ends 0 "status ok" run -q mistake_memory -D n=100
ends 0 "the mean one for 31326: 49 %" lab mistake_imbalance
ends 0 '"said": "RACE' lab mistake_race --json
# The sum of the race is not 15, and without the checking mode nobody says so.
sed 's/"expect_check": "RACE"/"expect": [ { "tiles": "all", "name": "total", "u32": [15] } ]/' programs/lab/mistake_race.bsp.json >"$tmp/race.bsp.json"
cp programs/lab/mistake_race.S "$tmp"
ends 1 "status failed" run "$tmp/race.bsp.json"
for n in "ring WORDS=16" "ring SHIFTS=3" "ring SHIFTS=1" "broadcast WORDS=4" "stream BLOCKS=3" "overlap STEPS=3"; do
    ends 0 "status ok" lab ${n% *} -D ${n#* } --machine toy16
done
ends 0 "parameters.WORDS 16" run programs/lab/ring.bsp.json -D WORDS=16
ends 2 "WORDS: '0' is not a number from 1 to 100 (words of a block)" lab ring -D WORDS=0
ends 2 "SHIFTS: '5' is not a number from 1 to 4" lab ring -D SHIFTS=5 --machine toy4
ends 2 "has no parameter of that name; it has WORDS, SHIFTS" lab ring -D WIDTH=5
ends 2 "expected NAME=VALUE" lab ring -D WORDS
ends 0 "status ok" lab ring
ends 2 "--max-cycles: '0' is not a number from 1" run "$tmp/unheard.bsp.json" --max-cycles 0
ends 3 "status limit" run "$tmp/unheard.bsp.json" --max-cycles 1

# ---- objects and archives: in a case, on all tiles, and as they are

cat >"$tmp/part.S" <<END
.section .text.part, "ax"
.worker
.globl __runCodelet_part
__runCodelet_part: ld32 \$m0, \$mvertex_base, \$mzero, 0
bri helper
END
printf '.section .text.h, "ax"\n.worker\n.globl helper\nhelper: setzi $m1, 42\nst32 $m1, $m0, $mzero, 0\nexitz $mzero\n' >"$tmp/helper.S"
cat >"$tmp/whole.S" <<END
#include <superstep/bsp.h>
.section .text.main, "ax"
.supervisor
.globl main
main: sync SYNC_CHIP
setzi \$m0, x
setzi \$m1, TILE
st32 \$m1, \$m0, \$mzero, 0
sync SYNC_HOST
END
for name in part helper whole; do
    "$program" asm -c "$tmp/$name.S" -o "$tmp/$name.o"
done
printf '!<arch>\n%-16s%-12d%-6d%-6d%-8d%-10d`\n' helper.o/ 0 0 0 644 "$(wc -c <"$tmp/helper.o")" | cat - "$tmp/helper.o" >"$tmp/helper.a"
cat >"$tmp/object.json" <<END
{ "source": ["part.o", "helper.a"], "entry": "part", "as": "worker", "memory": [ { "name": "x", "u32": [7] } ],
  "state": ["x"], "expect": [ { "name": "x", "u32": [42] } ] }
END
cat >"$tmp/object.bsp.json" <<END
{ "machine": "toy4", "expect": [ { "tiles": "all", "name": "x", "u32_per_tile": "tile" } ],
  "programs": [ { "tiles": "all", "source": "whole.o", "memory": [ { "name": "x", "u32": [9] } ] } ] }
END
ends 0 '"status": "pass"' tile --json "$tmp/object.json"
ends 0 "status ok" run "$tmp/object.bsp.json"
ends 0 "# object $tmp/helper.a(helper.o)" dis "$tmp/helper.a"
ends 0 "R_COLOSSUS_19_S2 'helper'" dis "$tmp/part.o"
ends 0 "helper:" asm "$tmp/part.o" "$tmp/helper.a"
ends 2 "part.o: error: undefined symbol 'helper' (1 use)" asm "$tmp/part.o"
ends 2 "superstep: expected an ELF file of 32 bits" asm "$program"
ends 2 "--object does nothing without --output" asm -c "$tmp/part.S"

# ---- other machines

for machine in toy4 toy16 toy64; do
    for name in ring broadcast total_exchange mistake_recv; do
        ends 0 "status ok" lab $name --machine $machine
    done
done
for machine in toy4 toy16 toy64; do
    ends 0 "status ok" lab overlap --machine $machine
    ends 0 "status ok" lab stream --machine $machine
done
ends 0 "status ok" lab total_exchange --set tiles=64 --machine mk2
ends 0 "status ok" lab overlap --set tiles=100
ends 2 "this program needs a machine with at least 4 tiles, toy4 has 3" lab overlap --machine toy4 --set tiles=3
for machine in toy4 toy16 toy64 "mk2 --set tiles=64"; do
    for name in vector-add total matvec-rows matvec-blocks matmul conv transpose softmax; do
        ends 0 "status ok" run -q $name --machine $machine
    done
done
for machine in toy4 toy16 toy64; do
    ends 0 "status ok" lab allreduce --machine $machine
done
for tiles in 2 64 66 258; do
    ends 0 "status ok" lab allreduce --set tiles=$tiles
done
ends 2 "this program needs a machine with at least 2 tiles" lab allreduce --machine toy16 --set tiles=1
ends 2 "this program needs a machine with at most 64 tiles, mk2 has 1472" lab total_exchange --machine mk2
ends 2 "needs a machine with at least 4 tiles" lab stream --machine toy4 --set tiles=3

# ---- a network that does not fit: what was tried and is said to fit does, and the next smaller memory does not

small="compile efficientnet-b0 -q --resolution 32 --no-calibration --set tiles=128 -o $tmp/small.img"
ends 1 "of more chips: --chips 4 fits" $small --set sram=96K
fits=$(sed -n 's/.*--set \(sram=[0-9]*K\) fits, \(sram=[0-9]*K\) does not.*/\1 \2/p' "$tmp/out")
ends 1 "OUT OF MEMORY" $small --set "${fits#* }" --try-for 0
ends 0 "the fullest has" $small --set "${fits% *}"
ends 0 "" $small --set sram=96K --chips 4
ends 1 "of more chips: --chips 4 fits" $small --set sram=96K --chips 2 --try-for 1
ends 1 "Tiles with more memory: --set sram=" stream efficientnet-b0 -q --resolution 32 --batch 2 --set tiles=48 --io-tiles 4 --prefetch 1 --engine timing --set sram=128K
ends 1 "code is longer than region 0" $small --set sram=48K --try-for 0 --report
ends 2 "--gradients needs values, and --engine timing has none" train efficientnet-b0 --engine timing --gradients "$tmp/g"
ends 2 "--check needs values, and --engine timing has none" train efficientnet-b0 --engine timing --check
ends 2 "--max-cycles needs values, and --engine timing has none" train efficientnet-b0 --engine timing --max-cycles 9
ends 2 "--ranges does nothing here: results change from step to step" train efficientnet-b0 --ranges
ends 2 "--ranges does nothing here: a stream computes in the order" stream efficientnet-b0 --ranges
ends 1 "Nothing was tried (--try-for 0)" train efficientnet-b0 -q --resolution 32 --batch 2 --classes 10 --engine timing --set tiles=16 --set sram=48K --try-for 0

# ---- pictures: every pair of tiles that exchanges words, all supersteps, prediction and run

# draws TEXT ARGUMENTS...: the chart is well-formed as far as its tags go, and says TEXT.
draws() {
    drawn=$1
    shift
    ends 0 "status ok" lab "$@" --chart "$tmp/chart.svg"
    if grep -qF -- "$drawn" "$tmp/chart.svg" && [ "$(tail -n 1 "$tmp/chart.svg")" = "</svg>" ] &&
        [ "$(grep -c '<rect' "$tmp/chart.svg")" -gt 5 ] && ! grep -qE 'nan|inf"' "$tmp/chart.svg"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: the chart of $* does not say '$drawn'"
    fi
}
draws "tile 15 to 0: 96 words" reduce --machine toy16
draws "tile 15 to 0: 16 words" ring
draws "busiest sender: tile 7, for 3840 words that others take" broadcast --machine toy16
draws "no words are exchanged" vector-add --machine toy4
draws ">predicted</text>" stencil-halo --machine toy16
draws ", several in a bar" lu --machine toy16
draws "words between two groups of tiles" allreduce --set tiles=130
draws "on toy16 with clock_mhz=1000" ring --set clock_mhz=1000
ends 0 "ring on toy16 with clock_mhz=1000: 16 tiles" lab ring --set clock_mhz=1000
ends 1 "tiles of toy16 with clock_mhz=1000 do not fit" run matmul -m toy16 --set clock_mhz=1000 -D m=512 -D n=512 -D k=512 -q

# ---- files that are written

# refused TEXT ARGUMENTS...: before the work: within a second, nothing printed, nothing left beside the file.
refused() {
    text=$1
    shift
    (ulimit -t 5 && exec "$program" "$@") >"$tmp/out" 2>"$tmp/err" </dev/null # of a processor: other tests may run beside this
    got=$?
    if [ $got -ne 2 ] || [ -s "$tmp/out" ] || ! grep -qF -- "$text" "$tmp/err"; then
        failed=$((failed + 1))
        echo "FAILED: $*: exit status $got, expected 2 and '$text'"
        head -n 5 "$tmp/err"
        return
    fi
    passed=$((passed + 1))
}

# holds TEXT FILES: what the folder of outputs has in it, and the first line of its file `kept`.
holds() {
    if [ "$(ls "$tmp/files" | tr '\n' ' ')" = "$2" ] && [ "$(head -n 1 "$tmp/files/kept")" = "$1" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: expected the files $2 and '$1' in kept, got $(ls "$tmp/files")"
    fi
}

wait_for_temporary() {
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        ls "$tmp/files" | grep -q tmp && return
        sleep 0.2
    done
    failed=$((failed + 1))
    echo "FAILED: no temporary file"
}

mkdir "$tmp/files"
echo old >"$tmp/files/kept"
ring=programs/lab/ring.bsp.json
net="run -q efficientnet-b7"
for option in --output --digests --chart --logits --write-weights; do
    refused "No such file or directory" $net $option "$tmp/nosuch/x"
    refused "Is a directory" $net $option "$tmp/files"
    refused "the same file as the input" $net --weights "$tmp/good.json" $option "$tmp/good.json"
done
refused "No such file or directory" models efficientnet-b7 -o "$tmp/nosuch/x"
refused "No such file or directory" run -q matmul --digests "$tmp/nosuch/x"
refused "No such file or directory" run $ring --digests "$tmp/nosuch/x"
refused "the same file as the input" run "$tmp/unheard.bsp.json" --digests "$tmp/unheard.bsp.json"
refused "the same file as the input" compile "$tmp/unheard.bsp.json" -o "$tmp/unheard.bsp.json"
refused "the same file as the input" asm programs/lab/allreduce.S -o programs/lab/allreduce.S
holds old "kept "

# Every superstep of a stream is the same, however it is executed.
streamed="stream -q efficientnet-b0 models/pictures/cat.jpg --resolution 32 --no-calibration --set tiles=128 --limit 1"
"$program" $streamed --digests "$tmp/fast" >/dev/null && "$program" $streamed --plain --digests "$tmp/plain" >/dev/null
ends 0 "status equal" diff "$tmp/fast" "$tmp/plain"
ends 2 "--digests needs values, and --engine timing has none" $streamed --digests "$tmp/fast" --engine timing

# What cannot be written at the end is said after the answer.
small="run -q efficientnet-b0 --resolution 32 --no-calibration --set tiles=128"
ends 0 '"output_channels":' $small --plan --json
if [ -c /dev/full ]; then
    ends 2 "No space left on device" $small --chart /dev/full --logits "$tmp/files/logits"
    ends 2 "cycles" $small --chart /dev/full --digests "$tmp/files/digests"
    ends 2 "status ok" run $ring --digests /dev/full
    ends 2 "status ok" run -q softmax -D n=100 --machine toy4 --digests /dev/full
fi
ends 1 "do not fit" run -q vector-add -D n=10000000 --set tiles=64 -o "$tmp/files/image" --digests "$tmp/files/kept"
holds old "digests kept logits "
ends 0 "status ok" run $ring --digests "$tmp/files/kept"
holds "superstep-digests 1" "digests kept logits "

# A stream to the host comes into its place when the run is over, and stays away after a signal (this run waits for someone to write).
"$program" compile stream -o "$tmp/stream.img" >/dev/null
ends 0 "status ok" run "$tmp/stream.img" --stream 0=/dev/zero --stream 1="$tmp/files/sums"
[ "$(wc -c <"$tmp/files/sums")" -eq 48 ] || { failed=$((failed + 1)) && echo "FAILED: sums of $(wc -c <"$tmp/files/sums") bytes"; }
rm "$tmp/files/sums"
# The stepper reads files of a stream as they are, however long and whatever is in them.
head -c 1000000 /dev/zero >"$tmp/zeros"
echo continue >"$tmp/script"
"$program" compile stream -D BLOCKS=64 -o "$tmp/long.img" >/dev/null
ends 0 "the run has ended" step "$tmp/long.img" --stream 0="$tmp/zeros" --script "$tmp/script"
# So it goes through a step of training, as an image.
"$program" train tests/fuzz/corpus/onnx/layer_norm.onnx -m toy64 -q --engine timing -o "$tmp/step.img" >/dev/null
ends 0 "the run has ended" step "$tmp/step.img" --script "$tmp/script"
mkfifo "$tmp/fifo"
echo old >"$tmp/files/kept"
"$program" run "$tmp/stream.img" --stream 1="$tmp/files/kept" --stream 0="$tmp/fifo" >/dev/null 2>&1 &
pid=$!
wait_for_temporary
kill -TERM $pid
wait $pid 2>/dev/null
holds old "digests kept logits "
echo "superstep-digests 1" >"$tmp/files/kept"

# A signal while weights are measured and an output is open (what runs in the background ignores some signals, but not this one).
"$program" models efficientnet-b7 -o "$tmp/files/weights" >/dev/null 2>&1 &
pid=$!
wait_for_temporary
kill -TERM $pid
wait $pid 2>/dev/null
holds "superstep-digests 1" "digests kept logits "

# Threads that wait sleep, unless the user says otherwise (gcc's OpenMP prints what it has read).
env -u OMP_WAIT_POLICY -u GOMP_SPINCOUNT OMP_DISPLAY_ENV=verbose "$program" machines >/dev/null 2>"$tmp/err"
if grep -q GOMP_SPINCOUNT "$tmp/err" && ! grep -q "GOMP_SPINCOUNT = '1000'" "$tmp/err"; then
    failed=$((failed + 1))
    echo "FAILED: waiting threads spin: $(grep GOMP_SPINCOUNT "$tmp/err")"
fi
OMP_WAIT_POLICY=active OMP_DISPLAY_ENV=verbose "$program" machines >/dev/null 2>"$tmp/err"
grep -q "GOMP_SPINCOUNT = '1000'" "$tmp/err" && failed=$((failed + 1)) && echo "FAILED: OMP_WAIT_POLICY=active is not heard"

# docs/operators.md has the table of operators.
"$program" operators >"$tmp/out"
if sed -n '/^operator  /,/^```$/p' docs/operators.md | sed '$d' | cmp -s - "$tmp/out"; then
    passed=$((passed + 1))
else
    failed=$((failed + 1))
    echo "FAILED: docs/operators.md has another table than 'superstep operators'"
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
