/* op_error_slope.c - UnaryGradient: the kernels that it is made of, as in
 * models/lower/lower_slope.c. */
#include <string.h>

#include "models/bound/op_error_formula.h"

/* A slope at v; of a and b, the attributes, in f->p. */
typedef struct bounded slope_formula(const struct formula *f, struct bounded v);
/* A slope times dy that is one kernel. */
typedef struct bounded slope_kernel(const struct formula *f, struct bounded v, struct bounded dy);

static struct bounded square(const struct formula *f, struct bounded v)
{
    return two(f, BINARY_MUL, v, v);
}

/* 1 where v is above a number, else 0. */
static struct bounded above(const struct formula *f, struct bounded v, double number)
{
    return from(f, BINARY_LESS, number, v);
}

/* ---- kernels ---- */

static struct bounded relu(const struct formula *f, struct bounded v, struct bounded dy)
{
    return bounded_select(above(f, v, 0), dy, exactly(0));
}

/* What is made in f32, and then rounded. */
static struct bounded rounded_once(const struct formula *f, slope_kernel *in_f32, struct bounded v,
                                   struct bounded dy)
{
    const struct rounding r = rounding_of(ELEM_F32);
    struct bounded y = in_f32(&(const struct formula){ .r = &r }, v, dy);

    return f->r->elem == ELEM_F32 ? y : bounded_round(f->r, y, 1);
}

static struct bounded sigmoid_in_f32(const struct formula *f, struct bounded y, struct bounded dy)
{
    return two(f, BINARY_MUL, two(f, BINARY_SUB, y, square(f, y)), dy);
}

static struct bounded sigmoid(const struct formula *f, struct bounded y, struct bounded dy)
{
    return rounded_once(f, sigmoid_in_f32, y, dy);
}

static struct bounded tanh_in_f32(const struct formula *f, struct bounded y, struct bounded dy)
{
    return two(f, BINARY_SUB, dy, two(f, BINARY_MUL, square(f, y), dy));
}

static struct bounded tanh_of(const struct formula *f, struct bounded y, struct bounded dy)
{
    return rounded_once(f, tanh_in_f32, y, dy);
}

/* With s the sigmoid: in f16 s (1 + (1 - s) v) dy, in f32 (s + (v - v s) s) dy. */
static struct bounded swish(const struct formula *f, struct bounded v, struct bounded dy)
{
    struct bounded s = fn(f, UNARY_SIGMOID, v), t;

    if (f->r->elem == ELEM_F16) {
        t = two(f, BINARY_MUL, from(f, BINARY_SUB, 1, s), v);
        t = two(f, BINARY_MUL, s, from(f, BINARY_ADD, 1, t));
    } else {
        t = two(f, BINARY_SUB, v, two(f, BINARY_MUL, v, s));
        t = two(f, BINARY_ADD, s, two(f, BINARY_MUL, t, s));
    }
    return two(f, BINARY_MUL, t, dy);
}

/* ---- formulas ---- */

static struct bounded of_abs(const struct formula *f, struct bounded v)
{
    return fn(f, UNARY_SIGN, v);
}

/* root(v^2 sign + number), or what becomes of it. */
static struct bounded root_of_square(const struct formula *f, struct bounded v, double sign,
                                     double number, enum unary_op op)
{
    struct bounded t = square(f, v);

    return fn(f, op, sign < 0 ? from(f, BINARY_SUB, number, t) : by(f, BINARY_ADD, t, number));
}

static struct bounded of_acos(const struct formula *f, struct bounded v)
{
    return fn(f, UNARY_NEG, root_of_square(f, v, -1, 1, UNARY_RSQRT));
}

static struct bounded of_acosh(const struct formula *f, struct bounded v)
{
    return root_of_square(f, v, 1, -1, UNARY_RSQRT);
}

static struct bounded of_asin(const struct formula *f, struct bounded v)
{
    return root_of_square(f, v, -1, 1, UNARY_RSQRT);
}

static struct bounded of_asinh(const struct formula *f, struct bounded v)
{
    return root_of_square(f, v, 1, 1, UNARY_RSQRT);
}

static struct bounded of_atan(const struct formula *f, struct bounded v)
{
    return root_of_square(f, v, 1, 1, UNARY_RECIPROCAL);
}

static struct bounded of_atanh(const struct formula *f, struct bounded v)
{
    return root_of_square(f, v, -1, 1, UNARY_RECIPROCAL);
}

static struct bounded of_cos(const struct formula *f, struct bounded v)
{
    return fn(f, UNARY_NEG, fn(f, UNARY_SIN, v));
}

/* (e^v + e^-v) / 2, or their difference. */
static struct bounded hyperbolic(const struct formula *f, struct bounded v, enum binary_op op)
{
    struct bounded up = fn(f, UNARY_EXP, v), down = fn(f, UNARY_EXP, fn(f, UNARY_NEG, v));

    return by(f, BINARY_MUL, two(f, op, up, down), 0.5);
}

static struct bounded of_cosh(const struct formula *f, struct bounded v)
{
    return hyperbolic(f, v, BINARY_SUB);
}

static struct bounded of_sinh(const struct formula *f, struct bounded v)
{
    return hyperbolic(f, v, BINARY_ADD);
}

static struct bounded of_erf(const struct formula *f, struct bounded v)
{
    return by(f, BINARY_MUL, fn(f, UNARY_EXP, fn(f, UNARY_NEG, square(f, v))), M_2_SQRTPI);
}

static struct bounded of_exp(const struct formula *f, struct bounded y)
{
    (void)f;
    return y;
}

static struct bounded gelu_of_erf(const struct formula *f, struct bounded v)
{
    struct bounded bell = fn(f, UNARY_EXP, by(f, BINARY_MUL, square(f, v), -0.5));
    struct bounded t = fn(f, UNARY_ERF, by(f, BINARY_MUL, v, M_SQRT1_2));

    t = by(f, BINARY_MUL, by(f, BINARY_ADD, t, 1), 0.5);
    bell = by(f, BINARY_MUL, two(f, BINARY_MUL, v, bell), 1 / sqrt(2 * M_PI));
    return two(f, BINARY_ADD, t, bell);
}

static struct bounded gelu_of_tanh(const struct formula *f, struct bounded v)
{
    const double c = sqrt(2 / M_PI), k = 0.044715;
    struct bounded v2 = square(f, v), inner = by(f, BINARY_ADD, by(f, BINARY_MUL, v2, 3 * k), 1);
    struct bounded t = by(f, BINARY_MUL, by(f, BINARY_ADD, by(f, BINARY_MUL, v2, k), 1), c);

    t = fn(f, UNARY_TANH, two(f, BINARY_MUL, v, t));
    inner = two(f, BINARY_MUL, two(f, BINARY_MUL, v, from(f, BINARY_SUB, 1, square(f, t))), inner);
    t = by(f, BINARY_MUL, by(f, BINARY_ADD, t, 1), 0.5);
    return two(f, BINARY_ADD, t, by(f, BINARY_MUL, inner, 0.5 * c));
}

static struct bounded of_gelu(const struct formula *f, struct bounded v)
{
    return f->p[0] != 0 ? gelu_of_tanh(f, v) : gelu_of_erf(f, v);
}

static struct bounded of_hard_sigmoid(const struct formula *f, struct bounded v)
{
    struct bounded t = by(f, BINARY_ADD, by(f, BINARY_MUL, v, f->p[0]), f->p[1]);
    struct bounded inside = two(f, BINARY_MUL, above(f, t, 0), by(f, BINARY_LESS, t, 1));

    return by(f, BINARY_MUL, inside, f->p[0]);
}

static struct bounded of_hard_swish(const struct formula *f, struct bounded v)
{
    struct bounded t = by(f, BINARY_ADD, by(f, BINARY_MUL, v, 1.0 / 3), 0.5);
    struct bounded high = above(f, v, 3);

    t = two(f, BINARY_MUL, t, from(f, BINARY_LESS_OR_EQUAL, -3, v));
    return two(f, BINARY_ADD, two(f, BINARY_MUL, t, from(f, BINARY_SUB, 1, high)), high);
}

static struct bounded of_leaky_relu(const struct formula *f, struct bounded v)
{
    return by(f, BINARY_ADD, by(f, BINARY_MUL, above(f, v, 0), 1 - f->p[0]), f->p[0]);
}

static struct bounded of_log(const struct formula *f, struct bounded v)
{
    return fn(f, UNARY_RECIPROCAL, v);
}

static struct bounded of_reciprocal(const struct formula *f, struct bounded y)
{
    return fn(f, UNARY_NEG, square(f, y));
}

/* high where v is not negative, else low e^(v / width). */
static struct bounded exponential(const struct formula *f, struct bounded v, double low,
                                  double width, double high)
{
    struct bounded t = by(f, BINARY_MUL, by(f, BINARY_MIN, v, 0), 1 / width);
    struct bounded negative = by(f, BINARY_LESS, v, 0);

    t = two(f, BINARY_MUL, negative, by(f, BINARY_MUL, fn(f, UNARY_EXP, t), low));
    return two(f, BINARY_ADD, t, by(f, BINARY_MUL, from(f, BINARY_SUB, 1, negative), high));
}

static struct bounded of_celu(const struct formula *f, struct bounded v)
{
    return exponential(f, v, 1, f->p[0], 1);
}

static struct bounded of_elu(const struct formula *f, struct bounded v)
{
    return exponential(f, v, f->p[0], 1, 1);
}

static struct bounded of_selu(const struct formula *f, struct bounded v)
{
    return exponential(f, v, f->p[0] * f->p[1], 1, f->p[1]);
}

static struct bounded of_shrink(const struct formula *f, struct bounded v)
{
    return above(f, fn(f, UNARY_ABS, v), f->p[0]);
}

static struct bounded of_sin(const struct formula *f, struct bounded v)
{
    return fn(f, UNARY_COS, v);
}

static struct bounded of_softplus(const struct formula *f, struct bounded v)
{
    return fn(f, UNARY_SIGMOID, v);
}

static struct bounded of_softsign(const struct formula *f, struct bounded v)
{
    return square(f, fn(f, UNARY_RECIPROCAL, by(f, BINARY_ADD, fn(f, UNARY_ABS, v), 1)));
}

static struct bounded of_sqrt(const struct formula *f, struct bounded y)
{
    return from(f, BINARY_DIV, 0.5, y);
}

static struct bounded of_tan(const struct formula *f, struct bounded y)
{
    return by(f, BINARY_ADD, square(f, y), 1);
}

static struct bounded of_thresholded_relu(const struct formula *f, struct bounded v)
{
    return above(f, v, f->p[0]);
}

/* ---- the family ---- */

static const struct slope_row {
    const char *function;
    slope_formula *slope; /* NULL: a kernel */
    slope_kernel *kernel;
} slopes[] = {
    { "Abs", of_abs, NULL },
    { "Acos", of_acos, NULL },
    { "Acosh", of_acosh, NULL },
    { "Asin", of_asin, NULL },
    { "Asinh", of_asinh, NULL },
    { "Atan", of_atan, NULL },
    { "Atanh", of_atanh, NULL },
    { "Celu", of_celu, NULL },
    { "Cos", of_cos, NULL },
    { "Cosh", of_cosh, NULL },
    { "Elu", of_elu, NULL },
    { "Erf", of_erf, NULL },
    { "Exp", of_exp, NULL },
    { "Gelu", of_gelu, NULL },
    { "HardSigmoid", of_hard_sigmoid, NULL },
    { "HardSwish", of_hard_swish, NULL },
    { "LeakyRelu", of_leaky_relu, NULL },
    { "Log", of_log, NULL },
    { "Reciprocal", of_reciprocal, NULL },
    { "Relu", NULL, relu },
    { "Selu", of_selu, NULL },
    { "Shrink", of_shrink, NULL },
    { "Sigmoid", NULL, sigmoid },
    { "Sin", of_sin, NULL },
    { "Sinh", of_sinh, NULL },
    { "Softplus", of_softplus, NULL },
    { "Softsign", of_softsign, NULL },
    { "Sqrt", of_sqrt, NULL },
    { "Swish", NULL, swish },
    { "Tan", of_tan, NULL },
    { "Tanh", NULL, tanh_of },
    { "ThresholdedRelu", of_thresholded_relu, NULL },
};

static const struct slope_row *row_of(const char *function)
{
    for (unsigned k = 0; k < EMU_COUNT_OF(slopes); k++) {
        if (!strcmp(slopes[k].function, function))
            return &slopes[k];
    }
    return NULL;
}

/* An operand of the type that is computed with. */
static struct bounded operand(const struct rounding *r, const struct bounded_value *x, uint64_t i)
{
    struct bounded v = bounded_at(x, i);

    v.e += bounded_constant(r, v.v).e;
    return v;
}

enum emu_status slope_error(const struct op_error *o, const struct op_node *n,
                            const struct bounded_value *const *in, struct bounded_value *out)
{
    const struct rounding r = rounding_of(o->elem);
    struct op_call c = op_attrs_of(o->g, n);
    const struct slope_row *row = row_of(op_string(&c, "function"));
    const struct formula f = { .r = &r, .p = { op_float(&c, "alpha"), op_float(&c, "beta") } };

    if (!row)
        return FAIL(BAD_FILE, "node %s: no bounds of the slope of %s are built yet", n->name,
                    op_string(&c, "function"));
    for (uint64_t i = 0; i < count_of(out); i++) {
        struct bounded v = operand(&r, in[0], i), dy = operand(&r, in[1], i);

        out->e[i] =
            (row->kernel ? row->kernel(&f, v, dy) : two(&f, BINARY_MUL, dy, row->slope(&f, v))).e;
    }
    return EMU_OK;
}
