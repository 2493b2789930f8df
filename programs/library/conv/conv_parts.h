/* conv_parts.h - what convolutions on the matrix unit share: weights in blocks of 16 x 16 channels,
 * and the adding up of partial results when the input channels are cut over several tiles.
 */
#ifndef PROGRAMS_CONV_PARTS_H
#define PROGRAMS_CONV_PARTS_H

#include "programs/library/conv/conv.h"

/* Output channels that the matrix unit computes at a time: 8 with sums in f32, else 16; and how
 * many such halves a block of 16 channels has. */
static inline uint32_t conv_units(const struct conv_layer *l)
{
    return l->partials == PARTIALS_F32 ? CHANNEL_BLOCK / 2 : CHANNEL_BLOCK;
}
static inline uint32_t conv_halves(const struct conv_layer *l)
{
    return CHANNEL_BLOCK / conv_units(l);
}
/* Some blocks of 16 channels at some positions of sums [blocks][positions][16], or, in f32,
 * [2 blocks][positions][8]. */
struct tensor conv_sums_of(struct graph *g, const struct conv_layer *l, struct tensor sums,
                           struct nn_range blocks, struct nn_range positions);

/* ---- weights ---- */

/* The weights of a layer, in one or more copies; tensors in one. In every copy part (i, o) of the
 * plan's cuts is [output blocks][input blocks][rows][kernel][16][16], or, for sums in f32, [2
 * output blocks][input blocks][rows][kernel][8][16]. The plan's cut_in cuts the input blocks of a
 * group; by windows with groups, rows of the kernel. */
struct conv_weights {
    struct nn *nn;
    const struct conv_layer *layer;
    const struct conv_plan *plan;
    uint32_t channels; /* input channels of a group */
    struct tensor t;   /* constant [copies][..]; tensors: a view [..] */
};

/* Makes t; the caller has set the members before it. users: how many tiles use each
 * part. */
void conv_weights_new(struct conv_weights *w, uint32_t users);
/* Part (i, o) for one of its users, number `copy`, which is tile `tile`; flat. To be called for
 * every user, because it puts the part there unless the plan says that parameters are fetched. */
struct tensor conv_weights_on(const struct conv_weights *w, uint32_t i, uint32_t o, uint32_t copy,
                              uint32_t tile);
/* Blocks of the input of a group and rows of the kernel in part i. */
struct nn_range conv_in_blocks(const struct conv_weights *w, uint32_t i);
struct nn_range conv_rows(const struct conv_weights *w, uint32_t i);

/* ---- partial results ---- */

/* Partial results of one output. Part i of the output is added up on the tile of part
 * first_part + i of the plan, with copy first_copy + i x copy_step of the biases. */
struct conv_sum {
    const struct conv_plan *plan;
    uint32_t parts, first_part, first_copy, copy_step;
    struct nn_range blocks;
    const struct tensor *partial; /* borrowed; [parts], each as conv_sums_of() takes it */
    struct tensor y;              /* [blocks][positions][16], not mapped yet */
    struct tensor add;            /* if adds: the residual, like y */
    int adds;                     /* 1: there is a residual; never with sums in f32 */
};

/* Adds up the partial results: each tile its part of the rows of 16 channels, with bias, residual
 * and activation, and keeps the result. The first call makes the compute set of f. */
void conv_add_up(struct conv_finish *f, const struct conv_sum *s);

#endif
