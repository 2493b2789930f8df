#!/bin/bash
# Assembles every .S and .s file below a folder, unmodified: assembly of other people's projects. Three programs of two projects are
# executed, too, if they are there: tests/long/foreign/*.json says with what, and what must come out.
#
#   SUPERSTEP_FOREIGN=DIR  one folder a project, such as ipu-stack (github.com/osmarks/ipu-stack), llvm-project-fork/compiler-rt
#                          and tensorflow (github.com/graphcore/...); without it the test is skipped
#   SUPERSTEP=FILE         the program (default: build/superstep, built first)
. "$(dirname "$0")/common.sh"
. tests/long/assemble.sh
foreign=${SUPERSTEP_FOREIGN:-}
[ -d "$foreign" ] || skip "SUPERSTEP_FOREIGN does not name a folder"
build

# execute CASE FILE...: the case with the files in place of FOREIGN/NAME; those that are not there are named
execute() {
    local text path name=$1
    text=$(cat "tests/long/foreign/$name.json")
    for file in "${@:2}"; do
        path=$(find "$foreign" -name "$file" | sort | head -n 1)
        [ -n "$path" ] || { echo "not executed: $name, there is no $file"; return; }
        text=${text//"FOREIGN/$file"/$path}
    done
    text=${text//'"builtins.S"'/"\"$PWD/tests/long/foreign/builtins.S\""}
    "$superstep" tile --json --case - <<<"$text" >"$tmp/answer" || { fail "$name: $(number "$tmp/answer" .status)"; return; }
    echo "executed $name: $(number "$tmp/answer" .cycles) cycles"
}

# Some runtimes of ipu-stack branch on $m14, which no chip has: they are refused for mk2, and assembled for a what-if that has it.
echo '{ "base": "mk2", "name": "m14", "main_registers": 13 }' >"$tmp/m14.json"

for project in "$foreign"/*/; do
    before=$assembled files=0 what_if=0
    while read -r file; do
        machine=mk2
        grep -q 'brn\?z[[:space:]]*\$m14' "$file" && { machine=$tmp/m14.json; what_if=$((what_if + 1)); }
        check_file "$file"
        files=$((files + 1))
    done < <(find "$project" -name '*.[sS]' | sort)
    echo "$(basename "$project"): assembled $((assembled - before)) of $files files"
    [ "$what_if" = 0 ] || echo "$what_if of them branch on \$m14: assembled for a what-if that has it"
done
echo "$bytes bytes; disassembled and assembled again: $same"

execute gelu gelu_f16.S
execute stores st8.S st16.S
execute comparisons strict_f32cmp.S
finish
