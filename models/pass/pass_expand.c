/* pass_expand.c - operators that tiles compute as several: losses with labels, LRN, CumSum, OneHot;
 * those of the other files expand_*.c.
 *
 *   loss    - sum over classes of (label == class) weight log(probability), then over positions
 *   LRN     x (bias + alpha / size sum over a window of channels of x^2)^-beta, the sum a product
 *           with a band of ones
 *   CumSum  a product with a triangle of ones, the axis last
 *   OneHot  (index == place or index == place - depth) ? on : off
 */
#include <math.h>

#include "models/pass/expand.h"

enum emu_status expand_put(struct op_pass *p, const struct op_node *n,
                           const struct expand_part *part, uint32_t *out)
{
    const char *name = op_graph_text(p->g, "%s%s", n->name, part->suffix);
    struct op_request r = { .op = op_name(part->op),
                            .name = name,
                            .block = n->block,
                            .in = part->in,
                            .outs = 1,
                            .attr = part->attr,
                            .attrs = part->attrs };

    while (r.ins < EXPAND_INS && part->in[r.ins] != OP_NONE)
        r.ins++;
    return name ? op_node(p->g, &r, out) : FAIL(NO_MEMORY, "a node");
}

enum emu_status expand_unary(struct op_pass *p, const struct op_node *n, enum op_code op,
                             const char *suffix, uint32_t x, uint32_t *out)
{
    const struct expand_part part = { .op = op, .suffix = suffix, .in = { x, OP_NONE, OP_NONE } };

    return expand_put(p, n, &part, out);
}

enum emu_status expand_binary(struct op_pass *p, const struct op_node *n, enum op_code op,
                              const char *suffix, uint32_t x, uint32_t y, uint32_t *out)
{
    const struct expand_part part = { .op = op, .suffix = suffix, .in = { x, y, OP_NONE } };

    return expand_put(p, n, &part, out);
}

enum emu_status expand_where(struct op_pass *p, const struct op_node *n, const char *suffix,
                             uint32_t condition, uint32_t x, uint32_t y, uint32_t *out)
{
    const struct expand_part part = { .op = OP_Where, .suffix = suffix, .in = { condition, x, y } };

    return expand_put(p, n, &part, out);
}

enum emu_status expand_cast(struct op_pass *p, const struct op_node *n, const char *suffix,
                            uint32_t x, enum op_type to, uint32_t *out)
{
    const struct expand_part part = {
        .op = OP_Cast,
        .suffix = suffix,
        .in = { x, OP_NONE, OP_NONE },
        .attr = { { "to", { .kind = OP_ATTR_INT, .i = op_type_onnx_number(to) } } },
        .attrs = 1
    };

    return expand_put(p, n, &part, out);
}

enum emu_status expand_reshape(struct op_pass *p, const struct op_node *n, uint32_t in,
                               const struct op_shape *to, uint32_t *out)
{
    const struct op_request r = { .block = n->block, .outs = 1 };

    return op_reshape(p->g, &r, in, to, out);
}

enum emu_status expand_number(struct op_pass *p, enum op_type type, double v, uint32_t *out)
{
    const struct op_shape s = { .type = type };

    return op_constant_new(p->g, &s, &v, out);
}

enum emu_status expand_places(struct op_pass *p, enum op_type type, unsigned rank, unsigned axis,
                              uint32_t count, int64_t from, uint32_t *out)
{
    struct op_shape s = { .type = type, .rank = rank };
    struct op_tensor t;
    enum emu_status st;

    for (unsigned k = 0; k < rank; k++)
        s.dim[k] = k == axis ? count : 1;
    TRY(op_tensor_new(&s, &t));
    for (uint32_t k = 0; k < count; k++) {
        if (op_type_kind(type) == OP_KIND_FLOAT)
            t.f[k] = (double)(from + k);
        else
            t.i[k] = from + k;
    }
    st = op_value_constant(p->g, NULL, &t, out);
    op_tensor_free(&t);
    return st;
}

enum emu_status expand_reduce(struct op_pass *p, const struct op_node *n, enum op_code op,
                              const char *suffix, uint32_t x, int64_t axis, uint32_t *out)
{
    struct expand_part part = { .op = op,
                                .suffix = suffix,
                                .in = { x, OP_NONE, OP_NONE },
                                .attr = { { "keepdims", { .kind = OP_ATTR_INT, .i = 0 } } },
                                .attrs = 1 };

    if (axis >= 0) {
        part.attr[1] =
            (struct op_named_attr){ "axes", { .kind = OP_ATTR_INTS, .count = 1, .ints = &axis } };
        part.attrs = 2;
    }
    return expand_put(p, n, &part, out);
}

enum emu_status expand_transpose(struct op_pass *p, const struct op_node *n, const char *suffix,
                                 unsigned rank, const int64_t *perm, uint32_t x, uint32_t *out)
{
    const struct expand_part part = {
        .op = OP_Transpose,
        .suffix = suffix,
        .in = { x, OP_NONE, OP_NONE },
        .attr = { { "perm", { .kind = OP_ATTR_INTS, .count = rank, .ints = perm } } },
        .attrs = 1
    };
    int moves = 0;

    for (unsigned k = 0; k < rank; k++)
        moves |= perm[k] != k;
    *out = x;
    return moves ? expand_put(p, n, &part, out) : EMU_OK;
}

enum emu_status expand_swap_last(struct op_pass *p, const struct op_node *n, const char *suffix,
                                 unsigned rank, unsigned axis, uint32_t x, uint32_t *out)
{
    int64_t perm[OP_RANK_MAX];

    for (unsigned k = 0; k < rank; k++)
        perm[k] = k == axis ? rank - 1 : k == rank - 1 ? axis : k;
    return expand_transpose(p, n, suffix, rank, perm, x, out);
}

/* ---- losses ---- */

struct loss {
    const struct op_node *n;
    struct op_call c;
    struct op_shape x;   /* of the scores */
    uint32_t hot;        /* bool [n][classes][..]: whether the label is this class */
    uint32_t weight;     /* [1][classes][1..]; OP_NONE: all count 1 */
    uint32_t logs, each; /* logarithms of probabilities; the losses [n][..] */
    uint32_t zero, one;
    int counts_all; /* 1: no label is ignored, and there are no weights */
};

/* Labels that name no class make a loss NaN, which sums over classes do not. */
static int labels_are_classes(const struct op_pass *p, const struct loss *l)
{
    const struct op_value *v = &p->g->value[l->n->in[1]];
    int64_t ignored = op_int(&l->c, "ignore_index");
    struct op_tensor t;
    int good = 1;

    if (!op_value_constant_kind(v))
        return 1;
    if (op_value_read(p->g, l->n->in[1], &t) != EMU_OK)
        return 0;
    for (uint64_t k = 0; k < op_shape_count(&t.shape); k++)
        good &= (t.i[k] >= 0 && t.i[k] < l->x.dim[1]) ||
                (op_has(&l->c, "ignore_index") && t.i[k] == ignored);
    op_tensor_free(&t);
    return good;
}

static enum emu_status make_hot(struct op_pass *p, struct loss *l)
{
    uint32_t labels = op_pass_now(p, l->n->in[1]), classes;
    struct op_shape column = l->x;

    column.dim[1] = 1;
    TRY(expand_reshape(p, l->n, labels, &column, &labels));
    TRY(expand_places(p, p->g->value[labels].shape.type, l->x.rank, 1, l->x.dim[1], 0, &classes));
    return expand_binary(p, l->n, OP_Equal, ".hot", labels, classes, &l->hot);
}

/* One for every class but the one that is ignored. */
static enum emu_status make_mask(struct op_pass *p, const struct loss *l,
                                 const struct op_shape *row, uint32_t *out)
{
    struct op_shape s = *row;
    struct op_tensor t;
    enum emu_status st;

    s.type = l->x.type;
    TRY(op_tensor_new(&s, &t));
    for (uint32_t k = 0; k < l->x.dim[1]; k++)
        t.f[k] = k != op_int(&l->c, "ignore_index");
    st = op_value_constant(p->g, NULL, &t, out);
    op_tensor_free(&t);
    return st;
}

static enum emu_status make_weight(struct op_pass *p, struct loss *l)
{
    int given = l->n->ins > 2 && l->n->in[2] != OP_NONE, ignores = op_has(&l->c, "ignore_index");
    int64_t ignored = op_int(&l->c, "ignore_index");
    struct op_shape row = { .rank = l->x.rank };
    uint32_t mask;

    for (unsigned k = 0; k < row.rank; k++)
        row.dim[k] = k == 1 ? l->x.dim[1] : 1;
    l->weight = OP_NONE;
    l->counts_all = !given && !ignores;
    if (given)
        TRY(expand_reshape(p, l->n, op_pass_now(p, l->n->in[2]), &row, &l->weight));
    if (!ignores || ignored < 0 || ignored >= l->x.dim[1])
        return EMU_OK;
    TRY(make_mask(p, l, &row, &mask));
    if (given)
        return expand_binary(p, l->n, OP_Mul, ".weight", l->weight, mask, &l->weight);
    l->weight = mask;
    return EMU_OK;
}

static enum emu_status make_each(struct op_pass *p, struct loss *l)
{
    int none = op_is(&l->c, "reduction", "none");
    uint32_t chosen;

    TRY(expand_where(p, l->n, ".chosen", l->hot, l->logs, l->zero, &chosen));
    if (l->weight != OP_NONE)
        TRY(expand_binary(p, l->n, OP_Mul, ".weighted", chosen, l->weight, &chosen));
    TRY(expand_reduce(p, l->n, OP_ReduceSum, ".sum", chosen, 1, &chosen));
    return expand_unary(p, l->n, OP_Neg, none ? "" : ".each", chosen, &l->each);
}

static enum emu_status make_result(struct op_pass *p, struct loss *l, uint32_t *out)
{
    uint32_t sum, total;

    *out = l->each;
    if (op_is(&l->c, "reduction", "none"))
        return EMU_OK;
    if (op_is(&l->c, "reduction", "sum"))
        return expand_reduce(p, l->n, OP_ReduceSum, "", l->each, -1, out);
    if (l->counts_all)
        return expand_reduce(p, l->n, OP_ReduceMean, "", l->each, -1, out);
    TRY(expand_where(p, l->n, ".counts", l->hot, l->weight == OP_NONE ? l->one : l->weight, l->zero,
                     &total));
    TRY(expand_reduce(p, l->n, OP_ReduceSum, ".total", total, -1, &total));
    TRY(expand_reduce(p, l->n, OP_ReduceSum, ".losses", l->each, -1, &sum));
    return expand_binary(p, l->n, OP_Div, "", sum, total, out);
}

static enum emu_status expand_loss(struct op_pass *p, const struct op_node *n, uint32_t *out)
{
    struct loss l = { .n = n, .c = op_attrs_of(p->g, n), .x = p->g->value[n->in[0]].shape };

    if (!labels_are_classes(p, &l))
        return EMU_OK;
    l.logs = op_pass_now(p, n->in[0]);
    if (op_node_is(n, OP_SoftmaxCrossEntropyLoss)) {
        const struct expand_part soft = { .op = OP_LogSoftmax,
                                          .suffix = ".logs",
                                          .in = { l.logs, OP_NONE, OP_NONE },
                                          .attr = { { "axis", { .kind = OP_ATTR_INT, .i = 1 } } },
                                          .attrs = 1 };

        TRY(expand_put(p, n, &soft, &l.logs));
    }
    TRY(expand_number(p, l.x.type, 0, &l.zero));
    TRY(expand_number(p, l.x.type, 1, &l.one));
    TRY(make_hot(p, &l));
    TRY(make_weight(p, &l));
    TRY(make_each(p, &l));
    if (n->outs > 1)
        out[1] = l.logs;
    return make_result(p, &l, &out[0]);
}

/* ---- LRN ---- */

/* Ones where channel k is in the window of channel c. */
static enum emu_status band(struct op_pass *p, enum op_type type, uint32_t channels, int64_t size,
                            uint32_t *out)
{
    const struct op_shape s = { .type = type, .rank = 2, .dim = { channels, channels } };
    int64_t before = (size - 1) / 2, behind = size / 2;
    struct op_tensor t;
    enum emu_status st;

    TRY(op_tensor_new(&s, &t));
    for (int64_t c = 0; c < channels; c++) {
        for (int64_t k = 0; k < channels; k++)
            t.f[c * channels + k] = k >= c - before && k <= c + behind;
    }
    st = op_value_constant(p->g, NULL, &t, out);
    op_tensor_free(&t);
    return st;
}

static enum emu_status expand_lrn(struct op_pass *p, const struct op_node *n, uint32_t *out)
{
    const struct op_call c = op_attrs_of(p->g, n);
    const struct op_shape x = p->g->value[n->in[0]].shape;
    const struct op_shape lists = {
        .rank = 3, .dim = { x.dim[0], x.dim[1], (uint32_t)op_shape_span(&x, 2, x.rank) }
    };
    uint32_t in = op_pass_now(p, n->in[0]), window, sum, by;

    if (x.dim[1] > EXPAND_SQUARE)
        return EMU_OK;
    TRY(expand_binary(p, n, OP_Mul, ".squares", in, in, &sum));
    TRY(expand_reshape(p, n, sum, &lists, &sum));
    TRY(band(p, x.type, x.dim[1], op_int(&c, "size"), &window));
    TRY(expand_binary(p, n, OP_MatMul, ".sums", window, sum, &sum));
    TRY(expand_reshape(p, n, sum, &x, &sum));
    TRY(expand_number(p, x.type, op_float(&c, "alpha") / (double)op_int(&c, "size"), &by));
    TRY(expand_binary(p, n, OP_Mul, ".alpha", sum, by, &sum));
    TRY(expand_number(p, x.type, op_float(&c, "bias"), &by));
    TRY(expand_binary(p, n, OP_Add, ".bias", sum, by, &sum));
    TRY(expand_number(p, x.type, -op_float(&c, "beta"), &by));
    TRY(expand_binary(p, n, OP_Pow, ".scale", sum, by, &sum));
    return expand_binary(p, n, OP_Mul, "", in, sum, &out[0]);
}

/* ---- CumSum ---- */

/* [from][to]: ones where the sum at `to` has element `from`. */
static enum emu_status triangle(struct op_pass *p, enum op_type type, uint32_t n,
                                const struct op_call *c, uint32_t *out)
{
    const struct op_shape s = { .type = type, .rank = 2, .dim = { n, n } };
    int reverse = op_int(c, "reverse") != 0, exclusive = op_int(c, "exclusive") != 0;
    struct op_tensor t;
    enum emu_status st;

    TRY(op_tensor_new(&s, &t));
    for (uint32_t from = 0; from < n; from++) {
        for (uint32_t to = 0; to < n; to++)
            t.f[(size_t)from * n + to] = from == to ? !exclusive : reverse ? from > to : from < to;
    }
    st = op_value_constant(p->g, NULL, &t, out);
    op_tensor_free(&t);
    return st;
}

static enum emu_status expand_cumsum(struct op_pass *p, const struct op_node *n, uint32_t *out)
{
    const struct op_call c = op_attrs_of(p->g, n);
    const struct op_shape x = p->g->value[n->in[0]].shape;
    int64_t given = op_int(&c, "axis");
    unsigned axis = (unsigned)(given < 0 ? given + x.rank : given);
    uint32_t ones, now = op_pass_now(p, n->in[0]);

    if (op_type_kind(x.type) != OP_KIND_FLOAT || x.dim[axis] > EXPAND_SQUARE)
        return EMU_OK;
    TRY(triangle(p, x.type, x.dim[axis], &c, &ones));
    if (axis + 1 == x.rank)
        return expand_binary(p, n, OP_MatMul, "", now, ones, &out[0]);
    TRY(expand_swap_last(p, n, ".last", x.rank, axis, now, &now));
    TRY(expand_binary(p, n, OP_MatMul, ".sums", now, ones, &now));
    return expand_swap_last(p, n, "", x.rank, axis, now, &out[0]);
}

/* ---- OneHot ---- */

static enum emu_status expand_one_hot(struct op_pass *p, const struct op_node *n, uint32_t *out)
{
    const struct op_call c = op_attrs_of(p->g, n);
    const struct op_shape to = p->g->value[n->out[0]].shape;
    struct op_shape column = to;
    enum op_type type = p->g->value[n->in[0]].shape.type;
    int64_t axis = op_int(&c, "axis");
    uint32_t at, place, hot, other, value[2];
    struct op_tensor t;

    axis = axis < 0 ? axis + to.rank : axis;
    column.dim[axis] = 1;
    TRY(expand_reshape(p, n, op_pass_now(p, n->in[0]), &column, &at));
    TRY(expand_places(p, type, to.rank, (unsigned)axis, to.dim[axis], 0, &place));
    TRY(expand_binary(p, n, OP_Equal, ".hot", at, place, &hot));
    TRY(expand_places(p, type, to.rank, (unsigned)axis, to.dim[axis], -(int64_t)to.dim[axis],
                      &place));
    TRY(expand_binary(p, n, OP_Equal, ".from_end", at, place, &other));
    TRY(expand_binary(p, n, OP_Or, ".either", hot, other, &hot));
    TRY(op_value_read(p->g, op_tensor_value(&c, "values"), &t)); /* off, on */
    for (unsigned k = 0; k < 2; k++) {
        const struct op_shape one = { .type = t.shape.type };
        enum emu_status s = op_constant_new(p->g, &one, (const int64_t *)t.any + k, &value[k]);

        if (s != EMU_OK || k)
            op_tensor_free(&t);
        TRY(s);
    }
    return expand_where(p, n, "", hot, value[1], value[0], &out[0]);
}

/* ---- GatherGradient ---- */

/* A one for each number of dy, in the row of the place that it was read from: [size][indices]. */
static enum emu_status put_origins(struct op_pass *p, const struct op_node *n, uint32_t size,
                                   enum op_type type, uint32_t *out)
{
    uint32_t at = op_pass_now(p, n->in[0]), place, hot, other;
    const struct op_shape list = { .rank = 2,
                                   .dim = { 1, (uint32_t)op_shape_count(&p->g->value[at].shape) } };

    TRY(expand_reshape(p, n, at, &list, &at));
    if (!op_value_constant_kind(&p->g->value[at])) /* tiles compare floats */
        TRY(expand_cast(p, n, ".places", at, type, &at));
    TRY(expand_places(p, p->g->value[at].shape.type, 2, 0, size, 0, &place));
    TRY(expand_binary(p, n, OP_Equal, ".hot", at, place, &hot));
    TRY(expand_places(p, p->g->value[at].shape.type, 2, 0, size, -(int64_t)size, &place));
    TRY(expand_binary(p, n, OP_Equal, ".from_end", at, place, &other));
    TRY(expand_binary(p, n, OP_Or, ".either", hot, other, &hot));
    return expand_cast(p, n, ".origins", hot, type, out);
}

/* A matrix of ones times dy; of places that are known at run time only as far as f16 counts. */
static enum emu_status expand_gather_gradient(struct op_pass *p, const struct op_node *n,
                                              uint32_t *out)
{
    enum { COUNTED = 2048 };
    const struct op_call c = op_attrs_of(p->g, n);
    const struct op_shape to = p->g->value[n->out[0]].shape;
    const struct op_shape *at = &p->g->value[n->in[0]].shape;
    unsigned axis = (unsigned)op_int(&c, "axis");
    struct op_shape rows = { .type = to.type,
                             .rank = 3,
                             .dim = { (uint32_t)op_shape_span(&to, 0, axis),
                                      (uint32_t)op_shape_count(at),
                                      (uint32_t)op_shape_span(&to, axis + 1, to.rank) } };
    uint32_t ones, dy = op_pass_now(p, n->in[1]);

    if (!op_value_constant_kind(&p->g->value[n->in[0]]) && to.dim[axis] > COUNTED)
        return EMU_OK;
    if (rows.dim[0] == 1) {
        rows.rank = 2;
        rows.dim[0] = rows.dim[1];
        rows.dim[1] = rows.dim[2];
    }
    TRY(put_origins(p, n, to.dim[axis], to.type, &ones));
    TRY(expand_reshape(p, n, dy, &rows, &dy));
    TRY(expand_binary(p, n, OP_MatMul, ".sums", ones, dy, &dy));
    return expand_reshape(p, n, dy, &to, &out[0]);
}

/* ---- the pass ---- */

/* How an operator is spelt; of most, by a formula or not at all. */
static expand_op *spelling_of(const struct op_node *n)
{
    static const struct {
        enum op_code op;
        expand_op *expand;
    } row[] = { { OP_NegativeLogLikelihoodLoss, expand_loss },
                { OP_SoftmaxCrossEntropyLoss, expand_loss },
                { OP_LRN, expand_lrn },
                { OP_CumSum, expand_cumsum },
                { OP_OneHot, expand_one_hot },
                { OP_GatherGradient, expand_gather_gradient },
                { OP_Resize, expand_resize },
                { OP_ConvTranspose, expand_upsampling },
                { OP_LpNormalization, expand_lp_norm },
                { OP_GlobalLpPool, expand_global_lp_pool },
                { OP_LpPool, expand_lp_pool },
                { OP_Trilu, expand_triangle },
                { OP_IsInf, expand_is_inf },
                { OP_Pow, expand_power },
                { OP_Dropout, expand_dropout },
                { OP_ScatterElements, expand_scatter },
                { OP_ScatterND, expand_scatter },
                { OP_TopK, expand_top_k },
                { OP_Einsum, expand_einsum } };

    for (unsigned k = 0; k < EMU_COUNT_OF(row); k++) {
        if (op_node_is(n, row[k].op))
            return row[k].expand;
    }
    return op_node_is_of(n, FAMILY_reduce) && !op_node_is(n, OP_ArgMax) && !op_node_is(n, OP_ArgMin)
               ? expand_reduction
               : expand_function;
}

static enum emu_status visit(struct op_pass *p, uint32_t node, int *replaced)
{
    const struct op_node *n = &p->old[node];
    uint32_t by[2] = { OP_NONE, OP_NONE };

    if (!n->ins || n->in[0] == OP_NONE || !op_shape_count(&p->g->value[n->in[0]].shape))
        return EMU_OK;
    TRY(spelling_of(n)(p, n, by));
    for (uint32_t i = 0; by[0] != OP_NONE && i < n->outs && i < EMU_COUNT_OF(by); i++) {
        if (n->out[i] != OP_NONE)
            op_pass_replace(p, n->out[i], by[i]);
    }
    *replaced = by[0] != OP_NONE;
    return EMU_OK;
}

enum emu_status pass_expand(struct op_graph *g)
{
    return op_pass_run(g, visit);
}
