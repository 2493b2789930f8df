// data.js - the runs of this page, their packed numbers, and how numbers are written.

const $ = id => document.getElementById(id);
const group = n => Math.round(n).toLocaleString("en-US");
const percent = (n, all) => (100 * n / (all || 1)).toFixed(1) + " %";
const signedPercent = (n, all) => (100 * n / (all || 1) >= 0.05 ? "+" : 100 * n / (all || 1) <= -0.05 ? "−" : "") + percent(Math.abs(n), all);
const kib = n => n < 1024 ? n + " bytes" : n < 1048576 ? (n / 1024).toFixed(1) + " KiB" : (n / 1048576).toFixed(1) + " MiB";
const plural = (n, one, many) => group(n) + " " + (n == 1 ? one : many || one + "s");
const shades = new Map(); // of the colours of now
const css = name => shades.get(name) ?? shades.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim()).get(name);
const most = list => list.reduce((a, b) => a > b ? a : b, 0);
const clamp = (x, low, high) => Math.min(Math.max(x, low), high);
const sumOf = (list, f) => list.reduce((a, x) => a + f(x), 0);

// Parts of the cycles of a superstep: field, words, colour.
const PARTS = [["work", "compute that all tiles share", "--compute"], ["imbalance", "waiting for the slowest tile (imbalance)", "--imbalance"],
    ["exchange", "exchange", "--exchange"], ["sync", "sync", "--sync"], ["others", "waiting for other groups and the host", "--wait"]];
// A system of several chips has two more.
const CHIP_PARTS = [["link", "waiting for words of other chips", "--link"], ["outer", "waiting for other chips to come to a sync, and that sync", "--outer"]];
const partsOf = s => ({ link: s.link, outer: s.outer, work: s.compute - s.imbalance, imbalance: s.imbalance, exchange: s.exchange, sync: s.sync, others: s.wait + s.host });

// Categories of memory: always the same colours, none of which means a part of cycles.
const categoryVariable = (name, i) => css("--memory-" + name.replaceAll(" ", "_")) ? "--memory-" + name.replaceAll(" ", "_") : "--spare-" + Math.max(i, 0) % +css("--spares");
const categoryColour = (name, i) => css(categoryVariable(name, i));

// Rows of a table as objects.
const rowsOf = t => t ? t.rows.map(r => Object.fromEntries(t.columns.map((c, i) => [c, r[i]]))) : [];

// A run of the page, from what report_page.c wrote.
function makeRun(d) {
    const r = { letter: d.letter, chip: +d.letter.slice(1), system: d.system && makeSystem(d.system), meta: d.meta, machine: d.machine, names: [""].concat(d.names), categories: d.categories, lists: d.lists };
    for (const key of ["tiles", "supersteps", "layers", "operations", "faults", "saturations", "streams", "transfers", "program", "needs", "peaks", "advice", "options"])
        r[key] = rowsOf(d[key]);
    r.lifetimes = {};
    for (const l of rowsOf(d.lifetimes)) (r.lifetimes[l.lifetime] ||= []).push([l.first_step, l.last_step]);
    r.memory = +r.machine.mem_bytes;
    r.steps = r.supersteps.filter(s => !s.sync_group); // of the tiles that compute
    r.tileAt = new Map(r.tiles.map((t, i) => [t.tile, i]));
    r.groups = [];
    r.tiles.forEach(t => (r.groups[t.sync_group] ||= []).push(t.tile));
    r.place = new Map();
    r.groups.forEach(g => g.forEach((t, k) => r.place.set(t, k)));
    let at = 0;
    for (const s of r.supersteps) { s.at = at; at += s.tiles; } // where its tiles stand in a list of numbers
    r.supersteps.forEach(s => s.layer_name = s.layer === null ? "" : r.layers[s.layer].name);
    r.unfit = r.meta.status == "out_of_memory";
    r.sum = Object.fromEntries(PARTS.map(p => [p[0], sumOf(r.steps, s => partsOf(s)[p[0]])]));
    r.all = sumOf(PARTS, p => r.sum[p[0]]);
    r.need = new Map(r.needs.map(n => [n.tile, n]));
    return r;
}

// Lists of u32, packed with deflate, as base64 in elements of their own: unpacked when a view asks for them.
const unpacked = new Map();
function numbers(run, name) {
    const id = "blob-" + run.letter + "-" + name;
    if (!unpacked.has(id)) unpacked.set(id, unpack($(id)));
    return unpacked.get(id);
}
async function unpack(element) {
    if (!element) return new Uint32Array(0);
    const text = atob(element.textContent), bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint32Array(await new Response(stream).arrayBuffer());
}

// A list of a tile, from its part of the blob that holds it: an array for each of its columns.
async function tileList(run, name, tile, columns) {
    const i = run.tileAt.get(tile), per = run.lists.tiles_per_blob, counts = run.lists[name];
    if (i === undefined || !counts) return null;
    const first = i - i % per, all = await numbers(run, name + "-" + first / per);
    const total = sumOf(counts.slice(first, first + per), n => n), before = sumOf(counts.slice(first, i), n => n), n = counts[i];
    return columns.map((_, k) => all.subarray(k * total + before, k * total + before + n));
}

// The purpose of the bytes of a tile: ranges, ascending.
async function mapOf(run, tile) {
    const list = await tileList(run, "maps", tile, ["gap", "bytes", "category", "owner"]);
    if (!list) return [];
    let at = 0;
    return Array.from(list[0], (gap, i) => {
        const r = { address: at + gap, bytes: list[1][i], category: run.names[list[2][i]], owner: run.names[list[3][i]] };
        at = r.address + r.bytes;
        return r;
    });
}

// Objects of a tile, which share bytes at different times; lifetime 0: always.
async function objectsOf(run, tile) {
    const list = await tileList(run, "objects", tile, ["address", "bytes", "category", "owner", "lifetime"]);
    if (!list) return [];
    let at = 0;
    return Array.from(list[0], (gap, i) => {
        const o = { address: at + gap >>> 0, bytes: list[1][i], category: run.names[list[2][i]], owner: run.names[list[3][i]], lifetime: list[4][i] };
        at = o.address + o.bytes >>> 0;
        return o;
    });
}
