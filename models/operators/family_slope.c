/* family_slope.c - UnaryGradient: a gradient times the slope of a function of one number.
 *
 * A function is a row of `slopes`: its slope at x or, where that is simpler and saves keeping x, as
 * a function of the result y. At corners it is that of the side which torch takes.
 */
#include <math.h>
#include <string.h>

#include "models/operators/op_exp.h"
#include "models/operators/op_families.h"
#include "models/operators/op_slope.h"

enum { PARALLEL_MIN = 1 << 14 }; /* elements from which threads are worth their start */

typedef double slope_function(double v, double a, double b);

/* A slope that is one expression of v, and perhaps of the attributes a and b. */
#define SLOPE(name, expression)                                                                    \
    static double name(double v, double a, double b)                                               \
    {                                                                                              \
        (void)v;                                                                                   \
        (void)a;                                                                                   \
        (void)b;                                                                                   \
        return expression;                                                                         \
    }

/* Of x. */
SLOPE(of_abs, (v > 0) - (v < 0))
SLOPE(of_acos, -1 / sqrt(1 - v * v))
SLOPE(of_acosh, 1 / sqrt(v * v - 1))
SLOPE(of_asin, 1 / sqrt(1 - v * v))
SLOPE(of_asinh, 1 / sqrt(v * v + 1))
SLOPE(of_atan, 1 / (1 + v * v))
SLOPE(of_atanh, 1 / (1 - v * v))
SLOPE(of_celu, v < 0 ? exp(v / a) : 1)
SLOPE(of_cos, -sin(v))
SLOPE(of_cosh, sinh(v))
SLOPE(of_elu, v < 0 ? a * exp(v) : 1)
SLOPE(of_erf, M_2_SQRTPI *exp(-v *v))
SLOPE(of_hard_sigmoid, a *v + b > 0 && a * v + b < 1 ? a : 0)
SLOPE(of_hard_swish, v < -3 ? 0 : v <= 3 ? v / 3 + 0.5 : 1)
SLOPE(of_leaky_relu, v > 0 ? 1 : a)
SLOPE(of_log, 1 / v)
SLOPE(of_selu, v < 0 ? a * b * exp(v) : b)
SLOPE(of_shrink, v<-a || v> a)
SLOPE(of_sin, cos(v))
SLOPE(of_sinh, cosh(v))
SLOPE(of_softplus, op_sigmoid(v))
SLOPE(of_softsign, 1 / ((1 + fabs(v)) * (1 + fabs(v))))
SLOPE(of_swish, op_sigmoid(v) * (1 + v * (1 - op_sigmoid(v))))
SLOPE(of_thresholded_relu, v > a)

/* a: 1: the tanh. */
static double of_gelu(double v, double a, double b)
{
    double inner = sqrt(2 / M_PI) * (v + 0.044715 * v * v * v), t = tanh(inner);

    (void)b;
    if (a)
        return 0.5 * (1 + t) + 0.5 * v * (1 - t * t) * sqrt(2 / M_PI) * (1 + 3 * 0.044715 * v * v);
    return 0.5 * (1 + erf(v * M_SQRT1_2)) + v * exp(-0.5 * v * v) / sqrt(2 * M_PI);
}

/* Of y. */
SLOPE(by_exp, v)
SLOPE(by_reciprocal, -v *v)
SLOPE(by_relu, v > 0)
SLOPE(by_sigmoid, v *(1 - v))
SLOPE(by_sqrt, 0.5 / v)
SLOPE(by_tan, 1 + v * v)
SLOPE(by_tanh, 1 - v * v)
#undef SLOPE

static const struct op_slope {
    const char *name; /* of the operator */
    slope_function *of;
    int of_result;
    const char *a, *b; /* attributes; NULL: none */
} slopes[] = {
    { "Abs", of_abs, 0, NULL, NULL },
    { "Acos", of_acos, 0, NULL, NULL },
    { "Acosh", of_acosh, 0, NULL, NULL },
    { "Asin", of_asin, 0, NULL, NULL },
    { "Asinh", of_asinh, 0, NULL, NULL },
    { "Atan", of_atan, 0, NULL, NULL },
    { "Atanh", of_atanh, 0, NULL, NULL },
    { "Celu", of_celu, 0, "alpha", NULL },
    { "Cos", of_cos, 0, NULL, NULL },
    { "Cosh", of_cosh, 0, NULL, NULL },
    { "Elu", of_elu, 0, "alpha", NULL },
    { "Erf", of_erf, 0, NULL, NULL },
    { "Exp", by_exp, 1, NULL, NULL },
    { "Gelu", of_gelu, 0, NULL, NULL },
    { "HardSigmoid", of_hard_sigmoid, 0, "alpha", "beta" },
    { "HardSwish", of_hard_swish, 0, NULL, NULL },
    { "LeakyRelu", of_leaky_relu, 0, "alpha", NULL },
    { "Log", of_log, 0, NULL, NULL },
    { "Reciprocal", by_reciprocal, 1, NULL, NULL },
    { "Relu", by_relu, 1, NULL, NULL },
    { "Selu", of_selu, 0, "alpha", "gamma" },
    { "Shrink", of_shrink, 0, "lambd", NULL },
    { "Sigmoid", by_sigmoid, 1, NULL, NULL },
    { "Sin", of_sin, 0, NULL, NULL },
    { "Sinh", of_sinh, 0, NULL, NULL },
    { "Softplus", of_softplus, 0, NULL, NULL },
    { "Softsign", of_softsign, 0, NULL, NULL },
    { "Sqrt", by_sqrt, 1, NULL, NULL },
    { "Swish", of_swish, 0, NULL, NULL },
    { "Tan", by_tan, 1, NULL, NULL },
    { "Tanh", by_tanh, 1, NULL, NULL },
    { "ThresholdedRelu", of_thresholded_relu, 0, "alpha", NULL },
};

const struct op_slope *op_slope_find(const char *name)
{
    for (unsigned k = 0; k < EMU_COUNT_OF(slopes); k++) {
        if (!strcmp(slopes[k].name, name))
            return &slopes[k];
    }
    return NULL;
}

const char *op_slope_attr(const struct op_slope *s, unsigned k)
{
    return k ? s->b : s->a;
}

int op_slope_of_result(const struct op_slope *s)
{
    return s->of_result;
}

static enum emu_status slope_infer(struct op_call *c)
{
    const char *name = op_string(c, "function");

    if (!op_slope_find(name))
        return op_refuse(c, "function %.40s has no slope", name);
    if (!op_shape_equal(c->in[0], c->in[1]))
        return op_refuse(c, "the gradient has other dimensions than the data");
    c->out[0] = *c->in[0];
    return EMU_OK;
}

static enum emu_status slope_ref(struct op_call *c, const struct op_tensor *const *in,
                                 struct op_tensor *out)
{
    const struct op_slope *s = op_slope_find(op_string(c, "function"));
    double a = op_float(c, "alpha"), b = op_float(c, "beta");
    int64_t n = (int64_t)op_shape_count(c->in[0]);

#pragma omp parallel for if (n >= PARALLEL_MIN)
    for (int64_t k = 0; k < n; k++)
        out->f[k] = in[1]->f[k] * s->of(in[0]->f[k], a, b);
    return EMU_OK;
}

const struct op_family family_slope = { .infer = slope_infer, .ref = slope_ref };
