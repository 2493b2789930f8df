/* bounded.h - numbers of the reference, each with a bound for how far the machine's number may be
 * from it, through the elementwise kernels of programs/library.
 *
 * A kernel adds its own error to what those of its operands become. u is the relative error of a
 * rounding, t its absolute error among the smallest numbers: 2^-11 and 2^-25 in f16, 2^-24 and
 * 2^-126 in f32, whose subnormals are zero.
 *
 *   operands       a function that rises or falls everywhere: the difference at the ends of
 *                  [x - e, x + e]; another one: e times its steepest slope. Sums: ea + eb;
 * products: |a| eb + |b| ea + ea eb; quotients: (ea + |a / b| eb) / (|b| - eb). Of a comparison
 * whose operands may be equal, and of what it selects, both are right add, mul ..    rounded once:
 * u |y| + t; nothing if operands and result are exact exp, tanh ..   the same: they are exact
 * before swish          1.61 u |x|, as x sigmoid(x) and as h + h tanh(h) with h = x / 2; sigmoid
 * may be subnormal: + t |x| hard swish     four roundings: 4 u |y| + t |x| erf, gelu polynomials in
 * f32: 5e-7, of gelu times x beyond 1; then rounded sin, cos       2e-6 up to 50,000; beyond it
 * only that they are between -1 and 1 pow            1.2e-5 |y|, then rounded
 */
#ifndef MODELS_BOUNDED_H
#define MODELS_BOUNDED_H

#include <math.h>

#include "programs/programs.h"

struct bounded {
    double v; /* of the reference */
    double e; /* the machine's number is at most so far from it */
};

/* What rounding to a type does. */
struct rounding {
    enum elem elem; /* ELEM_F16 or ELEM_F32 */
    double u, t;
};
struct rounding rounding_of(enum elem e);

/* The number of the type that is nearest. */
double rounded_number(enum elem e, double v);

static inline struct bounded exactly(double v)
{
    return (struct bounded){ v, 0 };
}
/* A constant, as it is or rounded. */
static inline struct bounded bounded_constant(const struct rounding *r, double v)
{
    return (struct bounded){ v, isfinite(v) ? fabs(v - rounded_number(r->elem, v)) : 0 };
}
/* |x| e; 0 where e is 0, even if x is infinite. */
static inline double error_times(double x, double e)
{
    return e > 0 ? fabs(x) * e : 0;
}
/* x, rounded `times` times. */
struct bounded bounded_round(const struct rounding *r, struct bounded x, double times);

struct bounded bounded_unary(const struct rounding *r, enum unary_op op, struct bounded x);
struct bounded bounded_binary(const struct rounding *r, enum binary_op op, struct bounded a,
                              struct bounded b);
/* a where cond is not 0, else b. */
struct bounded bounded_select(struct bounded cond, struct bounded a, struct bounded b);

#endif
