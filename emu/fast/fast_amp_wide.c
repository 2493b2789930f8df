/* fast_amp_wide.c - a step of the f16 matrix path by the wide method of fast_exact.h: wherever the
 * ranges of values are too far apart for f64, and for few units.
 */
#include "emu/fast/fast_amp.h"
#include "emu/fast/fast_exact.h"

/* Lanes of a vector of eight units: those that take part, and those where a pair enters. */
struct few {
    v8u part, enters;
    v8i moved;
};

#define ON 0xffffffff

static const struct few few_units[3] = {
    { { ON, ON, 0, 0, 0, 0, 0, 0 }, { ON, ON, 0, 0, 0, 0, 0, 0 }, { 0, 1, 2, 3, 4, 5, 6, 7 } },
    { { ON, ON, ON, ON, 0, 0, 0, 0 }, { 0, 0, ON, ON, 0, 0, 0, 0 }, { 2, 3, 2, 3, 4, 5, 6, 7 } },
    { { ON, ON, ON, ON, ON, ON, ON, ON },
      { 0, 0, 0, 0, 0, 0, ON, ON },
      { 2, 3, 4, 5, 6, 7, 6, 7 } },
};

FAST_INLINE v8u load8(const uint32_t *p)
{
    return (v8u)_mm256_loadu_si256((const __m256i *)p);
}

FAST_INLINE void store8(uint32_t *p, v8u v)
{
    _mm256_storeu_si256((__m256i *)p, (__m256i)v);
}

/* A chain after it moved by a pair. Units that do not take part keep their value. */
FAST_INLINE v8u moved(v8u chain, uint64_t in, const struct few *f)
{
    v8u enter = (v8u)_mm256_set1_epi64x((long long)in);
    v8u v = (v8u)_mm256_permutevar8x32_epi32((__m256i)chain, (__m256i)f->moved);

    return (v & ~f->enters) | (enter & f->enters);
}

/* The accumulators that sums start with, zero for units that do not take part. */
FAST_INLINE v8u running(const struct amp_wide *j, unsigned lane, unsigned set, const struct few *f)
{
    const uint32_t *acc = &j->t->acc[lane][SET_UNITS * set];

    if (j->motion == AMP_SLIC)
        return moved(load8(acc + CHAIN_E), j->operands->pair[set][lane], f);
    return load8(acc + (j->motion == AMP_FIRST ? CHAIN_O : CHAIN_E)) & f->part;
}

FAST_INLINE __m128 low_half(v8u v)
{
    return _mm256_castps256_ps128((__m256)v);
}

FAST_INLINE __m128 high_half(v8u v)
{
    return _mm256_extractf128_ps((__m256)v, 1);
}

bool amp_wide_allowed(const struct amp_wide *j)
{
    const struct few *f = &few_units[j->units / 4];

    for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
        for (unsigned set = 0; j->lanes >> lane & 1 && set < j->sets; set++) {
            v8u acc = running(j, lane, set, f);

            if (!exact_acc_ok(low_half(acc)) || !exact_acc_ok(high_half(acc)))
                return false;
        }
    }
    return true;
}

/* Sums of four units from `at` on. */
FAST_INLINE __m128 sums(const struct amp_wide *j, __m128 acc, const __m256d x[4], unsigned at)
{
    const __m256d w[4] = { _mm256_load_pd(&j->w[0][at]), _mm256_load_pd(&j->w[1][at]),
                           _mm256_load_pd(&j->w[2][at]), _mm256_load_pd(&j->w[3][at]) };

    return exact_dot4(acc, x, w);
}

/* One set of one worker. */
FAST_INLINE void step_set(const struct amp_wide *j, unsigned lane, unsigned set, const __m256d x[4],
                          const struct few *f)
{
    uint32_t *e = &j->t->acc[lane][CHAIN_E + SET_UNITS * set];
    uint32_t *o = &j->t->acc[lane][CHAIN_O + SET_UNITS * set];
    v8u acc = running(j, lane, set, f), even = load8(e), odd = load8(o), sum;
    v8u chain = moved(j->motion == AMP_NEXT ? odd : even, j->operands->pair[set][lane], f);
    __m128 low = sums(j, low_half(acc), x, SET_UNITS * set), high = low;

    if (f->part[4])
        high = sums(j, high_half(acc), x, SET_UNITS * set + 4);
    sum = (v8u)_mm256_set_m128(high, low);
    store8(e, (sum & f->part) | (even & ~f->part));
    if (j->motion != AMP_SLIC)
        store8(o, (chain & f->part) | (odd & ~f->part));
}

void amp_step_wide(const struct amp_wide *j)
{
    const struct few *f = &few_units[j->units / 4];

    for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
        __m256d x[4];

        if (!(j->lanes >> lane & 1))
            continue;
        for (unsigned i = 0; i < 4; i++)
            x[i] = _mm256_broadcast_sd(&j->operands->x[i / 2][lane][i % 2]);
        for (unsigned set = 0; set < j->sets; set++)
            step_set(j, lane, set, x, f);
    }
}
