/* field_partition.h - a field cut into one piece a tile: what each computes, and the part of its
 * input with halo and border that it needs.
 */
#ifndef PROGRAMS_FIELD_PARTITION_H
#define PROGRAMS_FIELD_PARTITION_H

#include "programs/library/layout/network.h"

/* One tile's part of an output [blocks][n][h][w][16]. */
struct field_part {
    uint32_t tile, copy; /* copy: of parameters, which are cut by blocks only */
    uint32_t border;     /* the tile whose border is fetched: another one */
    struct nn_range n, h, w, o;
};

/* Piece `index` of plan->cut_n x cut_h x cut_w x cut_out, blocks running fastest, on the tile that
 * has part i of cut_in parts of its input. */
struct field_part field_part_at(const struct conv_plan *plan, const struct activation *y,
                                uint32_t blocks, uint32_t index, uint32_t i);

/* How windows lie on the input; border: what stands around it, by tile [tiles][..]. */
struct windows {
    uint32_t rows, columns, stride;
    int32_t pad_top, pad_left; /* below 0: so many rows and columns are not looked at */
    struct tensor border;
};

/* What an output needs of its input [blocks][n][h][w][16], or of pictures [n][h][w][4]: picture n
 * of blocks, for the rows and columns of a piece: [blocks][1][rows][columns][16]. */
struct tensor field_part_input(struct nn *nn, const struct activation *x, const struct windows *win,
                               const struct field_part *p, struct nn_range blocks, uint32_t n,
                               uint32_t *rows, uint32_t *columns);

/* t with so much of a border before and after in a dimension. */
struct tensor field_part_add_border(struct nn *nn, struct tensor border, struct tensor t,
                                    unsigned dim, uint32_t before, uint32_t behind);

/* Picture n of the output of a piece, [blocks][1][rows][columns][16]. */
struct tensor field_part_output(struct nn *nn, const struct activation *y,
                                const struct field_part *p, uint32_t n);

#endif
