/* conv_tensors.c - views of weights and biases that are tensors, and copies of them where views
 * would be fetched in pieces too short. */
#include "programs/library/conv/conv_cost.h"
#include "programs/library/conv/conv_groups.h"
#include "programs/library/conv/conv_tensors.h"
#include "programs/library/conv/field_partition.h"

#include <string.h>

enum { SHORT_RUN = 8 }; /* f16 values: what is fetched in shorter pieces is packed first */

struct tensor conv_some_zeros(struct nn *nn)
{
    return ss_tensor_index(nn->g, nn->zeros, ss_graph_compute_tiles(nn->g) - 1);
}

struct tensor conv_pad(struct nn *nn, struct tensor t, unsigned dim, uint32_t size)
{
    uint32_t have = ss_tensor_shape(nn->g, t)[dim];

    if (have >= size || ss_graph_status(nn->g) != EMU_OK)
        return t;
    return field_part_add_border(nn, conv_some_zeros(nn), t, dim, 0, size - have);
}

struct tensor conv_f16(struct nn *nn, struct tensor t, const char *name)
{
    return ss_tensor_elem(nn->g, t) == ELEM_F16 ? t : ss_op_cast(nn->g, nn->seq, t, ELEM_F16, name);
}

/* ---- the form ---- */

/* Weights [out][in][h][w] as [a][16][b][in_unit][h][w]. */
static struct tensor in_units(struct nn *nn, struct tensor t, uint32_t in_unit)
{
    uint32_t s[6];

    t = conv_pad(nn, t, 0, channel_blocks(ss_tensor_shape(nn->g, t)[0]) * CHANNEL_BLOCK);
    t = conv_pad(nn, t, 1, ceil_div(ss_tensor_shape(nn->g, t)[1], in_unit) * in_unit);
    s[0] = ss_tensor_shape(nn->g, t)[0] / CHANNEL_BLOCK;
    s[1] = CHANNEL_BLOCK;
    s[2] = ss_tensor_shape(nn->g, t)[1] / in_unit;
    s[3] = in_unit;
    memcpy(s + 4, ss_tensor_shape(nn->g, t) + 2, 2 * sizeof(*s));
    return ss_tensor_reshape(nn->g, t, 6, s);
}

static struct tensor blocks_of(struct nn *nn, struct tensor t, enum conv_method method)
{
    struct graph *g = nn->g;
    const uint32_t *s;

    if (method == CONV_FIRST) {
        t = ss_tensor_transpose(g, in_units(nn, t, FIRST_CHANNELS),
                                (const unsigned[]){ 0, 2, 4, 1, 5, 3 });
        s = ss_tensor_shape(g, t);
        return ss_tensor_reshape(g, t, 5, (const uint32_t[]){ s[0], s[2], s[3], s[4], s[5] });
    }
    if (method != CONV_DEPTHWISE)
        return ss_tensor_transpose(g, in_units(nn, t, CHANNEL_BLOCK),
                                   (const unsigned[]){ 0, 2, 4, 5, 1, 3 });
    t = ss_tensor_transpose(g, in_units(nn, t, 1), (const unsigned[]){ 0, 4, 5, 2, 3, 1 });
    s = ss_tensor_shape(g, t);
    return ss_tensor_reshape(g, t, 5, (const uint32_t[]){ s[0], s[1], s[2], 1, s[5] });
}

/* The shape of the form, and its rank. */
static unsigned form_of(const struct conv_layer *l, enum conv_method method, uint32_t channels,
                        uint32_t shape[TENSOR_MAX_RANK])
{
    const uint32_t blocks = channel_blocks(l->out_c), h = l->kernel_h, w = l->kernel_w;
    const uint32_t dense[] = {
        blocks, channel_blocks(channels), h, w, CHANNEL_BLOCK, CHANNEL_BLOCK
    };
    const uint32_t depthwise[] = { blocks, h, w, 1, CHANNEL_BLOCK };
    const uint32_t first[] = { blocks, h, CHANNEL_BLOCK, w, FIRST_CHANNELS };

    switch (method) {
    case CONV_DEPTHWISE:
        memcpy(shape, depthwise, sizeof(depthwise));
        return EMU_COUNT_OF(depthwise);
    case CONV_FIRST:
        memcpy(shape, first, sizeof(first));
        return EMU_COUNT_OF(first);
    default:
        memcpy(shape, dense, sizeof(dense));
        return EMU_COUNT_OF(dense);
    }
}

static int has_shape(const struct graph *g, struct tensor t, unsigned rank, const uint32_t *shape)
{
    return ss_tensor_rank(g, t) == rank &&
           !memcmp(ss_tensor_shape(g, t), shape, rank * sizeof(*shape));
}

struct tensor conv_weight_blocks(struct nn *nn, const struct conv_layer *l, enum conv_method method,
                                 uint32_t channels)
{
    uint32_t shape[TENSOR_MAX_RANK];
    uint32_t plain[4] = { l->out_c, channels, l->kernel_h, l->kernel_w };
    unsigned rank = form_of(l, method, channels, shape);

    if (has_shape(nn->g, *l->w, rank, shape))
        return conv_f16(nn, *l->w, "weights");
    if (has_shape(nn->g, *l->w, 4, plain))
        return blocks_of(nn, conv_f16(nn, *l->w, "weights"), method);
    ss_graph_fail(nn->g, EMU_USAGE,
                  "weights of another shape: expected [%u][%u][%u][%u], or the form of "
                  "ss_conv_weights_home()",
                  plain[0], plain[1], plain[2], plain[3]);
    return *l->w;
}

/* ---- homes ---- */

/* The method of a layer, and its channels in a group; 0 if its groups are to be joined. */
static uint32_t method_of(struct graph *g, const struct activation *x, const struct conv_layer *l,
                          enum conv_method *method)
{
    struct conv_shape s = ss_conv_layer_shape(x, l);

    s.blocks = ss_tensor_rank(g, x->t) == 5 && ss_conv_is_first(&s);
    *method = ss_conv_method_of(&s);
    return s.groups == l->groups && l->groups ? x->c / l->groups : 0;
}

struct tensor ss_conv_weights_matrix(struct nn *nn, const struct activation *x,
                                     const struct conv_layer *l, struct tensor blocks)
{
    struct graph *g = nn_graph(nn);
    enum conv_method method;
    uint32_t channels = method_of(g, x, l, &method), in = channel_blocks(channels);
    const uint32_t h = l->kernel_h, w = l->kernel_w;
    struct tensor t = blocks;

    if (!channels || ss_graph_status(g) != EMU_OK)
        return blocks;
    if (method == CONV_DEPTHWISE) {
        t = ss_tensor_transpose(g, t, (const unsigned[]){ 0, 4, 3, 1, 2 });
        in = 1;
    } else if (method == CONV_FIRST) {
        t = ss_tensor_transpose(g, t, (const unsigned[]){ 0, 2, 4, 1, 3 });
        in = FIRST_CHANNELS;
    } else {
        t = ss_tensor_transpose(g, t, (const unsigned[]){ 0, 4, 1, 5, 2, 3 });
        in *= CHANNEL_BLOCK;
    }
    t = ss_tensor_reshape(g, t, 4,
                          (const uint32_t[]){ channel_blocks(l->out_c) * CHANNEL_BLOCK, in, h, w });
    return nn_slice(
        g, t, (const struct nn_range[]){ { 0, l->out_c }, { 0, channels }, { 0, h }, { 0, w } });
}

/* Deals out t to all compute tiles in pieces of `each` elements, after those of the home before. */
static void deal_out(struct nn *nn, struct tensor t, uint32_t each)
{
    uint32_t tiles = ss_graph_compute_tiles(nn->g), n = (uint32_t)ss_tensor_elements(nn->g, t);
    uint32_t pieces = (uint32_t)ceil_div(n, each);
    uint32_t used = pieces < tiles ? pieces : tiles;

    t = ss_tensor_flatten(nn->g, t);
    if (!used || ss_graph_status(nn->g) != EMU_OK)
        return;
    for (uint32_t i = 0; i < used; i++) {
        uint32_t begin = cut_at(pieces, used, i) * each, end = cut_at(pieces, used, i + 1) * each;

        end = end < n ? end : n; /* the last piece may be smaller */
        ss_graph_map(nn->g, ss_tensor_slice(nn->g, t, 0, begin, end), (nn->home_tile + i) % tiles);
    }
    nn->home_tile = (nn->home_tile + used) % tiles;
}

struct conv_home ss_conv_weights_home(struct nn *nn, const struct activation *x,
                                      const struct conv_layer *l, enum elem e, const char *name)
{
    enum conv_method method;
    struct graph *g = nn_graph(nn);
    uint32_t channels = method_of(g, x, l, &method), shape[TENSOR_MAX_RANK];
    unsigned rank = form_of(l, method, channels, shape);
    uint32_t each = 1;
    struct conv_home home = { op_nothing(), op_nothing(), 0 };

    if (ss_graph_status(g) != EMU_OK)
        return home;
    if (!channels) {
        rank = 4;
        shape[0] = l->out_c;
        shape[1] = l->groups ? x->c / l->groups : 0;
        shape[2] = l->kernel_h;
        shape[3] = l->kernel_w;
        each = CHANNEL_BLOCK;
    } else if (rank == 6) {
        each = CHANNEL_BLOCK * CHANNEL_BLOCK;
    } else {
        for (unsigned i = 1; i < rank; i++)
            each *= shape[i];
    }
    home.blocks = ss_graph_variable(g, e, rank, shape, name);
    home.whole = each;
    deal_out(nn, home.blocks, each);
    home.weights = ss_conv_weights_matrix(nn, x, l, home.blocks);
    return home;
}

/* ---- what is fetched ---- */

static int is_scattered(struct graph *g, struct tensor t)
{
    uint64_t n = ss_tensor_elements(g, t);

    if (n > CHANNEL_BLOCK * CHANNEL_BLOCK) {
        n = CHANNEL_BLOCK * CHANNEL_BLOCK;
        t = ss_tensor_slice(g, t, 0, 0, (uint32_t)n);
    }
    return ss_tensor_memory_runs(g, t) * SHORT_RUN > n;
}

/* Copies parts, each to the tile of one of its users. */
static struct tensor packed(struct nn *nn, const struct conv_plan *plan, struct tensor all,
                            const struct tensor *part)
{
    struct graph *g = nn->g;
    uint32_t n = (uint32_t)ss_tensor_elements(g, all), at = 0;
    struct tensor t = ss_graph_variable(g, ss_tensor_elem(g, all), 1, &n, "packed weights");

    for (uint32_t k = 0; k < plan->cut_in * plan->cut_out; k++) {
        uint32_t size = (uint32_t)ss_tensor_elements(g, part[k]);

        ss_graph_map(
            g, ss_tensor_slice(g, t, 0, at, at + size),
            nn_holder(nn, plan, k % plan->cut_out, k / plan->cut_out, size * sizeof(uint16_t)));
        at += size;
    }
    ss_program_add(g, nn->seq, ss_program_copy(g, all, t));
    return t;
}

struct tensor conv_fetched(struct nn *nn, const struct conv_plan *plan, const struct tensor *part)
{
    struct tensor all = ss_tensor_concat(nn->g, part, plan->cut_in * plan->cut_out, 0);

    if (ss_graph_status(nn->g) != EMU_OK)
        return all;
    return is_scattered(nn->g, part[0]) ? packed(nn, plan, all, part) : all;
}

struct tensor conv_bias_tensor(struct nn *nn, const struct conv_layer *l)
{
    struct tensor b = conv_f16(nn, ss_tensor_flatten(nn->g, *l->b), "bias");

    return conv_pad(nn, b, 0, channel_blocks(l->out_c) * CHANNEL_BLOCK);
}
