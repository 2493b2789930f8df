/* op_live.c - what lies on the tiles while each group runs. */

#include "models/lower/op_live.h"

enum { HALF_BYTES = 2 };

/* A value's memory; its views have none of their own. */
struct stored {
    uint64_t bytes;
    uint32_t made, last; /* groups; last: that reads it */
};

struct live_walk {
    const struct op_graph *g;
    const struct node_groups *groups;
    const struct lower_options *o;
    uint32_t *where;       /* owned; by value: the value whose memory it is */
    struct stored *stored; /* owned; by that value */
    uint64_t *live;        /* owned; by group */
    uint8_t *kept;         /* owned; by value */
    uint32_t *left;        /* owned; by value: readers to come */
};

int node_group_conv(const struct op_graph *g, const struct node_group *group,
                    const struct lower_options *o, struct dense_layer *layer,
                    struct conv_shape *shape)
{
    struct activation x, other;
    float bias = 0;

    if (!dense_layer_of(g, &g->node[group->node[0]], layer) || layer->linear)
        return 0;
    if (group->real != ELEM_F16 && !op_node_is(&g->node[group->node[0]], OP_Conv))
        return 0;
    x = (struct activation){ .n = layer->n, .c = layer->in_c, .h = layer->h, .w = layer->w };
    other = x;
    layer->conv.act = group->act;
    layer->conv.depthwise = o->depthwise;
    layer->conv.partials = o->partials;
    layer->conv.w = layer->tensors ? &x.t : NULL;
    layer->conv.b = layer->tensors && layer->bias != OP_NONE ? &x.t : NULL;
    layer->conv.bias =
        (layer->bias != OP_NONE && !layer->tensors) || group->bias != OP_NONE ? &bias : NULL;
    layer->conv.add = group->added != OP_NONE ? &other : NULL;
    *shape = ss_conv_layer_shape(&x, &layer->conv);
    shape->blocks = ss_conv_is_first(shape) && !value_is_picture(g, layer->x);
    layer->conv.bias = NULL;
    layer->conv.w = layer->conv.b = NULL;
    layer->conv.add = NULL;
    return 1;
}

/* Bytes of a value on the chip; fields are filled up to whole blocks of channels. real: of floats
 * where it is made. */
static uint64_t value_bytes(const struct live_walk *w, uint32_t value, enum elem real)
{
    const struct op_shape *s = &w->g->value[value].shape;
    uint64_t n = op_shape_count(s);

    if (op_value_constant_kind(&w->g->value[value]))
        return 0;
    if (value_is_picture(w->g, value))
        return n / s->dim[1] * 4 * HALF_BYTES;
    if (s->rank == 4 && s->dim[1] && real == ELEM_F16)
        return n / s->dim[1] * channel_blocks_of(s->dim[1]) * CHANNEL_BLOCK * HALF_BYTES;
    return n * (real == ELEM_F32 ? 4 : HALF_BYTES);
}

uint32_t op_live_nodes(const struct op_graph *g)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < g->nodes; i++)
        count += !op_node_is_view(&g->node[i]);
    return count;
}

static void read_by(struct live_walk *w, uint32_t value, uint32_t group)
{
    if (value == OP_NONE)
        return;
    w->stored[w->where[value]].last = group;
    w->left[value] -= w->left[value] != 0;
}

/* The input whose memory an operation gives its result, since it is read for the last time;
 * OP_NONE: there is none. */
static uint32_t input_in_place(const struct live_walk *w, const struct op_node *n)
{
    int norm = op_node_is(n, OP_GroupNormalization);

    for (uint32_t k = 0; k < n->ins && (norm ? k < 1 : op_node_is(n, OP_Mul)); k++) {
        const struct op_shape *gate = norm ? NULL : &w->g->value[n->in[1 - k]].shape;
        uint32_t v = n->in[k];

        if (!w->left[v] && !w->kept[v] && w->g->value[v].kind == OP_RESULT &&
            (norm || (gate->rank == 4 && op_shape_span(gate, 2, 4) == 1 &&
                      op_shape_equal(&w->g->value[v].shape, &w->g->value[n->out[0]].shape))))
            return v;
    }
    return OP_NONE;
}

static void store_group(struct live_walk *w, uint32_t i)
{
    const struct node_group *group = &w->groups->at[i];
    uint32_t in_place = OP_NONE;

    for (unsigned k = 0; k < group->nodes; k++) {
        const struct op_node *n = &w->g->node[group->node[k]];

        for (uint32_t j = 0; j < n->ins; j++)
            read_by(w, n->in[j], i);
        for (uint32_t j = 0; j < n->outs; j++) {
            uint32_t v = n->out[j];

            if (v == OP_NONE)
                continue;
            if (j == 0 && k == 0)
                in_place = input_in_place(w, n);
            if (op_node_is_view(n) || (j == 0 && in_place != OP_NONE)) {
                w->where[v] = w->where[op_node_is_view(n) ? n->in[0] : in_place];
                continue;
            }
            w->where[v] = v;
            w->stored[v] = (struct stored){ .made = i, .last = i };
            if (k + 1 == group->nodes)
                w->stored[v].bytes = value_bytes(w, v, group->real);
        }
    }
}

static void walk(struct live_walk *w)
{
    lower_mark_kept(w->g, w->groups, w->o, w->kept);
    for (uint32_t v = 0; v < w->g->values; v++) {
        w->where[v] = v;
        w->left[v] = w->g->value[v].readers;
        w->stored[v].bytes = w->g->value[v].kind == OP_INPUT ? value_bytes(w, v, w->o->real) : 0;
    }
    for (uint32_t i = 0; i < w->groups->count; i++)
        store_group(w, i);
    for (uint32_t k = 0; k < w->g->outputs; k++)
        read_by(w, w->g->output[k], w->groups->count);
    for (uint32_t v = 0; v < w->g->values; v++) {
        if (w->kept[v])
            read_by(w, v, w->groups->count);
    }
    for (uint32_t v = 0; v < w->g->values; v++) {
        const struct stored *s = &w->stored[v];

        for (uint32_t i = s->made; s->bytes && i <= s->last && i < w->groups->count; i++)
            w->live[i] += s->bytes;
    }
}

static void collect(const struct live_walk *w, uint32_t tiles, struct conv_request *request,
                    struct conv_demand *d)
{
    uint64_t linear = 0;

    for (uint32_t i = 0; i < w->groups->count; i++) {
        const struct node_group *group = &w->groups->at[i];
        struct conv_request r;
        struct dense_layer layer;

        if (node_group_conv(w->g, group, w->o, &layer, &r.shape)) {
            uint64_t own = value_bytes(w, node_group_result(w->g, group), group->real);

            r.live = conv_plans_on_a_tile(w->live[i] - own, tiles);
            request[d->convs++] = r;
            continue;
        }
        if (dense_layer_of(w->g, &w->g->node[group->node[0]], &layer))
            linear += HALF_BYTES * (uint64_t)layer.in_c * layer.conv.out_c;
        if (conv_plans_on_a_tile(w->live[i], tiles) > d->other_live)
            d->other_live = conv_plans_on_a_tile(w->live[i], tiles);
    }
    d->fixed_bytes = conv_plans_on_a_tile(linear, tiles);
}

enum emu_status op_live_demand(const struct op_graph *g, const struct node_groups *groups,
                               const struct lower_options *o, uint32_t tiles,
                               struct conv_request *request, struct conv_demand *d)
{
    struct live_walk w = { .g = g, .groups = groups, .o = o };
    enum emu_status s = EMU_OK;

    w.where = emu_alloc(g->values + 1, sizeof(*w.where));
    w.stored = emu_alloc(g->values + 1, sizeof(*w.stored));
    w.live = emu_alloc(groups->count + 1, sizeof(*w.live));
    w.kept = emu_alloc(g->values + 1, sizeof(*w.kept));
    w.left = emu_alloc(g->values + 1, sizeof(*w.left));
    if (w.where && w.stored && w.live && w.kept && w.left) {
        walk(&w);
        collect(&w, tiles, request, d);
    } else {
        s = FAIL(NO_MEMORY, "values of %u groups", groups->count);
    }
    ss_free(w.where);
    ss_free(w.stored);
    ss_free(w.live);
    ss_free(w.kept);
    ss_free(w.left);
    return s;
}
