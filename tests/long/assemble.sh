# assemble.sh - assembles a file of somebody else, unmodified, and checks that disassembling and assembling again gives the same
# words. To be sourced after common.sh.

# Sections without their names: addresses, flags, alignments, sizes, words.
words() { grep '^[ s]' "$1" | grep -v '^symbol' | sed 's/ "[^"]*" "[^"]*"$//'; }

complain() {
    fail "$1"
    head -n 3 "$tmp/said"
}

# check_file FILE OPTION...: counts in assembled, same, bytes. machine: the one that it is assembled for
assembled=0 same=0 bytes=0 machine=mk2
check_file() {
    "$superstep" asm --machine="$machine" --allow-undefined "${@:2}" -o "$tmp/first" "$1" 2>"$tmp/said" ||
        { complain "does not assemble: $1"; return; }
    assembled=$((assembled + 1))
    "$superstep" dis "$tmp/first" >"$tmp/again.S" 2>"$tmp/said" ||
        { complain "does not disassemble: $1"; return; }
    "$superstep" asm --machine="$machine" --raw -o "$tmp/second" "$tmp/again.S" 2>"$tmp/said" ||
        { complain "does not assemble again: $1"; return; }
    cmp -s <(words "$tmp/first") <(words "$tmp/second") || { complain "other words: $1"; return; }
    same=$((same + 1))
    bytes=$((bytes + $(awk '/^section/ { n += $5 } END { print n + 0 }' "$tmp/first")))
}
