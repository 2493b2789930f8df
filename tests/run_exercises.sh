#!/bin/sh
# run_exercises.sh SUPERSTEP: the exercises of the lab. Every solution passes; every unfinished file, and wrong answers that a student might give,
# do not, and are told why.
program=$1
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0
solution=programs/lab/solution

fail() {
    failed=$((failed + 1))
    echo "FAILED: exercise $1: $2"
    head -n 8 "$tmp/out"
}

# ends STATUS TEXT EXERCISE FILE: the check ends so and prints TEXT.
ends() {
    "$program" lab check "$3" "$4" >"$tmp/out" 2>&1 </dev/null
    got=$?
    [ $got -eq "$1" ] && grep -qF -- "$2" "$tmp/out" || { fail "$3" "exit status $got, expected $1 and '$2'"; return; }
    passed=$((passed + 1))
}

# wrong EXERCISE TEXT SED...: the solution, changed so, is refused with this text.
wrong() {
    name=$1 text=$2
    shift 2
    sed "$@" "$solution/${name}_solution.S" >"$tmp/$name.S"
    cmp -s "$solution/${name}_solution.S" "$tmp/$name.S" && { fail "$name" "'$*' changes nothing"; return; }
    ends 1 "$text" "$name" "$tmp/$name.S"
}

n=0
for name in $(sed -n 's/^EXERCISE("\([a-z]*\)".*/\1/p' programs/lab/exercise/exercises.def); do
    n=$((n + 1))
    ends 0 ": done" $n $solution/${name}_solution.S
    "$program" lab exercise $n -o "$tmp/${name}_task.S" >"$tmp/out" 2>&1 || fail $n "not written"
    cmp -s "$tmp/${name}_task.S" programs/lab/exercise/${name}_task.S || fail $n "another file is written"
    case $name in
    gather) ends 2 "but the message before it lasts to event 10" $name "$tmp/${name}_task.S" ;;
    *) ends 1 "checks are wrong" $name "$tmp/${name}_task.S" ;;
    esac
done
[ $n -eq 12 ] || fail $n "expected 12 exercises"

wrong send "SILENT" 's/.receive copy, WORDS, FIRST_EVENT, 0/.receive copy, WORDS, FIRST_EVENT + 1, 0/'
wrong send "tile 1 copy[3]: expected 10, found 0" 's/.receive copy, WORDS/.receive copy, 3/; s/.send	block, WORDS/.send	block, 3/'
wrong send "MISSING_RECV" '/SYNC_RECV/d'
wrong send "leaves tile 0 at its event 1; it sends at event 0;" 's/.receive copy, WORDS, FIRST_EVENT, 0/.receive copy, WORDS, FIRST_EVENT + 1, 0/'
line=$(grep -n '.receive' $solution/send_solution.S | sed 's/:.*//')
wrong send "send.S:$line, cycle" 's/.receive copy, WORDS, FIRST_EVENT, 0/.receive copy, WORDS, FIRST_EVENT + 1, 0/'
wrong send "found 0; 3 more differ; tile 0 sends 4 words to nobody" '/.elseif/d; /.receive/d'
wrong send "send.S:$(sed '/SYNC_HOST/d' $solution/send_solution.S | wc -l), address" '/SYNC_HOST/d'
wrong send "a sync is missing in front of it;" '/SYNC_CHIP/d'
wrong balance "more than 140000 cycles: an endless loop? Tile 0 is at 0x" 's/^main:/&\n3:	bri	3b/'
wrong codelet "does not end within" 's/^dot:/&\n3:	bri	3b/'
wrong shift "tile 0 left[0]: expected 3000, found 1000" 's/(TILE + TILES - 1) % TILES/(TILE + 1) % TILES/'
wrong shift "TWICE" 's/	.receive left.*/&\n	.receive left, 1, FIRST_EVENT + WORDS, TILE/; s/	.send	mine.*/&\n	.send	mine, 1, FIRST_EVENT + WORDS/; s/+ WORDS, TILE/+ WORDS, (TILE + TILES - 1) % TILES/'
wrong multicast "tile 2 block[0]: expected 3, found 0" 's/	.else/	.elseif TILE == 0/'
wrong multicast "right, but it takes" 's/FIRST_EVENT/FIRST_EVENT + 100/'
wrong gather "tile 0 all[1]: expected 14, found" 's/all + 4 \* T/all + 4 * (T - 1)/'
wrong gather "right, but it takes" 's/FIRST_EVENT + T/FIRST_EVENT + 9 * T/'
wrong gather "SILENT" 's/.send	word, 1, FIRST_EVENT + TILE/.send	word, 1, FIRST_EVENT + TILES - TILE + 1/'
wrong exchange "tile 1 column[1]: expected 101, found 0" '/setzi\|ld32\|st32/d'
wrong exchange "right, but it takes" 's/FIRST_EVENT + R/FIRST_EVENT + 9 * R/'
wrong exchange "TWICE" 's/column + 4 \* FROM/column/'
wrong workers "RACE" 's/	stm32	$m4, $m3, $m7/	st32	$m4, $m3, $mzero, 0/'
wrong workers "expected" 's/$m0, $m0, 6/$m0, $m0, 7/'
wrong workers "sum[0]: expected" 's/	ld32	$m2, $m1, 5/	ld32	$m2, $m1, 4/'
wrong codelet "out[1]: expected" 's/	add	$m3, $m3, $m5//'
wrong codelet "expected" 's/	add	$m0, $m0, 6/	add	$m0, $m0, 1/'
wrong codelet "UNWRITTEN" 's/	brz	$m6, 2f//; s/	bri	1b/	brnz	$m6, 1b/'
wrong allreduce "tile 1 total[0]: expected" 's/.receive total, 1, FIRST_EVENT, 0/.receive word, 1, FIRST_EVENT, 0/'
wrong allreduce "tile 0 total[0]: expected" 's/	ld32	$m0, $m1, 0/	zero	$m0/'
wrong allreduce "MISSING_RECV" '0,/SYNC_RECV/s/	sync	SYNC_RECV//'
wrong scan "tile 1 before[0]: expected" 's/	ld32	$m3, $m1, 0/	zero	$m3/'
wrong scan "sends 1 word to nobody" 's/	.if TILE < TILES - 1.*/	.if 1/'
wrong scan "UNWRITTEN" 's/setzi	$m2, TILE - 1/setzi	$m2, TILE/'
wrong stencil "tile 0 x[1]: expected" 's/FIRST_EVENT, LEFT/FIRST_EVENT, RIGHT/'
wrong stencil "expected" 's/setzi	$m8, STEPS - 1/setzi	$m8, STEPS/'
wrong stencil "supersteps" 's/	sync	SYNC_CHIP/&\n	sync	SYNC_CHIP/'
wrong halo "tile 0 x[2]: expected" 's/x + 4 \* HALO, HALO/x + 4 * (HALO - 1), HALO/'
wrong halo "expected" 's/	STEP	K, N + 2 \* HALO - 1 - K/	STEP	HALO, HALO + N - 1/'
wrong halo "expected" 's/STEPS \/ HALO - 1/STEPS - 1/'
wrong balance "sends 4 words to nobody" 's/x + 4 \* SHARE, ITEMS - SHARE, FIRST_EVENT/x, ITEMS, FIRST_EVENT/; s/(TILE - 1) \* SHARE, 0/TILE * SHARE, 0/'
wrong balance "expected" 's/FIRST_EVENT + (TILE - 1) \* SHARE, 0/FIRST_EVENT, 0/'
wrong balance "MISSING_RECV" '0,/SYNC_RECV/s/	sync	SYNC_RECV//'

# ---- the command itself

refuse() {
    text=$1
    shift
    "$program" "$@" >"$tmp/out" 2>&1 </dev/null
    [ $? -eq 2 ] && grep -qF -- "$text" "$tmp/out" || { fail "$*" "expected exit status 2 and '$text'"; return; }
    passed=$((passed + 1))
}
says() {
    text=$1
    shift
    "$program" "$@" >"$tmp/out" 2>&1 </dev/null && grep -qF -- "$text" "$tmp/out" || { fail "$*" "expected '$text'"; return; }
    passed=$((passed + 1))
}
echo "main: nonsense" >"$tmp/bad.S"
refuse "bad.S:1:" lab check 1 "$tmp/bad.S"
refuse "superstep lab check N FILE.S" lab check 1
refuse "no exercise '13'" lab check 13 "$tmp/bad.S"
refuse "cannot be read" lab check 1 "$tmp/nosuch.S"
refuse "is not replaced" lab exercise 1 -o "$tmp/bad.S"
refuse "--output: of which exercise" lab exercise -o "$tmp/x.S"
refuse "one exercise at a time" lab exercise 1 2
refuse "one program at a time" lab ring broadcast
says "12 balance" lab exercise
says "Exercise 3, one speaks, all listen:" lab exercise multicast
says '"status": "ok"' lab check 1 $solution/send_solution.S --json
says '"task":' lab exercise 2 --json
says ".receive copy, WORDS, FIRST_EVENT, 0" lab solution 1
says "every tile passes WORDS words" lab source ring
refuse "those that are graphs are C" lab source scan
refuse "no exercise '13'" lab solution 13
refuse "did you mean 'ring'?" lab rng
refuse "did you mean 'exercise'?" lab excercise 1
refuse "expected flat, tree, two-phase" lab reduce -D way=flatt
refuse "it has p, n, way, all" lab reduce -D wya=tree
refuse "--steps: of which program?" lab --steps
refuse "not for \`exercise\`" lab exercise 1 --steps
says "ring on toy16: 16 tiles" lab ring
says "BSP model: w" lab check 1 $solution/send_solution.S --steps
says "done" lab check 1 $solution/send_solution.S --chart "$tmp/send.svg"
grep -q "send on mk2" "$tmp/send.svg" || fail send "the chart is not that of the largest machine"
misspelt() {
    sed "$2" $solution/send_solution.S >"$tmp/misspelt.S"
    refuse "$1" lab check 1 "$tmp/misspelt.S"
}
misspelt "undefined symbol 'bloc'; did you mean 'block'?" 's/block,/bloc,/'
misspelt "undefined symbol 'FIRST_EVNT'; did you mean 'FIRST_EVENT'?" 's/FIRST_EVENT/FIRST_EVNT/'
misspelt "undefined symbol 'FIRST_EVENT'; #include <superstep/bsp.h> defines it" '/#include/d'
misspelt "no label main: the program begins there" 's/^main:/start:/'
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
