/* schedule.h - messages between tiles in, timed exchange code of every tile out.
 *
 * Conflict-free by construction: no tile sends or receives two words at one event, and every word
 * is at the mux when its receiver listens. Addresses are symbolic (a base the caller numbers, and
 * bytes from it), so the length of the code is known before anything is placed; the pointer runs on
 * without a new instruction only inside one base.
 *
 * The caller sees to it that no tile receives into words that it sends in the same exchange: the
 * fabric faults when such a word leaves after its replacement has arrived (docs/exchange.md 4), and
 * bases may turn out to overlap only when they are placed.
 */
#ifndef PROGRAMS_SCHEDULE_H
#define PROGRAMS_SCHEDULE_H

#include "programs/compiler/compiler.h"

/* One receiver of a message: where its words go. Never the sender. */
struct message_dest {
    uint32_t tile;
    struct plan_addr to;
};

/* `words` words of a tile for one or more others; each destination once. */
struct message {
    uint32_t tile, words;
    struct plan_addr from;
    uint32_t first, dests; /* in exchange_problem.dest */
};

struct exchange_problem {
    const struct arch *arch;
    const struct message *message;
    size_t messages;
    const struct message_dest *dest;
    size_t dest_count;
};

/* What one tile does, from event 0 (its release by the sync) up to, not including, `sync` RECV. */
struct tile_schedule {
    uint32_t tile;
    struct exchange_plan plan; /* owned */
    uint32_t bytes;            /* of its code; begins at a multiple of 8 */
    uint32_t words_in, words_out;
    uint32_t messages_in, messages_out; /* out: a multicast counts as often as it is sent */
};

struct exchange_schedule {
    struct tile_schedule
        *tile; /* ascending, only tiles that send or receive; owned unless shared */
    uint32_t tiles;
    uint32_t events; /* release to the last word in memory, over all tiles */
    uint32_t bound;  /* B: the most words in, words out, or both where a group listens to itself */
    uint64_t code_bytes;
    /* Equal exchanges of different objects share one schedule (compile_exchange.c): */
    uint32_t *object; /* owned; what each base of the plans stands for. NULL: for itself */
    uint8_t shared;   /* tile belongs to another schedule, which is freed last */
};

/* Schedules one exchange. target: EXCHANGE_CYCLES may split multicasts and repeat sends for fewer
 * events; EXCHANGE_MEMORY prefers fewer instructions. Deterministic: depends on its arguments only.
 * Errors: EMU_BAD_EXCHANGE (two words for one address of a tile, a message to its sender, an empty
 * one), EMU_NO_MEMORY. Cost: one to four seconds per million messages. Free with
 * exchange_schedule_free.
 */
enum emu_status exchange_schedule(const struct exchange_problem *p, enum exchange_target target,
                                  struct exchange_schedule *out) EMU_MUST_CHECK;
void exchange_schedule_free(struct exchange_schedule *s);

/* NULL when the tile does nothing. */
const struct tile_schedule *exchange_schedule_of(const struct exchange_schedule *s, uint32_t tile);

#endif
