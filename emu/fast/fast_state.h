/* fast_state.h - what the fast engine remembers of a tile between instructions. Private to
 * emu/fast.
 */
#ifndef EMU_FAST_STATE_H
#define EMU_FAST_STATE_H

#include "emu/fast/fast.h"

/* What the fast AMP path knows about the even or the odd accumulators of all workers: no magnitude
 * is above max, all are multiples of 2^lsb. */
struct acc_bounds {
    float max;
    int32_t lsb;
};

/* A converted copy of the weights for the fast AMP path; only emu/fast/fast_weights.h fills and
 * reads it. */
struct weight_cache {
    uint32_t key;            /* what it holds and for which units; 0: nothing */
    uint32_t generation;     /* weight_generation it was made from */
    uint16_t max[4], min[4]; /* f16, per n: largest magnitude; smallest nonzero one less 1, 0xffff
                                if all are zero */
    _Alignas(64) union {
        double f64[4][4][16]; /* f16 weights: [n][lane][unit] */
        float f32[8][16];     /* f32 weights: [phase][unit], subnormals flushed */
    };
};

/* Ranges that contain the operands of recent f16 steps; fast_amp.c compares with them instead of
 * measuring each time. All elements of an array are equal. A minimum is the smallest nonzero
 * magnitude, less 1. */
struct amp_window {
    _Alignas(32) uint16_t x_max[16], x_min[16];
    uint16_t half_max[16];                 /* f16 partial sums */
    uint32_t single_max[8], single_min[8]; /* f32 partial sums */
    struct acc_bounds half, single;        /* what they imply for partial sums */
    float product_max[4]; /* with the weights of each n: above the sum of four products */
    int32_t product_lsb[4];
};

struct fast_state {
    uint8_t late_lanes;          /* fast_begin_rounds() */
    uint32_t acc_sets;           /* sets of units that bounds[] are true of, as long as ... */
    uint64_t acc_generation;     /* ... t->acc_generation is this */
    struct acc_bounds bounds[2]; /* even, odd; zeroing accumulators keeps them true */
    struct weight_cache weights;
    struct amp_window window;
};

#endif
