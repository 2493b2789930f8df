/* net_build.c - appends layers: names, shapes, and what SAME and torch padding mean. */
#include "emu/base/alloc.h"
#include "models/net/net_build.h"

#include <string.h>

enum { GROUP_NORM_GROUPS = 4 };
static const double group_norm_eps = 1e-3;

/* Joins stem and suffix by the rule of net_build.h. A name that is too long is a bug. */
static void name_join(char out[LAYER_NAME_MAX], const char *stem, const char *suffix)
{
    int n;

    if (suffix[0] && suffix[0] != '.')
        stem = "";
    n = snprintf(out, LAYER_NAME_MAX, "%s%s", stem, suffix);
    EMU_ASSERT(n > 0 && n < LAYER_NAME_MAX);
}

void build_block(struct net_builder *b, const char *block, const char *prefix)
{
    name_join(b->block, "", block);
    snprintf(b->prefix, sizeof(b->prefix), "%s", prefix);
}

/* A new layer whose output is shaped as its input; NULL after an error. */
static struct layer *append(struct net_builder *b, enum layer_op op, uint32_t from,
                            const char *name, const char *param)
{
    struct net *n = b->net;
    struct layer *l;

    if (b->status == EMU_OK)
        b->status = emu_grow((void **)&n->layer, n->layers, &b->cap, sizeof(*n->layer));
    if (b->status != EMU_OK)
        return NULL;
    EMU_ASSERT(op == LAYER_INPUT || from < n->layers);
    l = &n->layer[n->layers++];
    memset(l, 0, sizeof(*l));
    name_join(l->name, b->block, name);
    name_join(l->block, b->block, "");
    if (param)
        name_join(l->param, b->prefix, param);
    l->op = op;
    l->input[0] = from;
    l->input[1] = LAYER_NONE;
    l->kernel = l->stride = l->groups = 1;
    if (op != LAYER_INPUT) {
        const struct layer *p = &n->layer[from];

        l->in_c = l->out_c = p->out_c;
        l->in_h = l->out_h = p->out_h;
        l->in_w = l->out_w = p->out_w;
    }
    return l;
}

static uint32_t index_of(const struct net_builder *b, const struct layer *l)
{
    return l ? (uint32_t)(l - b->net->layer) : LAYER_NONE;
}

uint32_t build_input(struct net_builder *b, uint32_t channels, uint32_t side)
{
    struct layer *l = append(b, LAYER_INPUT, LAYER_NONE, "", NULL);

    if (l) {
        l->in_c = l->out_c = channels;
        l->in_h = l->in_w = l->out_h = l->out_w = side;
        b->net->torch_padding = b->torch_padding;
    }
    return index_of(b, l);
}

struct window_size {
    int torch; /* 1: pad cells on all sides; 0: SAME */
    uint32_t kernel, stride, pad;
};

/* Output size of one dimension, and the padding before and after it. SAME gives ceil(in / stride)
 * outputs and puts the odd element of padding after. */
static uint32_t window_extent(const struct window_size *win, uint32_t in, uint32_t *before,
                              uint32_t *after)
{
    uint32_t kernel = win->kernel, stride = win->stride, out, need;

    if (win->torch) {
        EMU_ASSERT(2 * win->pad <= kernel && in + 2 * win->pad >= kernel);
        *before = *after = win->pad;
        return (in + 2 * win->pad - kernel) / stride + 1;
    }
    out = (in + stride - 1) / stride;
    need = (out - 1) * stride + kernel;
    need = need > in ? need - in : 0;
    *before = need / 2;
    *after = need - need / 2;
    return out;
}

static void set_window(const struct window_size *win, struct layer *l)
{
    l->kernel = win->kernel;
    l->stride = win->stride;
    l->out_h = window_extent(win, l->in_h, &l->pad.before_h, &l->pad.after_h);
    l->out_w = window_extent(win, l->in_w, &l->pad.before_w, &l->pad.after_w);
}

uint32_t build_conv(struct net_builder *b, uint32_t from, const char *name, const char *param,
                    struct build_kernels s)
{
    struct layer *l = append(b, LAYER_CONV, from, name, param);

    if (l) {
        EMU_ASSERT(s.groups && l->in_c % s.groups == 0 && s.out_c % s.groups == 0);
        l->out_c = s.out_c;
        l->groups = s.groups;
        l->weight_rank = 4;
        set_window(&(struct window_size){ b->torch_padding, s.kernel, s.stride, s.kernel / 2 }, l);
    }
    return index_of(b, l);
}

uint32_t build_norm(struct net_builder *b, uint32_t from, const char *name, const char *param)
{
    struct layer *l = append(b, LAYER_NORM, from, name, param);

    if (l) {
        l->norm = b->norm;
        l->norm_groups = b->norm == NORM_GROUP ? GROUP_NORM_GROUPS : 0;
        l->eps = b->norm == NORM_GROUP ? group_norm_eps : b->batch_eps;
        l->weight_rank = 1;
        EMU_ASSERT(!l->norm_groups || l->in_c % l->norm_groups == 0);
    }
    return index_of(b, l);
}

uint32_t build_maxpool(struct net_builder *b, uint32_t from, const char *name, uint32_t kernel,
                       uint32_t stride, uint32_t pad)
{
    struct layer *l = append(b, LAYER_MAXPOOL, from, name, NULL);

    if (l)
        set_window(&(struct window_size){ b->torch_padding, kernel, stride, pad }, l);
    return index_of(b, l);
}

uint32_t build_linear(struct net_builder *b, uint32_t from, const char *name, const char *param,
                      uint32_t out_c, unsigned rank)
{
    struct layer *l = append(b, LAYER_LINEAR, from, name, param);

    if (l) {
        EMU_ASSERT(l->in_h == 1 && l->in_w == 1);
        l->out_c = out_c;
        l->bias = 1;
        l->weight_rank = rank;
    }
    return index_of(b, l);
}

uint32_t build_unary(struct net_builder *b, enum layer_op op, uint32_t from, const char *name)
{
    struct layer *l = append(b, op, from, name, NULL);

    if (l && op == LAYER_AVGPOOL)
        l->out_h = l->out_w = 1;
    return index_of(b, l);
}

uint32_t build_binary(struct net_builder *b, enum layer_op op, uint32_t x, uint32_t y,
                      const char *name)
{
    struct layer *l = append(b, op, x, name, NULL);

    if (l) {
        const struct layer *p = &b->net->layer[y];

        l->input[1] = y;
        EMU_ASSERT(p->out_c == l->in_c);
        EMU_ASSERT(op == LAYER_SCALE ? p->out_h == 1 && p->out_w == 1
                                     : p->out_h == l->in_h && p->out_w == l->in_w);
    }
    return index_of(b, l);
}

/* ---- another size ---- */

/* Shapes of a layer from those of its inputs, which are already right. */
static void resize_layer(const struct net *n, struct layer *l)
{
    const struct layer *from = &n->layer[l->input[0]];

    l->in_h = l->out_h = from->out_h;
    l->in_w = l->out_w = from->out_w;
    if (l->op == LAYER_CONV || l->op == LAYER_MAXPOOL)
        set_window(&(struct window_size){ n->torch_padding, l->kernel, l->stride, l->pad.before_h },
                   l);
    if (l->op == LAYER_AVGPOOL)
        l->out_h = l->out_w = 1;
}

enum emu_status net_resized(const struct net *n, uint32_t resolution, uint32_t batch,
                            struct net **out)
{
    struct net *m = emu_alloc(1, sizeof(*m));
    struct layer *layer = emu_alloc(n->layers, sizeof(*layer));

    *out = NULL;
    if (!m || !layer) {
        emu_free(m);
        emu_free(layer);
        return FAIL(NO_MEMORY, "%s of another size", n->name);
    }
    *m = *n;
    m->layer = layer;
    m->resolution = resolution;
    m->batch = batch;
    memcpy(layer, n->layer, n->layers * sizeof(*layer));
    for (uint32_t i = 0; i < n->layers; i++) {
        if (layer[i].op == LAYER_INPUT)
            layer[i].in_h = layer[i].in_w = layer[i].out_h = layer[i].out_w = resolution;
        else
            resize_layer(m, &layer[i]);
    }
    *out = m;
    return EMU_OK;
}
