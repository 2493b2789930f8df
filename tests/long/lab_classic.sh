#!/bin/bash
# The classic programs and the assembly programs of the lab on all of mk2: results against plain C, in the checking mode where that is quick,
# cycles and bill printed. Programs whose messages grow with the square of the tiles take as many tiles as they take by themselves, up to 64;
# the others all 1,472.
#
#   SUPERSTEP_LAB="scan cg"  only these
#   SUPERSTEP=FILE           the program (default: build/superstep, built first)
. "$(dirname "$0")/common.sh"
build

value() { number "$tmp/answer" ".$1"; }

run() {
    if ! "$superstep" run -q --json "$@" >"$tmp/answer" 2>"$tmp/error"; then
        fail "$*"
        head -n 5 "$tmp/error"
        return 1
    fi
    holds "$tmp/answer" '.status == "ok"' || fail "$*: $(value status)"
    printf '%-44s %9d cycles: exchange %8d, compute %8d, sync %7d; h %8d words\n' "$*" "$(value cycles)" \
        "$(value bill.exchange_cycles)" "$(value bill.compute_cycles)" "$(value bill.sync_cycles)" "$(value bill.h_words)"
}

all="broadcast-ways reduce scan exchange-all inner-product summa lu fft odd-even-sort sample-sort list-ranking bfs pagerank stencil-halo life
    nbody-ring pi cg"
for name in ${SUPERSTEP_LAB:-$all}; do
    run $name
    case $name in
    broadcast-ways | reduce)
        for way in tree two-phase; do
            run $name -D p=1472 -D n=1472 -D way=$way
        done
        run $name -D p=1472 -D n=64 -D way=flat # all on tile 0, which has room for 64 of each
        ;;
    scan) run scan -D p=1472 && run scan -D p=1472 -D way=doubling ;;
    summa) run summa -D q=38 -D b=8 ;;
    inner-product | stencil-halo | life | pi | cg) run $name -D p=1472 ;;
    nbody-ring) run nbody-ring -D p=368 -D n=6 ;;
    odd-even-sort) run odd-even-sort -D p=368 -D n=16 ;;
    esac
done
for name in ring broadcast stream overlap allreduce; do
    "$superstep" run "programs/lab/$name.bsp.json" --machine mk2 --check >"$tmp/answer" 2>"$tmp/error" || fail "$name"
    printf '%-44s %9d cycles\n' "$name" "$(sed -n 's/^cycles //p' "$tmp/answer")"
done
finish
