// compare.js - two runs beside each other: totals, options, layers by difference.

const signed = n => (n > 0 ? "+" : n < 0 ? "−" : "±") + group(Math.abs(n));
const signedKib = n => (n > 0 ? "+" : n < 0 ? "−" : "±") + kib(Math.abs(n));

function totalsOf(a, b) {
    const of = f => [f(a), f(b)], list = [];
    const add = (what, f, bytes) => { const [x, y] = of(f); list.push({ what, a: x, b: y, bytes }); };
    list.push({ what: "time of the run", a: a.unfit ? NaN : +a.meta.seconds, b: b.unfit ? NaN : +b.meta.seconds, seconds: true });
    add("cycles of the run", r => r.unfit ? NaN : +r.meta.cycles);
    for (const [key, words] of PARTS) add(words, r => r.unfit ? NaN : r.sum[key]);
    add("supersteps", r => r.unfit ? NaN : r.steps.length);
    add("words sent", r => r.unfit ? NaN : sumOf(r.steps, s => s.words_out));
    add("on the fullest tile", r => most(r.tiles.map(t => t.used_bytes)), true);
    add("on all tiles", r => sumOf(r.tiles, t => t.used_bytes), true);
    for (const c of new Set(a.categories.concat(b.categories)))
        add(c + ", on all tiles", r => { const k = r.categories.indexOf(c); return k < 0 ? 0 : sumOf(r.tiles, t => t.categories[k]); }, true);
    return list;
}

// Options and fields of the machine that are not the same.
function changesOf(a, b) {
    const list = [], options = r => { const m = new Map(); r.options.forEach(o => m.set(o.name, m.has(o.name) ? m.get(o.name) + ", " + o.value : o.value || "given")); return m; };
    const x = options(a), y = options(b);
    for (const k of new Set([...x.keys(), ...y.keys()])) if (x.get(k) !== y.get(k)) list.push({ what: "option --" + k, a: x.get(k) ?? "not given", b: y.get(k) ?? "not given" });
    for (const k in a.machine) if (a.machine[k] !== b.machine[k]) list.push({ what: "machine: " + k, a: a.machine[k] + "", b: b.machine[k] + "" });
    if (a.meta.what != b.meta.what) list.unshift({ what: "what ran", a: a.meta.what, b: b.meta.what });
    if (a.meta.program_version != b.meta.program_version) list.push({ what: "superstep", a: a.meta.program_version, b: b.meta.program_version });
    return list;
}

function layerDifferences(a, b) {
    const rows = new Map(), rowsOfRun = r => r.layers.length ? r.layers : operationsOf(r);
    for (const [k, r] of [["a", a], ["b", b]]) {
        for (const l of rowsOfRun(r)) {
            const row = rows.get(l.name) || { name: l.name, a: null, b: null, bytes_a: 0, bytes_b: 0, held_a: 0, held_b: 0 };
            row[k] = (row[k] || 0) + l.cycles; row["bytes_" + k] = Math.max(row["bytes_" + k], l.max_tile_bytes || 0); row["held_" + k] += l.held_bytes || 0;
            rows.set(l.name, row);
        }
    }
    return [...rows.values()].filter(r => r.a || r.b || r.bytes_a != r.bytes_b).map(r => Object.assign(r, { difference: (r.b || 0) - (r.a || 0), tile: r.bytes_b - r.bytes_a, held: r.held_b - r.held_a }))
        .sort((x, y) => Math.abs(y.difference) - Math.abs(x.difference) || Math.abs(y.tile) - Math.abs(x.tile));
}

// A bar to the left or right of the middle.
function differenceBar(n, largest) {
    const box = document.createElement("span"), bar = document.createElement("span"), d = largest ? 60 * Math.abs(n) / largest : 0;
    bar.className = "bar"; bar.style.width = d + "px"; bar.style.marginLeft = (n < 0 ? 60 - d : 60) + "px"; bar.style.marginRight = (n < 0 ? 60 : 60 - d) + "px";
    box.append(bar);
    return box;
}

function drawCompare(a, b) {
    $("compare").hidden = !b;
    if (!b) return;
    const clocks = a.machine.clock_mhz != b.machine.clock_mhz; // then cycles are no measure of time
    const cycles = r => group(r.meta.cycles) + " cycles" + (clocks ? " at " + r.machine.clock_mhz + " MHz" : "");
    const ran = r => r.unfit ? "does not fit" : "takes " + (clocks ? secondsText(+r.meta.seconds) + " (" + cycles(r) + ")" : cycles(r) + " (" + secondsText(+r.meta.seconds) + ")");
    const more = key => (b.meta[key] - a.meta[key]) / a.meta[key] * 100, withSign = n => (n > 0 ? "+" : "") + n.toFixed(2) + " %";
    $("compare-says").textContent = "A, " + titleOf(a) + ", " + ran(a) + "; B, " + titleOf(b) + ", " + ran(b) +
        (!isFinite(more("cycles")) ? "." : clocks ? ": time " + withSign(more("seconds")) + ", cycles " + withSign(more("cycles")) + "." : ": " + withSign(more("cycles")) + ".");
    const write = (v, r) => isNaN(v) ? "not run" : r.bytes ? kib(v) : r.seconds ? secondsText(v) : group(v);
    fillTable("compare-totals", [["what", "what", "text"], ["a", "A"], ["b", "B"], ["difference", "B less A"], ["percent", "of A"]], totalsOf(a, b), (field, r) => {
        const d = r.b - r.a;
        return field == "what" ? r.what : field == "difference" ? isNaN(d) ? "" : r.bytes ? signedKib(d) : r.seconds ? (d < 0 ? "−" : "+") + secondsText(Math.abs(d)) : signed(d) : field == "percent" ? isFinite(d / r.a) ? signedPercent(d, r.a) : "" : write(r[field], r);
    });
    fillTable("compare-options", [["what", "what", "text"], ["a", "A", "text"], ["b", "B", "long"]], changesOf(a, b), (field, r) => r[field]);
    const layers = layerDifferences(a, b), largest = most(layers.map(r => Math.abs(r.difference)));
    fillTable("compare-layers", [["name", "layer", "text"], ["a", "cycles A"], ["b", "cycles B"], ["difference", "B less A"], ["bar", "", "text"], ["tile", "bytes on its fullest tile"], ["held", "bytes held"]], layers.slice(0, 500),
        (field, r) => field == "name" ? r.name : field == "bar" ? differenceBar(r.difference, largest) : field == "difference" ? signed(r.difference) : field == "tile" || field == "held" ? signedKib(r[field]) : r[field] === null ? "not there" : group(r[field]));
}
