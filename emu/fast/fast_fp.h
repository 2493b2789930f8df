/* fast_fp.h - what the fast functions share. Private to emu/fast.
 *
 * They compute the common case for all lanes and mark in `rare` every lane (or half of one) whose
 * result may carry an exception, a NaN or an overflow; one marked participating lane sends the
 * whole group to the plain functions. So these functions need no code for exceptions: a fast
 * function never raises any.
 */
#ifndef EMU_FAST_FP_H
#define EMU_FAST_FP_H

#include <immintrin.h>

#include "emu/fast/fast.h"
#include "emu/fast/fast_rows.h"

typedef float v8f __attribute__((vector_size(32)));
typedef int16_t v16s __attribute__((vector_size(32)));
typedef uint16_t v16u __attribute__((vector_size(32)));

/* The helpers take the lane operation as a constant and must be inlined into each fast function. */
#define FAST_INLINE static inline __attribute__((always_inline))

/* Writes one register, or two when words is 2. */
FAST_INLINE void put_a(struct tile *t, uint32_t lanes, unsigned r, unsigned words, v8u v0, v8u v1)
{
    fast_set_a(t, lanes, r, v0);
    if (words == 2)
        fast_set_a(t, lanes, r + 1, v1);
}

/* Whether anything is marked in a participating lane. */
FAST_INLINE int is_rare(v8u rare, uint32_t lanes)
{
    return EMU_UNLIKELY(!_mm256_testz_si256((__m256i)rare, (__m256i)rare)) && fast_any(rare, lanes);
}

/* f32 subnormals become zero of the same sign. */
FAST_INLINE v8u f32_flush(v8u x)
{
    v8u tiny = (v8u)((x & 0x7f800000) == 0);

    return x & ~(tiny >> 1);
}

/* Marks infinities and NaN, which arithmetic on ordinary operands does not give. */
FAST_INLINE v8u f32_special(v8u x)
{
    return (v8u)((x & 0x7f800000) == 0x7f800000);
}

FAST_INLINE v8u f32_nan(v8u x)
{
    return (v8u)((v8f)x != (v8f)x);
}

FAST_INLINE v8u f16_special(v8u x)
{
    return (v8u)(((v16u)x & 0x7c00) == 0x7c00);
}

FAST_INLINE v8u f16_nan(v8u x)
{
    return (v8u)(((v16s)x & 0x7fff) > 0x7c00);
}

/* Whether some lane of the group rounds to f16 in another mode than to nearest even. */
FAST_INLINE int f16_rounds_otherwise(const struct tile *t, uint32_t lanes)
{
    return is_rare(fast_load(t->fp_ctl) & (7u << FP_CTL_RND_SHIFT | FP_CTL_ESR), lanes);
}

/* Sixteen f16 in the order of their halves as two times eight f32, and back. Back rounds to nearest
 * even, also to subnormals. */
FAST_INLINE __m256 f16_widen_low(v8u x)
{
    return _mm256_cvtph_ps(_mm256_castsi256_si128((__m256i)x));
}

FAST_INLINE __m256 f16_widen_high(v8u x)
{
    return _mm256_cvtph_ps(_mm256_extracti128_si256((__m256i)x, 1));
}

FAST_INLINE v8u f16_narrow(__m256 low, __m256 high)
{
    __m128i lo = _mm256_cvtps_ph(low, _MM_FROUND_TO_NEAREST_INT);
    __m128i hi = _mm256_cvtps_ph(high, _MM_FROUND_TO_NEAREST_INT);

    return (v8u)_mm256_set_m128i(hi, lo);
}

/* Both halves of every lane become its low, or its high one. */
FAST_INLINE v8u f16_twice_low(v8u x)
{
    return (x & 0xffff) | x << 16;
}

FAST_INLINE v8u f16_twice_high(v8u x)
{
    return x >> 16 | (x & 0xffff0000);
}

#endif
