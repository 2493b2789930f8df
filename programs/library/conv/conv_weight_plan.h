/* conv_weight_plan.h - how the gradient of a convolution's weights is cut over tiles. Private to
 * programs/library/conv.
 *
 * The sums are over positions: rows of all pictures, numbered from 0, and with more than one tap
 * columns in sixteens. Blocks of 16 positions are each of one row, or runs of positions of all rows
 * one after the other, with those between them that only taps read: flat. One tap is flat. A tile
 * has some groups, some output blocks, input blocks and rows of the kernel of each, and some rows
 * and columns of the field. Those are added up to one partial sum, or more, each of at most
 * WEIGHT_GRADIENT_BLOCKS blocks of 16 positions.
 */
#ifndef PROGRAMS_CONV_WEIGHT_PLAN_H
#define PROGRAMS_CONV_WEIGHT_PLAN_H

#include "programs/library/conv/conv_planes.h"
#include "programs/library/layout/plan.h"

/* So many terms are added up in f16, each the f32 sum of 16 products. One row of a field may have
 * more. */
enum { WEIGHT_GRADIENT_BLOCKS = 16 };

struct weight_gradient_shape {
    uint32_t groups, in, out; /* in, out: blocks of 16 channels of a group */
    uint32_t pictures;
    uint32_t rows, columns; /* of the field of outputs; rows: those of all pictures */
    struct windows win;
};

struct weight_gradient_plan {
    /* Into how many parts they are cut; taps: kernel rows. */
    uint32_t groups, out, in, taps, rows, columns;
    int flat;
    uint64_t cycles, bytes; /* of the busiest tile; bytes: temporary */
};

/* The tile of part `part` of `parts`, of a gradient of weights on so many tiles: a quarter of them
 * further on than its place in order, where what it reads lies often. Data that lies on its tile
 * already must be copied, which costs more than the exchange. */
uint32_t weight_gradient_tile(uint64_t part, uint64_t parts, uint32_t tiles);

/* Whether kernels have more than one tap. */
int weight_gradient_is_windowed(const struct weight_gradient_shape *s);
/* Positions from one row of so many columns of outputs to the next in blocks. */
uint32_t weight_gradient_pitch(const struct weight_gradient_shape *s, int flat, uint32_t columns);
/* Blocks of 16 positions that so many rows of them take. */
uint32_t weight_gradient_blocks(const struct weight_gradient_shape *s, int flat, uint32_t rows,
                                uint32_t columns);
/* The most rows of a piece. */
uint32_t weight_gradient_piece(const struct weight_gradient_shape *s, int flat, uint32_t columns);
/* Part i of the columns. */
struct nn_range weight_gradient_columns(const struct weight_gradient_shape *s, uint32_t parts,
                                        uint32_t i);

/* Rows of 16 positions that are transposed for each column of the kernel, of `rows` rows of outputs
 * that take so many blocks. Rows of the kernel are neighbours among them; there are `step` from one
 * block to that below it, or, if it is flat, to the next one. */
struct turned_rows {
    uint32_t count, step;
};
struct turned_rows weight_gradient_turned(const struct planes *l, int flat, uint32_t rows,
                                          uint32_t blocks);

/* The cheapest plan that takes at most memory_bytes and half of a tile; if there is none, the plan
 * that takes least. */
struct weight_gradient_plan plan_weight_gradient(const struct arch *a,
                                                 const struct weight_gradient_shape *s,
                                                 uint32_t tiles, uint64_t memory_bytes);

#endif
