/* fp_dot.c - f32 + exact sum of f16 products, rounded once: the reference arithmetic of the matrix
 * unit.
 *
 * Every f16 product is an integer multiple of 2^-48 below 2^32, so a sum of four has 82 bits and
 * lives exactly in 128. The accumulator is aligned to it where both overlap; where they cannot, the
 * lesser one only counts as "a little more or less". */
#include "emu/base/fp.h"

typedef __int128 int128;
typedef unsigned __int128 uint128;

enum {
    UNIT = -48, /* products are multiples of 2^UNIT */
    GUARD = 40, /* bits below UNIT that are kept when the accumulator is finer than it */
    TOP_SHIFT =
        100 /* largest left shift of the accumulator: 24 + 100 bits, and 82 of products, fit */
};

/* magnitude * 2^scale to f32, nearest even, with its sign; magnitude is not zero. */
static uint32_t f32_from_u128(bool negative, uint128 magnitude, int scale, struct fp_env *env)
{
    uint64_t hi = (uint64_t)(magnitude >> 64), lo = (uint64_t)magnitude;
    int bits = hi ? 128 - __builtin_clzll(hi) : 64 - __builtin_clzll(lo);
    int shift = bits - 24, e = scale + bits - 1;
    uint32_t sign = negative ? FP_F32_SIGN : 0, keep;

    if (e < -126)
        shift += -126 - e; /* subnormal precision: the unit stays 2^-149 */
    if (shift <= 0) {
        keep = (uint32_t)lo << -shift;
    } else if (shift > bits) {
        keep = 0;
    } else {
        uint128 rest = magnitude & (((uint128)1 << shift) - 1), half = (uint128)1 << (shift - 1);

        keep = (uint32_t)(magnitude >> shift);
        keep += rest > half || (rest == half && (keep & 1));
    }
    if (e < -126)
        return sign | fp_f32_flush(keep); /* 2^23 is the smallest normal */
    e += (int)(keep >> 24);
    if (e > 127) {
        env->flags |= FP_OFLO;
        return sign | FP_F32_INF;
    }
    return sign | (((uint32_t)(e + 126) << 23) + (keep >> 24 ? keep >> 1 : keep));
}

/* acc is finite, flushed and not zero, products is a multiple of 2^UNIT. */
static uint32_t add_aligned(uint32_t acc, int128 products, struct fp_env *env)
{
    int scale = (int)(acc >> 23 & 255) - 127 - 23; /* of the last place of acc */
    int128 a = (int128)((acc & 0x007fffff) | 0x00800000), sum;
    int at = UNIT;

    if (acc & FP_F32_SIGN)
        a = -a;
    if (!products || scale > UNIT + TOP_SHIFT)
        return acc; /* products below 2^-18 of the last place of acc cannot change it */
    if (scale >= UNIT) {
        sum = a * ((int128)1 << (scale - UNIT)) + products;
    } else {
        int shift = scale - (UNIT - GUARD);

        at = UNIT - GUARD;
        if (shift >= 0) {
            a *= (int128)1 << shift;
        } else {
            /* |acc| is below 2^-64 and |products| at least 2^-48, so the last place of the sum is
             * at least 2^-72. Bits down to 2^-88 are kept; below, one bit that says "not exact"
             * decides as all would. */
            uint32_t m = (acc & 0x007fffff) | 0x00800000;

            m = shift > -24 ? m >> -shift | !!(m & ((1u << -shift) - 1)) : 1;
            a = acc & FP_F32_SIGN ? -(int128)m : (int128)m;
        }
        sum = products * ((int128)1 << GUARD) + a;
    }
    if (!sum)
        return 0;
    return f32_from_u128(sum < 0, sum < 0 ? -(uint128)sum : (uint128)sum, at, env);
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
    uint32_t zero =
        fp_f32_flush(acc); /* the result if every term is zero: their common sign, else + */
    int128 products = 0;

    for (int i = 0; i < n; i++) {
        special |= fp_f16_abs(x[i]) >= FP_F16_INF || fp_f16_abs(w[i]) >= FP_F16_INF;
        zero &= (uint32_t)(x[i] ^ w[i]) << 16 & FP_F32_SIGN;
        products += (int128)fp_f16_fixed(x[i]) * fp_f16_fixed(w[i]);
    }
    if (EMU_UNLIKELY(special))
        return add_special(acc, x, w, n, env);
    acc = fp_f32_flush(acc);
    if (fp_f32_abs(acc))
        return add_aligned(acc, products, env);
    if (!products) /* products that cancel have different signs, so zero is + */
        return zero;
    return f32_from_u128(products < 0, products < 0 ? -(uint128)products : (uint128)products, UNIT,
                         env);
}

uint32_t fp_f32_sum_exact_f16(uint16_t a, uint16_t b, struct fp_env *env)
{
    static const uint16_t one[2] = { 0x3c00, 0x3c00 };
    const uint16_t x[2] = { a, b };

    return fp_f32_sum_exact_f16_products(x, one, 2, env);
}
