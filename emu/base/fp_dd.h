/* fp_dd.h - double-double arithmetic: an unevaluated sum hi + lo with |lo| <= ulp(hi) / 2.
 *
 * It is used only where one double cannot decide a rounding, so error bounds matter more than
 * speed: each operation has a relative error of at most 2^-100. It needs IEEE binary64 in
 * round-to-nearest, a fused multiply-add and no contraction; then the bits are the same on every
 * host.
 */
#ifndef EMU_FP_DD_H
#define EMU_FP_DD_H

#include "emu/base/fp.h"

struct dd {
    double hi, lo;
};

/* Exact a + b, for |a| >= |b| or a = 0. */
static inline struct dd dd_sum_ordered(double a, double b)
{
    double s = a + b;

    return (struct dd){ s, b - (s - a) };
}

/* Exact a + b. */
static inline struct dd dd_sum(double a, double b)
{
    double s = a + b, t = s - a;

    return (struct dd){ s, (a - (s - t)) + (b - t) };
}

/* Exact a * b, while the product's last bit stays above the subnormal range. */
static inline struct dd dd_product(double a, double b)
{
    double p = a * b;

    return (struct dd){ p, __builtin_fma(a, b, -p) };
}

static inline struct dd dd_neg(struct dd a)
{
    return (struct dd){ -a.hi, -a.lo };
}

/* Keeps its relative error also when the signs differ: both halves are summed exactly first. */
static inline struct dd dd_add(struct dd a, struct dd b)
{
    struct dd s = dd_sum(a.hi, b.hi), t = dd_sum(a.lo, b.lo);

    s = dd_sum_ordered(s.hi, s.lo + t.hi);
    return dd_sum_ordered(s.hi, s.lo + t.lo);
}

static inline struct dd dd_mul(struct dd a, struct dd b)
{
    struct dd p = dd_product(a.hi, b.hi);

    p.lo += __builtin_fma(a.hi, b.lo, a.lo * b.hi);
    return dd_sum_ordered(p.hi, p.lo);
}

static inline struct dd dd_mul_double(struct dd a, double b)
{
    struct dd p = dd_product(a.hi, b);

    p.lo = __builtin_fma(a.lo, b, p.lo);
    return dd_sum_ordered(p.hi, p.lo);
}

/* Long division in base 2^53: three quotient digits, so the result is good to the end of lo. */
static inline struct dd dd_div(struct dd a, struct dd b)
{
    double q0 = a.hi / b.hi;
    struct dd r = dd_add(a, dd_neg(dd_mul_double(b, q0)));
    double q1 = r.hi / b.hi;

    r = dd_add(r, dd_neg(dd_mul_double(b, q1)));
    return dd_add(dd_sum_ordered(q0, q1), (struct dd){ r.hi / b.hi, 0 });
}

/* Truncates to a double and sets its last bit if anything was cut off ("round to odd").
 *
 * A later rounding to 51 bits or fewer, in any direction or with added random bits, then gives what
 * it would have given from the exact sum. hi must be normal and not 0 unless lo is 0.
 */
static inline double dd_round_odd(struct dd a)
{
    uint64_t u = fp_f64_bits(a.hi);

    if (a.lo == 0 || (u & 1))
        return a.hi;
    /* Even hi: one step towards lo is odd, whether that step ends the truncation or starts it. */
    return fp_f64((a.lo > 0) == (a.hi > 0) ? u + 1 : u - 1);
}

#endif
