#!/bin/bash
# Sweeps of networks, an ONNX file and programs on many machines. Directions: more memory never fits less, more tiles never fit less, a
# supervisor or a sync that is faster is never slower where the image is the same, and where another plan is chosen by at most SLACK. 100 points of
# B4-G16, cold, with their time; under mpirun, and killed three times, they are the same. The page in headless Chromium. About 40 minutes on two cores.
#
#   SUPERSTEP=FILE  the program (default: build/superstep, built first)
#   NETWORK="..."   in its place, with options; GRID="..." the axes (default: 100 points: 20 images, each run 5 times)
#   KILLS="..."     seconds after which the sweep is killed (default: 40 80 120)
#   ONLY=1          the large sweep only, without the small ones and the page
#   SHOTS=DIR       keep the screenshot there
. "$(dirname "$0")/common.sh"
build
SLACK=${SLACK:-0.03} # of cycles: plans are chosen by predicted cycles
GRID=${GRID:---vary tiles=552,736,920,1104,1472 --vary sram=512K,624K --vary sync_chip_cycles=60,120 --vary sup_putcs_cycles=1,2,3,4,6}
KILLS=${KILLS:-40 80 120}

# sweep NAME ARGUMENTS...: into $tmp/NAME.db and $tmp/NAME (JSON)
sweep() {
    local began=$SECONDS
    "$superstep" sweep -q "${@:2}" -o "$tmp/$1.db" >/dev/null 2>"$tmp/error" || fail "$1: $(head -n 1 "$tmp/error")"
    tell "$1" $((SECONDS - began))
}

# tell NAME SECONDS: of $tmp/NAME.db, which becomes $tmp/NAME (JSON)
tell() {
    "$superstep" report "$tmp/$1.db" --json >"$tmp/$1"
    printf '%-12s %4d points, %4d fit; %d s, of a processor %s\n' "$1" "$(number "$tmp/$1" '.points | length')" \
        "$(number "$tmp/$1" '[.points[] | select(.status == "ok")] | length')" "$2" \
        "$(number "$tmp/$1" '[.work[] | "\(.stage) \(.times) times \(.seconds | round) s"] | join(", ")')"
}

# direction NAME AXIS CONDITION: for all pairs of points that differ in this axis only, $a with the smaller and $b with the larger value. Sizes
# of memory are compared as they are in bytes.
direction() {
    local wrong
    wrong=$(jq -r --arg axis "$2" --argjson slack "$SLACK" '
        def size: if $axis == "sram" then .mem_bytes else .[$axis] | tonumber end;
        ([.axes[].axis] | unique - [$axis]) as $others |
        [.points | group_by([.[$others[]]])[] | . as $l | range(length) as $i | range(length) as $j |
         $l[$i] as $a | $l[$j] as $b | select(($a | size) < ($b | size)) | select(('"$3"') | not) |
         "points \($a.point) and \($b.point): \($a.status) \($a.cycles), \($b.status) \($b.cycles)"] | .[]' "$tmp/$1")
    [ "$wrong" ] || return 0
    fail "$1: $2: not $3:"
    echo "$wrong" | head -n 5
}

small_sweeps() {
    sweep memory efficientnet-b0 --resolution 64 --set tiles=128 --vary sram=96K,128K,192K,256K,384K,624K --vary batch=1,2,4
    direction memory sram '$a.status != "ok" or $b.status == "ok"'
    direction memory sram '$a.status != "ok" or $b.cycles <= $a.cycles * (1 + $slack)'
    sweep tiles efficientnet-b0 --resolution 64 --vary tiles=32,64,128,256,512 --vary sram=96K,192K
    direction tiles tiles '$a.status != "ok" or $b.status == "ok"'
    sweep sync resnet-50 --resolution 64 --set tiles=256 --vary sync_chip_cycles=30,60,120,240 --vary partials=f16,f32
    direction sync sync_chip_cycles '$a.cycles <= $b.cycles * (1 + $slack)'
    sweep runall stencil -m toy64 --vary sup_runall_cycles=2,4,6,12 --vary sup_putcs_cycles=1,4
    direction runall sup_runall_cycles '$a.cycles <= $b.cycles'
    direction runall sup_putcs_cycles '$a.cycles <= $b.cycles'
    sweep flat matmul -m toy64 -D m=256 -D n=256 -D k=256 --vary exchange_flat_cycles=2,10,50 --vary exchange=cycles,memory
    direction flat exchange_flat_cycles '$a.cycles <= $b.cycles'
}
[ "${ONLY:-}" ] || small_sweeps

# ---- the same file, however it came about
points() { "$superstep" report "$1" --csv points; "$superstep" report "$1" --csv bytes; }
# shellcheck disable=SC2086 # the grid is several words
b4=(${NETWORK:-efficientnet-b4-g16} -q $GRID)
sweep whole "${b4[@]}"
points "$tmp/whole.db" >"$tmp/whole.csv"
# has_axis NAME: whether the grid varies it
has_axis() { holds "$tmp/whole" ".axes | any(.axis == \"$1\")"; }
has_axis sram && direction whole sram '$a.status != "ok" or $b.status == "ok"'
has_axis tiles && direction whole tiles '$a.status != "ok" or $b.status != "ok" or $b.cycles <= $a.cycles * (1 + $slack)'
has_axis sync_chip_cycles && direction whole sync_chip_cycles '$a.status != "ok" or $b.status != "ok" or $a.cycles <= $b.cycles * (1 + $slack)'
has_axis sup_putcs_cycles && direction whole sup_putcs_cycles '$a.status != "ok" or $a.cycles <= $b.cycles'
for seconds in $KILLS; do
    { timeout -s KILL "$seconds" "$superstep" sweep "${b4[@]}" -o "$tmp/killed.db" >/dev/null 2>&1; } 2>/dev/null
done
sweep killed "${b4[@]}"
points "$tmp/killed.db" | cmp -s - "$tmp/whole.csv" || fail "killed three times: other points"
if command -v mpirun >/dev/null && make -s mpi; then
    began=$SECONDS
    mpirun --allow-run-as-root --oversubscribe -n 2 build/superstep-mpi sweep "${b4[@]}" -o "$tmp/mpi.db" >/dev/null 2>"$tmp/error" ||
        fail "mpirun: $(head -n 1 "$tmp/error")"
    tell mpi $((SECONDS - began))
    points "$tmp/mpi.db" | cmp -s - "$tmp/whole.csv" || fail "mpirun: other points"
fi

# ---- the page
if [ ! "${ONLY:-}" ] && browser=$(command -v chromium || command -v chromium-browser); then
    "$superstep" report "$tmp/memory.db" --html "$tmp/page.html"
    timeout 60 "$browser" --headless --no-sandbox --disable-gpu --proxy-server=127.0.0.1:9 --user-data-dir="$tmp/profile" --window-size=1280,2600 \
        --enable-logging=stderr --v=0 --dump-dom "file://$tmp/page.html" >"$tmp/dom" 2>"$tmp/log"
    grep -q CONSOLE "$tmp/log" && fail "page: $(grep -m 1 CONSOLE "$tmp/log")"
    [ "$(grep -o '<tr' "$tmp/dom" | wc -l)" -eq 19 ] || fail "page: not a row for each of 18 points"
    timeout 60 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$tmp/profile" --window-size=1280,2600 \
        --screenshot="${SHOTS:-$tmp}/sweep.png" "file://$tmp/page.html" 2>/dev/null
    [ -s "${SHOTS:-$tmp}/sweep.png" ] || fail "page: no screenshot"
fi
finish
