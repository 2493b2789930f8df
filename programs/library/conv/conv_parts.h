/* conv_parts.h - what convolutions on the matrix unit share: weights in blocks of 16 x 16 channels,
 * and partial results of tiles that have a part of the input channels each.
 */
#ifndef PROGRAMS_CONV_PARTS_H
#define PROGRAMS_CONV_PARTS_H

#include "programs/library/conv/conv.h"

/* Channels of a block of outputs on the matrix unit: 8 where sums are f32, two such blocks where
 * there is one of 16 else. */
static inline uint32_t conv_units(const struct conv_layer *l)
{
    return l->partials == PARTIALS_F32 ? CHANNEL_BLOCK / 2 : CHANNEL_BLOCK;
}
static inline uint32_t conv_halves(const struct conv_layer *l)
{
    return CHANNEL_BLOCK / conv_units(l);
}
/* Some blocks of 16 channels of sums [blocks][positions][16] or [2 blocks][positions][8]. */
struct tensor conv_sums_of(struct graph *g, const struct conv_layer *l, struct tensor sums,
                           struct nn_range blocks, struct nn_range positions);

/* ---- weights ---- */

/* The weights of a layer: in every copy part (i, o) of the plan's cuts is [output blocks][input
 * blocks][rows][kernel][16][16], or [2 output blocks]..[8][16] for sums in f32. Cut_in cuts
 * input blocks, or rows of the kernel where there are groups. */
struct conv_weights {
    struct nn *nn;
    const struct conv_layer *layer;
    const struct conv_plan *plan;
    uint32_t channels;    /* of the input, of a group */
    uint32_t units, unit; /* the output is cut between units of so many blocks */
    struct tensor t;      /* constant [copies][..] */
};

/* Makes them; the fields before t are set. users: of each part. */
void conv_weights_new(struct conv_weights *w, uint32_t users);
/* Part (i, o) for user `copy`, which is this tile; flat. To be called for every user: the part is
 * put there, unless the plan has it fetched. */
struct tensor conv_weights_on(const struct conv_weights *w, uint32_t i, uint32_t o, uint32_t copy,
                              uint32_t tile);
/* Blocks of the input and rows of the kernel in part i, blocks of the output in part o. */
struct nn_range conv_in_blocks(const struct conv_weights *w, uint32_t i);
struct nn_range conv_rows(const struct conv_weights *w, uint32_t i);
struct nn_range conv_out_blocks(const struct conv_weights *w, uint32_t o);

/* ---- partial results ---- */

/* Partial results of the same output. Share i of it is added up on the tile of piece first_piece +
 * i of the plan, with copy first_copy + i copy_step of the biases. */
struct conv_sum {
    const struct conv_plan *plan;
    uint32_t parts, first_piece, first_copy, copy_step;
    struct nn_range blocks;
    const struct tensor *partial; /* borrowed; [parts], each as conv_sums_of() takes it */
    struct tensor y;              /* [blocks][positions][16], not mapped yet */
    struct tensor add;            /* the same, added; with adds, not with sums in f32 */
    int adds;
};

/* Each tile adds up its share of the rows of 16, bias, residual and activation included, and keeps
 * them. f: its compute set is made by the first call. */
void conv_add_up(struct conv_finish *f, const struct conv_sum *s);

#endif
