/* fast_amp.h - parts of the fast matrix path that its files share: one step of all workers as a
 * job, the question whether it can be computed exactly, and the kernels. Private to emu/bsp.
 */
#ifndef EMU_FAST_AMP_H
#define EMU_FAST_AMP_H

#include <immintrin.h>

#include "emu/base/fp.h"
#include "emu/bsp/fast.h"

/* Indices into acc[lane]: acc_index(0, 0) and acc_index(0, 1). */
enum { CHAIN_E = 0, CHAIN_O = 16, SET_UNITS = 8 };

/* What moves in a step, by the names of isa/amp.md. */
enum amp_motion {
    AMP_FIRST, /* phase 0: O accumulates into E, E moves to O */
    AMP_NEXT,  /* later phases: E accumulates, O moves */
    AMP_SLIC   /* E moves, then accumulates */
};

/* One f16 step of all participating workers. */
struct amp_job {
    _Alignas(64) double x[TILE_LANES][4]; /* zero for workers that do not take part */
    /* Partial sums of each set, two f32 per worker, at pair_slot(worker). */
    _Alignas(32) uint64_t pair[2][TILE_LANES];
    struct tile *t;
    const double (*w)[16]; /* weights: [lane of x][unit] */
    uint32_t lanes;
    enum amp_motion motion;
    unsigned sets;
};

/* Interleaving two rows of eight lanes gives this order. */
static inline unsigned pair_slot(unsigned lane)
{
    return (lane & 2) << 1 | (lane & 4) >> 1 | (lane & 1);
}

static inline __m256i fast_row(v8u v)
{
    return (__m256i)v;
}

/* Stores (a, b) of every lane as neighbours. */
static inline void fast_store_pairs(uint64_t out[TILE_LANES], v8u a, v8u b)
{
    _mm256_store_si256((__m256i *)out, _mm256_unpacklo_epi32(fast_row(a), fast_row(b)));
    _mm256_store_si256((__m256i *)(out + 4), _mm256_unpackhi_epi32(fast_row(a), fast_row(b)));
}

/* The chain after it moved by a pair: units 2..7, then `in`. */
static inline __m256i amp_moved(__m256i chain, uint64_t in)
{
    __m256i enter = _mm256_set1_epi64x((long long)in);

    return _mm256_blend_epi32(_mm256_permute4x64_epi64(chain, 0x39), enter, 0xc0);
}

static inline __m256i amp_chain(const struct tile *t, unsigned lane, unsigned at)
{
    return _mm256_loadu_si256((const __m256i *)&t->acc[lane][at]);
}

static inline void amp_set_chain(struct tile *t, unsigned lane, unsigned at, __m256i v)
{
    _mm256_storeu_si256((__m256i *)&t->acc[lane][at], v);
}

#endif
