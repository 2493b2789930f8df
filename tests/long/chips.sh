#!/bin/bash
# Two chips of full size beside one: a compiled program (chips_image.c) that multiplies matrices on both chips and sends rows of the
# products over the links, by both engines. Every release and every tile is the same by the timing engine on any number of threads; by values two chips
# take at most 2.1 times the host memory of one, and at most 10 % more time of a processor for a cycle of a tile.
#
#   SIDE=1024 ROWS=64 TURNS=6   of the matrices; how many rows are sent, how often
#   ROUNDS=3            measurements, in turns; medians count
#   MACHINE=mk2
. "$(dirname "$0")/common.sh"
tool=build/obj/release/long/chips_image
build $tool
side=${SIDE:-1024} rows=${ROWS:-64} turns=${TURNS:-6} rounds=${ROUNDS:-3} machine=${MACHINE:-mk2}
for chips in 1 2; do
    "$tool" "$machine" $chips "$side" "$rows" "$turns" "$tmp/$chips.img" || exit 2
done

# ---- every superstep and tile

# tiles OPTIONS...: of every chip, without the answer that follows
tiles() { "$superstep" run "$tmp/2.img" -q --steps --tiles "$@" | sed '/^status /,$d'; }

tiles -j2 >"$tmp/values.tiles"
[ "$(grep -c '^chip ' "$tmp/values.tiles")" -eq 2 ] || fail "no table for each of two chips"
for threads in 1 2 3 16; do
    tiles -j$threads --engine timing >"$tmp/timing.tiles"
    cmp -s "$tmp/values.tiles" "$tmp/timing.tiles" || fail "timing engine, $threads threads: other cycles"
done
"$superstep" run "$tmp/2.img" -q --json --engine timing >"$tmp/timing" || fail "timing engine"
[ "$(number "$tmp/timing" .engine)" = timing ] || fail "engine: $(number "$tmp/timing" .engine)"
echo "two $machine, timing and values: $(wc -l <"$tmp/values.tiles") equal rows"

# ---- memory and time

# peak PID: KiB of memory that a process has used at most, as long as it is there
peak() {
    local key value rest most=0
    while [ -d "/proc/$1" ]; do
        while read -r key value rest; do
            [ "$key" = VmHWM: ] && most=$value
        done 2>/dev/null <"/proc/$1/status"
        sleep 0.2
    done
    echo "$most"
}

# measure CHIPS: memory and seconds of a processor of a run by values with one thread
measure() {
    local pid most
    TIMEFORMAT='%U %S'
    {
        time {
            "$superstep" run "$tmp/$1.img" -q -j1 --json >"$tmp/answer$1" &
            pid=$!
            most=$(peak $pid)
            wait $pid
        }
    } 2>"$tmp/time"
    echo "$most $(tail -n 1 "$tmp/time" | awk '{ print $1 + $2 }')" >>"$tmp/measured$1"
}

# median CHIPS COLUMN
median() { awk -v c="$2" '{ print $c }' "$tmp/measured$1" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

for _ in $(seq "$rounds"); do
    measure 1
    measure 2
done
for chips in 1 2; do
    holds "$tmp/answer$chips" '.status == "ok" and .engine == "values"' || fail "$chips chips by values"
    memory[chips]=$(median $chips 1)
    cycles[chips]=$(number "$tmp/answer$chips" .cycles)
    pace[chips]=$(calculate "1e9 * $(median $chips 2) / ($chips * $(number "$tmp/answer$chips" .tiles) * ${cycles[chips]})")
    echo "$chips $machine by values: ${cycles[chips]} cycles, ${memory[chips]} KiB, $(median $chips 2) s of a processor, ${pace[chips]} ns a tile and cycle"
done
more=$(calculate "${memory[2]} / ${memory[1]}") slower=$(calculate "${pace[2]} / ${pace[1]}")
echo "two chips: memory x $more, time of a tile's cycle x $slower"
[ "$(calculate "$more <= 2.1")" = 1 ] || fail "more than 2.1 times the memory"
[ "$(calculate "$slower <= 1.1")" = 1 ] || fail "more than 10 % slower"
finish
