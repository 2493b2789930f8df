#!/bin/bash
# Assembles every .S file of PopLibs, unmodified, and checks that disassembling and assembling again gives the same words; then
# links each library's files as one unit.
#
#   SUPERSTEP_POPLIBS=DIR  a checkout of PopLibs; without it the test is skipped
#   SUPERSTEP=FILE         the program (default: build/superstep, built first)
. "$(dirname "$0")/common.sh"
. tests/long/assemble.sh
poplibs=${SUPERSTEP_POPLIBS:-}
[ -n "$poplibs" ] && [ -d "$poplibs/lib" ] || skip "SUPERSTEP_POPLIBS does not name a checkout of PopLibs"
build
want=201

while read -r file; do
    check_file "$file" -I "$poplibs/include"
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
