/* f16.c - f16: one rounding from an exact f64, and the lane operations, all of which are exact in
 * f64: a sum of two f16 is a multiple of 2^-24 below 2^17, a product a multiple of 2^-48 below 2^32
 * of at most 22 bits. */
#include "emu/base/fp.h"

double fp_f16_value(uint16_t h)
{
    uint64_t sign = (uint64_t)(h & FP_F16_SIGN) << 48;
    uint64_t e = h >> 10 & 31, m = h & 0x3ff;

    if (!e)
        return fp_f64(sign | fp_f64_bits((double)(int)m * 0x1p-24));
    if (e == 31)
        return fp_f64(sign | 0x7ff0000000000000u | (m ? 0x0008000000000000u : 0));
    return fp_f64(sign | (e + 1023 - 15) << 52 | m << 42);
}

uint32_t fp_f16_to_f32(uint16_t h, struct fp_env *env)
{
    if (EMU_UNLIKELY(fp_f16_is_nan(h))) {
        if (fp_f16_is_snan(h))
            env->flags |= FP_INV;
        return FP_F32_NAN;
    }
    return fp_bits((float)fp_f16_value(h));
}

/* Adds 13 random bits below the last place and cuts; the header has the rule. m of 53 bits, shift
 * (at least 42) to be cut. */
static uint64_t significand_stochastic(uint64_t m, unsigned shift, uint64_t r)
{
    unsigned cut = shift - 13;
    uint64_t kept;

    if (cut > 62) /* nothing but "not zero" is left of m, as with 62 */
        cut = 62;
    kept = m >> cut | !!(m & (((uint64_t)1 << cut) - 1));
    return (kept + r) >> 13;
}

/* m of 53 bits, to be cut by shift (at least 42) bits to an f16 significand of up to 11. */
static uint64_t significand_rounded(uint64_t m, unsigned shift, bool negative, unsigned lane,
                                    const struct fp_env *env)
{
    uint64_t keep, rest;

    if (env->stochastic)
        return significand_stochastic(m, shift, env->random >> 16 * (lane & 3) & 0x1fff);
    if (shift > 62) /* below half a unit, as with 62 */
        shift = 62;
    keep = m >> shift;
    rest = m & (((uint64_t)1 << shift) - 1);
    return keep + fp_round_grows(keep, rest, (uint64_t)1 << (shift - 1), negative, env->rnd);
}

uint16_t fp_f16_from_f64(double exact, unsigned lane, struct fp_env *env)
{
    uint64_t x = fp_f64_bits(exact);
    uint16_t sign = (uint16_t)(x >> 48 & FP_F16_SIGN);
    uint64_t m = x & 0x000fffffffffffffu, h;
    int e = (int)(x >> 52 & 0x7ff) - 1023;

    if (e == 1024)
        return m ? FP_F16_NAN : sign | FP_F16_INF;
    if (e > 15)
        e = 16; /* overflows, however it is rounded */
    if (e >= -14) {
        /* The hidden bit is added into the exponent field, and so is a carry out of the
         * significand. */
        h = (uint64_t)(e + 14) << 10;
        h += significand_rounded(m | (uint64_t)1 << 52, 42, sign, lane, env);
    } else if (e == -1023) {
        /* f64 subnormals are no sums or products of f16, but count as not zero. */
        h = m ? significand_rounded(1, 1100, sign, lane, env) : 0;
    } else {
        h = significand_rounded(m | (uint64_t)1 << 52, (unsigned)(42 - 14 - e), sign, lane, env);
    }
    if (h <= FP_F16_MAX)
        return sign | (uint16_t)h;
    env->flags |= FP_OFLO;
    return env->nanoo ? FP_F16_NAN : sign | FP_F16_MAX;
}

uint16_t fp_f16_from_f32(uint32_t x, unsigned lane, struct fp_env *env)
{
    if (EMU_UNLIKELY(fp_f32_is_nan(x))) {
        if (fp_f32_is_snan(x))
            env->flags |= FP_INV;
        return FP_F16_NAN;
    }
    return fp_f16_from_f64(fp_float(fp_f32_flush(x)), lane, env);
}

/* The exact result v of an operation on a and b, rounded. */
static uint16_t f16_settle(double v, uint16_t a, uint16_t b, unsigned lane, struct fp_env *env)
{
    if (EMU_UNLIKELY(v != v)) {
        bool quiet = fp_f16_is_nan(a) || fp_f16_is_nan(b);

        if (!quiet || fp_f16_is_snan(a) || fp_f16_is_snan(b))
            env->flags |= FP_INV;
        return FP_F16_NAN;
    }
    return fp_f16_from_f64(v, lane, env);
}

uint16_t fp_f16_add(uint16_t a, uint16_t b, unsigned lane, struct fp_env *env)
{
    return f16_settle(fp_f16_value(a) + fp_f16_value(b), a, b, lane, env);
}

uint16_t fp_f16_sub(uint16_t a, uint16_t b, unsigned lane, struct fp_env *env)
{
    return f16_settle(fp_f16_value(a) - fp_f16_value(b), a, b, lane, env);
}

uint16_t fp_f16_mul(uint16_t a, uint16_t b, unsigned lane, struct fp_env *env)
{
    return f16_settle(fp_f16_value(a) * fp_f16_value(b), a, b, lane, env);
}

/* Numbers, infinities included, as integers of the same order; -0 below +0. */
static int f16_rank(uint16_t a)
{
    return a & FP_F16_SIGN ? -1 - (int)fp_f16_abs(a) : (int)a;
}

int fp_f16_order(uint16_t a, uint16_t b, struct fp_env *env)
{
    int x = f16_rank(a), y = f16_rank(b);

    if (fp_f16_is_nan(a) || fp_f16_is_nan(b)) {
        if (fp_f16_is_snan(a) || fp_f16_is_snan(b))
            env->flags |= FP_INV;
        return FP_UNORDERED;
    }
    if (!(fp_f16_abs(a) | fp_f16_abs(b)))
        return 0;
    return (x > y) - (x < y);
}

/* The result of max or min of operands of which at least one is NaN. */
static uint16_t f16_number_of(uint16_t a, uint16_t b, struct fp_env *env)
{
    if (fp_f16_is_snan(a) || fp_f16_is_snan(b)) {
        env->flags |= FP_INV;
        return FP_F16_NAN;
    }
    if (!fp_f16_is_nan(a))
        return a;
    return fp_f16_is_nan(b) ? FP_F16_NAN : b;
}

uint16_t fp_f16_max(uint16_t a, uint16_t b, struct fp_env *env)
{
    if (EMU_UNLIKELY(fp_f16_is_nan(a) || fp_f16_is_nan(b)))
        return f16_number_of(a, b, env);
    return f16_rank(a) < f16_rank(b) ? b : a;
}

uint16_t fp_f16_min(uint16_t a, uint16_t b, struct fp_env *env)
{
    if (EMU_UNLIKELY(fp_f16_is_nan(a) || fp_f16_is_nan(b)))
        return f16_number_of(a, b, env);
    return f16_rank(b) < f16_rank(a) ? b : a;
}

uint16_t fp_f16_clamp(uint16_t a, uint16_t lo, uint16_t hi, struct fp_env *env)
{
    uint16_t r;

    if (fp_f16_is_snan(a) || fp_f16_is_snan(lo) || fp_f16_is_snan(hi)) {
        env->flags |= FP_INV;
        return FP_F16_NAN;
    }
    r = fp_f16_min(fp_f16_max(a, lo, env), hi, env);
    return fp_f16_is_nan(a) ? FP_F16_NAN : r;
}

enum fp_class fp_f16_class(uint16_t a)
{
    bool negative = a & FP_F16_SIGN;

    if (fp_f16_is_nan(a))
        return fp_f16_is_snan(a) ? FP_CLASS_SNAN : FP_CLASS_QNAN;
    if (fp_f16_is_inf(a))
        return negative ? FP_CLASS_NEG_INF : FP_CLASS_POS_INF;
    if (a & FP_F16_INF)
        return negative ? FP_CLASS_NEG_NORMAL : FP_CLASS_POS_NORMAL;
    if (fp_f16_abs(a))
        return negative ? FP_CLASS_NEG_SUBNORMAL : FP_CLASS_POS_SUBNORMAL;
    return negative ? FP_CLASS_NEG_ZERO : FP_CLASS_POS_ZERO;
}

uint16_t fp_f16_sufromui(uint16_t u, unsigned lane, struct fp_env *env)
{
    return fp_f16_from_f64((2 * (int)u + 1 - 0x10000) * 0x1p-17, lane, env);
}
