/* conv.h - what the methods of a convolution share: bias and activation after it, and every second
 * position before it. */
#ifndef PROGRAMS_CONV_H
#define PROGRAMS_CONV_H

#include "programs/library/layout/network.h"

/* One file per method. y has its shape; the method maps it. */
void conv_gemm(struct nn *nn, struct activation x, const struct conv_layer *layer,
               const struct conv_plan *plan, struct activation y);
void conv_depthwise(struct nn *nn, struct activation x, const struct conv_layer *layer,
                    const struct conv_plan *plan, struct activation y);
void conv_window(struct nn *nn, struct activation x, const struct conv_layer *layer,
                 const struct conv_plan *plan, struct activation y);
void conv_first(struct nn *nn, struct activation x, const struct conv_layer *layer,
                const struct conv_plan *plan, struct activation y);

/* Every stride-th row and column of [c16][n][h][w][16], from the first on. */
struct tensor conv_every(struct graph *g, struct tensor t, uint32_t stride);

/* Bias and activation of a layer on many tiles. */
struct conv_finish {
    struct nn *nn;
    const struct conv_layer *layer;
    struct tensor bias; /* constant [copies][blocks * 16] */
    uint32_t cs;
    int started; /* cs exists */
};

/* copies: of all biases; every block of every copy must be put on a tile by conv_finish_map(). */
enum emu_status conv_finish_begin(struct nn *nn, const struct conv_layer *layer, uint32_t copies,
                                  struct conv_finish *out) EMU_MUST_CHECK;
/* Its compute set is the next step of the network from now on, if it was not yet. */
void conv_finish_start(struct conv_finish *f, const char *name);
/* The biases of some blocks of a copy lie on a tile from now on; they are returned. */
struct tensor conv_finish_map(struct conv_finish *f, uint32_t copy, struct nn_range blocks,
                              uint32_t tile);
struct tensor conv_finish_bias(struct conv_finish *f, uint32_t copy, struct nn_range blocks);
/* Adds bias and activation to x [blocks][positions][16] on a tile, in place. */
void conv_finish_add(struct conv_finish *f, uint32_t copy, struct nn_range blocks, uint32_t tile,
                     struct tensor x, uint32_t positions);

#endif
