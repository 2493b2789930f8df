/* ops_conv_field.c - convolutions that a tile makes of a piece of the field: depthwise, and the
 * first layer. Each tile fetches its rows and columns with the halo, zeros where the field ends.
 *
 * Tile (n, h, w, o): picture, rows, columns, blocks of output channels.
 */
#include <string.h>

#include "programs/codelets/conv_pack.h"
#include "programs/ops/conv.h"

/* A field convolution under construction. */
struct field {
    struct nn *nn;
    const struct conv_layer *layer;
    const struct conv_plan *plan;
    struct feature x, y;
    struct tensor weights; /* constant [copies][blocks][values] */
    uint32_t blocks, values;
};

/* One tile's piece. */
struct piece {
    uint32_t tile, copy; /* of parameters */
    struct nn_range n, h, w, o;
};

static struct nn_range cut_range(uint32_t n, uint32_t parts, uint32_t i)
{
    return (struct nn_range){ nn_cut(n, parts, i), nn_cut(n, parts, i + 1) };
}

static uint32_t range_size(struct nn_range r)
{
    return r.end - r.begin;
}

static struct piece piece_at(const struct field *d, uint32_t index)
{
    const struct conv_plan *p = d->plan;
    uint32_t o = index % p->cut_out, rest = index / p->cut_out;
    uint32_t w = rest % p->cut_w, h = rest / p->cut_w % p->cut_h, n = rest / p->cut_w / p->cut_h;

    return (struct piece){ .tile = p->first_tile + index,
                           .copy = rest,
                           .n = cut_range(d->y.n, p->cut_n, n),
                           .h = cut_range(d->y.h, p->cut_h, h),
                           .w = cut_range(d->y.w, p->cut_w, w),
                           .o = cut_range(d->blocks, p->cut_out, o) };
}

/* The input positions that output positions `out` of a dimension need: [begin, end) of the field,
 * and how many zeros stand before and behind. */
struct reach {
    struct nn_range in;
    uint32_t before, behind;
};

static struct reach reach_of(const struct field *d, struct nn_range out, uint32_t pad,
                             uint32_t size)
{
    int64_t begin = (int64_t)out.begin * d->layer->stride - pad;
    int64_t end = (int64_t)(out.end - 1) * d->layer->stride + d->layer->kernel - pad;
    struct reach r = { { begin < 0 ? 0 : (uint32_t)begin,
                         end > (int64_t)size ? size : (uint32_t)end },
                       begin < 0 ? (uint32_t)-begin : 0,
                       end > (int64_t)size ? (uint32_t)(end - size) : 0 };

    return r;
}

/* t with zeros before and behind in a dimension. */
static struct tensor pad(struct nn *nn, uint32_t tile, struct tensor t, unsigned dim,
                         const struct reach *r)
{
    unsigned rank = tensor_rank(nn->g, t), parts = 0;
    uint32_t shape[TENSOR_MAX_RANK];
    struct tensor part[3];

    memcpy(shape, tensor_shape(nn->g, t), rank * sizeof(*shape));
    shape[dim] = r->before;
    if (r->before)
        part[parts++] = nn_zeros(nn, tile, rank, shape);
    part[parts++] = t;
    shape[dim] = r->behind;
    if (r->behind)
        part[parts++] = nn_zeros(nn, tile, rank, shape);
    return parts > 1 ? tensor_concat(nn->g, part, parts, dim) : t;
}

/* Picture n of the input a piece needs, [blocks][rows][columns][atom], or [rows][columns][4]. */
static struct tensor input_of(const struct field *d, const struct piece *p, uint32_t n,
                              uint32_t *rows, uint32_t *columns)
{
    struct graph *g = d->nn->g;
    struct reach h = reach_of(d, p->h, d->layer->pad_top, d->x.h);
    struct reach w = reach_of(d, p->w, d->layer->pad_left, d->x.w);
    int first = tensor_rank(g, d->x.t) == 4; /* pictures have no blocks */
    struct tensor t = d->x.t;

    if (!first)
        t = tensor_slice(g, t, 0, p->o.begin, p->o.end);
    t = tensor_slice(g, t, first ? 0 : 1, n, n + 1);
    t = tensor_slice(g, t, first ? 1 : 2, h.in.begin, h.in.end);
    t = tensor_slice(g, t, first ? 2 : 3, w.in.begin, w.in.end);
    t = pad(d->nn, p->tile, t, first ? 2 : 3, &w);
    t = pad(d->nn, p->tile, t, first ? 1 : 2, &h);
    *rows = range_size(h.in) + h.before + h.behind;
    *columns = range_size(w.in) + w.before + w.behind;
    return tensor_flatten(g, t);
}

/* Picture n of the output of a piece, [blocks][rows][columns][16]. */
static struct tensor output_of(const struct field *d, const struct piece *p, uint32_t n)
{
    return nn_slice(d->nn->g, d->y.t,
                    (const struct nn_range[]){ p->o, { n, n + 1 }, p->h, p->w, { 0, NN_ATOM } });
}

/* The parameters of a piece, put on its tile. */
static struct tensor weights_of(const struct field *d, const struct piece *p)
{
    struct graph *g = d->nn->g;
    struct tensor t =
        tensor_slice(g, tensor_index(g, d->weights, p->copy), 0, p->o.begin, p->o.end);

    graph_map(g, t, p->tile);
    return tensor_flatten(g, t);
}

static void add_piece(const struct field *d, uint32_t cs, const char *codelet, const char *blocks,
                      const struct piece *p)
{
    struct graph *g = d->nn->g;
    struct tensor weights = weights_of(d, p);

    for (uint32_t n = p->n.begin; n < p->n.end; n++) {
        uint32_t v = graph_vertex(g, cs, codelet, p->tile), rows, columns;
        struct tensor y = output_of(d, p, n);

        graph_map(g, y, p->tile);
        vertex_connect(g, v, "x", input_of(d, p, n, &rows, &columns));
        vertex_connect(g, v, "weights", weights);
        vertex_connect(g, v, "y", tensor_flatten(g, y));
        vertex_set_u32(g, v, blocks, range_size(p->o));
        vertex_set_u32(g, v, "ho", range_size(p->h));
        vertex_set_u32(g, v, "wo", range_size(p->w));
        vertex_set_u32(g, v, "hp", rows);
        vertex_set_u32(g, v, "wp", columns);
    }
}

static void run_pieces(const struct field *d, const char *codelet, const char *blocks)
{
    const struct conv_plan *p = d->plan;
    uint32_t pieces = p->cut_n * p->cut_h * p->cut_w * p->cut_out;
    uint32_t cs = op_compute_set(d->nn->g, d->nn->seq, "convolve");
    struct conv_finish finish;

    for (uint32_t i = 0; i < pieces; i++) {
        struct piece at = piece_at(d, i);

        add_piece(d, cs, codelet, blocks, &at);
    }
    if (conv_finish_begin(d->nn, d->layer, pieces / p->cut_out, &finish) != EMU_OK)
        return;
    for (uint32_t i = 0; i < pieces; i++) {
        struct piece at = piece_at(d, i);
        struct tensor y = nn_slice(
            d->nn->g, d->y.t, (const struct nn_range[]){ at.o, at.n, at.h, at.w, { 0, NN_ATOM } });

        conv_finish_add(&finish, at.copy, at.o, at.tile, tensor_flatten(d->nn->g, y),
                        range_size(at.n) * range_size(at.h) * range_size(at.w));
    }
}

/* All blocks' parameters, once per copy. packed: [blocks][values], taken over. */
static struct tensor new_weights(const struct field *d, uint16_t *packed)
{
    const struct conv_plan *p = d->plan;
    uint32_t copies = p->cut_n * p->cut_h * p->cut_w;
    uint32_t shape[3] = { copies, d->blocks, d->values };
    size_t n = (size_t)d->blocks * d->values;
    uint16_t *all = emu_alloc(copies * n, sizeof(*all));
    struct tensor t = d->x.t;

    if (all && packed) {
        for (uint32_t i = 0; i < copies; i++)
            memcpy(all + i * n, packed, n * sizeof(*all));
        t = graph_constant(d->nn->g, ELEM_F16, 3, shape, all, "weights");
    } else {
        graph_fail(d->nn->g, EMU_NO_MEMORY, "weights");
    }
    emu_free(all);
    emu_free(packed);
    return t;
}

/* f16 weights of 16 output channels from `first` on, n each; zero behind the last channel. */
static void gather_block(const struct conv_layer *l, uint32_t first, uint32_t n, uint16_t *out)
{
    memset(out, 0, (size_t)NN_ATOM * n * sizeof(*out));
    for (uint32_t c = 0; c < NN_ATOM && first + c < l->out_c; c++) {
        for (uint32_t k = 0; k < n; k++)
            out[c * n + k] = nn_half(l->weights[(size_t)(first + c) * n + k]);
    }
}

enum { WEIGHTS_MAX = NN_ATOM * 4 * 7 * 7 }; /* of a block: the largest kernel, 4 channels */

void conv_depthwise(struct nn *nn, struct feature x, const struct conv_layer *layer,
                    const struct conv_plan *plan, struct feature y)
{
    struct field d = { .nn = nn, .layer = layer, .plan = plan, .x = x, .y = y };
    uint16_t block[WEIGHTS_MAX], *packed;
    char codelet[40];

    d.blocks = nn_atoms(y.c);
    d.values = dw_pack_halves(layer->kernel);
    packed = emu_alloc((size_t)d.blocks * d.values, sizeof(*packed));
    for (uint32_t b = 0; packed && b < d.blocks; b++) {
        gather_block(layer, b * NN_ATOM, layer->kernel * layer->kernel, block);
        dw_pack(layer->kernel, block, packed + (size_t)b * d.values);
    }
    d.weights = new_weights(&d, packed);
    snprintf(codelet, sizeof(codelet), layer->stride == 1 ? "dw%u_f16" : "dw%us%u_f16",
             layer->kernel, layer->stride);
    run_pieces(&d, codelet, "blocks");
}

void conv_first(struct nn *nn, struct feature x, const struct conv_layer *layer,
                const struct conv_plan *plan, struct feature y)
{
    struct field d = { .nn = nn, .layer = layer, .plan = plan, .x = x, .y = y };
    uint16_t block[WEIGHTS_MAX], *packed;
    uint32_t k = layer->kernel;

    d.blocks = nn_atoms(y.c);
    d.values = conv_first_pack_halves(k);
    packed = emu_alloc((size_t)d.blocks * d.values, sizeof(*packed));
    for (uint32_t b = 0; packed && b < d.blocks; b++) {
        gather_block(layer, b * NN_ATOM, x.c * k * k, block);
        conv_first_pack(k, x.c, block, packed + (size_t)b * d.values);
    }
    d.weights = new_weights(&d, packed);
    run_pieces(&d, "conv_first_f16", "nb");
}
