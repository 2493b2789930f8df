#!/bin/bash
# cache.sh - the cache of compiled networks under fire: answers like those without a cache, whatever happens to it. 8 processes at once
# on one key; kill -9 at 100 random moments; an entry that is damaged in every region; full disks; a folder that cannot be written;
# a network on other machines. CACHE_KILLS=N: fewer moments.
. "$(dirname "$0")/common.sh"
build
command -v setpriv >/dev/null || skip "setpriv is not installed"
export SUPERSTEP_CACHE=$tmp/cache
network=(efficientnet-b0 --resolution 32 --no-calibration --set tiles=128)
kills=${CACHE_KILLS:-100}

run() { "$superstep" run "${network[@]}" --json -j1 "$@" 2>"$tmp/messages"; }

# right FILE WORDS: compares an answer with the one of no cache
right() { cmp -s "$tmp/plain" "$1" || fail "$2: another answer"; }

# quiet WORDS: at most one line on stderr, and none that is no progress
quiet() { [ "$(grep -cE 'not kept|superstep run' "$tmp/messages")" -le "$1" ] || { fail "$2: too many messages"; cat "$tmp/messages"; }; }

# entries: of whole networks; others: files that are no entry of any kind
entries() { find "$SUPERSTEP_CACHE" -name '*.network' | wc -l; }
others() { find "$SUPERSTEP_CACHE" -type f ! -name '*.network' ! -name '*.schedule' ! -name '*.bsp' | wc -l; }

run --no-cache >"$tmp/plain" || fail "no cache"
[ ! -e "$SUPERSTEP_CACHE" ] || fail "--no-cache leaves something"

echo "eight at once"
for i in 1 2 3 4 5 6 7 8; do
    "$superstep" run "${network[@]}" --json -j1 -q >"$tmp/answer$i" 2>"$tmp/error$i" &
done
wait
for i in 1 2 3 4 5 6 7 8; do
    right "$tmp/answer$i" "eight at once"
    [ ! -s "$tmp/error$i" ] || fail "eight at once: a message"
done
[ "$(entries)" -eq 1 ] || fail "eight at once: $(entries) entries"
[ "$(others)" -eq 0 ] || fail "eight at once: something is left over"
run >"$tmp/answer"
right "$tmp/answer" "the ninth"
grep -q '^cache.*reused' "$tmp/messages" || fail "the ninth compiles"
entry=$(find "$SUPERSTEP_CACHE" -name '*.network')
cp "$entry" "$tmp/entry"

echo "kill -9 at $kills moments"
start=$(date +%s%N)
"$superstep" cache --clear >/dev/null
run >/dev/null
span=$((($(date +%s%N) - start) / 1000000))
for ((i = 0; i < kills; i++)); do
    [ $((i % 3)) -ne 0 ] || "$superstep" cache --clear >/dev/null
    "$superstep" run "${network[@]}" --json -j1 -q >/dev/null 2>&1 &
    pid=$!
    sleep "$(calculate "$RANDOM / 32768 * 1.1 * $span / 1000")"
    kill -9 "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
    if [ $((i % 10)) -eq 9 ]; then
        run >"$tmp/answer"
        right "$tmp/answer" "after kill $i"
        quiet 0 "after kill $i"
    fi
done
"$superstep" cache --clear >/dev/null
run >"$tmp/answer"
[ "$(others)" -eq 0 ] || fail "kill -9 leaves something behind"

echo "damage"
bytes=$(stat -c %s "$tmp/entry")
for ((i = 0; i < 30; i++)); do # the head, the label, what describes the program; then all over the image
    at=$((i < 10 ? i * 120 : (i - 10) * (bytes / 20) + RANDOM % 999))
    cp "$tmp/entry" "$entry"
    printf '\xa5\x5a\xa5' | dd of="$entry" bs=1 seek=$at conv=notrunc status=none
    run >"$tmp/answer"
    right "$tmp/answer" "damaged at $at"
    quiet 0 "damaged at $at"
    cmp -s "$entry" "$tmp/entry" || fail "damaged at $at: not replaced"
done
for cut in 0 63 1088 2000 $((bytes - 1)); do
    head -c "$cut" "$tmp/entry" >"$entry"
    run >"$tmp/answer"
    right "$tmp/answer" "cut to $cut"
done

echo "full disks"
"$superstep" cache --clear >/dev/null
for blocks in 0 1 100 5000; do # of 1,024 bytes
    {
        (
            ulimit -f $blocks
            exec "$superstep" run "${network[@]}" --json -j1
        ) 2>&1 >&3 | cat >"$tmp/messages"
    } 3>&1 | cat >"$tmp/answer"
    right "$tmp/answer" "full after $blocks KiB"
    quiet 1 "full after $blocks KiB"
    [ "$(entries)" -eq 0 ] || fail "full after $blocks KiB: an entry"
    [ "$(others)" -eq 0 ] || fail "full after $blocks KiB: something is left over"
done

echo "folders that cannot be written"
chmod 755 "$tmp"
cp "$tmp/entry" "$entry"
chmod -R a+rX,a-w "$SUPERSTEP_CACHE"
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$superstep" run "${network[@]}" --json -j1 "$@" 2>"$tmp/messages"; }
if [ "$(id -u)" -eq 0 ] && setpriv --reuid=65534 --regid=65534 --clear-groups "$superstep" --version >/dev/null 2>&1; then
    as_nobody >"$tmp/answer"
    right "$tmp/answer" "an entry that may only be read"
    grep -q '^cache.*reused' "$tmp/messages" || fail "an entry that may only be read: it compiles"
    chmod u+w "$SUPERSTEP_CACHE"
    rm -f "$entry"
    chmod u-w "$SUPERSTEP_CACHE"
    as_nobody >"$tmp/answer"
    right "$tmp/answer" "an empty folder that may only be read"
    quiet 1 "an empty folder that may only be read"
fi
chmod -R u+w "$SUPERSTEP_CACHE"
SUPERSTEP_CACHE=/dev/null run >"$tmp/answer"
right "$tmp/answer" "a folder that is none"
quiet 1 "a folder that is none"

echo "other machines"
run >/dev/null
for set in clock_mhz=1000 sync_host_cycles=77 host_link_mbytes_per_s=1000 sup_runall_cycles=9; do
    run --host --set $set --no-cache >"$tmp/compiled"
    run --host --set $set >"$tmp/answer"
    cmp -s "$tmp/compiled" "$tmp/answer" || fail "$set: another answer"
    grep -q '^cache.*reused' "$tmp/messages" || fail "$set compiles"
done
for set in sync_chip_cycles=99 mem_bytes=500Ki; do
    run --set $set --no-cache >"$tmp/compiled"
    run --set $set >"$tmp/answer"
    cmp -s "$tmp/compiled" "$tmp/answer" || fail "$set: another answer"
    grep -q '^cache.*reused' "$tmp/messages" && fail "$set does not compile"
done

echo "a bounded cache"
for seed in 1 2 3; do SUPERSTEP_CACHE_MB=40 run --seed $seed >/dev/null; done
[ "$("$superstep" cache --json | jq '.bytes <= 40000000 and (.entries | length) >= 1')" = true ] || fail "more than the limit"
finish
