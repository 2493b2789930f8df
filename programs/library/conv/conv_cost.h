/* conv_cost.h - what a cut of a convolution costs: the cycles of the largest part by the codelets'
 * own formulas, and its temporary memory. Private to programs/library/conv. */
#ifndef PROGRAMS_CONV_COST_H
#define PROGRAMS_CONV_COST_H

#include "programs/library/conv/conv_plan.h"
#include "programs/library/layout/plan_cost.h"

enum { ATOM = 16, ATOM_BYTES = 32, ATOM_WORDS = 8 };
/* The codelet of a depthwise convolution with a kernel of k x k, k 3 or 5, and a stride of 1 or 2.
 */
const struct codelet *dw_codelet(uint32_t k, uint32_t stride);

/* The shapes that conv_first supports. */
enum { FIRST_CHANNELS = 4, FIRST_STRIDE = 2, FIRST_KERNEL_MIN = 3, FIRST_KERNEL_MAX = 7 };

static inline uint32_t atoms(uint32_t channels)
{
    return ceil_div(channels, ATOM);
}

/* The largest part of a cut: what its tile computes and what it reads. */
struct conv_shard {
    uint64_t n, h, w;    /* pictures, rows and columns of the output; gemm: h counts positions */
    uint64_t out, in;    /* blocks of 16 channels */
    uint64_t in_h, in_w; /* rows and columns of the input, with halo and border */
    uint64_t calls;      /* method CONV_WINDOW: calls of the codelet for a picture */
    uint64_t rows;       /* of the kernel */
};

/* Sets p->cost. sh is the largest part of the cut; p has shape, method, cuts and port. */
void plan_conv_cost(const struct arch *a, const struct conv_shard *sh, struct conv_plan *p);

#endif
