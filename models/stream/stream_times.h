/* stream_times.h - the times of batches, from what the machine and the link report as they go.
 *
 * With IO tiles all tiles meet in wide syncs, in an order that the program of prefetch_op.c fixes:
 * per batch a join, then the consensus about the next one; with depth 0 the consensus, the join,
 * and an exchange for the results.
 */
#ifndef MODELS_STREAM_TIMES_H
#define MODELS_STREAM_TIMES_H

#include "models/stream/stream_run.h"

struct stream_times {
    const struct arch *arch; /* borrowed, like the following */
    const struct prefetch_options *o;
    struct stream_record *record;
    uint64_t joins; /* so far, that for the results of the last batch included */
    uint64_t wide;  /* wide syncs of the compute tiles */
    uint64_t last;  /* release of the last of them */
    int consensus;  /* it was one about the next batch */
};

void stream_times_init(struct stream_times *t, const struct arch *a,
                       const struct prefetch_options *o, struct stream_record *r);
/* Batch n will have so many pictures. EMU_NO_MEMORY only. */
enum emu_status stream_times_pictures(struct stream_times *t, uint64_t n,
                                      uint32_t pictures) EMU_MUST_CHECK;
/* The batch has arrived; its results have left. */
void stream_times_arrived(struct stream_times *t, uint64_t n, const struct session_moment *when);
void stream_times_left(struct stream_times *t, uint64_t n, const struct session_moment *when);
/* session_options.watch; ctx: the times. */
void stream_times_watch(void *ctx, const struct machine_superstep *s);
/* Fills the means and the rule of thumb of the record. */
void stream_times_sum(struct stream_times *t);

#endif
