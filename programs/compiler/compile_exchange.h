/* compile_exchange.h - schedules for all exchanges of a lowered program. */
#ifndef PROGRAMS_COMPILE_EXCHANGE_H
#define PROGRAMS_COMPILE_EXCHANGE_H

#include "programs/compiler/compile_store.h"
#include "programs/compiler/lower/lowered.h"
#include "programs/compiler/schedule/schedule.h"

struct exchange_totals {
    uint64_t exchanges, different, messages;
    uint64_t found;      /* of the different ones: in the store */
    uint64_t code_bytes; /* of all tiles and steps */
    uint64_t events;     /* of all steps, each once */
};

/* Schedules every STEP_EXCHANGE. out: one entry per step, zeroed; the caller owns the entries
 * and frees them, also after an error. Bases of addresses are object numbers. Exchanges that differ
 * only in which objects they use are scheduled once, and not at all when store (borrowed; NULL:
 * none) has their schedule; it keeps new ones. `threads` threads share the work. progress (NULL:
 * none) is told how far it is. Deterministic.
 * Errors: those of exchange_schedule() for the first step that fails. */
enum emu_status compile_exchanges(const struct lowered *l, enum exchange_target target, int threads,
                                  struct schedule_store *store, FILE *progress,
                                  struct exchange_schedule *out,
                                  struct exchange_totals *totals) EMU_MUST_CHECK;

#endif
