/* first_op.c - the first layer of a network: the method of conv_field.h with the kernels
 * conv_first_f16 and conv_first_f16_f32. */
#include <string.h>

#include "programs/library/conv/conv_cost.h"
#include "programs/library/conv/conv_field.h"
#include "programs/library/conv/conv_parts.h"
#include "programs/library/conv/conv_tensors.h"
#include "programs/library/first/first_pack.h"

static void add_first(const struct conv_field *d, const struct field_call *c,
                      const struct field_part *p)
{
    struct graph *g = d->nn->g;
    uint32_t k = d->layer->kernel_h, ho = nn_size(p->h), wo = nn_size(p->w);
    uint32_t kb = conv_first_blocks(k), words = conv_first_row_words(k, ho);
    uint32_t shape[3] = { kb, ho * wo, CHANNEL_BLOCK }, *rows = emu_alloc(words, sizeof(*rows));
    struct tensor patches = ss_graph_variable(g, ELEM_F16, 3, shape, "patches");

    if (!rows) {
        ss_graph_fail(g, EMU_NO_MEMORY, "rows of a first layer");
        return;
    }
    ss_graph_map(g, patches, p->tile);
    conv_first_rows(k, ho, wo, c->wp, rows);
    VERTEX_OF(conv_first, d->has_sums ? KERNEL_ROW(conv_first_f16_f32) : KERNEL_ROW(conv_first_f16),
              g, c->cs, p->tile, .patches = ss_tensor_flatten(g, patches), .y = c->y,
              .weights = c->weights, .kb = kb, .nb = nn_size(p->o) * conv_halves(d->layer),
              .f = ho * wo, .x = c->x, .rows = word_list(rows, words), .ho = ho, .wo = wo,
              .hp = c->hp, .wp = c->wp);
    ss_free(rows);
}

/* The weights of a first layer in blocks of four pixels, conv_first_pack():
 * [out blocks][blocks][16][16]. t has the form of ss_conv_weights_home(). */
static struct tensor first_view(struct nn *nn, struct tensor t)
{
    struct graph *g = nn->g;
    const uint32_t k = ss_tensor_shape(g, t)[1], n = ss_tensor_shape(g, t)[0];
    const uint32_t kb = conv_first_blocks(k);
    struct tensor *part = emu_alloc(kb, sizeof(*part));

    if (!part)
        ss_graph_fail(g, EMU_NO_MEMORY, "weights");
    if (ss_graph_status(g) != EMU_OK) {
        ss_free(part);
        return t;
    }
    for (uint32_t b = 0; b < kb; b++) {
        struct conv_first_pixels p = conv_first_pixels(k, b);
        struct tensor row = ss_tensor_slice(g, t, 1, p.row, p.row + 1);

        row = field_part_add_border(nn, conv_some_zeros(nn),
                                    ss_tensor_slice(g, row, 3, p.begin, p.end), 3, p.before,
                                    4 - p.before - (p.end - p.begin));
        part[b] = ss_tensor_reshape(g, row, 4, (const uint32_t[]){ n, 1, CHANNEL_BLOCK, 16 });
    }
    t = ss_tensor_concat(g, part, kb, 1);
    ss_free(part);
    return t;
}

/* The same as the tiles fetch them. */
static struct tensor first_tensor(const struct conv_field *d)
{
    struct graph *g = d->nn->g;
    uint32_t halves = conv_halves(d->layer), units = conv_units(d->layer);
    struct tensor *part = emu_alloc(d->plan->cut_out, sizeof(*part));
    struct tensor t = first_view(d->nn, conv_weight_blocks(d->nn, d->layer, CONV_FIRST, d->x.c));
    const uint32_t shape[] = { d->blocks, d->values / (units * halves * CHANNEL_BLOCK), halves,
                               units, CHANNEL_BLOCK };

    if (!part)
        ss_graph_fail(g, EMU_NO_MEMORY, "weights");
    t = ss_tensor_reshape(g, t, 5, shape);
    t = ss_tensor_transpose(g, t, (const unsigned[]){ 0, 2, 1, 3, 4 });
    for (uint32_t o = 0; o < d->plan->cut_out && ss_graph_status(g) == EMU_OK; o++) {
        struct nn_range b = conv_output_part(d->plan, o);

        part[o] = ss_tensor_flatten(g, ss_tensor_slice(g, t, 0, b.begin, b.end));
    }
    if (ss_graph_status(g) == EMU_OK)
        t = conv_fetched(d->nn, d->plan, part);
    ss_free(part);
    return t;
}

/* A constant with the weights of a first layer. */
static struct tensor first_constant(const struct conv_field *d)
{
    uint32_t k = d->layer->kernel_h;
    uint16_t block[CHANNEL_BLOCK * FIRST_CHANNELS * FIRST_KERNEL_MAX * FIRST_KERNEL_MAX];
    uint16_t *packed = emu_alloc((size_t)d->blocks * d->values, sizeof(*packed));
    uint16_t *whole = emu_alloc(d->values, sizeof(*whole));

    for (uint32_t b = 0; packed && whole && b < d->blocks; b++) {
        conv_gather_block(d->layer, b * CHANNEL_BLOCK, d->x.c * k * k, block);
        conv_first_pack(k, d->x.c, block, whole);
        if (d->has_sums)
            conv_pack_f32(conv_first_blocks(k), whole, packed + (size_t)b * d->values);
        else
            memcpy(packed + (size_t)b * d->values, whole, d->values * sizeof(*whole));
    }
    if (!whole)
        ss_graph_fail(d->nn->g, EMU_NO_MEMORY, "weights");
    ss_free(whole);
    return conv_field_constant(d, packed);
}

void conv_first(struct nn *nn, struct activation x, const struct conv_layer *layer,
                const struct conv_plan *plan, struct activation y)
{
    struct conv_field d = {
        .nn = nn, .layer = layer, .plan = plan, .x = x, .y = y, .add = add_first
    };

    d.has_sums = layer->partials == PARTIALS_F32;
    d.blocks = channel_blocks(y.c);
    d.values = conv_first_pack_halves(layer->kernel_h);
    d.weights = layer->w ? first_tensor(&d) : first_constant(&d);
    conv_field_run(&d);
}
