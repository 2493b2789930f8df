/* ops_pool.c - what a network does with whole channels: their mean, a fully connected layer on the
 * means, and the product with its result.
 */
#include <string.h>

#include "programs/ops/fragments.h"
#include "programs/ops/reduce_pieces.h"

/* ---- mean ---- */

/* Sums of every fragment, [16] each block, as pieces of [c16][n][16]. */
static enum emu_status sum_fragments(struct nn *nn, const struct feature *x,
                                     const struct fragments *all, struct reduce_piece *piece)
{
    uint32_t at = 0;
    struct tensor sum;

    fragments_sum(nn, x, all, &sum, NULL);
    for (size_t i = 0; i < all->list.count; i++) {
        const struct fragment *f = &all->list.at[i];
        uint64_t column = ((uint64_t)f->block * x->n + f->n) * NN_ATOM;
        uint32_t end = at + f->blocks * NN_ATOM;

        piece[i] = (struct reduce_piece){ tensor_slice(nn->g, sum, 0, at, end), column,
                                          column + f->blocks * NN_ATOM, 0, fragment_tile(all, f) };
        at = end;
    }
    return graph_status(nn->g);
}

struct feature op_global_pool(struct nn *nn, struct feature x, const char *name)
{
    struct graph *g = nn->g;
    struct feature y = { x.t, x.n, x.c, 1, 1 };
    uint32_t shape[5] = { nn_atoms(x.c), x.n, 1, 1, NN_ATOM };
    struct reduce_piece *piece = NULL;
    struct fragments all;
    enum emu_status s;

    graph_push(g, name);
    s = fragments_of(nn, &x, &all);
    if (s == EMU_OK) {
        piece = emu_alloc(all.list.count + 1, sizeof(*piece));
        s = piece ? sum_fragments(nn, &x, &all, piece) : FAIL(NO_MEMORY, "sums");
    }
    if (s == EMU_OK) {
        y.t = reduce_pieces(g, nn->seq, REDUCE_SUM, piece, all.list.count, "tiles");
        y.t = op_binary_scalar(g, nn->seq, BINARY_MUL, y.t, 1.0f / (float)(x.h * x.w), "mean");
        y.t = tensor_reshape(g, op_cast(g, nn->seq, y.t, ELEM_F16, "f16"), 5, shape);
    } else {
        graph_fail(g, s, "%s: %s", name, emu_error());
    }
    graph_pop(g);
    emu_free(piece);
    fragments_free(&all);
    return y;
}

/* ---- product with a value per channel ---- */

struct feature op_channel_scale(struct nn *nn, struct feature x, struct feature s, const char *name)
{
    struct graph *g = nn->g;
    struct fragments all;
    enum emu_status st = fragments_of(nn, &x, &all);
    uint32_t cs;

    if (st != EMU_OK) {
        graph_fail(g, st, "%s: %s", name, emu_error());
        return x;
    }
    cs = op_compute_set(g, nn->seq, name);
    for (size_t i = 0; i < all.list.count; i++) {
        const struct fragment *f = &all.list.at[i];
        uint32_t v = graph_vertex(g, cs, "scale_f16", fragment_tile(&all, f));

        vertex_connect(g, v, "x", fragment_take(g, &all, f, x.t));
        vertex_connect(g, v, "s", fragment_channels(g, f, s.t));
        vertex_set_u32(g, v, "blocks", f->blocks);
        vertex_set_u32(g, v, "f", f->f);
    }
    fragments_free(&all);
    return x;
}

/* ---- fully connected ---- */

enum { LINEAR_TURN = 97 }; /* tiles between the first ones of two layers; prime */

/* f16 [rows][columns], zero where out or in has ended. */
static uint16_t *pack_matrix(uint32_t out, uint32_t in, uint32_t rows, uint32_t columns,
                             const float *w)
{
    uint16_t *m = emu_alloc((size_t)rows * columns, sizeof(*m));

    for (uint32_t r = 0; m && r < out; r++) {
        for (uint32_t c = 0; c < in; c++)
            m[(size_t)r * columns + c] = nn_half(w[(size_t)r * in + c]);
    }
    return m;
}

/* The tile of block o of 16 rows: spread over the chip, from another tile on for every layer. */
static uint32_t linear_tile(const struct nn *nn, uint32_t o, uint32_t blocks)
{
    uint64_t tiles = graph_arch(nn->g)->tiles, step = blocks < tiles ? tiles / blocks : 1;

    return (uint32_t)((o * step + nn->linear_turn) % tiles);
}

static void multiply_rows(struct nn *nn, struct feature x, struct feature y, struct tensor matrix)
{
    struct graph *g = nn->g;
    uint32_t blocks = nn_atoms(y.c), cs = op_compute_set(g, nn->seq, "multiply");

    for (uint32_t o = 0; o < blocks; o++) {
        uint32_t tile = linear_tile(nn, o, blocks);
        struct tensor rows = tensor_slice(g, matrix, 0, o * NN_ATOM, (o + 1) * NN_ATOM);

        graph_map(g, rows, tile);
        graph_map(g, tensor_index(g, y.t, o), tile);
        for (uint32_t n = 0; n < x.n; n++) {
            uint32_t v = graph_vertex(g, cs, "matvec_f16", tile);

            vertex_connect(g, v, "a", tensor_flatten(g, rows));
            vertex_connect(g, v, "x", tensor_flatten(g, tensor_slice(g, x.t, 1, n, n + 1)));
            vertex_connect(
                g, v, "y",
                tensor_flatten(g, tensor_slice(g, tensor_index(g, y.t, o), 0, n, n + 1)));
        }
    }
}

/* y [c16][n][1][1][16] = act(y + bias), block by block. */
static void add_bias(struct nn *nn, struct feature y, const float *bias, enum activation act)
{
    struct graph *g = nn->g;
    uint32_t blocks = nn_atoms(y.c), n = blocks * NN_ATOM, cs;
    uint16_t *b = emu_alloc(n, sizeof(*b));
    struct tensor all;
    char codelet[40];

    if (!b) {
        graph_fail(g, EMU_NO_MEMORY, "biases");
        return;
    }
    for (uint32_t c = 0; bias && c < y.c; c++)
        b[c] = nn_half(bias[c]);
    /* What is behind the last channel is zero: a sigmoid's argument is the lowest number there. */
    for (uint32_t c = y.c; act == ACT_SIGMOID && c < n; c++)
        b[c] = NN_HALF_LOWEST;
    all = graph_constant(g, ELEM_F16, 1, &n, b, "bias");
    emu_free(b);
    cs = op_compute_set(g, nn->seq, "finish");
    nn_codelet(codelet, "bias", act);
    for (uint32_t o = 0; o < blocks; o++) {
        struct tensor own = tensor_slice(g, all, 0, o * NN_ATOM, (o + 1) * NN_ATOM);
        uint32_t tile = linear_tile(nn, o, blocks), v = graph_vertex(g, cs, codelet, tile);

        graph_map(g, own, tile);
        vertex_connect(g, v, "x", tensor_flatten(g, tensor_index(g, y.t, o)));
        vertex_connect(g, v, "bias", own);
        vertex_set_u32(g, v, "blocks", 1);
        vertex_set_u32(g, v, "f", y.n);
    }
}

struct feature op_linear(struct nn *nn, struct feature x, uint32_t out, const float *weights,
                         const float *bias, enum activation act, const char *name)
{
    struct graph *g = nn->g;
    uint32_t shape[2] = { nn_atoms(out) * NN_ATOM, nn_atoms(x.c) * NN_ATOM };
    uint16_t *m = pack_matrix(out, x.c, shape[0], shape[1], weights);
    struct feature y = x;

    nn->linear_turn += LINEAR_TURN;

    graph_push(g, name);
    if (m) {
        struct tensor matrix = graph_constant(g, ELEM_F16, 2, shape, m, "weights");

        y = nn_feature(nn, x.n, out, 1, 1, "out");
        multiply_rows(nn, x, y, matrix);
        if (bias || act != ACT_NONE)
            add_bias(nn, y, bias, act);
    } else {
        graph_fail(g, EMU_NO_MEMORY, "%s: weights", name);
    }
    graph_pop(g);
    emu_free(m);
    return y;
}

/* ---- scores ---- */

struct tensor op_scores(struct nn *nn, struct feature x, const char *name)
{
    struct graph *g = nn->g;
    uint32_t shape[2] = { x.n, x.c }, tiles = graph_arch(g)->tiles;
    struct tensor in = graph_variable(g, ELEM_F16, 2, shape, name), *part, all = in;

    graph_push(g, name);
    part = emu_alloc(x.n, sizeof(*part));
    for (uint32_t n = 0; part && n < x.n; n++) {
        struct tensor classes = tensor_flatten(g, tensor_slice(g, x.t, 1, n, n + 1));
        struct tensor row = tensor_index(g, in, n);

        graph_map(g, row, n % tiles);
        program_add(g, nn->seq, program_copy(g, tensor_slice(g, classes, 0, 0, x.c), row));
        part[n] = tensor_reshape(g, op_softmax(g, nn->seq, row, "softmax"), 2,
                                 (const uint32_t[]){ 1, x.c });
    }
    if (part)
        all = tensor_concat(g, part, x.n, 0);
    else
        graph_fail(g, EMU_NO_MEMORY, "scores");
    graph_pop(g);
    emu_free(part);
    return all;
}
