// system.js - the chips of a system: what each does in time, who waits for whom, what the links carry.

const LINKS_SHOWN = 16, LANE = 26, LANE_LEFT = 64;
const KIND_WORDS = { pair: "to its partner", cross: "to its partner, for traffic that goes on", up: "to the next rung", down: "to the rung before",
    "gateway up": "through the gateway, to the next rack", "gateway down": "through the gateway, to the rack before" };

function makeSystem(d) {
    return { chips: rowsOf(d.chips), syncs: rowsOf(d.outer_syncs), links: rowsOf(d.links) };
}

function drawChipChoice(run) {
    const chips = chipsOf(run);
    $("chips").hidden = chips.length < 2;
    if (!$("chips").hidden) choice("chips", chips.map(c => "chip " + c.chip), chips.indexOf(run), i => showRun(chips[i], {}).then(navigation));
}

// At each outer sync the superstep that it ends on each chip; the last group of a chip is never early.
function waitsOf(system, chips) {
    const ends = chips.map(c => new Map(c.steps.filter(s => s.joins == "replica" || s.joins == "pod").map(s => [s.ends, s])));
    const rows = new Map();
    for (const o of system.syncs) {
        for (let chip = o.first_chip; chip < o.first_chip + o.chips && chip < chips.length; chip++) {
            const s = ends[chip].get(o.release), cycles = s ? o.last_arrival - (s.ends - s.outer) : 0, key = chip + "-" + o.last_chip;
            if (!cycles) continue;
            const row = rows.get(key) || { waiting: chip, waits_for: o.last_chip, syncs: 0, cycles: 0, most: 0 };
            row.syncs++; row.cycles += cycles; row.most = Math.max(row.most, cycles);
            rows.set(key, row);
        }
    }
    return [...rows.values()].sort((a, b) => b.cycles - a.cycles);
}

function systemText(system, chips, waits, cycles) {
    const replicas = 1 + most(system.chips.map(c => c.replica)), waited = sumOf(waits, w => w.cycles), busiest = system.links[0];
    return plural(system.chips.length, "chip") + ", " + plural(replicas, "replica") + " of " + plural(system.chips.length / replicas, "chip") + "; " +
        plural(system.syncs.length, "outer sync") + ". Waiting for the last chip takes " + percent(waited, cycles * chips.length) + " of the time of all chips" +
        (busiest ? "; the busiest links, of chip " + busiest.chip + " " + KIND_WORDS[busiest.kind] + ", carry " + kib(busiest.bytes) + " and are busy in " + percent(busiest.busy_cycles, cycles) + " of it" : "") + "." +
        (chips.length < system.chips.length ? " The views show the first " + chips.length + " chips." : "");
}

// A lane for each chip; a mark where it was the last to come to an outer sync.
function drawSystemTime(system, chips, cycles) {
    const [g, w, h] = canvas("system-time", chips.length * LANE + 26), scale = (w - LANE_LEFT) / cycles, colours = partColours();
    chips.forEach((chip, i) => {
        const y = 4 + i * LANE;
        g.fillStyle = css("--ink"); g.fillText("chip " + chip.chip, 2, y + 14);
        for (const s of chip.steps) {
            const p = partsOf(s);
            let x = LANE_LEFT + (s.starts - s.host) * scale;
            for (const key of ["host", "exchange", "link", "work", "imbalance", "wait", "sync", "outer"]) {
                const n = key == "host" ? s.host : key == "wait" ? s.wait : p[key];
                g.fillStyle = colours[key == "host" || key == "wait" ? "others" : key]; g.fillRect(x, y, Math.max(n * scale, n ? 0.4 : 0), LANE - 8);
                x += n * scale;
            }
        }
    });
    g.fillStyle = css("--ink");
    for (const o of system.syncs)
        if (o.last_chip < chips.length) g.fillRect(LANE_LEFT + o.last_arrival * scale - 1, 2 + o.last_chip * LANE, 2, LANE - 4);
    timeAxis(g, w, h, LANE_LEFT, 0, cycles);
}

function drawLinks(system, cycles) {
    const list = system.links.slice(0, LINKS_SHOWN), left = Math.min(330, $("system-links").clientWidth / 2);
    const [g, w] = canvas("system-links", list.length * 22 + 4), largest = most(list.map(l => l.busy_cycles)) || 1;
    list.forEach((l, i) => {
        const y = 2 + i * 22, wide = (w - left - 170) * l.busy_cycles / largest;
        g.fillStyle = css("--ink"); textWithin(g, "chip " + l.chip + " " + KIND_WORDS[l.kind], 2, y + 14, left - 10);
        g.fillStyle = css("--link"); g.fillRect(left, y + 2, Math.max(wide, 1), 16);
        g.fillStyle = css("--ink"); g.fillText(percent(l.busy_cycles, cycles) + ", " + kib(l.bytes), left + wide + 6, y + 14);
    });
}

function drawSystem(run) {
    const chips = chipsOf(run), system = chips[0].system;
    $("system").hidden = !system || run.unfit;
    if (!system || run.unfit) return;
    const cycles = Math.max(most(chips.map(c => most(c.supersteps.map(s => s.ends)))), 1), waits = waitsOf(system, chips);
    $("system-says").textContent = systemText(system, chips, waits, cycles);
    legend("system-key", PARTS.map(p => [p[1], p[2]]).concat([["mark: the last chip comes to an outer sync", "--ink"]]));
    drawSystemTime(system, chips, cycles);
    fillTable("system-waits", [["waiting", "chip"], ["waits_for", "waits for chip"], ["syncs", "syncs"], ["cycles", "cycles"], ["most", "most at once"]], waits,
        (field, r) => group(r[field]));
    $("system-links-part").hidden = !system.links.length;
    if (system.links.length) drawLinks(system, cycles);
}
