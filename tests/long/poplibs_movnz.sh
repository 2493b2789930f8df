#!/bin/bash
# Settles what the word 0x47000a00 means, which the vendor's tables name movz and movnz: PopLibs' Fill of bytes gives the right result
# only if it moves when the condition is NOT zero. Its source says beside the movnz what it is for: "START_FILL = OUT_SIZE if OUT_SIZE <
# N_START_FILL", where the condition is 1 if OUT_SIZE is less. A fill of 2 bytes behind an odd address would write 3 with the other meaning.
#
#   SUPERSTEP_POPLIBS=DIR  a checkout of PopLibs; without it the test is skipped
#   SUPERSTEP=FILE         the program (default: build/superstep, built first)
. "$(dirname "$0")/common.sh"
poplibs=${SUPERSTEP_POPLIBS:-}
[ -n "$poplibs" ] && [ -d "$poplibs/lib" ] || skip "SUPERSTEP_POPLIBS does not name a checkout of PopLibs"
build

# bytes FROM COUNT: sixteen bytes of which COUNT are filled
bytes() {
    local i list=
    for ((i = 0; i < 16; i++)); do
        list+=", $((i >= $1 && i < $1 + $2 ? 90 : 100 + i))"
    done
    echo "${list:2}"
}

runs=0
for at in 4 5 6 7; do
    for count in 1 2 3 4 5 6; do
        cat >"$tmp/case.json" <<END
{ "source": "$(realpath "$poplibs")/lib/popops/codelets/asm/Fill.S", "include": "$(realpath "$poplibs")/include",
  "entry": "__runCodelet_popops__Fill___unsigned_char", "as": "worker",
  "memory": [ {"name": "x", "u8": [$(bytes 0 0)]} ],
  "state": [90, "x+$at", $count],
  "expect": [ {"name": "x", "u8": [$(bytes $at $count)]} ] }
END
        "$superstep" tile --json "$tmp/case.json" >"$tmp/said" 2>&1 || { fail "$count bytes at $at"; head -n 5 "$tmp/said"; }
        runs=$((runs + 1))
    done
done
echo "$runs fills"
finish
