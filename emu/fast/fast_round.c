/* fast_round.c - stochastic rounding to f16 for all workers at once.
 */
#include "emu/fast/fast_round.h"

/* Draws once for each worker of the mask, if all of them round stochastically. */
bool fast_rounding_draw(const struct tile *t, uint32_t lanes, struct fast_rounding *r)
{
    uint64_t out[TILE_WORKERS];
    __m256i a, b;

    if (fast_any((v8u)((fast_load(t->fp_ctl) & FP_CTL_ESR) == 0), lanes))
        return false;
    r->draws = true;
#pragma GCC unroll 6
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
        struct prng p = t->prng[lane]; /* of idle workers too, but theirs is not kept */

        out[lane] = prng_next(&p);
        r->prng[lane] = p;
    }
    /* Put together in registers: a vector load of single stores would wait for them. */
    a = _mm256_set_epi64x((long long)out[3], (long long)out[2], (long long)out[1],
                          (long long)out[0]);
    b = _mm256_set_epi64x(0, 0, (long long)out[5], (long long)out[4]);
    r->random[0] = fast_even_words(a, b);
    r->random[1] = fast_odd_words(a, b);
    return true;
}

/* Eight f32 to f16 bits in 32-bit words, and which of them are NaN or beyond f16. random: 16 bits
 * for each.
 *
 * Above 2^-14 an f32 has exactly 13 bits below the last f16 place, so the random bits are added to
 * its own; below, the value is brought to multiples of 2^-37, what is cut off or-ed into the last
 * bit. In both cases a carry runs into the exponent as it must. */
FAST_INLINE __m256i round_eight(__m256i v, __m128i random, unsigned *bad)
{
    const __m256i magnitude = _mm256_set1_epi32(INT32_MAX), one = _mm256_set1_epi32(1);
    const __m256i top = _mm256_set1_epi32(0x477fffff);      /* the f32 below 65536 */
    const __m256i normal = _mm256_set1_epi32(0x38800000);   /* 2^-14 */
    const __m256i smallest = _mm256_set1_epi32(0x007fffff); /* below: flushed */
    const __m256i rebias = _mm256_set1_epi32((127 - 15) << 10);
    __m256i r = _mm256_and_si256(_mm256_cvtepu16_epi32(random), _mm256_set1_epi32(0x1fff));
    __m256i abs = _mm256_and_si256(v, magnitude), sum, above, below, cut, over;
    __m256 scaled;

    abs = _mm256_and_si256(abs, _mm256_cmpgt_epi32(abs, smallest));
    sum = _mm256_add_epi32(abs, r);
    above = _mm256_sub_epi32(_mm256_srli_epi32(sum, 13), rebias);
    scaled = _mm256_mul_ps(_mm256_castsi256_ps(abs), _mm256_set1_ps(0x1p37f));
    cut = _mm256_cvttps_epi32(scaled);
    below = _mm256_castps_si256(_mm256_cmp_ps(_mm256_cvtepi32_ps(cut), scaled, _CMP_NEQ_UQ));
    below = _mm256_or_si256(cut, _mm256_and_si256(below, one));
    below = _mm256_srli_epi32(_mm256_add_epi32(below, r), 13);
    above = _mm256_blendv_epi8(above, below, _mm256_cmpgt_epi32(normal, abs));
    over = _mm256_or_si256(_mm256_cmpgt_epi32(abs, top), _mm256_cmpgt_epi32(sum, top));
    *bad = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(over));
    return _mm256_or_si256(above, _mm256_srli_epi32(_mm256_andnot_si256(magnitude, v), 16));
}

bool fast_round_stochastic(__m256i low, __m128i high, uint32_t lanes, v8u random, v8u *row)
{
    unsigned bad[2];
    __m256i r = (__m256i)random, wide = _mm256_zextsi128_si256(high);
    __m256i first = round_eight(low, _mm256_castsi256_si128(r), &bad[0]);
    __m256i last = round_eight(wide, _mm256_extracti128_si256(r, 1), &bad[1]);

    if (EMU_UNLIKELY(bad[0] | bad[1]) && fast_any_word(bad[0] | bad[1] << 8, lanes))
        return false;
    *row = (v8u)_mm256_permute4x64_epi64(_mm256_packus_epi32(first, last), 0xd8);
    return true;
}
