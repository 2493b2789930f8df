/* op_hash.h - what a graph is, as one number. */
#ifndef MODELS_OP_HASH_H
#define MODELS_OP_HASH_H

#include "emu/base/hash.h"
#include "models/graph/op_graph.h"

/* A hash of everything that becomes a program: nodes with their attributes, values with their
 * names, shapes and numbers, inputs, outputs, updates. Numbers that a run begins with (those of
 * states that are inputs) do not count. Reads all numbers once. EMU_NO_MEMORY. */
enum emu_status op_graph_hash(const struct op_graph *g, struct hash128 *out) EMU_MUST_CHECK;

#endif
