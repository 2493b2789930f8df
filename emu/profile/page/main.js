// main.js - which run, tile and superstep the views show; the address may name them: #view=floor&tile=5&step=3&run=B&chip=1.

const parsed = JSON.parse($("data").textContent);
if (parsed.some(d => d.system)) PARTS.push(...CHIP_PARTS);
const entries = parsed.map(makeRun); // a run of several chips has one for each
const runs = entries.filter(r => !r.chip);
const chipsOf = run => entries.filter(r => r.letter[0] == run.letter[0]);
const state = { run: runs[0], tile: 0, step: -1 };

function chooseTile(tile) {
    state.tile = tile;
    drawFloor(state.run); drawMemory(state.run); loadTile(state.run); loadLiveness(state.run); drawStep(state.run);
}

// A run anew: its fullest tile and longest superstep are chosen.
async function showRun(run, want) {
    const all = run.supersteps, busy = s => s.ends - s.starts - s.wait;
    const longest = all.reduce((a, s, i) => s.sync_group ? a : a < 0 || busy(s) > busy(all[a]) ? i : a, -1);
    const fullest = run.tiles.reduce((a, t) => t.used_bytes > a.used_bytes ? t : a, run.tiles[0]);
    state.run = run;
    state.tile = run.tileAt.has(+want.tile) && want.tile !== undefined ? +want.tile : run.unfit && run.needs.length ? run.needs[0].tile : fullest.tile;
    state.step = want.step === undefined ? longest : all.findIndex(s => !s.sync_group && s.number == want.step);
    drawChipChoice(run);
    drawSummary(run); drawSystem(run); drawOom(run); resetFloor(run); resetMemory(run); resetTime(run); resetTraffic(run, want.by);
    drawLayers(run); drawFloor(run); drawMemory(run);
    if (want.zoom && state.step >= 0) Object.assign(timeView, { from: all[state.step].starts, to: all[state.step].ends });
    if (all.length) drawTime(run);
    await Promise.all([drawStep(run), loadTile(run), loadLiveness(run)]);
    if (traffic.seen) loadTraffic(run);
    if (want.live == "tile" && run.program.length) { liveView.whole = false; drawLiveness(run); }
}

// Everything that depends on the width.
function drawAgain() {
    const run = state.run;
    drawSummary(run); drawSystem(run); drawOom(run); drawFloor(run); drawMemory(run);
    if (run.supersteps.length) { drawTime(run); drawStep(run); }
    if (tileView.map.length) drawTile(run);
    drawTileTime(run);
    if (liveView.use) drawLiveness(run);
    if (traffic.seen) drawTraffic(run);
}

function navigation() {
    $("nav").replaceChildren(...[...document.querySelectorAll("section")].filter(s => !s.hidden).map(s => {
        const a = document.createElement("a");
        a.href = "#" + s.id; a.textContent = s.querySelector("h2").textContent;
        a.onclick = e => { e.preventDefault(); s.scrollIntoView(); (s.querySelector("canvas[tabindex], .scroll, button") || s).focus(); };
        return a;
    }));
}

async function begin() {
    const want = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
    setUpFloor(); setUpTile(); setUpMemory(); setUpTime(); setUpTraffic();
    drawCompare(runs[0], runs[1]);
    if (runs[1]) {
        $("runs").hidden = false;
        choice("runs", runs.map(r => "show " + r.letter[0] + ": " + titleOf(r)), want.run == "B" ? 1 : 0, i => showRun(runs[i], {}).then(navigation));
    }
    if (want.view) document.querySelectorAll("section").forEach(s => s.style.display = s.id == want.view ? "" : "none");
    const wanted = runs[want.run == "B" && runs[1] ? 1 : 0];
    await showRun(chipsOf(wanted)[+want.chip || 0] || wanted, want);
    if (want.view && (!$(want.view) || $(want.view).hidden)) { // this run has no such view
        document.querySelectorAll("section").forEach(s => s.style.display = "");
        drawAgain();
    }
    navigation();
    document.documentElement.dataset.ready = Math.round(performance.now()); // for tests: all views but the last are drawn
    // All exchanges together are many numbers: they are added up behind everything else.
    await new Promise(done => setTimeout(done));
    traffic.seen = true;
    await loadTraffic(state.run);
    document.documentElement.dataset.whole = Math.round(performance.now());
}
// Other colours: those of a dark screen, or of paper, which is light.
function recolour() {
    shades.clear(); readRamp();
    drawAgain();
}
const onPaper = is => () => { document.documentElement.toggleAttribute("data-paper", is); recolour(); };
addEventListener("resize", drawAgain);
addEventListener("beforeprint", onPaper(true));
addEventListener("afterprint", onPaper(false));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
readRamp();
begin();
