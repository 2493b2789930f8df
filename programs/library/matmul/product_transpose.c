/* product_transpose.c - operands of products in which rows, not terms, are neighbours in memory.
 *
 * Parts of one block of terms and some rows lie [terms][rows] on the tile that fetches them, in
 * pieces of at least 32 bytes, and become [rows][terms]: [batch][kb][rows][block] in memory. */
#include "programs/library/matmul/product.h"

#include <string.h>

#include "programs/library/layout/plan_cost.h"
#include "programs/library/layout/tile_parts.h"

uint32_t product_tile(const struct graph *g, uint32_t first, uint32_t i, uint32_t parts)
{
    uint64_t tiles = ss_graph_compute_tiles(g);

    return (uint32_t)((first + i * tiles / parts) % tiles);
}

uint32_t product_first_tile(struct graph *g, uint32_t parts)
{
    return parts < ss_graph_compute_tiles(g) ? ss_graph_first_tile(g, parts) : 0;
}

struct turn {
    struct graph *g;
    uint32_t cs, block;
    struct tensor from;  /* [batch][terms][rows] */
    struct tensor to;    /* [batch][kb][rows][block] */
    struct tensor zeros; /* [tiles][block] */
};

/* Block `kb` of the terms of some rows, [block][rows]; terms after the last one are zeros. */
static struct tensor source(const struct turn *t, uint32_t batch, uint32_t kb, uint32_t begin,
                            uint32_t end, uint32_t tile)
{
    uint32_t terms = ss_tensor_shape(t->g, t->from)[1], first = kb * t->block,
             last = first + t->block;
    struct tensor part[2] = { ss_tensor_slice(t->g, ss_tensor_index(t->g, t->from, batch), 1, begin,
                                              end) };

    part[0] = ss_tensor_slice(t->g, part[0], 0, first, last < terms ? last : terms);
    if (last <= terms)
        return part[0];
    part[1] = ss_tensor_slice(t->g, t->zeros, 0, tile, tile + 1);
    part[1] = ss_tensor_broadcast(t->g, part[1], 0, (last - terms) * (end - begin) / t->block + 1);
    part[1] = ss_tensor_slice(t->g, ss_tensor_flatten(t->g, part[1]), 0, 0,
                              (last - terms) * (end - begin));
    part[1] = ss_tensor_reshape(t->g, part[1], 2, (const uint32_t[]){ last - terms, end - begin });
    return ss_tensor_concat(t->g, part, 2, 0);
}

/* Whether the kernel for blocks of 16 x 16 can do [16][rows], and sooner than the one for all. */
static int in_blocks(const struct arch *a, enum elem e, uint32_t rows)
{
    uint32_t n = rows * 16;

    return e == ELEM_F16 && rows % 16 == 0 &&
           KERNEL_CYCLES(transpose16, KERNEL_ROW(transpose16_f16), a, .x = n, .y = n,
                         .blocks = rows / 16) < KERNEL_CYCLES(transpose, KERNEL_ROW(transpose_f16),
                                                              a, .x = n, .y = n, .rows = 16,
                                                              .cols = rows);
}

static void turn_part(const struct turn *t, uint32_t batch, uint32_t kb, uint32_t begin,
                      uint32_t end, uint32_t tile)
{
    enum elem e = ss_tensor_elem(t->g, t->to);
    uint32_t rows = end - begin;
    struct tensor x = source(t, batch, kb, begin, end, tile);
    struct tensor y = ss_tensor_index(t->g, ss_tensor_index(t->g, t->to, batch), kb);

    y = ss_tensor_flatten(t->g, ss_tensor_slice(t->g, y, 0, begin, end));
    ss_graph_map(t->g, y, tile);
    if (in_blocks(ss_graph_arch(t->g), e, rows)) {
        x = ss_tensor_reshape(t->g, x, 3,
                              (const uint32_t[]){ t->block, rows / t->block, t->block });
        x = ss_tensor_flatten(t->g, ss_tensor_transpose(t->g, x, (const unsigned[]){ 1, 0, 2 }));
        VERTEX(transpose16_f16, t->g, t->cs, tile, .x = x, .y = y, .blocks = rows / t->block);
        return;
    }
    VERTEX_OF(transpose, e == ELEM_F16 ? KERNEL_ROW(transpose_f16) : KERNEL_ROW(transpose_f32),
              t->g, t->cs, tile, .x = ss_tensor_flatten(t->g, x), .y = y, .rows = t->block,
              .cols = rows);
}

static struct tensor turn(struct turn *t, const uint32_t *shape, uint32_t kb)
{
    uint32_t strips = shape[0] * kb, tiles = ss_graph_compute_tiles(t->g);
    uint32_t units = (shape[1] + t->block - 1) / t->block, cuts = tiles / strips, first;
    struct tensor all;

    cuts = cuts > units ? units : cuts ? cuts : 1;
    first = product_first_tile(t->g, strips * cuts);
    for (uint32_t i = 0; i < strips * cuts; i++) {
        uint32_t strip = i / cuts, begin = cut_at(units, cuts, i % cuts) * t->block;
        uint32_t end = cut_at(units, cuts, i % cuts + 1) * t->block;

        turn_part(t, strip / kb, strip % kb, begin, end < shape[1] ? end : shape[1],
                  product_tile(t->g, first, i, strips * cuts));
    }
    all = ss_tensor_transpose(t->g, t->to, (const unsigned[]){ 0, 2, 1, 3 });
    return ss_tensor_reshape(t->g, all, 3, (const uint32_t[]){ shape[0], shape[1], kb * t->block });
}

struct tensor product_rows(struct graph *g, struct program seq, struct tensor t,
                           struct tensor zeros, const char *name)
{
    enum elem e = ss_tensor_elem(g, t);
    struct tensor other = ss_tensor_transpose(g, t, (const unsigned[]){ 0, 2, 1 });
    uint32_t shape[3], kb;
    struct turn w = { .g = g, .block = product_block(e), .from = other, .zeros = zeros };

    memcpy(shape, ss_tensor_shape(g, t), sizeof(shape));
    kb = product_blocks(e, shape[2]);
    if (ss_tensor_memory_runs(g, t) <= ss_tensor_memory_runs(g, other))
        return t;
    w.cs = op_compute_set(g, seq, name);
    w.to = ss_graph_variable(g, e, 4, (const uint32_t[]){ shape[0], kb, shape[1], w.block }, name);
    return turn(&w, shape, kb);
}
