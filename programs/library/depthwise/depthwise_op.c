/* depthwise_op.c - depthwise convolutions: the method of conv_field.h with the kernels dw*_f16. */
#include "programs/library/conv/conv_cost.h"
#include "programs/library/conv/conv_field.h"
#include "programs/library/conv/conv_tensors.h"

enum { KERNEL_MAX = 5 };

static void add_depthwise(const struct conv_field *d, const struct field_call *c,
                          const struct field_part *p)
{
    struct graph *g = d->nn->g;
    struct dw_kind kind = conv_dw_kind(&d->plan->shape);
    uint32_t ho = nn_size(p->h), wo = nn_size(p->w);
    uint32_t n = dw_scratch_halves(kind, ho, wo, c->wp);
    uint32_t work[DW_WORK_WORDS];
    struct tensor scratch = ss_graph_variable(g, ELEM_F16, 1, &n, "window sums");

    ss_graph_map(g, scratch, p->tile);
    dw_work(kind, ho, wo, c->hp, c->wp, work);
    VERTEX_OF(dw, dw_codelet(kind), g, c->cs, p->tile, .x = c->x, .weights = c->weights, .y = c->y,
              .scratch = scratch, .work = word_list(work, DW_WORK_WORDS), .blocks = nn_size(p->o),
              .ho = ho, .wo = wo, .hp = c->hp, .wp = c->wp);
}

/* Packs the weights of depthwise convolutions, each part on the tile of one of its users. */
static struct tensor pack_depthwise(const struct conv_field *d, struct dw_kind kind)
{
    struct graph *g = d->nn->g;
    uint32_t n = d->blocks * d->values, work[DW_PACK_WORDS], words = dw_pack_work(kind, work);
    uint32_t each = kind.k * kind.k * CHANNEL_BLOCK, cs;
    struct tensor w = ss_tensor_flatten(g, conv_weight_blocks(d->nn, d->layer, CONV_DEPTHWISE, 1));
    struct tensor t = ss_graph_variable(g, ELEM_F16, 1, &n, "packed weights");

    cs = op_compute_set(g, d->nn->seq, "pack");
    for (uint32_t o = 0; o < d->plan->cut_out && ss_graph_status(g) == EMU_OK; o++) {
        struct nn_range b = conv_output_part(d->plan, o);
        struct tensor y = ss_tensor_slice(g, t, 0, b.begin * d->values, b.end * d->values);
        uint32_t tile = nn_holder(d->nn, d->plan, o, 0, nn_size(b) * d->values * sizeof(uint16_t));

        ss_graph_map(g, y, tile);
        VERTEX(dw_pack_f16, g, cs, tile,
               .x = ss_tensor_slice(g, w, 0, b.begin * each, b.end * each), .y = y,
               .work = word_list(work, words), .entries = words / DW_PACK_ENTRY,
               .blocks = nn_size(b), .x_bytes = each * 2, .y_bytes = d->values * 2);
    }
    return t;
}

/* A constant with the weights of depthwise convolutions. */
static struct tensor depthwise_constant(const struct conv_field *d, struct dw_kind kind)
{
    uint16_t block[CHANNEL_BLOCK * KERNEL_MAX * KERNEL_MAX];
    uint16_t *packed = emu_alloc((size_t)d->blocks * d->values, sizeof(*packed));

    for (uint32_t b = 0; packed && b < d->blocks; b++) {
        conv_gather_block(d->layer, b * CHANNEL_BLOCK, kind.k * kind.k, block);
        dw_pack(kind, block, packed + (size_t)b * d->values);
    }
    return conv_field_constant(d, packed);
}

void conv_depthwise(struct nn *nn, struct activation x, const struct conv_layer *layer,
                    const struct conv_plan *plan, struct activation y)
{
    struct conv_field d = {
        .nn = nn, .layer = layer, .plan = plan, .x = x, .y = y, .add = add_depthwise
    };
    struct dw_kind kind = conv_dw_kind(&plan->shape);

    d.blocks = channel_blocks(y.c);
    d.values = dw_pack_halves(kind);
    d.weights = layer->w ? pack_depthwise(&d, kind) : depthwise_constant(&d, kind);
    conv_field_run(&d);
}
