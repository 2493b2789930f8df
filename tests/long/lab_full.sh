#!/bin/bash
# The graph programs of the lab at full size on mk2: results against plain C, cycles and bill printed, and the goals: a matrix product
# of 1024^3 uses at least 35 % of the matrix unit's peak over the whole program, plans predict within 15 %.
#
#   SUPERSTEP_LAB="matmul total"  only these
#   SUPERSTEP=FILE                the program (default: build/superstep, built first)
. "$(dirname "$0")/common.sh"
build

value() { number "$tmp/answer" ".$1"; }

# goal WHAT CONDITION: of the answer
goal() { holds "$tmp/answer" "$2" || fail "$1: not $2"; }

run() {
    if ! "$superstep" run -q --json "$@" >"$tmp/answer" 2>"$tmp/error"; then
        fail "$*"
        cat "$tmp/error"
        return 1
    fi
    printf '%-34s %10d cycles: exchange %8d, compute %8d, sync %6d; h %7d words; off by %s of %s\n' "$*" "$(value cycles)" \
        "$(value bill.exchange_cycles)" "$(value bill.compute_cycles)" "$(value bill.sync_cycles)" "$(value bill.h_words)" \
        "$(value answer.largest_difference)" "$(value answer.allowed_difference)"
}

# What simple models of the machine expect.
models() {
    jq -r '.answer | to_entries[] | select(.key | startswith("model_")) |
        "  \(.key): " + (.value | to_entries | map("\(.key) \(.value)") | join(", "))' "$tmp/answer"
}

product() {
    run matmul -D m="$1" -D n="$2" -D k="$3" || return
    echo "  cut $(value answer.plan.cut_m) x $(value answer.plan.cut_n) x $(value answer.plan.cut_k)," \
        "predicted $(value answer.plan.total_cycles) cycles; $(value answer.percent_of_matrix_peak) % of the peak"
    goal "prediction, $*" '.answer.plan.total_cycles / .cycles | . >= 0.85 and . <= 1.15'
    [ "$1$2$3" != 102410241024 ] || goal "part of the peak, $*" '.answer.percent_of_matrix_peak >= 35'
}

for name in ${SUPERSTEP_LAB:-vector-add matvec-rows matvec-blocks matmul transpose softmax total stencil}; do
    case $name in
    matmul)
        for size in "1024 1024 1024" "256 256 256" "512 512 512" "100 512 2048" "2000 512 64" "4096 256 256" "1024 2048 512" \
            "2048 2048 2048"; do
            # shellcheck disable=SC2086 # three numbers
            product $size
        done
        ;;
    matvec-*) run "$name" && models ;;
    *) run "$name" ;;
    esac
done
finish
