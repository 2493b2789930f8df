/* exchange_encode.h - from what one tile sends and receives in an exchange to the instructions that
 * do it.
 *
 * The caller says when (events of this tile) and where; the plan merges sends, changes of the
 * incoming mux (XPIC) and of the incoming pointer (PIC) into one sequence in which every
 * instruction covers the events it should, and puts two-word instructions on addresses that are
 * multiples of 8 (docs/encoding.md 1). It knows nothing about other tiles: when a word
 * reaches the mux is for the caller to add up (arch_exchange_delay).
 */
#ifndef EMU_EXCHANGE_ENCODE_H
#define EMU_EXCHANGE_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "emu/base/status.h"

/* An address in tile memory: bytes from a base that the caller numbers (a section, say; 0 when he
 * knows all addresses). */
struct plan_addr {
    uint32_t base;
    uint32_t bytes; /* a multiple of 4; modulo 2^32, so a base may lie after the address */
};

/* `words` words from addr, one per event, from `event` on, into the directions of ctl (1, 2, 3). */
struct plan_send {
    int64_t event;
    uint32_t words, ctl;
    struct plan_addr addr;
};

/* The tile listens to `source` (value of the mux) for `words` events, the first of which reaches
 * the mux at `event`. */
struct plan_receive {
    int64_t event;
    uint32_t words, source;
    struct plan_addr addr;
};

enum plan_op {
    PLAN_SEND,      /* send events - 1, from, ctl */
    PLAN_SENDOFF,   /* sendoff events - 1, 0, ctl */
    PLAN_SENDXPIC,  /* sendpic events - 1, 0, source */
    PLAN_SENDPIC,   /* sendpic events - 1, 2, to / 4 */
    PLAN_SENDPICP,  /* sendpicp events - 1, from, ctl, 0, source, to / 4 */
    PLAN_DELAY,     /* delay events - 1 */
    PLAN_DELAYXPIC, /* delayxpic events - 1, 0, source */
    PLAN_DELAYPIC   /* delaypic events - 1, 0, to / 4 */
};

/* One instruction: covers `events` events from `event` on. Fields that the operation does not use
 * are 0. Networks have ten million of them. */
struct plan_code {
    uint8_t op;    /* enum plan_op */
    uint8_t ctl;   /* directions, as of plan_send */
    uint16_t zero; /* instead of padding, so that equal instructions have equal bytes */
    uint32_t event, events;
    uint32_t source;
    struct plan_addr from, to;
};

struct plan_options {
    uint32_t null_source; /* mux value that means nobody */
    uint32_t pic_lag;     /* of this tile */
    uint32_t
        first_event; /* event of the first instruction; the tile does something else before it */
    int misaligned;  /* the first instruction stands 4 bytes after a multiple of 8 */
};

struct exchange_plan {
    struct plan_code *code; /* owned */
    size_t count, capacity;
    uint32_t end_event; /* event after the last instruction */
};

/* Plans one exchange.
 *
 * send, receive   in any order; both lists are sorted in place
 * out             owned by the caller, free with exchange_encode_free; empty on failure
 * culprit         on EMU_BAD_EXCHANGE the message that is to blame: its index in the (sorted) list
 * of receives, or, with the number of receives added, of sends Errors          EMU_BAD_EXCHANGE
 * messages that overlap, begin too early or have no words; emu_error() says which events
 *                 EMU_NO_MEMORY
 * Cost            O(n log n) */
enum emu_status exchange_plan(const struct plan_options *o, struct plan_send *send, size_t sends,
                              struct plan_receive *receive, size_t receives,
                              struct exchange_plan *out, size_t *culprit) EMU_MUST_CHECK;
void exchange_encode_free(struct exchange_plan *p);

#endif
