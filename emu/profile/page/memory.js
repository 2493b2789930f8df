// memory.js - bytes of every tile by category with the line of what a tile has; bytes in use over the steps of the program.

const memoryView = { order: 0, tiles: [] };
const CAPACITY = "memory of a tile";

// What the height of a picture stands for: what a tile has, and what is used beyond that; where little of it is used, the use
// fills the height, and the line of what a tile has stands above a break.
function bytesScale(capacity, used) {
    const broken = used > 0 && used < 0.5 * capacity;
    return { capacity, broken, top: broken ? used * 1.3 : Math.max(capacity, used) * 1.06 };
}

// The line of what a tile has, and marks of bytes to its left.
function bytesAxis(g, w, base, left, scale) {
    const high = scale.broken ? 34 : 8, y = v => base - (base - high) * v / scale.top, line = scale.broken ? 10 : y(scale.capacity);
    g.textAlign = "right"; g.strokeStyle = css("--line"); g.lineWidth = 1;
    for (const v of ticks(scale.top, 4, 2)) {
        if (Math.abs(y(v) - line) < 12) continue;
        g.fillStyle = css("--soft"); g.fillText(v ? kib(v) : "0", left - 6, y(v) + 4);
        g.beginPath(); g.moveTo(left, y(v)); g.lineTo(w, y(v)); g.stroke();
    }
    g.fillStyle = css("--ink"); g.fillText(kib(scale.capacity), left - 6, line + 4); g.textAlign = "left";
    if (scale.broken) {
        g.strokeStyle = css("--soft"); g.beginPath(); g.moveTo(left, 20);
        for (let x = left, i = 1; x < w; i++) g.lineTo(x = Math.min(x + 8, w), i % 2 ? 25 : 20);
        g.stroke();
    }
    return Object.assign(y, { line });
}
function capacityLine(g, w, left, y) {
    g.strokeStyle = css("--ink"); g.lineWidth = 1.5; g.setLineDash([6, 4]);
    g.beginPath(); g.moveTo(left, y); g.lineTo(w, y); g.stroke(); g.setLineDash([]);
}

function drawMemory(run) {
    const [g, w, h] = canvas("memory-bars", 250), left = 78, base = h - 20, need = t => run.unfit ? (run.need.get(t.tile) || { need_bytes: 0 }).need_bytes : t.used_bytes;
    const scale = bytesScale(run.memory, most(run.tiles.map(t => Math.max(t.used_bytes, need(t)))));
    memoryView.tiles = run.tiles.slice().sort((a, b) => memoryView.order ? a.tile - b.tile : need(b) - need(a) || a.tile - b.tile);
    const bar = (w - left) / memoryView.tiles.length, y = bytesAxis(g, w, base, left, scale);
    memoryView.tiles.forEach((t, i) => {
        let at = 0;
        t.categories.forEach((n, k) => {
            if (!n) return;
            g.fillStyle = categoryColour(run.categories[k], k);
            g.fillRect(left + i * bar, y(at + n), Math.max(bar - (bar > 4 ? 1 : 0), 0.6) + (bar > 4 ? 0 : 0.3), y(at) - y(at + n)); at += n;
        });
        if (need(t) > at) { g.fillStyle = css("--gap"); g.fillRect(left + i * bar, y(need(t)), Math.max(bar, 0.9), y(at) - y(need(t))); }
        if (t.tile == state.tile) { g.fillStyle = css("--chosen"); g.fillRect(left + i * bar - 1, base, Math.max(bar, 3), 5); }
    });
    capacityLine(g, w, left, y.line);
    g.fillStyle = css("--soft"); g.fillText((memoryView.order ? "tile " : "fullest: tile ") + memoryView.tiles[0].tile, left, h - 3);
    g.textAlign = "right"; g.fillText(plural(memoryView.tiles.length, "tile") + (memoryView.order ? "" : ", emptiest: tile " + memoryView.tiles[memoryView.tiles.length - 1].tile), w, h - 3); g.textAlign = "left";
    const chosen = run.tiles[run.tileAt.get(state.tile)];
    if (chosen) $("memory-says").textContent = "Tile " + chosen.tile + ": " + kib(chosen.used_bytes) + (run.unfit ? " needed, " : " used, ") + percent(chosen.used_bytes, run.memory) + "; " +
        chosen.categories.map((n, k) => n ? run.categories[k] + " " + kib(n) : "").filter(x => x).join(", ") + ".";
}

function resetMemory(run) {
    const sums = run.categories.map((c, k) => ({ category: c, bytes: sumOf(run.tiles, t => t.categories[k]), most: most(run.tiles.map(t => t.categories[k])), tiles: run.tiles.filter(t => t.categories[k]).length }));
    memoryView.order = 0;
    $("memory-text").textContent = "Bytes by category; the dashed line is what a tile has, " + kib(run.memory) + (bytesScale(run.memory, most(run.tiles.map(t => t.used_bytes))).broken && !run.unfit ? ": it stands above a break of the scale, for little of it is used" : "") + (run.unfit ? "; grey on top: gaps, and what other moments add to what the tile needs" : "") + ".";
    legend("memory-key", run.categories.map((c, k) => [c, categoryVariable(c, k)]));
    choice("memory-buttons", ["fullest first", "by number"], 0, i => { memoryView.order = i; drawMemory(state.run); });
    fillTable("memory-table", [["category", "category", "text"], ["bytes", "on all tiles"], ["mean", "mean of a tile"], ["most", "most on a tile"], ["tiles", "tiles"]], sums,
        (field, r) => field == "category" ? r.category : field == "tiles" ? group(r.tiles) : kib(Math.round(field == "mean" ? r.bytes / run.tiles.length : r[field])));
}

// ---- over the program

const liveView = { objects: [], use: null, floor: 0, tile: -1, step: -1, whole: true };

// Bytes in use on the tile at every step, from its objects' lifetimes, code included.
async function loadLiveness(run) {
    $("liveness").hidden = !run.program.length;
    if (!run.program.length) return;
    const tile = state.tile, objects = await objectsOf(run, tile), need = run.need.get(tile);
    if (tile != state.tile || run != state.run) return;
    const steps = 2 + most(run.program.map(p => p.step)), change = new Float64Array(steps + 1);
    const code = codeBytes(run, tile);
    let floor = code;
    for (const o of objects) {
        if (!o.lifetime) { floor += o.bytes; continue; }
        for (const [a, b] of run.lifetimes[o.lifetime] || []) { change[Math.min(a, steps)] += o.bytes; change[Math.min(b + 1, steps)] -= o.bytes; }
    }
    const use = new Float64Array(steps);
    for (let i = 0, sum = floor; i < steps; i++) use[i] = sum += change[i];
    Object.assign(liveView, { objects, use, floor, tile, code, steps });
    const peak = need ? run.program.findIndex(p => p.step == need.peak_step) : -1;
    liveView.step = peak >= 0 ? peak : run.program.reduce((a, p, i) => use[p.step] > use[run.program[a].step] ? i : a, 0);
    drawLiveness(run);
}
function codeBytes(run, tile) {
    const t = run.tiles[run.tileAt.get(tile)];
    return t ? sumOf(run.categories, c => 0) + t.categories.reduce((a, n, k) => a + (/ code$/.test(run.categories[k]) ? n : 0), 0) : 0;
}

function drawLiveness(run) {
    const [g, w, h] = canvas("liveness-curve", 230), left = 78, base = h - 22, n = run.program.length, whole = liveView.whole;
    const value = p => whole ? p.fullest_bytes : liveView.use[p.step];
    const scale = bytesScale(run.memory, most(run.program.map(value))), y = bytesAxis(g, w, base, left, scale), bar = (w - left) / n;
    g.fillStyle = css("--passing");
    run.program.forEach((p, i) => g.fillRect(left + i * bar, y(value(p)), Math.max(bar, 0.6) + 0.3, base - y(value(p))));
    if (!whole) { g.fillStyle = css("--always"); g.fillRect(left, y(liveView.floor), w - left, base - y(liveView.floor)); }
    capacityLine(g, w, left, y.line);
    const x = left + (liveView.step + 0.5) * bar;
    g.strokeStyle = g.fillStyle = css("--chosen"); g.lineWidth = 1; g.strokeRect(x - Math.max(bar, 5) / 2, 8, Math.max(bar, 5), base - 8);
    g.beginPath(); g.moveTo(x - 6, 0); g.lineTo(x + 6, 0); g.lineTo(x, 8); g.fill();
    g.fillStyle = css("--soft"); g.fillText("step 0", left, h - 4); g.textAlign = "right"; g.fillText("step " + group(n - 1), w, h - 4); g.textAlign = "left";
    legend("liveness-key", whole ? [["in use on the tile that is fullest at that step", "--passing"], ["chosen step", "--chosen"]] :
        [["all the time: " + kib(liveView.floor), "--always"], ["for some steps", "--passing"], ["chosen step", "--chosen"]]);
    choice("liveness-buttons", ["the fullest tile at each step", "tile " + state.tile], whole ? 0 : 1, i => { liveView.whole = !i; drawLiveness(state.run); });
    const p = run.program[liveView.step], use = liveView.use[p.step];
    $("liveness-says").textContent = "Step " + group(liveView.step) + ", " + p.kind + " " + p.name + " (superstep " + p.superstep + "): fullest is tile " + p.fullest_tile + " with " + kib(p.fullest_bytes) +
        "; tile " + liveView.tile + " has " + kib(use) + " in use, the largest below.";
    const live = new Map();
    for (const o of liveView.objects) {
        if (o.lifetime && !(run.lifetimes[o.lifetime] || []).some(([a, b]) => a <= p.step && p.step <= b)) continue;
        const key = o.category + "\n" + o.owner, s = live.get(key) || { category: o.category, owner: o.owner, bytes: 0, always: !o.lifetime };
        s.bytes += o.bytes; s.always = s.always && !o.lifetime; live.set(key, s);
    }
    if (liveView.code) live.set("code", { category: "code of all kinds", owner: "vertices, control, exchange", bytes: liveView.code, always: true });
    fillTable("liveness-table", [["bytes", "bytes"], ["share", "of what is in use"], ["always", "in use", "text"], ["category", "category", "text"], ["owner", "what, on tile " + liveView.tile, "long"]],
        [...live.values()].sort((a, b) => b.bytes - a.bytes).slice(0, 30), (field, r) => field == "bytes" ? kib(r.bytes) : field == "share" ? percent(r.bytes, use) : field == "always" ? r.always ? "always" : "for some steps" : r[field]);
}

function setUpMemory() {
    const at = (e, n) => clamp(Math.floor((e.offsetX - 78) / (e.target.clientWidth - 78) * n), 0, n - 1);
    $("memory-bars").addEventListener("click", e => chooseTile(memoryView.tiles[at(e, memoryView.tiles.length)].tile));
    $("memory-bars").addEventListener("keydown", e => {
        const d = { ArrowRight: 1, ArrowLeft: -1 }[e.key], i = memoryView.tiles.findIndex(t => t.tile == state.tile);
        if (!d) return;
        e.preventDefault(); chooseTile(memoryView.tiles[clamp(i + d, 0, memoryView.tiles.length - 1)].tile);
    });
    const step = i => { liveView.step = clamp(i, 0, state.run.program.length - 1); drawLiveness(state.run); };
    $("liveness-curve").addEventListener("click", e => step(at(e, state.run.program.length)));
    $("liveness-curve").addEventListener("keydown", e => {
        const d = { ArrowRight: 1, ArrowLeft: -1, PageDown: 20, PageUp: -20 }[e.key];
        if (!d) return;
        e.preventDefault(); step(liveView.step + d);
    });
}
