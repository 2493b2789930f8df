// time.js - supersteps in time, from the whole run to one of them and its tiles; lanes of IO tiles and of the host.

const timeView = { from: 0, to: 1, end: 1, least: 40 };

// Supersteps that are narrower than a pixel are drawn as their mean.
function drawTime(run) {
    const [g, w, h] = canvas("time-bars", 200), base = h - 22, v = timeView, scale = w / (v.to - v.from), colours = partColours();
    const names = [];
    for (const s of run.steps) {
        const x0 = (s.starts - s.host - v.from) * scale, x1 = (s.ends - v.from) * scale;
        if (x1 < 0 || x0 > w) continue;
        const p = partsOf(s), n = s.ends - s.starts + s.host || 1;
        let y = base;
        for (const [key] of PARTS) {
            const d = (base - 16) * p[key] / n;
            g.fillStyle = colours[key]; g.fillRect(x0, y - d, Math.max(x1 - x0 - (x1 - x0 > 3 ? 1 : 0), 0.7), d); y -= d;
        }
        const name = s.layer_name || s.scope || s.operation;
        const last = names[names.length - 1];
        if (last && last.name == name) last.x1 = x1; else names.push({ name, x0, x1 });
    }
    g.fillStyle = css("--ink");
    names.forEach(n => { if (n.x1 - n.x0 > 30) textWithin(g, n.name, Math.max(n.x0, 0) + 2, 11, n.x1 - Math.max(n.x0, 0) - 4); });
    const s = run.supersteps[state.step];
    if (s && !s.sync_group) { g.strokeStyle = css("--chosen"); g.lineWidth = 2; g.strokeRect((s.starts - v.from) * scale, 15, Math.max((s.ends - s.starts) * scale, 2), base - 16); }
    timeAxis(g, w, h, 0, v.from, v.to);
    drawLanes(run);
}

// A lane for each further sync group, and for each stream of the host.
function drawLanes(run) {
    const lanes = run.groups.map((tiles, n) => ({ n, tiles })).filter(x => x.n && x.tiles), streams = run.streams;
    $("time-lanes").hidden = $("lanes-key").hidden = !lanes.length && !streams.length;
    if ($("time-lanes").hidden) return;
    legend("lanes-key", streams.length ? [["a transfer, from its request to its end; darker where several are under way", "--host"]] : []);
    const [g, w] = canvas("time-lanes", (lanes.length + streams.length) * 30 + 4), v = timeView, scale = w / (v.to - v.from);
    let y = 4;
    for (const lane of lanes) {
        for (const s of run.supersteps) {
            if (s.sync_group != lane.n) continue;
            let x = (s.starts - v.from) * scale;
            for (const [key, colour] of [["exchange", "--exchange"], ["link", "--link"], ["compute", "--compute"], ["wait", "--wait"], ["sync", "--sync"], ["outer", "--outer"]]) {
                g.fillStyle = css(colour); g.fillRect(x, y + 14, Math.max(s[key] * scale, s[key] ? 0.5 : 0), 11); x += s[key] * scale;
            }
        }
        g.fillStyle = css("--ink"); g.fillText("sync group " + lane.n + ": " + plural(lane.tiles.length, "tile") + " (IO)", 2, y + 10);
        y += 30;
    }
    for (const stream of streams) {
        for (const t of run.transfers) {
            if (t.stream != stream.stream) continue;
            g.fillStyle = css("--host"); g.globalAlpha = 0.45;
            g.fillRect((t.issued - v.from) * scale, y + 14, Math.max((t.arrived - t.issued) * scale, 1), 11); g.globalAlpha = 1;
        }
        g.fillStyle = css("--ink");
        g.fillText("host stream " + stream.stream + (stream.name ? ", " + stream.name + "," : "") + (stream.direction == "to_host" ? " to the host" : " to the tiles") + ": " + plural(stream.transfers, "transfer") + ", " + kib(stream.bytes), 2, y + 10);
        y += 30;
    }
}

function stepText(run, s) {
    return "Superstep " + s.number + (s.layer_name ? ", layer " + s.layer_name : s.scope ? ", " + s.scope : "") + (s.operation ? ", " + s.operation : "") + ": " + group(s.ends - s.starts) +
        " cycles. w " + group(s.largest_compute) + ", mean w " + group(s.mean_compute) + ", h " + plural(s.h_words, "word") + ", " +
        (run.meta.bsp_g === undefined ? "" : "predicted w + g h + l " + group(s.largest_compute + run.meta.bsp_g * s.h_words + (s.number > 0 ? +run.meta.bsp_l : 0)) + "; ") +
        "exchange " + group(s.exchange) + (s.link ? ", link " + group(s.link) : "") + ", compute " + group(s.compute) + ", imbalance " + group(s.imbalance) + ", wait " + group(s.wait) +
        (s.outer ? ", other chips " + group(s.outer) : ", sync " + group(s.sync)) +
        ". " + plural(s.words_out, "word") + " in " + plural(s.messages_out, "message") + ". Slowest: tile " + s.slowest_tile + ".";
}

// What every tile did in the chosen superstep, in the order of their numbers.
async function drawStep(run) {
    const s = run.supersteps[state.step];
    $("step-tiles").hidden = $("step-key").hidden = !s;
    if (!s) return;
    $("time-says").textContent = stepText(run, s);
    const exchange = await numbers(run, "exchange"), compute = await numbers(run, "compute"), link = await numbers(run, "link");
    if (s != run.supersteps[state.step] || run != state.run) return;
    const [g, w, h] = canvas("step-tiles", 150), tiles = run.groups[s.sync_group], left = 78, base = h - 20, n = s.ends - s.starts || 1, bar = (w - left) / tiles.length;
    const y = c => base - (base - 6) * c / n;
    g.textAlign = "right"; g.fillStyle = css("--soft");
    for (const c of ticks(n, 3)) g.fillText(group(c), left - 6, y(c) + 4);
    g.textAlign = "left";
    for (let k = 0; k < s.tiles; k++) {
        const e = exchange[s.at + k], l = e + (link[s.at + k] || 0), c = compute[s.at + k], x = left + k * bar, wide = Math.max(bar - (bar > 4 ? 1 : 0), 0.9);
        g.fillStyle = css("--exchange"); g.fillRect(x, y(e), wide, base - y(e));
        g.fillStyle = css("--link"); g.fillRect(x, y(l), wide, y(e) - y(l));
        g.fillStyle = css("--compute"); g.fillRect(x, y(l + c), wide, y(l) - y(l + c));
        if (tiles[k] == s.slowest_tile || tiles[k] == state.tile) { g.fillStyle = tiles[k] == state.tile ? css("--chosen") : css("--ink"); g.fillRect(x - 1, base, Math.max(bar, 3), 5); }
    }
    g.fillStyle = css("--soft"); g.fillText("tile " + tiles[0], left, h - 2); g.textAlign = "right"; g.fillText("tile " + tiles[tiles.length - 1], w, h - 2); g.textAlign = "left";
    legend("step-key", [["exchanges", "--exchange"], ...(run.letter.length > 1 ? [["waits for words of other chips", "--link"]] : []), ["computes, from the end of its own exchange (cycles)", "--compute"], ["mark: slowest tile", "--ink"], ["mark: chosen tile", "--chosen"]]);
    const k = run.place.get(s.slowest_tile);
    $("step-says").textContent = "Every tile in this superstep. Tile " + s.slowest_tile + ", the slowest, exchanges " + group(exchange[s.at + k]) + " and computes " + group(compute[s.at + k]) +
        " cycles; the mean tile computes " + group(s.mean_compute) + ".";
}

function chooseStep(i, show) {
    const s = state.run.supersteps[i];
    if (!s) return;
    state.step = i;
    if (show) showRange(timeView, s.starts, s.ends);
    drawTime(state.run); drawStep(state.run); drawTileTime(state.run); trafficStep(state.run);
}

function resetTime(run) {
    $("time").hidden = !run.supersteps.length;
    timeView.from = 0;
    timeView.to = timeView.end = Math.max(most(run.supersteps.map(s => s.ends)), 1);
    legend("time-key", PARTS.map(p => [p[1], p[2]]).concat([["chosen superstep", "--chosen"]]));
}

function setUpTime() {
    const again = () => { drawTime(state.run); drawTileTime(state.run); };
    const stepAt = c => state.run.supersteps.findIndex(s => !s.sync_group && c >= s.starts && c < s.ends);
    const beside = d => {
        const list = state.run.steps, s = state.run.supersteps[state.step], at = list.indexOf(s);
        chooseStep(state.run.supersteps.indexOf(list[clamp(at + d, 0, list.length - 1)]), true);
    };
    pannable("time-bars", timeView, again, c => chooseStep(stepAt(c)));
    $("time-bars").addEventListener("keydown", e => {
        const s = state.run.supersteps[state.step], v = timeView, middle = s ? (s.starts + s.ends) / 2 : (v.from + v.to) / 2;
        if (e.key == "+" || e.key == "-") { zoomTo(v, e.key == "+" ? 0.6 : 1.6, clamp(middle, v.from, v.to)); again(); }
        else if (e.key == "0") { v.from = 0; v.to = v.end; again(); }
        else if (e.key == "Enter" && s) { v.from = s.starts; v.to = s.ends; again(); }
        else if (e.key == "ArrowRight" || e.key == "ArrowLeft") beside(e.key == "ArrowRight" ? 1 : -1);
        else if (e.key == "Home") chooseStep(0, true);
        else return;
        e.preventDefault();
    });
}
