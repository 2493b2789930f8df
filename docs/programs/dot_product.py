#!/usr/bin/env python3
"""Writes a graph file (graph_format.md) for the inner product of two vectors of n numbers.

    python3 docs/programs/dot_product.py [N [MACHINE TILES]] > dot.graph
    superstep run dot.graph --input x=x.npy --input y=y.npy --save result=r.npy
"""
import sys

n = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
machine, tiles = (sys.argv[2], int(sys.argv[3])) if len(sys.argv) > 3 else ("toy16", 16)
each = -(-n // tiles)  # numbers of a tile; the last one has less
used = -(-n // each)


def vector(name, size, flags, first, last, part):
    where = f"tile {first}" if first == last else f"tiles {first} to {last}, {part} each"
    print(f"variable {name} f32 [{size}] {flags}\n    [0:{size}] on {where}")


def vertex(codelet, tile, **fields):
    print(f"  vertex {codelet} on tile {tile}")
    for name, value in fields.items():
        print(f"    {name} = {value}")


print(f"superstep-graph 1\nmachine {machine} tiles {tiles}")
vector("x", n, "kept contents", 0, used - 1, each)
print("    =", *(k % 8 for k in range(n)))
vector("y", n, "kept contents", 0, used - 1, each)
print("    =", *(1 / (1 + k % 4) for k in range(n)))
vector("product", n, "", 0, used - 1, each)
vector("sums", 6 * used, "", 0, used - 1, 6)  # of each worker
vector("result", 1, "kept", 0, 0, 1)

for name in "multiply", "add", "total":
    print("compute set", name)
    for t in range(1 if name == "total" else used):
        run = f"[{t * each}:{min(n, (t + 1) * each)}]"
        if name == "multiply":
            vertex("mul_f32", t, a="x" + run, b="y" + run, out="product" + run)
        elif name == "add":
            vertex("total_sum_f32", t, x="product" + run, out=f"sums[{6 * t}:{6 * t + 6}]")
        else:
            vertex("reduce_sum_f32_f32", t, partials="sums", out="result", p=6 * used)
print("program\n  sequence\n    execute multiply\n    execute add\n    execute total")
