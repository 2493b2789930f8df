/* outer.h - what ties the machine of a chip to those of other chips: syncs that join them, and the
 * words that they send each other. For emu/pod; a machine with options.outer needs it.
 *
 * Such a machine stops with MACHINE_OUTER where only other chips can help. Between two stops chips
 * have nothing to do with each other, so they may run in any order.
 */
#ifndef EMU_OUTER_H
#define EMU_OUTER_H

#include "emu/bsp/machine.h"

/* Where a machine stands that has stopped. */
struct machine_outer {
    enum sync_scope scope; /* REPLICA or POD: all tiles wait in a sync of these chips; else RESERVED
                            */
    unsigned zone;         /* of that sync, on the lowest tile */
    uint64_t latest;       /* of their arrivals, cycle */
    uint32_t consensus;    /* AND of their LC, not 0 if it is set */
};
struct machine_outer machine_outer(const struct machine *m);

/* Answers that sync: `release` is the cycle in which all go on, consensus that of all chips.
 * EMU_FAULT: machine_fault() says which tile could not begin its exchange; EMU_NO_MEMORY. */
enum emu_status machine_release_outer(struct machine *m, enum sync_scope scope, uint64_t release,
                                      uint32_t consensus) EMU_MUST_CHECK;

/* Whether a tile that runs may still send to other chips, in the phase that it is in. */
int machine_may_send_far(const struct machine *m);

/* Words of other chips for which a tile waits at its RECV; 0 if it does not. */
uint32_t machine_far_words(const struct machine *m, uint32_t tile);
/* Whether the tile has transfers with the host under way. */
int machine_has_host_transfers(const struct machine *m, uint32_t tile);

/* A packet of another chip, which is in the memory of the tile from `cycle` on. */
struct machine_far {
    uint32_t tile, addr, words;
    uint64_t cycle;
    uint32_t chip, from, from_addr; /* whose words they are, and where they were */
};
/* Queues it; data is copied, and not needed by the timing engine. Packets of one tile must be given
 * in order of cycles. EMU_NO_MEMORY. */
enum emu_status machine_arrival_far(struct machine *m, const struct machine_far *f,
                                    const uint8_t *data) EMU_MUST_CHECK;

/* A fault that a tile has because of words of other chips (exchange_raise_arrival()). */
void machine_raise_far(struct machine *m, uint32_t tile, const struct exchange_fault *f);

#endif
