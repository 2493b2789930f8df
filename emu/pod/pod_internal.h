/* pod_internal.h - the state of a system. Shared by the files of emu/pod. */
#ifndef EMU_POD_INTERNAL_H
#define EMU_POD_INTERNAL_H

#include "emu/bsp/outer.h"
#include "emu/pod/pod.h"

enum { POD_NO_PHASE = UINT32_MAX };

struct pod_chip {
    struct machine *machine; /* owned */
    enum machine_stop stop;
    int is_ready;   /* it may go on, or has never run */
    uint32_t phase; /* index of the sync that began its phase, while words of it may be under way */
};

/* Words that a chip has sent to one tile in a phase. */
struct pod_flow {
    uint32_t chip, tile, from_chip, words;
};

struct pod {
    struct arch arch;
    struct pod_options options;
    struct link_numbers links;
    uint32_t chips;
    struct pod_chip *chip;   /* owned [chips] */
    struct pod_outer *outer; /* owned */
    size_t outers, outer_cap;
    struct pod_load *load; /* owned */
    size_t loads, load_cap;
    struct pod_flow *flow; /* owned; of the last phase of every chip that received */
    size_t flows, flow_cap;
    struct hash128 *digest; /* owned, scratch [chips] */
    struct pod_fault fault;
    int failed; /* ss_error() says how */
};

/* pod_words.c: delivers what the chips of a phase have sent in it. EMU_FAULT: machine_fault() of
 * one of them; EMU_USAGE: no link leads there; EMU_NO_MEMORY. */
enum emu_status pod_deliver(struct pod *p, uint32_t phase) EMU_MUST_CHECK;

/* pod_wait.c: ss_error() says who waits for what. Returns MACHINE_DEADLOCK. */
enum machine_stop pod_deadlock(const struct pod *p);

#endif
