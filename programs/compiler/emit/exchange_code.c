/* exchange_code.c - encodes a tile's instructions of an exchange (docs/exchange.md 3 has the
 * operands). */
#include "programs/compiler/emit/exchange_code.h"

#include "emu/isa/insn_ops.h"

#include <string.h>

enum { SELECT_MUX = 0, SELECT_POINTER = 2 };

static enum insn_form_id op_form(enum exchange_op op)
{
    static const enum insn_form_id form[] = {
        [EXCHANGE_SEND] = FORM_send,           [EXCHANGE_SENDOFF] = FORM_sendoff,
        [EXCHANGE_SENDXPIC] = FORM_sendpic,    [EXCHANGE_SENDPIC] = FORM_sendpic,
        [EXCHANGE_SENDPICP] = FORM_sendpicp,   [EXCHANGE_DELAY] = FORM_delay,
        [EXCHANGE_DELAYXPIC] = FORM_delayxpic, [EXCHANGE_DELAYPIC] = FORM_delaypic,
    };

    return form[op];
}

/* The operands of an instruction; from and to are byte addresses. */
static void list_values(const struct exchange_insn *c, uint32_t from, uint32_t to,
                        int64_t value[ISA_MAX_OPERANDS])
{
    unsigned n = 0;

    value[n++] = (int64_t)c->events - 1;
    switch (c->op) {
    case EXCHANGE_SEND:
        value[n++] = from;
        value[n++] = c->ctl;
        break;
    case EXCHANGE_SENDOFF:
        value[n++] = 0;
        value[n++] = c->ctl;
        break;
    case EXCHANGE_SENDXPIC:
        value[n++] = SELECT_MUX;
        value[n++] = c->source;
        break;
    case EXCHANGE_SENDPIC:
        value[n++] = SELECT_POINTER;
        value[n++] = to / 4;
        break;
    case EXCHANGE_SENDPICP:
        value[n++] = from;
        value[n++] = c->ctl;
        value[n++] = 0;
        value[n++] = c->source;
        value[n++] = to / 4;
        break;
    case EXCHANGE_DELAY:
        break;
    case EXCHANGE_DELAYXPIC:
        value[n++] = 0;
        value[n++] = c->source;
        break;
    case EXCHANGE_DELAYPIC:
        value[n++] = 0;
        value[n++] = to / 4;
        break;
    }
}

enum emu_status exchange_encode(const struct exchange_schedule *s, const struct tile_schedule *t,
                                exchange_address *address, void *context, uint32_t *word)
{
    struct packed_reader r = exchange_schedule_read(s, t);
    const uint32_t *end = word + t->bytes / ISA_WORD_BYTES;

    for (uint32_t i = 0; i < t->insns; i++) {
        const struct exchange_insn c = packed_code_next(&r);
        uint32_t from = exchange_has_from(&c) ? address(context, c.from) : 0;
        uint32_t to = exchange_has_to(&c) ? address(context, c.to) : 0;
        int64_t value[ISA_MAX_OPERANDS] = { 0 };
        struct insn in[2];
        uint32_t code[2]; /* isa_encode() writes both, and the last one may be the buffer's last */
        unsigned words;

        list_values(&c, from, to, value);
        if (to % 4 || isa_form_build(isa_form(op_form(c.op)), value, in) != 1)
            return FAIL(BAD_EXCHANGE,
                        "event %u sends from 0x%x and receives at 0x%x: not addresses of words in "
                        "tile memory",
                        c.event, from, to);
        words = isa_encode(in, code);
        memcpy(word, code, words * sizeof(*word));
        word += words;
    }
    EMU_ASSERT(word == end);
    return EMU_OK;
}
