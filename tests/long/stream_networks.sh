#!/bin/bash
# Streams of pictures through whole networks with 32 IO tiles and prefetch 3: the classes of every picture are those of the same picture
# alone; the period is the longer of computing and fetching; a link that is too slow; without prefetch; 16 bits; bursts. Prints a line
# for each. "One by one" is a stream without IO tiles, one picture after the other on all tiles; the first also by `superstep run`, and on
# a machine that has only the compute tiles, where the bits must be the same.
#
#   NETWORKS  default "efficientnet-b4 efficientnet-b4-g16"
#   PICTURES  default 64
#   OPTIONS   more for every command, such as "--resolution 64 --set tiles=128"
set -u
cd "$(dirname "$0")/../.." || exit 2
networks=${NETWORKS:-efficientnet-b4 efficientnet-b4-g16} pictures=${PICTURES:-64} options=${OPTIONS:-}
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
tool=build/obj/release/long/pictures
make -s -j2 build/superstep $tool || exit 2
mkdir "$tmp/files" && $tool draw "$tmp/files" "$pictures" || exit 2
failed=0

fail() { echo "  not ok: $1"; failed=1; }
number() { sed -n "s/^ *\"$1\": \"*\([0-9a-z.]*\).*/\1/p" "$2" | head -1; }
steady() { sed -n '/"steady"/,/}/p' "$2" | number "$1" /dev/stdin; }
# The best five of the answer of superstep run, as in a file of results.
top5() { sed -n 's/^ *"\(class\|score\)": \([^,]*\).*/\2/p' "$1" | head -10 | paste -sd,; }
# stream NAME OPTIONS...: its answer in $tmp/NAME, its results in $tmp/NAME.csv
stream() {
    local name=$1
    shift
    build/superstep stream "$net" "$tmp/files" $options --quiet --json --output "$tmp/$name.csv" "$@" >"$tmp/$name" || fail "$name"
}
# Cycles of a batch in the steady part, what they should be, within 2 per cent.
judge() {
    awk -v what="$1" -v a="$2" -v b="$3" -v t="$(steady transfer "$4")" -v j="$(steady join "$4")" -v c="$(steady compute "$4")" 'BEGIN {
        printf "  %-34s period %9.0f, expected %9.0f, %+.2f %%  (transfer %.0f, join %.0f, compute %.0f)\n", what, a, b, 100 * (a / b - 1), t, j, c
        exit !(a > 0.98 * b && a < 1.02 * b) }' || fail "$1"
}
longer() { awk -v a="$(steady transfer "$1")" -v b="$(steady join "$1")" -v c="$(steady compute "$1")" 'BEGIN { print (a > b + c ? a : b + c) }'; }
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
    build/superstep run "$net" --image "$(ls "$tmp"/files/* | head -1)" $options --quiet --json >"$tmp/run" || fail "superstep run"
    [ "$(top5 "$tmp/run" | cut -d, -f1)" = "$(sed -n '2s/.*\.png,0,\([0-9]*\),.*/\1/p' "$tmp/all.csv")" ] || fail "the best class of superstep run"
    judge "32 IO tiles, prefetch 3" "$(steady period "$tmp/all")" "$(longer "$tmp/all")" "$tmp/all"
    awk -v a="$(steady compute "$tmp/all")" -v b="$(number cycles "$tmp/run")" 'BEGIN {
        printf "  %-34s %.0f cycles instead of %.0f, %+.2f %%\n", "compute tiles, 32 fewer", a, b, 100 * (a / b - 1); exit a > 1.03 * b }' || fail "cost of 32 tiles"

    few="--limit 10"
    slow=$(awk -v b="$(number batch_bytes "$tmp/all")" -v c="$(steady compute "$tmp/all")" 'BEGIN { printf "%d", b / (2 * c / 1330) }')
    stream slow $few --io-tiles 32 --prefetch 3 --host-bandwidth "$slow"
    judge "a link of $slow MB/s" "$(steady period "$tmp/slow")" "$(number host_cycles "$tmp/slow")" "$tmp/slow"
    stream zero $few --io-tiles 32 --prefetch 0 --host-bandwidth "$slow"
    judge "the same, prefetch 0" "$(steady period "$tmp/zero")" "$(number expected_period "$tmp/zero")" "$tmp/zero"
    stream f16 $few --io-tiles 32 --prefetch 3 --input-type f16
    head -11 "$tmp/all.csv" >"$tmp/u8.csv"
    cmp -s "$tmp/u8.csv" "$tmp/f16.csv" || fail "the bits of 8 bits and 16"
    [ "$(number batch_bytes "$tmp/f16")" = $((2 * $(number batch_bytes "$tmp/all"))) ] || fail "8 bits are not half of 16"
    echo "  $(number batch_bytes "$tmp/all") bytes a picture, $(number batch_bytes "$tmp/f16") with 16 bits; the same bits"
    late=$(awk -v c="$(steady compute "$tmp/all")" 'BEGIN { printf "%d", 1.5 * c / 1.33 }') # ns: half as long again as computing
    build/superstep run "$net" --image "$(ls "$tmp"/files/* | head -1)" $options --set tiles="$(number compute_tiles "$tmp/f16")" --quiet --json \
        >"$tmp/fewer" || fail "superstep run on as many tiles"
    [ "$(top5 "$tmp/fewer")" = "$(sed -n '2s/.*\.png,0,\(.*\),/\1/p' "$tmp/f16.csv")" ] || fail "the bits of superstep run on as many tiles"
    for depth in 1 3; do
        stream jitter $few --io-tiles 32 --prefetch $depth --host-jitter "$late"
        periods[depth]=$(steady period "$tmp/jitter")
        printf '  %-34s period %9.0f, waiting %.0f\n' "jitter of $((late / 1000)) us, prefetch $depth" "${periods[depth]}" "$(steady waiting "$tmp/jitter")"
    done
    awk -v a="${periods[1]}" -v b="${periods[3]}" -v c="$(longer "$tmp/all")" 'BEGIN { exit !(a > 1.1 * c && b < 1.02 * c) }' || fail "bursts"
    build/superstep stream "$net" "$tmp/files" $options $few --io-tiles 32 --quiet --json --threads 1 --decoders 1 --queue 1 >"$tmp/one" || fail "one thread"
    stream two $few --io-tiles 32 --threads 2 --decoders 4
    [ "$(number digest "$tmp/one")" = "$(number digest "$tmp/two")" ] || fail "digests of other threads"
    echo "  digest $(number digest "$tmp/one") with one thread and with two"
done
exit $failed
