/* layer_cycles.h - cycles and memory of a run by layer of the network.
 *
 * A superstep is an exchange and the compute after it, divided as emu/profile/bill.h says. The
 * exchange is billed to the layer that fetches or returns data, compute and sync to the layer that
 * computes. If several layers compute in one superstep, they share its compute in proportion to the
 * cycles that their codelets' formulas give; if copies of several layers are one operation, they
 * share its exchange in proportion to the bytes they move. Fused layers have one bill, in the row
 * of the first.
 */
#ifndef MODELS_LAYER_CYCLES_H
#define MODELS_LAYER_CYCLES_H

#include "models/build/net_graph.h"

struct layer_bill {
    uint32_t layer, last; /* the first and the last layer fused; LAYER_NONE: of no layer */
    uint32_t supersteps;  /* in which it computes */
    uint64_t cycles;      /* exchange + compute + sync */
    uint64_t exchange;    /* its shares of these parts of all supersteps: see above */
    uint64_t compute;
    uint64_t sync;
    uint64_t imbalance;       /* the part of compute above the mean of all tiles with code */
    uint64_t macs;            /* multiply-adds of the whole batch */
    uint64_t bound;           /* cycles that no schedule could go below: layer_bound() */
    uint64_t predicted;       /* cycles by the planner; 0: it was not asked */
    uint64_t max_tile_bytes;  /* in use on the fullest tile while the layer runs */
    uint64_t held_bytes;      /* on all tiles: code and parameters, which are always there */
    uint64_t held_tile_bytes; /* the same on the tile that holds most */
};

/* How the convolution of a row is cut, for people; see struct conv_plan. */
struct layer_plan {
    int planned; /* 0: the row has no plan, the other members are 0 */
    enum conv_method method;
    uint32_t cut_n, cut_h, cut_w, cut_out, cut_in;
    uint64_t tile_bytes;
};

/* The bytes that a row has moved in a step of several. */
struct row_share {
    uint32_t row;
    uint64_t bytes;
};

/* A step of the program, in the order of execution, as far as bills need it. */
struct billed_step {
    uint32_t superstep;
    int computes; /* 0: it exchanges */
    uint32_t row; /* that pays, unless there are shares */
    uint32_t first_share, shares;
    uint64_t cycles; /* by the formulas of its codelets, if it shares a superstep; else 0 */
    uint32_t layer;  /* in which it was made; LAYER_NONE: in none */
};

/* Rows, and what turns the record of a run into their cycles: no graph is needed for that. */
struct layer_cycles {
    struct layer_bill *row;  /* owned; in the order of the network; last the row of no layer */
    struct layer_plan *plan; /* owned; by row */
    uint32_t rows;
    struct billed_step *step; /* owned */
    size_t steps;
    struct row_share *share; /* owned; of all steps, one after the other */
    size_t shares;
    struct layer_bill total; /* sums; of max_tile_bytes the largest */
};

/* Makes rows and steps, and fills in the memory of the rows; cycles stay 0. Errors: EMU_NO_MEMORY,
 * those of compiled_trace(). Free with layer_cycles_free, also on failure. */
enum emu_status layer_cycles_init(const struct net_graph *ng, const struct compiled *c,
                                  const struct arch *a, struct layer_cycles *out) EMU_MUST_CHECK;
/* Adds the cycles of a recorded run. EMU_BAD_PROGRAM when the record is not of this program. */
enum emu_status layer_cycles_bill(struct layer_cycles *k, const struct run *r) EMU_MUST_CHECK;
/* Sets the total to the sums of the rows. */
void layer_cycles_sum(struct layer_cycles *k);
void layer_cycles_free(struct layer_cycles *k);

/* Cycles of a layer on all tiles of a chip with its units at full rate: multiply-adds in the matrix
 * unit (those of depthwise convolutions in the sliding unit, at a quarter of its rate),
 * exponentials, and other operations on four values at a time. A batch norm costs nothing: it is
 * folded into the weights. */
double layer_bound(const struct arch *a, const struct layer *l, uint32_t batch);

#endif
