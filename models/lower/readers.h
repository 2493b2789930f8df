/* readers.h - what a lowering may ask about those that read a value.
 *
 * A block that is lowered once for all equal ones (equal_blocks.h) must do the same in each of
 * them, so every question of its lowering must have the same answer in all of them. Therefore each
 * question is a flag of op_families.def: a family whose row lacks it cannot ask, and what a family
 * with the flag may have asked is part of what blocks are compared by. lowering.h hides
 * op_value.readers from lowerings, so that there is no other way to ask.
 */
#ifndef MODELS_READERS_H
#define MODELS_READERS_H

#include "models/operators/operators.h"

/* Whether anybody reads result k of a node: OP_ASKS_READ. A result that is absent is read by
 * nobody. */
int result_is_read(const struct op_graph *g, const struct op_node *n, uint32_t k);
/* Whether only the user reads it: OP_ASKS_SCORES. */
int result_is_only_output(const struct op_graph *g, const struct op_node *n, uint32_t k);

/* The answers to all questions that the lowering of a node may ask about result k, one bit each. */
unsigned result_answers(const struct op_graph *g, const struct op_node *n, uint32_t k);

/* How often a value is read. Its memory depends on that, but nothing that is computed does. */
static inline uint32_t value_reads(const struct op_graph *g, uint32_t value)
{
    return g->value[value].readers;
}

#endif
