// tile.js - one tile: the purpose of its bytes, what it did in the supersteps of the timeline.

const tileView = { map: [], chosen: -1, view: { from: 0, to: 1, end: 1, least: 64 } };
const MAP_ROWS = 16;

// Bytes of an address map of a program that does not fit: code first, then objects as they were placed.
function placesOf(objects) {
    const sorted = objects.slice().sort((a, b) => a.address - b.address || b.bytes - a.bytes), list = [];
    let end = 0;
    for (const o of sorted) {
        const from = Math.max(o.address, end), to = o.address + o.bytes;
        if (to > from) { list.push({ address: from, bytes: to - from, category: o.category, owner: o.owner }); end = to; }
    }
    return list;
}

async function loadTile(run) {
    const tile = state.tile, map = await mapOf(run, tile), objects = map.length ? [] : await objectsOf(run, tile);
    if (tile != state.tile || run != state.run) return;
    tileView.map = map.length ? map : placesOf(objects);
    tileView.base = +run.machine.mem_base;
    const last = tileView.map[tileView.map.length - 1];
    const end = Math.max(run.memory, last ? last.address + last.bytes - tileView.base : 0);
    tileView.chosen = -1;
    tileView.view = Object.assign(tileView.view, { from: 0, to: end, end });
    $("tile-title").textContent = "Tile " + tile;
    $("tile-says").textContent = map.length || !tileView.map.length ? "" : "Of a program that does not fit: objects as they would lie; code, which comes first, is not shown by address.";
    drawTile(run);
    tileOwners(run);
    drawTileTime(run);
}

// The memory in rows, each of the same length.
function drawTile(run) {
    const view = tileView.view, [g, w, h] = canvas("tile-map", MAP_ROWS * 20 + 4), left = 74, per = (view.to - view.from) / MAP_ROWS, width = w - left;
    g.fillStyle = css("--empty"); g.fillRect(left, 0, width, MAP_ROWS * 20 - 3);
    const strip = (a, b, colour, outline) => { // bytes a .. b
        for (let row = Math.max(Math.floor((a - view.from) / per), 0); row < MAP_ROWS && view.from + row * per < b; row++) {
            const x0 = clamp((a - view.from) / per - row, 0, 1) * width, x1 = clamp((b - view.from) / per - row, 0, 1) * width;
            if (x1 <= x0) continue;
            if (outline) { g.strokeStyle = colour; g.lineWidth = 2; g.strokeRect(left + x0, row * 20 + 1, Math.max(x1 - x0, 2), 15); }
            else { g.fillStyle = colour; g.fillRect(left + x0, row * 20, Math.max(x1 - x0, 0.5), 17); }
        }
    };
    tileView.map.forEach(r => strip(r.address - tileView.base, r.address - tileView.base + r.bytes, categoryColour(r.category, run.categories.indexOf(r.category))));
    if (view.end > run.memory) strip(run.memory, run.memory + per / 200, css("--ink"));
    if (view.to - view.from < 40000)
        tileView.map.forEach(r => strip(r.address - tileView.base, r.address - tileView.base + r.bytes, "#fff6", 1));
    const chosen = tileView.map[tileView.chosen];
    if (chosen) strip(chosen.address - tileView.base, chosen.address - tileView.base + chosen.bytes, css("--chosen"), 1);
    g.fillStyle = css("--soft"); g.font = "12px ui-monospace, monospace";
    for (let row = 0; row < MAP_ROWS; row++) g.fillText("0x" + Math.round(tileView.base + view.from + row * per).toString(16).padStart(5, "0"), 0, row * 20 + 13);
    const bytes = new Map();
    tileView.map.forEach(r => bytes.set(r.category, (bytes.get(r.category) || 0) + r.bytes));
    const used = sumOf([...bytes.values()], n => n);
    legend("tile-key", [...bytes].sort((a, b) => b[1] - a[1]).map(([c, n]) => [c + " " + kib(n), categoryVariable(c, run.categories.indexOf(c))])
        .concat([["free or gap " + kib(Math.max(run.memory - used, 0)), "--empty"]]));
}

function sayOwner(i) {
    const r = tileView.map[tileView.chosen = i];
    $("tile-says").textContent = r ? "0x" + r.address.toString(16) + ", " + plural(r.bytes, "byte") + ", " + r.category + ": " + (r.owner || "no owner is known") + "." : "Free, or a gap.";
    if (r) showRange(tileView.view, r.address - tileView.base, r.address - tileView.base + r.bytes);
    drawTile(state.run);
}

function tileOwners(run) {
    const sums = new Map();
    for (const r of tileView.map) {
        const key = r.category + "\n" + r.owner, s = sums.get(key) || { category: r.category, owner: r.owner, bytes: 0, ranges: 0 };
        s.bytes += r.bytes; s.ranges++; sums.set(key, s);
    }
    fillTable("tile-owners", [["bytes", "bytes"], ["ranges", "ranges"], ["category", "category", "text"], ["owner", "owner", "long"]],
        [...sums.values()].sort((a, b) => b.bytes - a.bytes).slice(0, 40), (field, r) => field == "bytes" ? kib(r.bytes) : r[field] + "");
}

// What the tile did in the supersteps that the timeline shows.
async function drawTileTime(run) {
    const tile = run.tiles[run.tileAt.get(state.tile)], steps = tile ? run.supersteps.filter(s => s.sync_group == tile.sync_group) : [];
    $("tile-time-part").hidden = !steps.length;
    if (!steps.length) return;
    const exchange = await numbers(run, "exchange"), compute = await numbers(run, "compute"), link = await numbers(run, "link"), k = run.place.get(tile.tile);
    if (tile.tile != state.tile || run != state.run) return;
    const [g, w, h] = canvas("tile-time", 76), view = timeView, scale = w / (view.to - view.from), base = h - 22;
    let busy = 0, all = 0;
    for (const s of steps) {
        const x0 = (s.starts - view.from) * scale, x1 = (s.ends - view.from) * scale, e = exchange[s.at + k], l = link[s.at + k] || 0, c = compute[s.at + k];
        busy += e + c; all += s.ends - s.starts;
        if (x1 < 0 || x0 > w) continue;
        g.fillStyle = css("--wait"); g.fillRect(x0, 8, Math.max(x1 - x0, 0.3), base - 8);
        g.fillStyle = css("--exchange"); g.fillRect(x0, 8, e * scale, base - 8);
        g.fillStyle = css("--link"); g.fillRect(x0 + e * scale, 8, l * scale, base - 8);
        g.fillStyle = css("--compute"); g.fillRect(x0 + (e + l) * scale, 8, c * scale, base - 8);
    }
    timeAxis(g, w, h, 0, view.from, view.to);
    legend("tile-time-key", [["exchanges", "--exchange"], ["computes", "--compute"], ["waits, sync included", "--wait"]]);
    const s = run.supersteps[state.step];
    $("tile-time-says").textContent = "Busy in " + percent(busy, all) + " of its supersteps' cycles." + (s && s.sync_group == tile.sync_group ?
        " In superstep " + s.number + ": exchanges " + group(exchange[s.at + k]) + ", computes " + group(compute[s.at + k]) + " of " + group(s.ends - s.starts) + " cycles." : "");
}

function setUpTile() {
    const at = (x, y) => tileView.base + tileView.view.from + (clamp(Math.floor(y / 20), 0, MAP_ROWS - 1) + (x - 74) / ($("tile-map").clientWidth - 74)) * (tileView.view.to - tileView.view.from) / MAP_ROWS;
    const rangeAt = a => tileView.map.findIndex(r => a >= r.address && a < r.address + r.bytes);
    const c = $("tile-map"), again = () => drawTile(state.run);
    let drag = null, moved = false;
    c.addEventListener("wheel", e => { e.preventDefault(); zoomTo(tileView.view, e.deltaY > 0 ? 1.5 : 0.66, at(e.offsetX, e.offsetY) - tileView.base); again(); }, { passive: false });
    c.addEventListener("pointerdown", e => { drag = [e.offsetX, e.offsetY]; moved = false; });
    addEventListener("pointerup", () => drag = null);
    c.addEventListener("pointermove", e => {
        if (!drag || Math.hypot(e.offsetX - drag[0], e.offsetY - drag[1]) < 4) return;
        moveTo(tileView.view, tileView.view.from + at(drag[0], drag[1]) - at(e.offsetX, e.offsetY)); drag = [e.offsetX, e.offsetY]; moved = true; again();
    });
    c.addEventListener("click", e => { if (!moved) sayOwner(rangeAt(at(e.offsetX, e.offsetY))); });
    c.addEventListener("keydown", e => {
        const v = tileView.view;
        if (e.key == "+") zoomTo(v, 0.5, (v.from + v.to) / 2);
        else if (e.key == "-") zoomTo(v, 2, (v.from + v.to) / 2);
        else if (e.key == "ArrowRight") return e.preventDefault(), sayOwner(Math.min(tileView.chosen + 1, tileView.map.length - 1));
        else if (e.key == "ArrowLeft") return e.preventDefault(), sayOwner(Math.max(tileView.chosen - 1, 0));
        else if (e.key == "ArrowDown") moveTo(v, v.from + (v.to - v.from) / MAP_ROWS);
        else if (e.key == "ArrowUp") moveTo(v, v.from - (v.to - v.from) / MAP_ROWS);
        else return;
        e.preventDefault(); again();
    });
}
