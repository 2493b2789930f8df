/* exchange_ahead.h - exchanges are scheduled while the program is still being lowered.
 *
 * Lowering is the work of one thread. The others schedule the exchanges that it has finished, the
 * largest first, and put the schedules into the store, where compile_exchanges() finds them. What
 * they do not come to is left to it, so the result does not depend on how far they get.
 */
#ifndef PROGRAMS_EXCHANGE_AHEAD_H
#define PROGRAMS_EXCHANGE_AHEAD_H

#include "programs/compiler/compile_store.h"
#include "programs/compiler/lower/lowered.h"

/* lower_graph() with all threads; without a store, or with one thread, just that. *made: how many
 * schedules the store got. */
enum emu_status lower_and_schedule(struct graph *g, enum exchange_target target, unsigned threads,
                                   struct schedule_store *store, struct lowered **out,
                                   uint32_t *made) EMU_MUST_CHECK;

#endif
