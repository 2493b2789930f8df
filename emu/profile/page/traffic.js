// traffic.js - words from tile to tile: a matrix of blocks of tiles to zoom into, and arrows where there are few tiles.

const traffic = { step: false, pairs: { n: 0 }, seen: false, tiles: 1, x: 0, y: 0, size: 1, row: 0, column: 0, top: 1 };
const CELLS = 92, FEW_TILES = 64;

// Pairs with their tiles, from differences.
function pairsOf(list) {
    const n = list.length / 4, to = new Uint32Array(n), from = new Uint32Array(n);
    for (let i = 0, t = 0, s = 0; i < n; i++) { to[i] = t = t + list[i] >>> 0; from[i] = s = s + list[n + i] >>> 0; }
    return { n, to, from, words: list.subarray(2 * n, 3 * n), messages: list.subarray(3 * n) };
}

// All exchanges of sync group 0 together, as pairs.
async function allPairs(run) {
    if (run.pairs) return run.pairs;
    const times = new Map(), n = +run.machine.tiles, words = new Float64Array(n * n), messages = new Float64Array(n * n);
    for (const s of run.steps) if (s.exchange_id) times.set(s.exchange_id, (times.get(s.exchange_id) || 0) + 1);
    for (const [id, k] of times) {
        const p = pairsOf(await numbers(run, "pairs-" + id));
        for (let i = 0; i < p.n; i++) { const at = p.to[i] * n + p.from[i]; words[at] += k * p.words[i]; messages[at] += k * p.messages[i]; }
        unpacked.delete("blob-" + run.letter + "-pairs-" + id); // they are many
    }
    let k = 0;
    for (let i = 0; i < words.length; i++) k += words[i] > 0;
    const all = { n: k, to: new Uint32Array(k), from: new Uint32Array(k), words: new Float64Array(k), messages: new Float64Array(k) };
    for (let i = k = 0; i < words.length; i++) {
        if (!words[i]) continue;
        all.to[k] = i / n; all.from[k] = i % n; all.words[k] = words[i]; all.messages[k++] = messages[i];
    }
    return run.pairs = all;
}

async function loadTraffic(run) {
    const s = run.supersteps[state.step];
    if ($("traffic").hidden) return;
    const pairs = traffic.step ? pairsOf(s && s.exchange_id ? await numbers(run, "pairs-" + s.exchange_id) : new Uint32Array(0)) : await allPairs(run);
    if (run != state.run) return;
    traffic.pairs = pairs;
    traffic.sum = pairs.words.reduce((a, x) => a + x, 0);
    drawTraffic(run);
}
function trafficStep(run) { if (traffic.step && traffic.seen) loadTraffic(run); }

// Adds up the pairs that are shown, by cell.
function cellsOf(run) {
    const cells = Math.min(CELLS, traffic.size), per = traffic.size / cells, sum = new Float64Array(cells * cells), p = traffic.pairs;
    for (let i = 0; i < p.n; i++) {
        const x = Math.floor((p.to[i] - traffic.x) / per), y = Math.floor((p.from[i] - traffic.y) / per);
        if (x >= 0 && y >= 0 && x < cells && y < cells) sum[y * cells + x] += p.words[i];
    }
    return { cells, per, sum };
}

function drawTraffic(run) {
    if (!traffic.pairs) return; // they are on their way
    const width = $("traffic-matrix").clientWidth, few = traffic.tiles <= FEW_TILES, left = 70, narrow = width < 560, side = Math.min(560, (narrow ? width - 4 : few ? width / 2 : width - 160) - left);
    const [g, w, h] = canvas("traffic-matrix", side + 40), { cells, per, sum } = cellsOf(run), cell = side / cells, top = Math.max(most(sum), 1);
    traffic.cell = cell; traffic.per = per; traffic.cells = cells; traffic.sums = sum; traffic.left = left;
    g.fillStyle = css("--empty"); g.fillRect(left, 20, side, side);
    for (let y = 0; y < cells; y++) {
        for (let x = 0; x < cells; x++) {
            if (!sum[y * cells + x]) continue;
            g.fillStyle = rampColour(Math.log(1 + sum[y * cells + x]) / Math.log(1 + top));
            g.fillRect(left + x * cell, 20 + y * cell, cell - (cell > 5 ? 0.7 : 0), cell - (cell > 5 ? 0.7 : 0));
        }
    }
    g.strokeStyle = css("--chosen"); g.lineWidth = 2; g.strokeRect(left + traffic.column * cell, 20 + traffic.row * cell, cell, cell);
    g.fillStyle = css("--soft");
    for (let i = 0; i <= 4; i++) {
        const k = Math.min(Math.floor(cells * i / 4), cells - 1);
        g.textAlign = "right"; g.fillText(Math.floor(traffic.y + k * per), left - 6, 20 + (k + 0.5) * cell + 4);
        g.textAlign = "center"; g.fillText(Math.floor(traffic.x + k * per), left + (k + 0.5) * cell, 14);
    }
    g.textAlign = "center"; g.fillText("to tile", left + side / 2, side + 36);
    g.save(); g.translate(12, 20 + side / 2); g.rotate(-Math.PI / 2); g.fillText("from tile", 0, 0); g.restore(); g.textAlign = "left";
    if (!narrow) {
        rampKey(g, left + side + 18, 24, group(top), "1 word", per > 1 ? "words of a cell" : "words");
        g.fillStyle = css("--soft"); g.fillText("(logarithmic)", left + side + 18, 150);
    }
    if (few && !narrow) drawArrows(run, g, left + side + 130, 20, Math.min(w - left - side - 140, side), side);
    const s = run.supersteps[state.step];
    $("traffic-text").textContent = "Rows send, columns receive; a cell is " + (per > 1 ? "a block of " + Math.ceil(per) + " × " + Math.ceil(per) + " tiles" : "a pair of tiles") +
        ". A word to many tiles counts at each of them. + and − or the wheel zoom, arrows move, a click names a cell.";
    sayCell(run, (traffic.step ? s ? "Superstep " + s.number + ": " : "No superstep is chosen: " : "All supersteps: ") + plural(traffic.sum, "word") + " received, by " + plural(traffic.pairs.n, "pair") + " of tiles. ");
}

// Tiles where they lie, and a line for every pair, as wide as it has words.
function drawArrows(run, g, x0, y0, w, h) {
    const columns = 1 + most(run.tiles.map(t => t.column)), rows = 1 + most(run.tiles.map(t => t.row)), unit = Math.min(w / columns, h / rows);
    const at = tile => { const t = run.tiles[run.tileAt.get(tile)]; return t ? [x0 + (t.column + 0.5) * unit, y0 + (t.row + 0.5) * unit] : null; };
    const p = traffic.pairs, top = Math.max(most(p.words), 1);
    for (const t of run.tiles) {
        const [x, y] = at(t.tile);
        g.fillStyle = css("--empty"); g.fillRect(x - unit * 0.3, y - unit * 0.3, unit * 0.6, unit * 0.6);
        g.fillStyle = css("--ink"); g.textAlign = "center"; if (unit > 26) g.fillText(t.tile, x, y + 4);
    }
    g.textAlign = "left"; g.strokeStyle = g.fillStyle = css("--exchange");
    for (let i = 0; i < p.n && p.n < 4000; i++) {
        const a = at(p.from[i]), b = at(p.to[i]);
        if (!a || !b || p.from[i] == p.to[i]) continue;
        const dx = b[0] - a[0], dy = b[1] - a[1], n = Math.hypot(dx, dy), ux = dx / n, uy = dy / n, r = unit * 0.32, bend = Math.min(unit * 0.35, n * 0.15);
        const x1 = a[0] + ux * r, y1 = a[1] + uy * r, x2 = b[0] - ux * r, y2 = b[1] - uy * r, mx = (x1 + x2) / 2 - uy * bend, my = (y1 + y2) / 2 + ux * bend;
        g.globalAlpha = 0.75; g.lineWidth = 0.6 + 2.4 * p.words[i] / top;
        g.beginPath(); g.moveTo(x1, y1); g.quadraticCurveTo(mx, my, x2, y2); g.stroke();
        const ex = x2 - mx, ey = y2 - my, el = Math.hypot(ex, ey) || 1, hx = ex / el, hy = ey / el;
        g.beginPath(); g.moveTo(x2, y2); g.lineTo(x2 - 7 * hx - 3.5 * hy, y2 - 7 * hy + 3.5 * hx); g.lineTo(x2 - 7 * hx + 3.5 * hy, y2 - 7 * hy - 3.5 * hx); g.fill();
    }
    g.globalAlpha = 1;
}

function sayCell(run, head) {
    const { per, cells, row, column } = traffic, words = traffic.sums[row * cells + column] || 0;
    const span = (first, k) => { const a = Math.floor(first + k * per), b = Math.ceil(first + (k + 1) * per) - 1; return a >= b ? "tile " + a : "tiles " + a + " to " + Math.min(b, traffic.tiles - 1); };
    traffic.head = head || traffic.head;
    $("traffic-says").textContent = traffic.head + "From " + span(traffic.y, row) + " to " + span(traffic.x, column) + ": " + plural(words, "word") + ".";
}

function zoomTraffic(factor) {
    const middleX = traffic.x + (traffic.column + 0.5) * traffic.per, middleY = traffic.y + (traffic.row + 0.5) * traffic.per;
    const size = clamp(Math.round(traffic.size * factor), Math.min(16, traffic.tiles), traffic.tiles);
    traffic.size = size;
    traffic.x = Math.floor(clamp(middleX - size / 2, 0, traffic.tiles - size)); traffic.y = Math.floor(clamp(middleY - size / 2, 0, traffic.tiles - size));
    const per = size / Math.min(CELLS, size);
    traffic.column = clamp(Math.floor((middleX - traffic.x) / per), 0, Math.min(CELLS, size) - 1);
    traffic.row = clamp(Math.floor((middleY - traffic.y) / per), 0, Math.min(CELLS, size) - 1);
    drawTraffic(state.run);
}

// Moves the chosen cell; at an edge what is shown.
function moveCell(dx, dy) {
    const last = traffic.cells - 1, room = traffic.tiles - traffic.size, shift = Math.ceil(traffic.per);
    if (traffic.column + dx < 0 || traffic.column + dx > last) traffic.x = clamp(traffic.x + dx * shift, 0, room);
    if (traffic.row + dy < 0 || traffic.row + dy > last) traffic.y = clamp(traffic.y + dy * shift, 0, room);
    traffic.column = clamp(traffic.column + dx, 0, last); traffic.row = clamp(traffic.row + dy, 0, last);
    drawTraffic(state.run);
}

function resetTraffic(run, by) {
    $("traffic").hidden = !run.steps.some(s => s.exchange_id);
    Object.assign(traffic, { pairs: null, step: by == "step", tiles: +run.machine.tiles, size: +run.machine.tiles, x: 0, y: 0, row: 0, column: 0 });
    choice("traffic-buttons", ["all supersteps", "the chosen superstep"], by == "step" ? 1 : 0, i => { traffic.step = i == 1; loadTraffic(state.run); });
}

function setUpTraffic() {
    const c = $("traffic-matrix");
    const cellAt = e => [Math.floor((e.offsetX - traffic.left) / traffic.cell), Math.floor((e.offsetY - 20) / traffic.cell)];
    const pick = e => {
        const [x, y] = cellAt(e);
        if (!traffic.pairs || x < 0 || y < 0 || x >= traffic.cells || y >= traffic.cells) return false;
        traffic.column = x; traffic.row = y;
        return true;
    };
    c.addEventListener("click", e => { if (pick(e)) drawTraffic(state.run); });
    c.addEventListener("wheel", e => { if (!pick(e)) return; e.preventDefault(); zoomTraffic(e.deltaY > 0 ? 1.5 : 0.66); }, { passive: false });
    c.addEventListener("keydown", e => {
        if (!traffic.pairs) return;
        const d = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[e.key];
        if (d) moveCell(d[0], d[1]);
        else if (e.key == "+" || e.key == "-") zoomTraffic(e.key == "+" ? 0.5 : 2);
        else return;
        e.preventDefault();
    });
}
