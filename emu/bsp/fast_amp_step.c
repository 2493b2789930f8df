/* fast_amp_step.c - the inner loops of the f16 matrix path: a step of all workers whose terms are
 * exact in f64 (fast_amp.h), for AVX2 and for AVX-512, which is chosen at run time.
 */
#include "emu/bsp/fast_amp.h"

#define INLINE static inline __attribute__((always_inline))
#define AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw")))

/* E = acc + x . w for the units of `sets` sets of one worker; acc may be E. */
INLINE void mac_avx2(const struct amp_job *j, unsigned lane, unsigned from, unsigned sets)
{
    const float *acc = (const float *)&j->t->acc[lane][from];
    float *e = (float *)&j->t->acc[lane][CHAIN_E];
    __m256d s[4];

#pragma GCC unroll 4
    for (unsigned g = 0; g < 2 * sets; g++)
        s[g] = _mm256_cvtps_pd(_mm_loadu_ps(acc + 4 * g));
#pragma GCC unroll 4
    for (unsigned i = 0; i < 4; i++) {
        __m256d x = _mm256_broadcast_sd(&j->x[lane][i]);

#pragma GCC unroll 4
        for (unsigned g = 0; g < 2 * sets; g++)
            s[g] = _mm256_fmadd_pd(x, _mm256_load_pd(&j->w[i][4 * g]), s[g]);
    }
#pragma GCC unroll 2
    for (unsigned set = 0; set < sets; set++)
        _mm256_storeu_ps(e + SET_UNITS * set, _mm256_set_m128(_mm256_cvtpd_ps(s[2 * set + 1]),
                                                              _mm256_cvtpd_ps(s[2 * set])));
}

INLINE AVX512 void mac_avx512(const struct amp_job *j, unsigned lane, unsigned from, unsigned sets,
                              const __m512d w[2][4])
{
    const float *acc = (const float *)&j->t->acc[lane][from];
    float *e = (float *)&j->t->acc[lane][CHAIN_E];
    __m512d s[2];

#pragma GCC unroll 2
    for (unsigned set = 0; set < sets; set++)
        s[set] = _mm512_cvtps_pd(_mm256_loadu_ps(acc + SET_UNITS * set));
#pragma GCC unroll 4
    for (unsigned i = 0; i < 4; i++) {
        __m512d x = _mm512_set1_pd(j->x[lane][i]);

#pragma GCC unroll 2
        for (unsigned set = 0; set < sets; set++)
            s[set] = _mm512_fmadd_pd(x, w[set][i], s[set]);
    }
#pragma GCC unroll 2
    for (unsigned set = 0; set < sets; set++)
        _mm256_storeu_ps(e + SET_UNITS * set, _mm512_cvtpd_ps(s[set]));
}

/* Where the chains of a step stand: the one that accumulates, the one that moves, and where it
 * moves to. In a sliding step moving comes first. */
struct route {
    unsigned from, leaving, moved;
};

INLINE struct route route_of(enum amp_motion motion)
{
    return (struct route){
        .from = motion == AMP_FIRST ? CHAIN_O : CHAIN_E,
        .leaving = motion == AMP_NEXT ? CHAIN_O : CHAIN_E,
        .moved = motion == AMP_SLIC ? CHAIN_E : CHAIN_O,
    };
}

INLINE __m256i moved(const struct amp_job *j, unsigned lane, unsigned leaving, unsigned set)
{
    return amp_moved(amp_chain(j->t, lane, leaving + SET_UNITS * set), j->pair[set][lane]);
}

INLINE void step_avx2(const struct amp_job *j, unsigned sets, bool slides)
{
    const struct route r = route_of(slides ? AMP_SLIC : j->motion);

#pragma GCC unroll 6
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
        __m256i chain[2];

        if (!(j->lanes >> lane & 1))
            continue;
#pragma GCC unroll 2
        for (unsigned set = 0; set < sets; set++)
            chain[set] = moved(j, lane, r.leaving, set);
        if (!slides)
            mac_avx2(j, lane, r.from, sets);
#pragma GCC unroll 2
        for (unsigned set = 0; set < sets; set++)
            amp_set_chain(j->t, lane, r.moved + SET_UNITS * set, chain[set]);
        if (slides)
            mac_avx2(j, lane, r.from, sets);
    }
}

INLINE AVX512 void step_avx512(const struct amp_job *j, unsigned sets, bool slides)
{
    const struct route r = route_of(slides ? AMP_SLIC : j->motion);
    __m512d w[2][4];

#pragma GCC unroll 2
    for (unsigned set = 0; set < sets; set++)
#pragma GCC unroll 4
        for (unsigned i = 0; i < 4; i++)
            w[set][i] = _mm512_load_pd(&j->w[i][SET_UNITS * set]);
#pragma GCC unroll 6
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
        __m256i chain[2];

        if (!(j->lanes >> lane & 1))
            continue;
#pragma GCC unroll 2
        for (unsigned set = 0; set < sets; set++)
            chain[set] = moved(j, lane, r.leaving, set);
        if (!slides)
            mac_avx512(j, lane, r.from, sets, w);
#pragma GCC unroll 2
        for (unsigned set = 0; set < sets; set++)
            amp_set_chain(j->t, lane, r.moved + SET_UNITS * set, chain[set]);
        if (slides)
            mac_avx512(j, lane, r.from, sets, w);
    }
}

AVX512 void amp_step_avx512(const struct amp_job *j)
{
    if (j->motion == AMP_SLIC && j->sets == 2)
        step_avx512(j, 2, true);
    else if (j->motion == AMP_SLIC)
        step_avx512(j, 1, true);
    else if (j->sets == 2)
        step_avx512(j, 2, false);
    else
        step_avx512(j, 1, false);
}

void amp_step_avx2(const struct amp_job *j)
{
    if (j->motion == AMP_SLIC && j->sets == 2)
        step_avx2(j, 2, true);
    else if (j->motion == AMP_SLIC)
        step_avx2(j, 1, true);
    else if (j->sets == 2)
        step_avx2(j, 2, false);
    else
        step_avx2(j, 1, false);
}
