/* fast_f16.h - f16 arithmetic, limits and comparisons for all workers at once, two lanes of f16 in
 * each worker lane: the vector functions that lanes.def names.
 *
 * Arithmetic is done in f32 and rounded a second time. That gives the bits of one rounding: a
 * product of two f16 is exact in f32; a sum that is not has 24 = 2 * 11 + 2 bits in f32, enough for
 * the second rounding to be harmless (Figueroa 1995), and sums below the normal range of f16 are
 * exact. It was compared once with the plain sum and product for all pairs of finite operands.
 * Other rounding modes and stochastic rounding go to the plain functions. */
#ifndef EMU_FAST_F16_H
#define EMU_FAST_F16_H

#include "emu/fast/fast_fp.h"

enum { F16_COUNT = 1 << 16 };

/* Results of the plain functions, by argument. */
struct f16_tables {
    uint16_t tanh[F16_COUNT], sigm[F16_COUNT];
};

/* Filled at the first call. */
const struct f16_tables *fast_f16_tables(void);

FAST_INLINE v8u v_f16_add(v8u a, v8u b)
{
    return f16_narrow(_mm256_add_ps(f16_widen_low(a), f16_widen_low(b)),
                      _mm256_add_ps(f16_widen_high(a), f16_widen_high(b)));
}

FAST_INLINE v8u v_f16_sub(v8u a, v8u b)
{
    return f16_narrow(_mm256_sub_ps(f16_widen_low(a), f16_widen_low(b)),
                      _mm256_sub_ps(f16_widen_high(a), f16_widen_high(b)));
}

FAST_INLINE v8u v_f16_mul(v8u a, v8u b)
{
    return f16_narrow(_mm256_mul_ps(f16_widen_low(a), f16_widen_low(b)),
                      _mm256_mul_ps(f16_widen_high(a), f16_widen_high(b)));
}

FAST_INLINE v8u v_f16_absadd(v8u a, v8u b)
{
    return v_f16_add(a & 0x7fff7fff, b & 0x7fff7fff);
}

/* Numbers as integers of the same order, -0 below +0; the map is its own inverse. */
FAST_INLINE __m256i rank(v8u x)
{
    return (__m256i)((v16s)x ^ ((v16s)x >> 15 & 0x7fff));
}

FAST_INLINE v8u v_f16_max(v8u a, v8u b)
{
    return (v8u)rank((v8u)_mm256_max_epi16(rank(a), rank(b)));
}

FAST_INLINE v8u v_f16_min(v8u a, v8u b)
{
    return (v8u)rank((v8u)_mm256_min_epi16(rank(a), rank(b)));
}

FAST_INLINE v8u v_f16_absmax(v8u a, v8u b)
{
    return (v8u)_mm256_max_epi16((__m256i)(a & 0x7fff7fff), (__m256i)(b & 0x7fff7fff));
}

/* Numbers as integers of the same order, both zeros 0: the magnitude with its sign. */
FAST_INLINE v16s number(v8u x)
{
    return (v16s)_mm256_sign_epi16((__m256i)(x & 0x7fff7fff), (__m256i)x);
}

FAST_INLINE v8u v_f16_cmpeq(v8u a, v8u b)
{
    return (v8u)(number(a) == number(b));
}

FAST_INLINE v8u v_f16_cmpne(v8u a, v8u b)
{
    return (v8u)(number(a) != number(b));
}

FAST_INLINE v8u v_f16_cmplt(v8u a, v8u b)
{
    return (v8u)(number(a) < number(b));
}

FAST_INLINE v8u v_f16_cmple(v8u a, v8u b)
{
    return (v8u)(number(a) <= number(b));
}

FAST_INLINE v8u v_f16_cmpgt(v8u a, v8u b)
{
    return v_f16_cmplt(b, a);
}

FAST_INLINE v8u v_f16_cmpge(v8u a, v8u b)
{
    return v_f16_cmple(b, a);
}

/* min(max(a, min), max) */
FAST_INLINE v8u v_f16_clamp(v8u a, v8u min, v8u max)
{
    return v_f16_min(v_f16_max(a, min), max);
}

/* There are only 65,536 arguments of tanh and sigmoid, so each result is looked up. */
FAST_INLINE v8u f16_look_up(const uint16_t *table, v8u a)
{
    uint32_t x[TILE_LANES];

    memcpy(x, &a, sizeof(x));
#define BOTH_HALVES(x) (table[(x)&0xffff] | (uint32_t)table[(x) >> 16] << 16)
    return (v8u){ BOTH_HALVES(x[0]),
                  BOTH_HALVES(x[1]),
                  BOTH_HALVES(x[2]),
                  BOTH_HALVES(x[3]),
                  BOTH_HALVES(x[4]),
                  BOTH_HALVES(x[5]),
                  0,
                  0 };
#undef BOTH_HALVES
}

FAST_INLINE v8u v_f16_tanh(v8u a)
{
    return f16_look_up(fast_f16_tables()->tanh, a);
}

FAST_INLINE v8u v_f16_sigm(v8u a)
{
    return f16_look_up(fast_f16_tables()->sigm, a);
}

#endif
