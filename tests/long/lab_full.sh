#!/bin/bash
# The graph programs of the lab at full size on mk2: results against plain C, cycles and bill printed, and the goals: a matrix product
# of 1024^3 uses at least 35 % of the matrix unit's peak over the whole program, plans predict within 15 %.
#
#   SUPERSTEP_LAB="matmul total"  only these
set -u
cd "$(dirname "$0")/../.." || exit 2
make -s -j2 all || exit 2
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
failed=0

value() {
    sed -n "s/^$1 //p" "$tmp/answer"
}

# goal WHAT NUMBER LOWEST HIGHEST
goal() {
    awk -v x="$2" -v low="$3" -v high="$4" 'BEGIN { exit !(x != "" && x >= low && x <= high) }' && return
    echo "  MISSED: $1 is $2, expected $3 to $4"
    failed=$((failed + 1))
}

run() {
    if ! build/superstep run -q "$@" >"$tmp/answer" 2>"$tmp/error"; then
        cat "$tmp/error" "$tmp/answer"
        echo "FAILED: $*"
        failed=$((failed + 1))
        return 1
    fi
    printf '%-34s %10d cycles: exchange %8d, compute %8d, sync %6d; h %7d words; off by %s of %s\n' "$*" "$(value cycles)" \
        "$(value bill.exchange_cycles)" "$(value bill.compute_cycles)" "$(value bill.sync_cycles)" "$(value bill.h_words)" \
        "$(value answer.largest_difference)" "$(value answer.allowed_difference)"
}

models() {
    sed -n 's/^answer\.\(model_[a-z_]*\)\.\([a-z]*\)_\(cycles\|words\) \(.*\)/\1 \2 \4/p' "$tmp/answer" |
        awk '{ if ($1 != was) printf "%s  %s:", was ? "\n" : "", $1; was = $1; printf " %s %s", $2, $3 } END { print "" }'
}

product() {
    run matmul -D m="$1" -D n="$2" -D k="$3" || return
    echo "  cut $(value answer.plan.cut_m) x $(value answer.plan.cut_n) x $(value answer.plan.cut_k)," \
        "predicted $(value answer.plan.total_cycles) cycles; $(value answer.percent_of_matrix_peak) % of the peak"
    goal "prediction / cycles" "$(awk -v p="$(value answer.plan.total_cycles)" -v c="$(value cycles)" 'BEGIN { print p / c }')" 0.85 1.15
    [ "$1$2$3" != 102410241024 ] || goal "per cent of the peak" "$(value answer.percent_of_matrix_peak)" 35 100
}

for name in ${SUPERSTEP_LAB:-vector-add matvec-rows matvec-blocks matmul transpose softmax total stencil}; do
    case $name in
    matmul)
        for size in "1024 1024 1024" "256 256 256" "512 512 512" "100 512 2048" "2000 512 64" "4096 256 256" "1024 2048 512" \
            "2048 2048 2048"; do
            product $size
        done
        ;;
    matvec-*) run $name && models ;;
    *) run $name ;;
    esac
done
[ $failed -eq 0 ] && echo "all right"
exit $((failed != 0))
