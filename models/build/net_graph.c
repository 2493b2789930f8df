/* net_graph.c - walks the layers of a network and adds their operations to a graph. */
#include "models/build/net_graph.h"

#include <string.h>

#include "emu/arch/arch.h"
#include "emu/base/alloc.h"
#include "models/build/fusion.h"
#include "models/build/net_check.h"

/* The walk. */
struct builder {
    struct graph *g;
    struct nn *nn;
    struct program seq;
    const struct net *net;
    const struct weights *weights;
    struct net_graph *out;
    uint32_t *users; /* owned; how many layers read each layer */
    uint32_t keep_begin, keep_end;
    const struct pixel_format *pixels; /* net_graph_options */
    enum conv_depthwise depthwise;     /* the same */
};

static const struct layer *layer_at(const struct builder *b, uint32_t i)
{
    return &b->net->layer[i];
}

static struct activation result_of(const struct builder *b, uint32_t layer)
{
    return b->out->layer[b->out->layer[layer].into].result;
}

/* The operand of a layer that works in place: the result of another layer, or a copy of it if the
 * host is to read that result after the run. */
static struct activation result_to_change(struct builder *b, uint32_t layer, const char *name)
{
    struct activation x = result_of(b, layer), y = x;

    if (!b->out->layer[b->out->layer[layer].into].kept)
        return x;
    graph_push(b->g, name);
    y.t = graph_variable(b->g, tensor_elem(b->g, x.t), tensor_rank(b->g, x.t),
                         tensor_shape(b->g, x.t), "in");
    graph_map_like(b->g, y.t, x.t);
    program_add(b->g, b->seq, program_copy(b->g, x.t, y.t));
    graph_pop(b->g);
    return y;
}

static void set_result(struct builder *b, uint32_t layer, uint32_t last, struct activation f)
{
    for (uint32_t i = layer; i <= last; i++)
        b->out->layer[i].into = layer;
    b->out->layer[layer].result = f;
    b->out->layer[layer].has_result = 1;
}

static enum emu_status build_error(const struct layer *l, const char *what)
{
    return FAIL(USAGE, "layer %s (%s): %s", l->name, layer_op_name(l->op), what);
}

/* ---- convolutions ---- */

/* A convolution with the layers fused with it. */
struct fused {
    struct fusion layers;
    float *weights, *bias; /* owned */
    struct activation add;
};

/* Makes weights and biases, with the norm folded into them. */
static enum emu_status fold(struct builder *b, uint32_t i, struct fused *f)
{
    const struct layer *l = layer_at(b, i);
    const struct param *w = weights_find(b->weights, i, "weight");
    const struct param *bias = weights_find(b->weights, i, "bias");
    uint64_t each;
    float *scale, *shift;

    if (!w)
        return build_error(l, "it has no weights");
    each = w->elements / l->out_c;
    f->weights = emu_alloc(w->elements, sizeof(*f->weights));
    f->bias = emu_alloc(l->out_c, sizeof(*f->bias));
    scale = emu_alloc(2 * l->out_c, sizeof(*scale));
    if (!f->weights || !f->bias || !scale) {
        emu_free(scale);
        return FAIL(NO_MEMORY, "the weights of %s", l->name);
    }
    shift = scale + l->out_c;
    for (uint32_t c = 0; c < l->out_c; c++)
        scale[c] = 1;
    if (f->layers.norm != LAYER_NONE)
        weights_fold(b->weights, b->net, f->layers.norm, scale, shift);
    for (uint64_t k = 0; k < w->elements; k++)
        f->weights[k] = w->data[k] * scale[k / each];
    for (uint32_t c = 0; c < l->out_c; c++)
        f->bias[c] = (bias ? bias->data[c] * scale[c] : 0) + shift[c];
    emu_free(scale);
    return EMU_OK;
}

static enum emu_status build_conv(struct builder *b, uint32_t i, uint32_t *last)
{
    const struct layer *l = layer_at(b, i);
    struct conv_layer c = net_conv_layer(l);
    struct fused f = { .layers = fusion_of_conv(b->net, b->users, i) };
    enum emu_status s = fold(b, i, &f);

    c.depthwise = b->depthwise;
    if (f.layers.add != LAYER_NONE) {
        f.add = result_of(b, f.layers.other);
        c.add = &f.add;
    }
    if (s == EMU_OK) {
        c.weights = f.weights;
        c.bias = f.bias;
        c.act = f.layers.act;
        c.plan = &b->out->plans.plan[i];
        set_result(b, i, f.layers.last,
                   op_conv(b->nn, result_of(b, l->input[0]), &c, &b->out->layer[i].plan, l->name));
        *last = f.layers.last;
        s = graph_status(b->g);
    }
    emu_free(f.weights);
    emu_free(f.bias);
    return s;
}

/* ---- the others ---- */

static enum emu_status build_linear(struct builder *b, uint32_t i, uint32_t *last)
{
    const struct layer *l = layer_at(b, i);
    const struct param *w = weights_find(b->weights, i, "weight");
    const struct param *bias = weights_find(b->weights, i, "bias");
    enum activation_function act = fusion_activation(b->net, b->users, i, 1);

    if (!w)
        return build_error(l, "it has no weights");
    *last += act != ACT_NONE;
    set_result(b, i, *last,
               op_linear(b->nn, result_of(b, l->input[0]), l->out_c, w->data,
                         bias ? bias->data : NULL, act, l->name));
    return graph_status(b->g);
}

static enum emu_status build_norm(struct builder *b, uint32_t i, uint32_t *last)
{
    const struct layer *l = layer_at(b, i);
    const struct param *gamma = weights_find(b->weights, i, "weight");
    const struct param *beta = weights_find(b->weights, i, "bias");
    enum activation_function act = fusion_activation(b->net, b->users, i, 0);

    EMU_ASSERT(l->norm == NORM_GROUP); /* net_check() */
    *last += act != ACT_NONE;
    set_result(b, i, *last,
               op_group_norm(b->nn, result_to_change(b, l->input[0], l->name), l->norm_groups,
                             (float)l->eps, gamma->data, beta->data, act, l->name));
    return graph_status(b->g);
}

/* Whether the picture is read only by first layers, which take it as it comes. */
static int is_for_first_layers(const struct builder *b, uint32_t input)
{
    for (uint32_t i = input + 1; i < b->net->layers; i++) {
        const struct layer *l = layer_at(b, i);
        const struct activation x = { .n = 1, .c = l->in_c, .h = l->in_h, .w = l->in_w };
        const struct conv_layer c = net_conv_layer(l);
        const struct conv_shape s = conv_layer_shape(&x, &c);

        if ((l->input[0] == input || l->input[1] == input) &&
            (l->op != LAYER_CONV || !conv_is_first(&s)))
            return 0;
    }
    return 1;
}

static enum emu_status build_input(struct builder *b, uint32_t i)
{
    const struct layer *l = layer_at(b, i);
    struct net_graph *ng = b->out;

    ng->picture = b->pixels ? op_pixels(b->nn, b->net->batch, l->out_h, l->out_w, b->pixels,
                                        &ng->raw, "picture")
                            : op_picture(b->nn, b->net->batch, l->out_h, l->out_w, "picture");
    set_result(b, i, i,
               is_for_first_layers(b, i) ? ng->picture
                                         : op_picture_blocks(b->nn, ng->picture, l->name));
    return graph_status(b->g);
}

static enum emu_status build_layer(struct builder *b, uint32_t i, uint32_t *last)
{
    const struct layer *l = layer_at(b, i);
    struct net_graph *ng = b->out;

    switch (l->op) {
    case LAYER_INPUT:
        return build_input(b, i);
    case LAYER_CONV:
        return build_conv(b, i, last);
    case LAYER_LINEAR:
        return build_linear(b, i, last);
    case LAYER_NORM:
        return build_norm(b, i, last);
    case LAYER_AVGPOOL:
        set_result(b, i, i, op_global_pool(b->nn, result_of(b, l->input[0]), l->name));
        return graph_status(b->g);
    case LAYER_MAXPOOL:
        set_result(b, i, i,
                   op_max_pool(b->nn, result_of(b, l->input[0]), l->kernel, l->stride,
                               l->pad.before_h, l->name));
        return graph_status(b->g);
    case LAYER_SCALE:
        set_result(b, i, i,
                   op_channel_scale(b->nn, result_to_change(b, l->input[0], l->name),
                                    result_of(b, l->input[1]), l->name));
        return graph_status(b->g);
    case LAYER_ADD:
        set_result(b, i, i,
                   op_activation_add(b->nn, result_to_change(b, l->input[0], l->name),
                                     result_of(b, l->input[1]), ACT_NONE, l->name));
        return graph_status(b->g);
    case LAYER_SOFTMAX:
        ng->scores = op_scores(b->nn, result_of(b, l->input[0]), l->name);
        graph_keep(b->g, ng->scores);
        ng->layer[i].into = i;
        return graph_status(b->g);
    default:
        EMU_ASSERT(0 && "an activation that net_check() has refused");
        return EMU_OK;
    }
}

/* The scope in which the operations of the layer are made. */
static uint32_t scope_of(struct builder *b, uint32_t layer)
{
    uint32_t scope = graph_push(b->g, layer_at(b, layer)->name);

    graph_pop(b->g);
    return scope;
}

/* Whether the result of fused layers first .. last can be read after the run. */
static int is_kept(const struct builder *b, uint32_t first, uint32_t last)
{
    for (uint32_t i = b->keep_begin; i < b->keep_end; i++) {
        if (i >= first && i <= last)
            return 1;
        for (int k = 0; k < 2; k++) {
            uint32_t input = layer_at(b, i)->input[k];

            if (input != LAYER_NONE && input >= first && input <= last)
                return 1;
        }
    }
    return 0;
}

static enum emu_status build_all(struct builder *b)
{
    for (uint32_t i = 0, last; i < b->net->layers; i = last + 1) {
        last = i;
        b->out->layer[i].scope = scope_of(b, i);
        TRY(build_layer(b, i, &last));
        b->out->layer[i].kept = is_kept(b, i, last);
        if (b->out->layer[i].kept && layer_at(b, i)->op == LAYER_INPUT)
            graph_keep(b->g, b->out->picture.t);
        else if (b->out->layer[i].kept && b->out->layer[i].has_result)
            graph_keep(b->g, b->out->layer[i].result.t);
    }
    b->out->program = b->seq;
    if (!b->pixels)
        graph_set_program(b->g, b->seq);
    return graph_status(b->g);
}

enum emu_status net_graph_build(struct graph *g, const struct net *n, const struct weights *w,
                                const struct net_graph_options *o, struct net_graph **out)
{
    struct builder b = { .g = g, .net = n, .weights = w, .seq = program_sequence(g) };
    uint64_t memory = (uint64_t)(o->memory_proportion * graph_arch(g)->mem_bytes);
    enum emu_status s = EMU_OK;

    *out = NULL;
    TRY(net_check(graph_arch(g), n));
    b.out = emu_alloc(1, sizeof(*b.out));
    b.users = emu_alloc(n->layers + 1, sizeof(*b.users));
    if (b.out)
        b.out->layer = emu_alloc(n->layers + 1, sizeof(*b.out->layer));
    if (!b.out || !b.users || !b.out->layer)
        s = FAIL(NO_MEMORY, "a network of %u layers", n->layers);
    if (s == EMU_OK)
        s = nn_new(g, b.seq, memory, &b.nn);
    if (s == EMU_OK)
        s = net_plans_choose(graph_arch(g), graph_compute_tiles(g), n, o, &b.out->plans);
    if (s == EMU_OK) {
        b.out->net = n;
        b.keep_begin = o->keep_begin;
        b.keep_end = o->keep_end;
        b.pixels = o->pixels;
        b.depthwise = o->depthwise;
        fusion_count_users(n, b.users);
        s = build_all(&b);
    }
    nn_free(b.nn);
    emu_free(b.users);
    if (s == EMU_OK)
        *out = b.out;
    else
        net_graph_free(b.out);
    return s;
}

void net_graph_free(struct net_graph *ng)
{
    if (!ng)
        return;
    conv_plans_free(&ng->plans);
    emu_free(ng->layer);
    emu_free(ng);
}
