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

#include "emu/profile/reason.h"
#include "programs/programs.h"

enum { BILL_NONE = UINT32_MAX };

struct layer_bill {
    uint32_t layer, last; /* the first and the last layer fused; BILL_NONE: of no layer */
    uint32_t chip;        /* of a replica: its stage */
    uint32_t supersteps;  /* in which it computes */
    uint64_t cycles;      /* exchange + compute + sync */
    uint64_t exchange;    /* its shares of these parts, over all supersteps: see above */
    uint64_t compute;
    uint64_t sync;
    uint64_t imbalance;       /* the part of compute above the mean of all tiles with code */
    uint64_t macs;            /* multiply-adds of the whole batch */
    uint64_t bound;           /* cycles that no schedule could go below: op_bill.h */
    uint64_t predicted;       /* cycles by the planner; 0: it was not asked */
    uint64_t max_tile_bytes;  /* in use on the fullest tile while the layer runs */
    uint64_t held_bytes;      /* on all tiles: code and parameters, which are always there */
    uint64_t held_tile_bytes; /* the same on the tile that holds most */
};

/* Why a row takes its cycles: cycles_reason(). */
void layer_reason(const struct layer_bill *b, char text[REASON_TEXT]);

/* What a row is called. */
enum { LAYER_OP_TEXT = 96 };
struct layer_text {
    const char *name, *block; /* borrowed from the network; block "": it has none */
    char op[LAYER_OP_TEXT];   /* of what is fused: "conv+norm+swish" */
};

/* What a row is made of. */
struct layer_source {
    uint32_t layer, last; /* numbers in the network, which ascend from row to row */
    uint32_t scope;       /* the graph's scope of everything that was made for it */
    struct layer_text text;
    uint64_t macs, bound;
    const struct conv_plan *plan; /* borrowed; NULL: it has none */
};

/* How the convolution of a row is cut, for people; see struct conv_plan. */
struct layer_plan {
    int planned; /* 0: the row has no plan, the other members are 0 */
    enum conv_method method;
    uint32_t cut_n, cut_h, cut_w, cut_out, cut_in;
    uint64_t tile_bytes;
};

/* The bytes that a row has moved in a step of several. */
struct moved_share {
    uint32_t row;
    uint64_t bytes;
};

/* A step of the program, in the order of execution, as far as bills need it. */
struct billed_step {
    uint32_t superstep;
    int computes; /* 0: it exchanges */
    uint32_t row; /* billed for the step, unless there are shares */
    uint32_t first_share, shares;
    uint64_t cycles; /* by the formulas of its codelets, if it shares a superstep; else 0 */
};

/* Rows, and what is needed to turn the record of a run into their cycles without the graph. */
struct layer_cycles {
    struct layer_bill *row;  /* owned; in the order of the network; last the row of no layer */
    struct layer_plan *plan; /* owned; by row */
    struct layer_text *text; /* owned; by row */
    uint32_t rows;
    struct billed_step *step; /* owned */
    size_t steps;
    struct moved_share *share; /* owned; of all steps, one after the other */
    size_t shares;
    struct layer_bill total; /* sums; of max_tile_bytes the largest */
};

/* Makes rows and steps, and fills in the memory of the rows; cycles stay 0. source: what each row
 * but the last is made of. Errors: EMU_NO_MEMORY, those of ss_compiled_trace(). Free with
 * layer_cycles_free, also on failure. */
enum emu_status layer_cycles_init(const struct layer_source *source, uint32_t sources,
                                  const struct compiled *c,
                                  struct layer_cycles *out) EMU_MUST_CHECK;
/* Adds the cycles of a recorded run. EMU_BAD_PROGRAM when the record is not of this program. */
enum emu_status layer_cycles_bill(struct layer_cycles *k, const struct run *r) EMU_MUST_CHECK;
/* The same of a stage, from what its chip did. */
enum emu_status layer_cycles_bill_chip(struct layer_cycles *k, const struct run *r,
                                       uint32_t chip) EMU_MUST_CHECK;
/* The rows of all stages, one after the other, with their chips; without steps, so that nothing can
 * be billed to them. Lists are copied, texts are borrowed as before. EMU_NO_MEMORY. Free with
 * layer_cycles_free, also on failure. */
enum emu_status layer_cycles_join(const struct layer_cycles *stage, uint32_t stages,
                                  struct layer_cycles *out) EMU_MUST_CHECK;
/* Sets all cycles to 0 again, as before the first bill; memory stays. */
void layer_cycles_clear(struct layer_cycles *k);
/* For each superstep of sync group 0 the first row that computes in it, UINT32_MAX where none does;
 * *count supersteps. EMU_NO_MEMORY; ss_free it. */
enum emu_status layer_cycles_supersteps(const struct layer_cycles *k, uint32_t **out,
                                        size_t *count) EMU_MUST_CHECK;
/* Sets the total to the sums of the rows. */
void layer_cycles_sum(struct layer_cycles *k);
void layer_cycles_free(struct layer_cycles *k);

#endif
