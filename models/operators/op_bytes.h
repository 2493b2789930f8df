/* op_bytes.h - what single values take on the chip. */
#ifndef MODELS_OP_BYTES_H
#define MODELS_OP_BYTES_H

#include "models/graph/op_graph.h"

/* Bytes of a value, as op_graph_work() counts those of results. */
uint64_t op_value_bytes(const struct op_graph *g, uint32_t value);

#endif
