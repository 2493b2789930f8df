// oom.js - a program that does not fit: which tile, at which moment, what fills it, what to change.

const worstNeed = run => run.needs[0];

function momentText(run, tile) {
    const need = run.need.get(tile), step = need && run.program.find(p => p.step == need.peak_step);
    return step ? "step " + group(step.position) + " (of 0 to " + group(run.program.length - 1) + "), " + (step.kind == "exchange" ? "the exchange " : step.kind == "host" ? "the host transfer " : "computing ") + step.name : "its worst moment";
}

function oomText(run) {
    const worst = worstNeed(run), code = +run.machine.region0_bytes, over = run.needs.filter(n => n.need_bytes > run.memory || n.code_bytes > code);
    const parts = [plural(over.length, "tile") + " of " + group(run.needs.length) + " in use " + (over.length == 1 ? "needs" : "need") + " more than the " + kib(run.memory) + " there are"];
    parts.push("tile " + worst.tile + " needs most: " + kib(worst.need_bytes) + ", " + kib(Math.max(worst.need_bytes - run.memory, 0)) + " too many");
    const longest = run.needs.reduce((a, b) => b.code_bytes > a.code_bytes ? b : a);
    if (longest.code_bytes > code) parts.push("code on tile " + longest.tile + " takes " + kib(longest.code_bytes) + " of the " + kib(code) + " that can be executed");
    return parts.join("; ") + ". Most is in use at " + momentText(run, worst.tile) + ".";
}

function drawOom(run) {
    $("oom").hidden = !run.unfit;
    if (!run.unfit) return;
    const worst = worstNeed(run), owners = run.peaks.filter(p => p.tile == worst.tile), sums = new Map();
    owners.forEach(o => sums.set(o.category, (sums.get(o.category) || 0) + o.bytes));
    const list = [...sums].sort((a, b) => b[1] - a[1]), peak = sumOf(list, x => x[1]);
    const [g, w, h] = canvas("oom-bar", 78), scale = (w - 4) / Math.max(worst.need_bytes, run.memory, peak);
    let x = 0;
    g.fillText("in use on tile " + worst.tile + " at that moment: " + kib(peak), 0, 12);
    list.forEach(([name, bytes]) => {
        g.fillStyle = categoryColour(name, run.categories.indexOf(name)); g.fillRect(x, 20, bytes * scale, 24); x += bytes * scale;
    });
    g.fillStyle = css("--gap"); g.fillRect(x, 20, Math.max(worst.need_bytes - peak, 0) * scale, 24); // gaps
    g.strokeStyle = css("--ink"); g.lineWidth = 2; g.setLineDash([5, 3]); g.beginPath();
    g.moveTo(run.memory * scale, 20); g.lineTo(run.memory * scale, 52); g.stroke(); g.setLineDash([]);
    const text = "memory of a tile: " + kib(run.memory);
    g.fillStyle = css("--ink"); g.textAlign = run.memory * scale > g.measureText(text).width ? "right" : "left"; g.fillText(text, run.memory * scale, 66); g.textAlign = "left";
    legend("oom-key", list.map(([name, bytes]) => [name + " " + kib(bytes), categoryVariable(name, run.categories.indexOf(name))]).concat([["gaps, and what other moments add", "--gap"]]));
    $("oom-says").textContent = oomText(run);
    $("oom-owners-title").textContent = "Largest consumers on tile " + worst.tile + " at " + momentText(run, worst.tile);
    fillTable("oom-owners", [["bytes", "bytes"], ["share", "of the memory"], ["category", "category", "text"], ["owner", "what", "long"]], owners.slice(0, 20),
        (field, o) => field == "bytes" ? kib(o.bytes) : field == "share" ? percent(o.bytes, run.memory) : o[field]);
    $("oom-advice").replaceChildren(...run.advice.map(a => {
        const li = document.createElement("li");
        li.textContent = a.text;
        return li;
    }));
}
