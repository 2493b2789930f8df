/* net_bill.h - what the rows of a bill are made of for a network of layers.
 */
#ifndef MODELS_NET_BILL_H
#define MODELS_NET_BILL_H

#include "models/build/net_graph.h"
#include "models/run/layer_cycles.h"
#include "models/run/model_facts.h"

/* layer_cycles_init() with a row for every layer that is not fused with an earlier one. Errors: the
 * same. */
enum emu_status net_bill_init(const struct net_graph *ng, const struct compiled *c,
                              const struct arch *a, struct layer_cycles *out) EMU_MUST_CHECK;

/* What the row of layers first .. last is called. */
struct layer_text net_bill_text(const struct net *n, uint32_t first, uint32_t last);

/* What reports say of a network: pictures come normalised, in three colours, and scores go, both in
 * f16. */
struct model_facts net_facts(const struct net *n);

/* Cycles of a layer on all tiles of a chip with its units at full rate: multiply-adds in the matrix
 * unit (those of depthwise convolutions in the sliding unit, at a quarter of its rate),
 * exponentials, and other operations on four values at a time. A batch norm costs nothing: it is
 * folded into the weights. */
double layer_bound(const struct arch *a, const struct layer *l, uint32_t batch);

#endif
