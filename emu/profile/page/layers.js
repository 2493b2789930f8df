// layers.js - layers of a network, or operations of another program, with a reason in words beside each (emu/profile/reason.c).

const layerSort = { by: "cycles", down: true };

// Supersteps that begin with the same operation, of programs without layers.
function operationsOf(run) {
    const rows = new Map(), why = new Map(run.operations.map(o => [o.name, o.why]));
    for (const s of run.steps) {
        const name = s.scope || s.operation || "(no name)", r = rows.get(name) || { name, operation: s.operation, supersteps: 0, cycles: 0, exchange: 0, compute: 0, sync: 0, imbalance: 0, wait: 0, bound: 0, words: 0, why: why.get(name) };
        r.supersteps++; r.words += s.words_out; r.wait += s.wait + s.host; r.cycles += s.exchange + s.compute + s.sync;
        for (const k of ["exchange", "compute", "sync", "imbalance"]) r[k] += s[k];
        rows.set(name, r);
    }
    return [...rows.values()];
}

function drawLayers(run) {
    const network = run.layers.length > 0, list = network ? run.layers.filter(l => l.cycles || run.unfit) : operationsOf(run);
    $("layers").hidden = !list.length;
    $("layers-title").textContent = network ? "Layers" : "Operations";
    const columns = [["name", network ? "layer" : "operation", "text"]];
    if (network) columns.push(["operation", "operation", "text"]);
    if (!run.unfit) columns.push(["cycles", "cycles"], ["why", "why", "long"], ["exchange", "exchange"], ["compute", "compute"], ["imbalance", "imbalance"], ["sync", "sync"]);
    if (!run.unfit && network) columns.push(["bound", "bound"]);
    if (!run.unfit && !network) columns.push(["wait", "wait"], ["words", "words sent"]);
    if (network) columns.push(["max_tile_bytes", "fullest tile"], ["held_bytes", "held"]);
    layerSort.again = () => drawLayers(state.run);
    if (run.unfit && layerSort.by == "cycles") layerSort.by = "max_tile_bytes";
    const by = layerSort.by;
    list.sort((a, b) => (a[by] < b[by] ? -1 : a[by] > b[by] ? 1 : 0) * (layerSort.down ? -1 : 1));
    fillTable("layers-table", columns, list, (field, l) => typeof l[field] != "number" ? l[field] : field.endsWith("bytes") ? kib(l[field]) : group(l[field]), layerSort);
}
