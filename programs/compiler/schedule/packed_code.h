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
uint32_t packed_code_words(uint32_t first);

/* The next instruction, of which there must be one. */
struct exchange_insn packed_code_next(struct packed_reader *r);

#endif
