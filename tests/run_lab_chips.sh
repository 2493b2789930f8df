#!/bin/sh
# run_lab_chips.sh SUPERSTEP: the programs of several chips (docs/lab.md 8) meet their expectations on systems of 2 to 8 chips, and have the same digest
# whatever links cost: ten times slower, ten times faster, without latency; these must change the cycles, or the links were not asked.
program=$1
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0

fail() {
    failed=$((failed + 1))
    echo "FAILED: run $1: $2"
    head -n 20 "$tmp/err"
}

# value KEY: of the last run
value() {
    sed -n "s/^$1 //p" "$tmp/out"
}

# go ARGUMENTS...: a run that must meet its expectations
go() {
    "$program" run -q "$@" >"$tmp/out" 2>"$tmp/err" && [ "$(value status)" = ok ] && passed=$((passed + 1)) || fail "$*" "$(value status)"
}

# same ARGUMENTS...: with links ten times slower, ten times faster and without latency the digest stays, and cycles become more, no more, fewer
same() {
    go "$@"
    digest=$(value digest) cycles=$(value cycles)
    for how in -gt:link_mbytes_per_s=1600 -le:link_mbytes_per_s=160000 -lt:link_latency_ns=0; do
        go "$@" --set ${how#*:}
        [ -n "$digest" ] && [ "$(value digest)" = "$digest" ] && passed=$((passed + 1)) || fail "$*" "another digest with ${how#*:}"
        [ "$(value cycles)" ${how%%:*} "$cycles" ] && passed=$((passed + 1)) || fail "$*" "$(value cycles) cycles with ${how#*:}, $cycles without"
    done
}

for chips in 2 4; do
    same pingpong --chips $chips -D PLAYERS=64 -D ROUNDS=2
    same halo --chips $chips -D LOG=1
    same chip_allreduce --chips $chips -D WORDS=2
    same chip_exchange --chips $chips
done
go pingpong --chips 4 -D OTHER=3 -D WORDS=200
go pingpong --machine toy4 -D WORDS=1 -D ROUNDS=1
go halo --machine toy16 --chips 8 -D ROWS=1 -D WIDTH=3 -D LOG=6
go chip_allreduce --machine toy16 --chips 8 -D WORDS=64
go chip_exchange --machine toy16 --chips 6 -D WORDS=5
go halo --machine mk2 --set tiles=92 --chips 2
for name in pingpong halo chip_allreduce chip_exchange; do
    "$program" run -q $name --chips 1 >"$tmp/out" 2>"$tmp/err"
    [ $? -eq 2 ] && grep -q "needs a machine with at least 2 chips" "$tmp/err" && passed=$((passed + 1)) || fail "$name --chips 1" "is not refused"
done
# Cycles are expected of the manifest's own system alone.
cp programs/lab/pingpong.S "$tmp"
sed 's/"chips": 2,/"chips": 2, "expect_cycles": 1,/' programs/lab/pingpong.bsp.json >"$tmp/own.bsp.json"
go "$tmp/own.bsp.json" --chips 4
"$program" run -q "$tmp/own.bsp.json" >"$tmp/out" 2>"$tmp/err"
[ "$(value status)" = failed ] && passed=$((passed + 1)) || fail own.bsp.json "expects no cycles"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
