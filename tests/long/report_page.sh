#!/bin/bash
# The pages of --html in headless Chromium, without a network: no error of JavaScript; cycles, layers, words, needs and differences as the
# database has them; a picture of every view, kept in build/pages; the times of opening and drawing B4 and 5,001 supersteps of 1,472 tiles.
# About 6 minutes on two cores.
#
#   SHOTS=DIR       keep the pictures there
#   SUPERSTEP=FILE  the program (default: build/superstep, built first)
#   LARGE=1         B4 at batch 25, which does not fit, instead of a matmul that does not
. "$(dirname "$0")/common.sh"
browser=$(command -v chromium || command -v chromium-browser) || skip "chromium is not installed"
build
shots=${SHOTS:-build/pages}
mkdir -p "$shots" && shots=$(realpath "$shots")

# commas NUMBER: as the page writes it
commas() { sed -E ':a;s/^([0-9]+)([0-9]{3})/\1,\2/;ta' <<<"$1"; }
query() { "$superstep" report "$tmp/$1.db" --json >"$tmp/report" && number "$tmp/report" "$2"; }

# look HASH OPTIONS...: of the browser, on the page, with time for all that it draws; $tmp/log has what it says
look() {
    local hash=$1
    shift
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --proxy-server=127.0.0.1:9 --user-data-dir="$tmp/profile" \
        --window-size=1280,1400 --virtual-time-budget=20000 --enable-logging=stderr --v=0 "$@" "file://$tmp/page.html#$hash" 2>"$tmp/log"
    local code=$?
    grep -q CONSOLE "$tmp/log" && fail "$name: $(grep -m 1 CONSOLE "$tmp/log")"
    return $code
}

# has TEXT: the page says so
has() { grep -qF -- "$1" "$tmp/dom" || fail "$name: the page does not say '$1'"; }

# pictures VIEW...: one of each
pictures() {
    for view; do
        look "view=$view" --screenshot="$shots/$name-${view//[&=]/-}.png" >"$tmp/out"
        [ -s "$shots/$name-${view//[&=]/-}.png" ] || fail "$name: no picture of $view"
    done
}

# page NAME WHAT OPTIONS...: runs it, and reads its page
page() {
    name=$1
    shift
    "$superstep" "$@" -q --profile "$tmp/$name.db" >/dev/null 2>&1
    "$superstep" report "$tmp/$name.db" --html "$tmp/page.html" || { fail "$name: no page"; return; }
    look "" --dump-dom >"$tmp/dom" || fail "$name: the browser: $(tail -1 "$tmp/log")"
    grep -q 'data-ready="[0-9]' "$tmp/dom" || fail "$name: not all views were drawn"
    printf '%-10s %10s bytes of page\n' "$name" "$(stat -c %s "$tmp/page.html")"
}

# ran: its numbers are those of the database
ran() {
    local cycles words
    cycles=$(query "$name" .cycles)
    grep -q "<title>.*: $(commas "$cycles") cycles</title>" "$tmp/dom" || fail "$name: the title is not of $cycles cycles"
    has "$(commas "$(query "$name" '.bsp[0].w')") cycles"
    has "$(commas "$(query "$name" '.bsp[0].predicted | floor')") cycles"
    if [ "$(query "$name" '.layers | length')" -gt 0 ]; then
        has "<td class=\"text\">$(query "$name" '.layers | max_by(.cycles) | .name')</td>"
    fi
    words=$("$superstep" report "$tmp/$name.db" --csv steps | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "words_in") k = i }
        NR > 1 && $2 == 0 { sum += $k } END { printf "%d", sum }')
    look "view=traffic" --dump-dom >"$tmp/dom"
    has "All supersteps: $(commas "$words") words received"
}

# fits_a_phone: nothing sticks out at 420 pixels, and a dark screen has another ground
fits_a_phone() {
    cat >"$tmp/phone.html" <<'END'
<body style="margin:0"><iframe style="width:420px;height:3000px;border:0" src="page.html"></iframe><p id="said"></p><script>
const frame = document.querySelector("iframe"), said = document.getElementById("said");
frame.onload = () => setTimeout(() => {
    const root = frame.contentDocument.documentElement;
    said.textContent = (root.scrollWidth > 420 ? "wider: " + root.scrollWidth : "fits") + ", ground " + frame.contentWindow.getComputedStyle(frame.contentDocument.body).backgroundColor;
}, 3000);
</script>
END
    local options
    for options in "" --force-dark-mode; do
        timeout 120 "$browser" --headless --no-sandbox --disable-gpu --allow-file-access-from-files --user-data-dir="$tmp/profile" --virtual-time-budget=15000 \
            $options --dump-dom "file://$tmp/phone.html" 2>/dev/null | sed -n 's/.*<p id="said">\([^<]*\)<.*/\1/p' >"$tmp/phone$options"
        grep -q '^fits' "$tmp/phone$options" || fail "$name: $(cat "$tmp/phone$options")"
    done
    cmp -s "$tmp/phone" "$tmp/phone--force-dark-mode" && fail "$name: no dark colours"
}

# printed: on paper every view is there
printed() {
    command -v pdftotext >/dev/null || return
    look "" --no-pdf-header-footer --print-to-pdf="$tmp/page.pdf" >"$tmp/out"
    pdftotext "$tmp/page.pdf" "$tmp/paper"
    for title; do
        grep -q "^$title" "$tmp/paper" || fail "$name: '$title' is not printed"
    done
}

# speed: how fast the page is, by the clock of the browser
speed() {
    command -v python3 >/dev/null || return
    cp "$tmp/page.html" "$tmp/$name.html"
    python3 "$(dirname "$0")/page_speed.py" "$browser" "$tmp/$name.html" || fail "$name: slow"
}

page b4 run efficientnet-b4 --engine timing --no-calibration
ran
speed
[ "$(stat -c %s "$tmp/page.html")" -lt 10000000 ] || fail "b4: the page is larger than 10 MB"
pictures summary floor tile memory "liveness&live=tile" time "time&zoom=1" layers traffic "traffic&by=step"
page b4w run efficientnet-b4 --engine timing --no-calibration --set sync_chip_cycles=60 --exchange memory
"$superstep" compare "$tmp/b4.db" "$tmp/b4w.db" --json >"$tmp/report"
name=compare
"$superstep" compare "$tmp/b4.db" "$tmp/b4w.db" --html "$tmp/page.html" || fail "compare: no page"
look "" --dump-dom >"$tmp/dom"
has "<td class=\"text\">$(number "$tmp/report" '.layers[0].name')</td><td class=\"\">$(commas "$(number "$tmp/report" '.layers[0].cycles_a')")</td>"
pictures compare
page steps run stencil -m mk2 -D steps=5000 -D width=64 --engine timing
ran
speed
page ring run ring
ran
pictures summary floor tile memory time layers traffic
fits_a_phone
printed Summary "Tiles on the chip" "Memory by tile" "Supersteps in time" "Who sends to whom"
page overlap run overlap
ran
pictures time
page fault run mistake_recv
has "Stopped: "
grep -q 'id="bill-part" hidden' "$tmp/dom" || fail "fault: a bill of supersteps that did not end"
grep -q 'id="verdict">[^<]*bounds it' "$tmp/dom" && fail "fault: something bounds a run that stopped"
pictures summary
if [ "${LARGE:-}" ]; then
    page oom run efficientnet-b4 --batch 25 --engine timing --no-calibration
else
    page oom run matmul -m toy16 -D m=512 -D n=512 -D k=512
fi
has "It does not fit"
tile=$(query oom '.needs[0].tile')
has "tile $tile needs most"
has "$(query oom '.peak_owners[0].owner')"
has "$(query oom '.advice[0].text')"
pictures summary oom floor tile memory "liveness&live=tile"
finish
