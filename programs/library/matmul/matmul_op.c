/* matmul_op.c - a matrix product by its plan (matmul_plan.c).
 *
 * Tile (ik, im, in) multiplies block (im, ik) of the left operand, which is [kb][rows][16] in
 * memory, by block (ik, in) of the right one, [nb][kb][16 columns][16 terms of the sum]. `in` runs
 * fastest in tile numbers, so the tiles that share a left block are neighbours. */
#include "programs/library/layout/tile_parts.h"

enum { BLOCK = 16 };

static uint32_t tile_of(const struct matmul_plan *p, uint32_t ik, uint32_t im, uint32_t in)
{
    return p->first_tile + (ik * p->sm + im) * p->sn + in;
}

/* Elements before block (im, ik) of the left operand; im runs fastest. */
static uint32_t left_at(const struct matmul_plan *p, uint32_t ik, uint32_t im)
{
    uint32_t kb = cut_at(p->k / BLOCK, p->sk, ik), size = cut_size(p->k / BLOCK, p->sk, ik);

    return (kb * p->m + size * cut_at(p->m, p->sm, im)) * BLOCK;
}

static uint32_t right_at(const struct matmul_plan *p, uint32_t ik, uint32_t in)
{
    uint32_t kb = cut_at(p->k / BLOCK, p->sk, ik), size = cut_size(p->k / BLOCK, p->sk, ik);

    return (kb * (p->n / BLOCK) + size * cut_at(p->n / BLOCK, p->sn, in)) * BLOCK * BLOCK;
}

/* Elements before block (im, in) in a result, or in one of the sk partial results. */
static uint32_t out_at(const struct matmul_plan *p, uint32_t im, uint32_t in)
{
    uint32_t row = cut_at(p->m, p->sm, im), rows = cut_size(p->m, p->sm, im);

    return row * p->n + rows * cut_at(p->n / BLOCK, p->sn, in) * BLOCK;
}

/* Maps t to `tiles` tiles, `stride` apart, in whole rows of 16 elements. */
static void deal(struct graph *g, struct tensor t, uint32_t first, uint32_t stride, uint32_t tiles)
{
    uint32_t rows = (uint32_t)(ss_tensor_elements(g, t) / BLOCK);

    for (uint32_t i = 0; i < tiles; i++) {
        uint32_t from = cut_at(rows, tiles, i) * BLOCK, to = cut_at(rows, tiles, i + 1) * BLOCK;

        if (from < to)
            ss_graph_map(g, ss_tensor_slice(g, t, 0, from, to), first + i * stride);
    }
}

/* The matrix made of blocks; part[i * columns + k] is block (i, k). */
static struct tensor mosaic(struct graph *g, const struct tensor *part, uint32_t rows,
                            uint32_t columns)
{
    struct tensor *row = emu_alloc(rows, sizeof(*row)), all = part[0];

    if (!row) {
        ss_graph_fail(g, EMU_NO_MEMORY, "a matrix of %u x %u blocks", rows, columns);
        return all;
    }
    for (uint32_t i = 0; i < rows; i++)
        row[i] = ss_tensor_concat(g, part + (size_t)i * columns, columns, 1);
    all = ss_tensor_concat(g, row, rows, 0);
    ss_free(row);
    return all;
}

/* t [blocks][rows][16] seen as [rows][blocks * 16]. */
static struct tensor unblock(struct graph *g, struct tensor t, uint32_t blocks, uint32_t rows)
{
    static const unsigned order[] = { 1, 0, 2 };

    t = ss_tensor_reshape(g, t, 3, (const uint32_t[]){ blocks, rows, BLOCK });
    t = ss_tensor_transpose(g, t, order);
    return ss_tensor_reshape(g, t, 2, (const uint32_t[]){ rows, blocks * BLOCK });
}

/* Makes the variable of an operand; both views are flat until its blocks are put together. If the
 * plan is not legal, that becomes the error of the graph. */
static struct matmul_operand new_operand(struct graph *g, const struct matmul_plan *p,
                                         uint32_t rows, uint32_t columns, const char *name)
{
    uint32_t elements = rows * columns;
    enum emu_status s = ss_plan_matmul_check(ss_graph_arch(g), p);
    struct matmul_operand o;

    if (s != EMU_OK)
        ss_graph_fail(g, s, "%s: %s", name, ss_error());
    o.matrix = o.blocks = ss_graph_variable(g, ELEM_F16, 1, &elements, name);
    return o;
}

/* An array for the parts of a matrix; NULL if the graph has an error. */
static struct tensor *new_parts(struct graph *g, uint32_t rows, uint32_t columns, const char *name)
{
    struct tensor *part;

    if (ss_graph_status(g) != EMU_OK)
        return NULL;
    part = emu_alloc((size_t)rows * columns, sizeof(*part));
    if (!part)
        ss_graph_fail(g, EMU_NO_MEMORY, "%s: %u x %u blocks", name, rows, columns);
    return part;
}

struct matmul_operand ss_op_matmul_left(struct graph *g, const struct matmul_plan *p,
                                        const char *name)
{
    struct matmul_operand a = new_operand(g, p, p->m, p->k, name);
    struct tensor *part = new_parts(g, p->sm, p->sk, name);

    if (!part)
        return a;
    for (uint32_t im = 0; im < p->sm; im++) {
        for (uint32_t ik = 0; ik < p->sk; ik++) {
            uint32_t kb = cut_size(p->k / BLOCK, p->sk, ik), rows = cut_size(p->m, p->sm, im);
            uint32_t at = left_at(p, ik, im);
            struct tensor t = ss_tensor_slice(g, a.blocks, 0, at, at + kb * rows * BLOCK);

            deal(g, t, tile_of(p, ik, im, 0), 1, p->sn);
            part[im * p->sk + ik] = unblock(g, t, kb, rows);
        }
    }
    a.matrix = mosaic(g, part, p->sm, p->sk);
    ss_free(part);
    return a;
}

struct matmul_operand ss_op_matmul_right(struct graph *g, const struct matmul_plan *p,
                                         const char *name)
{
    static const unsigned order[] = { 1, 3, 0, 2 };
    struct matmul_operand b = new_operand(g, p, p->k, p->n, name);
    struct tensor *part = new_parts(g, p->sk, p->sn, name);

    if (!part)
        return b;
    for (uint32_t ik = 0; ik < p->sk; ik++) {
        for (uint32_t in = 0; in < p->sn; in++) {
            uint32_t kb = cut_size(p->k / BLOCK, p->sk, ik);
            uint32_t nb = cut_size(p->n / BLOCK, p->sn, in), at = right_at(p, ik, in);
            struct tensor t = ss_tensor_slice(g, b.blocks, 0, at, at + kb * nb * BLOCK * BLOCK);

            deal(g, t, tile_of(p, ik, 0, in), p->sn, p->sm);
            t = ss_tensor_reshape(g, t, 4, (const uint32_t[]){ nb, kb, BLOCK, BLOCK });
            t = ss_tensor_transpose(g, t, order);
            part[ik * p->sn + in] =
                ss_tensor_reshape(g, t, 2, (const uint32_t[]){ kb * BLOCK, nb * BLOCK });
        }
    }
    b.matrix = mosaic(g, part, p->sk, p->sn);
    ss_free(part);
    return b;
}

/* Adds the multiplication. Returns the partial results [sk][m * n], each in the order of out_at().
 */
static struct tensor multiply(struct graph *g, struct program seq, const struct matmul_plan *p,
                              struct tensor a, struct tensor b)
{
    uint32_t cs = op_compute_set(g, seq, "multiply");
    struct tensor out =
        ss_graph_variable(g, ELEM_F16, 2, (const uint32_t[]){ p->sk, p->m * p->n }, "partials");

    for (uint32_t i = 0; i < p->sk * p->sm * p->sn; i++) {
        uint32_t in = i % p->sn, im = i / p->sn % p->sm, ik = i / (p->sn * p->sm);
        uint32_t kb = cut_size(p->k / BLOCK, p->sk, ik), rows = cut_size(p->m, p->sm, im);
        uint32_t nb = cut_size(p->n / BLOCK, p->sn, in), tile = tile_of(p, ik, im, in);
        uint32_t la = left_at(p, ik, im), ra = right_at(p, ik, in);
        uint32_t oa = out_at(p, im, in);
        struct tensor o =
            ss_tensor_slice(g, ss_tensor_index(g, out, ik), 0, oa, oa + nb * rows * BLOCK);
        struct tensor l = ss_tensor_slice(g, a, 0, la, la + kb * rows * BLOCK);
        struct tensor r = ss_tensor_slice(g, b, 0, ra, ra + kb * nb * BLOCK * BLOCK);

        ss_graph_map(g, o, tile);
        VERTEX(matmul_f16, g, cs, tile, .in = l, .weights = r, .out = o, .kb = kb, .nb = nb,
               .f = rows);
    }
    return out;
}

/* Adds up block (im, in) of all partial results: each of its sk tiles takes a share. */
static void add_up(struct graph *g, uint32_t cs, const struct matmul_plan *p,
                   struct tensor partials, struct tensor out, uint32_t im, uint32_t in)
{
    uint32_t at = out_at(p, im, in);
    uint32_t rows = cut_size(p->m, p->sm, im) * cut_size(p->n / BLOCK, p->sn, in);
    struct tensor *part = emu_alloc(p->sk, sizeof(*part));

    if (!part) {
        ss_graph_fail(g, EMU_NO_MEMORY, "partial results");
        return;
    }
    for (uint32_t ik = 0; ik < p->sk; ik++) {
        uint32_t from = at + cut_at(rows, p->sk, ik) * BLOCK;
        uint32_t to = at + cut_at(rows, p->sk, ik + 1) * BLOCK;
        struct tensor own = ss_tensor_slice(g, out, 0, from, to);
        uint32_t tile = tile_of(p, ik, im, in);

        if (from == to)
            continue;
        for (uint32_t k = 0; k < p->sk; k++)
            part[k] = ss_tensor_slice(g, ss_tensor_index(g, partials, k), 0, from, to);
        ss_graph_map(g, own, tile);
        VERTEX(reduce_sum_f16_f16, g, cs, tile, .partials = ss_tensor_concat(g, part, p->sk, 0),
               .out = own, .p = p->sk);
    }
    ss_free(part);
}

/* The view [m][n] of a result in the order of out_at(). */
static struct tensor as_matrix(struct graph *g, const struct matmul_plan *p, struct tensor out)
{
    struct tensor *part = new_parts(g, p->sm, p->sn, "result"), all;

    if (!part)
        return out;
    for (uint32_t im = 0; im < p->sm; im++) {
        for (uint32_t in = 0; in < p->sn; in++) {
            uint32_t nb = cut_size(p->n / BLOCK, p->sn, in), rows = cut_size(p->m, p->sm, im);
            uint32_t at = out_at(p, im, in);

            part[im * p->sn + in] =
                unblock(g, ss_tensor_slice(g, out, 0, at, at + nb * rows * BLOCK), nb, rows);
        }
    }
    all = mosaic(g, part, p->sm, p->sn);
    ss_free(part);
    return all;
}

struct tensor ss_op_matmul(struct graph *g, struct program seq, const struct matmul_plan *p,
                           struct matmul_operand a, struct matmul_operand b, const char *name)
{
    uint32_t elements = p->m * p->n;
    struct tensor partials, out = a.blocks;
    enum emu_status s = ss_plan_matmul_check(ss_graph_arch(g), p);

    if (s == EMU_OK && ss_graph_status(g) == EMU_OK &&
        (ss_tensor_elements(g, a.blocks) != (uint64_t)p->m * p->k ||
         ss_tensor_elements(g, b.blocks) != (uint64_t)p->k * p->n))
        s = FAIL(BAD_PROGRAM, "the operands are not those of the plan");
    if (s != EMU_OK) {
        ss_graph_fail(g, s, "%s: %s", name, ss_error());
        return out;
    }
    ss_graph_push(g, name);
    partials = multiply(g, seq, p, a.blocks, b.blocks);
    out = ss_tensor_flatten(g, partials);
    if (p->sk > 1) {
        uint32_t cs = op_compute_set(g, seq, "add");

        out = ss_graph_variable(g, ELEM_F16, 1, &elements, "result");
        for (uint32_t i = 0; i < p->sm * p->sn; i++)
            add_up(g, cs, p, partials, out, i / p->sn, i % p->sn);
    }
    ss_graph_pop(g);
    return as_matrix(g, p, out);
}
