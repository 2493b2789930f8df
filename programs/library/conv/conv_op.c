/* conv_op.c - a convolution: plans it, makes its result, and lets the method compute it. */
#include "programs/library/conv/conv.h"
#include "programs/library/conv/conv_cost.h"
#include "programs/library/conv/conv_groups.h"
#include "programs/library/conv/conv_rotation.h"
#include "programs/library/conv/conv_tensors.h"

#include <string.h>

/* Every stride-th element of t [c16][n][h][w][16] in dimension dim, which is 2 or 3. */
static struct tensor every(struct graph *g, struct tensor t, unsigned dim, uint32_t stride)
{
    uint32_t shape[6], n = ss_tensor_shape(g, t)[dim], whole = n / stride;
    uint32_t rest = n - whole * stride;
    struct tensor part[2];

    if (stride == 1)
        return t;
    if (!whole)
        return ss_tensor_slice(g, t, dim, 0, 1);
    /* The first of every whole group of `stride`, then the first of what is left. */
    memcpy(shape, ss_tensor_shape(g, t), 5 * sizeof(shape[0]));
    memmove(shape + dim + 2, shape + dim + 1, (4 - dim) * sizeof(shape[0]));
    shape[dim] = whole;
    shape[dim + 1] = stride;
    part[0] = ss_tensor_reshape(g, ss_tensor_slice(g, t, dim, 0, whole * stride), 6, shape);
    part[0] = ss_tensor_slice(g, part[0], dim + 1, 0, 1);
    memmove(shape + dim + 1, shape + dim + 2, (4 - dim) * sizeof(shape[0]));
    part[0] = ss_tensor_reshape(g, part[0], 5, shape);
    if (!rest)
        return part[0];
    part[1] = ss_tensor_slice(g, t, dim, whole * stride, whole * stride + 1);
    return ss_tensor_concat(g, part, 2, dim);
}

struct tensor conv_every(struct graph *g, struct tensor t, uint32_t stride_h, uint32_t stride_w)
{
    return every(g, every(g, t, 2, stride_h), 3, stride_w);
}

/* ---- bias and activation ---- */

enum emu_status conv_finish_begin(struct nn *nn, const struct conv_layer *layer, uint32_t copies,
                                  struct conv_finish *out)
{
    uint32_t n = channel_blocks(layer->out_c) * CHANNEL_BLOCK;
    uint16_t *bias = emu_alloc(n, sizeof(*bias));

    *out = (struct conv_finish){ .nn = nn, .layer = layer };
    if (layer->b) {
        out->bias = conv_bias_tensor(nn, layer);
        ss_free(bias);
        return ss_graph_status(nn->g);
    }
    if (!bias) {
        ss_graph_fail(nn->g, EMU_NO_MEMORY, "biases");
        return EMU_NO_MEMORY;
    }
    for (uint32_t c = 0; layer->bias && c < layer->out_c; c++)
        bias[c] = nn_half(layer->bias[c]);
    out->bias = ss_graph_constant_repeated(nn->g, ELEM_F16, 2, (const uint32_t[]){ copies, n },
                                           bias, "bias");
    ss_free(bias);
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
    struct tensor all = f->layer->b ? f->bias : ss_tensor_index(f->nn->g, f->bias, copy);

    return ss_tensor_slice(f->nn->g, all, 0, blocks.begin * CHANNEL_BLOCK,
                           blocks.end * CHANNEL_BLOCK);
}

struct tensor conv_finish_map(struct conv_finish *f, uint32_t copy, struct nn_range blocks,
                              uint32_t tile)
{
    struct tensor t = conv_finish_bias(f, copy, blocks);

    if (!f->layer->b)
        ss_graph_map(f->nn->g, t, tile);
    return t;
}

void conv_finish_add(struct conv_finish *f, uint32_t copy, struct nn_range blocks, uint32_t tile,
                     struct tensor x, uint32_t positions)
{
    struct tensor bias = conv_finish_map(f, copy, blocks, tile);
    struct graph *g = f->nn->g;

    if (!f->layer->bias && !f->layer->b && f->layer->act == ACT_NONE)
        return;
    conv_finish_start(f, "finish");
    VERTEX_OF(bias, nn_codelet(g, &conv_bias_kernels, f->layer->act), g, f->cs, tile, .x = x,
              .bias = bias, .blocks = blocks.end - blocks.begin, .f = positions);
}

/* ---- the layer ---- */

/* How many windows of so many positions there are; 0 also if the stride is 0. */
static uint32_t out_size(uint32_t padded, uint32_t reach, uint32_t stride)
{
    return padded < reach || !stride ? 0 : (padded - reach) / stride + 1;
}

/* Whether a residual, and so the activation function, too, are a layer of their own. Sums in f32
 * cannot include a residual, and the sliding unit and first layers do not add up. */
static int adds_later(const struct conv_shape *s)
{
    enum conv_method m = ss_conv_method_of(s);

    return s->f32 || m == CONV_DEPTHWISE || m == CONV_FIRST;
}

struct conv_shape ss_conv_layer_shape(const struct activation *x, const struct conv_layer *l)
{
    struct conv_shape s = { .n = x->n, .in_c = x->c, .in_h = x->h, .in_w = x->w };

    s.out_c = l->out_c;
    s.kernel_h = l->kernel_h;
    s.kernel_w = l->kernel_w;
    s.stride_h = l->stride_h;
    s.stride_w = l->stride_w;
    s.dilation_h = l->dilation_h;
    s.dilation_w = l->dilation_w;
    s.padded = l->kernel_h == 1 && l->kernel_w == 1 &&
               (l->pad_top || l->pad_bottom || l->pad_left || l->pad_right);
    s.groups = l->groups;
    s.out_h = out_size(x->h + l->pad_top + l->pad_bottom, conv_reach(l->kernel_h, l->dilation_h),
                       l->stride_h);
    s.out_w = out_size(x->w + l->pad_left + l->pad_right, conv_reach(l->kernel_w, l->dilation_w),
                       l->stride_w);
    s.bias = l->bias != NULL || l->b != NULL;
    s.tensors = l->w != NULL;
    s.f32 = l->partials == PARTIALS_F32;
    s.sliding = l->depthwise == DEPTHWISE_SLIDING;
    conv_join_shape(&s);
    if (l->add && adds_later(&s))
        return s;
    s.swish = l->act == ACT_SWISH;
    s.relu = l->act == ACT_RELU;
    s.add = l->add != NULL;
    return s;
}

/* The plan of the layer, or the cheapest one. */
static enum emu_status plan_layer(struct nn *nn, const struct activation *x,
                                  const struct conv_layer *layer, struct conv_plan *p)
{
    struct conv_shape s = ss_conv_layer_shape(x, layer);
    const struct arch *a = ss_graph_arch(nn->g);
    uint32_t tiles = ss_graph_compute_tiles(nn->g);

    s.blocks = ss_tensor_rank(nn->g, x->t) == 5 && ss_conv_is_first(&s);
    if (!layer->plan) {
        s.kib_price = nn->kib_price;
        return ss_plan_conv(a, &s, 0, tiles, nn->memory_bytes, p);
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

static struct activation conv_then_add(struct nn *nn, struct activation x,
                                       const struct conv_layer *layer, struct conv_plan *plan,
                                       const char *name)
{
    struct conv_layer alone = *layer;
    struct activation y;

    alone.add = NULL;
    alone.act = ACT_NONE;
    y = ss_op_conv(nn, x, &alone, plan, name);
    if (layer->act != ACT_SWISH)
        return ss_op_activation_add(nn, y, *layer->add, layer->act, name);
    y = ss_op_activation_add(nn, y, *layer->add, ACT_NONE, name);
    y.t = ss_op_unary(nn->g, nn->seq, UNARY_SWISH, y.t, name);
    return y;
}

/* Joins groups that are not whole blocks of channels. */
static struct activation conv_joined(struct nn *nn, struct activation x,
                                     const struct conv_layer *layer, const struct conv_shape *shape,
                                     struct conv_plan *plan, const char *name)
{
    struct conv_layer whole = *layer;
    float *weights = layer->w ? NULL : conv_join_weights(x.c, layer, shape);
    struct tensor joined = layer->w ? conv_join_tensor(nn, x.c, layer, shape) : x.t;
    float *bias = emu_alloc(shape->out_c, sizeof(*bias));
    struct activation y = x;

    whole.groups = shape->groups;
    whole.out_c = shape->out_c;
    whole.weights = weights;
    if (layer->w)
        whole.w = &joined;
    x.c = shape->in_c;
    if (bias && layer->bias) {
        memcpy(bias, layer->bias, layer->out_c * sizeof(*bias));
        whole.bias = bias;
    }
    if ((weights || layer->w) && bias)
        y = ss_op_conv(nn, x, &whole, plan, name);
    else
        ss_graph_fail(nn->g, EMU_NO_MEMORY, "%s: weights", name);
    ss_free(weights);
    ss_free(bias);
    y.c = layer->out_c;
    return y;
}

struct activation ss_op_conv(struct nn *nn, struct activation x, const struct conv_layer *layer,
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
    enum emu_status st;
    const struct conv_shape shape = ss_conv_layer_shape(&x, layer);

    if (ss_graph_status(nn_graph(nn)) != EMU_OK)
        return x;
    if (layer->add && !shape.add)
        return conv_then_add(nn, x, layer, plan, name);
    if (shape.groups != layer->groups)
        return conv_joined(nn, x, layer, &shape, plan, name);
    if (is_zero(layer->bias, layer->out_c))
        fused.bias = NULL;
    st = plan_layer(nn, &x, &fused, &p);
    if (st == EMU_OK && (ss_tensor_rank(nn->g, x.t) == 4) != (p.method == CONV_FIRST))
        st = FAIL(USAGE,
                  "pictures [n][h][w][4] are for first layers only: up to 4 channels, kernel 3 to "
                  "7, stride 2");
    if (st == EMU_OK)
        st = conv_rotation_choose(nn, &x, layer->add, layer->pad_top, layer->pad_left, &p);
    if (st != EMU_OK) {
        ss_graph_fail(nn->g, st, "%s: %s", name, ss_error());
        return x;
    }
    ss_graph_push(nn->g, name);
    y = nn_activation(nn, x.n, layer->out_c, p.shape.out_h, p.shape.out_w, "out");
    if (p.method < EMU_COUNT_OF(method) && method[p.method])
        method[p.method](nn, x, &fused, &p, y);
    else
        ss_graph_fail(nn->g, EMU_BAD_PROGRAM, "%s: no method for a %s convolution", name,
                      ss_conv_method_name(p.method));
    ss_graph_pop(nn->g);
    if (plan)
        *plan = p;
    return y;
}
