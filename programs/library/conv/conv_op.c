/* conv_op.c - a convolution: plans it, makes its result, and lets the method compute it. */
#include "programs/library/conv/conv.h"
#include "programs/library/conv/conv_cost.h"
#include "programs/library/conv/conv_groups.h"
#include "programs/library/conv/conv_rotation.h"

#include <string.h>

struct tensor conv_every(struct graph *g, struct tensor t, uint32_t stride)
{
    for (unsigned dim = 2; stride > 1 && dim <= 3; dim++) {
        uint32_t shape[6], n = tensor_shape(g, t)[dim], whole = n / stride;
        uint32_t rest = n - whole * stride;
        struct tensor part[2];

        if (!whole) {
            t = tensor_slice(g, t, dim, 0, 1);
            continue;
        }
        /* The first of every whole group of `stride`, then the first of what is left. */
        memcpy(shape, tensor_shape(g, t), 5 * sizeof(shape[0]));
        memmove(shape + dim + 2, shape + dim + 1, (4 - dim) * sizeof(shape[0]));
        shape[dim] = whole;
        shape[dim + 1] = stride;
        part[0] = tensor_reshape(g, tensor_slice(g, t, dim, 0, whole * stride), 6, shape);
        part[0] = tensor_slice(g, part[0], dim + 1, 0, 1);
        memmove(shape + dim + 1, shape + dim + 2, (4 - dim) * sizeof(shape[0]));
        part[0] = tensor_reshape(g, part[0], 5, shape);
        if (rest)
            part[1] = tensor_slice(g, t, dim, whole * stride, whole * stride + 1);
        t = rest ? tensor_concat(g, part, 2, dim) : part[0];
    }
    return t;
}

/* ---- bias and activation ---- */

enum emu_status conv_finish_begin(struct nn *nn, const struct conv_layer *layer, uint32_t copies,
                                  struct conv_finish *out)
{
    uint32_t n = channel_blocks(layer->out_c) * CHANNEL_BLOCK;
    uint16_t *bias = emu_alloc(n, sizeof(*bias));

    *out = (struct conv_finish){ .nn = nn, .layer = layer };
    if (!bias) {
        graph_fail(nn->g, EMU_NO_MEMORY, "biases");
        return EMU_NO_MEMORY;
    }
    for (uint32_t c = 0; layer->bias && c < layer->out_c; c++)
        bias[c] = nn_half(layer->bias[c]);
    out->bias =
        graph_constant_repeated(nn->g, ELEM_F16, 2, (const uint32_t[]){ copies, n }, bias, "bias");
    emu_free(bias);
    return EMU_OK;
}

void conv_finish_start(struct conv_finish *f, const char *name)
{
    if (!f->started)
        f->cs = op_compute_set(f->nn->g, f->nn->seq, name);
    f->started = 1;
}

struct tensor conv_finish_bias(struct conv_finish *f, uint32_t copy, struct nn_range blocks)
{
    return tensor_slice(f->nn->g, tensor_index(f->nn->g, f->bias, copy), 0,
                        blocks.begin * CHANNEL_BLOCK, blocks.end * CHANNEL_BLOCK);
}

struct tensor conv_finish_map(struct conv_finish *f, uint32_t copy, struct nn_range blocks,
                              uint32_t tile)
{
    struct tensor t = conv_finish_bias(f, copy, blocks);

    graph_map(f->nn->g, t, tile);
    return t;
}

void conv_finish_add(struct conv_finish *f, uint32_t copy, struct nn_range blocks, uint32_t tile,
                     struct tensor x, uint32_t positions)
{
    struct tensor bias = conv_finish_map(f, copy, blocks, tile);
    struct graph *g = f->nn->g;

    if (!f->layer->bias && f->layer->act == ACT_NONE)
        return;
    conv_finish_start(f, "finish");
    VERTEX_OF(bias, nn_codelet(g, &conv_bias_kernels, f->layer->act), g, f->cs, tile, .x = x,
              .bias = bias, .blocks = blocks.end - blocks.begin, .f = positions);
}

/* ---- the layer ---- */

static uint32_t out_size(uint32_t in, uint32_t before, uint32_t after, uint32_t kernel,
                         uint32_t stride)
{
    return in + before + after < kernel ? 0 : (in + before + after - kernel) / stride + 1;
}

struct conv_shape conv_layer_shape(const struct activation *x, const struct conv_layer *l)
{
    struct conv_shape s = { .n = x->n, .in_c = x->c, .in_h = x->h, .in_w = x->w };

    s.out_c = l->out_c;
    s.kernel = l->kernel;
    s.stride = l->stride;
    s.groups = conv_whole_groups(x->c, l->out_c, l->groups);
    s.out_h = out_size(x->h, l->pad_top, l->pad_bottom, l->kernel, l->stride);
    s.out_w = out_size(x->w, l->pad_left, l->pad_right, l->kernel, l->stride);
    s.swish = l->act == ACT_SWISH;
    s.relu = l->act == ACT_RELU;
    s.add = l->add != NULL;
    s.bias = l->bias != NULL;
    s.f32 = l->partials == PARTIALS_F32;
    s.sliding = l->depthwise == DEPTHWISE_SLIDING;
    return s;
}

/* The plan of the layer, or the cheapest one. */
static enum emu_status plan_layer(struct nn *nn, const struct activation *x,
                                  const struct conv_layer *layer, struct conv_plan *p)
{
    struct conv_shape s = conv_layer_shape(x, layer);
    const struct arch *a = graph_arch(nn->g);
    uint32_t tiles = graph_compute_tiles(nn->g);

    if (!layer->plan) {
        s.kib_price = nn->kib_price;
        return plan_conv(a, &s, 0, tiles, nn->memory_bytes, p);
    }
    *p = *layer->plan;
    s.kib_price = p->shape.kib_price;
    s.bias =
        p->shape.bias; /* may differ: it changes which plan is best, not whether one is right */
    if (memcmp(&s, &p->shape, sizeof(s)) != 0 || p->first_tile + p->tiles > tiles)
        return FAIL(USAGE, "its plan is for another convolution");
    return EMU_OK;
}

static int is_zero(const float *bias, uint32_t n)
{
    for (uint32_t i = 0; bias && i < n; i++) {
        if (nn_half(bias[i]) & 0x7fff)
            return 0;
    }
    return 1;
}

/* Sums in f32 cannot include a residual, so it is added after them. */
static struct activation conv_then_add(struct nn *nn, struct activation x,
                                       const struct conv_layer *layer, struct conv_plan *plan,
                                       const char *name)
{
    struct conv_layer alone = *layer;
    struct activation y;

    alone.add = NULL;
    alone.act = ACT_NONE;
    y = op_conv(nn, x, &alone, plan, name);
    return op_activation_add(nn, y, *layer->add, layer->act, name);
}

/* Joins groups that are not whole blocks of channels. */
static struct activation conv_joined(struct nn *nn, struct activation x,
                                     const struct conv_layer *layer, uint32_t groups,
                                     struct conv_plan *plan, const char *name)
{
    struct conv_layer whole = *layer;
    float *weights = conv_join_groups(x.c, layer, groups);
    struct activation y = x;

    whole.groups = groups;
    whole.weights = weights;
    if (weights)
        y = op_conv(nn, x, &whole, plan, name);
    else
        graph_fail(nn->g, EMU_NO_MEMORY, "%s: weights", name);
    emu_free(weights);
    return y;
}

struct activation op_conv(struct nn *nn, struct activation x, const struct conv_layer *layer,
                          struct conv_plan *plan, const char *name)
{
    static void (*const method[])(struct nn *, struct activation, const struct conv_layer *,
                                  const struct conv_plan *, struct activation) = {
        [CONV_GEMM] = conv_gemm,
        [CONV_WINDOW] = conv_window,
        [CONV_DEPTHWISE] = conv_depthwise,
        [CONV_FIRST] = conv_first,
    };
    struct conv_layer fused = *layer;
    struct conv_plan p;
    struct activation y = x;
    enum emu_status st = graph_status(nn->g);
    uint32_t groups = conv_whole_groups(x.c, layer->out_c, layer->groups);

    if (groups != layer->groups)
        return conv_joined(nn, x, layer, groups, plan, name);
    if (layer->add && layer->partials == PARTIALS_F32)
        return conv_then_add(nn, x, layer, plan, name);
    if (is_zero(layer->bias, layer->out_c))
        fused.bias = NULL;
    if (st == EMU_OK)
        st = plan_layer(nn, &x, &fused, &p);
    if (st == EMU_OK && (tensor_rank(nn->g, x.t) == 4) != (p.method == CONV_FIRST))
        st = FAIL(USAGE,
                  "pictures [n][h][w][4] are for first layers, which take nothing else: up to "
                  "4 channels, stride 2");
    if (st == EMU_OK)
        st = conv_rotation_choose(nn, &x, layer->add, layer->pad_top, layer->pad_left, &p);
    if (st != EMU_OK) {
        graph_fail(nn->g, st, "%s: %s", name, emu_error());
        return x;
    }
    graph_push(nn->g, name);
    y = nn_activation(nn, x.n, layer->out_c, p.shape.out_h, p.shape.out_w, "out");
    if (p.method < EMU_COUNT_OF(method) && method[p.method])
        method[p.method](nn, x, &fused, &p, y);
    else
        graph_fail(nn->g, EMU_BAD_PROGRAM, "%s: no method for a %s convolution", name,
                   conv_method_name(p.method));
    graph_pop(nn->g);
    if (plan)
        *plan = p;
    return y;
}
