/* conv_cost.h - what a cut of a convolution costs: the cycles of the largest part by the codelets'
 * own formulas, and its temporary memory. Private to convolutions. */
#ifndef PROGRAMS_CONV_COST_H
#define PROGRAMS_CONV_COST_H

#include "programs/library/depthwise/dw_pack.h"
#include "programs/library/conv/conv_plan.h"
#include "programs/library/layout/network.h"
#include "programs/library/layout/plan_cost.h"

/* A block of channels at one position, in f16. */
enum { CHANNEL_BLOCK_BYTES = 2 * CHANNEL_BLOCK, CHANNEL_BLOCK_WORDS = CHANNEL_BLOCK / 2 };

/* What a depthwise convolution that ss_conv_slides() is computed with; its codelet. */
struct dw_kind conv_dw_kind(const struct conv_shape *s);
const struct codelet *dw_codelet(struct dw_kind kind);

/* The shapes that conv_first supports. */
enum { FIRST_CHANNELS = 4, FIRST_STRIDE = 2, FIRST_KERNEL_MIN = 3, FIRST_KERNEL_MAX = 7 };

/* Kernels of bias and activation function: in place, and after adding up sums in f16 [0] or f32
 * [1].
 */
extern const struct act_kernels conv_bias_kernels, conv_sum_kernels[2];

/* The largest part of a cut: what its tile computes and what it reads. */
struct conv_part {
    uint64_t n, h, w;    /* pictures, rows and columns of the output; gemm: h counts positions */
    uint64_t out, in;    /* blocks of 16 channels */
    uint64_t groups;     /* that these blocks belong to; 1 without groups */
    uint64_t in_h, in_w; /* rows and columns of the input, with halo and border */
    uint64_t calls;      /* of the codelet for a picture, methods CONV_GEMM and CONV_WINDOW */
    uint64_t rows;       /* of the kernel */
};

/* Sets p->cost. part is the largest part of the cut; p has shape, method, cuts and port. */
void plan_conv_cost(const struct arch *a, const struct conv_part *part, struct conv_plan *p);

/* The output channels are cut between units: blocks of 16, or, where a group of several blocks
 * reads its own input, between groups. With more parts than groups, a multiple of their number,
 * every group is cut between its blocks. */
static inline uint32_t conv_units_of(const struct conv_plan *p)
{
    int groups = p->shape.groups > 1 && (p->method == CONV_GEMM || p->method == CONV_WINDOW);

    return groups ? p->shape.groups : channel_blocks(p->shape.out_c);
}
/* Blocks of a unit. */
static inline uint32_t conv_unit_blocks(const struct conv_plan *p)
{
    return channel_blocks(p->shape.out_c) / conv_units_of(p);
}
/* The blocks of part o; the part that has a block. */
struct nn_range conv_output_part(const struct conv_plan *p, uint32_t o);
uint32_t conv_output_part_with(const struct conv_plan *p, uint32_t block);

/* The tile of part k of a plan; k = (number of the part of the output) x cut_in + part of the
 * input. */
static inline uint32_t conv_plan_tile(const struct conv_plan *p, uint64_t k)
{
    return p->first_tile + (uint32_t)((k + p->rotation) % p->tiles);
}

/* How a sum is cut among the tiles with its partial results, each of which adds up one part. The
 * sum has rows of 16 values, numbered block by block, in a block position by position. Parts are
 * even, or each lies within one block, which saves a call if even parts would reach into a second
 * block. */
struct conv_sum_cut {
    uint32_t blocks, positions, parts;
    int by_block;
    /* Of the largest part: words of each term, calls of the codelet and their cycles. */
    uint64_t words, calls, cycles;
};
/* The cheaper of both ways. */
struct conv_sum_cut conv_sum_cut(const struct arch *a, const struct conv_plan *p, uint32_t blocks,
                                 uint32_t positions);
/* The first row of part i; for i = parts the number of all rows. */
uint32_t conv_sum_part_begin(const struct conv_sum_cut *s, uint32_t i);
/* The part that has a row. */
uint32_t conv_sum_part_with(const struct conv_sum_cut *s, uint32_t row);

/* ss_plan_conv() for a pool (CONV_POOL, CONV_MEAN), described as a convolution with in_c = out_c =
 * groups. */
enum emu_status plan_pool(const struct arch *a, const struct conv_shape *s, enum conv_method method,
                          uint32_t first_tile, uint32_t tiles, uint64_t memory_bytes,
                          struct conv_plan *out) EMU_MUST_CHECK;

#endif
