/* gradient_rows.c - gradients of operators that compute along axes: reductions, softmax, losses,
 * norms.
 */
#include "models/operators/op_families.h"
#include "models/operators/op_gradient.h"

/* --- reductions --------------------------------------------------------------------------- */

/* The axes of a reduction. */
static uint32_t reduced_axes(struct op_gradient *x)
{
    struct op_call c = op_attrs_of(x->g, x->n);
    unsigned rank = gradient_shape(x, x->n->in[0]).rank;
    const int64_t *list;
    uint32_t set = 0, n = op_ints(&c, "axes", &list);

    if (!n && op_int(&c, "noop_with_empty_axes"))
        return 0;
    for (uint32_t k = 0; k < n; k++)
        set |= 1u << (list[k] < 0 ? list[k] + rank : list[k]);
    return n ? set : (1u << rank) - 1;
}

/* A shape with 1 in place of what is reduced. */
static struct op_shape kept_shape(const struct op_shape *s, uint32_t axes)
{
    struct op_shape kept = *s;

    for (unsigned d = 0; d < s->rank; d++)
        kept.dim[d] = axes >> d & 1 ? 1 : s->dim[d];
    return kept;
}

/* Of ReduceMax and ReduceMin: elements that are equal share it. */
static uint32_t extreme_back(struct op_gradient *x, uint32_t dy, uint32_t y, uint32_t axes)
{
    uint32_t in = x->n->in[0], equal = gradient_binary(x, OP_Equal, in, y), mask = OP_NONE;
    struct op_named_attr to[1];

    if (equal != OP_NONE) {
        to[0] = gradient_int("to", op_type_onnx_number(gradient_shape(x, in).type));
        mask = gradient_node(x, OP_Cast, &equal, 1, to, 1);
    }
    return gradient_binary(
        x, OP_Mul, mask,
        gradient_binary(x, OP_Div, dy, gradient_reduce(x, OP_ReduceSum, mask, axes)));
}

/* The product of all other elements. Unlike a quotient it is right even where an element is 0. */
static uint32_t product_back(struct op_gradient *x)
{
    gradient_refuse(x, "a product of many has none that is safe where one of them is 0");
    return OP_NONE;
}

/* dy and y with 1 in place of what is reduced. */
static uint32_t reduction_back(struct op_gradient *x, uint32_t dy, uint32_t y, uint32_t axes,
                               const struct op_shape *s)
{
    uint32_t in = x->n->in[0];
    uint64_t n = 1;

    for (unsigned d = 0; d < s->rank; d++)
        n *= axes >> d & 1 ? s->dim[d] : 1;
    if (gradient_is(x, OP_ReduceSum))
        return dy;
    if (gradient_is(x, OP_ReduceMean))
        return gradient_scaled(x, OP_Mul, dy, 1 / (double)n);
    if (gradient_is(x, OP_ReduceMax) || gradient_is(x, OP_ReduceMin))
        return extreme_back(x, dy, y, axes);
    if (gradient_is(x, OP_ReduceL1))
        return gradient_binary(x, OP_Mul, dy, gradient_unary(x, OP_Sign, in));
    if (gradient_is(x, OP_ReduceL2))
        return gradient_binary(x, OP_Mul, gradient_binary(x, OP_Div, dy, y), in);
    if (gradient_is(x, OP_ReduceSumSquare))
        return gradient_binary(x, OP_Mul, gradient_scaled(x, OP_Mul, dy, 2), in);
    if (gradient_is(x, OP_ReduceLogSum)) /* the sum is e^y */
        return gradient_binary(x, OP_Mul, dy,
                               gradient_unary(x, OP_Exp, gradient_unary(x, OP_Neg, y)));
    if (gradient_is(x, OP_ReduceLogSumExp))
        return gradient_binary(x, OP_Mul, dy,
                               gradient_unary(x, OP_Exp, gradient_binary(x, OP_Sub, in, y)));
    return product_back(x);
}

/* The gradient of CumSum: running sums from the other end. */
static uint32_t running_back(struct op_gradient *x)
{
    struct op_call c = op_attrs_of(x->g, x->n);
    const struct op_named_attr attr[] = { gradient_int("axis", op_int(&c, "axis")),
                                          gradient_int("exclusive", op_int(&c, "exclusive")),
                                          gradient_int("reverse", !op_int(&c, "reverse")) };

    return gradient_node(x, OP_CumSum, x->out, 1, attr, EMU_COUNT_OF(attr));
}

void gradient_reduce_node(struct op_gradient *x)
{
    const struct op_shape s = gradient_shape(x, x->n->in[0]);
    struct op_shape kept;
    uint32_t axes;

    if (x->out[0] == OP_NONE) /* places of the largest */
        return;
    if (gradient_is(x, OP_CumSum)) {
        x->in[0] = running_back(x);
        return;
    }
    axes = reduced_axes(x);
    kept = kept_shape(&s, axes);
    x->in[0] = gradient_expand(x,
                               reduction_back(x, gradient_reshape(x, x->out[0], kept),
                                              gradient_reshape(x, x->n->out[0], kept), axes, &s),
                               s);
}

/* --- softmax ------------------------------------------------------------------------------ */

void gradient_softmax_node(struct op_gradient *x)
{
    struct op_call c = op_attrs_of(x->g, x->n);
    int64_t axis = op_int(&c, "axis");
    uint32_t y = x->n->out[0], dy = x->out[0], set;

    set = 1u << (axis < 0 ? axis + gradient_shape(x, y).rank : axis);
    if (gradient_is(x, OP_Softmax)) {
        uint32_t sum = gradient_reduce(x, OP_ReduceSum, gradient_binary(x, OP_Mul, dy, y), set);

        x->in[0] = gradient_binary(x, OP_Mul, y, gradient_binary(x, OP_Sub, dy, sum));
    } else if (gradient_is(x, OP_LogSoftmax)) {
        uint32_t sum = gradient_reduce(x, OP_ReduceSum, dy, set);

        x->in[0] = gradient_binary(x, OP_Sub, dy,
                                   gradient_binary(x, OP_Mul, gradient_unary(x, OP_Exp, y), sum));
    } /* Hardmax jumps: 0 */
}

/* --- losses ------------------------------------------------------------------------------- */

/* [items][1][positions..] of [items][positions..]: for each class the same. */
static uint32_t by_class(struct op_gradient *x, uint32_t value, const struct op_shape *scores)
{
    struct op_shape s = *scores;

    if (value == OP_NONE)
        return OP_NONE;
    s.type = gradient_shape(x, value).type;
    s.dim[1] = 1;
    return gradient_reshape(x, value, s);
}

/* 1 at the class that is right, of the scores' type. */
static uint32_t one_hot(struct op_gradient *x, uint32_t labels, const struct op_shape *scores)
{
    const struct op_shape two = { scores->type, 1, { 2 } }, one = { OP_TYPE_I64, 0, { 0 } };
    const double off_on[] = { 0, 1 };
    const int64_t classes = scores->dim[1];
    uint32_t values, depth;

    if (x->status == EMU_OK)
        x->status = op_constant_new(x->g, &two, off_on, &values);
    if (x->status == EMU_OK)
        x->status = op_constant_new(x->g, &one, &classes, &depth);
    if (x->status != EMU_OK)
        return OP_NONE;
    return gradient_node(x, OP_OneHot, &labels, 1,
                         (struct op_named_attr[]){
                             gradient_int("axis", 1),
                             { "depth", { .kind = OP_ATTR_TENSOR, .value = depth } },
                             { "values", { .kind = OP_ATTR_TENSOR, .value = values } },
                         },
                         3);
}

/* The weight of each item and position, [items][positions..]; OP_NONE: all are 1. */
static uint32_t weights_of(struct op_gradient *x, uint32_t labels)
{
    struct op_call c = op_attrs_of(x->g, x->n);
    const struct op_shape scores = gradient_shape(x, x->n->in[0]);
    uint32_t w = OP_NONE, ignored, label;
    const struct op_shape one = { gradient_shape(x, labels).type, 0, { 0 } };
    const int64_t index = op_has(&c, "ignore_index") ? op_int(&c, "ignore_index") : 0;
    struct op_shape each = gradient_shape(x, labels);

    each.type = scores.type;
    if (x->n->ins > 2 && x->n->in[2] != OP_NONE)
        w = gradient_binary(x, OP_Gather, x->n->in[2], labels);
    if (!op_has(&c, "ignore_index") || x->status != EMU_OK)
        return w;
    if (w == OP_NONE)
        w = gradient_expand(x, gradient_number(x, x->n->in[0], 1), each);
    x->status = op_constant_new(x->g, &one, &index, &label);
    ignored = x->status == EMU_OK ? gradient_binary(x, OP_Equal, labels, label) : OP_NONE;
    return gradient_node(
        x, OP_Where, (uint32_t[]){ ignored, gradient_number(x, x->n->in[0], 0), w }, 3, NULL, 0);
}

/* How each item's own loss enters the result: dy, weighted. */
static uint32_t shares(struct op_gradient *x, uint32_t labels)
{
    struct op_call c = op_attrs_of(x->g, x->n);
    uint32_t w = weights_of(x, labels), dy = x->out[0];
    const struct op_shape scalar = { .type = gradient_shape(x, x->n->in[0]).type };

    if (op_is(&c, "reduction", "mean")) {
        const struct op_shape each = gradient_shape(x, labels);
        uint64_t n = op_shape_count(&each);
        uint32_t sum = gradient_number(x, dy, (double)n);

        if (w != OP_NONE)
            sum = gradient_sum_to(x, w, scalar);
        dy = gradient_binary(x, OP_Div, dy, sum);
    }
    if (w != OP_NONE)
        return gradient_binary(x, OP_Mul, w, dy);
    return gradient_expand(x, dy, gradient_shape(x, labels));
}

/* CrossEntropy: (softmax - targets) dy. Targets are no parameters. */
static void targets_back(struct op_gradient *x)
{
    struct op_call c = op_attrs_of(x->g, x->n);
    const struct op_shape s = gradient_shape(x, x->n->in[0]);
    uint32_t p = gradient_node(x, OP_Softmax, x->n->in, 1,
                               (struct op_named_attr[]){ gradient_int("axis", 1) }, 1);
    uint32_t dy = x->out[0], d = gradient_binary(x, OP_Sub, p, x->n->in[1]);

    if (x->wanted[1])
        gradient_refuse(x, "targets are not learned");
    if (op_is(&c, "reduction", "mean"))
        dy = gradient_scaled(x, OP_Div, dy, (double)(op_shape_count(&s) / s.dim[1]));
    if (op_is(&c, "reduction", "none"))
        dy = by_class(x, dy, &s);
    x->in[0] = gradient_binary(x, OP_Mul, d, dy);
}

void gradient_loss_node(struct op_gradient *x)
{
    const struct op_shape s = gradient_shape(x, x->n->in[0]);
    uint32_t labels = x->n->in[1], hot, each, d;

    if (x->n->outs > 1 && x->out[1] != OP_NONE) {
        gradient_refuse(x, "the logarithms of the probabilities are read, too");
        return;
    }
    if (gradient_is(x, OP_CrossEntropy)) {
        targets_back(x);
        return;
    }
    if (x->n->ins > 2 && x->wanted[2])
        gradient_refuse(x, "weights of classes are not learned");
    hot = one_hot(x, labels, &s);
    each = by_class(x, shares(x, labels), &s);
    if (gradient_is(x, OP_SoftmaxCrossEntropyLoss))
        d = gradient_binary(x, OP_Sub,
                            gradient_node(x, OP_Softmax, x->n->in, 1,
                                          (struct op_named_attr[]){ gradient_int("axis", 1) }, 1),
                            hot);
    else
        d = gradient_unary(x, OP_Neg, hot);
    x->in[0] = gradient_binary(x, OP_Mul, d, each);
}

/* --- norms -------------------------------------------------------------------------------- */

/* Gives the inputs x, scale and shift what a node of ours computes at once. */
static void norm_back(struct op_gradient *x, enum op_code op, const struct op_named_attr *attr,
                      uint32_t attrs)
{
    uint32_t in[3] = { x->n->in[0], x->n->in[1], x->out[0] }, out[3];
    struct op_request r = { .op = op_name(op),
                            .block = x->n->block,
                            .in = in,
                            .ins = 3,
                            .outs = 3,
                            .attr = attr,
                            .attrs = attrs };
    char name[256];

    if (x->status != EMU_OK)
        return;
    snprintf(name, sizeof(name), "%.240s.back", x->n->name);
    r.name = name;
    x->status = op_node(x->g, &r, out);
    for (unsigned k = 0; x->status == EMU_OK && k < 3 && k < x->n->ins; k++)
        x->in[k] = k < 2 ? out[k] : gradient_sum_to(x, out[k], gradient_shape(x, x->n->in[k]));
}

/* [c] as [1][c][1..], to be broadcast to x. */
static uint32_t by_channel(struct op_gradient *x, uint32_t list)
{
    struct op_shape s = { .type = OP_TYPE_F32, .rank = gradient_shape(x, x->n->in[0]).rank };

    for (unsigned d = 0; d < s.rank; d++)
        s.dim[d] = 1;
    if (list == OP_NONE)
        return OP_NONE;
    if (s.rank > 1)
        s.dim[1] = gradient_shape(x, list).dim[0];
    return gradient_reshape(x, list, s);
}

/* BatchNormalization with given statistics: y = (x - mean) r scale + shift. */
static void batch_inference_back(struct op_gradient *x)
{
    struct op_call c = op_attrs_of(x->g, x->n);
    const uint32_t *in = x->n->in;
    uint32_t v = gradient_scaled(x, OP_Add, in[4], op_float(&c, "epsilon"));
    uint32_t r = by_channel(x, gradient_unary(x, OP_Reciprocal, gradient_unary(x, OP_Sqrt, v)));
    uint32_t dyr = gradient_binary(x, OP_Mul, x->out[0], r);

    if (x->wanted[3] || x->wanted[4])
        gradient_refuse(x, "statistics are not learned");
    if (x->wanted[0])
        x->in[0] = gradient_binary(x, OP_Mul, dyr, by_channel(x, in[1]));
    if (x->wanted[1]) {
        uint32_t d = gradient_binary(x, OP_Sub, in[0], by_channel(x, in[3]));
        uint32_t all = gradient_binary(x, OP_Mul, dyr, d);

        x->in[1] =
            all == OP_NONE
                ? OP_NONE
                : gradient_reshape(x,
                                   gradient_reduce(x, OP_ReduceSum, all,
                                                   ((1u << gradient_shape(x, all).rank) - 1) & ~2u),
                                   gradient_shape(x, in[1]));
    }
    if (x->wanted[2])
        x->in[2] =
            gradient_reshape(x,
                             gradient_reduce(x, OP_ReduceSum, x->out[0],
                                             ((1u << gradient_shape(x, x->out[0]).rank) - 1) & ~2u),
                             gradient_shape(x, in[2]));
}

void gradient_norm_node(struct op_gradient *x)
{
    struct op_call c = op_attrs_of(x->g, x->n);
    struct op_named_attr attr[3] = { { .name = NULL } };

    for (uint32_t k = 1; k < x->n->outs; k++) {
        if (x->out[k] != OP_NONE) {
            gradient_refuse(x, "the statistics are read, too");
            return;
        }
    }
    if (op_knows(&c, "epsilon"))
        attr[0] = gradient_float("epsilon", op_float(&c, "epsilon"));
    if (gradient_is(x, OP_BatchNormalization)) {
        if (op_int(&c, "training_mode"))
            norm_back(x, OP_BatchNormalizationGradient, attr, 1);
        else
            batch_inference_back(x);
    } else if (gradient_is(x, OP_GroupNormalization)) {
        attr[1] = gradient_int("num_groups", op_int(&c, "num_groups"));
        attr[2] = gradient_int("strided", op_int(&c, "strided"));
        norm_back(x, OP_GroupNormalizationGradient, attr, 3);
    } else if (gradient_is(x, OP_InstanceNormalization)) {
        attr[1] = gradient_int("num_groups", gradient_shape(x, x->n->in[0]).dim[1]);
        norm_back(x, OP_GroupNormalizationGradient, attr, 2);
    } else if (gradient_is(x, OP_LayerNormalization)) {
        attr[1] = gradient_int("axis", op_int(&c, "axis"));
        norm_back(x, OP_LayerNormalizationGradient, attr, 2);
    } else {
        gradient_refuse(x, "none is built for this norm");
    }
}
