/* block_parameters.h - makes blocks equal that differ only in their parameters.
 *
 * Constants are part of a block's code: of its plans, its layouts, its vertices. A network whose
 * blocks repeat, but whose code does not fit, is lowered with such constants as states that no run
 * changes: they lie in memory like anything else, are copied to where the one function of their
 * blocks expects them, and equal_blocks_find() finds the blocks.
 */
#ifndef MODELS_BLOCK_PARAMETERS_H
#define MODELS_BLOCK_PARAMETERS_H

#include "models/graph/op_graph.h"
#include "programs/programs.h"

/* Turns parameters into states where blocks differ in nothing else; they keep their contents.
 * *blocks: how many blocks there are of that kind. real: as for node_groups_of(). Cost: nodes x
 * parameters. EMU_NO_MEMORY. */
enum emu_status block_parameters_to_states(struct op_graph *g, enum elem real,
                                           uint32_t *blocks) EMU_MUST_CHECK;

#endif
