/* ops_pieces.h - operations on lists of pieces, of which each has numbers of its own: all
 * parameters of a network as one list, say. */
#ifndef PROGRAMS_OPS_PIECES_H
#define PROGRAMS_OPS_PIECES_H

#include "programs/library/ops.h"

SUPERSTEP_API_BEGIN

/* Elements [begin, end) of a list, in its order, belong to one number. */
struct list_piece {
    uint32_t begin, end, number;
};

/* The sum, or the sum of squares, of the elements of each number, [numbers] in f32; 0 for those
 * without any. t: any view, f16 or f32; the pieces are in order and leave nothing out. One vertex
 * for each piece of a tile, and one reduction of numbers x workers columns over all tiles. */
struct tensor ss_op_piece_totals(struct graph *g, struct program seq, enum reduce_op op,
                                 struct tensor t, const struct list_piece *piece, uint32_t pieces,
                                 uint32_t numbers, const char *name);
/* Numbers on every tile, [tiles][numbers], for ss_op_piece_mul(). */
struct tensor ss_op_piece_numbers(struct graph *g, struct program seq, struct tensor number,
                                  const char *name);
/* Each element times the number of its piece: a new variable like t. Pieces, and what tiles have of
 * them, are whole rows of 16. numbers: of ss_op_piece_numbers(), in the type of t. */
struct tensor ss_op_piece_mul(struct graph *g, struct program seq, struct tensor t,
                              const struct list_piece *piece, uint32_t pieces,
                              struct tensor numbers, const char *name);

/* A list in parts, each of which has elements of all tiles: what a tile has of the list, in order,
 * is cut into `parts` of about as many whole rows of `row` elements. *run: the runs of part i, by
 * tile, then in order; number: the tile. ss_free it. Errors: those of the graph, EMU_NO_MEMORY. */
enum emu_status ss_op_list_part(struct graph *g, struct tensor t, uint32_t row, uint32_t i,
                                uint32_t parts, struct list_piece **run,
                                uint32_t *runs) EMU_MUST_CHECK;
/* As few parts as have at most `most` elements of any tile; of an uneven list so few that what is
 * computed of a part lies where it does. 0 after an error of the graph. */
uint32_t ss_op_list_parts(struct graph *g, struct tensor t, uint32_t most);

SUPERSTEP_API_END

#endif
