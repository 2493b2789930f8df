/* reduce_partials.h - adds up partial results that lie on many tiles. */
#ifndef PROGRAMS_REDUCE_PARTIALS_H
#define PROGRAMS_REDUCE_PARTIALS_H

#include "programs/library/layout/tile_parts.h"

/* Columns [begin, end) of a partial result, or of a row that is still to be reduced. */
struct reduce_partial {
    struct tensor t; /* one dimension */
    uint64_t begin, end;
    uint64_t row; /* its row, or its number in the order of partials */
    uint32_t tile;
};

/* Adds up all f32 partials (REDUCE_SUM), or takes their maximum (REDUCE_MAX), column by column, in
 * stages between tiles as ss_op_reduce() does. There is at least one partial, and together they
 * cover all columns [0, n). Returns the columns in order. */
struct tensor reduce_partials(struct graph *g, struct program seq, enum reduce_op op,
                              const struct reduce_partial *partial, size_t partials,
                              const char *name);

#endif
