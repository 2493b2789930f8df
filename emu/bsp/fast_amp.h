/* fast_amp.h - parts of the fast matrix path that its files share: one step of all workers as a
 * job, what is known about the accumulators, the kernels. Private to emu/bsp.
 *
 * Why f64 gives the bits of one rounding. A step computes RNE_f32(acc + sum of four f16 products).
 * Let all terms be multiples of 2^q and the sum of their magnitudes at most 2^(q + 53). Then so is
 * every partial sum of a chain of f64 multiply-adds, in any order, hence f64 holds each exactly,
 * nothing is rounded, and the conversion to f32 is the only rounding. The chain starts with acc, so
 * a zero result has the sign that the definition asks for (-0 only if all terms are -0). An f16 of
 * exponent field e is a multiple of 2^(max(e, 1) - 25), an f32 of 2^(max(e, 1) - 150); hence q
 * follows from the smallest nonzero magnitudes and the limit from the largest. Results rounded to
 * f32 are again multiples of 2^q: those with a last place above 2^q are multiples of it, the others
 * were not rounded. So bounds can be carried from step to step without looking at the accumulators;
 * they are measured anew when they grow too wide. Where they stay too wide, the second method
 * (fast_exact.h) splits each term.
 */
#ifndef EMU_FAST_AMP_H
#define EMU_FAST_AMP_H

#include "emu/base/fp.h"
#include "emu/bsp/fast_fp.h"

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
    /* Partial sums that enter each set, two f32 per worker. */
    _Alignas(32) uint64_t pair[2][TILE_LANES];
    struct tile *t;
    const double (*w)[16]; /* weights: [lane of x][unit] */
    uint32_t lanes;
    enum amp_motion motion;
    unsigned sets;
};

/* A chain of eight after it moved by a pair: units 2..7, then `in`. */
static inline __m256i amp_moved(__m256i chain, uint64_t in)
{
    __m256i enter = _mm256_set1_epi64x((long long)in);

    return _mm256_blend_epi32(_mm256_permute4x64_epi64(chain, 0x39), enter, 0xc0);
}

/* Executes a job whose terms are known to be exact in f64. */
void amp_step(const struct amp_job *j);

/* The same for any accumulators that fast_exact.h allows; x and weights are finite. units of each
 * set take part: 8, 4 or 2. About four times as slow. */
bool amp_wide_allowed(const struct amp_job *j, unsigned units);
void amp_step_wide(const struct amp_job *j, unsigned units);

#endif
