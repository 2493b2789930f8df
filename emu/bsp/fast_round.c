/* fast_round.c - stochastic rounding to f16 for all workers at once.
 */
#include "emu/bsp/fast_round.h"

/* Draws once for each worker of the mask, if all of them round stochastically. */
bool fast_rounding_draw(const struct tile *t, uint32_t lanes, struct fast_rounding *r)
{
    r->draws = true;
    r->random[0] = r->random[1] = (v8u){ 0 };
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
        uint64_t out;

        if (!(lanes >> lane & 1))
            continue;
        if (!(t->fp_ctl[lane] & FP_CTL_ESR))
            return false;
        r->prng[lane] = t->prng[lane];
        out = prng_next(&r->prng[lane]);
        r->random[0][lane] = (uint32_t)out;
        r->random[1][lane] = (uint32_t)(out >> 32);
    }
    return true;
}

/* Eight f32 to f16 bits in 32-bit words, and which of them are NaN or beyond f16. random: 16 bits
 * for each.
 *
 * Above 2^-14 an f32 has exactly 13 bits below the last f16 place, so the random bits are added to
 * its own; below, the value is brought to multiples of 2^-37, what is cut off or-ed into the last
 * bit. In both cases a carry runs into the exponent as it must. */
static __m256i round_eight(__m256i v, __m128i random, unsigned *bad)
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

bool fast_round_stochastic(struct f32_pairs v, uint32_t lanes, v8u random, v8u *row)
{
    unsigned bad[2];
    __m256i r = (__m256i)random;
    __m256i low = round_eight(v.low, _mm256_castsi256_si128(r), &bad[0]);
    __m256i high =
        round_eight(_mm256_zextsi128_si256(v.high), _mm256_extracti128_si256(r, 1), &bad[1]);

    if (fast_any_word(bad[0] | bad[1] << 8, lanes))
        return false;
    *row = (v8u)_mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xd8);
    return true;
}
