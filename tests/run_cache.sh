#!/bin/bash
# run_cache.sh SUPERSTEP: compiled networks in the cache: answers are those of no cache, whatever happened to the cache before. The long
# form is tests/long/cache.sh.
program=$1
tmp=$(mktemp -d) || exit 2
trap 'chmod -R u+w "$tmp"; rm -rf "$tmp"' EXIT
export SUPERSTEP_CACHE=$tmp/cache
network=(efficientnet-b0 --resolution 32 --no-calibration --set tiles=128)
passed=0 failed=0

# check WORDS CONDITION...: counts whether a command succeeds.
check() {
    if "${@:2}"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $1"
        head -n 5 "$tmp/messages"
    fi
}

# run COMMAND OPTIONS...: of the network; the answer and the messages are left in $tmp.
run() { "$program" "$1" "${network[@]}" "${@:2}" >"$tmp/answer" 2>"$tmp/messages"; }
reused() { grep -q '^cache.* reused' "$tmp/messages"; }
compiled() { grep -q '^emit' "$tmp/messages"; }
same() { cmp -s "$tmp/$1" "$tmp/$2"; }
# entries N: so many networks, any schedules, g and l of the machine, and nothing else
entries() { [ "$(files | grep -c '\.network$')" -eq "$1" ] && ! files | grep -qv '\.\(network\|schedule\|bsp\)$'; }
files() { find "$SUPERSTEP_CACHE" -type f; }
silent() { [ ! -s "$tmp/messages" ]; }

everything=(--report --plan)
run run "${everything[@]}" --no-cache --digests "$tmp/digests" --chart "$tmp/chart" -o "$tmp/image"
mv "$tmp/answer" "$tmp/plain"
check "--no-cache compiles" compiled
check "--no-cache keeps nothing" [ ! -e "$SUPERSTEP_CACHE" ]
run run "${everything[@]}"
check "the first run compiles" compiled
check "the first run gives the answer" same plain answer
check "the first run keeps one entry" entries 1
check "the first run keeps schedules" [ "$(files | grep -c '\.schedule$')" -gt 10 ]
cp "$SUPERSTEP_CACHE"/*.network "$tmp/entry"
entry=$(echo "$SUPERSTEP_CACHE"/*.network)
run run "${everything[@]}" --digests "$tmp/digests2" --chart "$tmp/chart2" -o "$tmp/image2"
check "the second run does not compile" reused
check "the second run gives the same answer" same plain answer
check "the second run writes the same digests" same digests digests2
check "the second run draws the same chart" same chart chart2
check "the second run writes the same image" same image image2
run compile -o "$tmp/image3"
check "compile takes it, too" reused
check "compile writes the same image with other pictures" same image image3
run run --image models/pictures/landscape.png
check "other pictures do not compile" reused
run run --logits "$tmp/logits"
check "--logits compiles" compiled

# machines: the second number is what the compiler reads
run run --set clock_mhz=1000 --set host_latency_ns=3 --json --host --no-cache
mv "$tmp/answer" "$tmp/plain2"
run run --set clock_mhz=1000 --set host_latency_ns=3 --json --host
check "another clock does not compile" reused
check "another clock gives the right answer" same plain2 answer
run run --set sync_chip_cycles=77
check "another sync compiles" compiled

# schedules: where they depend on nothing that differs they were made before, and give the same image
run compile --set mem_bytes=671744 --no-cache -o "$tmp/image"
check "--no-cache takes no schedules" grep -q '^exchange .* 0 made before' "$tmp/messages"
schedule=$(files | grep '\.schedule$' | head -n 1)
printf '\xa5\x5a\xa5' | dd of="$schedule" bs=1 seek=1200 conv=notrunc status=none
run compile --set mem_bytes=671744 -o "$tmp/image2"
check "other memory: schedules were made before" grep -q '^exchange .* [1-9][0-9]* made before' "$tmp/messages"
check "other memory, damaged schedule: the same image" same image image2

# the timing engine needs no parameters: what it compiles is no use to others, and theirs is to it
run run --json --engine timing --no-cache
mv "$tmp/answer" "$tmp/timing"
check "timing: no parameters are made" grep -q '^weights .* none, cycles do not depend on them' "$tmp/messages"
run run --json --seed 8 --engine timing
check "timing: compiles" compiled
check "timing: the same answer" same timing answer
run run --json --seed 9 --engine timing
check "timing: parameters that nobody needs do not compile again" reused
check "timing: the same answer from the cache" same timing answer
run run --json --seed 9
check "values: do not take a network without parameters" compiled
number() { grep -o "\"$1\": *[0-9]*" "$2"; }
check "values: the cycles that timing had" [ "$(number cycles "$tmp/answer")" = "$(number cycles "$tmp/timing")" ]
run run --json --seed 9 --engine timing
check "timing: takes a network with parameters" reused
"$program" cache --clear >/dev/null
run run "${everything[@]}"
check "after that: the same answer" same plain answer

# ONNX files: what they hold and what is asked of them counts, not where they are
file=$tmp/net.onnx
"$program" models efficientnet-b0 --resolution 32 -o "$file" >/dev/null 2>"$tmp/messages"
run_file() { "$program" run "$file" --outputs block1a.project.norm --set tiles=128 "$@" >"$tmp/answer" 2>"$tmp/messages"; }
run_file --json --no-cache --save "$tmp/scores.npy"
mv "$tmp/answer" "$tmp/file_plain"
run_file --json
check "a file: the first run compiles" compiled
check "a file: the first run gives the answer" same file_plain answer
run_file --json --save "$tmp/scores2.npy" -o "$tmp/file_image"
check "a file: the second run does not compile" reused
check "a file: the second run gives the same answer" same file_plain answer
check "a file: the second run saves the same outputs" same scores.npy scores2.npy
run_file --json -o "$tmp/file_image2" --no-cache
check "a file: the second run writes the same image" same file_image file_image2
run_file --engine timing --json
check "a file: timing takes it, too" reused
run_file --precision f32
check "a file: another precision compiles" compiled
run_file --outputs block1a.dw.act
check "a file: other outputs compile" compiled
cp "$file" "$tmp/other.onnx"
file=$tmp/other.onnx
run_file --image models/pictures/landscape.png
check "a file: a copy does not compile" reused
printf '\x01' | dd of="$file" bs=1 seek=$(($(wc -c <"$file") / 2)) conv=notrunc status=none
run_file
check "a file: another byte in its weights compiles" compiled
"$program" cache >"$tmp/answer" 2>"$tmp/messages"
check "a file: cache lists it" grep -q 'net.onnx, on mk2 with tiles=128, parameters of the file' "$tmp/answer"
"$program" cache --clear >/dev/null
run run "${everything[@]}"
check "after the files: the same answer" same plain answer

# damage
for at in 9999; do # tests/emu/test_disk_cache.c damages every byte of an entry
    cp "$tmp/entry" "$entry"
    printf '\xa5\x5a\xa5' | dd of="$entry" bs=1 seek=$at conv=notrunc status=none
    run run "${everything[@]}" -q
    check "damaged at $at: the same answer" same plain answer
    check "damaged at $at: no message" silent
    check "damaged at $at: replaced" cmp -s "$entry" "$tmp/entry"
done

# what cannot be written
rm -f "$entry"
(ulimit -f 1000 && run run "${everything[@]}")
check "a full disk: the same answer" same plain answer
check "a full disk: one message" [ "$(grep -c 'not kept' "$tmp/messages")" -eq 1 ]
check "a full disk: nothing is left" [ ! -e "$entry" ]
SUPERSTEP_CACHE=/dev/null/x run run "${everything[@]}"
check "no folder: the same answer" same plain answer
check "no folder: one message" [ "$(grep -c 'not kept' "$tmp/messages")" -eq 1 ]

# kill -9 while it writes, and one that finds what is left
"$program" cache --clear >/dev/null
"$program" run "${network[@]}" -q >/dev/null 2>&1 &
pid=$!
for ((i = 0; i < 3000; i++)); do
    ls "$SUPERSTEP_CACHE"/*.tmp >/dev/null 2>&1 && break
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.01
done
kill -9 "$pid" 2>/dev/null
wait "$pid" 2>/dev/null
run run "${everything[@]}"
check "after kill -9: the same answer" same plain answer
run run --seed 3
check "other parameters compile" compiled
check "after kill -9: two entries, nothing else" entries 2

# streams and steps of training: found by their graph, which the host's numbers are no part of
stream() { "$program" stream "${network[@]}" --limit 3 "$@" >"$tmp/answer" 2>"$tmp/messages"; }
stream --no-cache
mv "$tmp/answer" "$tmp/plain"
check "a stream without the cache compiles" compiled
stream
check "the first stream compiles" compiled
check "the first stream gives the answer" same plain answer
stream
check "the second stream does not compile" reused
check "the second stream gives the same answer" same plain answer
stream --prefetch 1
check "another loop compiles" compiled
stream --seed 2
check "other parameters in the code compile" compiled

step=(train efficientnet-b0-g16 --resolution 32 --classes 10 --batch 2 --engine timing --try-for 0)
train() { "$program" "${step[@]}" "$@" 2>"$tmp/messages" | sed 's/; host: .*//' >"$tmp/answer"; }
train --set tiles=200
mv "$tmp/answer" "$tmp/plain"
check "the first training compiles" compiled
train --set tiles=200 --rate 0.5 --seed 3
check "a training at another rate and with other numbers does not compile" reused
train --set tiles=200
check "the second training gives the same answer" same plain answer
attempts() { grep -c '^graph' "$tmp/messages"; }
train --set tiles=64 --io-tiles 4
mv "$tmp/answer" "$tmp/plain"
check "a step that does not fit is tried twice" [ "$(attempts)" -eq 2 ]
train --set tiles=64 --io-tiles 4
check "that the first one does not fit is known then" [ "$(attempts)" -eq 1 ]
check "what does not fit gives the same answer" same plain answer

# the command
"$program" cache >"$tmp/answer" 2>"$tmp/messages"
check "cache lists" grep -q 'efficientnet-b0, 32x32, batch 1, on mk2 with tiles=128, seed 3' "$tmp/answer"
check "cache lists schedules on one line" [ "$(grep -c ' schedule  *of ' "$tmp/answer")" -eq 1 ]
count=$(files | wc -l)
"$program" cache --cache "$SUPERSTEP_CACHE" --clear >"$tmp/answer" 2>"$tmp/messages"
check "cache --clear says what went" grep -q "removed $count entries" "$tmp/answer"
check "cache --clear removes" entries 0

echo "$passed checks of the cache passed, $failed failed"
[ $failed -eq 0 ]
