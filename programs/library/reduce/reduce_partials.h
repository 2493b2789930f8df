/* reduce_partials.h - partial results that lie on many tiles, brought together. */
#ifndef PROGRAMS_REDUCE_PIECES_H
#define PROGRAMS_REDUCE_PIECES_H

#include "programs/library/layout/tile_parts.h"

/* Columns [begin, end) of a partial result, or of a row that is still to be reduced. */
struct reduce_piece {
    struct tensor t; /* one dimension */
    uint64_t begin, end;
    uint64_t row; /* or place in the order of pieces */
    uint32_t tile;
};

/* Adds up (REDUCE_SUM) or takes the largest of all f32 pieces, at least one, column by column:
 * stages between tiles as in op_reduce(). Returns all columns in order. Together the pieces cover
 * [0, n) without holes. */
struct tensor reduce_pieces(struct graph *g, struct program seq, enum reduce_op op,
                            const struct reduce_piece *piece, size_t pieces, const char *name);

#endif
