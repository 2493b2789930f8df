/* packed_code.h - the instructions of an exchange as they are kept: in a few words each.
 *
 * A network has ten million of these instructions, and most of them hold little: how long, and
 * which tile to listen to, or where the next words come from or go to. So they are kept in words of
 * 32 bits instead of structs, a third to a ninth of the size:
 *
 *   bits 0..2    enum exchange_op
 *   bits 3..4    ctl
 *   bits 5..17   the mux's source      } of EXCHANGE_DELAY all of them: events - 1
 *   bits 18..29  events - 1            }
 *   bit 30, 31   the base of `from`, of `to`, is that of the tile's `from`, `to`, before
 *
 * then, for `from` and for `to` where the operation has them: the base, unless it is as before, and
 * the bytes.
 */
#ifndef PROGRAMS_PACKED_CODE_H
#define PROGRAMS_PACKED_CODE_H

#include "programs/compiler/base/arena.h"

struct packed_code {
    VEC(uint32_t) word; /* owned */
};

/* Instructions of one tile that are read one after the other; zero `from`, `to` and `event` at its
 * first. */
struct packed_reader {
    const uint32_t *at; /* borrowed; the next instruction */
    uint32_t event;     /* at which it begins */
    uint32_t from, to;  /* bases before */
};

enum {
    PACKED_OP_BITS = 3,
    PACKED_CTL_AT = 3,
    PACKED_CTL_BITS = 2,
    PACKED_SOURCE_AT = 5,
    PACKED_SOURCE_BITS = 13,
    PACKED_EVENTS_AT = 18,
    PACKED_EVENTS_BITS = 12,
    PACKED_DELAY_BITS = PACKED_SOURCE_BITS + PACKED_EVENTS_BITS,
    PACKED_SAME_FROM = 30,
    PACKED_SAME_TO = 31
};

static inline uint32_t packed_bits(uint32_t word, unsigned at, unsigned n)
{
    return word >> at & ((1u << n) - 1);
}

static inline int exchange_has_from(const struct exchange_insn *c)
{
    return c->op == EXCHANGE_SEND || (c->op == EXCHANGE_SENDPICP && c->ctl);
}

static inline int exchange_has_to(const struct exchange_insn *c)
{
    return c->op == EXCHANGE_SENDPIC || c->op == EXCHANGE_SENDPICP || c->op == EXCHANGE_DELAYPIC;
}

/* Appends the instructions of one tile, whose first begins at event 0. EMU_NO_MEMORY. */
enum emu_status packed_code_add(struct packed_code *p,
                                const struct exchange_sequence *s) EMU_MUST_CHECK;
void packed_code_free(struct packed_code *p);

/* The words of an instruction, by its first. */
static inline uint32_t packed_code_words(uint32_t first)
{
    const struct exchange_insn c = { .op = (uint8_t)packed_bits(first, 0, PACKED_OP_BITS),
                                     .ctl = (uint8_t)packed_bits(first, PACKED_CTL_AT,
                                                                 PACKED_CTL_BITS) };

    return 1 + (exchange_has_from(&c) ? 2 - packed_bits(first, PACKED_SAME_FROM, 1) : 0) +
           (exchange_has_to(&c) ? 2 - packed_bits(first, PACKED_SAME_TO, 1) : 0);
}

static inline struct symbolic_addr packed_address(struct packed_reader *r, uint32_t first,
                                                  unsigned same, uint32_t *base)
{
    if (!(first >> same & 1))
        *base = *r->at++;
    return (struct symbolic_addr){ *base, *r->at++ };
}

/* The next instruction, of which there must be one. */
static inline struct exchange_insn packed_code_next(struct packed_reader *r)
{
    uint32_t word = *r->at++;
    struct exchange_insn c = { .op = (uint8_t)packed_bits(word, 0, PACKED_OP_BITS),
                               .ctl = (uint8_t)packed_bits(word, PACKED_CTL_AT, PACKED_CTL_BITS),
                               .event = r->event };

    if (c.op == EXCHANGE_DELAY) {
        c.events = packed_bits(word, PACKED_SOURCE_AT, PACKED_DELAY_BITS) + 1;
    } else {
        c.source = packed_bits(word, PACKED_SOURCE_AT, PACKED_SOURCE_BITS);
        c.events = packed_bits(word, PACKED_EVENTS_AT, PACKED_EVENTS_BITS) + 1;
    }
    if (exchange_has_from(&c))
        c.from = packed_address(r, word, PACKED_SAME_FROM, &r->from);
    if (exchange_has_to(&c))
        c.to = packed_address(r, word, PACKED_SAME_TO, &r->to);
    r->event += c.events;
    return c;
}

#endif
