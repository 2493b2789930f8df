#!/bin/sh
# run_course.sh [--write] SUPERSTEP: what docs/course.md shows is what comes out: runs the commands of its console blocks ("$ ..."), in
# order, in an empty folder, and compares the page with what they print. --write puts that into the page.
write=
[ "$1" = --write ] && write=1 && shift
program=$(realpath "$1")
page=docs/course.md
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/bin" "$tmp/course"
ln -s "$program" "$tmp/bin/superstep"
PATH="$tmp/bin:$PATH"
export PATH
commands=0 block=0

while IFS= read -r line; do
    case $block$line in
    '0```console') block=1 ;;
    '1```') block=0 ;;
    1'$ '*)
        commands=$((commands + 1))
        printf '%s\n' "$line"
        (cd "$tmp/course" && sh -c "${line#'$ '}" </dev/null 2>&1)
        continue
        ;;
    1*) continue ;; # what the page says came out
    esac
    printf '%s\n' "$line"
done <$page >"$tmp/page"

if [ -n "$write" ]; then
    cp "$tmp/page" $page
elif ! diff $page "$tmp/page" >"$tmp/diff"; then
    echo "FAILED: $page (<) shows something else than what comes out (>):"
    head -n 30 "$tmp/diff"
    exit 1
fi
commands=$(grep -c '^\$ ' "$tmp/page")
echo "$commands commands of $page, all as it says"
[ "$commands" -gt 20 ]
