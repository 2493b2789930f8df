/* lower_unary.c - functions of one number: kernels, and formulas of kernels. */
#include <math.h>
#include <string.h>

#include "models/lower/arithmetic.h"

/* An attribute's number; of a tensor, its only one. */
static double number_of(const struct formula *f, const struct op_node *n, const char *name,
                        double otherwise)
{
    struct op_call c = lower_call(f->l, n);
    double number;

    if (!op_has(&c, name))
        return otherwise;
    if (op_node_is(n, "Clip"))
        return lower_scalar(f->l, op_tensor_value(&c, name), &number) ? number : otherwise;
    return op_float(&c, name);
}

typedef struct tensor unary_formula(const struct formula *f, const struct op_node *n,
                                    struct tensor x);

static struct tensor clip(const struct formula *f, const struct op_node *n, struct tensor x)
{
    return op_clamp(f->l->g, f->l->seq, x, (float)number_of(f, n, "min", -INFINITY),
                    (float)number_of(f, n, "max", INFINITY), f->name);
}

static struct tensor leaky_relu(const struct formula *f, const struct op_node *n, struct tensor x)
{
    return op_leaky_relu(f->l->g, f->l->seq, x, (float)number_of(f, n, "alpha", 0), f->name);
}

static struct tensor hard_sigmoid(const struct formula *f, const struct op_node *n, struct tensor x)
{
    return op_hard_sigmoid(f->l->g, f->l->seq, x, (float)number_of(f, n, "alpha", 0),
                           (float)number_of(f, n, "beta", 0), f->name);
}

/* max(x, 0) + alpha (e^(min(x, 0) / width) - 1). */
static struct tensor exponential(const struct formula *f, struct tensor x, double alpha,
                                 double width)
{
    struct tensor low = fn_by(f, BINARY_MIN, x, 0);

    if (width != 1)
        low = fn_by(f, BINARY_MUL, low, 1 / width);
    low = fn_by(f, BINARY_MUL, fn_by(f, BINARY_SUB, fn(f, UNARY_EXP, low), 1), alpha);
    return fn_two(f, BINARY_ADD, fn(f, UNARY_RELU, x), low);
}

static struct tensor elu(const struct formula *f, const struct op_node *n, struct tensor x)
{
    return exponential(f, x, number_of(f, n, "alpha", 1), 1);
}

static struct tensor celu(const struct formula *f, const struct op_node *n, struct tensor x)
{
    double alpha = number_of(f, n, "alpha", 1);

    return exponential(f, x, alpha, alpha);
}

static struct tensor selu(const struct formula *f, const struct op_node *n, struct tensor x)
{
    return fn_by(f, BINARY_MUL, exponential(f, x, number_of(f, n, "alpha", 1), 1),
                 number_of(f, n, "gamma", 1));
}

/* max(x, 0) + log(1 + e^-|x|), which does not overflow. */
static struct tensor softplus(const struct formula *f, const struct op_node *n, struct tensor x)
{
    struct tensor t = fn(f, UNARY_EXP, fn(f, UNARY_NEG, fn(f, UNARY_ABS, x)));

    (void)n;
    return fn_two(f, BINARY_ADD, fn(f, UNARY_RELU, x),
                  fn(f, UNARY_LOG, fn_by(f, BINARY_ADD, t, 1)));
}

static struct tensor softsign(const struct formula *f, const struct op_node *n, struct tensor x)
{
    (void)n;
    return fn_two(f, BINARY_DIV, x, fn_by(f, BINARY_ADD, fn(f, UNARY_ABS, x), 1));
}

static struct tensor tangent(const struct formula *f, const struct op_node *n, struct tensor x)
{
    (void)n;
    return fn_two(f, BINARY_DIV, fn(f, UNARY_SIN, x), fn(f, UNARY_COS, x));
}

/* (e^x + sign e^-x) / 2 */
static struct tensor hyperbolic(const struct formula *f, struct tensor x, double sign)
{
    struct tensor up = fn(f, UNARY_EXP, x), down = fn(f, UNARY_EXP, fn(f, UNARY_NEG, x));

    return fn_by(f, BINARY_MUL, fn_two(f, sign > 0 ? BINARY_ADD : BINARY_SUB, up, down), 0.5);
}

static struct tensor sinh_of(const struct formula *f, const struct op_node *n, struct tensor x)
{
    (void)n;
    return hyperbolic(f, x, -1);
}

static struct tensor cosh_of(const struct formula *f, const struct op_node *n, struct tensor x)
{
    (void)n;
    return hyperbolic(f, x, 1);
}

/* log(y + root(y y + sign)), in f32: squares of numbers beyond 255 are beyond f16. */
static struct tensor area(const struct formula *f, struct tensor y, double sign)
{
    enum elem e = tensor_elem(f->l->g, y);
    struct tensor root;

    if (e != ELEM_F32)
        y = op_cast(f->l->g, f->l->seq, y, ELEM_F32, f->name);
    root = fn(f, UNARY_SQRT, fn_by(f, BINARY_ADD, fn_two(f, BINARY_MUL, y, y), sign));
    y = fn(f, UNARY_LOG, fn_two(f, BINARY_ADD, y, root));
    return e == ELEM_F32 ? y : op_cast(f->l->g, f->l->seq, y, e, f->name);
}

static struct tensor acosh_of(const struct formula *f, const struct op_node *n, struct tensor x)
{
    (void)n;
    return area(f, x, -1);
}

static struct tensor asinh_of(const struct formula *f, const struct op_node *n, struct tensor x)
{
    (void)n;
    return fn_two(f, BINARY_MUL, fn(f, UNARY_SIGN, x), area(f, fn(f, UNARY_ABS, x), 1));
}

static struct tensor atanh_of(const struct formula *f, const struct op_node *n, struct tensor x)
{
    struct tensor ratio =
        fn_two(f, BINARY_DIV, fn_by(f, BINARY_ADD, x, 1), fn_from(f, BINARY_SUB, 1, x));

    (void)n;
    return fn_by(f, BINARY_MUL, fn(f, UNARY_LOG, ratio), 0.5);
}

static struct tensor not_of(const struct formula *f, const struct op_node *n, struct tensor x)
{
    (void)n;
    return fn_from(f, BINARY_SUB, 1, x);
}

static struct tensor is_nan(const struct formula *f, const struct op_node *n, struct tensor x)
{
    (void)n;
    return fn_from(f, BINARY_SUB, 1, fn_two(f, BINARY_EQUAL, x, x));
}

static struct tensor zeros_like(const struct formula *f, struct tensor x)
{
    struct op_shape s = { .rank = tensor_rank(f->l->g, x) };

    memcpy(s.dim, tensor_shape(f->l->g, x), s.rank * sizeof(s.dim[0]));
    return lower_filled(f->l, tensor_elem(f->l->g, x), &s, 0);
}

static struct tensor thresholded_relu(const struct formula *f, const struct op_node *n,
                                      struct tensor x)
{
    struct tensor above = fn_from(f, BINARY_LESS, number_of(f, n, "alpha", 1), x);

    return fn_select(f, above, x, zeros_like(f, x));
}

/* x + bias below -lambd, x - bias above lambd, else 0. */
static struct tensor shrink(const struct formula *f, const struct op_node *n, struct tensor x)
{
    double lambd = number_of(f, n, "lambd", 0.5), bias = number_of(f, n, "bias", 0);
    struct tensor above = fn_from(f, BINARY_LESS, lambd, x);
    struct tensor below = fn_by(f, BINARY_LESS, x, -lambd);
    struct tensor y = fn_select(f, above, fn_by(f, BINARY_SUB, x, bias), zeros_like(f, x));

    return fn_select(f, below, fn_by(f, BINARY_ADD, x, bias), y);
}

/* x (1 + tanh(root(2 / pi) (x + 0.044715 x^3))) / 2 */
static struct tensor gelu(const struct formula *f, const struct op_node *n, struct tensor x)
{
    struct op_call c = lower_call(f->l, n);
    struct tensor t;

    if (!op_is(&c, "approximate", "tanh"))
        return fn(f, UNARY_GELU, x);
    t = fn_by(f, BINARY_MUL, fn_two(f, BINARY_MUL, x, x), 0.044715);
    t = fn_two(f, BINARY_MUL, fn_by(f, BINARY_ADD, t, 1), x);
    t = fn(f, UNARY_TANH, fn_by(f, BINARY_MUL, t, sqrt(2 / M_PI)));
    return fn_two(f, BINARY_MUL, fn_by(f, BINARY_ADD, t, 1), fn_by(f, BINARY_MUL, x, 0.5));
}

static const struct unary_row {
    const char *name;
    enum unary_op op;       /* UNARY_COUNT: a formula */
    unary_formula *formula; /* else NULL */
    int keeps_field;        /* 1: it is finite at 0, which is what fields are filled up with */
} unary[] = {
    { "Abs", UNARY_ABS, NULL, 1 },
    { "Acosh", UNARY_COUNT, acosh_of, 0 },
    { "Asinh", UNARY_COUNT, asinh_of, 1 },
    { "Atanh", UNARY_COUNT, atanh_of, 1 },
    { "Ceil", UNARY_CEIL, NULL, 1 },
    { "Celu", UNARY_COUNT, celu, 1 },
    { "Clip", UNARY_COUNT, clip, 1 },
    { "Cos", UNARY_COS, NULL, 1 },
    { "Cosh", UNARY_COUNT, cosh_of, 1 },
    { "Elu", UNARY_COUNT, elu, 1 },
    { "Erf", UNARY_ERF, NULL, 1 },
    { "Exp", UNARY_EXP, NULL, 1 },
    { "Floor", UNARY_FLOOR, NULL, 1 },
    { "Gelu", UNARY_COUNT, gelu, 1 },
    { "HardSigmoid", UNARY_COUNT, hard_sigmoid, 1 },
    { "HardSwish", UNARY_HARD_SWISH, NULL, 1 },
    { "IsNaN", UNARY_COUNT, is_nan, 1 },
    { "LeakyRelu", UNARY_COUNT, leaky_relu, 1 },
    { "Log", UNARY_LOG, NULL, 0 },
    { "Neg", UNARY_NEG, NULL, 1 },
    { "Not", UNARY_COUNT, not_of, 1 },
    { "Reciprocal", UNARY_RECIPROCAL, NULL, 0 },
    { "Relu", UNARY_RELU, NULL, 1 },
    { "Round", UNARY_ROUND, NULL, 1 },
    { "Selu", UNARY_COUNT, selu, 1 },
    { "Shrink", UNARY_COUNT, shrink, 1 },
    { "Sigmoid", UNARY_SIGMOID, NULL, 1 },
    { "Sign", UNARY_SIGN, NULL, 1 },
    { "Sin", UNARY_SIN, NULL, 1 },
    { "Sinh", UNARY_COUNT, sinh_of, 1 },
    { "Softplus", UNARY_COUNT, softplus, 1 },
    { "Softsign", UNARY_COUNT, softsign, 1 },
    { "Sqrt", UNARY_SQRT, NULL, 1 },
    { "Swish", UNARY_SWISH, NULL, 1 },
    { "Tan", UNARY_COUNT, tangent, 1 },
    { "Tanh", UNARY_TANH, NULL, 1 },
    { "ThresholdedRelu", UNARY_COUNT, thresholded_relu, 1 },
};

static const struct unary_row *row_of(const struct op_node *n)
{
    for (unsigned k = 0; k < EMU_COUNT_OF(unary); k++) {
        if (!strcmp(unary[k].name, n->row->name))
            return &unary[k];
    }
    return NULL;
}

enum emu_status lower_unary(struct lowering *l, const struct node_group *group,
                            const struct op_node *n)
{
    const struct formula f = { l, n->name };
    const struct unary_row *row = row_of(n);
    const struct placed *p = &l->at[n->in[0]];
    int field = placed_as_field(p) && row->keeps_field;
    struct activation y = p->field;
    struct tensor t = field ? y.t : lower_view(l, n->in[0]);

    (void)group;
    t = row->formula ? row->formula(&f, n, t) : fn(&f, row->op, t);
    y.t = t;
    if (field)
        lower_set_field(l, n->out[0], y, p->axis);
    else
        lower_set_view(l, n->out[0], t);
    return EMU_OK;
}

const char *unary_obstacle(const struct op_graph *g, const struct op_node *n)
{
    struct op_call c = op_attrs_of(g, n);
    double number;

    if (!row_of(n))
        return "no kernel of this function is built yet";
    if (op_type_kind(g->value[n->in[0]].shape.type) == OP_KIND_INT)
        return "integers: tiles compute with floats, so cast them before";
    if (op_node_is(n, "Clip")) {
        const struct lowering l = { .og = g };

        for (unsigned k = 0; k < 2; k++) {
            uint32_t bound = op_tensor_value(&c, k ? "max" : "min");

            if (bound != OP_NONE && !lower_scalar(&l, bound, &number))
                return "bounds that are not one constant number";
        }
    }
    return NULL;
}
