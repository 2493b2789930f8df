/* link.h - when what chips send each other arrives: routes over the links of a system, and the
 * time of packets that share them (docs/timing.md).
 *
 * A system is a ladder. Chip c stands on rung c / 2 at side c % 2; the partners of a rung are
 * joined, and the chips of a side form a rail, which may be closed to a ring. Rungs form machines,
 * machines racks, and equal machines of all racks are joined to a ring by gateways. A packet first
 * crosses its rung, then goes along the rail, then through gateways.
 *
 * Everything is counted in integers, so that the same packets take the same cycles on any host.
 */
#ifndef EMU_LINK_H
#define EMU_LINK_H

#include <stddef.h>
#include <stdint.h>

#include "emu/arch/arch.h"

/* A rate: payload in 2^-32 bytes a cycle. */
typedef uint64_t link_rate;
enum { LINK_RATE_SHIFT = 32 };

struct link_numbers {
    uint32_t chips;         /* up to one rack, or whole racks */
    uint32_t rack_chips;    /* those whose rails are joined without a gateway; even */
    uint32_t machine_chips; /* those that share a gateway; even, divides rack_chips */
    uint32_t is_torus;      /* 1: the rails of a rack of more than two rungs are rings */
    uint32_t tiles;         /* of a chip */
    uint32_t
        bundles; /* of a chip: neighbouring tiles, equally many, that send and receive in turns */

    /* What all links of a place carry each way. */
    link_rate pair;     /* between partners, of their own traffic */
    link_rate cross;    /* between partners, of traffic that goes on along the rail */
    link_rate up, down; /* along a rail, to higher and to lower rungs */
    link_rate gateway;  /* of a machine, to the next rack and to the one before it */
    link_rate bundle;   /* what the tiles of a bundle send, and what they receive */

    uint32_t latency, gateway_latency; /* cycles of one hop */
};

/* Those of a machine (docs/timing.md 9). */
struct link_numbers link_numbers_of(const struct arch *a);

/* What a packet passes: all links of one place in one direction, or a bundle of tiles. */
enum link_kind {
    LINK_PAIR,
    LINK_CROSS,
    LINK_UP,
    LINK_DOWN,
    LINK_GATEWAY_UP, /* of a machine: `chip` is its first one */
    LINK_GATEWAY_DOWN,
    LINK_KINDS,
    LINK_SENDERS = LINK_KINDS, /* a bundle that sends */
    LINK_RECEIVERS,            /* a bundle that receives */
};

struct link_hop {
    enum link_kind kind;
    uint32_t chip; /* whose link it is */
};

struct link_route {
    struct link_hop *hop; /* owned */
    size_t hops, room;
    uint32_t latency; /* cycles of all hops */
};

/* The way from chip `from` to another one; of two ways round a ring that are equally long the one
 * upwards. route: reused, zero it before its first use; free with link_route_free().
 * Errors: EMU_NO_MEMORY. O(hops). */
enum emu_status link_route_find(const struct link_numbers *n, uint32_t from, uint32_t to,
                                struct link_route *route) EMU_MUST_CHECK;
void link_route_free(struct link_route *route);

/* The rate of all links of a kind; of a kind that is none that of a bundle. */
link_rate link_rate_of(const struct link_numbers *n, enum link_kind kind);
/* Cycles that `bytes` of payload take on all links of one place and direction, rounded up; 0 if
 * there are none. */
uint64_t link_busy_cycles(const struct link_numbers *n, enum link_kind kind, uint64_t bytes);

/* What a sync of so many chips costs after the last arrival, in cycles: sync_chips_cycles up to
 * sync_chips_near of them, then the way there and back over each further rung, of which a ring
 * needs half [ASSUMED]. */
uint64_t link_sync_cycles(const struct arch *a, uint32_t chips);

/* One packet. Cycles count from the release of the outer sync that opens the phase. */
struct link_packet {
    uint32_t chip, tile;       /* of the sender */
    uint32_t to_chip, to_tile; /* another chip */
    uint32_t bytes;            /* of payload, at least 1 */
    uint32_t number;           /* among those that its tile issues in one cycle */
    uint64_t issued;           /* the cycle of its first word */
    uint64_t arrived;          /* out: the cycle in which its last word is in memory */
};

/* Fills `arrived` of all packets of a phase.
 *
 * The packets from a bundle to a chip go one after the other, in the order of issue, tile and
 * number. Those in front share links and bundles fairly: no packet could go faster without another
 * one, which is not faster, going slower (max-min fairness). Rates are rounded down, and ties
 * decided by kind, chip and bundle; a packet ends in a whole cycle, and what was left of that cycle
 * serves the next one that has been issued.
 *
 * p         not reordered
 * Errors    EMU_USAGE      a chip or tile that there is not, a packet to its own chip, or a rate
 *                          of 0 on its way; the message names it
 *           EMU_NO_MEMORY
 * Cost      packets x links that are shared at a time */
enum emu_status link_time(const struct link_numbers *n, struct link_packet *p,
                          size_t packets) EMU_MUST_CHECK;

#endif
