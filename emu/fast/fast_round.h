/* fast_round.h - moves accumulators of all workers to and from registers, as pairs of f32 or as f16
 * rounded to nearest or stochastically, with the bits of fp_f16_from_f32(). Private to emu/fast.
 *
 * Other rounding modes, NaN, infinities and results beyond f16 are left to the plain functions.
 */
#ifndef EMU_FAST_ROUND_H
#define EMU_FAST_ROUND_H

#include <immintrin.h>

#include "emu/base/fp.h"
#include "emu/fast/fast_fp.h"

/* Two neighbouring f32 of every worker. */
struct f32_pairs {
    __m256i low;  /* workers 0..3 */
    __m128i high; /* workers 4, 5 */
};

/* The even or the odd words of a, then of b: a holds a pair of each of workers 0..3, b of 4, 5. */
static inline v8u fast_even_words(__m256i a, __m256i b)
{
    __m256 v = _mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), 0x88);

    /* Workers are now in the order 0 1 4 5 2 3. */
    return (v8u)_mm256_permute4x64_epi64(_mm256_castps_si256(v), 0xd8);
}

static inline v8u fast_odd_words(__m256i a, __m256i b)
{
    __m256 v = _mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), 0xdd);

    return (v8u)_mm256_permute4x64_epi64(_mm256_castps_si256(v), 0xd8);
}

/* How this instruction rounds. The advanced PRNG states are kept here until fast_rounding_end(). */
struct fast_rounding {
    v8u random[2]; /* PRNG output of each worker: low and high word */
    struct prng prng[TILE_WORKERS];
    bool draws;
};

/* Both words of acc[worker][at], acc[worker][at + 1] for all workers. */
static inline struct f32_pairs fast_acc_pairs(const struct tile *t, unsigned at)
{
    __m128 v[TILE_WORKERS / 2];

#pragma GCC unroll 3
    for (unsigned k = 0; k < TILE_WORKERS / 2; k++) {
        __m128i even = _mm_loadl_epi64((const __m128i *)&t->acc[2 * k][at]);

        v[k] = _mm_loadh_pi(_mm_castsi128_ps(even), (const __m64 *)&t->acc[2 * k + 1][at]);
    }
    return (struct f32_pairs){ _mm256_castps_si256(_mm256_set_m128(v[1], v[0])),
                               _mm_castps_si128(v[2]) };
}

bool fast_rounding_draw(const struct tile *t, uint32_t lanes, struct fast_rounding *r);

/* Reads $FP_CTL. Returns false where the plain functions must round. */
static inline bool fast_rounding_begin(const struct tile *t, uint32_t lanes,
                                       struct fast_rounding *r)
{
    r->draws = false;
    if (EMU_LIKELY(!f16_rounds_otherwise(t, lanes)))
        return true;
    return fast_rounding_draw(t, lanes, r);
}

bool fast_round_stochastic(__m256i low, __m128i high, uint32_t lanes, v8u random, v8u *row);

/* Whether any worker of the mask has a nonzero word; bit 2n and 2n + 1 of `words` are worker n's.
 */
static inline bool fast_any_word(unsigned words, uint32_t lanes)
{
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++)
        if (lanes >> lane & 1 && words >> 2 * lane & 3)
            return true;
    return false;
}

/* The pairs as f16x2 words, to nearest even, if none is beyond f16. */
static inline v8u fast_round_nearest(struct f32_pairs v)
{
    __m128i low = _mm256_cvtps_ph(_mm256_castsi256_ps(v.low), _MM_FROUND_TO_NEAREST_INT);
    __m128i high = _mm_cvtps_ph(_mm_castsi128_ps(v.high), _MM_FROUND_TO_NEAREST_INT);

    return (v8u)_mm256_set_m128i(high, low);
}

/* The pairs as f16x2 words; k = 0 or 1: rounding lanes 0, 1 or 2, 3. Returns false, and leaves *row
 * undefined, where the plain functions must round. */
static inline bool fast_round_pairs(const struct fast_rounding *r, struct f32_pairs v, unsigned k,
                                    uint32_t lanes, v8u *row)
{
    const __m256i magnitude = _mm256_set1_epi32(INT32_MAX);
    const __m256i limit = _mm256_set1_epi32(0x477fefff); /* the f32 below 65520 */
    __m256i high = _mm256_zextsi128_si256(v.high);
    __m256i over[2] = { _mm256_cmpgt_epi32(_mm256_and_si256(v.low, magnitude), limit),
                        _mm256_cmpgt_epi32(_mm256_and_si256(high, magnitude), limit) };
    __m256i any;

    if (EMU_UNLIKELY(r->draws))
        return fast_round_stochastic(v.low, v.high, lanes, r->random[k], row);
    any = _mm256_or_si256(over[0], over[1]);
    if (EMU_UNLIKELY(!_mm256_testz_si256(any, any))) {
        unsigned words = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(over[0]));

        words |= (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(over[1])) << 8;
        if (fast_any_word(words, lanes))
            return false;
    }
    *row = fast_round_nearest(v);
    return true;
}

static inline void fast_rounding_end(struct tile *t, uint32_t lanes, const struct fast_rounding *r)
{
    if (EMU_LIKELY(!r->draws))
        return;
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++)
        if (lanes >> lane & 1)
            t->prng[lane] = r->prng[lane];
}

/* Writes the pairs to registers d and d + 1 of the workers. */
static inline void fast_set_pairs(struct tile *t, uint32_t lanes, unsigned d, struct f32_pairs v)
{
    __m256i high = _mm256_zextsi128_si256(v.high);

    put_a(t, lanes, d, 2, fast_even_words(v.low, high), fast_odd_words(v.low, high));
}

#endif
