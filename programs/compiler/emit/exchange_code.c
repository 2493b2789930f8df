/* exchange_code.c - encodes the plan of an exchange (docs/exchange.md 3 has the operands). */
#include "programs/compiler/emit/exchange_code.h"

enum { SELECT_MUX = 0, SELECT_POINTER = 2 };

uint32_t exchange_code_bytes(const struct exchange_plan *p)
{
    uint32_t bytes = 0;

    for (size_t i = 0; i < p->count; i++)
        bytes += p->code[i].op == PLAN_SENDPICP ? 8 : 4;
    return bytes;
}

static enum insn_form_id plan_form(enum plan_op op)
{
    static const enum insn_form_id form[] = {
        [PLAN_SEND] = FORM_send,           [PLAN_SENDOFF] = FORM_sendoff,
        [PLAN_SENDXPIC] = FORM_sendpic,    [PLAN_SENDPIC] = FORM_sendpic,
        [PLAN_SENDPICP] = FORM_sendpicp,   [PLAN_DELAY] = FORM_delay,
        [PLAN_DELAYXPIC] = FORM_delayxpic, [PLAN_DELAYPIC] = FORM_delaypic,
    };

    return form[op];
}

/* The operands of an instruction; from and to are byte addresses. */
static void list_values(const struct plan_code *c, uint32_t from, uint32_t to,
                        int64_t value[ISA_MAX_OPERANDS])
{
    unsigned n = 0;

    value[n++] = (int64_t)c->events - 1;
    switch (c->op) {
    case PLAN_SEND:
        value[n++] = from;
        value[n++] = c->ctl;
        break;
    case PLAN_SENDOFF:
        value[n++] = 0;
        value[n++] = c->ctl;
        break;
    case PLAN_SENDXPIC:
        value[n++] = SELECT_MUX;
        value[n++] = c->source;
        break;
    case PLAN_SENDPIC:
        value[n++] = SELECT_POINTER;
        value[n++] = to / 4;
        break;
    case PLAN_SENDPICP:
        value[n++] = from;
        value[n++] = c->ctl;
        value[n++] = 0;
        value[n++] = c->source;
        value[n++] = to / 4;
        break;
    case PLAN_DELAY:
        break;
    case PLAN_DELAYXPIC:
        value[n++] = 0;
        value[n++] = c->source;
        break;
    case PLAN_DELAYPIC:
        value[n++] = 0;
        value[n++] = to / 4;
        break;
    }
}

static int has_from(const struct plan_code *c)
{
    return c->op == PLAN_SEND || (c->op == PLAN_SENDPICP && c->ctl);
}

static int has_to(const struct plan_code *c)
{
    return c->op == PLAN_SENDPICP || c->op == PLAN_SENDPIC || c->op == PLAN_DELAYPIC;
}

enum emu_status exchange_encode(const struct exchange_plan *p, exchange_address *address,
                                void *context, uint32_t *word)
{
    for (size_t i = 0; i < p->count; i++) {
        const struct plan_code *c = &p->code[i];
        uint32_t from = has_from(c) ? address(context, c->from) : 0;
        uint32_t to = has_to(c) ? address(context, c->to) : 0;
        int64_t value[ISA_MAX_OPERANDS] = { 0 };
        struct insn in[2];

        list_values(c, from, to, value);
        if (to % 4 || isa_form_build(isa_form(plan_form(c->op)), value, in) != 1)
            return FAIL(BAD_EXCHANGE,
                        "event %u sends from 0x%x and receives at 0x%x: not addresses of words in "
                        "tile memory",
                        c->event, from, to);
        word += isa_encode(in, word);
    }
    return EMU_OK;
}
