/* fast_amp_step.h - the inner loop of the f16 matrix path: one step of all workers whose terms are
 * exact in f64 (fast_amp.h).
 *
 * Several workers are computed together, so that the host has twelve independent chains of
 * multiply-adds: with fewer it waits for the latency of its own units. AVX-512 was tried and gains
 * less than a tenth.
 */
#ifndef EMU_FAST_AMP_STEP_H
#define EMU_FAST_AMP_STEP_H

#include "emu/fast/fast_amp.h"

/* Where the chains of a step are: the one that accumulates, the one that moves, and where that one
 * moves to. In a sliding step moving comes first. */
struct amp_route {
    unsigned from, leaving, moved;
};

FAST_INLINE struct amp_route amp_route_of(enum amp_motion motion)
{
    return (struct amp_route){
        .from = motion == AMP_FIRST ? CHAIN_O : CHAIN_E,
        .leaving = motion == AMP_NEXT ? CHAIN_O : CHAIN_E,
        .moved = motion == AMP_SLIC ? CHAIN_E : CHAIN_O,
    };
}

/* The chains of a worker move. */
FAST_INLINE void amp_move(struct tile *restrict t, const struct amp_operands *restrict j,
                          unsigned lane, unsigned sets, struct amp_route r)
{
#pragma GCC unroll 2
    for (unsigned set = 0; set < sets; set++) {
        const uint32_t *at = &t->acc[lane][r.leaving + SET_UNITS * set];
        __m256i chain = amp_moved(_mm256_loadu_si256((const __m256i *)at), j->pair[set][lane]);

        _mm256_storeu_si256((__m256i *)&t->acc[lane][r.moved + SET_UNITS * set], chain);
    }
}

/* n workers; four units per vector. Loads come first, then the chains move, then the sums are
 * stored: so no chain needs a copy, whichever one it is. */
FAST_INLINE void amp_workers(struct tile *restrict t, const struct amp_operands *restrict j,
                             const double (*w)[16], const unsigned lane[], unsigned n,
                             unsigned sets, enum amp_motion motion)
{
    const struct amp_route r = amp_route_of(motion);
    const bool slides = motion == AMP_SLIC;
    __m256d s[TILE_WORKERS][4], x[TILE_WORKERS];

    if (slides) {
#pragma GCC unroll 6
        for (unsigned k = 0; k < n; k++)
            amp_move(t, j, lane[k], sets, r);
    }
#pragma GCC unroll 6
    for (unsigned k = 0; k < n; k++)
#pragma GCC unroll 4
        for (unsigned g = 0; g < 2 * sets; g++)
            s[k][g] = _mm256_cvtps_pd(_mm_loadu_ps((float *)&t->acc[lane[k]][r.from + 4 * g]));
    if (!slides) {
#pragma GCC unroll 6
        for (unsigned k = 0; k < n; k++)
            amp_move(t, j, lane[k], sets, r);
    }
#pragma GCC unroll 4
    for (unsigned i = 0; i < 4; i++) {
#pragma GCC unroll 6
        for (unsigned k = 0; k < n; k++)
            x[k] = _mm256_broadcast_sd(&j->x[i / 2][lane[k]][i % 2]);
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
            _mm256_storeu_ps((float *)&t->acc[lane[k]][CHAIN_E + SET_UNITS * set],
                             _mm256_set_m128(_mm256_cvtpd_ps(s[k][2 * set + 1]),
                                             _mm256_cvtpd_ps(s[k][2 * set])));
}

/* Any workers, three at a time. */
FAST_INLINE void amp_some_workers(struct tile *restrict t, const struct amp_operands *restrict j,
                                  const double (*w)[16], uint32_t lanes, unsigned sets,
                                  enum amp_motion motion)
{
    while (lanes) {
        unsigned lane[3], n = 0;

        for (; lanes && n < 3; lanes &= lanes - 1)
            lane[n++] = (unsigned)__builtin_ctz(lanes);
        if (n == 3)
            amp_workers(t, j, w, lane, 3, sets, motion);
        else if (n == 2)
            amp_workers(t, j, w, lane, 2, sets, motion);
        else
            amp_workers(t, j, w, lane, 1, sets, motion);
    }
}

FAST_INLINE void amp_step(struct tile *restrict t, const struct amp_operands *restrict j,
                          const double (*w)[16], uint32_t lanes, unsigned sets,
                          enum amp_motion motion)
{
    static const unsigned all[TILE_WORKERS] = { 0, 1, 2, 3, 4, 5 };

    if (EMU_UNLIKELY(lanes != LANES_ALL)) {
        amp_some_workers(t, j, w, lanes, sets, motion);
        return;
    }
#pragma GCC unroll 2
    for (unsigned first = 0; first < TILE_WORKERS; first += 6 / sets)
        amp_workers(t, j, w, all + first, 6 / sets, sets, motion);
}

#endif
