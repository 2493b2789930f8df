/* timeline.h - which events of many ports are taken, one bit per event and port, and the search for
 * the first events that are free on several ports at once.
 *
 * A message occupies `words` events of every port it uses, each port having its own clock: event e
 * of the message is event e + shift of the port. Events below 0 do not exist.
 */
#ifndef PROGRAMS_TIMELINE_H
#define PROGRAMS_TIMELINE_H

#include "emu/emu.h"

enum { TIMELINE_CLASSES = 8 };

/* All zero is a valid empty set. */
struct timelines {
    uint64_t *bits;   /* owned; port p from p * stride on */
    uint32_t *no_run; /* owned; [port][class]: no run of 2^class free events begins before this */
    uint32_t ports;
    uint32_t stride; /* words of 64 events per port */
    uint32_t top;    /* from this event on all ports are free */
};

struct timeline_use {
    uint32_t port;
    int32_t shift;
};

/* Where a message may begin: at events e with e % unit == phase. unit is at least 1. */
struct timeline_grid {
    uint32_t unit, phase;
};

/* Room for about `events` events; it grows as needed. EMU_NO_MEMORY. */
enum emu_status timelines_init(struct timelines *t, uint32_t ports, uint32_t events) EMU_MUST_CHECK;
void timelines_free(struct timelines *t);
void timelines_clear(struct timelines *t); /* everything is free again */

/* Finds the first event >= from of a message at which all its ports are free for words >= 1 events,
 * and takes them. EMU_NO_MEMORY. Cost: about uses x (events looked at) / 64. */
enum emu_status timelines_fit(struct timelines *t, const struct timeline_use *use, uint32_t uses,
                              uint32_t words, uint32_t from, struct timeline_grid grid,
                              uint32_t *event) EMU_MUST_CHECK;

#endif
