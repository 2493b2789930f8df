# common.sh - what the scripts of tests/long share; to be sourced by bash before anything else. They then stand in the top folder and
# have an empty folder $tmp. They read the answers of the program as JSON, with jq, never the text that is meant for people.
#
#   SUPERSTEP=FILE  the program, from the top folder (default: build/superstep, built first)
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 2
command -v jq >/dev/null || { echo "jq is not installed (.ci/setup does that)"; exit 2; }
superstep=${SUPERSTEP:-build/superstep}
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
export SUPERSTEP_CACHE= # what users keep touches no test
failed=0

# skip WHY: ends the script; what cannot run here is no failure.
skip() { echo "skipped: $1"; exit 0; }

# build TARGET...: with the program, unless it was given
build() {
    [ -n "${SUPERSTEP:-}" ] || set -- build/superstep "$@"
    [ $# -eq 0 ] || make -s -j2 "$@" || exit 2
}

# number FILE PATH: a figure or a word of an answer; nothing where there is none
number() { jq -r "$2 | values" "$1"; }

# holds FILE CONDITION: whether a condition of jq is true for an answer
holds() { jq -e "$2" "$1" >/dev/null 2>&1; }

# calculate EXPRESSION: with fractions
calculate() { awk "BEGIN { print $1 }"; }

# chip_programs TOOL: programs for 2 and 4 toy chips, by hand and compiled (chips_image.c), the latter for both engines: a line of arguments
# of `run` for each
chip_programs() {
    local chips p
    for chips in 2 4; do
        for p in pingpong halo chip_allreduce chip_exchange; do echo "$p --chips $chips"; done
        "$1" toy16 $chips 32 32 2 "$tmp/ring$chips.img" || echo "$1 fails"
        echo "$tmp/ring$chips.img"
        echo "$tmp/ring$chips.img --engine timing"
    done
}

# fail WORDS: counts a failure
fail() {
    echo "FAILED: $*"
    failed=$((failed + 1))
}

# finish: ends the script
finish() {
    [ "$failed" -eq 0 ] && echo "all right" || echo "$failed failed"
    exit $((failed != 0))
}
