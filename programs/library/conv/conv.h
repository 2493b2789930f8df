/* conv.h - the methods of a convolution, and what they share: bias and activation after it, strides
 * before it. */
#ifndef PROGRAMS_CONV_H
#define PROGRAMS_CONV_H

#include "programs/library/layout/network.h"

/* One file per method. The method maps y, which has its shape already, and computes it. */
void conv_gemm(struct nn *nn, struct activation x, const struct conv_layer *layer,
               const struct conv_plan *plan, struct activation y);
void conv_depthwise(struct nn *nn, struct activation x, const struct conv_layer *layer,
                    const struct conv_plan *plan, struct activation y);
void conv_window(struct nn *nn, struct activation x, const struct conv_layer *layer,
                 const struct conv_plan *plan, struct activation y);
void conv_first(struct nn *nn, struct activation x, const struct conv_layer *layer,
                const struct conv_plan *plan, struct activation y);

/* Every stride_h-th row and stride_w-th column of t [c16][n][h][w][16], from the first on. */
struct tensor conv_every(struct graph *g, struct tensor t, uint32_t stride_h, uint32_t stride_w);

/* Adds bias and activation to results on many tiles. */
struct conv_finish {
    struct nn *nn;
    const struct conv_layer *layer;
    struct tensor bias; /* constant [copies][blocks * 16]; a tensor: [blocks * 16] */
    uint32_t cs;        /* the compute set, if started */
    int started;
};

/* copies: how many copies of all biases there are, unless they are a tensor. Every block of every
 * copy must be put on a tile by conv_finish_map(). EMU_NO_MEMORY. */
enum emu_status conv_finish_begin(struct nn *nn, const struct conv_layer *layer, uint32_t copies,
                                  struct conv_finish *out) EMU_MUST_CHECK;
/* Makes its compute set the next step of the network; does nothing the second time. */
void conv_finish_start(struct conv_finish *f, const char *name);
/* Puts the biases of some blocks of a copy on a tile, and returns them. */
struct tensor conv_finish_map(struct conv_finish *f, uint32_t copy, struct nn_range blocks,
                              uint32_t tile);
/* Returns the biases of some blocks of a copy. */
struct tensor conv_finish_bias(struct conv_finish *f, uint32_t copy, struct nn_range blocks);
/* Adds bias and activation to x [blocks][positions][16] on a tile, in place. */
void conv_finish_add(struct conv_finish *f, uint32_t copy, struct nn_range blocks, uint32_t tile,
                     struct tensor x, uint32_t positions);

#endif
