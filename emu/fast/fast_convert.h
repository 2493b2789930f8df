/* fast_convert.h - f16 to f32 and back for all workers at once: F16C, with NaN, overflow and other
 * roundings left to the plain functions. f32 subnormals need no flush here: the nearest f16 is zero
 * anyway. */
#ifndef EMU_FAST_CONVERT_H
#define EMU_FAST_CONVERT_H

#include "emu/fast/fast_fp.h"

/* The low and the high halves of all lanes, each as eight consecutive f16. */
FAST_INLINE void split_halves(v8u x, __m128i *low, __m128i *high)
{
    const __m256i by_half = _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15,
                                             0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
    __m256i v = _mm256_permute4x64_epi64(_mm256_shuffle_epi8((__m256i)x, by_half), 0xd8);

    *low = _mm256_castsi256_si128(v);
    *high = _mm256_extracti128_si256(v, 1);
}

/* Eight times {low, high}. */
FAST_INLINE v8u join_halves(__m128i low, __m128i high)
{
    return (v8u)_mm256_set_m128i(_mm_unpackhi_epi16(low, high), _mm_unpacklo_epi16(low, high));
}

FAST_INLINE __m128i narrow(v8u x)
{
    return _mm256_cvtps_ph((__m256)x, _MM_FROUND_TO_NEAREST_INT);
}

/* The low halves, widened: named by lanes.def. */
FAST_INLINE v8u v_f16_tof32(v8u a, v8u *rare)
{
    __m128i low, high;
    v8u r;

    split_halves(a, &low, &high);
    r = (v8u)_mm256_cvtph_ps(low);
    *rare |= f32_nan(r);
    return r;
}

#endif
