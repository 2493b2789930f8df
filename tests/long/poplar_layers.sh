#!/bin/bash
# Single convolution layers of which the vendor published cycles (programs/lab/poplar_layers.def): all three passes that a published
# figure counts, forward, gradient by the data and gradient by the weights, executed with all values, f16 data, partial sums in f32 as
# the source has them, numbers compared with sums in f64. Of ours over theirs the geometric mean must be at most 0.75, and none above
# 1.1. A layer that reads pictures has no gradient by its data here; it is shown and not counted. Forward passes with partial sums in
# f16, too. About 10 minutes on two cores.
#
#   SUPERSTEP_LAYERS="mobilenet_conv1_1 resnet50_tr_bs4_cnv"  only these
#   SUPERSTEP=FILE                                            the program (default: build/superstep, built first)
. "$(dirname "$0")/common.sh"
build
near=0 runs=0 ratios=

# run LAYER OPTIONS...: leaves cycles, published
run() {
    cycles=0
    if ! "$superstep" run -q conv --layer "$1" --json "${@:2}" >"$tmp/answer" 2>"$tmp/error"; then
        fail "run conv --layer $*"
        cat "$tmp/error"
        return
    fi
    cycles=$(number "$tmp/answer" .cycles)
    published=$(number "$tmp/answer" .answer.published.three_passes_cycles)
}

# forward LAYER PARTIALS OPTIONS...: and counts how often the prediction was right
forward() {
    run "$1" --partials "${@:2}"
    runs=$((runs + 1))
    near=$((near + $(number "$tmp/answer" '.answer.executed_over_predicted | if . > 0.9 and . < 1.1 then 1 else 0 end')))
}

names=$(sed -n 's/^LAYER("\([^"]*\)".*/\1/p' programs/lab/poplar_layers.def)
printf '%-36s %-10s %8s %8s %8s %8s %8s %10s %6s\n' layer method "f16 fwd" forward data weights all published of
for name in ${SUPERSTEP_LAYERS:-$names}; do
    # Every tenth run looks for reads of what was never written, too.
    check=$([ $((runs % 10)) -eq 0 ] && echo --check)
    forward "$name" f16
    f16=$cycles
    forward "$name" f32 $check
    ahead=$cycles method=$(number "$tmp/answer" .answer.plan.method)
    if [ "$method" = first ]; then
        cycles=0 counts=
    else
        run "$name" --partials f32 --pass data $check
        counts=1
    fi
    data=$cycles
    run "$name" --partials f32 --pass weights $check
    all=$((ahead + data + cycles))
    printf '%-36s %-10s %8d %8d %8d %8d %8d %10d %5d%%\n' "$name" "$method" "$f16" "$ahead" "$data" "$cycles" $all "$published" \
        $((100 * all / published))
    [ -z "$counts" ] || ratios="$ratios $all/$published"
done
echo "$near of $runs forward runs within 10 % of the prediction"
read -r mean largest count <<<"$(echo "$ratios" | tr ' ' '\n' | awk -F/ '$2 { r = $1 / $2; n++; sum += log(r); if (r > most) most = r }
    END { if (n) printf "%.3f %.3f %d", exp(sum / n), most, n }')"
echo "three passes over the published cycles, of ${count:-0} layers: geometric mean ${mean:-none}, largest ${largest:-none}"
[ "$(calculate "${largest:-9} <= 1.1")" -eq 1 ] || fail "a layer is above 1.1"
[ -n "${SUPERSTEP_LAYERS:-}" ] || [ "$(calculate "${mean:-9} <= 0.75")" -eq 1 ] || fail "the geometric mean is above 0.75"
finish
