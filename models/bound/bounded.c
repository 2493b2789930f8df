/* bounded.c - errors through elementwise kernels (see bounded.h). */
#include "models/bound/bounded.h"

#include <float.h>

#include "emu/base/fp.h"

struct rounding rounding_of(enum elem e)
{
    if (e == ELEM_F32)
        return (struct rounding){ e, 0x1p-24, 0x1p-126 };
    return (struct rounding){ ELEM_F16, 0x1p-11, 0x1p-25 };
}

double rounded_number(enum elem e, double v)
{
    struct fp_env env = { 0 };

    return e == ELEM_F16 ? fp_f16_value(fp_f16_from_f64(v, 0, &env)) : (double)(float)v;
}

struct bounded bounded_round(const struct rounding *r, struct bounded x, double times)
{
    x.e += times * (r->u * (fabs(x.v) + x.e) + r->t);
    if (r->elem == ELEM_F32 && fabs(x.v) > (double)FLT_MAX)
        x.e = INFINITY; /* it is infinite there */
    return x;
}

/* x, rounded unless it is exact and a number of the type. */
static struct bounded round_once(const struct rounding *r, struct bounded x)
{
    return x.e == 0 && rounded_number(r->elem, x.v) == x.v ? x : bounded_round(r, x, 1);
}

/* ---- of one number ---- */

static double value_of(enum unary_op op, double x)
{
    switch (op) {
    case UNARY_RELU:
        return fmax(x, 0);
    case UNARY_SIGMOID:
        return 1 / (1 + exp(-x));
    case UNARY_SWISH:
        return x / (1 + exp(-x));
    case UNARY_TANH:
        return tanh(x);
    case UNARY_EXP:
        return exp(x);
    case UNARY_SQRT:
        return sqrt(x);
    case UNARY_RSQRT:
        return 1 / sqrt(x);
    case UNARY_NEG:
        return -x;
    case UNARY_ABS:
        return fabs(x);
    case UNARY_RECIPROCAL:
        return 1 / x;
    case UNARY_LOG:
        return log(x);
    case UNARY_FLOOR:
        return floor(x);
    case UNARY_CEIL:
        return ceil(x);
    case UNARY_ROUND:
        return rint(x);
    case UNARY_SIGN:
        return x > 0 ? 1 : x < 0 ? -1 : x;
    case UNARY_ERF:
        return erf(x);
    case UNARY_GELU:
        return 0.5 * x * (1 + erf(x / sqrt(2)));
    case UNARY_HARD_SWISH:
        return x * fmin(fmax(x + 3, 0), 6) / 6;
    case UNARY_SIN:
        return sin(x);
    default:
        return cos(x);
    }
}

/* What a kernel does: slope 0: it rises or falls everywhere; else the steepest one. Its own error
 * is roundings (u |y| + t) + by_x (u |x|) + absolute max(1, |x| if it is by x). */
static const struct kernel_error {
    double slope, roundings, by_x, absolute;
} kernel[UNARY_COUNT] = {
    [UNARY_RELU] = { 1, 0, 0, 0 },       [UNARY_SIGMOID] = { 0, 1, 0, 0 },
    [UNARY_SWISH] = { 1.1, 0, 1.61, 0 }, [UNARY_TANH] = { 0, 1, 0, 0 },
    [UNARY_EXP] = { 0, 1, 0, 0 },        [UNARY_SQRT] = { 0, 1.001, 0, 0 },
    [UNARY_RSQRT] = { 0, 1.001, 0, 0 },  [UNARY_NEG] = { 1, 0, 0, 0 },
    [UNARY_ABS] = { 1, 0, 0, 0 },        [UNARY_RECIPROCAL] = { 0, 1.001, 0, 0 },
    [UNARY_LOG] = { 0, 1, 0, 0 },        [UNARY_FLOOR] = { 0, 0, 0, 0 },
    [UNARY_CEIL] = { 0, 0, 0, 0 },       [UNARY_ROUND] = { 0, 0, 0, 0 },
    [UNARY_SIGN] = { 0, 0, 0, 0 },       [UNARY_ERF] = { 1.13, 1, 0, 5e-7 },
    [UNARY_GELU] = { 1.13, 1, 0, 5e-7 }, [UNARY_HARD_SWISH] = { 1.5, 4, 0, 0 },
    [UNARY_SIN] = { 1, 1, 0, 2e-6 },     [UNARY_COS] = { 1, 1, 0, 2e-6 },
};

/* The largest difference of a function within [x - e, x + e]; what is not a number, such as a
 * logarithm of what may be negative, is anything. */
static double spread(enum unary_op op, struct bounded x)
{
    double low = x.v - x.e, high = x.v + x.e, y = value_of(op, x.v), d;

    if (x.e == 0)
        return 0;
    if (kernel[op].slope > 0)
        return kernel[op].slope * x.e;
    if (op == UNARY_SQRT && low < 0)
        low = 0;
    if ((op == UNARY_RECIPROCAL || op == UNARY_RSQRT) && low <= 0 && high >= 0)
        return INFINITY;
    d = fmax(fabs(value_of(op, low) - y), fabs(value_of(op, high) - y));
    return isnan(value_of(op, low)) || isnan(d) ? INFINITY : d;
}

/* How much larger than 1 the argument makes an absolute error. */
static double scale_of(enum unary_op op, double x)
{
    if (op == UNARY_GELU)
        return fmax(x, 1);
    return (op == UNARY_SIN || op == UNARY_COS) && x > 50000 ? 1e6 : 1;
}

struct bounded bounded_unary(const struct rounding *r, enum unary_op op, struct bounded x)
{
    const struct kernel_error *k = &kernel[op];
    struct bounded y = { value_of(op, x.v), spread(op, x) };
    double size = fabs(x.v) + x.e;

    if (k->by_x > 0)
        y.e += k->by_x * r->u * size + r->t * (2 + size);
    if (k->absolute > 0)
        y.e += k->absolute * scale_of(op, size);
    if (op == UNARY_GELU && r->elem == ELEM_F16)
        y.e += 0x1p-10 * size;
    if (op == UNARY_HARD_SWISH)
        y.e += r->t * size;
    return k->roundings > 0 ? bounded_round(r, y, k->roundings) : y;
}

/* ---- of two ---- */

/* The larger of two. */
static struct bounded larger(struct bounded a, struct bounded b)
{
    struct bounded most = { fmax(a.v, b.v), fmax(a.e, b.e) };

    if (a.v - b.v > a.e + b.e)
        most.e = a.e;
    else if (b.v - a.v > a.e + b.e)
        most.e = b.e;
    return most;
}

static struct bounded opposite(struct bounded x)
{
    return (struct bounded){ -x.v, x.e };
}

static struct bounded quotient(struct bounded a, struct bounded b)
{
    struct bounded y = { a.v / b.v, 0 };

    if (a.e == 0 && b.e == 0)
        return y;
    y.e = fabs(b.v) > b.e ? (a.e + error_times(y.v, b.e)) / (fabs(b.v) - b.e) : INFINITY;
    return y;
}

/* Corners of the rectangle: powers rise or fall along either axis where x > 0. */
static struct bounded power(struct bounded x, struct bounded y)
{
    struct bounded p = { pow(x.v, y.v), 0 };

    for (int i = -1; i <= 1 && (x.e > 0 || y.e > 0); i += 2) {
        for (int j = -1; j <= 1; j += 2) {
            double corner = pow(fabs(x.v) + i * x.e, y.v + j * y.e);

            p.e = fmax(p.e, isnan(corner) ? INFINITY : fabs(corner - fabs(p.v)));
        }
    }
    p.e += 1.2e-5 * (fabs(p.v) + p.e);
    return p;
}

/* 1 or 0 by a difference of which so much is sure. */
static struct bounded comparison(int holds, double difference, double sure)
{
    return (struct bounded){ holds, sure > 0 && fabs(difference) <= sure };
}

struct bounded bounded_binary(const struct rounding *r, enum binary_op op, struct bounded a,
                              struct bounded b)
{
    struct bounded y;

    switch (op) {
    case BINARY_ADD:
        return round_once(r, (struct bounded){ a.v + b.v, a.e + b.e });
    case BINARY_SUB:
        return round_once(r, (struct bounded){ a.v - b.v, a.e + b.e });
    case BINARY_MUL:
        y.v = a.v * b.v;
        y.e = error_times(a.v, b.e) + error_times(b.v, a.e) + error_times(a.e, b.e);
        return round_once(r, y);
    case BINARY_MAX:
        return larger(a, b);
    case BINARY_MIN:
        return opposite(larger(opposite(a), opposite(b)));
    case BINARY_DIV:
        return bounded_round(r, quotient(a, b), 1.001);
    case BINARY_POW:
        return bounded_round(r, power(a, b), 1);
    case BINARY_LESS:
        return comparison(a.v < b.v, a.v - b.v, a.e + b.e);
    case BINARY_LESS_OR_EQUAL:
        return comparison(a.v <= b.v, a.v - b.v, a.e + b.e);
    default:
        return comparison(a.v == b.v, a.v - b.v, a.e + b.e);
    }
}

struct bounded bounded_select(struct bounded cond, struct bounded a, struct bounded b)
{
    struct bounded y = cond.v != 0 ? a : b;

    if (cond.e >= fabs(cond.v) && cond.e > 0)
        y.e = fmax(a.e, b.e) + fabs(a.v - b.v);
    return y;
}
