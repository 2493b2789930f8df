/* fast_convert.c - f16 to f32 and back for all workers at once: F16C, with NaN, overflow and other
 * roundings left to the plain functions. f32 subnormals need no flush here: the nearest f16 is zero
 * anyway. */
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

int fast_f16tof32(struct tile *t, uint32_t lanes, const struct insn *in)
{
    __m128i low, high;
    v8u r;

    split_halves(fast_a(t, in->a), &low, &high);
    r = (v8u)_mm256_cvtph_ps(low);
    if (is_rare(f32_nan(r), lanes))
        return 0;
    put_a(t, lanes, in->d, 1, r, r);
    return 1;
}

int fast_f16v2tof32(struct tile *t, uint32_t lanes, const struct insn *in)
{
    __m128i low, high;
    v8u r0, r1;

    split_halves(fast_a(t, in->a), &low, &high);
    r0 = (v8u)_mm256_cvtph_ps(low);
    r1 = (v8u)_mm256_cvtph_ps(high);
    if (is_rare(f32_nan(r0) | f32_nan(r1), lanes))
        return 0;
    put_a(t, lanes, in->d, 2, r0, r1);
    return 1;
}

int fast_f32tof16(struct tile *t, uint32_t lanes, const struct insn *in)
{
    __m128i h = narrow(fast_a(t, in->a));
    v8u r = join_halves(h, h);

    if (f16_rounds_otherwise(t, lanes) || is_rare(f16_special(r), lanes))
        return 0;
    put_a(t, lanes, in->d, 1, r, r);
    return 1;
}

int fast_f32v2tof16(struct tile *t, uint32_t lanes, const struct insn *in)
{
    v8u r = join_halves(narrow(fast_a(t, in->a)), narrow(fast_a(t, in->a + 1u)));

    if (f16_rounds_otherwise(t, lanes) || is_rare(f16_special(r), lanes))
        return 0;
    put_a(t, lanes, in->d, 1, r, r);
    return 1;
}

int fast_f32v4tof16(struct tile *t, uint32_t lanes, const struct insn *in)
{
    v8u r0 = join_halves(narrow(fast_a(t, in->a)), narrow(fast_a(t, in->a + 1u)));
    v8u r1 = join_halves(narrow(fast_a(t, in->a + 2u)), narrow(fast_a(t, in->a + 3u)));

    if (f16_rounds_otherwise(t, lanes) || is_rare(f16_special(r0) | f16_special(r1), lanes))
        return 0;
    put_a(t, lanes, in->d, 2, r0, r1);
    return 1;
}
