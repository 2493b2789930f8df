/* fp_dot.c - f32 + exact sum of products of f16 or FP8, rounded once: the reference arithmetic of
 * the matrix unit.
 *
 * Every f16 product is an integer multiple of 2^-48 below 2^32, so a sum of four has 82 bits and
 * lives exactly in 128. Products of FP8 are multiples of 2^-34 below 2^32: a sum of eight has 69,
 * whatever its scale. The accumulator is aligned to that sum, unless it is so large that the
 * products cannot change it, or so small that its low bits only count as "and a little more". */
#include "emu/base/fp8.h"

typedef __int128 int128;
typedef unsigned __int128 uint128;

enum {
    F16_UNIT = -48,  /* products of f16 are multiples of 2^F16_UNIT */
    FP8_UNIT = -34,  /* those of FP8, without their scale */
    GUARD = 40,      /* bits below the unit that are kept of an accumulator finer than it */
    TOP_SHIFT = 100, /* largest left shift of 24 bits that leaves room to add 82 */
};

/* sum * 2^scale to f32, nearest even. sum is not zero; the result is neither subnormal nor out of
 * range: an accumulator and products that are not zero leave at least 2^-24 of a unit, and what
 * is aligned at all lies below 2^125 units. Units are 2^-66 to 2^-3. */
static uint32_t f32_from_sum(int128 sum, int scale)
{
    uint128 magnitude = sum < 0 ? -(uint128)sum : (uint128)sum;
    uint64_t hi = (uint64_t)(magnitude >> 64), lo = (uint64_t)magnitude;
    int bits = hi ? 128 - __builtin_clzll(hi) : 64 - __builtin_clzll(lo);
    int shift = bits - 24;
    uint32_t field = (uint32_t)(scale + bits - 1 + 126) << 23, keep;

    if (shift <= 0) {
        keep = (uint32_t)lo << -shift;
    } else {
        uint128 rest = magnitude & (((uint128)1 << shift) - 1), half = (uint128)1 << (shift - 1);

        keep = (uint32_t)(magnitude >> shift);
        keep += rest > half || (rest == half && (keep & 1));
    }
    /* The hidden bit adds 1 to the exponent field, a carry to 2^24 adds 2. */
    return (sum < 0 ? FP_F32_SIGN : 0) | (field + keep);
}

/* acc is finite, flushed and not zero; products count in 2^unit. */
static uint32_t add_aligned(uint32_t acc, int128 products, int unit)
{
    int scale = (int)(acc >> 23 & 255) - 127 - 23; /* of the last place of acc */
    int at = unit;
    uint32_t m = (acc & 0x007fffff) | 0x00800000;
    int128 a = m, sum;

    if (!products || scale > unit + TOP_SHIFT)
        return acc; /* products are below 2^-18 of the last place of so large an acc */
    if (scale >= unit) {
        a *= (int128)1 << (scale - unit);
    } else {
        int shift = scale - (unit - GUARD);

        /* When acc is below 2^-16 of a unit, the last place of the sum is at least 2^-24 of it.
         * Bits down to 2^-40 are kept; below, one bit that says "not exact" decides as all of them
         * would. */
        if (shift >= 0)
            a *= (int128)1 << shift;
        else
            a = shift > -24 ? m >> -shift | !!(m & ((1u << -shift) - 1)) : 1;
        products *= (int128)1 << GUARD;
        at -= GUARD;
    }
    sum = acc & FP_F32_SIGN ? products - a : products + a;
    return sum ? f32_from_sum(sum, at) : 0;
}

/* Some operand is NaN or infinite: only their kinds count. f64 holds every product exactly, and
 * nothing finite can reach infinity, so a plain chain of f64 additions has the right kind. */
static uint32_t add_special(uint32_t acc, const uint16_t *x, const uint16_t *w, int n,
                            struct fp_env *env)
{
    bool nan = fp_f32_is_nan(acc), signalling = fp_f32_is_snan(acc);
    double sum = nan ? 0 : fp_float(acc);

    for (int i = 0; i < n; i++) {
        nan |= fp_f16_is_nan(x[i]) || fp_f16_is_nan(w[i]);
        signalling |= fp_f16_is_snan(x[i]) || fp_f16_is_snan(w[i]);
        sum += fp_f16_value(x[i]) * fp_f16_value(w[i]);
    }
    if (signalling || (!nan && sum != sum))
        env->flags |= FP_INV;
    if (nan || sum != sum)
        return FP_F32_NAN;
    return sum < 0 ? FP_F32_SIGN | FP_F32_INF : FP_F32_INF;
}

uint32_t fp_f32_add_exact_f16_products(uint32_t acc, const uint16_t *x, const uint16_t *w, int n,
                                       struct fp_env *env)
{
    bool special = (acc & FP_F32_INF) == FP_F32_INF;
    uint32_t minus = acc & FP_F32_SIGN; /* the sign that all terms share, if it is - */
    int128 products = 0;

    for (int i = 0; i < n; i++) {
        special |= fp_f16_abs(x[i]) >= FP_F16_INF || fp_f16_abs(w[i]) >= FP_F16_INF;
        minus &= (uint32_t)(x[i] ^ w[i]) << 16;
        products += (int128)fp_f16_fixed(x[i]) * fp_f16_fixed(w[i]);
    }
    if (EMU_UNLIKELY(special))
        return add_special(acc, x, w, n, env);
    acc = fp_f32_flush(acc);
    if (fp_f32_abs(acc))
        return add_aligned(acc, products, F16_UNIT);
    /* Products that cancel do not share a sign: then zero is +. */
    return products ? f32_from_sum(products, F16_UNIT) : minus;
}

uint32_t fp8_add_exact_products(uint32_t acc, const struct fp8_vector *x,
                                const struct fp8_vector *w, int scale, struct fp_env *env)
{
    int unit = FP8_UNIT + scale;
    int128 products = 0;

    if (fp_f32_is_snan(acc))
        env->flags |= FP_INV;
    if (fp_f32_is_nan(acc) || x->nan || w->nan)
        return FP_F32_NAN;
    if (fp_f32_is_inf(acc))
        return acc;
    for (int i = 0; i < 8; i++)
        products += (int128)x->fixed[i] * w->fixed[i];
    acc = fp_f32_flush(acc);
    if (fp_f32_abs(acc))
        return add_aligned(acc, products, unit);
    return products ? f32_from_sum(products, unit) : 0;
}

uint32_t fp_f32_sum_exact_f16(uint16_t a, uint16_t b, struct fp_env *env)
{
    static const uint16_t one[2] = { 0x3c00, 0x3c00 };
    const uint16_t x[2] = { a, b };

    return fp_f32_sum_exact_f16_products(x, one, 2, env);
}
