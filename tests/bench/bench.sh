#!/bin/bash
# All benches, round by round, and one table of their rows: median and spread of the rounds.
#
# usage: tests/bench/bench.sh OBJECTS PROGRAM   objects of the build (with bench/), the program
#   AGAINST=COMMIT  builds that commit in build/against and runs its benches in turns with these (A B, B A, ..); gain is
#                   the ratio of the two medians, above 1 where this tree is better. Rows that only one of them has are
#                   shown without it.
#   ROUNDS=N        3 unless told
#   BENCHES=...     of amp chip exchange feed interp program schedule (default: all)
set -e
objects=$1 program=$2 rounds=${ROUNDS:-3} benches=${BENCHES:-interp amp chip exchange schedule feed program}

if [ -n "$AGAINST" ]; then
    there=build/against
    git worktree prune
    [ -e $there ] || git worktree add -q --detach $there "$AGAINST"
    git -C $there checkout -q --detach "$AGAINST"
    echo "building $(git -C $there log -1 --format='%h %s')" >&2
    targets=$(cd $there && for f in tests/bench/bench_*.c; do b=${f##*/}; echo build/obj/release/bench/${b%.c}; done)
    # shellcheck disable=SC2086  # a list
    make -s -C $there MODE=release all $targets > /dev/null
fi

# one SIDE BENCH FOLDER PROGRAM: rows of a bench in the folder, marked with the side
one() {
    [ -x "$3/bench_$2" ] || return 0
    "$3/bench_$2" ${4:+"$4"} | sed -n "s/.*\t.*\t/$1\t&/p" >> "$rows"
}

# The bench of whole networks needs nothing of the other tree but its program.
side() {
    if [ "$2" = program ]; then one "$1" program "$objects/bench" "$4"; else one "$1" "$2" "$3"; fi
}

here() { side a "$1" "$objects/bench" "$program"; }
against() { [ -z "$AGAINST" ] || side b "$1" $there/build/obj/release/bench $there/build/superstep; }

# table: medians and spread of what has been measured
table() {
    [ -s "$rows" ] || return 0
    awk -F '\t' -v against="$AGAINST" -v rounds="$rounds" '
        function sort(v, n,   i, k, x) {
            for (i = 2; i <= n; i++) {
                x = v[i]
                for (k = i - 1; k && v[k] > x; k--) v[k + 1] = v[k]
                v[k + 1] = x
            }
        }
        # the median of a row on one side; its spread, in per cent of it, in `spread`
        function median(side, row,   v, i, n, m) {
            n = count[side, row]
            for (i = 1; i <= n; i++) v[i] = value[side, row, i]
            sort(v, n)
            m = v[int(n / 2) + 1]
            spread = m ? 100 * (v[n] - v[1]) / m : 0
            return m
        }
        {
            row = $2 FS $3
            if (!(row in seen)) { seen[row] = 1; order[++order_count] = row }
            value[$1, row, ++count[$1, row]] = $4
        }
        END {
            printf "%-48s %-18s %10s %7s", "medians of " rounds " rounds", "unit", "here", "spread"
            printf against ? " %10s %7s %6s\n" : "\n", substr(against, 1, 10), "spread", "gain"
            for (i = 1; i <= order_count; i++) {
                row = order[i]
                split(row, part, FS)
                printf "%-48s %-18s", part[1], part[2]
                a = b = 0
                if (count["a", row]) { a = median("a", row); printf " %10.4g %6.1f%%", a, spread } else printf " %10s %7s", "-", ""
                if (!against) { print ""; continue }
                if (count["b", row]) { b = median("b", row); printf " %10.4g %6.1f%%", b, spread } else printf " %10s %7s", "-", ""
                more = part[2] ~ /\/s$|^x$/
                if (a && b) printf " %6.3f", more ? a / b : b / a
                print ""
            }
        }' "$rows"
}

rows=$(mktemp)
trap 'table; rm -f "$rows"' EXIT # of the rounds so far, too, where it is interrupted
trap 'exit 130' INT TERM

for ((round = 1; round <= rounds; round++)); do
    for b in $benches; do
        echo "round $round of $rounds: $b" >&2
        if ((round % 2)); then here "$b"; against "$b"; else against "$b"; here "$b"; fi
    done
done
