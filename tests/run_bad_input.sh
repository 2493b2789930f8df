#!/bin/sh
# run_bad_input.sh SUPERSTEP: whatever is wrong with a command line, a file or a machine is one clear line on stderr, nothing on stdout,
# exit status 2; what runs but fails, or does not fit, exits with 1. Nothing may crash, and no device may be replaced by a file.
program=$1
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0
net="run -q efficientnet-b0 --resolution 32 --no-calibration --set tiles=128"

fail() {
    failed=$((failed + 1))
    echo "FAILED: $1"
    head -n 5 "$tmp/out" "$tmp/err"
}

# refuse TEXT ARGUMENTS...: status 2, one line with TEXT, nothing on stdout.
refuse() {
    text=$1
    shift
    "$program" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    got=$?
    if [ $got -ne 2 ] || [ -s "$tmp/out" ] || [ "$(wc -l <"$tmp/err")" -ne 1 ] || ! grep -q "^superstep\\( $1\\)\\?: " "$tmp/err" ||
        ! grep -qF -- "$text" "$tmp/err"; then
        fail "$*: exit status $got, expected 2 and one line with '$text'"
        return
    fi
    passed=$((passed + 1))
}

# expect STATUS TEXT ARGUMENTS...: exits so, with TEXT on stdout or stderr.
expect() {
    status=$1 text=$2
    shift 2
    "$program" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    got=$?
    if [ $got -ne "$status" ] || ! grep -qF -- "$text" "$tmp/out" "$tmp/err"; then
        fail "$*: exit status $got, expected $status and '$text'"
        return
    fi
    passed=$((passed + 1))
}

# full ARGUMENTS...: says so and exits with 2 when its answer does not arrive.
full() {
    [ -c /dev/full ] || return
    "$program" "$@" >/dev/full 2>"$tmp/err" </dev/null
    got=$?
    : >"$tmp/out"
    if [ $got -ne 2 ] || ! tail -n 1 "$tmp/err" | grep -q 'cannot write the answer'; then
        fail "$* >/dev/full: exit status $got, expected 2 and a reason"
        return
    fi
    passed=$((passed + 1))
}

# ---- names and options

refuse "no command 'nosuch'" nosuch
refuse "no file and no program 'resnet50'; did you mean 'resnet-50'?" run resnet50
refuse "no file and no program 'ResNet_50'; did you mean 'resnet-50'?" run ResNet_50
refuse "no file and no program 'efficentnet-b0'; did you mean 'efficientnet-b0'?" run efficentnet-b0
refuse "no file and no program 'rnig'; did you mean 'ring'?" run rnig
refuse "no file and no program 'vgg'; superstep --help lists all names" run vgg
refuse "'resnet50' is no network; did you mean 'resnet-50'?" stream resnet50
refuse "'resnet50'; did you mean 'resnet-50'?" sweep resnet50 --vary tiles=64 -o "$tmp/s.db"
refuse "no network 'resnet50'; did you mean 'resnet-50'?" models resnet50
refuse "no program 'nosuch'" lab nosuch
refuse "No such file" models "$tmp/nosuch.onnx"
printf 'no model' >"$tmp/bad.onnx"
refuse "bad.onnx" models "$tmp/bad.onnx"
refuse "--classes is for networks that are known by name" models "$tmp/bad.onnx" --classes 10
refuse "--dim x: expected NAME=N" models "$tmp/bad.onnx" --dim x
refuse "--dim n=0: expected NAME=N" models "$tmp/bad.onnx" --dim n=0
refuse "are for ONNX files, and resnet-50 is none" models resnet-50 --dim n=1
refuse "are for ONNX files, and resnet-50 is none" models resnet-50 --outputs y
cp tests/fuzz/corpus/onnx/layer_norm.onnx "$tmp/in.onnx"
refuse "the output is the same file as the input" models "$tmp/in.onnx" -o "$tmp/in.onnx"
ln "$tmp/in.onnx" "$tmp/same.onnx"
refuse "the output is the same file as the input" models "$tmp/in.onnx" -o "$tmp/same.onnx"
cmp -s "$tmp/in.onnx" tests/fuzz/corpus/onnx/layer_norm.onnx || fail "an ONNX file was replaced by what was read from it"

# ---- help and completion

for command in $("$program" --help | sed -n '/^usage/,/^Programs/s/^  \([a-z]*\) .*/\1/p'); do
    expect 0 "Examples:" help "$command"
    sed -n '/^Examples:/,$p' "$tmp/out" | grep -q '^  superstep [a-z]' || fail "help $command: no example"
    awk 'length > 79' "$tmp/out" | grep -q 'superstep' && fail "help $command: an example is too wide"
done
refuse "'fish': completion is there for bash and zsh" completion fish
refuse "which shell?" completion
expect 0 "the exercises  superstep lab exercise: 12 of them" lab
# The way that the list names is that of the course.
sed -n 's/^\$ superstep lab \(exercise [0-9]*\|[a-z_-]*\).*/\1/p' docs/course.md | grep -v 'check\|solution' | awk '!seen[$0]++' | tr '\n' ' ' >"$tmp/course"
sed -n '/^In order/,/Then a course/p' "$tmp/out" | tr '\n' ' ' | sed 's/^In order, a lesson of 90 minutes: //; s/\. Then a course.*/ /; s/, */ /g' | cmp -s - "$tmp/course" &&
    passed=$((passed + 1)) || fail "lab names another way than docs/course.md: $(cat "$tmp/course")"

# ---- assembly as JSON

printf 'main: sync 6\n add $m0, $m1, 2\n .data\nd: .byte 1, 2\n' >"$tmp/code.S"
"$program" asm "$tmp/code.S" --json >"$tmp/out" 2>"$tmp/err"
[ "$(jq -r '.sections[0].code[1] | .text, .words[0], (.line | tostring)' "$tmp/out" | tr '\n' ' ')" = 'add $m0, $m1, 2 22100002 2 ' ] &&
    [ "$(jq -r '(.sections[] | select(.name == ".data") | .data), (.symbols[] | select(.name == "d") | .section)' "$tmp/out" | tr '\n' ' ')" = '0102 .data ' ] &&
    passed=$((passed + 1)) || fail "asm --json"
refuse "either --json or --output" asm "$tmp/code.S" --json -o "$tmp/code"

# ---- loops without an end

cat >"$tmp/spin.S" <<'END'
        .section .text.spin, "ax"
        .globl spin
        .type spin, @function
        .worker
spin:   bri spin
        .size spin, . - spin
END
cat >"$tmp/spin.graph" <<END
superstep-graph 1
machine toy4
codelet spin multi stack 0 from "spin.S"
    inout x f32
variable x f32 [4] kept
    [0:4] on tile 1
compute set go
    vertex spin on tile 1
        x = x[0:4]
program
    execute go
END
expect 3 "more than 9999 cycles: an endless loop? Tile 1" run "$tmp/spin.graph" --max-cycles 9999
expect 3 "status limit" run -q "$tmp/spin.graph" --max-cycles 9999
expect 3 '"status": "limit"' run -q "$tmp/spin.graph" --max-cycles 9999 --json
expect 3 "more than 500 cycles" $net --max-cycles 500
seq -f 'name%g' 0 999 >"$tmp/names.txt"
"$program" $net --labels "$tmp/names.txt" >"$tmp/out" 2>"$tmp/err"
grep -qE 'class ([0-9]+) name\1 \([0-9.]+\), ([0-9]+) name\2 \([0-9.]+\), ([0-9]+) name\3 ' "$tmp/out" && passed=$((passed + 1)) || fail "--labels: not all three classes have names"
for option in "" "--precision f32" "-b 2"; do
    "$program" run -q tests/fuzz/corpus/onnx/layer_norm.onnx --set tiles=16 --cache "$tmp/listed" $option >/dev/null 2>&1
done
"$program" cache --cache "$tmp/listed" | grep network >"$tmp/out" 2>"$tmp/err"
grep -q 'f32' "$tmp/out" && [ "$(sed 's/.*network//' "$tmp/out" | sort -u | wc -l)" = "$(wc -l <"$tmp/out")" ] && passed=$((passed + 1)) || fail "cache: entries that cannot be told apart"
refuse "either --compare-layers or --max-cycles" $net --compare-layers --max-cycles 500

# ---- stages of a network

stages="no stage 'fusing': import, tidy, pads, norms, group-norms, recognise, expand, groups, plans, tiles"
for command in models run compile; do
    refuse "$stages" $command resnet-50 --dump fusing
    refuse "$stages" $command "$tmp/in.onnx" --dump fusing
    expect 0 "LayerNormalization" $command "$tmp/in.onnx" --dump recognise
    expect 0 "ReduceMean_1  ReduceMean" $command "$tmp/in.onnx" --dump group-norms
done
# refusal COMMAND OPTION: what it says of a file that cannot run
refusal() {
    "$program" $1 $2 tests/fuzz/corpus/onnx/typed.onnx 2>"$tmp/err"
    echo "status $?"
    sed -n 's/^superstep [a-z]*: //p' "$tmp/err"
}
for option in "" --json; do
    refusal run $option >"$tmp/out"
    for command in models 'compile -o /dev/null'; do
        [ "$(refusal "$command" $option)" = "$(cat "$tmp/out")" ] && passed=$((passed + 1)) || fail "$command $option refuses a file in other words than run"
    done
    grep -q '^status 2' "$tmp/out" && grep -q '2 of 4 nodes cannot run' "$tmp/out" && grep -q Op_4 "$tmp/out" && passed=$((passed + 1)) || fail "run $option: no refusal"
done
refuse "the precision of which network?" models --precision f32
refuse "--json with --weights or --output is for ONNX files" models resnet-50 -o "$tmp/x" --json
refuse "either --dump or --json, not both" models resnet-50 --dump tidy --json
expect 0 "stem.norm" models efficientnet-b0 --dump pads
expect 0 "Conv+Swish" models efficientnet-b0 --dump groups
# floats WANT ARGUMENTS...: what --dump groups says of the floats of each group
floats() {
    want=$1
    shift
    "$program" "$@" --dump groups 2>"$tmp/err" >"$tmp/out"
    got=$(awk 'NR == 1 { at = index($0, "floats") } NR > 1 { printf "%s ", substr($0, at, 3) }' "$tmp/out")
    [ "$got" = "$want " ] && passed=$((passed + 1)) || fail "$* --dump groups: floats are $got, expected $want"
}
floats "f32 f32 f32 f32 f32 f16" models tests/fuzz/corpus/onnx/rms_norm.onnx # where the line "f32: 5 nodes" points
floats "f16 f16 f16" models tests/fuzz/corpus/onnx/layer_norm.onnx
floats "f32 f32 f32" run tests/fuzz/corpus/onnx/layer_norm.onnx --precision f32
floats "f32 f16 f16" run tests/fuzz/corpus/onnx/layer_norm.onnx --f32-until Add_9
expect 0 "predicted  temp. bytes" $net --dump plans
expect 0 "machine mk2 tiles 128" $net --dump tiles
refuse "a stage of which network?" models --dump tidy
refuse "either --dump or --json, not both" run efficientnet-b0 --dump tidy --json
refuse "either --dump or --output, not both" models "$tmp/in.onnx" --dump tidy -o "$tmp/a.onnx"
refuse "which program?" run
refuse "which profile?" report
refuse "No such file" report "$tmp/nosuch.db"
refuse "damaged, or no profile" report "$program"
printf 'no database' >"$tmp/bad.db"
refuse "bad.db: damaged, or no profile" report "$tmp/bad.db"
refuse "bad.db: damaged, or no profile" compare "$tmp/bad.db" "$tmp/bad.db"
refuse "which profiles?" compare
refuse "--csv is layers, steps, tiles, points or bytes, not 'all'" report "$tmp/bad.db" --csv all
refuse "either --csv or --json" report "$tmp/bad.db" --csv steps --json
refuse "--profile does nothing here: it is for superstep run" compile ring -o "$tmp/a" --profile "$tmp/p.db"
refuse "No such file or directory" run ring --html "$tmp/nosuch/t.html"
refuse "either --html or --json" report "$tmp/bad.db" --html "$tmp/t.html" --json
refuse "either --html or --chip" report "$tmp/bad.db" --html "$tmp/t.html" --chip 1
"$program" run ring -q --profile "$tmp/one.db" >/dev/null
refuse "one.db: expected a chip below 1, got 1" report "$tmp/one.db" --chip 1
refuse "No such file or directory" run ring --trace-out "$tmp/nosuch/t.json"
refuse "--trace-tiles does nothing without --trace-out" run ring --trace-tiles 0
refuse "expected tiles" run ring --trace-out "$tmp/t.json" --trace-tiles 3-1
expect 2 "expected tiles below 16" run ring --trace-out "$tmp/t.json" --trace-tiles 16
refuse "No such file or directory" run ring --profile "$tmp/nosuch/p.db"
refuse "No such file or directory" run softmax --profile "$tmp/nosuch/p.db"
refuse "No such file or directory" $net --profile "$tmp/nosuch/p.db"
refuse "either --dump or --trace-out" $net --dump import --trace-out "$tmp/t.json"
refuse "either --compare-layers or --profile" $net --compare-layers --profile "$tmp/p.db"
refuse "unrecognized option '--nosuch'" $net --nosuch
refuse "unrecognized option '--nosuch'" machines --nosuch
refuse "unrecognized option '--iamge'; did you mean '--image'?" $net --iamge=cat.jpg
refuse "unrecognized option '--treads'; did you mean '--threads'?" validate --treads 3
refuse "'extra' is one too many" $net extra
refuse "option '--image' requires an argument" $net --image
refuse "--exchange is cycles or memory, not 'fast'" $net --exchange fast
refuse "--depthwise is mixed or sliding, not 'matrix'" $net --depthwise matrix
refuse "--padding is same or torch, not 'none'" models resnet-50 --padding none
refuse "norm: expected batch, group or group-contiguous, got 'none'" models resnet-50 --norm none
refuse "compile writes an image: -o FILE.img" compile -q efficientnet-b0
refuse "--compare-layers does nothing here: it is for superstep run" compile -q efficientnet-b0 -o "$tmp/a" --compare-layers
refuse "either --weights or --seed" $net --weights "$tmp/a" --seed 1
refuse "either --cache or --no-cache" $net --cache "$tmp/c" --no-cache

# NaN is told, whoever brings it, and with --strict a failure; the cache changes nothing of that.
{
    printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4), }"
    printf '\000\000\300\177'
    head -c 28 /dev/zero
} >"$tmp/nan.npy"
tiny="run $tmp/in.onnx -m toy16 --cache $tmp/tiny"
for engine in values timing values; do
    expect 0 "warning: input 'x': 1 NaN" $tiny --engine $engine --input "$tmp/nan.npy"
    expect 1 "warning: input 'x': 1 NaN" $tiny --engine $engine --input "$tmp/nan.npy" --strict
done
expect 0 "warning: output 'y': 4 NaN" $tiny --input "$tmp/nan.npy" --json
expect 0 '"nan": 4' $tiny --input "$tmp/nan.npy" --json
expect 0 "Output y" $tiny --strict
expect 1 "NaN in the reference" run "$tmp/in.onnx" -m toy16 --input "$tmp/nan.npy" --compare-layers
# A file of another integer type will do, unless its numbers are none of the input's: here y = x, which is u8 [4].
printf '\010\010:>\012\027\012\001x\022\001y\042\004Cast\052\011\012\002to\030\001\240\001\002\022\001gZ\017\012\001x\022\012\012\010\010\002\022\004\012\002\010\004b\017\012\001y\022\012\012\010\010\001\022\004\012\002\010\004B\004\012\000\020\021' >"$tmp/u8.onnx"
for high in 0 1; do
    {
        printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<i2', 'fortran_order': False, 'shape': (4,), }"
        printf "\\001\\000\\002\\000\\003\\000\\004\\00$high"
    } >"$tmp/high$high.npy"
done
expect 0 "high0.npy: class 3 (4.0000), 2 (3.0000)" run -q "$tmp/u8.onnx" -m toy16 --input "$tmp/high0.npy"
refuse "high1.npy: number 3 is 260, for input x, which is u8 [4]" run -q "$tmp/u8.onnx" -m toy16 --input "$tmp/high1.npy"
refuse "either --cache or --no-cache" run "$tmp/in.onnx" --cache "$tmp/c" --no-cache
refuse "either --cache or --no-cache" step efficientnet-b0 --cache "$tmp/c" --no-cache
refuse "neither a built-in machine" $net --machine nosuch
refuse "node stem: kernel conv_first_f16: its instruction f16v4hihov4amp needs the instruction set ipu2, and machine mk1 has ipu1" run efficientnet-b4 -m mk1
refuse "node stem: kernel conv_first_f16" stream -q efficientnet-b4 -m mk1
refuse "kernel conv_window_f16: its instruction f16v4hihov4amp needs the instruction set" run -q conv -m mk1
refuse "either --whole or --crop, not both" $net --whole --crop 0.5
refuse "--mean: expected a number, or 3 of them with commas, got 1,2" $net --mean 1,2
refuse "--std: expected numbers above 0" $net --std 0
refuse "--weights FILE: a network by name has no parameters of its own" evaluate efficientnet-b0 --data "$tmp"
refuse "--data DIR: pictures with labels are needed" evaluate efficientnet-b0 -w "$tmp/none"
mkdir -p "$tmp/two/cat" "$tmp/two/land"
cp models/pictures/cat.jpg "$tmp/two/cat" && cp models/pictures/landscape.png "$tmp/two/land"
refuse "superstep train: nosuch: No such file" train -q nosuch --data "$tmp/two"
refuse "superstep evaluate: $tmp/nosuch.onnx: No such file" evaluate -q "$tmp/nosuch.onnx" --data "$tmp/two"
refuse "2 pictures for a batch of 1: --batch 2 takes them all" $net --image models/pictures/cat.jpg --image models/pictures/landscape.png

refuse "which program? superstep run" run -q
refuse "which case?" tile
refuse "one case at a time" tile a --case b
refuse "one machine at a time: 'b' is one too many" machines a b
refuse "--set changes a machine" machines --set tiles=3
refuse "which files?" diff "$tmp/a"
refuse "which network?" stream
refuse "which file?" asm
refuse "--trace is i, not 'x'" tile --trace x a
refuse "--code: 'x' is not a number" asm --code x a.S
refuse "weights of which network?" models -o "$tmp/a"
refuse "dimensions or outputs of which file?" models --dim n=1

# ---- options that what is run cannot take, or that do not go together

refuse "--stream does nothing for a manifest; it is for images" run ring --stream 0=a
refuse "--stream does nothing for a network; it is for images" $net --stream 0=a
refuse "--layers does nothing for a program; it is for networks" run softmax --layers
refuse "--threads does nothing for the list of programs" lab --threads 3
refuse "--digests does nothing here: it is for superstep run" compile softmax -o "$tmp/a" --digests "$tmp/b"
for option in "chart a" "logits a" plan report "digests a" "output a"; do
    refuse "either --compare-layers or --${option%% *}, not both" $net --compare-layers --$option
done
for option in json "chart a" plan report compare-layers; do
    refuse "either --layers or --${option%% *}, not both" $net --layers --$option
done
for option in "image a" "weights a" "seed 2" no-calibration "memory-proportion 0.5" "parameter-memory 0.5" "depthwise sliding" "exchange memory" check plain allow-oom; do
    refuse "either --layers or --${option%% *}, not both" run efficientnet-b0 --layers --$option
done
for option in json check plain "exchange memory" allow-oom; do
    refuse "either --dump or --${option%% *}, not both" run softmax --dump --$option
done
refuse "--seed does nothing without --output" models efficientnet-b0 --seed 3
refuse "chips 2: expected 1" $net --set chips=2
refuse "--cut nope: there is no such block" $net --cut nope
refuse "--cut block2a makes 2 stages, expected as many as --chips 3" $net --cut block2a --chips 3
refuse "--chips: '0' is not a number from 1 to 4096" $net --chips 0
refuse "places to cut, 200 stages need 199" $net --chips 200
refuse "--cut does nothing for" run softmax --cut block2a
expect 0 "120 results compared, 0 beyond their bound" $net --cut block4a,block6a --compare-layers
expect 0 "chip 1   block2a.expand" $net --cut block2a --engine timing
expect 0 '"sent_bytes":' $net --chips 2 --engine timing --json
[ "$(jq -c '[.stages[].need_bytes]' "$tmp/out")" = "$(jq -c '[.memory.chips[].need_bytes]' "$tmp/out")" ] && passed=$((passed + 1)) || fail "--chips 2: a stage needs what its chip does not"
refuse "--cut all: expected --chips 2 to 8 with it" $net --cut all
refuse "--cut auto: expected --chips 2 to 8 with it" $net --cut auto --chips 9
for option in "save a=b" "chart a" "image a" "weights a" report compare-layers check; do
    refuse "either --cut all or --${option%% *}, not both" $net --cut all --chips 2 --$option
done
refuse "either --cut all or --output, not both" compile efficientnet-b0 --cut all --chips 2 -o "$tmp/a"
expect 0 "does not fit: stage 1 needs about" run -q efficientnet-b0 --resolution 32 --set tiles=40 --set mem_bytes=344064 --cut all --chips 2
expect 0 "--cut block" $net --cut all --chips 3
expect 0 '"slot_cycles":' compile efficientnet-b0 --resolution 32 --set tiles=64 --cut all --chips 2 --json
expect 0 "chip 2 " $net --cut auto --chips 3 --engine timing
refuse "chips 2: expected a program for several chips" run ring --set chips=2
refuse "chips 2: expected a program for several chips" run ring --chips 2
refuse "chips 2: expected a program for several chips" tile tests/cases/sum_worker.json --set chips=2
refuse "chips 2: expected 1: the program runs on one chip" run softmax --chips 2
refuse "chips 2: expected 1: the program runs on one chip" step softmax --chips 2
refuse "'--m' is ambiguous" run softmax --m 1

# ---- options and parameters of one name

refuse "'4' is one too many: --steps is an option; -D steps=4 sets the parameter of stencil" run stencil --steps 4
expect 0 "cycles of every superstep" run stencil --steps -q --machine toy4 --width 34 -D steps=4
expect 0 '"steps"' run stencil --steps --json -q --machine toy4 --width 34 -D steps=4
expect 0 "only with -D: --steps is an" run stencil --help
expect 0 "status ok" run matmul --m 64 --n=64 --k 64 --machine toy4 -q
refuse "m: '0' is not a number from 1 to 8192" run matmul --m 0

# ---- help

expect 0 "superstep $(sed -n 's/^VERSION *:= *//p' Makefile) (commit " --version
for command in run compile lab diff asm dis tile machines models stream; do
    for help in "help $command" "$command --help" "$command -h"; do
        expect 0 "Usage: superstep $command" $help
    done
done
expect 0 "Parameters of conv" help run conv

stream="stream -q efficientnet-b0 --resolution 32 --no-calibration --set tiles=128"
refuse "--input-type is u8, f16 or f32" $stream --input-type u4 models/pictures
refuse "unrecognized option '--nosuch'" $stream --nosuch
refuse "--input-type f16: with --precision f32 pictures are u8 or f32" $stream --precision f32 --input-type f16 models/pictures
refuse "--input-type f16: efficientnet-b0 reads pictures as u8 or f32" $stream --f32-until stem --input-type f16 --limit 1
refuse "either --precision or --f32-until, not both" $stream --precision f32 --f32-until stem models/pictures
refuse "--resume does nothing without --output" $stream --resume models/pictures
refuse "--seed is for networks that are known by name" stream "$tmp/in.onnx" --seed 3
refuse "--resolution is for networks that are known by name" stream "$tmp/in.onnx" --resolution 32
refuse "--dim and --outputs are for ONNX files" $stream --outputs stem
refuse "a stream needs one input [n][3][side][side]" stream -q "$tmp/in.onnx"
for option in "--resize 40 --crop 0.5" "--resize 40 --no-resize" "--crop 0.5 --no-resize"; do
    refuse "not both" $net $option
    refuse "not both" $stream $option
done
refuse "whose shorter side is 31" $net --resize 31
refuse "whose shorter side is 31" $stream --resize 31
refuse "is not a number above 0 and at most 1" $net --crop 2
refuse "results are CSV or JSON lines" $stream -o "$tmp/a.txt" models/pictures
refuse "which network?" stream --io-tiles 4
refuse "is no network" stream models/pictures
refuse "--exchange is cycles or memory, not 'fast'" $stream --exchange fast models/pictures
refuse "either --weights or --seed" $stream --weights "$tmp/a" --seed 1 models/pictures

# ---- numbers

for option in --batch --resolution; do
    for number in 0 -1 4097 1x x 1.5 99999999999999999999 ''; do
        refuse "'$number' is not a number from" $net $option "$number"
    done
done
for number in -1 x 18446744073709551616; do
    refuse "'$number' is not a number from" $net --seed "$number"
done
for number in -1 x 4097; do
    refuse "'$number' is not a number from" $net --threads "$number"
done
for number in 0 -1 1.01 nan inf 1e x ''; do
    refuse "'$number' is not a number above 0 and at most 1" $net --memory-proportion "$number"
done
refuse "'0' is not a number above 0 and at most 1" $net --parameter-memory 0
for option in --batch --resolution --host-bandwidth --limit; do
    refuse "'0' is not a number from" $stream $option 0 models/pictures
done
for option in --seed --threads --decoders --queue --host-jitter --io-tiles; do
    refuse "'x' is not a number from" $stream $option x models/pictures
done
refuse "'2' is not a number above 0 and at most 1" $stream --memory-proportion 2 models/pictures
refuse "'9' is not a number from 0 to 8" $stream --prefetch 9 models/pictures
refuse "5000 IO tiles" $stream --io-tiles 5000 models/pictures
refuse "resolution: expected 8 to 4096, got 7" $net --resolution 7
refuse "'0' is not a number from 1" models resnet-50 --classes 0
refuse "--set tiles: expected an integer from 1" $net --set tiles=0
refuse "--set tiles: expected an integer from 1" $net --set tiles=many
refuse "--set: unknown field 'nosuch'" $net --set nosuch=1
refuse "expected field=value" $net --set tiles
refuse "not a multiple of element_bytes" $net --set mem_bytes=5000

# ---- files to read

mkdir "$tmp/dir"
: >"$tmp/empty"
head -c 4000 "$program" >"$tmp/other"
head -c 5000 models/pictures/cat.jpg >"$tmp/cut.jpg"
head -c 20000 models/pictures/landscape.png >"$tmp/cut.png"
{ head -c 800 models/pictures/cat.jpg; head -c 9000 models/pictures/landscape.png; } >"$tmp/bad.jpg"
{ head -c 300 models/pictures/landscape.png; head -c 9000 models/pictures/cat.jpg; } >"$tmp/bad.png"
# Pictures of 1 x 1, 100,000 x 100,000 and 0 x 5 pixels.
base64 -d >"$tmp/one.png" <<END
iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNocFAAAAIkAOGrWWInAAAAAElFTkSuQmCC
END
base64 -d >"$tmp/huge.png" <<END
iVBORw0KGgoAAAANSUhEUgABhqAAAYagCAIAAAAnMJyfAAAACElEQVR4nAMAAAAAAUgGidIAAAAASUVORK5CYII=
END
base64 -d >"$tmp/none.png" <<END
iVBORw0KGgoAAAANSUhEUgAAAAAAAAAFCAIAAADkJHr2AAAACElEQVR4nAMAAAAAAUgGidIAAAAASUVORK5CYII=
END
for option in --image --weights --machine; do
    refuse "nosuch" $net $option "$tmp/nosuch"
    refuse "dir: " $net $option "$tmp/dir"
    refuse "empty:" $net $option "$tmp/empty"
    refuse "other:" $net $option "$tmp/other"
done
for picture in cut.jpg cut.png bad.jpg bad.png huge.png none.png; do
    refuse "$picture: " $net --image "$tmp/$picture"
done
expect 0 "one.png: class" $net --image "$tmp/one.png"
refuse "dir: Is a directory" run "$tmp/dir"
for what in nosuch dir empty other; do
    refuse "$what" tile "$tmp/$what"
    refuse "$what" machines "$tmp/$what"
    refuse "$what" asm --raw --machine "$tmp/$what" programs/lab/ring.S
    refuse "$what" dis "$tmp/$what"
done
refuse "cut.jpg is a JPEG picture: superstep run NETWORK --image" run "$tmp/cut.jpg"
refuse "cut.png is a PNG picture: superstep run NETWORK --image" run "$tmp/cut.png"
printf '\010\007\022\007pytorch' >"$tmp/onnx"
refuse "onnx: no ONNX file: it has no graph" run "$tmp/onnx"
refuse "bad.onnx" compile "$tmp/bad.onnx" -o "$tmp/a"
refuse "--seed does nothing for an ONNX file" run "$tmp/bad.onnx" --seed 2
refuse "nosuch: No such file" run "$tmp/in.onnx" --weights "$tmp/nosuch"
printf 'PK\003\004' >"$tmp/model.pth"
refuse "model.pth is a zip archive" compile "$tmp/model.pth" -o "$tmp/a"
for command in run models "train --engine timing" "stream --limit 1"; do # one table, the same words
    refuse "a zip archive, as torch.save() writes: export the network with torch.onnx.export()" $command "$tmp/model.pth"
done
refuse "one.png: no ONNX file, but a PNG picture: superstep run NETWORK --image FILE takes it" models "$tmp/one.png"
"$program" machines mk2 --json >"$tmp/machine.json"
refuse "sum_worker.json is a case, which has no image: superstep run FILE" compile tests/cases/sum_worker.json -o "$tmp/a"
refuse "--steps does nothing for a case; it is for manifests" run tests/cases/sum_worker.json --steps
refuse "this is a machine: superstep run WHAT --machine FILE" run "$tmp/machine.json"
refuse "this is a manifest: superstep run FILE" tile programs/lab/ring.bsp.json
expect 2 "superstep tile: 2 errors, the first: programs/lab/ring.S:32:8: undefined symbol" tile programs/lab/ring.S
refuse "nosuch.S: No such file" tile "$tmp/nosuch.S"
refuse "empty:1:" run "$tmp/empty"
refuse "nosuch.img: No such file" run "$tmp/nosuch.img"
refuse "nosuch: No such file" diff "$tmp/nosuch" "$tmp/empty"

# ---- several chips: each sends its number to the next one

cat >"$tmp/pair.S" <<'END'
#include <superstep/bsp.h>
	.supervisor
main:	sync	SYNC_POD
	CHIP_EXPECT 1, $m3
	CHIP_SEND head, number, 1
	sync	SYNC_RECV
	sync	SYNC_END
	.align 8
head:	CHIP_HEADER ((CHIP + 1) % CHIPS), TILE, got, 1
END
cat >"$tmp/pair.bsp.json" <<'END'
{ "machine": "toy4", "chips": 2, "needs_chips": [2, 8], "programs": [ { "tiles": "all", "source": "pair.S", "memory": [
  { "name": "number", "u32_per_tile": "chip + 1" }, { "name": "got", "bytes": 4 } ] } ],
  "expect": [ { "tiles": "all", "name": "got", "u32_per_tile": "(chip + chips - 1) % chips + 1" } ] }
END
expect 0 "each_chip[1].chip 1" run "$tmp/pair.bsp.json" --digests "$tmp/pair.digests"
cp "$tmp/out" "$tmp/pair.out"
expect 0 "each_chip[3].chip 3" run "$tmp/pair.bsp.json" --chips 4 --threads 2
expect 0 "exchange + link + compute + wait + sync + outer" run "$tmp/pair.bsp.json" --steps
"$program" run "$tmp/pair.bsp.json" -q --chips 4 --profile "$tmp/pair.db" >/dev/null
expect 0 "on 4 chips of toy4" report "$tmp/pair.db"
expect 0 "Links: what they carried" report "$tmp/pair.db"
refuse "pair.db: expected a chip below 4, got 4" report "$tmp/pair.db" --chip 4
expect 0 "chip 1" run "$tmp/pair.bsp.json" --tiles=0
expect 0 "expectations 8" run "$tmp/pair.bsp.json" --check --plain
refuse "this program needs a machine with at least 2 chips, toy4 has 1" run "$tmp/pair.bsp.json" --chips 1
refuse "expected an integer from 1 to 4096 (chips), got '5000'" run "$tmp/pair.bsp.json" --set chips=5000
expect 0 "status ok" run "$tmp/pair.bsp.json" --chart "$tmp/a.svg"
[ "$(grep -c '>chip [01]: ' "$tmp/a.svg")" -eq 2 ] && grep -q '>words of other chips<' "$tmp/a.svg" && passed=$((passed + 1)) || fail "run pair --chart: no panel for each chip"
expect 0 "image $tmp/pair.img" compile "$tmp/pair.bsp.json" -o "$tmp/pair.img"
expect 0 "bytes_between_chips 32" run "$tmp/pair.img" --digests "$tmp/image.digests"
expect 0 "status equal" diff "$tmp/pair.digests" "$tmp/image.digests"
sed 's/^step 1 0 0 /step 1 0 1 /' "$tmp/pair.digests" >"$tmp/other.digests"
expect 1 "a chip 1 group 0" diff "$tmp/pair.digests" "$tmp/other.digests"
refuse "--chips does nothing for an image" run "$tmp/pair.img" --chips 2
expect 0 "chip 1, tile 3, group 0" dis "$tmp/pair.img" --tile 3
[ "$(grep -c '^chip [01], tile 3, ' "$tmp/out")" -eq 2 ] && passed=$((passed + 1)) || fail "dis pair: not the tile of both chips"
expect 0 "chip 1, tile 3, group 0" dis "$tmp/pair.img" --tile 3 --chip 1
grep -q '^chip 0' "$tmp/out" && fail "dis pair --chip 1: chip 0, too"
refuse "pair.img: expected a chip below 2, got 2" dis "$tmp/pair.img" --tile 3 --chip 2
refuse "--chip does nothing without --tile" dis "$tmp/pair.img" --chip 1
refuse "--link-jitter does nothing on one chip" run ring --link-jitter 9
for late in "--link-jitter 5000" "--set link_latency_ns=0" "--set link_mbytes_per_s=1600" "--set link_mbytes_per_s=160000" "--engine timing"; do
    expect 0 "status ok" run "$tmp/pair.bsp.json" $late
    sed -n '/^cycles /p' "$tmp/out" >>"$tmp/late.cycles"
    grep -q "$(sed -n 's/^each_chip\[1\].digest //p' "$tmp/pair.out")" "$tmp/out" || fail "run pair $late: another digest"
done
[ "$(sort -u "$tmp/late.cycles" | wc -l)" -ge 3 ] || fail "run pair: links of another speed change no cycles"
sed 's/((CHIP + 1) % CHIPS)/CHIP/' "$tmp/pair.S" >"$tmp/own.S"
sed 's/pair.S/own.S/' "$tmp/pair.bsp.json" >"$tmp/own.bsp.json"
expect 1 "fault.exchange NO_CHIP" run "$tmp/own.bsp.json"

# ---- pipes

piped() {
    text=$1
    shift
    sed "s#ring.S#$PWD/programs/lab/ring.S#" programs/lab/ring.bsp.json | "$program" "$@" >"$tmp/out" 2>"$tmp/err"
    grep -qF -- "$text" "$tmp/out" "$tmp/err" && passed=$((passed + 1)) || fail "a manifest | $*: expected '$text'"
}
piped "status ok" run -
piped "status ok" run /dev/stdin
piped "image $tmp/ring.img" compile - -o "$tmp/ring.img"
refuse "ring.img is an image already" compile "$tmp/ring.img" -o "$tmp/a"
refuse "--machine does nothing for an image" run "$tmp/ring.img" --machine toy4
refuse "--chart does nothing for an image" run "$tmp/ring.img" --chart "$tmp/a.svg"
refuse "No such file or directory" lab ring --chart "$tmp/nosuch/a.svg"
refuse "needs values" lab ring --engine timing --chart "$tmp/a.svg"
expect 0 "status ok" run "$tmp/ring.img"
"$program" run - <"$tmp/ring.img" >"$tmp/out" 2>"$tmp/err" && passed=$((passed + 1)) || fail "run - of an image"
printf 'main: sync 1\n bri main\n' | "$program" run - --machine toy4 --max-cycles 99 >"$tmp/out" 2>"$tmp/err"
[ $? -eq 3 ] && passed=$((passed + 1)) || fail "run - of a source"

# ---- images carry what the host writes

digest() { sed -n 's/^ *"digest": "\([0-9a-f]*\)",*$/\1/p' "$tmp/$1" | head -n 1; }
if "$program" $net --image "$tmp/one.png" --json -o "$tmp/net.img" >"$tmp/named" 2>"$tmp/err" &&
    "$program" run "$tmp/net.img" --json >"$tmp/imaged" 2>"$tmp/err" && [ -n "$(digest named)" ] &&
    [ "$(digest named)" = "$(digest imaged)" ]; then
    passed=$((passed + 1))
else
    fail "an image of a network has another digest"
fi
head -c 8192 /dev/zero >"$tmp/black" # 32 x 32 x 4 x f16
if "$program" run "$tmp/net.img" --json --input "picture=$tmp/black" >"$tmp/black.json" 2>"$tmp/err" &&
    [ "$(digest black.json)" != "$(digest named)" ]; then
    passed=$((passed + 1))
else
    fail "--input of an image"
fi
# With another picture, the image says what the network says of it.
classes() { sed -n '/"pictures": \[/,/^  \]/{s/,$//;p}' "$tmp/$1"; }
if "$program" $net --image models/pictures/cat.jpg --json >"$tmp/named" 2>"$tmp/err" && [ -n "$(classes named)" ] &&
    "$program" run "$tmp/net.img" --image models/pictures/cat.jpg --json >"$tmp/other.json" 2>"$tmp/err" &&
    [ "$(digest named)" = "$(digest other.json)" ] && [ "$(digest imaged)" != "$(digest other.json)" ] &&
    [ "$(classes named)" = "$(classes other.json)" ]; then
    passed=$((passed + 1))
else
    fail "--image of an image: another digest, or other classes"
fi
expect 0 "pictures[0].top5[4].score" run "$tmp/net.img"
tr '\0' '\377' <"$tmp/black" >"$tmp/nan" # no numbers, which JSON cannot say
expect 0 '"score": null' run "$tmp/net.img" --json --input "picture=$tmp/nan"
refuse "2 pictures for a batch of 1" run "$tmp/net.img" --image models/pictures/cat.jpg --image models/pictures/landscape.png
refuse "empty: " run "$tmp/net.img" --image "$tmp/empty"
refuse "either --input or --image, not both" run "$tmp/net.img" --image models/pictures/cat.jpg --input "picture=$tmp/black"
refuse "does not say how pictures are prepared" run "$tmp/ring.img" --image models/pictures/cat.jpg
refuse "--weights does nothing for an image" run "$tmp/net.img" --weights "$tmp/b0"
refuse "no input 'nosuch'; it has picture (4096 x f16)" run "$tmp/net.img" --input nosuch=/dev/null
refuse "input picture takes 4096 x f16, 8192 bytes: it ends too early" run "$tmp/net.img" --input picture=/dev/null
refuse "it goes on after the last element" run "$tmp/net.img" --input picture=/dev/zero
refuse "is not NAME=FILE" run "$tmp/net.img" --input picture
refuse "--input does nothing" run programs/lab/ring.bsp.json --input picture=/dev/null

# ---- parameters of another network, cut short, in another shape

if "$program" models efficientnet-b0 --resolution 32 -o "$tmp/b0" 2>"$tmp/err" >"$tmp/out"; then
    head -c 1000000 "$tmp/b0" >"$tmp/cut"
    refuse "cut: tensor" $net --weights "$tmp/cut"
    refuse "b0 is a safetensors file: it has weights, but no network: superstep run NETWORK --weights" run "$tmp/b0"
    expect 2 "missing features.1.1.block.0.0.weight" models efficientnet-b1 --weights "$tmp/b0"
    expect 2 "these are weights of efficientnet-b0, not of resnet-50" models resnet-50 --weights "$tmp/b0"
    expect 2 "misshapen classifier.1.weight: expected [10, 1280]" models efficientnet-b0 --classes 10 --weights "$tmp/b0"
    expect 0 "all 311 tensors are there" models efficientnet-b0 --weights "$tmp/b0"

    # How pictures are prepared follows the names in the file, unless options say something else; an image keeps it.
    expect 0 "shorter side to 37 (bicubic), middle 32 x 32 (torchvision's)" $net --weights "$tmp/b0"
    expect 0 "shorter side to 36 (bicubic), middle 32 x 32 (its publication's)" $net
    expect 0 "shorter side to 64 (bicubic), middle 32 x 32 (as chosen)" $net --crop 0.5
    expect 0 "not resized, middle 32 x 32 (as chosen)" $net --no-resize --json
    "$program" $net --resize 50 --image models/pictures/cat.jpg --json >"$tmp/chosen" 2>"$tmp/err"
    "$program" compile ${net#run } --resize 50 -o "$tmp/chosen.img" >"$tmp/out" 2>"$tmp/err"
    "$program" run "$tmp/chosen.img" --image models/pictures/cat.jpg --json >"$tmp/kept" 2>"$tmp/err"
    "$program" run "$tmp/net.img" --image models/pictures/cat.jpg --resize 50 --json >"$tmp/told" 2>"$tmp/err"
    [ -n "$(classes chosen)" ] && [ "$(classes chosen)" = "$(classes kept)" ] && [ "$(classes chosen)" = "$(classes told)" ] &&
        passed=$((passed + 1)) || fail "--resize means something else to run, compile and images"

    # A stream of an ONNX file is that of the network it was written from.
    "$program" models efficientnet-b0 --resolution 32 --weights "$tmp/b0" -o "$tmp/b0.onnx" >"$tmp/out" 2>"$tmp/err"
    "$program" $stream --weights "$tmp/b0" --resize 40 -n 3 -o "$tmp/named.csv" >"$tmp/out" 2>"$tmp/err"
    "$program" stream -q "$tmp/b0.onnx" --set tiles=128 --resize 40 -n 3 -o "$tmp/file.csv" >"$tmp/out" 2>"$tmp/err"
    [ -s "$tmp/file.csv" ] && cmp -s "$tmp/named.csv" "$tmp/file.csv" && grep -q "prepared    shorter side to 40" "$tmp/out" &&
        passed=$((passed + 1)) || fail "stream FILE.onnx differs from stream NETWORK"

    # Numbers by the names of initializers stand in for those of the file.
    "$program" models efficientnet-b0 --resolution 32 --seed 2 -o "$tmp/b0_2" >"$tmp/out" 2>"$tmp/err"
    "$program" $stream --weights "$tmp/b0_2" --resize 40 -n 3 -o "$tmp/named2.csv" >"$tmp/out" 2>"$tmp/err"
    "$program" stream -q "$tmp/b0.onnx" --weights "$tmp/b0_2" --set tiles=128 --resize 40 -n 3 -o "$tmp/file2.csv" >"$tmp/out" 2>"$tmp/err"
    [ -s "$tmp/file2.csv" ] && cmp -s "$tmp/named2.csv" "$tmp/file2.csv" && ! cmp -s "$tmp/file.csv" "$tmp/file2.csv" &&
        passed=$((passed + 1)) || fail "stream FILE.onnx --weights differs from stream NETWORK --weights"
    header='{"features.0.0.weight":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    printf "\\$(printf %o ${#header})\\0\\0\\0\\0\\0\\0\\0%s1234" "$header" >"$tmp/misshapen"
    refuse "initializer features.0.0.weight: it is f32 [32, 3, 3, 3]" models "$tmp/b0.onnx" --weights "$tmp/misshapen"
    refuse "the model has no initializer" models "$tmp/in.onnx" --weights "$tmp/b0"
    refuse "its results were made with network" stream -q "$tmp/b0.onnx" --set tiles=128 -n 3 -o "$tmp/file.csv" --resume
else
    fail "models efficientnet-b0 -o FILE"
fi

# ---- files to write

for option in --output --digests --write-weights --chart; do
    refuse "dir: Is a directory" $net $option "$tmp/dir"
    refuse "No such file or directory" $net $option "$tmp/nosuch/file"
done
if [ -c /dev/full ]; then
    refuse "No space left on device" $net --output /dev/full
    # A link is what would be replaced if devices were.
    ln -s /dev/full "$tmp/link"
    refuse "No space left on device" $net --write-weights "$tmp/link"
    expect 2 "No space left on device" $net --digests /dev/full
fi
full $net --json
full run -q efficientnet-b0 --layers
full models
full machines
full run --help
full run -q vector-add -D n=100 --machine toy4

# ---- streams: what is bad, what was there before

refuse "no pictures: empty directories" $stream --io-tiles 6 "$tmp/dir"
refuse "nosuch: No such file" $stream --io-tiles 6 "@$tmp/nosuch"
# Before the network is read, let alone compiled.
refuse "nosuchdir: No such file" stream "$tmp/bad.onnx" nosuchdir
refuse "nosuch.png: No such file" $stream --io-tiles 6 models/pictures "$tmp/nosuch.png"
"$program" stream efficientnet-b0 --resolution 32 --no-calibration --set tiles=128 --io-tiles 6 models/pictures >"$tmp/out" 2>"$tmp/err"
grep -q '^execute .* 2 pictures, ' "$tmp/err" && passed=$((passed + 1)) || fail "a stream does not say how far it is"
refuse "No such file or directory" $stream -o "$tmp/nosuch/a.csv" models/pictures
mkdir "$tmp/dir.csv" "$tmp/mixed"
refuse "dir.csv: Is a directory" $stream -o "$tmp/dir.csv" models/pictures
mkfifo "$tmp/mixed/1.jpg"
mkdir "$tmp/mixed/2.jpg"
ln -s nowhere "$tmp/mixed/3.jpg"
cp models/pictures/cat.jpg "$tmp/mixed/0.jpg"
cp "$tmp/empty" "$tmp/mixed/4.jpg"
cp "$tmp/cut.png" "$tmp/huge.png" "$tmp/mixed"
expect 3 "5 of 6 pictures are bad" $stream --json --io-tiles 6 "$tmp/mixed" -o "$tmp/a.csv"
grep -q '"bad": 5,' "$tmp/out" && passed=$((passed + 1)) || fail "the answer does not count bad files"
for name in 1.jpg 3.jpg 4.jpg cut.png huge.png; do
    grep -q "^  $tmp/mixed/$name: " "$tmp/err" && passed=$((passed + 1)) || fail "no word about the bad file $name"
done
expect 2 "no good picture, 1 bad" $stream --io-tiles 6 "$tmp/empty" -o "$tmp/b.csv"
printf torn >>"$tmp/a.csv"
cp "$tmp/a.csv" "$tmp/c.csv"
refuse "not the same pictures" $stream --io-tiles 6 models/pictures -o "$tmp/a.csv" --resume
refuse "for a prefetch depth of 3" $stream --io-tiles 2 "$tmp/mixed" -o "$tmp/a.csv" --resume
cmp -s "$tmp/a.csv" "$tmp/c.csv" && passed=$((passed + 1)) || fail "a refused stream has changed old results"
"$program" $stream --io-tiles 6 models/pictures -o "$tmp/d.csv" >&- 2>"$tmp/err"
grep -q 'cannot write the answer' "$tmp/err" && [ "$(wc -l <"$tmp/d.csv")" -eq 3 ] && passed=$((passed + 1)) ||
    fail "stdout is closed: the answer among the results"
if [ -c /dev/full ]; then
    ln -s /dev/full "$tmp/full.csv"
    expect 2 "No space left" $stream --io-tiles 6 models/pictures -o "$tmp/full.csv"
fi
# The list stays open: without the signal this would never end.
mkfifo "$tmp/names"
timeout -k 30 --preserve-status -s INT 2 "$program" $stream --io-tiles 6 - <>"$tmp/names" >"$tmp/out" 2>"$tmp/err"
[ $? -eq 3 ] && grep -q 'interrupted' "$tmp/err" && passed=$((passed + 1)) || fail "SIGINT while waiting for names"

# ---- what runs, but does not fit

expect 1 "OUT OF MEMORY" $net --set tiles=4 --try-for 0
expect 1 "Nothing was tried" $net --set tiles=4 --try-for 0
expect 1 "More: --report" $stream --io-tiles 6 --set tiles=12 models/pictures
expect 0 "Memory of 12 tiles" $stream --io-tiles 6 --set tiles=12 models/pictures --report --allow-oom
expect 1 "\"fits\": false" $stream --io-tiles 6 --set tiles=12 models/pictures --json
expect 1 '"fits": false' $net --set tiles=4 --json --try-for 0
expect 0 "OUT OF MEMORY" $net --set tiles=4 --allow-oom --try-for 0
(
    ulimit -v 8000000 2>/dev/null && "$program" machines >/dev/null 2>&1 || exit 0 # sanitizers want more
    "$program" $net --resolution 4096 --batch 4096 >"$tmp/out" 2>"$tmp/err"
    [ $? -eq 2 ] && grep -q '4096 pictures of 4096 x 4096: more than 2^32 elements' "$tmp/err"
) && passed=$((passed + 1)) || fail "4,096 pictures of 4096 x 4096 on a host with 8 GB"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
