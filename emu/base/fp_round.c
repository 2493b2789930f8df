/* fp_round.c - f32 to and from integers. All four rounding modes are computed here on integers; the
 * host's rounding mode is never switched. */
#include "emu/base/fp.h"

/* m >> shift, rounded; shift at least 1, m below 2^62. */
static uint64_t shift_rounded(uint64_t m, unsigned shift, bool negative, unsigned rnd)
{
    uint64_t keep, rest;

    if (shift > 62) /* m is then below half a unit, as with 62 */
        return fp_round_grows(0, m ? 1 : 0, 2, negative, rnd);
    keep = m >> shift;
    rest = m & (((uint64_t)1 << shift) - 1);
    return keep + fp_round_grows(keep, rest, (uint64_t)1 << (shift - 1), negative, rnd);
}

uint32_t fp_f32_int(uint32_t a, unsigned mode, struct fp_env *env)
{
    unsigned e = a >> 23 & 255;
    bool negative = a & FP_F32_SIGN;
    uint64_t m;

    if (fp_f32_is_nan(a))
        return fp_f32_settle(FP_F32_NAN, a, 0, 0, env);
    a = fp_f32_flush(a);
    if (!fp_f32_abs(a) || e >= 127 + 23)
        return a;
    m = shift_rounded((a & 0x007fffff) | 0x00800000, 127 + 23 - e, negative, mode);
    return fp_bits((float)(int32_t)m) | (a & FP_F32_SIGN);
}

/* The integer nearest by env->rnd, limited to [lo, hi]; limits lie inside +-2^33. */
static int64_t f32_to_integer(uint32_t a, int64_t lo, int64_t hi, struct fp_env *env)
{
    unsigned e = a >> 23 & 255;
    bool negative = a & FP_F32_SIGN;
    int64_t v;
    uint64_t m;

    if (fp_f32_is_nan(a)) {
        env->flags |= FP_INV;
        return 0;
    }
    if (!e)
        return 0;
    m = (a & 0x007fffff) | 0x00800000;
    if (e >= 127 + 34)
        m = (uint64_t)1 << 34;
    else if (e >= 127 + 23)
        m <<= e - (127 + 23);
    else
        m = shift_rounded(m, 127 + 23 - e, negative, env->rnd);
    v = negative ? -(int64_t)m : (int64_t)m;
    if (v >= lo && v <= hi)
        return v;
    env->flags |= FP_INV;
    return v < lo ? lo : hi;
}

uint32_t fp_f32_to_i32(uint32_t a, struct fp_env *env)
{
    return (uint32_t)f32_to_integer(a, INT32_MIN, INT32_MAX, env);
}

uint32_t fp_f32_to_u32(uint32_t a, struct fp_env *env)
{
    return (uint32_t)f32_to_integer(a, 0, UINT32_MAX, env);
}

/* A magnitude of at most 32 bits times 2^scale, rounded to 24 bits; the result is a normal f32 or
 * zero. */
static uint32_t f32_from_magnitude(bool negative, uint32_t m, int scale, unsigned rnd)
{
    unsigned shift;
    uint64_t keep = m;

    if (!m)
        return 0;
    shift = m >> 24 ? 8 - (unsigned)__builtin_clz(m) : 0;
    if (shift)
        keep = shift_rounded(m, shift, negative, rnd);
    /* keep has at most 24 bits or is 2^24, and scaling by a power of two is exact. */
    return fp_bits((float)(int32_t)keep * fp_float((uint32_t)(127 + (int)shift + scale) << 23)) |
           (negative ? FP_F32_SIGN : 0);
}

uint32_t fp_f32_from_i32(uint32_t i, const struct fp_env *env)
{
    bool negative = i >> 31;

    return f32_from_magnitude(negative, negative ? 0u - i : i, 0, env->rnd);
}

uint32_t fp_f32_from_u32(uint32_t u, const struct fp_env *env)
{
    return f32_from_magnitude(false, u, 0, env->rnd);
}

uint32_t fp_f32_sufromui(uint32_t u)
{
    /* The value is n / 2^33 with n = 2u + 1 - 2^32, odd and below 2^32 in magnitude. */
    bool negative = u < 0x80000000u;
    uint32_t n = negative ? 0u - (2 * u + 1) : 2 * u + 1;

    return f32_from_magnitude(negative, n, -33, FP_RND_NEAREST);
}
