/* op_error_elementwise.c - functions of one number and of several: the kernels that they are made
 * of, as in models/lower/lower_unary.c and lower_binary.c. */
#include <string.h>

#include "models/bound/op_error_formula.h"

typedef struct bounded unary_formula(const struct formula *f, struct bounded x);

/* ---- formulas of one number ---- */

static struct bounded clamped(const struct formula *f, struct bounded x, double low, double high)
{
    return by(f, BINARY_MIN, by(f, BINARY_MAX, x, low), high);
}

static struct bounded clip(const struct formula *f, struct bounded x)
{
    return clamped(f, x, f->p[0], f->p[1]);
}

static struct bounded leaky_relu(const struct formula *f, struct bounded x)
{
    return two(f, f->p[0] > 1 ? BINARY_MIN : BINARY_MAX, by(f, BINARY_MUL, x, f->p[0]), x);
}

static struct bounded hard_sigmoid(const struct formula *f, struct bounded x)
{
    return clamped(f, by(f, BINARY_ADD, by(f, BINARY_MUL, x, f->p[0]), f->p[1]), 0, 1);
}

static struct bounded exponential(const struct formula *f, struct bounded x, double alpha,
                                  double width)
{
    struct bounded low = by(f, BINARY_MIN, x, 0);

    if (width != 1)
        low = by(f, BINARY_MUL, low, 1 / width);
    low = by(f, BINARY_MUL, by(f, BINARY_SUB, fn(f, UNARY_EXP, low), 1), alpha);
    return two(f, BINARY_ADD, fn(f, UNARY_RELU, x), low);
}

static struct bounded elu(const struct formula *f, struct bounded x)
{
    return exponential(f, x, f->p[0], 1);
}

static struct bounded celu(const struct formula *f, struct bounded x)
{
    return exponential(f, x, f->p[0], f->p[0]);
}

static struct bounded selu(const struct formula *f, struct bounded x)
{
    return by(f, BINARY_MUL, exponential(f, x, f->p[0], 1), f->p[1]);
}

static struct bounded softplus(const struct formula *f, struct bounded x)
{
    struct bounded t = fn(f, UNARY_EXP, fn(f, UNARY_NEG, fn(f, UNARY_ABS, x)));

    return two(f, BINARY_ADD, fn(f, UNARY_RELU, x), fn(f, UNARY_LOG, by(f, BINARY_ADD, t, 1)));
}

static struct bounded softsign(const struct formula *f, struct bounded x)
{
    return two(f, BINARY_DIV, x, by(f, BINARY_ADD, fn(f, UNARY_ABS, x), 1));
}

static struct bounded tangent(const struct formula *f, struct bounded x)
{
    return two(f, BINARY_DIV, fn(f, UNARY_SIN, x), fn(f, UNARY_COS, x));
}

static struct bounded hyperbolic(const struct formula *f, struct bounded x, enum binary_op op)
{
    struct bounded up = fn(f, UNARY_EXP, x), down = fn(f, UNARY_EXP, fn(f, UNARY_NEG, x));

    return by(f, BINARY_MUL, two(f, op, up, down), 0.5);
}

static struct bounded sinh_of(const struct formula *f, struct bounded x)
{
    return hyperbolic(f, x, BINARY_SUB);
}

static struct bounded cosh_of(const struct formula *f, struct bounded x)
{
    return hyperbolic(f, x, BINARY_ADD);
}

static struct bounded area(const struct formula *f, struct bounded y, double sign)
{
    const struct rounding r = rounding_of(ELEM_F32);
    const struct formula wide = { .r = &r };
    struct bounded root =
        fn(&wide, UNARY_SQRT, by(&wide, BINARY_ADD, two(&wide, BINARY_MUL, y, y), sign));

    y = fn(&wide, UNARY_LOG, two(&wide, BINARY_ADD, y, root));
    return f->r->elem == ELEM_F32 ? y : bounded_round(f->r, y, 1);
}

static struct bounded acosh_of(const struct formula *f, struct bounded x)
{
    return area(f, x, -1);
}

static struct bounded asinh_of(const struct formula *f, struct bounded x)
{
    return two(f, BINARY_MUL, fn(f, UNARY_SIGN, x), area(f, fn(f, UNARY_ABS, x), 1));
}

static struct bounded atanh_of(const struct formula *f, struct bounded x)
{
    struct bounded ratio = two(f, BINARY_DIV, by(f, BINARY_ADD, x, 1), from(f, BINARY_SUB, 1, x));

    return by(f, BINARY_MUL, fn(f, UNARY_LOG, ratio), 0.5);
}

static struct bounded not_of(const struct formula *f, struct bounded x)
{
    return from(f, BINARY_SUB, 1, x);
}

static struct bounded is_nan(const struct formula *f, struct bounded x)
{
    (void)f;
    return exactly(isnan(x.v));
}

static struct bounded thresholded_relu(const struct formula *f, struct bounded x)
{
    return bounded_select(from(f, BINARY_LESS, f->p[0], x), x, exactly(0));
}

static struct bounded shrink(const struct formula *f, struct bounded x)
{
    double bias = f->p[0], lambd = f->p[1];
    struct bounded y =
        bounded_select(from(f, BINARY_LESS, lambd, x), by(f, BINARY_SUB, x, bias), exactly(0));

    return bounded_select(by(f, BINARY_LESS, x, -lambd), by(f, BINARY_ADD, x, bias), y);
}

static struct bounded gelu_by_tanh(const struct formula *f, struct bounded x)
{
    struct bounded t = by(f, BINARY_MUL, two(f, BINARY_MUL, x, x), 0.044715);

    t = two(f, BINARY_MUL, by(f, BINARY_ADD, t, 1), x);
    t = fn(f, UNARY_TANH, by(f, BINARY_MUL, t, sqrt(2 / M_PI)));
    return two(f, BINARY_MUL, by(f, BINARY_ADD, t, 1), by(f, BINARY_MUL, x, 0.5));
}

static const struct unary_row {
    const char *name;
    enum unary_op op;       /* without a formula */
    unary_formula *formula; /* else NULL */
    const char *attr[2];    /* formula.p; NULL: none */
} unary[] = {
    { "Abs", UNARY_ABS, NULL, { NULL } },
    { "Acosh", UNARY_COUNT, acosh_of, { NULL } },
    { "Asinh", UNARY_COUNT, asinh_of, { NULL } },
    { "Atanh", UNARY_COUNT, atanh_of, { NULL } },
    { "Ceil", UNARY_CEIL, NULL, { NULL } },
    { "Celu", UNARY_COUNT, celu, { "alpha" } },
    { "Clip", UNARY_COUNT, clip, { NULL } },
    { "Cos", UNARY_COS, NULL, { NULL } },
    { "Cosh", UNARY_COUNT, cosh_of, { NULL } },
    { "Elu", UNARY_COUNT, elu, { "alpha" } },
    { "Erf", UNARY_ERF, NULL, { NULL } },
    { "Exp", UNARY_EXP, NULL, { NULL } },
    { "Floor", UNARY_FLOOR, NULL, { NULL } },
    { "Gelu", UNARY_GELU, NULL, { NULL } },
    { "HardSigmoid", UNARY_COUNT, hard_sigmoid, { "alpha", "beta" } },
    { "HardSwish", UNARY_HARD_SWISH, NULL, { NULL } },
    { "IsNaN", UNARY_COUNT, is_nan, { NULL } },
    { "LeakyRelu", UNARY_COUNT, leaky_relu, { "alpha" } },
    { "Log", UNARY_LOG, NULL, { NULL } },
    { "Neg", UNARY_NEG, NULL, { NULL } },
    { "Not", UNARY_COUNT, not_of, { NULL } },
    { "Reciprocal", UNARY_RECIPROCAL, NULL, { NULL } },
    { "Relu", UNARY_RELU, NULL, { NULL } },
    { "Round", UNARY_ROUND, NULL, { NULL } },
    { "Selu", UNARY_COUNT, selu, { "alpha", "gamma" } },
    { "Shrink", UNARY_COUNT, shrink, { "bias", "lambd" } },
    { "Sigmoid", UNARY_SIGMOID, NULL, { NULL } },
    { "Sign", UNARY_SIGN, NULL, { NULL } },
    { "Sin", UNARY_SIN, NULL, { NULL } },
    { "Sinh", UNARY_COUNT, sinh_of, { NULL } },
    { "Softplus", UNARY_COUNT, softplus, { NULL } },
    { "Softsign", UNARY_COUNT, softsign, { NULL } },
    { "Sqrt", UNARY_SQRT, NULL, { NULL } },
    { "Swish", UNARY_SWISH, NULL, { NULL } },
    { "Tan", UNARY_COUNT, tangent, { NULL } },
    { "Tanh", UNARY_TANH, NULL, { NULL } },
    { "ThresholdedRelu", UNARY_COUNT, thresholded_relu, { "alpha" } },
};

static const struct unary_row *unary_row_of(const struct op_node *n)
{
    for (unsigned k = 0; k < EMU_COUNT_OF(unary); k++) {
        if (op_node_is(n, unary[k].name))
            return &unary[k];
    }
    return NULL;
}

/* ---- families ---- */

/* Bounds of Clip, which are constants. EMU_NO_MEMORY. */
static enum emu_status clip_bounds(const struct op_error *o, const struct op_call *c, double p[2])
{
    static const char *const name[] = { "min", "max" };

    for (unsigned k = 0; k < 2; k++) {
        uint32_t value = op_tensor_value(c, name[k]);
        struct op_tensor t;

        p[k] = k ? INFINITY : -INFINITY;
        if (value == OP_NONE)
            continue;
        TRY(op_value_read(o->g, value, &t));
        p[k] = op_tensor_number(&t, 0);
        op_tensor_free(&t);
    }
    return EMU_OK;
}

enum emu_status unary_error(const struct op_error *o, const struct op_node *n,
                            const struct bounded_value *const *in, struct bounded_value *out)
{
    const struct rounding r = rounding_of(o->elem);
    const struct unary_row *row = unary_row_of(n);
    struct op_call c = op_attrs_of(o->g, n);
    struct formula f = { .r = &r };
    unary_formula *formula;

    if (!row)
        return FAIL(BAD_FILE, "node %s (%s): no bounds of the operator are built yet", n->name,
                    n->row->name);
    formula = row->formula;
    for (unsigned k = 0; k < 2 && row->attr[k]; k++)
        f.p[k] = op_float(&c, row->attr[k]);
    if (op_node_is(n, "Clip"))
        TRY(clip_bounds(o, &c, f.p));
    if (op_node_is(n, "Gelu") && op_is(&c, "approximate", "tanh"))
        formula = gelu_by_tanh;
    for (uint64_t i = 0; i < count_of(out); i++) {
        struct bounded x = bounded_at(in[0], i);

        out->e[i] = (formula ? formula(&f, x) : fn(&f, row->op, x)).e;
    }
    return EMU_OK;
}

static const struct binary_row {
    const char *name;
    enum binary_op op;
    int swapped;
} binary[] = {
    { "Add", BINARY_ADD, 0 },      { "And", BINARY_MUL, 0 },
    { "Div", BINARY_DIV, 0 },      { "Equal", BINARY_EQUAL, 0 },
    { "Greater", BINARY_LESS, 1 }, { "GreaterOrEqual", BINARY_LESS_OR_EQUAL, 1 },
    { "Less", BINARY_LESS, 0 },    { "LessOrEqual", BINARY_LESS_OR_EQUAL, 0 },
    { "Max", BINARY_MAX, 0 },      { "Mean", BINARY_ADD, 0 },
    { "Min", BINARY_MIN, 0 },      { "Mul", BINARY_MUL, 0 },
    { "Or", BINARY_MAX, 0 },       { "Pow", BINARY_POW, 0 },
    { "Sub", BINARY_SUB, 0 },      { "Sum", BINARY_ADD, 0 },
    { "Xor", BINARY_EQUAL, 0 },
};

static const struct binary_row *binary_row_of(const struct op_node *n)
{
    for (unsigned k = 0; k < EMU_COUNT_OF(binary); k++) {
        if (op_node_is(n, binary[k].name))
            return &binary[k];
    }
    return NULL;
}

/* All operands of a number of the result. */
static struct bounded combine(const struct formula *f, const struct op_node *n,
                              const struct binary_row *row, const struct bounded *x)
{
    struct bounded y = x[0];

    if (op_node_is(n, "Where"))
        return bounded_select(x[0], x[1], x[2]);
    if (op_node_is(n, "PRelu"))
        return bounded_select(by(f, BINARY_LESS, x[0], 0), two(f, BINARY_MUL, x[0], x[1]), x[0]);
    if (row->swapped)
        return two(f, row->op, x[1], x[0]);
    for (uint32_t k = 1; k < n->ins; k++)
        y = two(f, row->op, y, x[k]);
    if (op_node_is(n, "Mean") && n->ins > 1)
        y = by(f, BINARY_MUL, y, 1.0 / n->ins);
    return y;
}

enum emu_status binary_error(const struct op_error *o, const struct op_node *n,
                             const struct bounded_value *const *in, struct bounded_value *out)
{
    const struct rounding r = rounding_of(o->elem);
    const struct binary_row *row = binary_row_of(n);
    const struct formula f = { .r = &r };
    struct bounded *x = emu_alloc(n->ins, sizeof(*x));
    uint64_t(*stride)[OP_RANK_MAX] = emu_alloc(n->ins, sizeof(*stride));
    const struct op_shape *s = &out->t.shape;
    uint32_t index[OP_RANK_MAX] = { 0 };
    enum emu_status st = x && stride ? EMU_OK : FAIL(NO_MEMORY, "%s", n->name);

    if (st == EMU_OK && !row && !op_node_is(n, "Where") && !op_node_is(n, "PRelu"))
        st = FAIL(BAD_FILE, "node %s (%s): no bounds of the operator are built yet", n->name,
                  n->row->name);
    for (uint32_t k = 0; st == EMU_OK && k < n->ins; k++)
        op_broadcast_strides(&in[k]->t.shape, s, stride[k]);
    for (uint64_t i = 0; st == EMU_OK && i < count_of(out); i++) {
        for (uint32_t k = 0; k < n->ins; k++) {
            uint64_t at = 0;

            for (unsigned d = 0; d < s->rank; d++)
                at += index[d] * stride[k][d];
            x[k] = bounded_at(in[k], at);
            x[k].e += bounded_constant(&r, x[k].v).e; /* f32 that becomes a field's operand */
        }
        out->e[i] = combine(&f, n, row, x).e;
        op_index_next(s, index);
    }
    emu_free(x);
    emu_free(stride);
    return st;
}
