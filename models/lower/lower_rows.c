/* lower_rows.c - what depends on all numbers along some axes: reductions, softmax, norms. The axes
 * become the last one by a view. */
#include <math.h>
#include <string.h>

#include "models/lower/arithmetic.h"

/* ---- reductions ---- */

/* The axes in the set moved behind the others, as two dimensions. */
static struct tensor rows_over(struct lowering *l, struct tensor t, uint32_t set)
{
    unsigned rank = ss_tensor_rank(l->g, t), order[OP_RANK_MAX], n = 0;
    uint32_t rows = 1, length = 1;

    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned d = 0; d < rank; d++) {
            if ((set >> d & 1) != pass)
                continue;
            order[n++] = d;
            *(pass ? &length : &rows) *= ss_tensor_shape(l->g, t)[d];
        }
    }
    if (rank > 1)
        t = ss_tensor_transpose(l->g, t, order);
    return ss_tensor_reshape(l->g, t, 2, (const uint32_t[]){ rows, length });
}

static struct tensor row_sum(const struct formula *f, enum row_op op, struct tensor t)
{
    return ss_op_row_reduce(f->l->g, f->l->seq, op, t, f->l->real, f->name);
}

/* A function of a sum. The sum may be beyond f16 although the result is not, so everything up to
 * the result is f32. */
static struct tensor of_wide_sum(const struct formula *f, enum row_op op, enum unary_op function,
                                 struct tensor t)
{
    t = ss_op_row_reduce(f->l->g, f->l->seq, op, t, ELEM_F32, f->name);
    t = fn(f, function, t);
    return f->l->real == ELEM_F32 ? t : ss_op_cast(f->l->g, f->l->seq, t, f->l->real, f->name);
}

/* m + log(sum e^(x - m)) with m the largest of the row. */
static struct tensor log_sum_exp(const struct formula *f, struct tensor t)
{
    uint32_t r = ss_tensor_shape(f->l->g, t)[0], n = ss_tensor_shape(f->l->g, t)[1];
    struct tensor most = row_sum(f, ROW_OP_MAX, t);
    struct tensor column = ss_tensor_reshape(f->l->g, most, 2, (const uint32_t[]){ r, 1 });
    struct tensor y = fn_two(f, BINARY_SUB, t, ss_tensor_broadcast(f->l->g, column, 1, n));

    y = fn(f, UNARY_LOG, row_sum(f, ROW_OP_SUM, fn(f, UNARY_EXP, y)));
    return fn_two(f, BINARY_ADD, y, most);
}

static const struct reduce_row {
    enum op_code code;
    enum row_op op;
} reductions[] = {
    { OP_ReduceL1, ROW_OP_SUM },     { OP_ReduceL2, ROW_OP_SUMSQ },
    { OP_ReduceLogSum, ROW_OP_SUM }, { OP_ReduceLogSumExp, ROW_OP_SUM },
    { OP_ReduceMax, ROW_OP_MAX },    { OP_ReduceMean, ROW_OP_MEAN },
    { OP_ReduceMin, ROW_OP_MIN },    { OP_ReduceProd, ROW_OP_PROD },
    { OP_ReduceSum, ROW_OP_SUM },    { OP_ReduceSumSquare, ROW_OP_SUMSQ },
};

static const struct reduce_row *reduction_of(const struct op_node *n)
{
    for (unsigned k = 0; k < EMU_COUNT_OF(reductions); k++) {
        if (op_node_is(n, reductions[k].code))
            return &reductions[k];
    }
    return NULL;
}

/* The sum of each channel of each item, a field. */
static struct activation channel_sums(const struct formula *f, const struct activation *x)
{
    struct graph *g = f->l->g;
    uint32_t blocks = channel_blocks_of(x->c);
    const uint32_t items[] = { x->n, blocks, CHANNEL_BLOCK };
    const uint32_t field[] = { blocks, x->n, 1, 1, CHANNEL_BLOCK };
    struct activation y = { .n = x->n, .c = x->c, .h = 1, .w = 1 };
    struct tensor t =
        ss_op_reduce(g, f->l->seq, REDUCE_SUM, lower_field_columns(f->l, x, 1), ELEM_F32, f->name);

    t = ss_tensor_reshape(g, ss_op_cast(g, f->l->seq, t, ELEM_F16, f->name), 3, items);
    y.t = ss_tensor_reshape(g, ss_tensor_transpose(g, t, (const unsigned[]){ 1, 0, 2 }), 5, field);
    return y;
}

/* A mean or sum of a field over all of its positions, [n][c][1][1]: a field again. */
static int over_positions(struct lowering *l, const struct op_node *n, uint32_t set)
{
    const struct op_shape *s = lower_shape(l, n->in[0]);
    const struct formula f = { l, n->name };
    struct activation x;

    if (s->rank != 4 || set != 0xc || lower_shape(l, n->out[0])->rank != 4)
        return 0;
    x = lower_field(l, n->in[0], 1, s->dim[0], s->dim[2], s->dim[3]);
    x = op_node_is(n, OP_ReduceMean) ? ss_op_global_pool(l->nn, x, n->name) : channel_sums(&f, &x);
    lower_set_field(l, n->out[0], x, 1);
    return 1;
}

/* A mean or sum over all items, too: a list with a number for each channel. All but the result is
 * f32, since the sum may be beyond f16 although the mean is not. */
static int over_channels(struct lowering *l, const struct op_node *n, uint32_t set)
{
    const struct op_shape *s = lower_shape(l, n->in[0]);
    const struct formula f = { l, n->name };
    struct tensor t;

    if (set != (((1u << s->rank) - 1) & ~2u))
        return 0;
    t = ss_op_reduce(l->g, l->seq, REDUCE_SUM, lower_field_columns(l, &l->at[n->in[0]].field, 0),
                     ELEM_F32, n->name);
    t = ss_tensor_slice(l->g, t, 0, 0, s->dim[1]);
    if (op_node_is(n, OP_ReduceMean))
        t = fn_by(&f, BINARY_MUL, t, (double)s->dim[1] / (double)op_shape_count(s));
    if (l->real != ELEM_F32)
        t = ss_op_cast(l->g, l->seq, t, l->real, n->name);
    lower_set_view(l, n->out[0], t);
    return 1;
}

static int of_field(struct lowering *l, const struct op_node *n, uint32_t set)
{
    return l->real == ELEM_F16 && (op_node_is(n, OP_ReduceMean) || op_node_is(n, OP_ReduceSum)) &&
           lower_has_field(l, n->in[0], 1) &&
           (over_positions(l, n, set) || over_channels(l, n, set));
}

/* [r] again for each of n columns. */
static struct tensor spread(const struct formula *f, struct tensor t, uint32_t n)
{
    uint32_t r = (uint32_t)ss_tensor_elements(f->l->g, t);

    t = ss_tensor_reshape(f->l->g, t, 2, (const uint32_t[]){ r, 1 });
    return ss_tensor_broadcast(f->l->g, t, 1, n);
}

/* 0, 1, .. n - 1 in each of r rows, f32. */
static struct tensor counting(const struct formula *f, uint32_t r, uint32_t n)
{
    const struct op_shape row = { .type = OP_TYPE_F32, .rank = 2, .dim = { 1, n } };
    const struct op_shape all = { .type = OP_TYPE_F32, .rank = 2, .dim = { r, n } };
    struct op_tensor number;
    struct tensor t = { 0 };

    if (op_tensor_new(&row, &number) != EMU_OK) {
        ss_graph_fail(f->l->g, EMU_NO_MEMORY, "%s", f->name);
        return t;
    }
    for (uint32_t k = 0; k < n; k++)
        number.f[k] = k;
    t = lower_broadcast(f->l, lower_numbers(f->l, ELEM_F32, &number, "places"), &all);
    op_tensor_free(&number);
    return t;
}

/* The place of the largest (smallest) number of each row of t, the first or the last of equal ones;
 * f32, exact as long as rows are shorter than 2^24. */
static struct tensor place(const struct formula *f, struct tensor t, int smallest, int last)
{
    struct graph *g = f->l->g;
    uint32_t r = ss_tensor_shape(g, t)[0], n = ss_tensor_shape(g, t)[1];
    const struct op_shape all = { .type = OP_TYPE_F32, .rank = 2, .dim = { r, n } };
    struct tensor best = row_sum(f, smallest ? ROW_OP_MIN : ROW_OP_MAX, t);
    struct tensor same = fn_two(f, BINARY_EQUAL, t, spread(f, best, n));

    if (ss_tensor_elem(g, same) != ELEM_F32)
        same = ss_op_cast(g, f->l->seq, same, ELEM_F32, f->name);
    same = fn_select(f, same, counting(f, r, n),
                     lower_filled(f->l, ELEM_F32, &all, last ? -1 : (double)n));
    return ss_op_row_reduce(g, f->l->seq, last ? ROW_OP_MAX : ROW_OP_MIN, same, ELEM_F32, f->name);
}

static enum emu_status lower_place(struct lowering *l, const struct op_node *n)
{
    const struct formula f = { l, n->name };
    struct op_call c = lower_call(l, n);
    unsigned axis = lower_axis(l, n);
    struct tensor t = place(&f, lower_rows(l, lower_view(l, n->in[0]), axis),
                            op_node_is(n, OP_ArgMin), (int)op_int(&c, "select_last_index"));

    lower_set_view(l, n->out[0], ss_op_cast(l->g, l->seq, t, ELEM_I32, n->name));
    return EMU_OK;
}

enum emu_status lower_reduce(struct lowering *l, const struct node_group *group,
                             const struct op_node *n)
{
    const struct formula f = { l, n->name };
    const struct reduce_row *row = reduction_of(n);
    struct op_call c = lower_call(l, n);
    uint32_t set;
    struct tensor t;

    (void)group;
    if (op_node_is(n, OP_ArgMax) || op_node_is(n, OP_ArgMin))
        return lower_place(l, n);
    TRY(op_axes(&c, "axes", lower_shape(l, n->in[0])->rank, &set));
    if (of_field(l, n, set))
        return EMU_OK;
    t = lower_view(l, n->in[0]);
    t = rows_over(l, t, set);
    if (op_node_is(n, OP_ReduceLogSumExp)) {
        lower_set_view(l, n->out[0], log_sum_exp(&f, t));
        return EMU_OK;
    }
    if (op_node_is(n, OP_ReduceL1))
        t = fn(&f, UNARY_ABS, t);
    if (op_node_is(n, OP_ReduceL2))
        t = of_wide_sum(&f, row->op, UNARY_SQRT, t);
    else if (op_node_is(n, OP_ReduceLogSum))
        t = of_wide_sum(&f, row->op, UNARY_LOG, t);
    else
        t = row_sum(&f, row->op, t);
    lower_set_view(l, n->out[0], t);
    return EMU_OK;
}

const char *reduce_obstacle(const struct op_graph *g, const struct op_node *n)
{
    if (op_node_is(n, OP_CumSum))
        return op_type_kind(g->value[n->in[0]].shape.type) == OP_KIND_FLOAT
                   ? "sums of more than 1,024 numbers in a row"
                   : "integers: tiles compute with floats, so cast them before";
    if (!reduction_of(n) && !op_node_is(n, OP_ArgMax) && !op_node_is(n, OP_ArgMin))
        return "no lowering of the operator is built yet";
    return op_type_kind(g->value[n->in[0]].shape.type) == OP_KIND_FLOAT
               ? NULL
               : "integers: tiles compute with floats, so cast them before";
}

/* ---- softmax ---- */

/* 1 at the first largest number of each row, else 0. */
static enum emu_status hardmax(struct lowering *l, const struct op_node *n, struct tensor t,
                               unsigned axis)
{
    const struct formula f = { l, n->name };
    uint32_t r = ss_tensor_shape(l->g, t)[0], length = ss_tensor_shape(l->g, t)[1];
    struct tensor at = spread(&f, place(&f, t, 0, 0), length);

    t = fn_two(&f, BINARY_EQUAL, counting(&f, r, length), at);
    if (l->real != ELEM_F32)
        t = ss_op_cast(l->g, l->seq, t, l->real, n->name);
    lower_set_view(l, n->out[0], lower_from_rows(l, t, lower_shape(l, n->out[0]), axis));
    return EMU_OK;
}

/* Whether a softmax makes the scores of classes, which only the host reads: [n][classes] of a field
 * of one position. They are f32. */
static int is_scores(const struct lowering *l, const struct op_node *n)
{
    const struct activation *x = &l->at[n->in[0]].field;

    return op_node_is(n, OP_Softmax) && l->real == ELEM_F16 &&
           lower_shape(l, n->in[0])->rank == 2 && lower_axis(l, n) == 1 &&
           lower_has_field(l, n->in[0], 1) && x->h == 1 && x->w == 1 &&
           result_is_only_output(l->og, n, 0);
}

enum emu_status lower_softmax(struct lowering *l, const struct node_group *group,
                              const struct op_node *n)
{
    unsigned axis = lower_axis(l, n);
    struct tensor t;

    (void)group;
    if (is_scores(l, n)) {
        lower_set_view(l, n->out[0], ss_op_scores(l->nn, l->at[n->in[0]].field, n->name));
        return EMU_OK;
    }
    t = lower_rows(l, lower_view(l, n->in[0]), axis);
    if (op_node_is(n, OP_Hardmax))
        return hardmax(l, n, t, axis);
    t = ss_op_row_softmax(l->g, l->seq, t,
                          op_node_is(n, OP_LogSoftmax) ? ROW_LOG_SOFTMAX : ROW_SOFTMAX, n->name);
    lower_set_view(l, n->out[0], lower_from_rows(l, t, lower_shape(l, n->out[0]), axis));
    return EMU_OK;
}

const char *softmax_obstacle(const struct op_graph *g, const struct op_node *n)
{
    (void)g;
    (void)n;
    return NULL;
}

/* ---- norms ---- */

/* The mean of each row, and 1 over its deviation. */
static void statistics(struct lowering *l, const struct op_node *n, struct tensor t, double eps)
{
    const struct formula f = { l, n->name };
    uint32_t length = ss_tensor_shape(l->g, t)[1];
    struct tensor mean = row_sum(&f, ROW_OP_MEAN, t), v;

    lower_set_view(l, n->out[1], mean);
    if (n->outs < 3 || n->out[2] == OP_NONE)
        return;
    v = row_sum(&f, ROW_OP_SUMSQ, fn_two(&f, BINARY_SUB, t, spread(&f, mean, length)));
    v = fn_by(&f, BINARY_ADD, fn_by(&f, BINARY_MUL, v, 1.0 / length), eps);
    lower_set_view(l, n->out[2], fn(&f, UNARY_RSQRT, v));
}

/* Layer norm: over the axes from `axis` on. */
static enum emu_status layer_norm(struct lowering *l, const struct op_node *n)
{
    struct op_call c = lower_call(l, n);
    const struct op_shape *s = lower_shape(l, n->in[0]);
    unsigned axis = lower_axis(l, n);
    uint32_t rows = (uint32_t)op_shape_span(s, 0, axis);
    uint32_t length = (uint32_t)op_shape_span(s, axis, s->rank);
    struct tensor t =
        ss_tensor_reshape(l->g, lower_view(l, n->in[0]), 2, (const uint32_t[]){ rows, length });
    float *gamma = NULL, *beta = NULL;
    enum emu_status st = value_floats(l->og, n->in[1], &gamma);

    if (st == EMU_OK && n->ins > 2 && n->in[2] != OP_NONE)
        st = value_floats(l->og, n->in[2], &beta);
    if (st == EMU_OK)
        lower_set_view(l, n->out[0],
                       ss_op_row_norm(l->g, l->seq, t, ROW_BY_COLUMN, gamma, beta,
                                      (float)op_float(&c, "epsilon"), n->name));
    if (st == EMU_OK && n->outs > 1 && n->out[1] != OP_NONE)
        statistics(l, n, t, op_float(&c, "epsilon"));
    ss_free(gamma);
    ss_free(beta);
    return st;
}

/* A constant [channels] again for each picture. */
static enum emu_status repeated(struct lowering *l, uint32_t value, uint32_t times, float **out)
{
    uint32_t c = (uint32_t)op_shape_count(lower_shape(l, value));
    float *once;

    TRY(value_floats(l->og, value, &once));
    *out = emu_alloc((size_t)c * times + 1, sizeof(**out));
    for (uint32_t k = 0; *out && k < times; k++)
        memcpy(*out + (size_t)k * c, once, c * sizeof(*once));
    ss_free(once);
    return *out ? EMU_OK : FAIL(NO_MEMORY, "%u channels", c);
}

/* Instance norm: over the field of each channel of each picture. */
static enum emu_status instance_norm(struct lowering *l, const struct op_node *n)
{
    struct op_call c = lower_call(l, n);
    const struct op_shape *s = lower_shape(l, n->in[0]);
    struct tensor t = ss_tensor_reshape(
        l->g, lower_view(l, n->in[0]), 2,
        (const uint32_t[]){ s->dim[0] * s->dim[1], (uint32_t)op_shape_span(s, 2, s->rank) });
    float *gamma = NULL, *beta = NULL;
    enum emu_status st = repeated(l, n->in[1], s->dim[0], &gamma);

    if (st == EMU_OK)
        st = repeated(l, n->in[2], s->dim[0], &beta);
    if (st == EMU_OK)
        lower_set_view(l, n->out[0],
                       ss_op_row_norm(l->g, l->seq, t, ROW_BY_ROW, gamma, beta,
                                      (float)op_float(&c, "epsilon"), n->name));
    ss_free(gamma);
    ss_free(beta);
    return st;
}

/* Factor and summand of each channel of a batch norm. */
static enum emu_status channel_numbers(struct lowering *l, const struct op_node *n,
                                       const struct op_shape *s, struct op_tensor number[2])
{
    struct op_call c = lower_call(l, n);
    uint32_t channels = lower_shape(l, n->in[0])->dim[1];
    float *p[4] = { NULL }; /* scale, shift, mean, variance */
    enum emu_status st = EMU_OK;

    for (unsigned k = 0; k < 4 && st == EMU_OK; k++)
        st = value_floats(l->og, n->in[k + 1], &p[k]);
    for (unsigned k = 0; k < 2 && st == EMU_OK; k++)
        st = op_tensor_new(s, &number[k]);
    for (uint32_t i = 0; st == EMU_OK && i < channels; i++) {
        number[0].f[i] = (double)p[0][i] / sqrt((double)p[3][i] + op_float(&c, "epsilon"));
        number[1].f[i] = (double)p[1][i] - (double)p[2][i] * number[0].f[i];
    }
    for (unsigned k = 0; k < 4; k++)
        ss_free(p[k]);
    return st;
}

static float *floats_of(const struct op_tensor *t)
{
    uint64_t n = op_shape_count(&t->shape);
    float *v = emu_alloc(n + 1, sizeof(*v));

    for (uint64_t k = 0; v && k < n; k++)
        v[k] = (float)t->f[k];
    return v;
}

/* Batch norm of a field, with what follows it. */
static enum emu_status norm_field(struct lowering *l, const struct node_group *group,
                                  const struct op_node *n, const struct op_tensor number[2])
{
    float *scale = floats_of(&number[0]), *shift = floats_of(&number[1]);
    enum emu_status s = scale && shift ? EMU_OK : FAIL(NO_MEMORY, "%s", n->name);

    if (s == EMU_OK)
        lower_set_field(
            l, node_group_result(l->og, group),
            ss_op_channel_affine(l->nn, l->at[n->in[0]].field, scale, shift, group->act, n->name),
            1);
    ss_free(scale);
    ss_free(shift);
    return s;
}

void lower_scaled(struct lowering *l, const struct node_group *group, struct tensor t,
                  const struct op_tensor number[2], const char *name)
{
    const struct formula f = { l, name };
    uint32_t result = node_group_result(l->og, group);
    const struct op_shape *all = lower_shape(l, result);
    enum elem e = ss_tensor_elem(l->g, t);

    t = fn_two(&f, BINARY_MUL, t,
               lower_broadcast(l, lower_numbers(l, e, &number[0], "scale"), all));
    t = fn_two(&f, BINARY_ADD, t,
               lower_broadcast(l, lower_numbers(l, e, &number[1], "shift"), all));
    if (group->act != ACT_NONE)
        t = fn(&f, group->act == ACT_RELU ? UNARY_RELU : UNARY_SWISH, t);
    lower_set_view(l, result, t);
}

/* Batch norm that is not part of a convolution. */
static enum emu_status batch_norm(struct lowering *l, const struct node_group *group,
                                  const struct op_node *n)
{
    const struct op_shape *s = lower_shape(l, n->in[0]);
    struct op_shape column = { .type = OP_TYPE_F32, .rank = s->rank };
    struct op_tensor number[2] = { 0 };
    enum emu_status st;

    for (unsigned k = 0; k < column.rank; k++)
        column.dim[k] = k == 1 ? s->dim[1] : 1;
    st = channel_numbers(l, n, &column, number);
    if (st == EMU_OK && lower_has_field(l, n->in[0], 1))
        st = norm_field(l, group, n, number);
    else if (st == EMU_OK)
        lower_scaled(l, group, lower_view(l, n->in[0]), number, n->name);
    op_tensor_free(&number[0]);
    op_tensor_free(&number[1]);
    return st;
}

/* Mean 0 and variance 1 over some axes. */
static enum emu_status variance_norm(struct lowering *l, const struct op_node *n)
{
    static const float eps = 1e-9f; /* what the operator adds to the deviation, roughly */
    struct op_call c = lower_call(l, n);
    const struct op_shape *s = lower_shape(l, n->in[0]);
    unsigned back[OP_RANK_MAX], k = 0;
    uint32_t set = 0xd, dim[OP_RANK_MAX];
    struct tensor t;

    if (op_has(&c, "axes"))
        TRY(op_axes(&c, "axes", s->rank, &set));
    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned d = 0; d < s->rank; d++) {
            if ((set >> d & 1) == pass) {
                back[d] = k;
                dim[k] = s->dim[d];
                k++;
            }
        }
    }
    t = ss_op_row_norm(l->g, l->seq, rows_over(l, lower_view(l, n->in[0]), set), ROW_BY_COLUMN,
                       NULL, NULL, eps, n->name);
    t = ss_tensor_reshape(l->g, t, s->rank, dim);
    lower_set_view(l, n->out[0], ss_tensor_transpose(l->g, t, back));
    return EMU_OK;
}

enum emu_status lower_norm(struct lowering *l, const struct node_group *group,
                           const struct op_node *n)
{
    if (norm_trains(l->og, n))
        return lower_norm_train(l, group, n);
    if (op_node_is(n, OP_GroupNormalization))
        return lower_group_norm(l, group, n);
    if (op_node_is(n, OP_LayerNormalization))
        return layer_norm(l, n);
    if (op_node_is(n, OP_InstanceNormalization))
        return instance_norm(l, n);
    if (op_node_is(n, OP_MeanVarianceNormalization))
        return variance_norm(l, n);
    return batch_norm(l, group, n);
}

const char *norm_obstacle(const struct op_graph *g, const struct op_node *n)
{
    static const enum op_code built[] = { OP_LayerNormalization, OP_InstanceNormalization,
                                          OP_BatchNormalization, OP_GroupNormalization,
                                          OP_MeanVarianceNormalization };
    int found = norm_trains(g, n);

    for (unsigned k = 0; k < EMU_COUNT_OF(built); k++)
        found |= op_node_is(n, built[k]);
    if (op_node_is(n, OP_LRN))
        return "more than 1,024 channels";
    if (!found)
        return "no lowering of the operator is built yet";
    for (uint32_t k = 1; k < n->ins && !norm_trains(g, n); k++) {
        if (n->in[k] != OP_NONE && !op_value_constant_kind(&g->value[n->in[k]]))
            return "parameters that are not constant";
    }
    return NULL;
}
