/* history.h - earlier states of a run, so that it can go back: a state is put away now and then,
 * and any cycle since is reached again by running on from there. The machine is deterministic, so
 * what comes again is the same.
 *
 * The memory of tiles as it was at the latest state is kept whole; of every earlier state, the 4
 * KiB pages that changed until the next one. When that needs more than its bytes, states are
 * dropped where they lie closest; the first one never is.
 */
#ifndef EMU_HISTORY_H
#define EMU_HISTORY_H

#include "emu/job/run_image.h"

struct history;

/* Of a run that has not begun, but has its inputs and streams; the first state is that of cycle 0.
 * bytes: for states, beside one copy of what tiles hold. EMU_USAGE for a run that cannot go back
 * (checking mode, the timing engine, streams that are not in memory), EMU_NO_MEMORY. */
enum emu_status history_new(struct run *r, size_t bytes, struct history **out) EMU_MUST_CHECK;
void history_free(struct history *h);

/* Puts the state away in which the run is, which has stopped at a cycle later than the last state.
 * EMU_NO_MEMORY. */
enum emu_status history_take(struct history *h, uint64_t cycle) EMU_MUST_CHECK;
size_t history_count(const struct history *h);
uint64_t history_cycle(const struct history *h, size_t i);
/* The last state at or before a cycle. */
size_t history_find(const struct history *h, uint64_t cycle);
/* Puts the run back into a state; later ones are forgotten. EMU_NO_MEMORY. */
enum emu_status history_restore(struct history *h, size_t i) EMU_MUST_CHECK;
/* machine_digest() of the run's machine; use this one, which leaves the history what it needs. */
struct hash128 history_digest(struct history *h);
/* Host memory of states, and of the copy. */
size_t history_bytes(const struct history *h);
size_t history_copy_bytes(const struct history *h);

#endif
