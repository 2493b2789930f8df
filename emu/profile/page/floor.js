// floor.js - the tiles where they lie on the chip, coloured by bytes, cycles or words; chooses the tile of all views.

const SHOWN = [["used_bytes", "bytes used", kib], ["compute", "cycles computing", group], ["exchange", "cycles exchanging", group],
    ["wait", "cycles waiting", group], ["words_in", "words received", group], ["words_out", "words sent", group]];
const floor = { by: 0, side: 10, gap: 0 };

// The two halves of a chip lie apart.
function floorX(run, column) {
    return column * floor.side + (floor.gap && column >= floor.columns / 2 ? floor.gap : 0);
}

function drawFloor(run) {
    const shown = SHOWN.filter(s => !run.unfit || s[0] == "used_bytes"), [field, words, text] = shown[floor.by] || shown[0];
    floor.columns = 1 + most(run.tiles.map(t => t.column)); floor.rows = 1 + most(run.tiles.map(t => t.row));
    if (run.machine.exchange_kind == "columns") floor.columns = 4 * run.machine.exchange_columns;
    floor.gap = run.machine.exchange_kind == "columns" ? 14 : 0;
    const width = $("floor-map").clientWidth;
    floor.side = Math.min((width - 150 - floor.gap) / floor.columns, 44);
    const [g, , h] = canvas("floor-map", Math.max(floor.rows * floor.side + 4, 130));
    const top = Math.max(most(run.tiles.map(t => t[field])), 1), place = new Map(), inset = floor.side > 5 ? 1 : 0;
    run.tiles.forEach(t => {
        const x = floorX(run, t.column), y = t.row * floor.side;
        place.set(t.row * 65536 + t.column, t.tile);
        g.fillStyle = rampColour(t[field] / top); g.fillRect(x, y, floor.side - inset, floor.side - inset);
        if (t.sync_group && floor.side > 7) { g.fillStyle = css("--ink"); g.fillRect(x + 2, y + 2, 3, 3); }
        if (floor.side > 30) {
            g.fillStyle = onRamp(t[field] / top); g.fillText(t.tile, x + 5, y + floor.side / 2 + 4);
        }
    });
    floor.place = place;
    const chosen = run.tiles[run.tileAt.get(state.tile)];
    if (chosen) {
        const x = floorX(run, chosen.column), y = chosen.row * floor.side;
        g.lineWidth = 4; g.strokeStyle = css("--paper"); g.strokeRect(x, y, floor.side, floor.side);
        g.lineWidth = 2; g.strokeStyle = css("--chosen"); g.strokeRect(x, y, floor.side, floor.side);
    }
    rampKey(g, floorX(run, floor.columns) + 18, 6, text(top), field == "used_bytes" ? "0 bytes" : "0", words);
    $("floor-map").setAttribute("aria-label", "map of the tiles by " + words + "; arrow keys choose one");
    if (chosen) $("floor-says").textContent = tileText(run, chosen);
}

function tileText(run, t) {
    const need = run.need.get(t.tile);
    return "Tile " + t.tile + " (row " + t.row + ", column " + t.column + "), sync group " + t.sync_group + ": " + kib(t.used_bytes) + " used" +
        (run.unfit ? need ? ", " + kib(need.need_bytes) + " needed" + (need.need_bytes > run.memory ? ": it does not fit" : "") : "" :
        "; computes " + group(t.compute) + ", exchanges " + group(t.exchange) + ", waits " + group(t.wait) + " cycles; receives " + group(t.words_in) +
        " words in " + plural(t.messages_in, "message") + ", sends " + group(t.words_out) + " in " + group(t.messages_out)) + ".";
}

function setUpFloor() {
    $("floor-map").addEventListener("click", e => {
        const half = floorX(state.run, floor.columns / 2), x = floor.gap && e.offsetX >= half ? e.offsetX - floor.gap : e.offsetX;
        const tile = floor.place.get(Math.floor(e.offsetY / floor.side) * 65536 + Math.floor(x / floor.side));
        if (tile !== undefined) chooseTile(tile);
    });
    $("floor-map").addEventListener("keydown", e => {
        const d = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[e.key], t = state.run.tiles[state.run.tileAt.get(state.tile)];
        if (!d || !t) return;
        e.preventDefault();
        for (let r = t.row + d[0], c = t.column + d[1]; r >= 0 && c >= 0 && r < floor.rows && c < floor.columns; r += d[0], c += d[1]) {
            const tile = floor.place.get(r * 65536 + c);
            if (tile !== undefined) return chooseTile(tile);
        }
    });
}
function resetFloor(run) {
    floor.by = 0;
    const shown = SHOWN.filter(s => !run.unfit || s[0] == "used_bytes");
    choice("floor-buttons", shown.map(s => s[1]), 0, i => { floor.by = i; drawFloor(state.run); });
}
