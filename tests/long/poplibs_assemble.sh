#!/bin/bash
# Assembles every .S file of PopLibs, unmodified, and checks that disassembling and assembling again gives the same words; then
# links each library's files as one unit.
#
#   SUPERSTEP_POPLIBS=DIR  a checkout of PopLibs; without it the test is skipped
#   SUPERSTEP=FILE         the program (default: build/superstep, built first)
. "$(dirname "$0")/common.sh"
poplibs=${SUPERSTEP_POPLIBS:-}
[ -d "$poplibs/lib" ] || skip "SUPERSTEP_POPLIBS does not name a checkout of PopLibs"
build
want=201

# Sections without their names: addresses, flags, alignments, sizes, words.
words() { grep '^[ s]' "$1" | grep -v '^symbol' | sed 's/ "[^"]*" "[^"]*"$//'; }

complain() {
    fail "$1"
    head -n 3 "$tmp/said"
}

check_file() {
    "$superstep" asm --allow-undefined -I "$poplibs/include" -o "$tmp/first" "$1" 2>"$tmp/said" ||
        { complain "does not assemble: $1"; return; }
    assembled=$((assembled + 1))
    "$superstep" dis "$tmp/first" >"$tmp/again.S" 2>"$tmp/said" ||
        { complain "does not disassemble: $1"; return; }
    "$superstep" asm --raw -o "$tmp/second" "$tmp/again.S" 2>"$tmp/said" ||
        { complain "does not assemble again: $1"; return; }
    cmp -s <(words "$tmp/first") <(words "$tmp/second") || { complain "other words: $1"; return; }
    same=$((same + 1))
    bytes=$((bytes + $(awk '/^section/ { n += $5 } END { print n + 0 }' "$tmp/first")))
}

assembled=0 same=0 bytes=0
while read -r file; do
    check_file "$file"
done < <(find "$poplibs/lib" -name '*.S' | sort)
echo "assembled $assembled of $want files, $bytes bytes; disassembled and assembled again: $same"
[ "$assembled" = "$want" ] || fail "$assembled files"

# Two functions come from elsewhere, the runtime and a C++ file: nothing else may be undefined.
cat >"$tmp/elsewhere.S" <<END
.section .text.elsewhere, "ax"
.globl _Longmemcpy_entry
.globl _ZN6popops32checkAccuracyWhenCastComputeImplIfDhEEbT_f
_Longmemcpy_entry:
_ZN6popops32checkAccuracyWhenCastComputeImplIfDhEEbT_f:
    br \$lr
END
linked=0
for dir in "$poplibs"/lib/*/codelets/asm; do
    ls "$dir"/*.S >/dev/null 2>&1 || continue
    "$superstep" asm -I "$poplibs/include" -o "$tmp/first" "$dir"/*.S "$tmp/elsewhere.S" 2>"$tmp/said" ||
        { complain "does not link: $dir"; continue; }
    linked=$((linked + 1))
done
echo "linked $linked libraries"
[ "$linked" -gt 0 ] || fail "nothing to link"
finish
