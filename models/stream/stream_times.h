/* stream_times.h - finds out when each batch was on the link, in IO tiles and computed, from what
 * the machine and the host link report during a run.
 *
 * With IO tiles all tiles meet in wide syncs, whose order the program of prefetch_op.c fixes: for
 * each batch a join, then the consensus whether there is a next one; with depth 0 the consensus,
 * the join, then an exchange for the results.
 */
#ifndef MODELS_STREAM_TIMES_H
#define MODELS_STREAM_TIMES_H

#include "models/stream/stream_run.h"

struct stream_times {
    const struct arch *arch; /* borrowed, like the following */
    const struct prefetch_options *o;
    struct stream_record *record;
    uint64_t joins; /* so far, including the one for the results of the last batch */
    uint64_t wide;  /* wide syncs of the compute tiles so far */
    uint64_t last;  /* cycle in which the last of them was released */
    int consensus;  /* whether that one was a consensus */
};

void stream_times_init(struct stream_times *t, const struct arch *a,
                       const struct prefetch_options *o, struct stream_record *r);
/* Notes that batch n will have so many pictures. Errors: EMU_NO_MEMORY only. */
enum emu_status stream_times_pictures(struct stream_times *t, uint64_t n,
                                      uint32_t pictures) EMU_MUST_CHECK;
/* Note that batch n has arrived on the chip; that its results have left. */
void stream_times_arrived(struct stream_times *t, uint64_t n, const struct session_moment *when);
void stream_times_left(struct stream_times *t, uint64_t n, const struct session_moment *when);
/* For session_options.watch; ctx: a struct stream_times. */
void stream_times_watch(void *ctx, const struct machine_superstep *s);
/* Computes the means and the rule of thumb of the record. */
void stream_times_sum(struct stream_times *t);

#endif
