/* net_graph.c - walks the layers of a network and adds their operations to a graph. */
#include "models/build/net_graph.h"

#include <string.h>

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
};

static const struct layer *layer_at(const struct builder *b, uint32_t i)
{
    return &b->net->layer[i];
}

static struct feature result_of(const struct builder *b, uint32_t layer)
{
    return b->out->layer[b->out->layer[layer].into].result;
}

/* What a layer may work on in place: the result of another or, where the host shall read that after
 * the run, a copy. */
static struct feature result_to_change(struct builder *b, uint32_t layer, const char *name)
{
    struct feature x = result_of(b, layer), y = x;

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

static void set_result(struct builder *b, uint32_t layer, uint32_t last, struct feature f)
{
    for (uint32_t i = layer; i <= last; i++)
        b->out->layer[i].into = layer;
    b->out->layer[layer].result = f;
    b->out->layer[layer].has_result = 1;
}

/* Whether layer i + 1 takes layer i, and nobody else does. */
static int follows(const struct builder *b, uint32_t i, enum layer_op op)
{
    const struct layer *next = i + 1 < b->net->layers ? layer_at(b, i + 1) : NULL;

    return next && next->op == op && b->users[i] == 1 &&
           (next->input[0] == i || next->input[1] == i);
}

static enum activation activation_of(enum layer_op op)
{
    return op == LAYER_SWISH ? ACT_SWISH : op == LAYER_RELU ? ACT_RELU : ACT_SIGMOID;
}

static enum emu_status build_error(const struct layer *l, const char *what)
{
    return FAIL(USAGE, "layer %s (%s): %s", l->name, layer_op_name(l->op), what);
}

/* ---- convolutions ---- */

/* What a convolution takes along. */
struct fused {
    uint32_t last;         /* layer */
    float *weights, *bias; /* owned */
    struct feature add;
    int adds;
};

static enum emu_status fold(struct builder *b, uint32_t i, uint32_t norm, struct fused *f)
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
    if (norm != LAYER_NONE)
        weights_fold(b->weights, b->net, norm, scale, shift);
    for (uint64_t k = 0; k < w->elements; k++)
        f->weights[k] = w->data[k] * scale[k / each];
    for (uint32_t c = 0; c < l->out_c; c++)
        f->bias[c] = (bias ? bias->data[c] * scale[c] : 0) + shift[c];
    emu_free(scale);
    return EMU_OK;
}

/* Folded norm, residual and activation behind convolution i, as far as they are there. */
static enum emu_status fuse(struct builder *b, uint32_t i, struct conv_layer *c, struct fused *f)
{
    uint32_t at = i, norm = LAYER_NONE;

    memset(f, 0, sizeof(*f));
    if (follows(b, at, LAYER_NORM) && layer_at(b, at + 1)->norm == NORM_BATCH)
        norm = ++at;
    if (follows(b, at, LAYER_ADD) && (norm != LAYER_NONE || !follows(b, at, LAYER_NORM))) {
        const struct layer *add = layer_at(b, at + 1);
        uint32_t other = add->input[0] == at ? add->input[1] : add->input[0];

        f->add = result_of(b, other);
        f->adds = 1;
        c->add = &f->add;
        at++;
    }
    if (follows(b, at, LAYER_SWISH) || follows(b, at, LAYER_RELU))
        c->act = activation_of(layer_at(b, ++at)->op);
    f->last = at;
    return fold(b, i, norm, f);
}

static enum emu_status build_conv(struct builder *b, uint32_t i, uint32_t *last)
{
    const struct layer *l = layer_at(b, i);
    struct conv_layer c = { .out_c = l->out_c,
                            .kernel = l->kernel,
                            .stride = l->stride,
                            .groups = l->groups,
                            .pad_top = l->pad.before_h,
                            .pad_bottom = l->pad.after_h,
                            .pad_left = l->pad.before_w,
                            .pad_right = l->pad.after_w };
    struct fused f;
    enum emu_status s = fuse(b, i, &c, &f);

    if (s == EMU_OK) {
        c.weights = f.weights;
        c.bias = f.bias;
        set_result(b, i, f.last,
                   op_conv(b->nn, result_of(b, l->input[0]), &c, &b->out->layer[i].plan, l->name));
        *last = f.last;
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
    enum activation act = ACT_NONE;

    if (!w)
        return build_error(l, "it has no weights");
    if (follows(b, i, LAYER_SWISH) || follows(b, i, LAYER_RELU) || follows(b, i, LAYER_SIGMOID))
        act = activation_of(layer_at(b, ++*last)->op);
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
    enum activation act = ACT_NONE;

    if (l->norm != NORM_GROUP)
        return build_error(l, "a batch norm that follows no convolution");
    if (follows(b, i, LAYER_SWISH) || follows(b, i, LAYER_RELU))
        act = activation_of(layer_at(b, ++*last)->op);
    set_result(b, i, *last,
               op_group_norm(b->nn, result_to_change(b, l->input[0], l->name), l->norm_groups,
                             (float)l->eps, gamma->data, beta->data, act, l->name));
    return graph_status(b->g);
}

static enum emu_status build_layer(struct builder *b, uint32_t i, uint32_t *last)
{
    const struct layer *l = layer_at(b, i);
    struct net_graph *ng = b->out;

    switch (l->op) {
    case LAYER_INPUT:
        ng->picture = op_picture(b->nn, b->net->batch, l->out_h, l->out_w, "picture");
        set_result(b, i, i, ng->picture);
        return graph_status(b->g);
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
                   op_feature_add(b->nn, result_to_change(b, l->input[0], l->name),
                                  result_of(b, l->input[1]), ACT_NONE, l->name));
        return graph_status(b->g);
    case LAYER_SOFTMAX:
        ng->scores = op_scores(b->nn, result_of(b, l->input[0]), l->name);
        graph_keep(b->g, ng->scores);
        ng->layer[i].into = i;
        return graph_status(b->g);
    default:
        return build_error(l, "an activation that follows nothing it could be fused with");
    }
}

/* Whether somebody wants to see the result of layers first .. last after the run. */
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
        TRY(build_layer(b, i, &last));
        b->out->layer[i].kept = is_kept(b, i, last);
        if (b->out->layer[i].kept && b->out->layer[i].has_result)
            graph_keep(b->g, b->out->layer[i].result.t);
    }
    graph_set_program(b->g, b->seq);
    return graph_status(b->g);
}

static void count_users(struct builder *b)
{
    for (uint32_t i = 0; i < b->net->layers; i++) {
        for (int k = 0; k < 2; k++) {
            if (layer_at(b, i)->input[k] != LAYER_NONE)
                b->users[layer_at(b, i)->input[k]]++;
        }
    }
}

/* ---- memory for parameters ---- */

/* Parameters of all convolutions on a tile, when their memory has a price. */
static enum emu_status weight_bytes(const struct builder *b, uint32_t kib_price, uint64_t memory,
                                    uint64_t *bytes)
{
    const struct arch *a = graph_arch(b->g);

    *bytes = 0;
    for (uint32_t i = 0; i < b->net->layers; i++) {
        const struct layer *l = layer_at(b, i);
        struct conv_shape s = { .n = b->net->batch,
                                .in_c = l->in_c,
                                .in_h = l->in_h,
                                .in_w = l->in_w,
                                .out_c = l->out_c,
                                .out_h = l->out_h,
                                .out_w = l->out_w,
                                .kernel = l->kernel,
                                .stride = l->stride,
                                .groups = l->groups,
                                .kib_price = kib_price };
        struct conv_plan p;

        if (l->op != LAYER_CONV)
            continue;
        TRY(plan_conv(a, &s, 0, a->tiles, memory ? memory : UINT64_MAX, &p));
        *bytes += p.weight_bytes;
    }
    return EMU_OK;
}

/* They stay on the tiles all the time: at most this part of their memory, if a price up to the
 * highest can bring that about. The rest is code, activations, and gaps. */
enum { WEIGHTS_NUMERATOR = 3, WEIGHTS_DENOMINATOR = 5 };
enum { PRICE_FIRST = 50, PRICE_LAST = 800 }; /* cycles per KiB, doubled */

static enum emu_status choose_price(const struct builder *b, uint64_t memory, uint32_t *kib_price)
{
    uint64_t most = graph_arch(b->g)->mem_bytes / WEIGHTS_DENOMINATOR * WEIGHTS_NUMERATOR, bytes;

    for (*kib_price = 0;; *kib_price = *kib_price ? 2 * *kib_price : PRICE_FIRST) {
        TRY(weight_bytes(b, *kib_price, memory, &bytes));
        if (bytes <= most || *kib_price >= PRICE_LAST)
            return EMU_OK;
    }
}

enum emu_status net_graph_build(struct graph *g, const struct net *n, const struct weights *w,
                                const struct net_graph_options *o, struct net_graph **out)
{
    struct builder b = { .g = g, .net = n, .weights = w, .seq = program_sequence(g) };
    uint64_t memory = (uint64_t)(o->memory_proportion * graph_arch(g)->mem_bytes);
    enum emu_status s = EMU_OK;
    uint32_t kib_price;

    *out = NULL;
    b.out = emu_alloc(1, sizeof(*b.out));
    b.users = emu_alloc(n->layers + 1, sizeof(*b.users));
    if (b.out)
        b.out->layer = emu_alloc(n->layers + 1, sizeof(*b.out->layer));
    if (!b.out || !b.users || !b.out->layer)
        s = FAIL(NO_MEMORY, "a network of %u layers", n->layers);
    if (s == EMU_OK)
        s = nn_new(g, b.seq, memory, &b.nn);
    if (s == EMU_OK)
        s = choose_price(&b, memory, &kib_price);
    if (s == EMU_OK) {
        nn_set_price(b.nn, kib_price);
        b.out->net = n;
        b.keep_begin = o->keep_begin;
        b.keep_end = o->keep_end;
        count_users(&b);
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
    emu_free(ng->layer);
    emu_free(ng);
}
