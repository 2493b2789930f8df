/* field_partition.h - the field of a layer (its rows and columns) cut into one part for each tile:
 * what a tile computes, and which part of the input, with halo and border, it needs for that.
 */
#ifndef PROGRAMS_FIELD_PARTITION_H
#define PROGRAMS_FIELD_PARTITION_H

#include "programs/library/layout/network.h"

/* One tile's part of an output [blocks][n][h][w][16]. */
struct field_part {
    uint32_t tile, copy; /* copy: number of its copy of parameters, which are cut by blocks only */
    uint32_t border;     /* the tile, never `tile`, from which border elements are fetched */
    struct nn_range n, h, w, o; /* pictures, rows, columns, blocks of channels */
};

/* Part `index` of the cut_n x cut_h x cut_w x cut_out parts of a plan, blocks running fastest, on
 * the tile that takes part i of the cut_in parts of its input. */
struct field_part field_part_at(const struct conv_plan *plan, const struct activation *y,
                                uint32_t index, uint32_t i);

/* How windows lie on the input: their rows, and their columns. */
struct window_axis {
    uint32_t kernel, stride, dilation;
    int32_t pad; /* below 0: so many rows or columns of the input are skipped */
};
struct windows {
    struct window_axis h, w;
    struct tensor border; /* [tiles][..]: values of the elements around the input */
};

/* The part of input x that part p needs: picture n of some blocks, with halo and border,
 * [blocks][1][rows][columns][16]. x is an activation, or a picture [n][h][w][4]. */
struct tensor field_part_input(struct nn *nn, const struct activation *x, const struct windows *win,
                               const struct field_part *p, struct nn_range blocks, uint32_t n,
                               uint32_t *rows, uint32_t *columns);

/* t with `before` and `after` border elements added before and after it in a dimension. */
struct tensor field_part_add_border(struct nn *nn, struct tensor border, struct tensor t,
                                    unsigned dim, uint32_t before, uint32_t after);

/* Picture n of the output of part p: a view of y, [blocks][1][rows][columns][16]. */
struct tensor field_part_output(struct nn *nn, const struct activation *y,
                                const struct field_part *p, uint32_t n);

#endif
