#!/bin/bash
# matmul_f16 and matmul_f16_f32 take no more cycles than the published PopLibs convolution 1x1 for the same product, both executed
# here: f16 inputs, 128-bit weight loads, f16 partial sums with 16 units or f32 with 8. From 18 positions on: products of one or two
# blocks with less take some tens of cycles more, since our workers have three positions or none.
#
#   SUPERSTEP_POPLIBS=DIR  a checkout of PopLibs; without it the test is skipped
#   SUPERSTEP=FILE         the program (default: build/superstep, built first)
. "$(dirname "$0")/common.sh"
poplibs=${SUPERSTEP_POPLIBS:-}
[ -n "$poplibs" ] && [ -d "$poplibs/lib" ] || skip "SUPERSTEP_POPLIBS does not name a checkout of PopLibs"
build
here=$(pwd)
asm=$poplibs/lib/poplin/codelets/asm
sources="\"$asm/conv_partial_1x1_half_float_8_and_half_half_h16.S\", \"$asm/conv_partial_1x1_supervisor.S\",
         \"$asm/conv_partial_1x1_float_float_16.S\", \"$asm/conv_partial_1x1_float_float.S\", \"$asm/conv_partial_1x1_half_half.S\""

# Prints the cycles of a case file.
cycles() { "$superstep" tile --json "$1" >"$tmp/answer" && number "$tmp/answer" .cycles; }

# Elements FROM, FROM + STEP, ... of a table of addresses: name count step
addresses() { for ((i = 0; i < $2; i++)); do printf '"%s+%d", ' "$1" $((i * $3)); done; printf '"%s"' "$1"; }

# Offset in words, positions less 3, offset again, for every worker.
worklist() {
    local f=$1 at=0 n
    for ((w = 0; w < 6; w++)); do
        n=$((f / 6 + (w < f % 6)))
        printf '%d, %d, %d%s' $((at * 4)) $(((n - 3) & 0xffff)) $((at * 4)) "$([ $w = 5 ] || printf ', ')"
        at=$((at + n))
    done
}

# codelet, units, symbol of theirs, out stride, kb, nb, f
compare() {
    local ours=$1 units=$2 symbol=$3 stride=$4 kb=$5 nb=$6 f=$7 block=$((32 * $2)) a b
    local memory="{\"name\": \"in\", \"region\": 0, \"align\": 16, \"bytes\": $((kb * f * 32))},
        {\"name\": \"out\", \"align\": 16, \"bytes\": $((nb * f * 32))},
        {\"name\": \"w\", \"align\": 16, \"bytes\": $((kb * nb * block))}"
    cat >"$tmp/ours.json" <<END
{ "source": "$here/programs/library/matmul/matmul.S", "entry": "$ours", "as": "supervisor", "memory": [ $memory ],
  "state": ["in", "out", "w", $kb, $nb, $f] }
END
    cat >"$tmp/theirs.json" <<END
{ "source": [ $sources ], "entry": "__runCodelet_poplin__ConvPartial1x1Out___$symbol", "as": "supervisor", "memory": [ $memory,
    {"name": "worklist", "region": 0, "u16": [ $(worklist "$f") ]},
    {"name": "ins", "region": 0, "u32": [ $(addresses in "$kb" $((f * 32))) ]},
    {"name": "outs", "region": 0, "u32": [ $(addresses out "$nb" $((f * 32))) ]},
    {"name": "ws", "region": 0, "u32": [ $(addresses w $((kb * nb)) "$block") ]} ],
  "state": ["ins", "ws", "outs", "worklist", {"u16": [0, $((nb - 1)), $kb, 1, $units, $stride]}] }
END
    a=$(cycles "$tmp/ours.json")
    b=$(cycles "$tmp/theirs.json")
    count=$((count + 1))
    printf '%-15s kb %2d nb %2d f %4d   ours %6s   PopLibs %6s\n' "$ours" "$kb" "$nb" "$f" "$a" "$b"
    if [ -z "$a" ] || [ -z "$b" ] || [ "$a" -gt "$b" ]; then
        fail "$*: slower, or one did not run"
    fi
}

count=0
for f in 18 19 24 48 50 96 150 384; do
    for shape in "1 1" "2 1" "1 2" "4 4" "8 2"; do
        compare matmul_f16 16 half_half_true_true_16_4_false 4 $shape $f
        compare matmul_f16_f32 8 half_float_true_true_8_4_false 2 $shape $f
    done
done
echo "$count products, ours slower in $failed"
finish
