#!/bin/sh
# run_classics.sh SUPERSTEP: the classic programs (programs/lab/classic) agree with plain C on machines of 1 tile to a slice of mk2, with
# parameters at their edges, with one thread and two, in the checking mode; what they refuse, they refuse with a sentence.
program=$1
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0

fail() {
    failed=$((failed + 1))
    echo "FAILED: $1"
    head -n 8 "$2"
}

right() {
    "$program" run -q "$@" >"$tmp/out" 2>&1 && grep -q '^status ok$' "$tmp/out" || { fail "$*" "$tmp/out"; return; }
    passed=$((passed + 1))
}

refuse() {
    text=$1
    shift
    "$program" run -q "$@" >"$tmp/out" 2>&1
    [ $? -eq 2 ] && grep -qF -- "$text" "$tmp/out" || { fail "$*: expected '$text'" "$tmp/out"; return; }
    passed=$((passed + 1))
}

names="broadcast-ways reduce scan exchange-all inner-product summa lu fft odd-even-sort sample-sort list-ranking bfs pagerank
    stencil-halo life nbody-ring pi cg"
for name in $names; do
    [ $name = summa ] && continue # which counts in squares
    for machine in toy4 toy16 "toy16 --set tiles=13" "mk2 --set tiles=64"; do
        right $name --machine $machine
    done
    cp "$tmp/out" "$tmp/two"
    right $name --machine mk2 --set tiles=64 -j1
    cmp -s "$tmp/out" "$tmp/two" || fail "$name: one thread says something else" "$tmp/out"
    refuse "p is 5, but the machine has 4 tiles" $name --machine toy4 -D p=5
    case "$name" in
    broadcast-ways | reduce | odd-even-sort | nbody-ring) refuse "needs 2 tiles" $name --machine toy4 -D p=1 ;;
    *) right $name --machine toy4 -D p=1 ;;
    esac
    right $name --machine toy4 -D p=3
    right $name --machine toy16 --check
done
for way in tree two-phase; do
    for machine in toy4 "toy16 --set tiles=13" "mk2 --set tiles=64"; do
        right broadcast-ways -D way=$way --machine $machine
        right broadcast-ways -D way=$way -D n=1 --machine $machine
        right reduce -D way=$way -D all=1 --machine $machine
        right reduce -D way=$way -D n=1 --machine $machine
    done
done
right scan -D way=doubling --machine "mk2" --set tiles=64
right scan -D way=doubling -D n=1 --machine toy16 --set tiles=13
right summa --machine toy4
right summa --machine mk2 --set tiles=64
right summa --machine toy16 --check
right summa -D b=1 --machine toy16
right summa -D b=17 -D q=2 --machine toy16
refuse "q is 5: 25 blocks, but the machine has 16 tiles" summa -D q=5 --machine toy16
right lu -D n=2 --machine toy16
right fft -D side=4 --machine toy16
right fft -D side=64 --machine toy16
refuse "side 12, p 4: expected a power of two" fft -D side=12 --machine toy4
right sample-sort -D samples=1 --machine toy16
refuse "room is 2, but a tile has" sample-sort -D room=2 --machine toy16
right list-ranking -D n=1 --machine toy16 --set tiles=13
right bfs -D n=1 --machine toy4
right bfs -D degree=16 --machine toy16
right pagerank -D rounds=2 -D degree=2 --machine toy16
refuse "rounds is 3, expected an even number" pagerank -D rounds=3 --machine toy4
for depth in 1 2 8; do
    right stencil-halo -D depth=$depth --machine toy16
done
refuse "expected an even width, and a depth of 1" stencil-halo -D depth=3 --machine toy4
refuse "steps is 3, expected an even number" life -D steps=3 --machine toy4
right life -D width=4 -D rows=1 --machine toy4
right nbody-ring -D n=1 --machine toy16
right pi -D n=1 --machine toy16
refuse "width is 5, expected an even number" cg -D width=5 --machine toy4
right cg -D steps=1 -D rows=1 -D width=4 --machine toy16
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
