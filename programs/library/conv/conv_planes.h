/* conv_planes.h - a tile's part of an input in planes. With a stride of s the rows that one tap of
 * a kernel reads are s apart, so rows with an equal remainder modulo s are kept together, and
 * columns likewise: what a tap reads for neighbouring outputs is a run of neighbours in one plane.
 */
#ifndef PROGRAMS_CONV_PLANES_H
#define PROGRAMS_CONV_PLANES_H

#include "programs/library/conv/field_partition.h"

/* Blocks of an input as [plane_rows][plane_columns][rows][columns][16]; only planes that some tap
 * reads. */
struct planes {
    struct windows win;
    uint32_t plane_rows, plane_columns, rows, columns;
};

/* How many positions of a plane `outputs` neighbouring ones read. */
uint32_t plane_size(const struct window_axis *a, uint32_t outputs);
/* The planes for so many rows and columns of outputs. */
struct planes planes_of(const struct windows *win, uint32_t rows, uint32_t columns);
/* Positions of a block. */
uint32_t planes_size(const struct planes *l);
/* The position in a block that a tap reads for the first output. */
uint32_t planes_tap(const struct planes *l, uint32_t row, uint32_t column);
/* Input blocks of picture n for part p, [blocks][planes][rows][columns][16], flat. */
struct tensor planes_input(struct nn *nn, const struct activation *x, const struct planes *l,
                           const struct field_part *p, struct nn_range blocks, uint32_t n);

#endif
