#!/bin/bash
# How streams end: resumed at any byte and after any interrupt the results are those of one run; full disks, closed pipes, SIGINT at any
# time, directories of bad files, a million names.
#
#   SUPERSTEP=FILE  the program (default: build/superstep, built first)
. "$(dirname "$0")/common.sh"
build
NET="efficientnet-b0 --resolution 32 --no-calibration --set tiles=128 --quiet --threads 1 --io-tiles 6"
S=$superstep D=$tmp
stream() { "$S" stream $NET --json "$@" > "$D/out" 2> "$D/err"; }
# Everything after a failure hangs on what failed.
fail() { echo "FAILED: $1"; head -n 3 "$D/err"; exit 1; }
is() { [ "$1" -eq "$2" ] || fail "$3: exit status $1, expected $2"; }
# answers CONDITION WHAT: the answer of the last stream
answers() { holds "$D/out" "$1" || fail "$2: not $1"; }
now() { date +%s; }
# interrupt SECONDS ARGUMENTS...: SIGINT after so long
interrupt() {
    after=$1
    shift
    timeout -k 30 --preserve-status -s INT "$after" "$S" stream --json "$@" > "$D/out" 2> "$D/err"
}

mkdir "$D/p" "$D/q"
for k in 0 1 2 3 4 5; do cp models/pictures/cat.jpg "$D/p/$k.jpg"; done
cp models/pictures/landscape.png "$D/p/35.png"
cp "$D/p/1.jpg" "$D/p/2.jpg" "$D/p/3.jpg" "$D/q"

# ---- resume

for e in csv jsonl; do
    stream "$D/p" -o "$D/all.$e" || fail "$e"
    bytes=$(stat -c %s "$D/all.$e")
    for cut in 0 1 40 88 89 100 300 500 $((bytes - 1)); do
        head -c "$cut" "$D/all.$e" > "$D/cut.$e"
        stream "$D/p" -o "$D/cut.$e" --resume || fail "$e cut at byte $cut"
        cmp -s "$D/cut.$e" "$D/all.$e" || fail "$e cut at byte $cut is another file"
    done
    stream "$D/p" -o "$D/cut.$e" --resume || fail "nothing left to do"
    answers '.pictures == 0' "nothing left to do"
    cmp -s "$D/cut.$e" "$D/all.$e" || fail "nothing left to do"
    head -c 550 "$D/all.$e" > "$D/cut.$e"
    cp "$D/cut.$e" "$D/before.$e"
    stream "$D/q" -o "$D/cut.$e" --resume; is $? 2 "other pictures"
    stream "$D/q/1.jpg" -o "$D/cut.$e" --resume; is $? 2 "fewer pictures"
    cmp -s "$D/cut.$e" "$D/before.$e" || fail "a refused resume has changed the file"
    stream "$D/p" -o "$D/limit.$e" --limit 2 || fail "limit"
    stream "$D/p" -o "$D/limit.$e" --limit 7 --resume || fail "limit"
    cmp -s "$D/limit.$e" "$D/all.$e" || fail "a limit does not count what was there"
done

k=0
while [ $k -lt 20 ]; do echo "$D/p/0.jpg"; echo "$D/p/35.png"; k=$((k + 1)); done > "$D/list"
for e in csv jsonl; do
    stream "@$D/list" -o "$D/all.$e" || fail "a list"
    interrupts=0 tenths=10 status=3
    while [ $status = 3 ]; do
        interrupt $((tenths / 10)).$((tenths % 10)) $NET "@$D/list" -o "$D/parts.$e" --resume
        status=$?
        # No answer: before the first picture.
        [ $status != 3 ] || [ ! -s "$D/out" ] || answers '.interrupted' "a part"
        interrupts=$((interrupts + 1)) tenths=$((tenths + 2))
    done
    is $status 0 "the last part"
    [ $interrupts -gt 2 ] && cmp -s "$D/parts.$e" "$D/all.$e" || fail "$interrupts parts are not the whole"
    echo "ok: resume, $e, the last time in $interrupts parts"
done

# ---- disks and pipes

# full LIMIT-IN-KIB FORMAT: goes on with a file of results for which there is nearly no room any more
full() {
    stream "$D/p/0.jpg" -o "$D/one.$2" || fail "one picture"
    awk -v most=$(($1 * 1024 - 500)) -v e="$2" '
        e == "csv" && NR == 1 { print; bytes = length($0) + 1; next }
        { for (i = 0; ; i++) {
              line = $0
              if (e == "csv") sub(/,0,/, "," i ",", line); else sub(/"index": 0,/, "\"index\": " i ",", line)
              bytes += length(line) + 1
              if (bytes > most) exit
              print line } }' "$D/one.$2" > "$D/full.$2"
    before=$(wc -l < "$D/full.$2")
    k=0
    while [ $k -lt $((before + 20)) ]; do echo "$D/p/0.jpg"; k=$((k + 1)); done > "$D/many"
    (ulimit -f "$1" && stream "@$D/many" -o "$D/full.$2" --resume); is $? 3 "a full disk"
    [ "$(wc -l < "$D/full.$2")" -gt "$before" ] && [ -z "$(tail -c 1 "$D/full.$2" | tr -d '\n')" ] || fail "a full disk"
    answers ".pictures > 0 and .pictures < 20 and (.interrupted | not)" "a full disk"
    echo "ok: a disk that gets full, $2: $before and $(($(wc -l < "$D/full.$2") - before)) lines"
}
full 1024 csv
full 1024 jsonl
for e in csv jsonl; do
    ln -s /dev/full "$D/none.$e"
    stream "$D/p" -o "$D/none.$e"; is $? 2 "a disk that is full"
done
("$S" stream $NET "@$D/list" -o - 2> "$D/err"; echo $? > "$D/status") | head -n 4 > "$D/out"
is "$(cat "$D/status")" 3 "a pipe that closes"
[ "$(wc -l < "$D/out")" = 4 ] || fail "a pipe that closes"
stream "$D/p" -o "$D/file.csv"
"$S" stream $NET "$D/p" -o "$D/closed.csv" >&- 2> "$D/err"; is $? 2 "no stdout"
cmp -s "$D/closed.csv" "$D/file.csv" || fail "the answer is among the results"
stream "$D/p" -o -; is $? 0 "results on stdout"; holds "$D/err" '.digest' || fail "no answer on stderr"
cmp -s "$D/out" "$D/file.csv" || fail "there are other things on stdout than results"
echo "ok: pipes"

# ---- SIGINT

echo old > "$D/old.csv"
begun=$(now)
interrupt 1 efficientnet-b4 --no-calibration --threads 1 -o "$D/old.csv"; is $? 3 "SIGINT while compiling"
[ "$(cat "$D/old.csv")" = old ] && [ $(($(now) - begun)) -le 3 ] || fail "SIGINT while compiling"

mkfifo "$D/names"
exec 9<> "$D/names" # stays open
begun=$(now)
interrupt 4 $NET - -o "$D/wait.csv" < "$D/names"; is $? 3 "SIGINT before there are names"
answers '.interrupted and .pictures == 0' "SIGINT before there are names"
cat "$D/p/0.jpg" > "$D/0.jpg"
for k in 0 1 2 3 4 5 6 7 8; do echo "$D/0.jpg" >&9; done
interrupt 5 $NET - -o "$D/wait.csv" < "$D/names"; is $? 3 "SIGINT while waiting for names"
[ $(($(now) - begun)) -le 12 ] && [ "$(wc -l < "$D/wait.csv")" -ge 3 ] || fail "SIGINT while waiting for names"
exec 9>&-

rm -f "$D/two.csv"
env --default-signal=INT "$S" stream efficientnet-b0 --no-calibration --quiet --threads 1 --batch 8 --limit 400 -o "$D/two.csv" \
    > "$D/out" 2> "$D/err" &
process=$!
until [ -f "$D/two.csv" ] && [ "$(wc -l < "$D/two.csv")" -gt 1 ]; do sleep 0.2; kill -0 $process || fail "two SIGINT"; done
kill -INT $process; sleep 0.3; kill -INT $process
begun=$(now)
wait $process; is $? 130 "a second SIGINT"
[ $(($(now) - begun)) -le 1 ] && [ "$(wc -l < "$D/two.csv")" = 9 ] || fail "a second SIGINT"
echo "ok: SIGINT"

# ---- bad files

mkdir "$D/bad" "$D/bad/02.jpg" "$D/bad/12"
cp models/pictures/cat.jpg "$D/bad/00.jpg"
mkfifo "$D/bad/01.jpg"
cp models/pictures/cat.jpg "$D/bad/02.jpg/in.jpg"
ln -s nowhere "$D/bad/03.jpg"
: > "$D/bad/04.jpg"
head -c 2000 models/pictures/cat.jpg > "$D/bad/05.jpg"
truncate -s 5G "$D/bad/06.jpg"
truncate -s 200M "$D/bad/07.jpg"
ln -s . "$D/bad/08"
ln -s /dev/zero "$D/bad/09.jpg"
# 60,000 x 60,000 pixels, says the header, and there is nothing more.
printf '\211PNG\r\n\032\n\0\0\0\rIHDR\0\0\352\140\0\0\352\140\010\002\0\0\0\017\260\342\025' > "$D/bad/10.png"
cp models/pictures/cat.jpg "$D/bad/11.jpg"
cp models/pictures/cat.jpg "$D/bad/12/in.jpg"
chmod 0 "$D/bad/11.jpg" "$D/bad/12"
cp models/pictures/landscape.png "$D/bad/13.PNG"
echo text > "$D/bad/notes.txt"
chmod 755 "$D"
as=
[ "$(id -u)" = 0 ] && as="setpriv --reuid=65534 --regid=65534 --clear-groups" # root may read everything
$as "$S" machines > /dev/null 2>&1 || fail "cannot run as another user"
$as "$S" stream $NET "$D/bad" --json -o - > "$D/results" 2> "$D/err"; is $? 3 "bad files"
# stderr: a line for each bad file, indented, in order; then the answer.
named=$(sed -n "s,^  $D/bad/\\([^:]*\\): ..*,\\1,p" "$D/err" | tr '\n' ' ')
[ "$named" = "01.jpg 03.jpg 04.jpg 05.jpg 06.jpg 07.jpg 08/ 09.jpg 10.png 11.jpg 12/ " ] || fail "other bad files: $named"
sed -n '/^{/,$p' "$D/err" > "$D/out"
answers '.files == { "good": 3, "bad": 11, "other": 1 }' "bad files"
[ "$(cut -d, -f2 "$D/results" | tr '\n' ' ')" = "index 0 2 13 " ] || fail "good files among bad ones"
echo "ok: bad files"

# ---- a million names

# kib FILE ARGUMENTS...: memory of the process, at most
kib() { /usr/bin/time -f %M -o "$D/kib" "$S" stream $NET --json "$@" > "$D/out" 2> "$D/err"; is $? 3 "many names"; tail -n 1 "$D/kib"; }
if [ -x /usr/bin/time ]; then
    awk -v d="$D" 'BEGIN { for (i = 0; i < 1000000; i++) print i % 100000 ? d "/none/" i ".jpg" : d "/p/0.jpg" }' > "$D/million"
    head -n 10 "$D/million" > "$D/ten"
    few=$(kib "@$D/ten" -o "$D/few.csv") || { echo "$few"; exit 1; }
    many=$(kib "@$D/million" -o "$D/many.csv") || { echo "$many"; exit 1; }
    [ "$(wc -l < "$D/many.csv")" = 11 ] && holds "$D/out" '.files.bad == 999990' || fail "a million names"
    [ "$many" -lt $((few + 16384)) ] || fail "$many KiB for a million names, $few for ten"
    echo "ok: a million names, $many KiB; ten, $few"
fi
