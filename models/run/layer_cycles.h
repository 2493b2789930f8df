/* layer_cycles.h - cycles and memory of a run by layer of the network.
 *
 * A superstep is an exchange and the compute after it, as emu/profile/bill.h divides it. Its
 * exchange belongs to the layer that fetches or returns, its compute and its sync to the layer that
 * computes; where several layers compute in one superstep, they divide its compute as the formulas
 * of their codelets say, and where copies of several layers are one operation, by the bytes they
 * move. Layers that were fused are billed together, under the first of them.
 */
#ifndef MODELS_LAYER_CYCLES_H
#define MODELS_LAYER_CYCLES_H

#include "models/build/net_graph.h"

struct layer_bill {
    uint32_t layer, last; /* first and last of those fused; LAYER_NONE: what belongs to no layer */
    uint32_t supersteps;  /* whose compute it has */
    uint64_t cycles;      /* exchange + compute + sync */
    uint64_t exchange;    /* of the slowest tile, per superstep */
    uint64_t compute;     /* what it adds to the slowest tile */
    uint64_t sync;        /* the rest up to the next release */
    uint64_t imbalance;   /* part of compute: above the mean of all tiles that have code */
    uint64_t macs;        /* of the whole batch */
    uint64_t bound;       /* cycles that no schedule could go below: see layer_bound() */
    uint64_t predicted;   /* by the planner; 0: it was not asked */
    uint64_t max_tile_bytes;  /* in use on the fullest tile while it runs */
    uint64_t held_bytes;      /* on all tiles: code and parameters that are always there */
    uint64_t held_tile_bytes; /* the same on the tile with most of them */
};

struct layer_cycles {
    struct layer_bill *row; /* owned; in the order of the network, what belongs to none last */
    uint32_t rows;
    uint32_t *row_of_scope; /* owned; of every scope of the graph */
    uint32_t scopes;
    struct layer_bill total; /* macs, cycles ..; max_tile_bytes: the largest */
};

/* The rows with memory; cycles stay 0. Errors: EMU_NO_MEMORY, those of compiled_trace(). Free with
 * layer_cycles_free, also on failure. */
enum emu_status layer_cycles_init(const struct net_graph *ng, const struct compiled *c,
                                  const struct arch *a, struct layer_cycles *out) EMU_MUST_CHECK;
/* Adds the cycles of a run that was recorded. EMU_BAD_PROGRAM: the record does not fit. */
enum emu_status layer_cycles_bill(struct layer_cycles *k, const struct compiled *c,
                                  const struct run *r) EMU_MUST_CHECK;
void layer_cycles_free(struct layer_cycles *k);

/* Cycles of a layer on all tiles of a chip at the full rate of its units: multiply-adds in the
 * matrix unit (per channel: a quarter of it, in the sliding unit), exponentials, and other values
 * four at a time. A norm of a batch costs nothing: it is folded into the weights. */
double layer_bound(const struct arch *a, const struct layer *l, uint32_t batch);

#endif
