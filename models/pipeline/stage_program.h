/* stage_program.h - the program of one stage of a pipeline: its F and B, and the exchanges between
 * them, in the order of a schedule.
 *
 * It is counted code: rounds in which the stage does the same are one loop. No branch depends on
 * data, and the code is as long for any number of micro batches. All stages must be given the same
 * schedule, or their chips wait for each other for ever.
 */
#ifndef MODELS_STAGE_PROGRAM_H
#define MODELS_STAGE_PROGRAM_H

#include "models/pipeline/pipeline_schedule.h"
#include "programs/programs.h"

/* One end of an edge. It is forward if `to` is after `from`; either of them is the stage. */
struct stage_edge {
    unsigned from, to;
    struct channel_use use;        /* sends if the stage is `from`. What is sent must not lie where
                                      something is received */
    const struct program *arrived; /* of the stage `to`: runs after each exchange that brings it;
                                      NULL: nothing */
};

/* f, b       functions (ss_graph_function()) that compute F and B of the next micro batch
 * edge       borrowed for the call
 *
 * Exchanges join the chips of the replica; a pipeline of one stage has none. Errors become those of
 * the graph: EMU_BAD_PROGRAM for an edge that is of no such stage. */
struct stage_parts {
    uint32_t f, b;
    const struct stage_edge *edge;
    unsigned edges;
};
struct program stage_program(struct graph *g, const struct pipeline_schedule *s, unsigned stage,
                             const struct stage_parts *parts);

/* ---- rings ---- */

/* What F has and B of the same micro batch reads: rows as pipeline_stash_rows() says. A row is n
 * elements, f16 or f32, spread over the tiles; putting and taking one is no exchange if t lies like
 * that. The counters, on every tile, are where they began after as many calls of F as of B. */
struct stage_stash {
    struct row_loop put, get;
    struct loop_rows rows;
};
struct stage_stash stage_stash_new(struct graph *g, uint32_t rows, enum elem e, uint32_t n,
                                   const char *name);
/* In F. t: n elements. */
void stage_stash_put(struct graph *g, struct program seq, const struct stage_stash *h,
                     struct tensor t, const char *name);
/* In B; returns [n]. */
struct tensor stage_stash_get(struct graph *g, struct program seq, const struct stage_stash *h,
                              const char *name);

/* What a stage reads of an edge that it receives in `buffer`, f16 or f32, after as many exchanges
 * as pipeline_edge_rows() says: [n], taken in seq, which is F or B, once. *arrived is what the edge
 * runs after each exchange. */
struct tensor stage_ring(struct graph *g, uint32_t rows, struct tensor buffer, struct program seq,
                         struct program *arrived, const char *name);

#endif
