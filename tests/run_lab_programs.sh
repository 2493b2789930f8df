#!/bin/sh
# run_lab_programs.sh [--set-expect] SUPERSTEP TABLE: the graph programs of programs/lab. Each row of TABLE must take exactly its
# cycles and leave exactly its digest, on one host thread and on several; small machines also with exchange code for memory, and as an
# image, which must be the same file whoever compiles it. Every run compares its results with plain C. Then what must fail.
# --set-expect writes the cycles and digests of today into TABLE; look at the difference before you keep it.
set=0
[ "$1" = --set-expect ] && set=1 && shift
program=$1 table=$2
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0

fail() {
    failed=$((failed + 1))
    echo "FAILED: $1"
    [ -z "$2" ] || head -n 12 "$2"
}

# try FILE ARGUMENTS...: runs it and keeps what it says; fails the row unless it exits with 0.
try() {
    out=$1
    shift
    "$program" "$@" >"$out" 2>"$tmp/stderr" && return
    cat "$out" >>"$tmp/stderr"
    fail "$program $*" "$tmp/stderr"
    return 1
}

value() {
    sed -n "s/^$2 //p" "$1"
}

same() {
    cmp -s "$1" "$2" || { fail "$3: $4"; return 1; }
}

# The parts of the bill are the cycles of the run.
check_bill() {
    sum=0
    for part in host exchange compute wait sync; do
        sum=$((sum + $(value "$tmp/one" bill.${part}_cycles)))
    done
    [ "$sum" = "$(value "$tmp/one" cycles)" ] && [ "$sum" = "$(value "$tmp/one" bill.total_cycles)" ] ||
        { fail "$*: the parts of the bill are $sum cycles"; return 1; }
}

# Other ways to the same program; costs more, so for small machines.
check_ways() {
    try "$tmp/two" run -q --exchange memory "$@" || return
    try "$tmp/two" run -q --plain "$@" && same "$tmp/one" "$tmp/two" "$*" "--plain says something else" || return
    try "$tmp/two" compile -q -j1 -o "$tmp/image" "$@" && try "$tmp/two" compile -q -j3 -o "$tmp/other" "$@" || return
    same "$tmp/image" "$tmp/other" "$*" "another image with three threads" || return
    try "$tmp/two" run "$tmp/image" || return
    for key in cycles digest; do
        [ "$(value "$tmp/two" $key)" = "$(value "$tmp/one" $key)" ] || fail "$*: its image has another $key"
    done
    try "$tmp/two" run "$tmp/image" --steps --tiles && try "$tmp/other" run "$tmp/image" --engine timing --steps --tiles || return
    grep -q '^engine timing$' "$tmp/other" || fail "$*: not run by the timing engine"
    grep -Ev '^(digest|engine) ' "$tmp/two" >"$tmp/three"
    grep -v '^engine ' "$tmp/other" | cmp -s - "$tmp/three" || fail "$*: the timing engine has other cycles"
}

check() {
    cycles=$1 digest=$2 before=$failed
    shift 2
    try "$tmp/one" run -q -j1 --digests "$tmp/digests1" "$@" || return
    now="$(value "$tmp/one" cycles) $(value "$tmp/one" digest)"
    [ $set -eq 1 ] && printf '%8s %s %s\n' $now "$*" >>"$tmp/table"
    [ $set -eq 1 ] || [ "$now" = "$cycles $digest" ] || { fail "run $*: $now, expected $cycles $digest"; return; }
    check_bill "$@" || return
    for threads in 2 3; do
        try "$tmp/two" run -q -j$threads --digests "$tmp/digests2" "$@" || return
        same "$tmp/one" "$tmp/two" "$*" "-j$threads says something else" || return
        same "$tmp/digests1" "$tmp/digests2" "$*" "-j$threads has other digests" || return
        case "$*" in *mk2*) break ;; esac
    done
    case "$*" in *toy*) check_ways "$@" ;; esac
    [ $failed -ne $before ] || passed=$((passed + 1))
}

# refuse STATUS TEXT ARGUMENTS...: exits so, with TEXT in its first line of stderr, or anywhere on stdout.
refuse() {
    status=$1 text=$2
    shift 2
    "$program" "$@" >"$tmp/one" 2>"$tmp/two"
    got=$?
    if [ $got -ne "$status" ] || ! { head -n 1 "$tmp/two"; cat "$tmp/one"; } | grep -qF -- "$text"; then
        cat "$tmp/one" >>"$tmp/two"
        fail "$program $*: exit status $got, expected $status and '$text'" "$tmp/two"
        return
    fi
    passed=$((passed + 1))
}

while read -r cycles digest options; do
    case "$cycles" in
    '#'* | '') [ $set -eq 1 ] && echo "$cycles${digest:+ $digest}${options:+ $options}" >>"$tmp/table" ;;
    *) check "$cycles" "$digest" $options ;;
    esac
done <"$table"
[ $set -eq 1 ] && [ $failed -eq 0 ] && cat "$tmp/table" >"$table"

refuse 1 "More: --report" run -q vector-add -D n=10000000 --set tiles=64
refuse 1 "Its parameters: m, n, k" run -q matmul -D m=1024 -D n=1024 -D k=1024 --machine toy4
refuse 1 "do not fit" run -q vector-add -D n=10000000 --set tiles=64
refuse 1 "Memory of 64 tiles" run -q vector-add -D n=10000000 --set tiles=64 --report
refuse 0 "do not fit" run -q vector-add -D n=10000000 --set tiles=64 --allow-oom
refuse 1 '"fits": false' run -q --json vector-add -D n=10000000 --set tiles=64
refuse 2 "matmul has no parameter 'size'" run -q matmul -D size=3
refuse 2 "-D m: expected NAME=VALUE" run -q matmul -D m
refuse 2 "m: '0' is not a number from 1 to 8192" run -q matmul -D m=0
refuse 2 "'9999' is not a number from 1 to 8192" run -q matmul -D m=9999
refuse 2 "unrecognized option '--nosuch'" run -q matmul --nosuch
refuse 2 "no file and no program 'matmull'; did you mean 'matmul'?" run -q matmull
refuse 2 "'stencil' is one too many" run -q matmul stencil
refuse 2 "partials is not 'f64': expected f16, f32" run -q conv --partials f64
refuse 2 "layer is not 'nosuch'" run -q conv --layer nosuch
refuse 2 "width: '1' is not a number from 4" run -q stencil --width 1
refuse 2 "-D in: expected NAME=VALUE" run -q conv -D in
refuse 2 "'' is not a number" run -q conv --in
refuse 2 "kernel 9 is larger than the padded field of 2 x 2" run -q conv --field 2 --kernel 9 --pad 0
refuse 0 "plan.method window" run -q conv --in 1 --out 1 --groups 32 --kernel 7
refuse 2 "n 24" run -q matmul -D n=24
refuse 2 "steps is 3" run -q stencil -D steps=3 --machine toy4
refuse 2 "a halo exchange needs at least 2 tiles" run -q stencil --machine toy4 --set tiles=1
refuse 2 "compile writes an image: -o FILE.img" compile -q softmax
refuse 2 "--check needs values, and --engine timing has none" run -q softmax --engine timing --check
refuse 2 "--digests needs values" run -q softmax --engine timing --digests "$tmp/none"
refuse 0 "engine timing" run -q softmax --engine timing -D n=100 --machine toy4
refuse 0 "engine values (cycles depend on calls without timing keys)" run ring --engine timing
refuse 2 "no program 'nosuch'" lab nosuch
refuse 0 "ring shift" lab
refuse 0 "matrix product in f16" lab
refuse 0 '"name": "ring"' lab --json
refuse 0 "status ok" lab ring
refuse 0 "status ok" lab softmax -q -D n=100 --machine toy4
refuse 0 "variable 0 x f32 [100]" run softmax -D n=100 --machine toy4 --dump
# graph files: the example of docs/programs/graph_format.md, what --dump writes, numbers in and out, one from Python where there is one
sed -n '/^superstep-graph 1$/,/^```/{/^```/!p}' docs/programs/graph_format.md >"$tmp/a.graph"
refuse 0 "answer.y f32 [2,5]: 0.5 1 0.5 3 0.5 5 0.5 7 0.5 9" run "$tmp/a.graph" -q --save "y=$tmp/y.npy"
refuse 2 "y.npy: [2,5] for x, which is [10]" run "$tmp/a.graph" -q --input "x=$tmp/y.npy"
refuse 2 "a name that the host may write: x, y" run "$tmp/a.graph" -q --input "z=$tmp/y.npy"
sed 's/x as .2,5. to y/y to y/' "$tmp/a.graph" >"$tmp/b.graph"
refuse 0 "answer.y f32 [2,5]: 0.5 1 0.5 3" run "$tmp/b.graph" -q --input "y=$tmp/y.npy"
refuse 2 "a graph file has no parameters" run "$tmp/a.graph" -D n=3
refuse 2 "b.graph:4: expected a tile from 0 to 0" run "$tmp/b.graph" --set tiles=1
refuse 2 "--input is for graph files" run softmax -q --input "x=$tmp/y.npy"
if try "$tmp/c.graph" run bfs -m toy4 --dump && try "$tmp/two" run "$tmp/c.graph" --dump; then
    same "$tmp/c.graph" "$tmp/two" bfs "its graph file is another one when it is read back" && passed=$((passed + 1))
fi
if python=$(command -v python3); then
    "$python" docs/programs/dot_product.py 1000 >"$tmp/dot.graph"
    refuse 0 "answer.result f32 [1]: 1520.8" run "$tmp/dot.graph" -q --check
fi
# one convolution of every kind, numbers compared with sums in f64; toys are too small for buffers in elements of their own, and would clash
for partials in f16 f32; do
    for sizes in "--field 9x7 --in 40 --out 24 --kernel 1 --pad 0 --batch 2" "--field 8x8 --in 16 --out 48 --act swish" \
        "--field 9 --in 64 --out 16 --stride 2 --act relu" "--field 6 --in 16 --out 16 --groups 3" \
        "--field 6 --in 32 --out 32 --groups 2" "--field 6 --in 3 --out 5 --groups 2" "--field 10x11 --in 3 --out 32 --kernel 7 --pad 3 --stride 2" \
        "--field 7 --in 1 --out 1 --groups 24 --kernel 5 --pad 2 --set tiles=16" "--field 5 --in 3 --out 20"; do
        refuse 0 "status ok" run -q conv --machine mk2 --set tiles=64 --partials $partials --check $sizes
    done
done
refuse 0 "answer.published.three_passes_cycles 12533" run -q conv --layer mobilenet_depthwise_12
# a value of an option is no name of a program, whatever it is called
refuse 0 "toy4" compile softmax -D n=100 --machine toy4 -o "$tmp/matmul"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
