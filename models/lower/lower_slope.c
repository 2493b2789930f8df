/* lower_slope.c - UnaryGradient: kernels, or formulas of kernels (family_slope.c has their
 * meaning). */
#include <math.h>
#include <string.h>

#include "models/lower/arithmetic.h"

/* A function at v, with its attributes a and b. */
struct slope {
    struct formula f;
    struct tensor v;
    double a, b;
};
typedef struct tensor slope_formula(const struct slope *s);

static struct tensor square(const struct formula *f, struct tensor v)
{
    return fn_two(f, BINARY_MUL, v, v);
}

/* number - t */
static struct tensor minus(const struct formula *f, double number, struct tensor t)
{
    return fn_from(f, BINARY_SUB, number, t);
}

/* 1 where v is above a number, else 0. */
static struct tensor above(const struct formula *f, struct tensor v, double number)
{
    return fn_from(f, BINARY_LESS, number, v);
}

static struct tensor of_abs(const struct slope *s)
{
    return fn(&s->f, UNARY_SIGN, s->v);
}

/* Of the result, like other functions whose slope is simpler so. */
static struct tensor of_exp(const struct slope *s)
{
    return s->v;
}

static struct tensor of_tan(const struct slope *s)
{
    return fn_by(&s->f, BINARY_ADD, square(&s->f, s->v), 1);
}

static struct tensor of_sqrt(const struct slope *s)
{
    return fn_from(&s->f, BINARY_DIV, 0.5, s->v);
}

static struct tensor of_reciprocal(const struct slope *s)
{
    return fn(&s->f, UNARY_NEG, square(&s->f, s->v));
}

static struct tensor of_log(const struct slope *s)
{
    return fn(&s->f, UNARY_RECIPROCAL, s->v);
}

static struct tensor of_sin(const struct slope *s)
{
    return fn(&s->f, UNARY_COS, s->v);
}

static struct tensor of_cos(const struct slope *s)
{
    return fn(&s->f, UNARY_NEG, fn(&s->f, UNARY_SIN, s->v));
}

static struct tensor of_erf(const struct slope *s)
{
    return fn_by(&s->f, BINARY_MUL, fn(&s->f, UNARY_EXP, fn(&s->f, UNARY_NEG, square(&s->f, s->v))),
                 M_2_SQRTPI);
}

static struct tensor of_softplus(const struct slope *s)
{
    return fn(&s->f, UNARY_SIGMOID, s->v);
}

/* 1 / (1 + |v|)^2 */
static struct tensor of_softsign(const struct slope *s)
{
    return square(&s->f, fn(&s->f, UNARY_RECIPROCAL,
                            fn_by(&s->f, BINARY_ADD, fn(&s->f, UNARY_ABS, s->v), 1)));
}

/* (1 + erf(v / root 2)) / 2 + v e^(-v^2 / 2) / root(2 pi) */
static struct tensor gelu_of_erf(const struct slope *s)
{
    struct tensor bell = fn(&s->f, UNARY_EXP, fn_by(&s->f, BINARY_MUL, square(&s->f, s->v), -0.5));
    struct tensor t = fn(&s->f, UNARY_ERF, fn_by(&s->f, BINARY_MUL, s->v, M_SQRT1_2));

    t = fn_by(&s->f, BINARY_MUL, fn_by(&s->f, BINARY_ADD, t, 1), 0.5);
    bell = fn_by(&s->f, BINARY_MUL, fn_two(&s->f, BINARY_MUL, s->v, bell), 1 / sqrt(2 * M_PI));
    return fn_two(&s->f, BINARY_ADD, t, bell);
}

/* With t = tanh(c (v + k v^3)): (1 + t) / 2 + v (1 - t^2) / 2 c (1 + 3 k v^2). */
static struct tensor gelu_of_tanh(const struct slope *s)
{
    const struct formula *f = &s->f;
    struct tensor v = s->v;
    const double c = sqrt(2 / M_PI), k = 0.044715;
    struct tensor v2 = square(f, v);
    struct tensor t = fn_by(f, BINARY_MUL, fn_by(f, BINARY_ADD, fn_by(f, BINARY_MUL, v2, k), 1), c);
    struct tensor inner = fn_by(f, BINARY_ADD, fn_by(f, BINARY_MUL, v2, 3 * k), 1);

    t = fn(f, UNARY_TANH, fn_two(f, BINARY_MUL, v, t));
    inner = fn_two(f, BINARY_MUL, fn_two(f, BINARY_MUL, v, minus(f, 1, square(f, t))), inner);
    t = fn_by(f, BINARY_MUL, fn_by(f, BINARY_ADD, t, 1), 0.5);
    return fn_two(f, BINARY_ADD, t, fn_by(f, BINARY_MUL, inner, 0.5 * c));
}

static struct tensor of_gelu(const struct slope *s)
{
    return s->a != 0 ? gelu_of_tanh(s) : gelu_of_erf(s);
}

static struct tensor of_hard_sigmoid(const struct slope *s)
{
    struct tensor t = fn_by(&s->f, BINARY_ADD, fn_by(&s->f, BINARY_MUL, s->v, s->a), s->b);
    struct tensor below = fn_by(&s->f, BINARY_LESS, t, 1);

    return fn_by(&s->f, BINARY_MUL, fn_two(&s->f, BINARY_MUL, above(&s->f, t, 0), below), s->a);
}

/* v / 3 + 0.5 between -3 and 3, 0 below, 1 above. */
static struct tensor of_hard_swish(const struct slope *s)
{
    struct tensor t = fn_by(&s->f, BINARY_ADD, fn_by(&s->f, BINARY_MUL, s->v, 1.0 / 3), 0.5);
    struct tensor high = above(&s->f, s->v, 3);

    t = fn_two(&s->f, BINARY_MUL, t, fn_from(&s->f, BINARY_LESS_OR_EQUAL, -3, s->v));
    return fn_two(&s->f, BINARY_ADD, fn_two(&s->f, BINARY_MUL, t, minus(&s->f, 1, high)), high);
}

/* slope below 0, else 1. */
static struct tensor of_leaky_relu(const struct slope *s)
{
    return fn_by(&s->f, BINARY_ADD, fn_by(&s->f, BINARY_MUL, above(&s->f, s->v, 0), 1 - s->a),
                 s->a);
}

/* high where v is not negative, else low e^(v / width). */
static struct tensor exponential(const struct formula *f, struct tensor v, double low, double width,
                                 double high)
{
    struct tensor t = fn_by(f, BINARY_MUL, fn_by(f, BINARY_MIN, v, 0), 1 / width);
    struct tensor negative = fn_by(f, BINARY_LESS, v, 0);

    t = fn_two(f, BINARY_MUL, negative, fn_by(f, BINARY_MUL, fn(f, UNARY_EXP, t), low));
    return fn_two(f, BINARY_ADD, t, fn_by(f, BINARY_MUL, minus(f, 1, negative), high));
}

static struct tensor of_elu(const struct slope *s)
{
    return exponential(&s->f, s->v, s->a, 1, 1);
}

static struct tensor of_celu(const struct slope *s)
{
    return exponential(&s->f, s->v, 1, s->a, 1);
}

static struct tensor of_selu(const struct slope *s)
{
    return exponential(&s->f, s->v, s->a * s->b, 1, s->b);
}

static struct tensor of_thresholded_relu(const struct slope *s)
{
    return above(&s->f, s->v, s->a);
}

static struct tensor of_shrink(const struct slope *s)
{
    return above(&s->f, fn(&s->f, UNARY_ABS, s->v), s->a);
}

/* 1 / root(1 - v^2) */
static struct tensor of_asin(const struct slope *s)
{
    return fn(&s->f, UNARY_RSQRT, minus(&s->f, 1, square(&s->f, s->v)));
}

static struct tensor of_acos(const struct slope *s)
{
    return fn(&s->f, UNARY_NEG, of_asin(s));
}

/* 1 / root(v^2 + number) */
static struct tensor inverse_root(const struct slope *s, double number)
{
    return fn(&s->f, UNARY_RSQRT, fn_by(&s->f, BINARY_ADD, square(&s->f, s->v), number));
}

static struct tensor of_acosh(const struct slope *s)
{
    return inverse_root(s, -1);
}

static struct tensor of_asinh(const struct slope *s)
{
    return inverse_root(s, 1);
}

/* 1 / (1 + v^2) */
static struct tensor of_atan(const struct slope *s)
{
    return fn(&s->f, UNARY_RECIPROCAL, fn_by(&s->f, BINARY_ADD, square(&s->f, s->v), 1));
}

/* 1 / (1 - v^2) */
static struct tensor of_atanh(const struct slope *s)
{
    return fn(&s->f, UNARY_RECIPROCAL, minus(&s->f, 1, square(&s->f, s->v)));
}

/* (e^v op e^-v) / 2 */
static struct tensor hyperbolic(const struct slope *s, enum binary_op op)
{
    struct tensor up = fn(&s->f, UNARY_EXP, s->v);
    struct tensor down = fn(&s->f, UNARY_EXP, fn(&s->f, UNARY_NEG, s->v));

    return fn_by(&s->f, BINARY_MUL, fn_two(&s->f, op, up, down), 0.5);
}

static struct tensor of_cosh(const struct slope *s)
{
    return hyperbolic(s, BINARY_SUB);
}

static struct tensor of_sinh(const struct slope *s)
{
    return hyperbolic(s, BINARY_ADD);
}

/* Functions whose slope is a kernel. */
static const struct {
    const char *function;
    enum slope_op op;
} kernels[] = { { "Relu", SLOPE_RELU },
                { "Sigmoid", SLOPE_SIGMOID },
                { "Swish", SLOPE_SWISH },
                { "Tanh", SLOPE_TANH } };

static const struct slope_row {
    const char *function;
    slope_formula *slope;
} slopes[] = {
    { "Abs", of_abs },
    { "Acos", of_acos },
    { "Acosh", of_acosh },
    { "Asin", of_asin },
    { "Asinh", of_asinh },
    { "Atan", of_atan },
    { "Atanh", of_atanh },
    { "Celu", of_celu },
    { "Cos", of_cos },
    { "Cosh", of_cosh },
    { "Elu", of_elu },
    { "Erf", of_erf },
    { "Exp", of_exp },
    { "Gelu", of_gelu },
    { "HardSigmoid", of_hard_sigmoid },
    { "HardSwish", of_hard_swish },
    { "LeakyRelu", of_leaky_relu },
    { "Log", of_log },
    { "Reciprocal", of_reciprocal },
    { "Selu", of_selu },
    { "Shrink", of_shrink },
    { "Sin", of_sin },
    { "Sinh", of_sinh },
    { "Softplus", of_softplus },
    { "Softsign", of_softsign },
    { "Sqrt", of_sqrt },
    { "Tan", of_tan },
    { "ThresholdedRelu", of_thresholded_relu },
};

static const struct slope_row *slope_of(const char *function)
{
    for (unsigned k = 0; k < EMU_COUNT_OF(slopes); k++) {
        if (!strcmp(slopes[k].function, function))
            return &slopes[k];
    }
    return NULL;
}

/* The gradient of v from that of the function. */
static struct tensor times_slope(const struct slope *s, const char *function, struct tensor dy)
{
    for (unsigned k = 0; k < EMU_COUNT_OF(kernels); k++) {
        if (!strcmp(kernels[k].function, function))
            return op_slope(s->f.l->g, s->f.l->seq, kernels[k].op, s->v, dy, s->f.name);
    }
    return fn_two(&s->f, BINARY_MUL, dy, slope_of(function)->slope(s));
}

static int is_known(const char *function)
{
    for (unsigned k = 0; k < EMU_COUNT_OF(kernels); k++) {
        if (!strcmp(kernels[k].function, function))
            return 1;
    }
    return slope_of(function) != NULL;
}

/* A function of fields keeps them: channels beyond the last are 0 times dy, which is 0 there. */
static int on_fields(struct lowering *l, const struct op_node *n, struct tensor *v,
                     struct activation *dy)
{
    const struct activation *x = &l->at[n->in[0]].field;

    *dy = l->at[n->in[1]].field;
    if (!l->at[n->in[1]].has_field || !lower_has_field(l, n->in[0], l->at[n->in[1]].axis) ||
        x->c != dy->c || (uint64_t)x->n * x->h * x->w != (uint64_t)dy->n * dy->h * dy->w)
        return 0;
    *v = tensor_reshape(l->g, x->t, 5, tensor_shape(l->g, dy->t));
    return 1;
}

enum emu_status lower_slope(struct lowering *l, const struct node_group *group,
                            const struct op_node *n)
{
    struct op_call c = lower_call(l, n);
    const char *function = op_string(&c, "function");
    struct slope s = { { l, n->name }, { 0 }, op_float(&c, "alpha"), op_float(&c, "beta") };
    struct activation dy;
    int field = on_fields(l, n, &s.v, &dy);

    (void)group;
    if (!field) {
        s.v = lower_view(l, n->in[0]);
        dy.t = lower_view(l, n->in[1]);
    }
    dy.t = times_slope(&s, function, dy.t);
    if (field)
        lower_set_field(l, n->out[0], dy, l->at[n->in[1]].axis);
    else
        lower_set_view(l, n->out[0], dy.t);
    return EMU_OK;
}

const char *slope_obstacle(const struct op_graph *g, const struct op_node *n)
{
    struct op_call c = op_attrs_of(g, n);

    return is_known(op_string(&c, "function"))
               ? NULL
               : "no lowering of that function's slope is built yet";
}
