/* exchange_port.h - the plug through which a supervisor reaches the exchange fabric.
 *
 * The tile does not know the fabric. The owner of a fabric (emu/exchange, or a test) makes a port
 * the first member of its own struct and lends it to struct tile.
 */
#ifndef EMU_EXCHANGE_PORT_H
#define EMU_EXCHANGE_PORT_H

#include "emu/tile/tile.h"

struct insn;

struct exchange_port {
    /* Issues one of send, sendoff, sendpic, sendpicp, delay, delaypic, delayxpic, sans of the
     * supervisor of t.
     *
     * t->pc[LANE_SUPER] is its address, t->cycle the cycle it issues in. Returns FAULT_NONE, or
     * what tile_fault() recorded. */
    enum fault (*issue)(struct exchange_port *p, struct tile *t, const struct insn *in);

    /* The supervisor of t fetches at t->pc[LANE_SUPER] what it executes in t->cycle, before that is
     * done. NULL: the fabric need not know. Returns as issue does. */
    enum fault (*fetch)(struct exchange_port *p, struct tile *t);

    /* Issues the instructions at t->pc[LANE_SUPER] and after it, from t->cycle on and before cycle
     * `until`, as long as they are exchange instructions that do nothing outside the fabric: no
     * sans, no requests to the host. Each issues when the events of the one before it are over.
     * Advances the pc and t->cycle and returns how many there were; a fault is recorded and ends
     * them. NULL: the port has nothing faster than issue. */
    uint32_t (*run)(struct exchange_port *p, struct tile *t, uint64_t until);

    /* Set by issue() of a send with bit 2 of ctl: events it lasts, which what it sends decides.
     * 0: as long as a request to the host. */
    uint32_t lasts;
};

#endif
