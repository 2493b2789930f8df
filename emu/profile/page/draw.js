// draw.js - canvases, legends, tables and buttons that all views use.

// A context for a canvas that fits the screen, in CSS pixels.
function canvas(id, height) {
    const c = $(id), k = devicePixelRatio || 1, w = c.clientWidth;
    c.style.height = height + "px"; c.width = w * k; c.height = height * k;
    const g = c.getContext("2d");
    g.scale(k, k); g.font = "12px system-ui, sans-serif"; g.fillStyle = css("--ink");
    return [g, w, height];
}

// Entries are [text, variable of a colour].
function legend(id, list) {
    $(id).replaceChildren(...list.map(([text, variable]) => {
        const s = document.createElement("span"), i = document.createElement("i");
        i.style.background = `var(${variable})`; s.append(i, text);
        return s;
    }));
}
const partColours = () => Object.fromEntries(PARTS.map(p => [p[0], css(p[2])]));

// Text that is cut off where it does not fit.
function textWithin(g, text, x, y, width) {
    if (width < 14) return;
    let n = text.length;
    while (n && g.measureText(n < text.length ? text.slice(0, n) + "…" : text).width > width) n = n > 40 ? 40 : n - 1;
    if (n > 2 || n == text.length) g.fillText(n < text.length ? text.slice(0, n) + "…" : text, x, y);
}

// Marks of an axis from 0 to a largest value: a round distance, about n of them.
function ticks(largest, n, base = 10) {
    let step = 1;
    for (const m of base == 10 ? [1, 2, 5] : [1, 2, 4, 8])
        for (let e = 1; e * m <= largest; e *= base == 10 ? 10 : 16) if (largest / (e * m) >= n && e * m > step) step = e * m;
    const list = [];
    for (let v = 0; v <= largest; v += step) list.push(v);
    return list;
}

// Marks of cycles below a picture of time.
function timeAxis(g, w, h, left, from, to) {
    g.fillStyle = css("--soft");
    const n = w - left < 500 ? 2 : 5; // marks that do not touch each other
    for (let i = 0; i <= n; i++) {
        g.textAlign = i == 0 ? "left" : i == n ? "right" : "center";
        g.fillText(group(from + (to - from) * i / n) + (i == 0 ? " cycles" : ""), left + (w - left) * i / n, h - 5);
    }
    g.textAlign = "left";
}

// columns: [field, heading, "text" | "long" | ""], values are written by show(field, row).
function fillTable(id, columns, rows, show, sort) {
    const head = document.createElement("tr");
    for (const [field, title, kind] of columns) {
        const th = document.createElement("th");
        th.className = kind ? "text" : "";
        if (sort) {
            const b = document.createElement("button"), by = sort.by == field;
            b.textContent = title + (by ? sort.down ? " ▼" : " ▲" : "");
            th.setAttribute("aria-sort", by ? sort.down ? "descending" : "ascending" : "none");
            b.onclick = () => { sort.down = by ? !sort.down : !kind; sort.by = field; sort.again(); };
            th.append(b);
        } else {
            th.textContent = title;
        }
        head.append(th);
    }
    $(id).replaceChildren(head, ...rows.map(r => {
        const tr = document.createElement("tr");
        if (r.chosen) tr.className = "chosen";
        for (const [field, , kind] of columns) {
            const td = document.createElement("td"), v = show(field, r);
            td.className = kind == "long" ? "text long" : kind || "";
            td.append(v); tr.append(td);
        }
        return tr;
    }));
    $(id).parentElement.tabIndex = 0;
}

// Buttons of which one is pressed.
function choice(id, list, at, pressed) {
    $(id).replaceChildren(...list.map((text, i) => {
        const b = document.createElement("button");
        b.textContent = text; b.setAttribute("aria-pressed", i == at);
        b.onclick = () => {
            [...$(id).children].forEach((c, k) => c.setAttribute("aria-pressed", k == i));
            pressed(i);
        };
        return b;
    }));
}

// From little to much, for the colour-blind as well.
const rgbOf = text => [1, 3, 5].map(i => parseInt(text.slice(i, i + 2), 16));
let RAMP = [];
function readRamp() { RAMP = [0, 1, 2, 3].map(i => rgbOf(css("--ramp" + i))); }
function ramp(v) {
    const x = clamp(v, 0, 1) * (RAMP.length - 1), i = Math.min(Math.floor(x), RAMP.length - 2);
    return RAMP[i].map((c, k) => Math.round(c + (RAMP[i + 1][k] - c) * (x - i)));
}
// Text that is read on a shade of the ramp.
const onRamp = v => { const [r, g, b] = ramp(v); return 0.3 * r + 0.6 * g + 0.1 * b > 130 ? "#111" : "#fff"; };
const onColour = text => { const [r, g, b] = rgbOf(text); return 0.3 * r + 0.6 * g + 0.1 * b > 150 ? "#111" : "#fff"; };
const rampColour = v => "rgb(" + ramp(v) + ")";
function rampKey(g, x, y, top, zero, words) {
    for (let i = 0; i < 90; i++) { g.fillStyle = rampColour(1 - i / 89); g.fillRect(x, y + i, 16, 1.5); }
    g.fillStyle = css("--ink");
    g.fillText(top, x + 22, y + 10); g.fillText(zero, x + 22, y + 90); g.fillText(words, x, y + 110);
}

// Zoom and drag along x, of a view { from, to, end, least } that draw() shows; click(x) gets a place in its units.
function pannable(id, view, draw, click, left = 0) {
    const c = $(id), span = () => view.to - view.from, width = () => c.clientWidth - left;
    const at = e => view.from + (e.offsetX - left) / width() * span();
    let drag = null, moved = false;
    c.addEventListener("wheel", e => {
        e.preventDefault(); zoomTo(view, e.deltaY > 0 ? 1.25 : 0.8, at(e)); draw();
    }, { passive: false });
    c.addEventListener("pointerdown", e => { drag = e.offsetX; moved = false; });
    addEventListener("pointerup", () => drag = null);
    c.addEventListener("pointermove", e => {
        if (drag === null) return;
        moved = moved || Math.abs(drag - e.offsetX) > 3;
        if (!moved) return;
        moveTo(view, view.from + (drag - e.offsetX) / width() * span()); drag = e.offsetX; draw();
    });
    c.addEventListener("click", e => { if (!moved) click(at(e)); });
}
function zoomTo(view, factor, middle) {
    const n = clamp((view.to - view.from) * factor, Math.min(view.least, view.end), view.end), part = (middle - view.from) / (view.to - view.from || 1);
    view.to = view.from = middle - n * part; view.to += n;
    moveTo(view, view.from);
}
function moveTo(view, from) {
    const n = view.to - view.from;
    view.from = clamp(from, 0, view.end - n); view.to = view.from + n;
}
// Shows a range that may be outside.
function showRange(view, a, b) {
    if (a >= view.from && b <= view.to) return;
    const n = Math.max(view.to - view.from, b - a);
    view.to = view.from + n;
    moveTo(view, (a + b - n) / 2);
}
