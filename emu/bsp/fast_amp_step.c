/* fast_amp_step.c - the inner loop of the f16 matrix path: one step of all workers whose terms are
 * exact in f64 (fast_amp.h).
 *
 * Several workers are computed together, so that twelve independent chains of multiply-adds stand
 * side by side: with fewer the host waits for its own latency. AVX-512 was tried and gains less
 * than a tenth.
 */
#include "emu/bsp/fast_amp.h"

/* Where the chains of a step stand: the one that accumulates, the one that moves, and where it
 * moves to. In a sliding step moving comes first. */
struct route {
    unsigned from, leaving, moved;
};

FAST_INLINE struct route route_of(enum amp_motion motion)
{
    return (struct route){
        .from = motion == AMP_FIRST ? CHAIN_O : CHAIN_E,
        .leaving = motion == AMP_NEXT ? CHAIN_O : CHAIN_E,
        .moved = motion == AMP_SLIC ? CHAIN_E : CHAIN_O,
    };
}

FAST_INLINE __m256i chain_load(const struct tile *t, unsigned lane, unsigned at)
{
    return _mm256_loadu_si256((const __m256i *)&t->acc[lane][at]);
}

/* E = acc + x . w for workers lane .. lane + n - 1; four units per vector, acc may be E. */
FAST_INLINE void multiply(struct tile *restrict t, const struct amp_job *restrict j, unsigned lane,
                          unsigned n, unsigned sets, unsigned from)
{
    const double(*w)[16] = j->w;
    __m256d s[TILE_WORKERS][4], x[TILE_WORKERS];

#pragma GCC unroll 6
    for (unsigned k = 0; k < n; k++)
#pragma GCC unroll 4
        for (unsigned g = 0; g < 2 * sets; g++)
            s[k][g] = _mm256_cvtps_pd(_mm_loadu_ps((float *)&t->acc[lane + k][from + 4 * g]));
#pragma GCC unroll 4
    for (unsigned i = 0; i < 4; i++) {
#pragma GCC unroll 6
        for (unsigned k = 0; k < n; k++)
            x[k] = _mm256_broadcast_sd(&j->x[lane + k][i]);
#pragma GCC unroll 4
        for (unsigned g = 0; g < 2 * sets; g++) {
            __m256d v = _mm256_load_pd(&w[i][4 * g]);

#pragma GCC unroll 6
            for (unsigned k = 0; k < n; k++)
                s[k][g] = _mm256_fmadd_pd(x[k], v, s[k][g]);
        }
    }
#pragma GCC unroll 6
    for (unsigned k = 0; k < n; k++)
#pragma GCC unroll 2
        for (unsigned set = 0; set < sets; set++)
            _mm256_storeu_ps((float *)&t->acc[lane + k][CHAIN_E + SET_UNITS * set],
                             _mm256_set_m128(_mm256_cvtpd_ps(s[k][2 * set + 1]),
                                             _mm256_cvtpd_ps(s[k][2 * set])));
}

FAST_INLINE void workers(struct tile *restrict t, const struct amp_job *restrict j, unsigned lane,
                         unsigned n, unsigned sets, struct route r, bool slides)
{
    __m256i chain[TILE_WORKERS][2];

#pragma GCC unroll 6
    for (unsigned k = 0; k < n; k++)
#pragma GCC unroll 2
        for (unsigned set = 0; set < sets; set++)
            chain[k][set] = amp_moved(chain_load(t, lane + k, r.leaving + SET_UNITS * set),
                                      j->pair[set][lane + k]);
    if (!slides)
        multiply(t, j, lane, n, sets, r.from);
#pragma GCC unroll 6
    for (unsigned k = 0; k < n; k++)
#pragma GCC unroll 2
        for (unsigned set = 0; set < sets; set++)
            _mm256_storeu_si256((__m256i *)&t->acc[lane + k][r.moved + SET_UNITS * set],
                                chain[k][set]);
    if (slides)
        multiply(t, j, lane, n, sets, r.from);
}

FAST_INLINE void step(const struct amp_job *j, unsigned sets, bool slides)
{
    const struct route r = route_of(slides ? AMP_SLIC : j->motion);
    struct tile *t = j->t;

    if (EMU_LIKELY(j->lanes == LANES_ALL)) {
        for (unsigned lane = 0; lane < TILE_WORKERS; lane += 6 / sets)
            workers(t, j, lane, 6 / sets, sets, r, slides);
        return;
    }
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++)
        if (j->lanes >> lane & 1)
            workers(t, j, lane, 1, sets, r, slides);
}

void amp_step(const struct amp_job *j)
{
    if (j->motion == AMP_SLIC && j->sets == 2)
        step(j, 2, true);
    else if (j->motion == AMP_SLIC)
        step(j, 1, true);
    else if (j->sets == 2)
        step(j, 2, false);
    else
        step(j, 1, false);
}
