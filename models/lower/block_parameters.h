/* block_parameters.h - makes blocks equal that differ in their parameters only.
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

/* Makes states of the parameters of blocks that are alike but for them; they keep their contents.
 * *blocks: how many blocks that are. real: as for node_groups_of(). Cost: nodes x parameters.
 * EMU_NO_MEMORY. */
enum emu_status block_parameters_to_states(struct op_graph *g, enum elem real,
                                           uint32_t *blocks) EMU_MUST_CHECK;

#endif
