// summary.js - what ran, what bounds it, the parts of its cycles, the BSP bill.

function secondsText(s) {
    return s < 1e-3 ? (1e6 * s).toFixed(1) + " µs" : s < 1 ? (1e3 * s).toFixed(3) + " ms" : s.toFixed(3) + " s";
}
const titleOf = run => run.meta.what + " on " + (run.letter.length > 1 ? plural(chipsOf(run)[0].system.chips.length, "chip") + " of " : "") + (run.meta.machine_title || run.machine.name);

// The sentence that says what bounds a run.
function boundText(run) {
    const share = k => percent(run.sum[k], run.all), compute = run.sum.work + run.sum.imbalance;
    const slow = run.layers.filter(l => l.cycles).sort((a, b) => b.cycles - a.cycles)[0];
    const about = {
        compute: "Computing bounds it: " + percent(compute, run.all) + " of the cycles, " + share("imbalance") + " of all being spent waiting for the slowest tile; exchange takes " + share("exchange") + ", sync " + share("sync"),
        exchange: "Exchange bounds it: " + share("exchange") + " of the cycles move data, " + percent(compute, run.all) + " compute, sync takes " + share("sync"),
        sync: "Sync bounds it: " + share("sync") + " of the cycles join " + plural(run.steps.length, "superstep") + ", which are short; " + percent(compute, run.all) + " compute, " + share("exchange") + " exchange",
        chips: "Other chips bound it: " + percent(run.sum.link + run.sum.outer, run.all) + " of the cycles wait for them or their words; " + percent(compute, run.all) + " compute, " + share("exchange") + " exchange",
        others: "Waiting for the host or other sync groups bounds it: " + share("others") + " of the cycles; " + percent(compute, run.all) + " compute, " + share("exchange") + " exchange" };
    const sizes = { compute, exchange: run.sum.exchange, sync: run.sum.sync, chips: (run.sum.link || 0) + (run.sum.outer || 0), others: run.sum.others };
    const largest = Object.keys(sizes).reduce((a, b) => sizes[a] >= sizes[b] ? a : b);
    return run.all ? about[largest] + (slow ? ". The slowest layer is " + slow.name + ", " + percent(slow.cycles, run.meta.cycles) : "") + "." : "";
}

function notesOf(run) {
    const list = run.faults.map(f => (f.kind == "overflow" ? "Overflow: " : "Stopped: ") + f.text +
        (f.kind == "fault" || f.superstep === null ? "" : ", superstep " + f.superstep) + "."); // a fault says itself where it was
    for (const s of run.saturations.slice(0, 20))
        list.push("Results beyond the range of f16 in superstep " + s.superstep + (s.layer === null ? "" : ", layer " + run.layers[s.layer].name) + ": " +
            (s.tiles ? "first seen on " + plural(s.tiles, "tile") : "seen") + (s.saturated === null ? "" : "; " + group(s.saturated) + " of " + group(s.numbers) + " results") + ".");
    if (+run.meta.supersteps_left_out)
        list.push("The profile keeps the first " + group(run.supersteps.length) + " supersteps; " + group(run.meta.supersteps_left_out) + " more ran, which no view shows.");
    return list;
}

function drawParts(run) {
    const [g, w, h] = canvas("parts", 34), colours = partColours();
    let x = 0;
    for (const [key] of PARTS) {
        const d = w * run.sum[key] / (run.all || 1);
        g.fillStyle = colours[key]; g.fillRect(x, 0, d, h);
        g.fillStyle = onColour(colours[key]);
        if (d > 48) g.fillText(percent(run.sum[key], run.all), x + 6, 21);
        x += d;
    }
}

// w, h, l of all supersteps beside what they took.
function billRows(run) {
    const s = run.steps, w = sumOf(s, x => x.largest_compute), h = sumOf(s, x => x.h_words), g = +run.meta.bsp_g, l = +run.meta.bsp_l;
    const measured = sumOf(s, x => x.exchange + x.compute + x.sync), syncs = s.filter(x => x.number > 0).length, model = w + g * h + l * syncs;
    return [["w, the most that a tile computes, summed over supersteps", group(w) + " cycles"],
        ["mean of what a tile computes", group(sumOf(s, x => x.mean_compute)) + " cycles"],
        ["g h: " + g.toFixed(2) + " cycles a word × " + group(h) + " words", group(g * h) + " cycles"],
        ["l: " + group(l) + " cycles × " + plural(syncs, "sync"), group(l * syncs) + " cycles"],
        ["predicted: w + g h + l", group(model) + " cycles"],
        ["measured, without waiting for other groups and the host", group(measured) + " cycles"],
        ["predicted is off by", signedPercent(model - measured, measured)]];
}

function drawSummary(run) {
    const fullest = most(run.tiles.map(t => t.used_bytes)), need = most(run.needs.map(n => n.need_bytes));
    $("title").textContent = titleOf(run);
    document.title = titleOf(run) + ": " + (run.unfit ? "out of memory" : group(run.meta.cycles) + " cycles");
    $("command").textContent = run.meta.command;
    $("machine").textContent = group(run.machine.tiles) + " tiles of " + kib(run.memory) + " at " + run.machine.clock_mhz + " MHz; superstep " +
        run.meta.program_version + (run.meta.engine ? "; " + run.meta.engine + " engine" : "") + (run.meta.engine_note ? " (" + run.meta.engine_note + ")" : "");
    $("verdict").textContent = run.unfit ? "It does not fit and has not run: " + oomText(run) :
        group(run.meta.cycles) + " cycles, " + secondsText(+run.meta.seconds) + " on the chip" + (run.meta.status == "ok" ? ". " + boundText(run) : ", then it stopped: " + run.meta.status + ". What ran until then is shown.") +
        " The fullest tile uses " + kib(fullest) + ", " + percent(fullest, run.memory) + " of its memory" + (need ? "; " + kib(need) + " are needed to fit." : ".");
    $("notes").replaceChildren(...notesOf(run).map(text => {
        const p = document.createElement("p");
        p.className = "warn"; p.textContent = text;
        return p;
    }));
    $("cycles-part").hidden = !run.steps.length;
    if (!run.steps.length) return;
    legend("parts-key", PARTS.map(([key, words, colour]) => [words + ": " + group(run.sum[key]), colour]));
    drawParts(run);
    $("bill-part").hidden = run.meta.bsp_g === undefined || run.meta.status != "ok"; // supersteps that did not end have no bill
    if (!$("bill-part").hidden)
        fillTable("bill", [["0", "part", "text"], ["1", "sum over all supersteps"]], billRows(run), (field, r) => r[field]);
}
