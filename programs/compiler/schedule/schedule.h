/* schedule.h - messages between tiles in, timed exchange code of every tile out.
 *
 * Conflict-free by construction: no tile sends or receives two words at one event, and every word
 * is at the mux when its receiver listens. Where the machine's exchange_clash is a fault, no tile
 * stores a word in an object at an event at which it sends from that object; different objects are
 * kept apart by the placement. Addresses are symbolic (a base numbered by the caller,
 * and an offset in bytes), so the length of the code is known before anything is placed. The
 * pointer advances by itself only within one base; a new base takes an instruction.
 *
 * The caller makes sure that no tile receives into words that it sends in the same exchange: the
 * fabric faults when such a word leaves after its replacement has arrived (docs/exchange.md 4), and
 * whether bases overlap is known only once they are placed.
 */
#ifndef PROGRAMS_SCHEDULE_H
#define PROGRAMS_SCHEDULE_H

#include "emu/emu.h"
#include "programs/compiler/compiler.h"
#include "programs/compiler/schedule/packed_code.h"

/* One receiver of a message: where its words go. Never the sender. */
struct exchange_dest {
    uint32_t tile;
    struct symbolic_addr to;
};

/* `words` words that a tile sends to one or more others, each destination once. */
struct exchange_message {
    uint32_t tile, words;
    struct symbolic_addr from;
    uint32_t first, dests; /* in exchange_problem.dest */
};

struct exchange_problem {
    const struct arch *arch;
    const struct exchange_message *message;
    size_t messages;
    const struct exchange_dest *dest;
    size_t dest_count;
};

/* What one tile does from event 0, at which the sync releases it, until its `sync` RECV. */
struct tile_schedule {
    uint32_t tile;
    uint32_t insns, end_event; /* its instructions, and the event after the last of them */
    uint32_t first;            /* of its words in exchange_schedule.code */
    uint32_t bytes;            /* of its code; begins at a multiple of 8 */
    uint32_t arrival;          /* event at which its last word is in memory; 0: none */
    uint32_t words_in, words_out;
    uint32_t messages_in, messages_out; /* out: a multicast counts as often as it is sent */
};

struct exchange_schedule {
    const struct tile_schedule *tile; /* ascending, only tiles that send or receive; in block */
    uint32_t tiles;
    uint32_t events; /* release to the last word in memory, over all tiles */
    uint32_t bound;  /* B: the most words that a tile sends, that a tile receives, or that are sent
                        within a set of tiles that all listen to each other */
    uint64_t code_bytes;
    const uint32_t *code; /* the instructions of all tiles (packed_code.h); in block */
    /* Exchanges that differ only in their objects share one block (compile_exchange.c). */
    struct schedule_block *block; /* owned together with other schedules (schedule_block.h) */
    uint32_t *object; /* owned; the object that each base in the code stands for. NULL: each base is
                         the object */
};

/* Schedules one exchange. target: EXCHANGE_CYCLES may split multicasts and repeat sends for fewer
 * events; EXCHANGE_MEMORY prefers fewer instructions. Deterministic: depends on its arguments only.
 * Errors: EMU_BAD_EXCHANGE (two words for one address of a tile, a message to its sender, an empty
 * one), EMU_NO_MEMORY. Cost: one to five seconds per million messages. Free with
 * exchange_schedule_free.
 */
enum emu_status exchange_schedule(const struct exchange_problem *p, enum exchange_target target,
                                  struct exchange_schedule *out) EMU_MUST_CHECK;
void exchange_schedule_free(struct exchange_schedule *s);

/* Reads the instructions of one of its tiles, t->insns times packed_code_next(). */
static inline struct packed_reader exchange_schedule_read(const struct exchange_schedule *s,
                                                          const struct tile_schedule *t)
{
    return (struct packed_reader){ .at = s->code + t->first };
}

/* The schedule of a tile; NULL when the tile does nothing. */
const struct tile_schedule *exchange_schedule_of(const struct exchange_schedule *s, uint32_t tile);

#endif
