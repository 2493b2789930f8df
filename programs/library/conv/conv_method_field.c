/* conv_method_field.c - convolutions in which a tile computes a part of the field: depthwise ones,
 * and the first layer. Each tile fetches its rows and columns with the halo, and zeros where the
 * field ends.
 *
 * Tiles are numbered (n, h, w, o): picture, rows, columns, blocks of output channels. */
#include <string.h>

#include "programs/library/conv/conv_cost.h"
#include "programs/library/conv/conv_pack.h"
#include "programs/library/conv/conv_parts.h"
#include "programs/library/conv/conv_tensors.h"
#include "programs/library/conv/field_partition.h"

/* A field convolution under construction. */
struct conv_field {
    struct nn *nn;
    const struct conv_layer *layer;
    const struct conv_plan *plan;
    struct activation x, y;
    struct tensor weights; /* constant [copies][blocks][values]; tensors: [blocks * values] */
    uint32_t blocks, values;
};

/* The parameters of a part; puts them on its tile. */
static struct tensor weights_of(const struct conv_field *d, const struct field_part *p)
{
    struct graph *g = d->nn->g;
    struct tensor t;

    if (d->layer->w)
        return tensor_slice(g, d->weights, 0, p->o.begin * d->values, p->o.end * d->values);
    t = tensor_index(g, d->weights, d->plan->fetched ? 0 : p->copy);
    t = tensor_slice(g, t, 0, p->o.begin, p->o.end);
    if (!d->plan->fetched)
        graph_map(g, t, p->tile);
    return tensor_flatten(g, t);
}

/* One call of the codelet: a part of a picture. */
struct field_call {
    uint32_t cs;
    const struct codelet *codelet;
    struct tensor x, weights, y;
    uint32_t hp, wp; /* rows and columns of x */
};

static void add_depthwise(const struct conv_field *d, const struct field_call *c,
                          const struct field_part *p)
{
    struct graph *g = d->nn->g;
    struct dw_kind kind = conv_dw_kind(&d->plan->shape);
    uint32_t ho = nn_size(p->h), wo = nn_size(p->w);
    uint32_t n = dw_scratch_halves(kind, ho, wo, c->wp);
    uint32_t work[DW_WORK_WORDS];
    struct tensor scratch = graph_variable(g, ELEM_F16, 1, &n, "window sums");

    graph_map(g, scratch, p->tile);
    dw_work(kind, ho, wo, c->hp, c->wp, work);
    VERTEX_OF(dw, c->codelet, g, c->cs, p->tile, .x = c->x, .weights = c->weights, .y = c->y,
              .scratch = scratch, .work = word_list(work, DW_WORK_WORDS), .blocks = nn_size(p->o),
              .ho = ho, .wo = wo, .hp = c->hp, .wp = c->wp);
}

static void add_first(const struct conv_field *d, const struct field_call *c,
                      const struct field_part *p)
{
    struct graph *g = d->nn->g;
    uint32_t k = d->layer->kernel_h, ho = nn_size(p->h), wo = nn_size(p->w);
    uint32_t kb = conv_first_blocks(k), words = conv_first_row_words(k, ho);
    uint32_t shape[3] = { kb, ho * wo, CHANNEL_BLOCK }, *rows = emu_alloc(words, sizeof(*rows));
    struct tensor patches = graph_variable(g, ELEM_F16, 3, shape, "patches");

    if (!rows) {
        graph_fail(g, EMU_NO_MEMORY, "rows of a first layer");
        return;
    }
    graph_map(g, patches, p->tile);
    conv_first_rows(k, ho, wo, c->wp, rows);
    VERTEX_OF(conv_first, c->codelet, g, c->cs, p->tile, .patches = tensor_flatten(g, patches),
              .y = c->y, .weights = c->weights, .kb = kb,
              .nb = nn_size(p->o) * conv_halves(d->layer), .f = ho * wo, .x = c->x,
              .rows = word_list(rows, words), .ho = ho, .wo = wo, .hp = c->hp, .wp = c->wp);
    emu_free(rows);
}

static int has_sums(const struct conv_field *d)
{
    return d->plan->method == CONV_FIRST && d->layer->partials == PARTIALS_F32;
}

/* Where picture n of a part is computed: in its part of y, or as sums in f32. */
static struct tensor result_of(const struct conv_field *d, const struct field_part *p, uint32_t n)
{
    uint32_t halves = conv_halves(d->layer), units = conv_units(d->layer);
    uint32_t shape[3] = { nn_size(p->o) * halves, nn_size(p->h) * nn_size(p->w), units };
    struct tensor y = has_sums(d) ? graph_variable(d->nn->g, ELEM_F32, 3, shape, "sums")
                                  : field_part_output(d->nn, &d->y, p, n);

    graph_map(d->nn->g, y, p->tile);
    return y;
}

/* Adds the calls for all pictures of a part; result: one tensor for each. */
static void add_field_part(const struct conv_field *d, uint32_t cs, const struct codelet *codelet,
                           const struct field_part *p, struct tensor *result)
{
    struct graph *g = d->nn->g;
    const struct conv_layer *l = d->layer;
    struct windows win = { .h = { l->kernel_h, l->stride_h, 1, (int32_t)l->pad_top },
                           .w = { l->kernel_w, l->stride_w, 1, (int32_t)l->pad_left },
                           .border = d->nn->zeros };
    struct field_call c = { .cs = cs, .codelet = codelet, .weights = weights_of(d, p) };

    for (uint32_t n = p->n.begin; n < p->n.end; n++) {
        struct tensor x = field_part_input(d->nn, &d->x, &win, p, p->o, n, &c.hp, &c.wp);
        struct tensor y = result_of(d, p, n);

        result[n - p->n.begin] = y;
        c.x = tensor_flatten(g, x);
        c.y = tensor_flatten(g, y);
        if (d->plan->method == CONV_DEPTHWISE)
            add_depthwise(d, &c, p);
        else
            add_first(d, &c, p);
    }
}

static void finish_in_place(const struct conv_field *d, struct conv_finish *finish,
                            const struct field_part *p)
{
    const struct nn_range part[] = { p->o, p->n, p->h, p->w, { 0, CHANNEL_BLOCK } };

    conv_finish_add(finish, p->copy, p->o, p->tile,
                    tensor_flatten(d->nn->g, nn_slice(d->nn->g, d->y.t, part)),
                    nn_size(p->n) * nn_size(p->h) * nn_size(p->w));
}

/* Turns the f32 sums of part `index` into its part of y. */
static void finish_sums(const struct conv_field *d, struct conv_finish *finish,
                        const struct field_part *p, uint32_t index, const struct tensor *picture)
{
    struct graph *g = d->nn->g;
    const struct nn_range part[] = { p->o, p->n, p->h, p->w, { 0, CHANNEL_BLOCK } };
    uint32_t positions = nn_size(p->n) * nn_size(p->h) * nn_size(p->w);
    uint32_t shape[3] = { nn_size(p->o), positions, CHANNEL_BLOCK };
    struct tensor sums = tensor_concat(g, picture, nn_size(p->n), 1);
    struct conv_sum s = { .plan = d->plan,
                          .parts = 1,
                          .first_part = index,
                          .first_copy = p->copy,
                          .blocks = p->o,
                          .partial = &sums,
                          .y = tensor_reshape(g, nn_slice(g, d->y.t, part), 3, shape) };

    conv_add_up(finish, &s);
}

static void run_field_parts(const struct conv_field *d, const struct codelet *codelet)
{
    const struct conv_plan *p = d->plan;
    uint32_t parts = p->cut_n * p->cut_h * p->cut_w * p->cut_out;
    uint32_t cs = op_compute_set(d->nn->g, d->nn->seq, "convolve");
    struct tensor *result = emu_alloc((size_t)parts * d->y.n, sizeof(*result));
    struct conv_finish finish;

    if (!result) {
        graph_fail(d->nn->g, EMU_NO_MEMORY, "%u parts", parts);
        return;
    }
    for (uint32_t i = 0; i < parts; i++) {
        struct field_part at = field_part_at(p, &d->y, i, 0);

        add_field_part(d, cs, codelet, &at, result + (size_t)i * d->y.n);
    }
    if (conv_finish_begin(d->nn, d->layer, parts / p->cut_out, &finish) == EMU_OK) {
        for (uint32_t i = 0; i < parts; i++) {
            struct field_part at = field_part_at(p, &d->y, i, 0);

            if (has_sums(d))
                finish_sums(d, &finish, &at, i, result + (size_t)i * d->y.n);
            else
                finish_in_place(d, &finish, &at);
        }
    }
    emu_free(result);
}

/* Puts each part of the only copy on one of the tiles that use it. */
static void place_parts(const struct conv_field *d, struct tensor t)
{
    const struct conv_plan *p = d->plan;
    struct graph *g = d->nn->g;

    for (uint32_t o = 0; o < p->cut_out; o++) {
        struct nn_range part = conv_output_part(p, o);
        uint64_t bytes = (uint64_t)nn_size(part) * d->values * sizeof(uint16_t);

        graph_map(g, tensor_slice(g, tensor_index(g, t, 0), 0, part.begin, part.end),
                  nn_holder(d->nn, p, o, 0, bytes));
    }
}

/* The constant with the parameters of all blocks, once per copy. Takes over packed
 * [blocks][values]. */
static struct tensor new_weights(const struct conv_field *d, uint16_t *packed)
{
    const struct conv_plan *p = d->plan;
    uint32_t copies = p->fetched ? 1 : p->cut_n * p->cut_h * p->cut_w;
    uint32_t shape[3] = { copies, d->blocks, d->values };
    struct tensor t = d->x.t;

    if (packed) {
        t = graph_constant_repeated(d->nn->g, ELEM_F16, 3, shape, packed, "weights");
        if (p->fetched)
            place_parts(d, t);
    } else {
        graph_fail(d->nn->g, EMU_NO_MEMORY, "weights");
    }
    emu_free(packed);
    return t;
}

/* Gathers the weights of 16 output channels from `first` on as f16, n of each; zeros after the last
 * channel. */
static void gather_block(const struct conv_layer *l, uint32_t first, uint32_t n, uint16_t *out)
{
    memset(out, 0, (size_t)CHANNEL_BLOCK * n * sizeof(*out));
    for (uint32_t c = 0; c < CHANNEL_BLOCK && first + c < l->out_c; c++) {
        for (uint32_t k = 0; k < n; k++)
            out[c * n + k] = nn_half(l->weights[(size_t)(first + c) * n + k]);
    }
}

/* ---- weights that are tensors ---- */

/* Packs the weights of depthwise convolutions, each part on the tile of one of its users. */
static struct tensor pack_depthwise(const struct conv_field *d, struct dw_kind kind)
{
    struct graph *g = d->nn->g;
    uint32_t n = d->blocks * d->values, work[DW_PACK_WORDS], words = dw_pack_work(kind, work);
    uint32_t each = kind.k * kind.k * CHANNEL_BLOCK, cs;
    struct tensor w = tensor_flatten(g, conv_weight_blocks(d->nn, d->layer, CONV_DEPTHWISE, 1));
    struct tensor t = graph_variable(g, ELEM_F16, 1, &n, "packed weights");

    cs = op_compute_set(g, d->nn->seq, "pack");
    for (uint32_t o = 0; o < d->plan->cut_out && graph_status(g) == EMU_OK; o++) {
        struct nn_range b = conv_output_part(d->plan, o);
        struct tensor y = tensor_slice(g, t, 0, b.begin * d->values, b.end * d->values);
        uint32_t tile = nn_holder(d->nn, d->plan, o, 0, nn_size(b) * d->values * sizeof(uint16_t));

        graph_map(g, y, tile);
        VERTEX(dw_pack_f16, g, cs, tile, .x = tensor_slice(g, w, 0, b.begin * each, b.end * each),
               .y = y, .work = word_list(work, words), .entries = words / DW_PACK_ENTRY,
               .blocks = nn_size(b), .x_bytes = each * 2, .y_bytes = d->values * 2);
    }
    return t;
}

/* The weights of a first layer. */
static struct tensor first_tensor(const struct conv_field *d)
{
    struct graph *g = d->nn->g;
    uint32_t halves = conv_halves(d->layer), units = conv_units(d->layer);
    struct tensor *part = emu_alloc(d->plan->cut_out, sizeof(*part));
    struct tensor t =
        conv_first_view(d->nn, conv_weight_blocks(d->nn, d->layer, CONV_FIRST, d->x.c));
    const uint32_t shape[] = { d->blocks, d->values / (units * halves * CHANNEL_BLOCK), halves,
                               units, CHANNEL_BLOCK };

    if (!part)
        graph_fail(g, EMU_NO_MEMORY, "weights");
    t = tensor_reshape(g, t, 5, shape);
    t = tensor_transpose(g, t, (const unsigned[]){ 0, 2, 1, 3, 4 });
    for (uint32_t o = 0; o < d->plan->cut_out && graph_status(g) == EMU_OK; o++) {
        struct nn_range b = conv_output_part(d->plan, o);

        part[o] = tensor_flatten(g, tensor_slice(g, t, 0, b.begin, b.end));
    }
    if (graph_status(g) == EMU_OK)
        t = conv_fetched(d->nn, d->plan, part);
    emu_free(part);
    return t;
}

enum { WEIGHTS_MAX = CHANNEL_BLOCK * 4 * 7 * 7 }; /* of a block: the largest kernel, 4 channels */

/* A constant with the weights of depthwise convolutions. */
static struct tensor depthwise_constant(const struct conv_field *d, struct dw_kind kind)
{
    uint16_t block[WEIGHTS_MAX];
    uint16_t *packed = emu_alloc((size_t)d->blocks * d->values, sizeof(*packed));

    for (uint32_t b = 0; packed && b < d->blocks; b++) {
        gather_block(d->layer, b * CHANNEL_BLOCK, kind.k * kind.k, block);
        dw_pack(kind, block, packed + (size_t)b * d->values);
    }
    return new_weights(d, packed);
}

void conv_depthwise(struct nn *nn, struct activation x, const struct conv_layer *layer,
                    const struct conv_plan *plan, struct activation y)
{
    struct conv_field d = { .nn = nn, .layer = layer, .plan = plan, .x = x, .y = y };
    struct dw_kind kind = conv_dw_kind(&plan->shape);

    d.blocks = channel_blocks(y.c);
    d.values = dw_pack_halves(kind);
    d.weights = layer->w ? pack_depthwise(&d, kind) : depthwise_constant(&d, kind);
    run_field_parts(&d, dw_codelet(kind));
}

/* A constant with the weights of a first layer. */
static struct tensor first_constant(const struct conv_field *d)
{
    uint32_t k = d->layer->kernel_h;
    uint16_t block[WEIGHTS_MAX];
    uint16_t *packed = emu_alloc((size_t)d->blocks * d->values, sizeof(*packed));
    uint16_t *whole = emu_alloc(d->values, sizeof(*whole));

    for (uint32_t b = 0; packed && whole && b < d->blocks; b++) {
        gather_block(d->layer, b * CHANNEL_BLOCK, d->x.c * k * k, block);
        conv_first_pack(k, d->x.c, block, whole);
        if (has_sums(d))
            conv_pack_f32(conv_first_blocks(k), whole, packed + (size_t)b * d->values);
        else
            memcpy(packed + (size_t)b * d->values, whole, d->values * sizeof(*whole));
    }
    if (!whole)
        graph_fail(d->nn->g, EMU_NO_MEMORY, "weights");
    emu_free(whole);
    return new_weights(d, packed);
}

void conv_first(struct nn *nn, struct activation x, const struct conv_layer *layer,
                const struct conv_plan *plan, struct activation y)
{
    struct conv_field d = { .nn = nn, .layer = layer, .plan = plan, .x = x, .y = y };

    d.blocks = channel_blocks(y.c);
    d.values = conv_first_pack_halves(layer->kernel_h);
    d.weights = layer->w ? first_tensor(&d) : first_constant(&d);
    run_field_parts(&d, has_sums(&d) ? KERNEL_ROW(conv_first_f16_f32) : KERNEL_ROW(conv_first_f16));
}
