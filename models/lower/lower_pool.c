/* lower_pool.c - pools over windows of fields, and over whole fields. */
#include "models/lower/lowering.h"
#include "models/operators/op_window.h"

static struct activation input_of(struct lowering *l, uint32_t value)
{
    const struct op_shape *s = lower_shape(l, value);

    return lower_field(l, value, 1, s->dim[0], s->rank > 3 ? s->dim[2] : 1,
                       s->rank > 2 ? s->dim[s->rank - 1] : 1);
}

static int read_window(const struct op_graph *g, const struct op_node *n, struct op_window *w)
{
    struct op_call c = op_attrs_of(g, n);
    int ceil_mode = op_knows(&c, "ceil_mode") && op_int(&c, "ceil_mode");

    return op_window_read(&c, &g->value[n->in[0]].shape, NULL, w) == EMU_OK &&
           op_window_forward(&c, ceil_mode, w) == EMU_OK;
}

/* Whether a mean is that of all the field, and of nothing else. */
static int is_of_all(const struct op_window *w, int count_pads)
{
    for (unsigned d = 0; d < w->dims; d++) {
        if (w->out[d] != 1 || w->begin[d] || w->kernel[d] < w->in[d] || w->dilation[d] != 1 ||
            (count_pads && w->kernel[d] > w->in[d]))
            return 0;
    }
    return 1;
}

/* A window of one dimension has one row. */
static struct pool_layer layer_of(const struct op_window *w)
{
    unsigned x = w->dims - 1;
    struct pool_layer l = { .kernel_h = 1, .stride_h = 1, .dilation_h = 1, .out_h = 1 };

    if (w->dims == 2) {
        l.kernel_h = (uint32_t)w->kernel[0];
        l.stride_h = (uint32_t)w->stride[0];
        l.dilation_h = (uint32_t)w->dilation[0];
        l.pad_top = (uint32_t)w->begin[0];
        l.pad_bottom = (uint32_t)w->end[0];
        l.out_h = (uint32_t)w->out[0];
    }
    l.kernel_w = (uint32_t)w->kernel[x];
    l.stride_w = (uint32_t)w->stride[x];
    l.dilation_w = (uint32_t)w->dilation[x];
    l.pad_left = (uint32_t)w->begin[x];
    l.pad_right = (uint32_t)w->end[x];
    l.out_w = (uint32_t)w->out[x];
    return l;
}

static struct activation over_windows(struct lowering *l, const struct op_node *n,
                                      struct activation x, const struct op_window *w)
{
    struct op_call c = lower_call(l, n);
    struct pool_layer layer = layer_of(w);

    if (op_node_is(n, OP_AveragePool)) {
        layer.function = POOL_MEAN;
        layer.count_pads = (int)op_int(&c, "count_include_pad");
        if (is_of_all(w, layer.count_pads))
            return ss_op_global_pool(l->nn, x, n->name);
    }
    return ss_op_pool(l->nn, x, &layer, n->name);
}

/* ---- gradients ---- */

/* Memory for a field of that shape, spread over all tiles; only its size and its places are used.
 */
static struct activation places_of(struct lowering *l, const struct op_shape *s)
{
    struct activation x = {
        .n = s->dim[0], .c = s->dim[1], .h = s->rank > 3 ? s->dim[2] : 1, .w = s->dim[s->rank - 1]
    };

    x.t = ss_graph_variable(
        l->g, ELEM_F16, 5,
        (const uint32_t[]){ channel_blocks_of(x.c), x.n, x.h, x.w, CHANNEL_BLOCK }, "places");
    ss_graph_map_linear(l->g, x.t, CHANNEL_BLOCK, 4 * CHANNEL_BLOCK, 0,
                        ss_graph_compute_tiles(l->g));
    return x;
}

struct activation lower_spread_field(struct lowering *l, struct activation x,
                                     const struct op_shape *to, const char *name)
{
    struct activation ones = places_of(l, to);

    ss_op_fill(l->g, l->seq, ones.t, 1, name);
    return ss_op_channel_scale(l->nn, ones, x, name);
}

static int is_gradient(const struct op_node *n)
{
    return op_node_is(n, OP_MaxPoolGradient) || op_node_is(n, OP_AveragePoolGradient);
}

/* The window of the pool that a gradient belongs to, on its input. */
static int read_gradient_window(const struct op_graph *g, const struct op_node *n,
                                struct op_window *w)
{
    struct op_call c = op_attrs_of(g, n);

    return op_window_read(&c, &g->value[n->out[0]].shape, NULL, w) == EMU_OK &&
           op_window_forward(&c, op_int(&c, "ceil_mode") != 0, w) == EMU_OK;
}

/* A maximum is computed again: it takes less memory than keeping it. */
static enum emu_status pool_gradient(struct lowering *l, const struct op_node *n)
{
    int is_mean = op_node_is(n, OP_AveragePoolGradient);
    struct op_call c = lower_call(l, n);
    struct activation x, y, dy = input_of(l, n->in[!is_mean]);
    struct pool_layer layer;
    struct op_window w;

    if (!read_gradient_window(l->og, n, &w))
        return EMU_BAD_FILE;
    layer = layer_of(&w);
    if (is_mean) {
        layer.function = POOL_MEAN;
        layer.count_pads = (int)op_int(&c, "count_include_pad");
        x = places_of(l, lower_shape(l, n->out[0]));
        y = dy;
    } else {
        x = input_of(l, n->in[0]);
        y = ss_op_pool(l->nn, x, &layer, n->name);
    }
    lower_set_field(l, n->out[0], ss_op_pool_gradient(l->nn, x, y, dy, &layer, n->name), 1);
    return EMU_OK;
}

/* ---- the family ---- */

enum emu_status lower_pool(struct lowering *l, const struct node_group *group,
                           const struct op_node *n)
{
    const struct op_shape *s = lower_shape(l, n->in[0]);
    struct activation x, y;
    struct op_window w;

    (void)group;
    if (is_gradient(n))
        return pool_gradient(l, n);
    if (op_node_is(n, OP_GlobalMaxPool)) {
        uint32_t rows = s->dim[0] * s->dim[1];
        struct tensor t =
            ss_tensor_reshape(l->g, lower_view(l, n->in[0]), 2,
                              (const uint32_t[]){ rows, (uint32_t)op_shape_span(s, 2, s->rank) });

        lower_set_view(l, n->out[0],
                       ss_op_row_reduce(l->g, l->seq, ROW_OP_MAX, t, l->real, n->name));
        return EMU_OK;
    }
    x = input_of(l, n->in[0]);
    if (op_node_is(n, OP_GlobalAveragePool))
        y = ss_op_global_pool(l->nn, x, n->name);
    else if (!read_window(l->og, n, &w))
        return EMU_BAD_FILE;
    else
        y = over_windows(l, n, x, &w);
    if (y.t.view == x.t.view)
        lower_set_alias(l, n->out[0], n->in[0], lower_view(l, n->in[0]));
    else
        lower_set_field(l, n->out[0], y, 1);
    return EMU_OK;
}

const char *pool_obstacle(const struct op_graph *g, const struct op_node *n)
{
    static const enum op_code built[] = { OP_GlobalAveragePool, OP_GlobalMaxPool, OP_MaxPool,
                                          OP_AveragePool };
    const struct op_shape *s = &g->value[n->in[0]].shape;
    struct op_window w;
    int found = is_gradient(n);

    for (unsigned k = 0; k < EMU_COUNT_OF(built); k++)
        found |= op_node_is(n, built[k]);
    if (!found)
        return "this kind of pool is not lowered yet";
    if (op_type_kind(s->type) != OP_KIND_FLOAT)
        return "integers: tiles compute with floats, so cast them before";
    if (op_node_is(n, OP_GlobalMaxPool))
        return NULL;
    if (s->rank > 4 || s->rank < 3)
        return "more than two dimensions behind the channels: --precision f32 runs it";
    if (op_node_is(n, OP_GlobalAveragePool))
        return NULL;
    if (!(is_gradient(n) ? read_gradient_window : read_window)(g, n, &w))
        return "its windows";
    for (unsigned d = 0; d < w.dims; d++) {
        if (w.begin[d] < 0 || w.end[d] < 0)
            return "negative pads";
    }
    return NULL;
}
