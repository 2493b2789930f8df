/* timeline.h - which events of many ports are taken, one bit per event and port, and the search for
 * the first events that are free on several ports at once.
 *
 * A message occupies `words` events of every port it uses, each port having its own clock: event e
 * of the message is event e + shift of the port. Events below 0 do not exist.
 */
#ifndef PROGRAMS_TIMELINE_H
#define PROGRAMS_TIMELINE_H

#include "emu/emu.h"

enum { TIMELINE_CLASSES = 8, TIMELINE_WORD = 64 /* events */ };

/* Of an entry of first_rows: a row may begin at its event, but need not. */
#define TIMELINE_STALE (UINT32_C(1) << 31)

/* By class c: the first event of a port at which a row of 2^c open events may begin. */
struct first_rows {
    uint32_t event[TIMELINE_CLASSES];
};

/* All zero is a valid empty set. An event of a port is open when the shortest message could begin
 * there: it and the following shortest - 1 events are free. */
struct timelines {
    uint64_t *bits;            /* owned; port p from p * stride on; set: the event is closed */
    struct first_rows *no_row; /* owned; [ports] */
    uint32_t ports;
    uint32_t stride;   /* words of 64 events per port */
    uint32_t shortest; /* words of the shortest message, at least 1 */
    uint32_t top;      /* from this event on all ports are free */
};

struct timeline_use {
    uint32_t port;
    int32_t shift;
};

/* Where a message may begin: at events e with e % unit == phase. unit is at least 1. */
struct timeline_grid {
    uint32_t unit, phase;
};

/* Room for about `events` events; it grows as needed. No message has fewer words than `shortest`,
 * and the nearer the others are to it, the faster is the search. EMU_NO_MEMORY. */
enum emu_status timelines_init(struct timelines *t, uint32_t ports, uint32_t events,
                               uint32_t shortest) EMU_MUST_CHECK;
void timelines_free(struct timelines *t);
void timelines_clear(struct timelines *t); /* everything is free again */

/* Finds the first event >= from of a message at which all its ports are free for
 * words >= shortest events, and takes them. EMU_NO_MEMORY. Cost: about uses x (events looked at)
 * / 64. */
enum emu_status timelines_fit(struct timelines *t, const struct timeline_use *use, uint32_t uses,
                              uint32_t words, uint32_t from, struct timeline_grid grid,
                              uint32_t *event) EMU_MUST_CHECK;

/* The class of the row of open events that a message with so many words needs. */
static inline uint32_t timeline_class(const struct timelines *t, uint32_t words)
{
    uint32_t c = 31 - (uint32_t)__builtin_clz(words - t->shortest + 1);

    return c < TIMELINE_CLASSES ? c : TIMELINE_CLASSES - 1;
}

/* What a search on a port reads first, and, once that has come, what it reads then. */
static inline void timelines_prefetch_rows(const struct timelines *t, uint32_t port)
{
    __builtin_prefetch(&t->no_row[port]);
}

static inline void timelines_prefetch_bits(const struct timelines *t, uint32_t port, uint32_t words)
{
    uint32_t event = t->no_row[port].event[timeline_class(t, words)] & ~TIMELINE_STALE;
    const uint64_t *w = t->bits + (size_t)port * t->stride + event / TIMELINE_WORD;

    __builtin_prefetch(w);
    __builtin_prefetch(w + 8);
}

#endif
