/* pod.h - a whole system: its chips, the syncs that join them, and the words that they send each
 * other. A machine stays a chip; a system of one chip is that machine and nothing else.
 *
 * All chips run from cycle 0, on one clock. Between two syncs that join several chips they have
 * nothing to do with each other, so each runs until only the others can help it, one after the
 * other and each on all threads; nothing depends on that order. A phase begins at the release of
 * such a sync. When all its chips have stopped, what they have sent in it is known: the links say
 * when each packet arrives (emu/link), and tiles that wait for words go on. Values never depend on
 * these times: no tile can read words before its RECV ends.
 */
#ifndef EMU_POD_H
#define EMU_POD_H

#include "emu/bsp/machine.h"
#include "emu/link/link.h"

struct pod;

struct pod_options {
    uint32_t replica_chips; /* chips of a replica, which divide those of the system; 0: all */
    uint64_t jitter_cycles; /* most by which a packet comes later, at random */
    uint64_t seed;
};

/* A sync that joined several chips, and what they sent each other after it. */
struct pod_outer {
    enum sync_scope scope;
    unsigned zone; /* of the sync, on the lowest tile of the first chip */
    uint32_t first_chip, chips;
    uint64_t release;       /* cycle in which all went on */
    uint64_t first, latest; /* cycles in which the first and the last chip were complete */
    uint32_t last_chip;     /* the lowest of those that came last */
    uint64_t packets, bytes;
    uint64_t chip_bytes;      /* the most that one chip sends or receives */
    uint64_t arrived;         /* cycle in which the last packet was in memory; 0: there was none */
    size_t loads, first_load; /* of links: pod_load_at() */
};

/* What all links of one place carried in a phase. */
struct pod_load {
    struct link_hop link;
    uint64_t bytes;
    uint64_t busy_cycles; /* that this takes at their full rate, rounded up */
};

/* A system of ss_arch chips like a, which is copied.
 *
 * each     [chips]: options of the machines; chip and outer are set here. Borrowed for the call
 * o        NULL: one replica, no jitter
 * Errors   EMU_USAGE for replica_chips that do not divide the chips; EMU_NO_MEMORY */
enum emu_status pod_new(const struct arch *a, const struct machine_options *each,
                        const struct pod_options *o, struct pod **out) EMU_MUST_CHECK;
void pod_free(struct pod *p); /* NULL allowed */

uint32_t pod_chips(const struct pod *p);
uint32_t pod_replica_chips(const struct pod *p);
struct machine *pod_machine(const struct pod *p, uint32_t chip);
const struct link_numbers *pod_links(const struct pod *p);

/* Runs until the host is needed by all chips or nothing more can happen: machine_run_out() for a
 * system. A chip that waits for the host while others wait for it is a deadlock. */
enum machine_stop pod_run(struct pod *p, uint64_t max_cycle);
/* The same by machine_run(). */
enum machine_stop pod_run_all(struct pod *p, uint64_t max_cycle);

/* machine_release_host() and machine_finish() for all chips. */
void pod_release_host(struct pod *p);
enum emu_status pod_finish(struct pod *p) EMU_MUST_CHECK;

/* After MACHINE_FAULT: the earliest fault, of the lowest chip. */
struct pod_fault {
    uint32_t chip;
    struct machine_fault fault;
};
struct pod_fault pod_fault(const struct pod *p);

uint64_t pod_cycles(const struct pod *p); /* of the chip that came last */
/* Of one chip that of its machine; of several the XXH3-128 over theirs, in order of chips. */
struct hash128 pod_digest(struct pod *p);

/* Who waits for what, at most `room`; returns how many. After a deadlock that is everybody. */
struct pod_wait {
    uint32_t chip;
    struct machine_wait wait;
};
size_t pod_waits(const struct pod *p, struct pod_wait *out, size_t room);

/* All syncs of several chips so far, in the order in which they were found: those of one replica in
 * the order of their releases. Borrowed until the next run. */
size_t pod_outer_count(const struct pod *p);
const struct pod_outer *pod_outer_at(const struct pod *p, size_t i);
const struct pod_load *pod_load_at(const struct pod *p, size_t i);

#endif
