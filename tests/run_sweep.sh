#!/bin/bash
# run_sweep.sh SUPERSTEP [SUPERSTEP-MPI]: sweeps give what single runs give; killed, continued, with dead workers, and under mpirun they give
# the same file; what cannot be swept is refused before anything runs. The long form is tests/long/sweep.sh.
program=$1 mpi=$2
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
export SUPERSTEP_CACHE=
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

sweep() { "$program" sweep "$@" >"$tmp/answer" 2>"$tmp/messages"; }
points() { "$program" report "$1" --csv points; "$program" report "$1" --csv bytes; }
same() { cmp -s "$tmp/$1" "$tmp/$2"; }
value() { "$program" report "$tmp/$1" --json | jq -r "$2"; }
equals() { [ "$1" = "$2" ]; }
# refuse WORDS ARGUMENTS...: ends with status 2, says WORDS on one line, and leaves no file.
refuse() {
    sweep "${@:2}" -o "$tmp/refused.db"
    check "refused: $1 (${*:2})" [ $? -eq 2 -a ! -e "$tmp/refused.db" ]
    check "says: $1" grep -qF -- "$1" "$tmp/messages"
}

# ---- values

small=(matmul -m toy16 -q --vary n=32,64 --vary sup_putcs_cycles=1,3 --vary clock_mhz=1000,1330 -D m=96 -D k=128)
sweep "${small[@]}" -o "$tmp/a.db" -j 1
check "a small sweep ends well" [ $? -eq 0 ]
check "its last screen is a table" grep -q '^Fewest cycles of an input: .* n=32 sup_putcs_cycles=1' "$tmp/answer"
check "8 points" equals "$(value a.db '.points | length')" 8
check "2 images" equals "$(value a.db '[.work[] | select(.stage == "compile")][0].times')" 2
check "4 runs" equals "$(value a.db '[.work[] | select(.stage == "run")][0].times')" 4
for n in 32 64; do
    for putcs in 1 3; do
        want=$("$program" run matmul -m toy16 -q -D n=$n -D m=96 -D k=128 --set sup_putcs_cycles=$putcs --engine timing --json | jq .cycles)
        got=$(value a.db "[.points[] | select(.n == \"$n\" and .sup_putcs_cycles == \"$putcs\").cycles] | unique | join(\",\")")
        check "n=$n sup_putcs_cycles=$putcs: $got cycles, run has $want" equals "$got" "$want"
    done
done
check "seconds follow the clock" equals "$(value a.db '[.points[] | (.seconds * .machine_clock_mhz * 1e6 - .cycles) | fabs] | max < 0.5')" true
sweep "${small[@]}" -o "$tmp/b.db" -j 3 --engine values
points "$tmp/a.db" >"$tmp/a.csv"
points "$tmp/b.db" >"$tmp/b.csv"
sed 's/,timing,/,values,/' "$tmp/a.csv" >"$tmp/renamed.csv"
check "the values engine has the same points" same renamed.csv b.csv
check "each says which engine ran" equals "$(value a.db '[.points[].engine] | unique | join(" ")') $(value b.db '[.points[].engine] | unique | join(" ")')" "timing values"
check "parameters that are not varied are columns" grep -q ' n  *sup_putcs_cycles  *clock_mhz  *m  *k ' "$tmp/answer"
printf 'n,clock_mhz\n32,1000\n64,1330\n' >"$tmp/points.csv"
sweep matmul -m toy16 -q -D m=96 -D k=128 --points "$tmp/points.csv" -o "$tmp/f.db"
check "points of a file" equals "$(value f.db '[.points[] | .n + "@" + .clock_mhz] | join(" ")')" "32@1000 64@1330"
"$program" report "$tmp/a.db" --html "$tmp/page.html"
check "a page" grep -q '"what":"matmul"' "$tmp/page.html"
"$program" report "$tmp/a.db" >"$tmp/again"
sweep "${small[@]}" -o "$tmp/a.db"
check "a sweep that is done is printed again" same answer again

sweep stencil -m toy64 -q --check --engine values -D steps=2 -D width=34 --vary rows=3,4 -o "$tmp/check.db"
check "what --check finds is a result" equals "$(value check.db '[.points[] | .status] | join(",")')" "found,ok"
check "that says how much" equals "$(value check.db '.points[0].message | test("^--check: [1-9][0-9]* findings;")')" true
refuse "--check needs values, and a sweep has them with --engine values only" stencil --check --vary rows=3,4
refuse "--ranges does nothing here: a sweep keeps cycles and memory" efficientnet-b0 --ranges --vary batch=1,2

# ---- memory: more never fits less, and what does not fit is a result

sweep efficientnet-b0 --resolution 32 -q --set tiles=128 --vary sram=96K,240K,624K -o "$tmp/m.db"
check "a sweep of a network ends well" [ $? -eq 0 ]
check "more memory never fits less" equals "$(value m.db '[.points[] | .status] | join(" ")' | sed 's/^\(no memory \)*\(ok \?\)*$/right/')" right
check "some do not fit" equals "$(value m.db '[.points[] | select(.status == "no memory" and .need_bytes > .mem_bytes)] | length > 0')" true
check "some fit" equals "$(value m.db '[.points[] | select(.status == "ok" and .need_bytes <= .mem_bytes and .cycles > 0)] | length > 0')" true

# ---- one question: what is not varied is the same at all points, and a column; the program that the timing engine cannot run says so

sweep matmul -q --vary tiles=16,64 --vary n=32,64 -D m=64 -o "$tmp/q.db"
check "k is the default of the machine that nothing is varied of" equals "$(value q.db '[.points[] | .m + " " + .k] | unique | join(",")')" "64 1024"
check "k is a column of the CSV" grep -q '^point,tiles,n,m,k,' <("$program" report "$tmp/q.db" --csv points)
check "and of the database" equals "$(value q.db '[.axes[] | select(.kind == "fixed").axis] | join(" ")')" "m k"
check "the help says what a default hangs on" grep -q 'm: .*(default 1024 on mk2, less on machines with less memory, 1 to 8192)' <("$program" sweep matmul --help | tr -s '\n ' ' ')
check "and what it is on another machine" grep -q 'm: .*(default [0-9]* on toy16, ' <("$program" sweep matmul -m toy16 --help | tr -s '\n ' ' ')
"$program" report "$tmp/q.db" --html "$tmp/q.html"
check "and of the page" grep -q '"kind":"fixed"' "$tmp/q.html"

# ---- several chips: manifests and images; each point is what a single run says, and one that cannot be keeps no other from being done

chips=(pingpong -q --vary chips=1,2,4 --vary link_latency_ns=0,500 --vary clock_mhz=1000,1850 -D WORDS=100 -D ROUNDS=2)
sweep "${chips[@]}" -o "$tmp/c.db"
check "a sweep over chips ends well" [ $? -eq 0 ]
check "what needs two chips is refused with one" equals "$(value c.db '[.points[] | .chips + " " + .status] | unique | join(",")')" "1 refused,2 ok,4 ok"
check "with the reason" equals "$(value c.db '.points[0].message | test("needs a machine with at least 2 chips, toy64 has 1")')" true
check "links run in ns: the clock changes cycles" equals "$(value c.db '[.points[] | select(.status == "ok" and .link_latency_ns == "500").cycles] | unique | length')" 2
for n in 2 4; do
    for set in "link_latency_ns=0 --set clock_mhz=1000" "link_latency_ns=500 --set clock_mhz=1850"; do
        latency=${set%% *} clock=${set##*=}
        # shellcheck disable=SC2086 # two options
        want=$("$program" run pingpong -q --chips $n -D WORDS=100 -D ROUNDS=2 --set $set --json | jq -r '"\(.cycles) \(.words_received)"')
        got=$(value c.db ".points[] | select(.chips == \"$n\" and .link_latency_ns == \"${latency#*=}\" and .clock_mhz == \"$clock\") | \"\(.cycles) \(.words)\"")
        check "$n chips, $set: $got, run has $want" equals "$got" "$want"
    done
done
check "parts add up, link and outer too" equals "$(value c.db '[.points[] | select(.status == "ok") | .cycles - .exchange - .link - .compute - .wait - .sync - .outer] | unique | join(",")')" 0
check "and are columns" equals "$(value c.db '[.points[] | select(.status == "ok") | .link > 0 and .outer > 0] | unique | join(",")')" true
check "of the CSV" grep -q '^point,chips,.*,machine_chips,.*,exchange,link,compute,.*,sync,outer,' <("$program" report "$tmp/c.db" --csv points)
check "parameters of a manifest are columns, too" equals "$(value c.db '[.axes[] | select(.kind == "fixed") | .axis + " " + .value] | join(",")')" "WORDS 100,ROUNDS 2,PLAYERS 1,OTHER 1"
check "what follows from others is none" equals "$(sweep halo -q --vary chips=2,4 -D LOG=1 -o "$tmp/h.db" && value h.db '[.points[] | .status, has("AWAY"), .LOG] | join(",")')" "ok,false,1,ok,false,1"
check "chips are built, too" equals "$(value h.db '[.points[] | .machine_chips] | join(",")') $("$program" report "$tmp/h.db" | grep -c '^Least SRAM built.*: chips=2')" "2,4 1"
"$program" report "$tmp/c.db" --html "$tmp/c.html"
check "the page has the parts" grep -q '"link":' "$tmp/c.html"
"$program" compile pingpong -q -D WORDS=100 -D ROUNDS=2 -o "$tmp/c.img" >"$tmp/answer"
sweep "$tmp/c.img" -q --vary link_latency_ns=0,500 -o "$tmp/i.db"
check "an image runs on other links" equals "$(value i.db '[.points[].cycles] | join(",")')" \
    "$(for l in 0 500; do "$program" run pingpong -q -D WORDS=100 -D ROUNDS=2 --set link_latency_ns=$l --json | jq .cycles; done | paste -sd,)"
sweep pingpong -q --max-cycles 20000 --vary link_latency_ns=0,5000 -o "$tmp/l.db"
check "a limit is a result" equals "$(value l.db '[.points[].status] | join(",")')" "ok,fault"
cp programs/lab/pingpong.S "$tmp"
jq '.expect[0].u32_per_tile = "7"' programs/lab/pingpong.bsp.json >"$tmp/pingpong.bsp.json"
sweep "$tmp/pingpong.bsp.json" -q --vary WORDS=3,4 -o "$tmp/u.db"
check "so is what a manifest does not expect" equals "$(value u.db '[.points[] | .status] | join(",")') $(value u.db '.points[0].message | test("^3 of 3 expectations are not met")')" "failed,failed true"
echo "// changed" >>"$tmp/pingpong.S"
sweep "$tmp/pingpong.bsp.json" -q --vary WORDS=3,4 -o "$tmp/u.db"
check "a source that has changed is another sweep" grep -q 'the contents of pingpong.S' "$tmp/messages"

# ---- refused before anything runs

refuse "nearest: 240K or 256K" efficientnet-b0 --vary sram=256K,250K
refuse "nearest: tiles 734 or 736" efficientnet-b0 --vary tiles=735
refuse "the instruction set fixes it" efficientnet-b0 --vary exchange_bytes=4,8
refuse "only runs of several chips read it" efficientnet-b0 --vary links_up=1,2
refuse "only streams between host and chip read it" matmul --vary host_latency_ns=1,2
refuse "what is swept runs on one chip" matmul --vary chips=1,2
refuse "did you mean 'tiles'" matmul --vary tils=4,8
refuse "given twice" matmul --vary tiles=4,4
refuse "varied twice" matmul --vary tiles=4,8 --vary tiles=4,8
refuse "m: '0' is not a number from 1" matmul --vary m=0
refuse "batch=0: --batch: '0' is not a number" efficientnet-b0 --vary batch=1,0
refuse "machine mk1 has ipu1" efficientnet-b0 --vary machine=mk2,mk1
refuse "nothing is varied" matmul
refuse "what is swept runs on one chip" ring --vary chips=1,2
refuse "only runs of several chips read it" ring --vary links_up=1,2
refuse "and no point has several" pingpong --vary chips=1 --vary links_up=1,2
refuse "only streams between host and chip read it" pingpong --vary host_latency_ns=1,2
refuse "the image was made for one value of it" "$tmp/c.img" --vary tiles=4,8
refuse "the image is for 2" "$tmp/c.img" --vary chips=2,4
refuse "--machine does nothing for an image" "$tmp/c.img" -m mk2 --vary link_latency_ns=1,2
refuse "has no parameter of that name" pingpong -D WORD=3 --vary chips=2,4
refuse "chips=two: --chips" pingpong --vary chips=two
refuse "no network, no program" rung --vary tiles=4
refuse "source files are not swept" programs/lab/ring.S --vary tiles=4
refuse "--resolution does nothing for a program" matmul --resolution 3 --vary tiles=4
sweep matmul --vary tiles=4
check "without a file it is refused" grep -q 'o FILE.db' "$tmp/messages"

# ---- one file, one sweep

sweep "${small[@]}" -D m=97 -o "$tmp/a.db"
check "another parameter is refused" [ $? -eq 2 ]
check "by name" grep -q 'the parameter m 96, not 97' "$tmp/messages"
sweep "${small[@]}" --vary tiles=8,16 -o "$tmp/a.db"
check "another axis is refused by name" grep -q -- '--vary tiles' "$tmp/messages"
points "$tmp/a.db" >"$tmp/a2.csv"
check "the file stays as it was" same a.csv a2.csv
echo "no database" >"$tmp/text.db"
sweep "${small[@]}" -o "$tmp/text.db"
check "what is no database stays" equals "$(cat "$tmp/text.db")" "no database"

# ---- killed, and continued

many=(matmul -m toy64 -q -D m=64 -D k=96 --vary n=32,48,64,80,96,112,128,144 --vary sync_chip_cycles=60,90,120,150)
sweep "${many[@]}" -o "$tmp/whole.db" -j 2
points "$tmp/whole.db" >"$tmp/whole.csv"
# done_points FILE: how many a file has while it is written
done_points() { "$program" report "$1" --csv points 2>/dev/null | tail -n +2 | wc -l; }
# kill_at FILE POINTS COMMAND...: kills it with -9 when so many points are done
kill_at() {
    "${@:3}" >/dev/null 2>"$tmp/messages" &
    local pid=$!
    while kill -0 $pid 2>/dev/null && [ "$(done_points "$1")" -lt "$2" ]; do sleep 0.02; done
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
}
for at in 1 8 16; do
    kill_at "$tmp/killed.db" $at "$program" sweep "${many[@]}" -o "$tmp/killed.db" -j 2
done
check "what was done is kept" [ "$(done_points "$tmp/killed.db")" -ge 16 ]
sweep "${many[@]}" -o "$tmp/killed.db" -j 2
points "$tmp/killed.db" >"$tmp/killed.csv"
check "killed three times, the same points" same whole.csv killed.csv

"$program" sweep "${many[@]}" -o "$tmp/worker.db" -j 2 >/dev/null 2>"$tmp/messages" &
pid=$!
until [ "$(done_points "$tmp/worker.db")" -ge 1 ] || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
sweep "${many[@]}" -o "$tmp/worker.db"
check "a file that is written is locked" [ $? -eq 2 ]
kill -9 "$(pgrep -P $pid | head -n 1)"
wait $pid
check "a sweep with a dead worker ends well" [ $? -eq 0 ]
points "$tmp/worker.db" >"$tmp/worker.csv"
check "a dead worker's points are done by others" same whole.csv worker.csv

# A point for which the host has no memory keeps none of the others from being done.
(ulimit -v 500000 && sweep efficientnet-b0 --resolution 32 --set tiles=128 -q --vary batch=1024,1 -j 1 -o "$tmp/host.db")
check "a sweep with a point that is too large for the host ends" [ $? -eq 3 ]
check "says why" grep -q 'batch=1024: .*out of host memory.*: given up' "$tmp/messages"
check "the point after it is there" equals "$(value host.db '[.points[] | .batch + " " + .status] | join(",")')" "1 ok"

# ---- many machines

if [ -n "$mpi" ]; then
    # ranks OPTIONS... -- ARGUMENTS...: under mpirun
    run=(mpirun --allow-run-as-root --oversubscribe)
    "${run[@]}" -n 3 "$mpi" sweep "${many[@]}" -o "$tmp/mpi.db" >/dev/null 2>"$tmp/messages"
    check "under mpirun it ends well" [ $? -eq 0 ]
    points "$tmp/mpi.db" >"$tmp/mpi.csv"
    check "under mpirun, the same points" same whole.csv mpi.csv
    "${run[@]}" --mca orte_enable_recovery 1 -n 3 "$mpi" sweep "${many[@]}" -o "$tmp/dead.db" >/dev/null 2>"$tmp/messages" &
    pid=$!
    until [ "$(done_points "$tmp/dead.db")" -ge 1 ] || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
    # Ranks are the children of mpirun in their order.
    kill -9 "$(pgrep -P $pid -f superstep-mpi | tail -n 1)"
    wait $pid
    check "with a dead rank it ends well" [ $? -eq 0 ]
    points "$tmp/dead.db" >"$tmp/dead.csv"
    check "a dead rank's points are done by others" same whole.csv dead.csv
    mpirun --allow-run-as-root -n 1 "$program" sweep "${many[@]}" -o "$tmp/without.db" >/dev/null 2>"$tmp/messages"
    check "without MPI mpirun is refused" grep -q 'built without MPI' "$tmp/messages"
else
    echo "not tested: mpirun (no Open MPI)"
fi

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
