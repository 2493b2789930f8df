/* fast_amp.h - parts of the fast matrix path that its files share: the operands of one step of all
 * workers, and the ranges that decide how the step is computed. Private to emu/fast.
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
#include "emu/fast/fast_fp.h"
#include "emu/fast/fast_weights.h"

/* Indices into acc[lane]: acc_index(0, 0) and acc_index(0, 1). */
enum { CHAIN_E = 0, CHAIN_O = 16, SET_UNITS = 8 };

/* What moves in a step, by the names of docs/matrix.md. */
enum amp_motion {
    AMP_FIRST, /* phase 0: O accumulates into E, E moves to O */
    AMP_NEXT,  /* later phases: E accumulates, O moves */
    AMP_SLIC   /* E moves, then accumulates */
};

/* Operands of all workers. Those of a worker that does not take part are undefined and not used. */
struct amp_operands {
    _Alignas(64) double x[2][TILE_LANES][2];   /* lanes 0, 1 and lanes 2, 3 of x, by worker */
    _Alignas(32) uint64_t pair[2][TILE_LANES]; /* what enters each set, two f32 by worker */
};

/* A chain of eight after it moved by a pair: units 2..7, then `in`. */
FAST_INLINE __m256i amp_moved(__m256i chain, uint64_t in)
{
    __m256i enter = _mm256_set1_epi64x((long long)in);

    return _mm256_blend_epi32(_mm256_permute4x64_epi64(chain, 0x39), enter, 0xc0);
}

FAST_INLINE struct acc_bounds bounds_join(struct acc_bounds a, struct acc_bounds b)
{
    return (struct acc_bounds){ a.max > b.max ? a.max : b.max, a.lsb < b.lsb ? a.lsb : b.lsb };
}

/* Whether sums of accumulators within *acc and four products with the weights of n are exact in
 * f64; if so, *acc becomes the bounds of the results. */
FAST_INLINE bool amp_exact(struct acc_bounds *acc, const struct amp_window *win, unsigned n)
{
    float sum = acc->max + win->product_max[n];
    int q = acc->lsb < win->product_lsb[n] ? acc->lsb : win->product_lsb[n];

    if (q > 40) /* keeps the limit below the largest f32 */
        q = 40;
    /* For q below -126, where results could be f32 subnormals, the limit is below any sum. */
    if (!(sum < fp_float((uint32_t)(q + 53 + 127) << 23)))
        return false;
    acc->max = sum * (1 + 0x1p-20f); /* more than rounding can add */
    acc->lsb = q;
    return true;
}

/* Makes the windows hold the operands of an instruction, x in $a..a+1 and partial sums in two
 * registers from b on (one if single_b). f32: what the partial sums are. anew: and nothing else.
 * False for a NaN or infinity among x, weights of n or f16 partial sums. */
struct amp_sources {
    uint8_t a, b;
    bool single_b, f32;
};
bool amp_window_fit(struct tile *t, uint32_t lanes, struct amp_sources from, unsigned n, bool anew);

/* Products change with the weights. */
void amp_window_products(struct amp_window *win, const struct weight_cache *w);

/* What a chain of all workers holds, in set 0 or in both. About 40 host cycles. */
struct acc_bounds amp_measure(const struct tile *t, unsigned chain, unsigned sets);

/* A step for any accumulators that fast_exact.h allows; x and weights are finite. units of each set
 * take part: 8, 4 or 2. About five times as slow as the step in f64. */
struct amp_wide {
    struct tile *t;
    const struct amp_operands *operands;
    const double (*w)[16]; /* weights: [lane of x][unit] */
    uint32_t lanes;
    enum amp_motion motion;
    unsigned sets, units;
};
bool amp_wide_allowed(const struct amp_wide *j);
void amp_step_wide(const struct amp_wide *j);

#endif
