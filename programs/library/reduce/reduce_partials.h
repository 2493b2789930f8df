/* reduce_partials.h - adds up partial results that lie on many tiles. */
#ifndef PROGRAMS_REDUCE_PARTIALS_H
#define PROGRAMS_REDUCE_PARTIALS_H

#include "programs/library/layout/tile_parts.h"

/* Columns [begin, end) of a partial result, or of a row that is still to be reduced. */
struct reduce_piece {
    struct tensor t; /* one dimension */
    uint64_t begin, end;
    uint64_t row; /* its row, or its number in the order of pieces */
    uint32_t tile;
};

/* Adds up all f32 pieces (REDUCE_SUM), or takes their maximum (REDUCE_MAX), column by column, in
 * stages between tiles as op_reduce() does. There is at least one piece, and together they cover
 * all columns [0, n). Returns the columns in order. */
struct tensor reduce_pieces(struct graph *g, struct program seq, enum reduce_op op,
                            const struct reduce_piece *piece, size_t pieces, const char *name);

#endif
