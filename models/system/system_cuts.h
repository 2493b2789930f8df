/* system_cuts.h - which cuts of a network are good, from the cycles that its layers took in one
 * run: each block is compiled once, not once for each cut.
 *
 * Stages work on different batches at a time, so that a batch more costs a *slot*: the cycles of
 * the slowest stage and one exchange. A layer takes in a stage nearly what it takes on one chip,
 * where both leave its plan the same memory.
 */
#ifndef MODELS_SYSTEM_CUTS_H
#define MODELS_SYSTEM_CUTS_H

#include "models/answer/layer_cycles.h"
#include "models/split/split.h"

struct arch;

enum { CUT_STAGES_MAX = 8, CUTS_KEPT = 40 };

struct cut_stage {
    uint64_t cycles;     /* of its layers */
    uint64_t tile_bytes; /* in use on its fullest tile, about */
};

struct system_cut {
    char *names; /* owned: as split_graph() takes it */
    uint64_t slot;
    uint64_t exchange; /* cycles: a sync of the chips, and the most bytes that cross a place */
    uint64_t bytes;    /* that cross, of the place where it is most */
    struct cut_stage stage[CUT_STAGES_MAX];
    char *tied;     /* owned: why split_graph() refuses it; NULL: it does not */
    int unfit;      /* 1: */
    unsigned first; /* the first stage that needs more memory than a tile has */
};

struct system_cuts {
    unsigned stages;
    uint64_t mem_bytes;    /* of a tile */
    struct system_cut *at; /* owned; those that break something last, else by slot */
    uint32_t count;        /* of two stages: all places; of more: the best CUTS_KEPT, or fewer */
};

/* g: ready, as it was run. rows: of that run, on one chip or several, with cycles. stages: 2 to
 * CUT_STAGES_MAX. Cost: places times nodes. Errors: EMU_USAGE, the graph has fewer places than
 * stages need; EMU_NO_MEMORY. Free with system_cuts_free, also on failure. */
enum emu_status system_cuts_new(const struct arch *a, const struct op_graph *g,
                                const struct layer_cycles *rows, unsigned stages,
                                struct system_cuts *out) EMU_MUST_CHECK;
void system_cuts_free(struct system_cuts *c); /* c may be all zero */

#endif
