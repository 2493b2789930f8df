/* op_bill.h - what the rows of a bill are made of for an operator graph.
 */
#ifndef MODELS_OP_BILL_H
#define MODELS_OP_BILL_H

#include "models/lower/op_lower.h"
#include "models/answer/layer_cycles.h"

/* layer_cycles_init() with a row for every group of nodes. Texts are borrowed from the graph. The
 * bound of a row is the cycles that it would take on all tiles of a chip with every unit at its
 * full rate: multiply-adds in the matrix unit (those of depthwise convolutions in the sliding unit,
 * at a quarter of its rate), exponentials, and other operations on four values at a time. Errors:
 * the same. */
enum emu_status op_bill_init(const struct lowered_network *n, const struct compiled *c,
                             const struct arch *a, struct layer_cycles *out) EMU_MUST_CHECK;

#endif
