/* fast_exact.h - the wide method for acc + a sum of up to four f16 products, rounded once to f32,
 * four units at a time. Private to emu/fast.
 *
 * Terms: products of finite f16, multiples of 2^-48, each below 2^32; acc a multiple of 2^-64,
 * |acc| < 2^34. So all partial sums are below 2^35.
 *
 * 1. S = 1.5 * 2^36. In [2^36, 2^37) f64 numbers are multiples of u = 2^-16, and S + partial sums
 *    stay there. Adding a term v to T (S + what was summed so far) gives T', rounded to a multiple
 *    of u; d = T' - T is exact (both are multiples of u in one binade) and is v rounded to u, so
 *    the rest v - d is at most u/2. It is a multiple of 2^-64 and hence exact too: for a product
 *    one fused operation gives it.
 * 2. The five rests add up exactly to L: |L| <= 2.5 u < 2^-14, a multiple of 2^-64 (50 bits).
 *    H = T - S is exact. The exact sum is H + L.
 * 3. s = H + L rounded, r = L - (s - H). If |H| >= |L|, this is the fast two-sum of Dekker, s + r
 *    is exact. Otherwise |H| <= 2u, so |H + L| < 5u < 2^-13 and H + L is a multiple of 2^-64: s is
 *    exact, s - H = L and r = 0.
 * 4. Rounded to odd: if r is not 0 and the last bit of s is 0, the neighbour of s in the direction
 *    of r replaces it. A value rounded to odd at 53 bits rounds to 24 bits as the exact one does
 *    (53 >= 24 + 2); the results are multiples of 2^-64, so f32 subnormals do not occur.
 *
 * Sign of zero: d of a zero term is +0 and its rest keeps its sign; a rest of a term that vanishes
 * exactly into d is +0. So L is -0 only if all terms are -0. H is made -0 where it is zero, and
 * H + L is then L.
 */
#ifndef EMU_FAST_EXACT_H
#define EMU_FAST_EXACT_H

#include "emu/fast/fast_fp.h"

/* Whether four f32 accumulators satisfy the condition above. NaN and infinities do not. */
FAST_INLINE int exact_acc_ok(__m128 acc)
{
    const __m128i magnitude = _mm_set1_epi32(0x7fffffff);
    const __m128i high = _mm_set1_epi32(0x507fffff); /* the f32 below 2^34 */
    const __m128i low = _mm_set1_epi32(0x2b000000);  /* 2^-41, last place 2^-64 */
    __m128i abs = _mm_and_si128(_mm_castps_si128(acc), magnitude);
    __m256d s, v;

    if (_mm_movemask_epi8(_mm_cmpgt_epi32(abs, high)))
        return 0;
    if (!_mm_movemask_epi8(_mm_cmpgt_epi32(low, abs)))
        return 1;
    /* Adding 1.5 * 2^-12 rounds magnitudes below 2^-13 to multiples of 2^-64; larger ones pass. */
    v = _mm256_cvtps_pd(
        _mm_blendv_ps(_mm_setzero_ps(), acc, _mm_castsi128_ps(_mm_cmpgt_epi32(low, abs))));
    s = _mm256_set1_pd(0x1.8p-12);
    s = _mm256_sub_pd(_mm256_add_pd(v, s), s);
    return _mm256_movemask_pd(_mm256_cmp_pd(s, v, _CMP_NEQ_UQ)) == 0;
}

/* Sums under way: t = S + what was summed so far, rounded to multiples of u, and the rests. */
struct exact_sum {
    __m256d t, low;
};

FAST_INLINE struct exact_sum exact_begin(__m128 acc)
{
    const __m256d big = _mm256_set1_pd(0x1.8p36);
    __m256d a = _mm256_cvtps_pd(acc), t = _mm256_add_pd(big, a);

    return (struct exact_sum){ t, _mm256_sub_pd(a, _mm256_sub_pd(t, big)) };
}

FAST_INLINE struct exact_sum exact_add(struct exact_sum s, __m256d x, __m256d w)
{
    __m256d next = _mm256_fmadd_pd(x, w, s.t);
    __m256d rest = _mm256_fmsub_pd(x, w, _mm256_sub_pd(next, s.t));

    return (struct exact_sum){ next, _mm256_add_pd(s.low, rest) };
}

FAST_INLINE __m128 exact_end(struct exact_sum sum)
{
    const __m256d big = _mm256_set1_pd(0x1.8p36), sign = _mm256_set1_pd(-0.0);
    const __m256i one = _mm256_set1_epi64x(1), none = _mm256_setzero_si256();
    __m256d h = _mm256_xor_pd(_mm256_sub_pd(big, sum.t), sign);
    __m256d s = _mm256_add_pd(h, sum.low);
    __m256d r = _mm256_sub_pd(sum.low, _mm256_sub_pd(s, h));
    __m256i bits = _mm256_castpd_si256(s), step, even;

    even = _mm256_cmpeq_epi64(_mm256_and_si256(bits, one), none);
    even = _mm256_and_si256(
        even, _mm256_castpd_si256(_mm256_cmp_pd(r, _mm256_setzero_pd(), _CMP_NEQ_UQ)));
    /* +1 if r points away from zero, else -1 */
    step = _mm256_cmpgt_epi64(none, _mm256_castpd_si256(_mm256_xor_pd(s, r)));
    step = _mm256_and_si256(_mm256_or_si256(step, one), even);
    return _mm256_cvtpd_ps(_mm256_castsi256_pd(_mm256_add_epi64(bits, step)));
}

/* RNE_f32(acc + x0 w0 + ... + x3 w3) of four units. */
FAST_INLINE __m128 exact_dot4(__m128 acc, const __m256d x[4], const __m256d w[4])
{
    struct exact_sum s = exact_begin(acc);

#pragma GCC unroll 4
    for (unsigned i = 0; i < 4; i++)
        s = exact_add(s, x[i], w[i]);
    return exact_end(s);
}

/* RNE_f32(acc + x0 y0 + x1 y1) four times; x and y hold the pairs of factors as neighbours. */
FAST_INLINE __m128 exact_dot2(__m128 acc, __m256 x, __m256 y)
{
    __m128 xl = _mm256_castps256_ps128(x), xh = _mm256_extractf128_ps(x, 1);
    __m128 yl = _mm256_castps256_ps128(y), yh = _mm256_extractf128_ps(y, 1);
    struct exact_sum s = exact_begin(acc);

    s = exact_add(s, _mm256_cvtps_pd(_mm_shuffle_ps(xl, xh, 0x88)),
                  _mm256_cvtps_pd(_mm_shuffle_ps(yl, yh, 0x88)));
    s = exact_add(s, _mm256_cvtps_pd(_mm_shuffle_ps(xl, xh, 0xdd)),
                  _mm256_cvtps_pd(_mm_shuffle_ps(yl, yh, 0xdd)));
    return exact_end(s);
}

#endif
