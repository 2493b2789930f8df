/* product_op.c - batched products of matrices by their plan (product_plan.c).
 *
 * Tile (ib, ik, im, in) has a vertex for each of its matrices: it multiplies rows `im` of the left
 * operand, [kb][rows][block] in memory, by columns `in` of the right one, [nb][kb][block columns]
 * [block terms], over the terms of `ik`. Both edges are views of the operands, which the compiler
 * fetches; where blocks are not full they read zeros that lie on the tile. So terms should be
 * neighbours in memory in both operands; one in which the other dimension is, is transposed first
 * (product_transpose.c).
 *
 * Results are [batch][nb][m][block] in memory. */
#include "programs/library/layout/tile_parts.h"
#include "programs/library/matmul/product.h"

struct product_build {
    struct graph *g;
    struct program seq;
    struct product_plan plan;
    uint32_t block, first; /* first: the tile of the first share */
    struct tensor a, b;    /* [batch][m][terms], [batch][n][terms]; terms may be filled up */
    struct tensor zeros;   /* [tiles][block] */
    struct tensor results; /* [sk][batch][nb][m][block] */
};

struct product_range {
    uint32_t begin, end;
};

/* The part of the work of one tile. */
struct product_share {
    uint32_t tile, index; /* index: of the cut of terms */
    struct product_range batch, m, nb, kb;
};

static struct product_range range_of(uint32_t n, uint32_t parts, uint32_t i)
{
    return (struct product_range){ cut_at(n, parts, i), cut_at(n, parts, i + 1) };
}

static uint32_t size_of(struct product_range r)
{
    return r.end - r.begin;
}

static uint32_t shares_of(const struct product_plan *p)
{
    return p->sb * p->sk * p->sm * p->sn;
}

static struct product_share share_at(const struct product_build *p, uint32_t i)
{
    const struct product_plan *c = &p->plan;
    uint32_t in = i % c->sn, im = i / c->sn % c->sm, ik = i / (c->sn * c->sm) % c->sk;

    return (struct product_share){ .tile = product_tile(p->g, p->first, i, shares_of(c)),
                                   .index = ik,
                                   .batch =
                                       range_of(c->shape.batch, c->sb, i / (c->sn * c->sm * c->sk)),
                                   .m = range_of(c->shape.m, c->sm, im),
                                   .nb = range_of(c->nb, c->sn, in),
                                   .kb = range_of(c->kb, c->sk, ik) };
}

/* ---- operands ---- */

/* Rows and terms of a matrix [rows][terms] as [rows][blocks * block]; what is missing are
 * zeros. */
static struct tensor take(const struct product_build *p, struct tensor t, struct product_range rows,
                          struct product_range blocks, uint32_t tile)
{
    struct graph *g = p->g;
    uint32_t terms = ss_tensor_shape(g, t)[1], begin = blocks.begin * p->block;
    uint32_t end = blocks.end * p->block, stop = end < terms ? end : terms;
    struct tensor part[2];

    t = ss_tensor_slice(g, t, 0, rows.begin, rows.end);
    part[0] = ss_tensor_slice(g, t, 1, begin, stop);
    if (stop == end)
        return part[0];
    part[1] = ss_tensor_slice(g, ss_tensor_slice(g, p->zeros, 0, tile, tile + 1), 1, 0, end - stop);
    part[1] = ss_tensor_broadcast(g, part[1], 0, size_of(rows));
    return ss_tensor_concat(g, part, 2, 1);
}

/* Rows of one matrix of the left operand as the kernel reads them. */
static struct tensor left(const struct product_build *p, const struct product_share *s,
                          uint32_t batch)
{
    uint32_t rows = size_of(s->m), kb = size_of(s->kb);
    struct tensor t = take(p, ss_tensor_index(p->g, p->a, batch), s->m, s->kb, s->tile);

    t = ss_tensor_reshape(p->g, t, 3, (const uint32_t[]){ rows, kb, p->block });
    return ss_tensor_flatten(p->g, ss_tensor_transpose(p->g, t, (const unsigned[]){ 1, 0, 2 }));
}

/* Columns of one matrix of the right operand. */
static struct tensor right(const struct product_build *p, const struct product_share *s,
                           uint32_t batch)
{
    struct graph *g = p->g;
    uint32_t nb = size_of(s->nb), kb = size_of(s->kb), end = s->nb.end * p->block;
    uint32_t stop = end < p->plan.shape.n ? end : p->plan.shape.n;
    struct tensor part[2];

    part[0] = take(p, ss_tensor_index(g, p->b, batch),
                   (struct product_range){ s->nb.begin * p->block, stop }, s->kb, s->tile);
    if (stop < end) {
        part[1] = ss_tensor_reshape(g, ss_tensor_index(g, p->zeros, s->tile), 3,
                                    (const uint32_t[]){ 1, 1, p->block });
        part[1] = ss_tensor_broadcast(g, ss_tensor_broadcast(g, part[1], 0, end - stop), 1, kb);
        part[1] = ss_tensor_reshape(g, part[1], 2, (const uint32_t[]){ end - stop, kb * p->block });
        part[0] = ss_tensor_concat(g, part, 2, 0);
    }
    part[0] = ss_tensor_reshape(g, part[0], 4, (const uint32_t[]){ nb, p->block, kb, p->block });
    return ss_tensor_flatten(g, ss_tensor_transpose(g, part[0], (const unsigned[]){ 0, 2, 1, 3 }));
}

/* ---- steps ---- */

/* The elements of a share in results, or in `out` without its dimension of partial sums; flat. */
static struct tensor results_of(const struct product_build *p, struct tensor t,
                                const struct product_share *s, uint32_t batch)
{
    t = ss_tensor_index(p->g, t, batch);
    t = ss_tensor_slice(p->g, t, 0, s->nb.begin, s->nb.end);
    return ss_tensor_flatten(p->g, ss_tensor_slice(p->g, t, 1, s->m.begin, s->m.end));
}

static void multiply(struct product_build *p)
{
    const struct product_plan *c = &p->plan;
    uint32_t shape[5] = { c->sk, c->shape.batch, c->nb, c->shape.m, p->block };
    const struct codelet *kernel =
        c->shape.elem == ELEM_F16 ? KERNEL_ROW(matmul_f16) : KERNEL_ROW(matmul_f32);
    uint32_t cs = op_compute_set(p->g, p->seq, "multiply"), n = shares_of(c);

    p->results = ss_graph_variable(p->g, c->shape.elem, 5, shape, c->sk > 1 ? "partials" : "out");
    for (uint32_t i = 0; i < n; i++) {
        struct product_share s = share_at(p, i);

        for (uint32_t k = s.batch.begin; k < s.batch.end; k++) {
            struct tensor out = results_of(p, ss_tensor_index(p->g, p->results, s.index), &s, k);

            ss_graph_map(p->g, out, s.tile);
            VERTEX_OF(matmul, kernel, p->g, cs, s.tile, .in = left(p, &s, k),
                      .weights = right(p, &s, k), .out = out, .kb = size_of(s.kb),
                      .nb = size_of(s.nb), .f = size_of(s.m));
        }
    }
}

/* Adds up a share of the partial sums of one matrix: those rows of its blocks that fall to it. */
static void add_share(struct product_build *p, uint32_t cs, const struct product_share *s,
                      uint32_t batch, struct tensor out)
{
    uint32_t rows = size_of(s->nb) * size_of(s->m), sk = p->plan.sk;
    uint32_t begin = cut_at(rows, sk, s->index) * p->block;
    uint32_t end = cut_at(rows, sk, s->index + 1) * p->block;
    const struct codelet *kernel = p->plan.shape.elem == ELEM_F16 ? KERNEL_ROW(reduce_sum_f16_f16)
                                                                  : KERNEL_ROW(reduce_sum_f32_f32);
    struct tensor own = ss_tensor_slice(p->g, results_of(p, out, s, batch), 0, begin, end);
    struct tensor *part;

    if (begin == end)
        return;
    part = emu_alloc(sk, sizeof(*part));
    if (!part) {
        ss_graph_fail(p->g, EMU_NO_MEMORY, "partial sums");
        return;
    }
    for (uint32_t k = 0; k < sk; k++)
        part[k] = ss_tensor_slice(
            p->g, results_of(p, ss_tensor_index(p->g, p->results, k), s, batch), 0, begin, end);
    ss_graph_map(p->g, own, s->tile);
    VERTEX_OF(reduce, kernel, p->g, cs, s->tile, .partials = ss_tensor_concat(p->g, part, sk, 0),
              .out = own, .p = sk);
    ss_free(part);
}

/* The sums of all terms, [batch][nb][m][block]. */
static struct tensor add(struct product_build *p)
{
    const struct product_plan *c = &p->plan;
    uint32_t shape[4] = { c->shape.batch, c->nb, c->shape.m, p->block }, n = shares_of(c), cs;
    struct tensor out;

    if (c->sk == 1)
        return ss_tensor_index(p->g, p->results, 0);
    cs = op_compute_set(p->g, p->seq, "add");
    out = ss_graph_variable(p->g, c->shape.elem, 4, shape, "out");
    for (uint32_t i = 0; i < n; i++) {
        struct product_share s = share_at(p, i);

        for (uint32_t k = s.batch.begin; k < s.batch.end; k++)
            add_share(p, cs, &s, k, out);
    }
    return out;
}

/* ---- the product ---- */

/* A constant row of a block for every tile, of which only the first value may not be 0. */
static struct tensor new_zeros(struct graph *g, enum elem e)
{
    uint32_t shape[2] = { ss_graph_compute_tiles(g), product_block(e) };
    const uint8_t row[PRODUCT_BLOCK_BYTES] = { 0 };
    struct tensor t = ss_graph_constant_repeated(g, e, 2, shape, row, "zeros");

    for (uint32_t i = 0; i < shape[0]; i++)
        ss_graph_map(g, ss_tensor_index(g, t, i), i);
    return t;
}

/* The shape of a product [batch][m][k] [batch][k][n]; 0, and the error of the graph, if these do
 * not fit. */
static int read_shape(struct graph *g, struct tensor a, struct tensor b, struct product_shape *s,
                      const char *name)
{
    const uint32_t *x, *y;

    if (ss_graph_status(g) != EMU_OK)
        return 0;
    x = ss_tensor_shape(g, a);
    y = ss_tensor_shape(g, b);
    if (ss_tensor_rank(g, a) != 3 || ss_tensor_rank(g, b) != 3 || x[0] != y[0] || x[2] != y[1]) {
        ss_graph_fail(g, EMU_BAD_PROGRAM,
                      "%s: expected [batch][m][k] and [batch][k][n], got %u and %u dimensions, "
                      "of which batch or k differ",
                      name, ss_tensor_rank(g, a), ss_tensor_rank(g, b));
        return 0;
    }
    *s = (struct product_shape){ ss_tensor_elem(g, a), x[0], x[1], y[2], x[2] };
    if (s->elem != ss_tensor_elem(g, b) || (s->elem != ELEM_F16 && s->elem != ELEM_F32)) {
        ss_graph_fail(g, EMU_BAD_PROGRAM, "%s: expected two operands f16 or f32, got %s and %s",
                      name, ss_elem_name(s->elem), ss_elem_name(ss_tensor_elem(g, b)));
        return 0;
    }
    return 1;
}

/* A result without terms or without elements. */
static struct tensor empty(struct graph *g, struct program seq, const struct product_shape *s)
{
    struct tensor t =
        ss_graph_variable(g, s->elem, 3, (const uint32_t[]){ s->batch, s->m, s->n }, "out");

    if (ss_tensor_elements(g, t)) {
        ss_graph_map_linear(g, t, product_block(s->elem), 1, 0, ss_graph_compute_tiles(g));
        ss_op_fill(g, seq, t, 0, "zeros");
    }
    return t;
}

static struct tensor build(struct product_build *p, const char *name)
{
    const struct product_shape shape = p->plan.shape, *s = &shape;
    struct graph *g = p->g;
    enum emu_status status = plan_product(ss_graph_arch(g), s, ss_graph_compute_tiles(g), &p->plan);
    struct tensor t;

    if (status != EMU_OK) {
        ss_graph_fail(g, status, "%s: %s", name, ss_error());
        return p->a;
    }
    p->block = product_block(s->elem);
    p->first = product_first_tile(g, shares_of(&p->plan));
    p->zeros = new_zeros(g, s->elem);
    p->a = product_rows(g, p->seq, p->a, p->zeros, "rows");
    p->b = product_rows(g, p->seq, p->b, p->zeros, "columns");
    multiply(p);
    t = ss_tensor_transpose(g, add(p), (const unsigned[]){ 0, 2, 1, 3 });
    t = ss_tensor_reshape(g, t, 3, (const uint32_t[]){ s->batch, s->m, p->plan.nb * p->block });
    return ss_tensor_slice(g, t, 2, 0, s->n);
}

struct tensor ss_op_product(struct graph *g, struct program seq, struct tensor a, struct tensor b,
                            const char *name)
{
    struct product_build p = { .g = g, .seq = seq, .a = a, .b = b };
    struct product_shape *s = &p.plan.shape;
    struct tensor t;

    if (!read_shape(g, a, b, s, name))
        return a;
    ss_graph_push(g, name);
    p.b = ss_tensor_transpose(g, b, (const unsigned[]){ 0, 2, 1 });
    t = s->batch && s->m && s->n && s->k ? build(&p, name) : empty(g, seq, s);
    ss_graph_pop(g);
    return t;
}
