#!/bin/bash
# Streams of pictures through whole networks with 32 IO tiles and prefetch 3: the classes of every picture are those of the same picture
# alone; the period is the longer of computing and fetching; a link that is too slow; without prefetch; 16 bits; bursts. Prints a line
# for each. "One by one" is a stream without IO tiles, one picture after the other on all tiles; the first also by `superstep run`, and on
# a machine that has only the compute tiles, where the bits must be the same.
#
#   NETWORKS        default "efficientnet-b4 efficientnet-b4-g16"
#   PICTURES        default 64
#   OPTIONS         more for every command, such as "--resolution 64 --set tiles=128"
#   SUPERSTEP=FILE  the program (default: build/superstep, built first)
. "$(dirname "$0")/common.sh"
networks=${NETWORKS:-efficientnet-b4 efficientnet-b4-g16} pictures=${PICTURES:-64} options=${OPTIONS:-}
tool=build/obj/release/long/pictures
build $tool
mkdir "$tmp/files" && $tool draw "$tmp/files" "$pictures" || exit 2

value() { number "$tmp/$1" "$2"; }
# stream NAME OPTIONS...: its answer in $tmp/NAME, its results in $tmp/NAME.csv
stream() {
    local name=$1
    shift
    "$superstep" stream "$net" "$tmp/files" $options --quiet --json --output "$tmp/$name.csv" "$@" >"$tmp/$name" || fail "$name"
}
# judge WHAT NAME EXPECTED: cycles of a batch in the steady part, within 2 per cent of what an answer says in its field EXPECTED
judge() {
    jq -r --arg what "$1" "[\$what, .steady.period, ($3), .steady.transfer, .steady.join, .steady.compute] | @tsv" "$tmp/$2" |
        awk -F'\t' '{ printf "  %-34s period %9.0f, expected %9.0f, %+.2f %%  (transfer %.0f, join %.0f, compute %.0f)\n",
                      $1, $2, $3, 100 * ($2 / $3 - 1), $4, $5, $6 }'
    holds "$tmp/$2" ".steady.period / ($3) | . > 0.98 and . < 1.02" || fail "$1"
}
longer='[.steady.transfer, .steady.join + .steady.compute] | max'
# Best classes, and the best five, of two files of results. Where two neighbours of the five come in another order, or the fifth is
# another class, their scores must be within the rounding of f16 of each other.
compare() {
    paste -d, "$tmp/$1.csv" "$tmp/$2.csv" | awk -F, -v what="$3" -v near="${NEAR:-0.02}" 'NR > 1 {
        n++; half = NF / 2
        if ($1 != $(half + 1)) bad = bad " " $1
        same = 1
        for (k = 3; k < 13; k += 2) {
            if ($k != $(half + k)) same = 0
            d = $(k + 1) / $(half + k + 1) - 1; if (d < 0) d = -d
            if (d > most) most = d
            if ($k != $(half + k) && d > near) bad = bad " " $1
        }
        best += $3 == $(half + 3); five += same
    } END { printf "  %-34s %d pictures: best class the same %d, best five in the same order %d; scores at most %.2f %% apart\n", what, n, best, five, 100 * most
            if (bad != "") print "  others:" bad; exit bad != "" || !n }' || fail "$3"
}

for net in $networks; do
    echo "$net, $pictures pictures"
    stream all --io-tiles 32 --prefetch 3
    stream alone --io-tiles 0 --prefetch 0
    compare all alone "a stream, and one by one"
    picture=$(ls "$tmp"/files/* | head -1)
    "$superstep" run "$net" --image "$picture" $options --quiet --json >"$tmp/run" || fail "superstep run"
    [ "$(number "$tmp/run" '.top5[0].class')" = "$(sed -n '2s/.*\.png,0,\([0-9]*\),.*/\1/p' "$tmp/all.csv")" ] ||
        fail "the best class of superstep run"
    judge "32 IO tiles, prefetch 3" all "$longer"
    compute=$(value all .steady.compute) cycles=$(value run .cycles)
    printf '  %-34s %.0f cycles instead of %.0f\n' "compute tiles, 32 fewer" "$compute" "$cycles"
    holds "$tmp/all" ".steady.compute < 1.03 * $cycles" || fail "cost of 32 tiles"

    few="--limit 10"
    # MB/s that make fetching twice as long as computing
    slow=$(value all '.batch_bytes / (2 * .steady.compute / .clock_mhz) | floor')
    stream slow $few --io-tiles 32 --prefetch 3 --host-bandwidth "$slow"
    judge "a link of $slow MB/s" slow .rule.host_cycles
    stream zero $few --io-tiles 32 --prefetch 0 --host-bandwidth "$slow"
    judge "the same, prefetch 0" zero .rule.expected_period
    stream f16 $few --io-tiles 32 --prefetch 3 --input-type f16
    head -11 "$tmp/all.csv" >"$tmp/u8.csv"
    cmp -s "$tmp/u8.csv" "$tmp/f16.csv" || fail "the bits of 8 bits and 16"
    [ "$(value f16 .batch_bytes)" = $((2 * $(value all .batch_bytes))) ] || fail "8 bits are not half of 16"
    echo "  $(value all .batch_bytes) bytes a picture, $(value f16 .batch_bytes) with 16 bits; the same bits"
    "$superstep" run "$net" --image "$picture" $options --set tiles="$(value f16 .compute_tiles)" --quiet --json >"$tmp/fewer" ||
        fail "superstep run on as many tiles"
    # Its best five, class and score, as the first line of results has them.
    holds "$tmp/fewer" "[.top5[] | .class, .score] == [$(sed -n '2s/.*\.png,0,\(.*\),$/\1/p' "$tmp/f16.csv")]" ||
        fail "the bits of superstep run on as many tiles"
    late=$(value all '1.5 * .steady.compute / .clock_mhz * 1000 | floor') # ns: half as long again as computing
    for depth in 1 3; do
        stream jitter$depth $few --io-tiles 32 --prefetch $depth --host-jitter "$late"
        printf '  %-34s period %9.0f, waiting %.0f\n' "jitter of $((late / 1000)) us, prefetch $depth" \
            "$(value jitter$depth .steady.period)" "$(value jitter$depth .steady.waiting)"
    done
    most=$(value all "$longer")
    holds "$tmp/jitter1" ".steady.period > 1.1 * $most" && holds "$tmp/jitter3" ".steady.period < 1.02 * $most" || fail "bursts"
    "$superstep" stream "$net" "$tmp/files" $options $few --io-tiles 32 --quiet --json --threads 1 --decoders 1 --queue 1 >"$tmp/one" ||
        fail "one thread"
    stream two $few --io-tiles 32 --threads 2 --decoders 4
    [ "$(value one .digest)" = "$(value two .digest)" ] || fail "digests of other threads"
    echo "  digest $(value one .digest) with one thread and with two"
done
finish
