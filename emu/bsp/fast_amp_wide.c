/* fast_amp_wide.c - a step of the f16 matrix path by the wide method of fast_exact.h: wherever the
 * ranges of values are too far apart for f64, and for few units.
 */
#include "emu/bsp/fast_amp.h"
#include "emu/bsp/fast_exact.h"

/* The chain of one worker and set after it moved: two units further, the pair enters behind. */
static void move_chain(uint32_t out[SET_UNITS], const uint32_t *chain, unsigned units,
                       uint64_t enter)
{
    memcpy(out, chain + 2, 4 * (units - 2));
    memcpy(out + units - 2, &enter, sizeof(enter));
}

/* The accumulators that take part, the others as zero: what the sums start with. */
static void running(const struct amp_job *j, unsigned lane, unsigned set, unsigned units,
                    uint32_t out[SET_UNITS])
{
    const uint32_t *acc = &j->t->acc[lane][SET_UNITS * set];

    memset(out, 0, 4 * SET_UNITS);
    if (j->motion == AMP_SLIC)
        move_chain(out, acc + CHAIN_E, units, j->pair[set][lane]);
    else
        memcpy(out, acc + (j->motion == AMP_FIRST ? CHAIN_O : CHAIN_E), 4 * units);
}

bool amp_wide_allowed(const struct amp_job *j, unsigned units)
{
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
        for (unsigned set = 0; j->lanes >> lane & 1 && set < j->sets; set++) {
            uint32_t acc[SET_UNITS];

            running(j, lane, set, units, acc);
            for (unsigned u = 0; u < units; u += 4)
                if (!exact_acc_ok(_mm_loadu_ps((const float *)&acc[u])))
                    return false;
        }
    }
    return true;
}

void amp_step_wide(const struct amp_job *j, unsigned units)
{
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
        __m256d x[4];

        if (!(j->lanes >> lane & 1))
            continue;
        for (unsigned i = 0; i < 4; i++)
            x[i] = _mm256_broadcast_sd(&j->x[lane][i]);
        for (unsigned set = 0; set < j->sets; set++) {
            uint32_t *e = &j->t->acc[lane][CHAIN_E + SET_UNITS * set];
            uint32_t *o = &j->t->acc[lane][CHAIN_O + SET_UNITS * set];
            uint32_t acc[SET_UNITS], moved[SET_UNITS];

            running(j, lane, set, units, acc);
            move_chain(moved, j->motion == AMP_NEXT ? o : e, units, j->pair[set][lane]);
            for (unsigned u = 0; u < units; u += 4) {
                const double(*w)[16] = j->w;
                const __m256d v[4] = { _mm256_load_pd(&w[0][SET_UNITS * set + u]),
                                       _mm256_load_pd(&w[1][SET_UNITS * set + u]),
                                       _mm256_load_pd(&w[2][SET_UNITS * set + u]),
                                       _mm256_load_pd(&w[3][SET_UNITS * set + u]) };
                __m128 *at = (__m128 *)&acc[u];

                _mm_storeu_ps((float *)at, exact_dot4(_mm_loadu_ps((const float *)at), x, v));
            }
            memcpy(e, acc, 4 * units);
            if (j->motion != AMP_SLIC)
                memcpy(o, moved, 4 * units);
        }
    }
}
