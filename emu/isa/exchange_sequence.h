/* exchange_sequence.h - turns what one tile sends and receives in an exchange into instructions.
 *
 * The caller says when (in events of this tile) and where. Sends, changes of the incoming mux
 * (XPIC) and changes of the incoming pointer (PIC) are merged into one sequence in which every
 * instruction covers the right events, and two-word instructions lie at addresses that are
 * multiples of 8 (docs/encoding.md 1). Nothing is known here about other tiles: the caller computes
 * when a word reaches the mux (arch_exchange_delay).
 */
#ifndef EMU_EXCHANGE_SEQUENCE_H
#define EMU_EXCHANGE_SEQUENCE_H

#include <stddef.h>
#include <stdint.h>

#include "emu/base/fail.h"

/* An address in tile memory: bytes from a base, which the caller numbers (one per section, say;
 * always 0 if the caller knows all addresses). */
struct symbolic_addr {
    uint32_t base;
    uint32_t bytes; /* a multiple of 4; modulo 2^32, so a base may lie after the address */
};

/* Sends `words` words from addr, one per event, the first at `event`, in the directions given by
 * ctl (1, 2, 3). */
struct timed_send {
    int64_t event;
    uint32_t words, ctl;
    struct symbolic_addr addr;
};

/* The tile listens to `source` (value of the mux) for `words` events, the first of which reaches
 * the mux at `event`. */
struct timed_receive {
    int64_t event;
    uint32_t words, source;
    struct symbolic_addr addr;
};

enum exchange_op {
    EXCHANGE_SEND,      /* send events - 1, from, ctl */
    EXCHANGE_SENDOFF,   /* sendoff events - 1, 0, ctl */
    EXCHANGE_SENDXPIC,  /* sendpic events - 1, 0, source */
    EXCHANGE_SENDPIC,   /* sendpic events - 1, 2, to / 4 */
    EXCHANGE_SENDPICP,  /* sendpicp events - 1, from, ctl, 0, source, to / 4 */
    EXCHANGE_DELAY,     /* delay events - 1 */
    EXCHANGE_DELAYXPIC, /* delayxpic events - 1, 0, source */
    EXCHANGE_DELAYPIC   /* delaypic events - 1, 0, to / 4 */
};

/* One instruction, which covers `events` events from `event` on. Fields that the operation does not
 * use are 0. */
struct exchange_insn {
    uint8_t op;    /* enum exchange_op */
    uint8_t ctl;   /* directions, as in timed_send */
    uint16_t zero; /* always 0; replaces padding, so that equal instructions have equal bytes */
    uint32_t event, events;
    uint32_t source;
    struct symbolic_addr from, to;
};

struct sequence_options {
    uint32_t null_source; /* mux value that selects no tile */
    uint32_t pic_lag;     /* arch_pic_lag() of this tile */
    uint32_t
        first_event; /* event of the first instruction; the tile does something else before it */
    int misaligned;  /* the first instruction stands 4 bytes after a multiple of 8 */
};

struct exchange_sequence {
    struct exchange_insn *code; /* owned */
    size_t count, capacity;
    uint32_t end_event; /* event after the last instruction */
};

/* Makes the instructions of one tile for one exchange.
 *
 * send, receive   in any order; the function sorts both lists in place
 * out             all zero, or what a call before left: its memory is used again. The instructions;
 *                 free them with exchange_sequence_free(). Empty on failure
 * culprit         written on EMU_BAD_EXCHANGE: the message to blame. If it is below `receives`, it
 *                 is an index into the sorted receives; otherwise subtract `receives` from it to
 *                 get an index into the sorted sends
 *
 * Errors          EMU_BAD_EXCHANGE   messages overlap, begin too early or have no words;
 *                                    ss_error() says which events
 *                 EMU_NO_MEMORY
 *
 * Cost            O(n log n) */
enum emu_status exchange_sequence(const struct sequence_options *o, struct timed_send *send,
                                  size_t sends, struct timed_receive *receive, size_t receives,
                                  struct exchange_sequence *out, size_t *culprit) EMU_MUST_CHECK;
void exchange_sequence_free(struct exchange_sequence *p);

#endif
