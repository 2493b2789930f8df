/* fast_f32.h - f32 arithmetic, limits and comparisons for all workers at once: the vector functions
 * that lanes.def names. Operands are flushed; what the plain function must decide is marked in
 * *rare.
 *
 * Host operations in round-to-nearest give the bits of emu/base/fp.h once operands and results are
 * flushed; results that are infinite or NaN, and NaN operands of the others, go to the plain
 * functions. */
#ifndef EMU_FAST_F32_H
#define EMU_FAST_F32_H

#include "emu/fast/fast_fp.h"

FAST_INLINE v8u settle(v8f r, v8u *rare)
{
    *rare |= f32_special((v8u)r);
    return f32_flush((v8u)r);
}

FAST_INLINE v8u v_f32_add(v8u a, v8u b, v8u *rare)
{
    return settle((v8f)a + (v8f)b, rare);
}

FAST_INLINE v8u v_f32_sub(v8u a, v8u b, v8u *rare)
{
    return settle((v8f)a - (v8f)b, rare);
}

FAST_INLINE v8u v_f32_mul(v8u a, v8u b, v8u *rare)
{
    return settle((v8f)a * (v8f)b, rare);
}

FAST_INLINE v8u v_f32_absadd(v8u a, v8u b, v8u *rare)
{
    return v_f32_add(a & 0x7fffffff, b & 0x7fffffff, rare);
}

/* The host gives the second of two equal operands, so the two orders differ for zeros of unlike
 * sign only. */
FAST_INLINE v8u v_f32_max(v8u a, v8u b, v8u *rare)
{
    __m256 x = (__m256)a, y = (__m256)b;

    *rare |= f32_nan(a) | f32_nan(b);
    return (v8u)_mm256_and_ps(_mm256_max_ps(x, y), _mm256_max_ps(y, x));
}

FAST_INLINE v8u v_f32_min(v8u a, v8u b, v8u *rare)
{
    __m256 x = (__m256)a, y = (__m256)b;

    *rare |= f32_nan(a) | f32_nan(b);
    return (v8u)_mm256_or_ps(_mm256_min_ps(x, y), _mm256_min_ps(y, x));
}

FAST_INLINE v8u v_f32_absmax(v8u a, v8u b, v8u *rare)
{
    return v_f32_max(a & 0x7fffffff, b & 0x7fffffff, rare);
}

FAST_INLINE v8u v_f32_cmpeq(v8u a, v8u b, v8u *rare)
{
    *rare |= f32_nan(a) | f32_nan(b);
    return (v8u)((v8f)a == (v8f)b);
}

FAST_INLINE v8u v_f32_cmpne(v8u a, v8u b, v8u *rare)
{
    *rare |= f32_nan(a) | f32_nan(b);
    return (v8u)((v8f)a != (v8f)b);
}

FAST_INLINE v8u v_f32_cmplt(v8u a, v8u b, v8u *rare)
{
    *rare |= f32_nan(a) | f32_nan(b);
    return (v8u)((v8f)a < (v8f)b);
}

FAST_INLINE v8u v_f32_cmple(v8u a, v8u b, v8u *rare)
{
    *rare |= f32_nan(a) | f32_nan(b);
    return (v8u)((v8f)a <= (v8f)b);
}

FAST_INLINE v8u v_f32_cmpgt(v8u a, v8u b, v8u *rare)
{
    return v_f32_cmplt(b, a, rare);
}

FAST_INLINE v8u v_f32_cmpge(v8u a, v8u b, v8u *rare)
{
    return v_f32_cmple(b, a, rare);
}

/* min(max(a, min), max) */
FAST_INLINE v8u v_f32_clamp(v8u a, v8u min, v8u max, v8u *rare)
{
    return v_f32_min(v_f32_max(a, min, rare), max, rare);
}

#endif
