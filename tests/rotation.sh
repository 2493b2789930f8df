#!/bin/bash
# rotation.sh [PART]: the long tests in nine parts, of which continuous integration runs one after `make check`; which one follows from
# the number of commits, so that every script has its turn once in about nine landings. Seeds of random tests follow from that number,
# too: no two runs draw the same. What is missing is installed (.ci/setup). A failure names script, settings and seeds. When the time is
# over, the script that runs is ended; that is said, and is no failure.
#
#   rotation.sh --list   the parts with their minutes on two idle cores
#   rotation.sh --check  whether every script of tests/long is in a part
#   MINUTES=N            the time of all (default 35)
cd "$(dirname "$0")/.." || exit 2
count=$(git rev-list --count HEAD 2>/dev/null) || count=0
parts=9
npm=$PWD/build/npm
limit=$((SECONDS + ${MINUTES:-35} * 60))
failed=() passed=0

torch="python3-torch python3-torchvision python3-onnx python3-sklearn"
clang="clang-14 libclang-rt-14-dev libomp-14-dev"

# row PART MINUTES PACKAGES SETTINGS COMMAND...: called for every row of the table below, with what is to be done with it in $row_action.
row() { "$row_action" "$@"; }

table() {
    row 1 5 "" "" tests/long/networks.sh
    row 1 3 "" "" tests/long/plan_table.sh
    row 1 3 "" "" tests/long/resnet50.sh
    row 1 3 "" "" tests/long/what_ifs.sh
    row 1 3 "" "" tests/long/lab_full.sh
    row 1 3 "" "" tests/long/lab_classic.sh
    row 1 2 "" "" tests/long/out_of_memory.sh
    row 1 2 "" "" tests/long/stream_ends.sh
    row 1 1 "" "" tests/long/weights.sh
    row 1 5 "" "" tests/long/stream.sh
    row 1 3 "" "" tests/long/chips.sh
    row 2 20 "$clang" "" tests/long/sanitizers.sh
    row 2 4 "" "PART=10 SEED=$count" tests/long/matrix.sh
    row 2 5 "" "" tests/self_contained.sh build/superstep big
    row 2 5 "" "PICTURES=8 NETWORKS=efficientnet-b4" tests/long/stream_networks.sh
    row 3 10 "$clang" "" tests/long/races.sh
    row 3 15 "$clang" "" tests/long/compilers.sh
    row 3 5 "" "" tests/long/stream_curves.sh
    row 4 10 "" "SUPERSTEP_SEED=$((count * 10000)),8000" tests/long/random_graphs.sh
    row 4 14 "" "SUPERSTEP_SEED=$((count * 10000)),2000" tests/long/random_operators.sh
    row 4 10 "" "" tests/long/validate.sh
    row 5 14 "" "SUPERSTEP_NETWORKS='efficientnet-b0 efficientnet-b4-g16' BATCHES='1 3'" tests/long/timing.sh
    row 5 8 "" "" tests/long/figures.sh
    row 5 8 "chromium" "KILLS='20 40' GRID='--vary tiles=736,1472 --vary sync_chip_cycles=60,120'" tests/long/sweep.sh
    row 6 25 "$torch npm:onnxruntime-node" "ORT=$npm" tests/long/onnxruntime.sh
    row 6 5 "$torch" "" tests/long/torch.sh
    row 6 1 "$torch" "" tests/long/train.sh
    row 6 1 "$torch" "" tests/long/train_step.sh
    row 7 17 "$clang" "FUZZ_SECONDS=30" make -s fuzz
    row 7 12 "" "" tests/long/mutations.sh
    row 8 10 "" "" tests/long/cache.sh
    row 8 10 "" "" tests/long/poplar_layers.sh
    row 8 13 "$torch" "" tests/long/sequences.sh
    row 9 6 "chromium" "" tests/long/report_page.sh
    row 9 10 "$torch" "" tests/long/onnx_networks.sh
    row 9 5 "$torch" "" tests/long/ssd.sh
    row 9 5 "" "NETWORKS=efficientnet-b4" tests/long/pictures.sh
    row 9 5 "$torch" "STEPS=60" tests/long/train_g16.sh
    # Skipped where there is no checkout of what they read.
    row 7 1 "" "" tests/long/foreign.sh
    row 7 1 "" "" tests/long/poplibs_assemble.sh
    row 7 1 "" "" tests/long/poplibs_cycles.sh
    row 7 1 "" "" tests/long/poplibs_matmul.sh
    row 7 1 "" "" tests/long/poplibs_movnz.sh
}

# install PACKAGE...: Debian's, or npm:NAME into $npm.
install() {
    local debian=() p
    for p in "$@"; do
        case $p in npm:*) ;; *) debian+=("$p") ;; esac
    done
    [ ${#debian[@]} -eq 0 ] || sh .ci/setup "${debian[@]}" || return
    for p in "$@"; do
        case $p in npm:*) ;; *) continue ;; esac
        [ -d "$npm/node_modules/${p#npm:}" ] && continue
        command -v npm >/dev/null || sh .ci/setup npm || return
        npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$npm" "${p#npm:}" || return
    done
}

print_row() {
    printf '%s  %3d min  %s\n' "$1" "$2" "${4:+$4 }${*:5}"
    minutes[$1]=$((${minutes[$1]:-0} + $2))
}

note_script() { scripts+=" ${*:5}"; }

run_row() {
    local left=$((limit - SECONDS)) begin=$SECONDS log status
    [ "$1" -eq "$part" ] || return 0
    if [ "$left" -lt 60 ]; then
        echo "left out: ${*:5} (the time is over)"
        return
    fi
    log=$(mktemp)
    # shellcheck disable=SC2086 # packages, one by one
    install $3 || echo "not installed: one of $3"
    (
        [ -z "$4" ] || eval "export $4"
        exec timeout --kill-after=20 "$left" "${@:5}"
    ) >"$log" 2>&1 </dev/null
    status=$?
    case $status in
    0)
        passed=$((passed + 1))
        verdict=$(grep -q '^skipped: ' "$log" && grep -m1 '^skipped: ' "$log" || echo "ok")
        ;;
    124 | 137) verdict="not finished when the time was over" ;;
    *)
        verdict="FAILED, exit $status"
        failed+=("${4:+$4 }${*:5}")
        tail -n 60 "$log"
        ;;
    esac
    printf '%4d s  %s: %s\n' $((SECONDS - begin)) "${4:+$4 }${*:5}" "$verdict"
    rm -f "$log"
}

case ${1:-} in
--list)
    declare -A minutes
    row_action=print_row
    table | sort -s -n
    table >/dev/null
    for p in $(seq $parts); do echo "part $p: ${minutes[$p]} minutes"; done
    exit
    ;;
--check)
    row_action=note_script scripts=
    table
    for script in tests/long/*.sh; do
        case $script in */common.sh | */assemble.sh) continue ;; esac
        case "$scripts" in *"${script##*/}"*) ;; *) failed+=("$script") ;; esac
    done
    [ ${#failed[@]} -eq 0 ] && exit
    echo "in no part of tests/rotation.sh: ${failed[*]}"
    exit 1
    ;;
esac

part=${1:-$((count % parts + 1))}
echo "long tests, part $part of $parts (commit number $count)"
row_action=run_row
table
echo "long tests, part $part: $passed passed, ${#failed[@]} failed"
[ ${#failed[@]} -eq 0 ] && exit
printf 'failed: %s\n' "${failed[@]}"
exit 1
