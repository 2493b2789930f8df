/* row_cut.h - how operations over the rows of a matrix are cut over tiles, and what they share:
 * views of the pieces, partial results of rows.
 *
 * Rows are dealt to groups of tiles, and a row is cut into as many pieces as a group has tiles, in
 * whole vectors of 8 bytes. A piece of a row leaves one partial result for each worker that shares
 * it; who needs the row's result reads the partial results of all pieces.
 */
#ifndef PROGRAMS_ROW_CUT_H
#define PROGRAMS_ROW_CUT_H

#include "programs/library/layout/tile_parts.h"

/* A cut of [rows][n]. */
struct row_cut {
    uint32_t rows, n;
    uint32_t lanes;          /* elements of a vector */
    uint32_t groups, pieces; /* their product is the number of tiles that work */
    uint32_t parts;          /* workers that share a piece of a row; divides their number */
    uint32_t workers, tiles; /* of a tile, of the machine */
    uint32_t first;          /* tile of the first piece; the others follow at equal distances */
};

/* What one tile has: rows [r0, r1), columns [c0, c1), of which n are real: columns are counted with
 * what fills up the last vector. The others are fields of the kernels (rows.inc). */
struct row_piece {
    uint32_t tile, r0, r1, c0, c1;
    uint32_t n, rows, parts, step, each;
};

/* Predicted cycles of the kernels of an operation on the tile that has most: `most`. p: partial
 * results of a row. */
typedef uint64_t row_cut_cycles(const struct arch *a, const struct row_cut *c,
                                const struct row_piece *most, uint32_t p);

/* Chooses the cheapest cut: kernels, the words that a tile fetches, and `joins` times bringing the
 * partial results of a row together. t is [r][n], f16 or f32. */
struct row_cut row_cut_choose(struct graph *g, struct tensor t, row_cut_cycles *cycles,
                              unsigned joins);

static inline uint32_t row_pieces(const struct row_cut *c)
{
    return c->groups * c->pieces;
}

struct row_piece row_piece(const struct row_cut *c, uint32_t i);

/* [r][n] with rows filled up to whole vectors: by what is of no interest, their last elements. */
struct tensor row_filled(struct graph *g, const struct row_cut *c, struct tensor t);
/* A new variable [r][filled n], each piece on its tile. */
struct tensor row_variable(struct graph *g, const struct row_cut *c, enum elem e, const char *name);
/* What a piece has of such a tensor; flat. */
struct tensor row_take(struct graph *g, const struct row_piece *p, struct tensor t);
/* The first n columns. */
struct tensor row_real(struct graph *g, const struct row_cut *c, struct tensor t);

/* A new variable [r][pieces * parts] f32 for partial results, those of a piece on its tile. */
struct tensor row_partials(struct graph *g, const struct row_cut *c, const char *name);
/* The partial results of piece i; flat. */
struct tensor row_partials_take(struct graph *g, const struct row_cut *c, uint32_t i,
                                struct tensor t);
/* All partial results of a piece's rows; flat. */
struct tensor row_partials_all(struct graph *g, const struct row_piece *p, struct tensor t);

/* What is made of the parts of rows. */
enum row_fold { ROW_FOLD_SUM, ROW_FOLD_SUMSQ, ROW_FOLD_MAX, ROW_FOLD_MIN, ROW_FOLD_PROD };

/* Partial results of filled rows x. */
struct tensor row_fold(struct graph *g, struct program seq, enum row_fold op,
                       const struct row_cut *c, struct tensor x, const char *name);
uint64_t row_fold_cycles(const struct arch *a, enum row_fold op, uint32_t lanes,
                         const struct row_piece *p);
/* Brings partial results [r][p] together until a row has at most `most`. */
struct tensor row_join(struct graph *g, struct program seq, enum row_fold op, struct tensor partial,
                       uint32_t most, const char *name);

/* So many partial results of a row are read by each kernel that needs its result; more are brought
 * together first. */
enum { ROW_MOST_PARTIALS = 64 };

/* Whether t is a matrix of floats that is not empty; else the graph gets an error. */
int row_operand(struct graph *g, struct tensor t, const char *name);

#endif
