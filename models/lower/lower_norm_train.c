/* lower_norm_train.c - norms whose statistics come from the data and whose parameters are tensors,
 * and their gradients. Batch and group norms of fields in f16 are layers of the library; others,
 * layer norms, norms in f32, and batch norms with given statistics, are formulas in f32.
 *
 * Batch, group and layer norm are one. The data is worked on in the shape it has, a field or a
 * matrix; for sums it is seen as a matrix, whose columns are channels (batch norm), channels of
 * each item (group norm) or elements of a row (layer norm). Statistics are one number for each
 * column, of layer norm one for each row.
 */
#include "models/lower/arithmetic.h"

enum norm_sharing { NORM_BATCH, NORM_GROUP, NORM_LAYER };

struct norm {
    struct formula f;
    const struct op_node *n;
    enum norm_sharing kind;
    struct op_shape shape;
    uint32_t items, channels, positions; /* [items][channels][positions]; of layer norm, rows */
    uint32_t padded;                     /* channels with those that fill up a field's blocks */
    uint32_t groups;
    int strided;  /* 1: group k has channels k, k + groups, .. */
    int field;    /* 1: the data is a field */
    int is_given; /* 1: the statistics are inputs 3 and 4 (a batch norm that does not train) */
    double epsilon;
};

static int is_named(const struct op_node *n, enum op_code norm, enum op_code gradient)
{
    return op_node_is(n, norm) || op_node_is(n, gradient);
}

static struct norm norm_of(struct lowering *l, const struct op_node *n)
{
    struct op_call c = lower_call(l, n);
    struct norm m = { .f = { l, n->name }, .n = n, .shape = *lower_shape(l, n->in[0]) };
    unsigned axis = 1;

    m.epsilon = op_float(&c, "epsilon");
    m.is_given = op_node_is(n, OP_BatchNormalization) && !op_int(&c, "training_mode");
    if (is_named(n, OP_GroupNormalization, OP_GroupNormalizationGradient)) {
        m.kind = NORM_GROUP;
        m.groups = (uint32_t)op_int(&c, "num_groups");
        m.strided = op_int(&c, "strided") != 0;
    } else if (is_named(n, OP_LayerNormalization, OP_LayerNormalizationGradient)) {
        m.kind = NORM_LAYER;
        axis = lower_axis(l, n);
    }
    m.items = (uint32_t)op_shape_span(&m.shape, 0, axis);
    m.channels = m.kind == NORM_LAYER ? (uint32_t)op_shape_span(&m.shape, axis, m.shape.rank)
                                      : m.shape.dim[1];
    m.positions = m.kind == NORM_LAYER ? 1 : (uint32_t)op_shape_span(&m.shape, 2, m.shape.rank);
    m.field = m.kind != NORM_LAYER && l->real == ELEM_F16 && lower_has_field(l, n->in[0], 1);
    m.padded = m.field ? channel_blocks_of(m.channels) * CHANNEL_BLOCK : m.channels;
    return m;
}

/* ---- shapes ---- */

/* [items][channels][positions] with positions first, as a matrix. */
static struct tensor positions_first(const struct norm *m, struct tensor t)
{
    struct graph *g = m->f.l->g;

    t = ss_tensor_reshape(g, t, 3, (const uint32_t[]){ m->items, m->channels, m->positions });
    t = ss_tensor_transpose(g, t, (const unsigned[]){ 2, 0, 1 });
    return ss_tensor_reshape(g, t, 2, (const uint32_t[]){ m->positions, m->items * m->channels });
}

/* A value of the data's shape, as it is worked on; f32. */
static struct tensor data_of(const struct norm *m, uint32_t value)
{
    struct lowering *l = m->f.l;
    struct activation *x = &l->at[m->n->in[0]].field;
    struct tensor t;

    if (m->field)
        return fn_wide(&m->f, lower_field(l, value, 1, x->n, x->h, x->w).t);
    t = lower_view(l, value);
    if (m->kind == NORM_BATCH)
        t = lower_rows(l, t, 1);
    else if (m->kind == NORM_GROUP)
        t = positions_first(m, t);
    else
        t = ss_tensor_reshape(l->g, t, 2, (const uint32_t[]){ m->items, m->channels });
    return fn_wide(&m->f, t);
}

/* Sets a result of the data's shape. */
static void set_data(const struct norm *m, uint32_t value, struct tensor t)
{
    struct lowering *l = m->f.l;
    struct activation y = l->at[m->n->in[0]].field;

    if (l->real != ELEM_F32)
        t = ss_op_cast(l->g, l->seq, t, l->real, m->f.name);
    if (m->field) {
        y.t = t;
        lower_set_field(l, value, y, 1);
        return;
    }
    if (m->kind == NORM_BATCH)
        t = lower_from_rows(l, t, &m->shape, 1);
    if (m->kind == NORM_GROUP) {
        t = ss_tensor_reshape(l->g, t, 3,
                              (const uint32_t[]){ m->positions, m->items, m->channels });
        t = ss_tensor_transpose(l->g, t, (const unsigned[]){ 1, 2, 0 });
    }
    lower_set_view(l, value, t);
}

/* The data as a matrix for sums along its columns. */
static struct tensor matrix(const struct norm *m, struct tensor t)
{
    struct activation f = m->f.l->at[m->n->in[0]].field;

    f.t = t;
    return m->field ? lower_field_columns(m->f.l, &f, m->kind == NORM_GROUP) : t;
}

/* Data and a list with a number for each column. */
static struct tensor with_columns(const struct norm *m, enum binary_op op, struct tensor data,
                                  struct tensor list)
{
    struct graph *g = m->f.l->g;
    uint32_t columns = (uint32_t)ss_tensor_elements(g, list);

    if (m->field)
        return ss_op_binary_channels(g, m->f.l->seq, op, data, list, m->f.name);
    list = ss_tensor_reshape(g, list, 2, (const uint32_t[]){ 1, columns });
    return fn_two(&m->f, op, data, ss_tensor_broadcast(g, list, 0, ss_tensor_shape(g, data)[0]));
}

/* Data and a statistic. */
static struct tensor with_lanes(const struct norm *m, enum binary_op op, struct tensor data,
                                struct tensor list)
{
    struct graph *g = m->f.l->g;

    if (m->kind != NORM_LAYER)
        return with_columns(m, op, data, list);
    list = ss_tensor_reshape(g, list, 2, (const uint32_t[]){ m->items, 1 });
    return fn_two(&m->f, op, data, ss_tensor_broadcast(g, list, 1, m->channels));
}

/* [..][channels] with zeros behind, up to whole blocks. */
static struct tensor filled_up(const struct norm *m, struct tensor t)
{
    struct lowering *l = m->f.l;
    const struct op_shape rest = {
        .rank = 2, .dim = { ss_tensor_shape(l->g, t)[0], m->padded - m->channels }
    };
    struct tensor part[] = { t, t };

    if (!rest.dim[1])
        return t;
    part[1] = lower_filled(l, ELEM_F32, &rest, 0);
    return ss_tensor_concat(l->g, part, 2, 1);
}

/* ---- sums ---- */

static struct tensor column_sums(const struct norm *m, struct tensor data)
{
    return ss_op_reduce(m->f.l->g, m->f.l->seq, REDUCE_SUM, matrix(m, data), ELEM_F32, m->f.name);
}

/* Sums of the columns of a group, in each of its columns. */
static struct tensor group_sums(const struct norm *m, struct tensor sums)
{
    static const unsigned swap[] = { 0, 2, 1 };
    struct graph *g = m->f.l->g;
    uint32_t in_group = m->channels / m->groups, lanes = m->items * m->groups;

    sums = ss_tensor_reshape(g, sums, 2, (const uint32_t[]){ m->items, m->padded });
    sums = ss_tensor_slice(g, sums, 1, 0, m->channels);
    if (m->strided) {
        sums = ss_tensor_reshape(g, sums, 3, (const uint32_t[]){ m->items, in_group, m->groups });
        sums = ss_tensor_transpose(g, sums, swap);
    }
    sums = ss_tensor_reshape(g, sums, 2, (const uint32_t[]){ lanes, in_group });
    sums = ss_op_row_reduce(g, m->f.l->seq, ROW_OP_SUM, sums, ELEM_F32, m->f.name);
    sums = ss_tensor_reshape(g, sums, 2, (const uint32_t[]){ lanes, 1 });
    sums = ss_tensor_broadcast(g, sums, 1, in_group);
    if (m->strided) {
        sums = ss_tensor_reshape(g, sums, 3, (const uint32_t[]){ m->items, m->groups, in_group });
        sums = ss_tensor_transpose(g, sums, swap);
    }
    sums = ss_tensor_reshape(g, sums, 2, (const uint32_t[]){ m->items, m->channels });
    return ss_tensor_flatten(g, filled_up(m, sums));
}

/* The mean over all numbers that share statistics. */
static struct tensor lane_mean(const struct norm *m, struct tensor data)
{
    uint64_t n = (uint64_t)m->items * m->positions;
    struct tensor sums;

    if (m->kind == NORM_LAYER)
        return ss_op_row_reduce(m->f.l->g, m->f.l->seq, ROW_OP_MEAN, data, ELEM_F32, m->f.name);
    sums = column_sums(m, data);
    if (m->kind == NORM_GROUP) {
        sums = group_sums(m, sums);
        n = (uint64_t)m->positions * (m->channels / m->groups);
    }
    return fn_by(&m->f, BINARY_MUL, sums, 1.0 / (double)n);
}

static int is_wanted(const struct norm *m, unsigned k)
{
    return result_is_read(m->f.l->og, m->n, k);
}

/* A gradient of scale or shift from those of all columns. */
static void set_columns(const struct norm *m, unsigned k, struct tensor sums)
{
    struct lowering *l = m->f.l;

    if (!is_wanted(m, k))
        return;
    if (m->kind == NORM_GROUP)
        sums = ss_op_reduce(
            l->g, l->seq, REDUCE_SUM,
            ss_tensor_reshape(l->g, sums, 2, (const uint32_t[]){ m->items, m->padded }), ELEM_F32,
            m->f.name);
    lower_set_view(l, m->n->out[k], ss_tensor_slice(l->g, sums, 0, 0, m->channels));
}

/* A gradient of scale or shift: the sum of the data over all but channels. */
static void set_channels(const struct norm *m, unsigned k, struct tensor data)
{
    if (is_wanted(m, k))
        set_columns(m, k, column_sums(m, data));
}

/* A parameter, in f32, for each column. */
static struct tensor columns_of(const struct norm *m, uint32_t value)
{
    struct lowering *l = m->f.l;
    struct tensor t = fn_wide(&m->f, lower_state_numbers(l, value));

    t = filled_up(m, ss_tensor_reshape(l->g, t, 2, (const uint32_t[]){ 1, m->channels }));
    if (m->kind == NORM_GROUP && m->items > 1)
        t = ss_tensor_broadcast(l->g, t, 0, m->items);
    return ss_tensor_flatten(l->g, t);
}

/* ---- forward ---- */

/* Deviations from the mean, normed; the statistics: mean, variance, and 1 over the deviation. */
struct normed {
    struct tensor h, mean, variance, scale;
};

static struct normed normed_of(const struct norm *m, struct tensor x)
{
    struct normed r = { .mean = m->is_given ? columns_of(m, m->n->in[3]) : lane_mean(m, x) };

    x = with_lanes(m, BINARY_SUB, x, r.mean);
    r.variance =
        m->is_given ? columns_of(m, m->n->in[4]) : lane_mean(m, fn_two(&m->f, BINARY_MUL, x, x));
    r.scale = fn(&m->f, UNARY_RSQRT, fn_by(&m->f, BINARY_ADD, r.variance, m->epsilon));
    r.h = with_lanes(m, BINARY_MUL, x, r.scale);
    return r;
}

/* A running statistic moved towards that of the batch. */
static void set_running(const struct norm *m, unsigned k, struct tensor now)
{
    struct lowering *l = m->f.l;
    struct op_call c = lower_call(l, m->n);
    double momentum = op_float(&c, "momentum");
    struct tensor before = fn_wide(&m->f, lower_state_numbers(l, m->n->in[2 + k]));

    if (k >= m->n->outs || m->n->out[k] == OP_NONE)
        return;
    now = ss_tensor_slice(l->g, now, 0, 0, m->channels);
    lower_set_view(l, m->n->out[k],
                   fn_two(&m->f, BINARY_ADD, fn_by(&m->f, BINARY_MUL, before, momentum),
                          fn_by(&m->f, BINARY_MUL, now, 1 - momentum)));
}

/* ---- layers ---- */

static int is_layer(const struct norm *m)
{
    return m->field && !m->is_given && m->f.l->real == ELEM_F16;
}

/* A number for each way to share statistics, from 1 on. */
static uint32_t sharing(const struct norm *m)
{
    return 1 + 2 * m->groups + (uint32_t)m->strided;
}

static struct norm_layer layer_of(const struct norm *m, uint32_t shift)
{
    struct norm_layer r = { .groups = m->groups, .strided = m->strided, .eps = (float)m->epsilon };

    r.gamma = columns_of(m, m->n->in[1]);
    r.beta = shift == OP_NONE ? r.gamma : columns_of(m, shift);
    return r;
}

static enum emu_status layer_forward(const struct norm *m, const struct node_group *group)
{
    struct lowering *l = m->f.l;
    struct op_call c = lower_call(l, m->n);
    const struct norm_layer layer = layer_of(m, m->n->in[2]);
    struct norm_running running = { .rate = 1 };
    struct placed *x = &l->at[m->n->in[0]];
    int moves = m->kind == NORM_BATCH && m->n->outs > 2;

    if (moves) {
        running.mean = columns_of(m, m->n->in[3]);
        running.variance = columns_of(m, m->n->in[4]);
        running.rate = (float)(1 - op_float(&c, "momentum"));
    }
    lower_set_field(
        l, node_group_result(l->og, group),
        ss_op_norm_train(l->nn, lower_field(l, m->n->in[0], 1, x->field.n, x->field.h, x->field.w),
                         &layer, group->act, moves ? &running : NULL, &x->statistics, m->f.name),
        1);
    x->normed_by = sharing(m);
    if (moves) {
        lower_set_view(l, m->n->out[1], ss_tensor_slice(l->g, running.mean, 0, 0, m->channels));
        lower_set_view(l, m->n->out[2], ss_tensor_slice(l->g, running.variance, 0, 0, m->channels));
    }
    return ss_graph_status(l->g);
}

enum emu_status lower_norm_train(struct lowering *l, const struct node_group *group,
                                 const struct op_node *n)
{
    const struct norm m = norm_of(l, n);
    struct normed r;
    struct tensor x, y;

    if (is_layer(&m))
        return layer_forward(&m, group);
    x = data_of(&m, n->in[0]);
    r = normed_of(&m, x);
    y = with_columns(&m, BINARY_MUL, r.h, columns_of(&m, n->in[1]));
    if (n->ins > 2 && n->in[2] != OP_NONE)
        y = with_columns(&m, BINARY_ADD, y, columns_of(&m, n->in[2]));
    if (group->act != ACT_NONE)
        y = fn(&m.f, group->act == ACT_RELU ? UNARY_RELU : UNARY_SWISH, y);
    set_data(&m, node_group_result(l->og, group), y);
    if (m.is_given)
        return EMU_OK;
    if (m.kind == NORM_BATCH) {
        set_running(&m, 1, r.mean);
        set_running(&m, 2, r.variance);
    } else if (n->outs > 1) {
        lower_set_view(l, n->out[1], r.mean);
        lower_set_view(l, n->outs > 2 ? n->out[2] : OP_NONE, r.scale);
    }
    return EMU_OK;
}

/* ---- backward ---- */

static enum emu_status layer_backward(const struct norm *m)
{
    struct lowering *l = m->f.l;
    const struct norm_layer layer = layer_of(m, OP_NONE);
    const struct placed *x = &l->at[m->n->in[0]];
    const struct activation *f = &x->field;
    struct norm_gradients r =
        ss_op_norm_gradient(l->nn, *f, lower_field(l, m->n->in[2], 1, f->n, f->h, f->w), &layer,
                            lower_statistics(l, m->n->in[0]), m->f.name);

    TRY(ss_graph_status(l->g));
    lower_set_field(l, m->n->out[0], r.x, 1);
    set_columns(m, 1, r.gamma);
    set_columns(m, 2, r.beta);
    return ss_graph_status(l->g);
}

/* With h the normed data and g = dy scale: dx = r (g - mean(g) - h mean(g h)). */
enum emu_status lower_norm_back(struct lowering *l, const struct node_group *group,
                                const struct op_node *n)
{
    const struct norm m = norm_of(l, n);
    struct tensor x, dy, g, t;
    struct normed r;

    (void)group;
    if (is_layer(&m) && l->at[n->in[0]].normed_by == sharing(&m))
        return layer_backward(&m);
    x = data_of(&m, n->in[0]);
    dy = data_of(&m, n->in[2]);
    r = normed_of(&m, x);
    set_channels(&m, 1, fn_two(&m.f, BINARY_MUL, dy, r.h));
    set_channels(&m, 2, dy);
    g = with_columns(&m, BINARY_MUL, dy, columns_of(&m, n->in[1]));
    t = lane_mean(&m, fn_two(&m.f, BINARY_MUL, g, r.h));
    t = with_lanes(&m, BINARY_MUL, r.h, t);
    t = fn_two(&m.f, BINARY_SUB, with_lanes(&m, BINARY_SUB, g, lane_mean(&m, g)), t);
    set_data(&m, n->out[0], with_lanes(&m, BINARY_MUL, t, r.scale));
    return EMU_OK;
}

/* ---- which norms ---- */

int norm_trains(const struct op_graph *g, const struct op_node *n)
{
    struct op_call c = op_attrs_of(g, n);

    if (op_node_is(n, OP_BatchNormalization) && op_int(&c, "training_mode"))
        return 1;
    if (!op_node_is(n, OP_BatchNormalization) && !op_node_is(n, OP_GroupNormalization) &&
        !op_node_is(n, OP_LayerNormalization))
        return 0;
    for (uint32_t k = 1; k < n->ins; k++) {
        if (n->in[k] != OP_NONE && !op_value_constant_kind(&g->value[n->in[k]]))
            return 1;
    }
    return 0;
}
