#!/bin/sh
# run_lab.sh SUPERSTEP MANIFEST...: every program must meet its expectations and say the same with one thread and two, with the plain
# functions, in the checking mode, and as an image file; the digests of its supersteps must be equal.
program=$1
shift
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0

fail() {
    failed=$((failed + 1))
    echo "FAILED: $program run $1: $2"
}

# Everything but what only one way of running prints.
plain_text() {
    grep -vE '^(expectations|unmet|check|differences|parameters)' "$1"
}

check() {
    manifest=$1 expected=$2
    "$program" run -j1 --digests "$tmp/a" "$manifest" >"$tmp/one" 2>&1
    if [ $? -ne "$expected" ]; then
        fail "$manifest" "exit status"
        head -n 30 "$tmp/one"
        return
    fi
    "$program" run -j2 --digests "$tmp/b" "$manifest" >"$tmp/two" 2>&1
    cmp -s "$tmp/one" "$tmp/two" || { fail "$manifest" "-j2 says something else"; return; }
    "$program" diff "$tmp/a" "$tmp/b" >"$tmp/diff" 2>&1 || { fail "$manifest" "digests differ"; cat "$tmp/diff"; return; }
    "$program" run --plain "$manifest" >"$tmp/two" 2>&1
    cmp -s "$tmp/one" "$tmp/two" || { fail "$manifest" "--plain says something else"; return; }
    "$program" run --check "$manifest" >"$tmp/two" 2>&1
    grep -qE '^check_reports 0$|^status ok: reported' "$tmp/two" || { fail "$manifest" "--check reports something"; grep '^check' "$tmp/two"; return; }
    plain_text "$tmp/one" >"$tmp/a"
    plain_text "$tmp/two" >"$tmp/b"
    cmp -s "$tmp/a" "$tmp/b" || { fail "$manifest" "--check changes the result"; return; }
    if ! grep -q '^streams' "$tmp/one" && ! grep -qE '^fault|^status ok: reported' "$tmp/one"; then
        "$program" compile "$manifest" -o "$tmp/image" >/dev/null 2>&1 && "$program" run "$tmp/image" >"$tmp/two" 2>&1
        plain_text "$tmp/two" >"$tmp/b"
        cmp -s "$tmp/a" "$tmp/b" || { fail "$manifest" "its image says something else"; return; }
    fi
    passed=$((passed + 1))
}

for manifest in "$@"; do
    check "$manifest" 0
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
