/* ops_conv_gemm.c - a convolution of kernel 1 as a matrix product: positions times channels.
 *
 * Tile (i, f, o) multiplies its positions f and input blocks i with its output blocks o. With the
 * input channels on one tile it adds bias and activation where the product lies; else the tiles of
 * (f, o) have partial results each and add up a share of the positions, bias, residual and
 * activation included.
 */
#include <string.h>

#include "programs/ops/conv.h"

/* A GEMM under construction. */
struct gemm {
    struct nn *nn;
    const struct conv_layer *layer;
    const struct conv_plan *plan;
    struct tensor x, y, add;     /* [c16][positions][16] */
    uint32_t positions, in, out; /* of the whole */
};

static uint32_t tile_of(const struct gemm *m, uint32_t i, uint32_t f, uint32_t o)
{
    const struct conv_plan *p = m->plan;

    return p->first_tile + (i * p->cut_h + f) * p->cut_out + o;
}

static struct nn_range f_range(const struct gemm *m, uint32_t f)
{
    return (struct nn_range){ nn_cut(m->positions, m->plan->cut_h, f),
                              nn_cut(m->positions, m->plan->cut_h, f + 1) };
}

static struct nn_range o_range(const struct gemm *m, uint32_t o)
{
    return (struct nn_range){ nn_cut(m->out, m->plan->cut_out, o),
                              nn_cut(m->out, m->plan->cut_out, o + 1) };
}

static struct nn_range i_range(const struct gemm *m, uint32_t i)
{
    return (struct nn_range){ nn_cut(m->in, m->plan->cut_in, i),
                              nn_cut(m->in, m->plan->cut_in, i + 1) };
}

/* [blocks][positions][16], a part of it. */
static struct tensor part_of(const struct gemm *m, struct tensor t, struct nn_range blocks,
                             struct nn_range positions)
{
    return nn_slice(m->nn->g, t, (const struct nn_range[]){ blocks, positions, { 0, NN_ATOM } });
}

/* Values before the weights of tiles (i, ., o); they lie i by i, o by o. */
static uint32_t weights_at(const struct gemm *m, uint32_t i, uint32_t o)
{
    struct nn_range in = i_range(m, i);

    return (in.begin * m->out + (in.end - in.begin) * o_range(m, o).begin) * NN_ATOM * NN_ATOM;
}

/* Weights of blocks (o, i) in the order of the matrix unit, [out][in][16][16]. */
static void pack_weights(const struct gemm *m, struct nn_range o, struct nn_range i,
                         uint32_t channels, uint16_t *w)
{
    uint32_t in = i.end - i.begin, n = (o.end - o.begin) * in * NN_ATOM * NN_ATOM;

    for (uint32_t k = 0; k < n; k++) {
        uint32_t b = k / (NN_ATOM * NN_ATOM);
        uint32_t row = (o.begin + b / in) * NN_ATOM + k / NN_ATOM % NN_ATOM;
        uint32_t column = (i.begin + b % in) * NN_ATOM + k % NN_ATOM;

        if (row < m->layer->out_c && column < channels)
            w[k] = nn_half(m->layer->weights[(size_t)row * channels + column]);
    }
}

/* The weights [cut_h][all blocks], on the tiles that use them. */
static struct tensor new_weights(const struct gemm *m, uint32_t channels)
{
    const struct conv_plan *p = m->plan;
    uint32_t n = m->in * m->out * NN_ATOM * NN_ATOM;
    uint16_t *w = emu_alloc((size_t)p->cut_h * n, sizeof(*w));
    struct tensor t = m->x;

    if (!w) {
        graph_fail(m->nn->g, EMU_NO_MEMORY, "weights");
        return t;
    }
    for (uint32_t i = 0; i < p->cut_in; i++) {
        for (uint32_t o = 0; o < p->cut_out; o++)
            pack_weights(m, o_range(m, o), i_range(m, i), channels, w + weights_at(m, i, o));
    }
    for (uint32_t f = 1; f < p->cut_h; f++)
        memcpy(w + (size_t)f * n, w, n * sizeof(*w));
    t = graph_constant(m->nn->g, ELEM_F16, 2, (const uint32_t[]){ p->cut_h, n }, w, "weights");
    emu_free(w);
    return t;
}

/* The weights of tile (i, f, o), put there. */
static struct tensor weights_of(const struct gemm *m, struct tensor all, uint32_t i, uint32_t f,
                                uint32_t o)
{
    struct nn_range in = i_range(m, i), out = o_range(m, o);
    uint32_t at = weights_at(m, i, o);
    uint32_t n = (in.end - in.begin) * (out.end - out.begin) * NN_ATOM * NN_ATOM;
    struct tensor t = tensor_slice(m->nn->g, tensor_index(m->nn->g, all, f), 0, at, at + n);

    graph_map(m->nn->g, t, tile_of(m, i, f, o));
    return t;
}

/* One tile's products into y [out][positions][16]; accumulate: on top of what is there. */
static void multiply_on(const struct gemm *m, uint32_t cs, struct tensor y, struct tensor weights,
                        uint32_t i, uint32_t f, uint32_t o, int accumulate)
{
    struct graph *g = m->nn->g;
    struct nn_range in = i_range(m, i), out = o_range(m, o), at = f_range(m, f);
    uint32_t tile = tile_of(m, i, f, o);
    uint32_t v = graph_vertex(g, cs, accumulate ? "matmul_add_f16" : "matmul_f16", tile);

    y = part_of(m, y, out, at);
    graph_map(g, y, tile);
    vertex_connect(g, v, "in", tensor_flatten(g, part_of(m, m->x, in, at)));
    vertex_connect(g, v, "out", tensor_flatten(g, y));
    vertex_connect(g, v, "weights", weights_of(m, weights, i, f, o));
    vertex_set_u32(g, v, "kb", in.end - in.begin);
    vertex_set_u32(g, v, "nb", out.end - out.begin);
    vertex_set_u32(g, v, "f", at.end - at.begin);
}

/* Products into out [cut_in][out][positions][16]. */
static void multiply(const struct gemm *m, struct tensor out, uint32_t channels, int accumulate)
{
    const struct conv_plan *p = m->plan;
    uint32_t cs = op_compute_set(m->nn->g, m->nn->seq, "multiply");
    struct tensor weights = new_weights(m, channels);

    for (uint32_t i = 0; i < p->cut_in; i++) {
        for (uint32_t f = 0; f < p->cut_h; f++) {
            for (uint32_t o = 0; o < p->cut_out; o++)
                multiply_on(m, cs, tensor_index(m->nn->g, out, i), weights, i, f, o, accumulate);
        }
    }
}

/* ---- whole sums on a tile ---- */

static void finish_in_place(const struct gemm *m)
{
    struct graph *g = m->nn->g;
    const struct conv_plan *p = m->plan;
    struct conv_finish finish;

    if (conv_finish_begin(m->nn, m->layer, p->cut_h, &finish) != EMU_OK)
        return;
    for (uint32_t f = 0; f < p->cut_h; f++) {
        for (uint32_t o = 0; o < p->cut_out; o++) {
            struct nn_range blocks = o_range(m, o), positions = f_range(m, f);

            conv_finish_add(&finish, f, blocks, tile_of(m, 0, f, o),
                            tensor_flatten(g, part_of(m, m->y, blocks, positions)),
                            positions.end - positions.begin);
        }
    }
}

/* ---- partial sums ---- */

/* Positions [at, end) of block b, all partial results and the residual. */
static struct tensor terms_of(const struct gemm *m, struct tensor partials, uint32_t b,
                              struct nn_range at)
{
    struct graph *g = m->nn->g;
    struct nn_range block = { b, b + 1 };
    uint32_t terms = m->plan->cut_in + (m->layer->add != NULL);
    struct tensor *part = emu_alloc(terms, sizeof(*part)), all = partials;

    if (!part) {
        graph_fail(g, EMU_NO_MEMORY, "partial results");
        return all;
    }
    for (uint32_t i = 0; i < terms; i++)
        part[i] = tensor_flatten(
            g, part_of(m, i < m->plan->cut_in ? tensor_index(g, partials, i) : m->add, block, at));
    all = tensor_concat(g, part, terms, 0);
    emu_free(part);
    return all;
}

/* Tile i of group (f, o) takes its share of rows of 16; one vertex per block it reaches into. */
static void add_share(const struct gemm *m, uint32_t cs, struct tensor partials,
                      struct conv_finish *finish, uint32_t i, uint32_t f, uint32_t o)
{
    struct graph *g = m->nn->g;
    struct nn_range blocks = o_range(m, o), positions = f_range(m, f);
    uint32_t wide = positions.end - positions.begin, rows = (blocks.end - blocks.begin) * wide;
    uint32_t end = nn_cut(rows, m->plan->cut_in, i + 1), tile = tile_of(m, i, f, o);
    char codelet[40];

    nn_codelet(codelet, "reduce_bias", m->layer->act);
    conv_finish_map(finish, i * m->plan->cut_h + f, blocks, tile);
    for (uint32_t at = nn_cut(rows, m->plan->cut_in, i), stop; at < end; at = stop) {
        uint32_t b = at / wide;
        struct nn_range part;
        struct tensor y;
        uint32_t v;

        stop = (b + 1) * wide < end ? (b + 1) * wide : end;
        part = (struct nn_range){ positions.begin + at % wide,
                                  positions.begin + at % wide + stop - at };
        b += blocks.begin;
        y = part_of(m, m->y, (struct nn_range){ b, b + 1 }, part);
        graph_map(g, y, tile);
        v = graph_vertex(g, cs, codelet, tile);
        vertex_connect(g, v, "partials", terms_of(m, partials, b, part));
        vertex_connect(
            g, v, "bias",
            conv_finish_bias(finish, i * m->plan->cut_h + f, (struct nn_range){ b, b + 1 }));
        vertex_connect(g, v, "out", tensor_flatten(g, y));
        vertex_set_u32(g, v, "p", m->plan->cut_in + (m->layer->add != NULL));
    }
}

static void add_up(const struct gemm *m, struct tensor partials)
{
    const struct conv_plan *p = m->plan;
    uint32_t cs = op_compute_set(m->nn->g, m->nn->seq, "add");
    struct conv_finish finish;

    if (conv_finish_begin(m->nn, m->layer, p->cut_in * p->cut_h, &finish) != EMU_OK)
        return;
    for (uint32_t i = 0; i < p->cut_in; i++) {
        for (uint32_t f = 0; f < p->cut_h; f++) {
            for (uint32_t o = 0; o < p->cut_out; o++)
                add_share(m, cs, partials, &finish, i, f, o);
        }
    }
}

static struct tensor by_positions(struct graph *g, struct tensor t, uint32_t blocks,
                                  uint32_t positions)
{
    return tensor_reshape(g, t, 3, (const uint32_t[]){ blocks, positions, NN_ATOM });
}

void conv_gemm(struct nn *nn, struct feature x, const struct conv_layer *layer,
               const struct conv_plan *plan, struct feature y)
{
    struct graph *g = nn->g;
    struct gemm m = { .nn = nn,
                      .layer = layer,
                      .plan = plan,
                      .positions = y.n * y.h * y.w,
                      .in = nn_atoms(x.c),
                      .out = nn_atoms(y.c) };

    m.x = by_positions(g, conv_every(g, x.t, layer->stride), m.in, m.positions);
    m.y = by_positions(g, y.t, m.out, m.positions);
    if (layer->add)
        m.add = by_positions(g, layer->add->t, m.out, m.positions);
    if (plan->cut_in == 1) {
        uint32_t shape[4] = { 1, m.out, m.positions, NN_ATOM };

        /* The residual lies below the products from the start. */
        if (layer->add)
            program_add(g, nn->seq, program_copy(g, layer->add->t, y.t));
        multiply(&m, tensor_reshape(g, m.y, 4, shape), x.c, layer->add != NULL);
        finish_in_place(&m);
    } else {
        uint32_t shape[4] = { plan->cut_in, m.out, m.positions, NN_ATOM };
        struct tensor partials = graph_variable(g, ELEM_F16, 4, shape, "partials");

        multiply(&m, partials, x.c, 0);
        add_up(&m, partials);
    }
}
