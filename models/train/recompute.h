/* recompute.h - blocks of a step of training that are computed a second time, before their backward
 * part, so that the results of their nodes need not be kept until then.
 */
#ifndef MODELS_RECOMPUTE_H
#define MODELS_RECOMPUTE_H

#include "models/operators/operators.h"

/* Adds, before the backward part of each chosen block (op_node.block), its forward nodes again, in
 * a block "NAME.again"; the backward part reads what these make. g: a step, as train_step_make()
 * has made it. names: "all", or blocks, separated by commas. *blocks: how many. Computing a block
 * again gives the same numbers, since nothing that it reads has changed. Errors: EMU_USAGE (there
 * is no such block, or it has no backward part), EMU_NO_MEMORY; g is then of no use. */
enum emu_status train_recompute(struct op_graph *g, const char *names,
                                uint32_t *blocks) EMU_MUST_CHECK;

#endif
