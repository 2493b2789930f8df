#!/bin/bash
# Breaks each fast path on purpose, one place at a time, and sees that a test of `make check` fails (tests/long/mutations.txt). Works on
# a copy of the last commit below build/.
#
#   ONLY=REGEX  the mutations of which the first line matches, such as 'copy_merge|image_pool'
#   KEEP=1      keeps the copy
. "$(dirname "$0")/common.sh"
list=$PWD/tests/long/mutations.txt copy=build/mutations
git worktree prune
[ -d $copy ] || git worktree add --quiet --detach $copy HEAD || exit 2
# shellcheck disable=SC2064 # the folder of now
[ -n "${KEEP:-}" ] || trap "cd '$PWD'; rm -rf '$tmp'; git worktree remove --force $copy" EXIT
cd $copy || exit 2
[ -n "${KEEP:-}" ] && git checkout --quiet --force --detach "$(git -C ../.. rev-parse HEAD)"
make -s -j2 >"$tmp/log" 2>&1 || { tail "$tmp/log"; exit 2; }
found=0 all=0

# mutate FILE OLD NEW: exactly one place
mutate() {
    OLD=$2 NEW=$3 perl -0pi -e '
        BEGIN { ($old, $new) = ($ENV{OLD}, $ENV{NEW}) }
        $n = () = /\Q$old\E/g; s/\Q$old\E/$new/ if $n == 1; END { exit($n != 1) }' "$1"
}

# fails TEST...: whether one of the tests fails, and which in $by
fails() {
    for by in "$@"; do
        case $by in
        check-*) make -s -j2 "$by" >"$tmp/log" 2>&1 || return 0 ;;
        *)
            make -s -j2 "build/obj/release/tests/$by" >"$tmp/log" 2>&1 || { by="$by (does not build)" && return 1; }
            OMP_WAIT_POLICY=passive timeout 300 "build/obj/release/tests/$by" >"$tmp/log" 2>&1 || return 0
            ;;
        esac
    done
    return 1
}

try() {
    [[ $what =~ ${ONLY:-} ]] || return 0
    local file=${what%%:*} begin=$SECONDS
    all=$((all + 1))
    cp "$file" "$tmp/saved"
    if ! mutate "$file" "$old" "$new"; then
        fail "$what: '$old' does not stand exactly once in $file"
    elif
        # shellcheck disable=SC2086 # tests, one by one
        fails $tests
    then
        found=$((found + 1))
        printf 'found     %4d s  %s: %s\n' $((SECONDS - begin)) "$what" "$by"
    else
        fail "not found $what: ${by:-}"
        tail -n 3 "$tmp/log"
    fi
    cp "$tmp/saved" "$file"
}

while IFS= read -r line; do
    case $line in
    '= '*) what=${line#= } ;;
    '- '*) old=${line#- } ;;
    '+ '*) new=${line#+ } ;;
    '+') new='' ;;
    '? '*) tests=${line#'? '} && try ;;
    esac
done <"$list"
echo "$found of $all mutations found by a test"
[ "$all" -gt 0 ] || fail "no mutations"
finish
