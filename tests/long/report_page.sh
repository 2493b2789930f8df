#!/bin/bash
# The pages of --html in headless Chromium, without a network: no error of JavaScript, cycles and largest layer as the database has
# them, a screenshot of each. About 3 minutes on two cores.
#
#   SHOTS=DIR       keep the screenshots there
#   SUPERSTEP=FILE  the program (default: build/superstep, built first)
. "$(dirname "$0")/common.sh"
browser=$(command -v chromium || command -v chromium-browser) || skip "chromium is not installed"
build
shots=${SHOTS:-$tmp}
mkdir -p "$shots"

# commas NUMBER: as the page writes it
commas() { sed -E ':a;s/^([0-9]+)([0-9]{3})/\1,\2/;ta' <<<"$1"; }

# look OPTIONS...: of the browser, on the page
look() {
    timeout 60 "$browser" --headless --no-sandbox --disable-gpu --proxy-server=127.0.0.1:9 --user-data-dir="$tmp/profile" \
        --window-size=1280,2000 --enable-logging=stderr --v=0 "$@" "file://$tmp/page.html" 2>"$tmp/log"
}

# try NAME WHAT OPTIONS...: a run and its page
try() {
    local name=$1 cycles
    shift
    "$superstep" run -q "$@" --profile "$tmp/run.db" >/dev/null 2>&1
    "$superstep" report "$tmp/run.db" --html "$tmp/page.html" || { fail "$name: no page"; return; }
    "$superstep" report "$tmp/run.db" --json >"$tmp/report"
    cycles=$(number "$tmp/report" .cycles)
    look --dump-dom >"$tmp/dom" || fail "$name: the browser: $(tail -1 "$tmp/log")"
    grep -q 'CONSOLE' "$tmp/log" && fail "$name: $(grep -m 1 CONSOLE "$tmp/log")"
    grep -q "<title>.*: $(commas "$cycles") cycles</title>" "$tmp/dom" || fail "$name: the title is not of $cycles cycles"
    if holds "$tmp/report" '.layers | length > 0'; then
        grep -q "<td class=\"text\">$(number "$tmp/report" '.layers | max_by(.cycles) | .name')</td>" "$tmp/dom" ||
            fail "$name: the largest layer is not in the table"
    fi
    look --screenshot="$shots/$name.png"
    [ -s "$shots/$name.png" ] || fail "$name: no screenshot"
    printf '%-10s %12s cycles %10s bytes of page\n' "$name" "$cycles" "$(stat -c %s "$tmp/page.html")"
}

try b4 efficientnet-b4 --engine timing --no-calibration
try overlap overlap
try fault mistake_recv
finish
