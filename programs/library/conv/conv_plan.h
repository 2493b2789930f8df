/* conv_plan.h - how a convolution is cut over tiles.
 *
 *   method      for                             cut by, besides pictures
 *   GEMM        kernel 1                        positions, input channels, output channels
 *   WINDOW      any kernel, groups              rows, columns, output channels or groups, input
 *                                               channels or rows of the kernel
 *   DEPTHWISE   one channel a group, kernel 3   rows, columns, channels
 *               or 5, stride 1 or 2
 *   FIRST       3 or 4 input channels, kernel   rows, columns, output channels
 *               3 to 7, stride 2
 *
 * All cuts are tried. The cost of a cut is that of the exchange of its input (with halo), of
 * compute by the codelets' own formulas, of exchanging and adding up partial results, and of syncs.
 */
#ifndef PROGRAMS_CONV_PLAN_H
#define PROGRAMS_CONV_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "emu/base/api.h"
#include "programs/library/layout/plan.h"

SUPERSTEP_API_BEGIN

/* The last two are no convolutions: the largest and the mean of a window (plan_pool()). */
enum conv_method { CONV_GEMM, CONV_WINDOW, CONV_DEPTHWISE, CONV_FIRST, CONV_POOL, CONV_MEAN };
const char *ss_conv_method_name(enum conv_method m);

struct conv_shape {
    uint32_t n, in_c, in_h, in_w, out_c, out_h, out_w, groups;
    uint32_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
    uint32_t padded;      /* 1: there are zeros around the input of a kernel of 1 x 1 */
    uint32_t blocks;      /* 1: the input is no picture, although ss_conv_is_first() */
    uint32_t swish, relu; /* 1: that activation function follows */
    uint32_t add;         /* 1: another activation is added */
    uint32_t bias;        /* 1: there are biases that are not zero */
    uint32_t f32;         /* 1: partial sums in f32 */
    uint32_t sliding;     /* 1: the sliding unit alone, if it is depthwise */
    uint32_t tensors;     /* 1: parameters are tensors, so always fetched */
    uint32_t kib_price;   /* cycles charged for a KiB of parameters that stays on a tile */
};

struct conv_plan {
    struct conv_shape shape;
    enum conv_method method;
    /* Into how many parts are cut: pictures, rows of the output (GEMM: positions), columns, blocks
     * of 16 output channels (with groups: groups, or all groups into as many parts each), blocks of
     * 16 input channels (of each group; WINDOW with groups: rows of the kernel). Their product is
     * the number of tiles used. */
    uint32_t cut_n, cut_h, cut_w, cut_out, cut_in;
    uint32_t first_tile, tiles;
    /* Part k lies on tile (k + rotation) mod tiles of these; the partial sums of a group of cut_in
     * tiles are added up by the group that is sum_rotation groups further on. Chosen so that tiles
     * get what they need from others: data that lies on its tile already would have to be copied,
     * which costs more than the exchange. */
    uint32_t rotation, sum_rotation;
    struct plan_port port;
    /* Parameters. 0: every tile that uses a part holds it for the whole program. 1: one of these
     * tiles, or for tensors any other, holds it and sends it to the others together with their
     * input. */
    int fetched;
    uint64_t weight_bytes;   /* used by the busiest tile */
    uint64_t resident_bytes; /* held by the busiest tile; if fetched, by a tile on average */
    struct plan_cost cost;
};

/* Whether the kernel of first layers, which reads pictures [n][h][w][4], can do a convolution.
 * Reads in_c, groups, kernels, strides and dilations of s only. */
int ss_conv_is_first(const struct conv_shape *s);

/* Whether the sliding unit can do a convolution of one channel a group: the kernel is 3 x 3 or 5 x
 * 5 without gaps, the stride 1 or 2. */
int ss_conv_slides(const struct conv_shape *s);

/* How many rows a kernel covers from its first to its last one, or columns. */
static inline uint32_t conv_reach(uint32_t kernel, uint32_t dilation)
{
    return (kernel - 1) * dilation + 1;
}

/* How a convolution is computed. */
enum conv_method ss_conv_method_of(const struct conv_shape *s);

/* Kernels of convolutions that a machine can run. Zeros are none. */
struct conv_kernels {
    const struct codelet *at[16]; /* more are checked each time */
    unsigned count;
};

/* Checks that a machine can do a convolution. EMU_USAGE for a shape that no method supports, or
 * when the machine lacks an instruction of the kernel; the message names both. known: of the same
 * machine; the kernel is added. */
enum emu_status ss_conv_check(const struct arch *a, const struct conv_shape *s,
                              struct conv_kernels *known) EMU_MUST_CHECK;

/* The cheapest plan, including the price of its parameters, on tiles [first_tile, first_tile +
 * tiles) that takes at most memory_bytes of temporary memory on a tile; if there is none, the plan
 * that takes least. EMU_USAGE for shapes that no method supports. */
enum emu_status ss_plan_conv(const struct arch *a, const struct conv_shape *s, uint32_t first_tile,
                             uint32_t tiles, uint64_t memory_bytes,
                             struct conv_plan *out) EMU_MUST_CHECK;

/* The plans of a shape worth choosing from, fastest first. For every other plan there is one here
 * that is no slower and needs no more temporary memory and no more memory for parameters (in steps
 * of 1 / 256 of a tile's memory). */
struct conv_choice {
    struct conv_plan *plan; /* owned */
    size_t count;
};

/* Finds them; ignores the kib_price of the shape. Errors: those of ss_plan_conv(), and
 * EMU_NO_MEMORY. Free with ss_conv_choice_free. */
enum emu_status ss_plan_conv_choice(const struct arch *a, const struct conv_shape *s,
                                    uint32_t first_tile, uint32_t tiles,
                                    struct conv_choice *out) EMU_MUST_CHECK;
void ss_conv_choice_free(struct conv_choice *c);

SUPERSTEP_API_END

#endif
