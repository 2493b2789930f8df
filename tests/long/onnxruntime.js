// onnxruntime.js - a network in onnxruntime (npm package onnxruntime-node) beside what the chip made of it.
//
//   node onnxruntime.js FILE.onnx [INPUT=]FILE.npy... -- [OUTPUT=]FILE.npy...
//
// Runs the network on the inputs, compares each output with the numbers in its file, and prints a line of JSON: the largest error of
// all, as a part of the largest number of that output, and which part of the rows along the last axis have the same largest element.
'use strict';
const fs = require('fs');
const ort = require('onnxruntime-node');

const types = { '<f4': ['float32', Float32Array], '<f8': ['float64', Float64Array], '<i4': ['int32', Int32Array],
    '<i8': ['int64', BigInt64Array] };

function readNpy(path) {
    const file = fs.readFileSync(path), wide = file[6] > 1, begin = wide ? 12 : 10;
    const bytes = wide ? file.readUInt32LE(8) : file.readUInt16LE(8);
    const head = file.toString('latin1', begin, begin + bytes);
    const type = types[/'descr': *'([^']*)'/.exec(head)[1]];
    const dims = /'shape': *\(([^)]*)\)/.exec(head)[1].split(',').filter(s => s.trim()).map(Number);
    const data = file.subarray(begin + bytes);
    const numbers = new type[1](data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength));
    return { type: type[0], dims, numbers };
}

// "NAME=FILE", or FILE of the only one.
function named(argument, names) {
    const equals = argument.indexOf('=');
    return equals < 0 ? [names[0], argument] : [argument.slice(0, equals), argument.slice(equals + 1)];
}

function compare(want, got) {
    const columns = want.dims[want.dims.length - 1] || 1;
    let largest = 0, error = 0, same = 0, rows = 0;
    if (got.numbers.length !== want.data.length)
        throw new Error(`${got.numbers.length} numbers, expected ${want.data.length}`);
    for (let at = 0; at < want.data.length; at += columns, rows++) {
        let best = at, ours = at;
        for (let k = at; k < at + columns; k++) {
            const a = Number(want.data[k]), b = Number(got.numbers[k]);
            largest = Math.max(largest, Math.abs(a));
            error = Number.isFinite(b) ? Math.max(error, Math.abs(a - b)) : Infinity;
            best = want.data[k] > want.data[best] ? k : best;
            ours = got.numbers[k] > got.numbers[ours] ? k : ours;
        }
        same += best === ours;
    }
    return { error: error / largest, best: same / rows };
}

async function main() {
    const [model, ...rest] = process.argv.slice(2), dashes = rest.indexOf('--');
    const session = await ort.InferenceSession.create(model, { executionProviders: ['cpu'], logSeverityLevel: 3 });
    const feeds = {}, all = { error: 0, best: 1 };
    for (const argument of rest.slice(0, dashes)) {
        const [name, path] = named(argument, session.inputNames), t = readNpy(path);
        feeds[name] = new ort.Tensor(t.type, t.numbers, t.dims);
    }
    const results = await session.run(feeds);
    for (const argument of rest.slice(dashes + 1)) {
        const [name, path] = named(argument, session.outputNames), c = compare(results[name], readNpy(path));
        all.error = Math.max(all.error, c.error);
        all.best = Math.min(all.best, c.best);
    }
    console.log(JSON.stringify(all));
}

main().catch(e => {
    console.error(String(e.message || e));
    process.exit(1);
});
