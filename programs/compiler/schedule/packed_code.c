/* packed_code.c - instructions of an exchange in words, and back (see packed_code.h). */
#include "programs/compiler/schedule/packed_code.h"

enum {
    OP_BITS = 3,
    CTL_AT = 3,
    CTL_BITS = 2,
    SOURCE_AT = 5,
    SOURCE_BITS = 13,
    EVENTS_AT = 18,
    EVENTS_BITS = 12,
    DELAY_BITS = SOURCE_BITS + EVENTS_BITS,
    SAME_FROM = 30,
    SAME_TO = 31,
    INSN_WORDS_MAX = 5
};

_Static_assert(EXCHANGE_DELAYPIC < 1 << OP_BITS, "an operation has three bits");

static uint32_t bits(uint32_t word, unsigned at, unsigned n)
{
    return word >> at & ((1u << n) - 1);
}

/* Appends an address to the words of an instruction; *base: that before. */
static void put_address(uint32_t *word, uint32_t *n, unsigned same, uint32_t *base,
                        struct symbolic_addr a)
{
    if (a.base == *base)
        word[0] |= 1u << same;
    else
        word[(*n)++] = a.base;
    word[(*n)++] = a.bytes;
    *base = a.base;
}

static struct symbolic_addr get_address(struct packed_reader *r, uint32_t first, unsigned same,
                                        uint32_t *base)
{
    if (!(first >> same & 1))
        *base = *r->at++;
    return (struct symbolic_addr){ *base, *r->at++ };
}

static enum emu_status add_insn(struct packed_code *p, const struct exchange_insn *c,
                                uint32_t *from, uint32_t *to)
{
    int is_delay = c->op == EXCHANGE_DELAY;
    uint32_t word[INSN_WORDS_MAX], n = 1, events = c->events - 1;

    EMU_ASSERT(c->events && !(c->source >> SOURCE_BITS) && !(c->ctl >> CTL_BITS) &&
               !(events >> (is_delay ? DELAY_BITS : EVENTS_BITS)));
    word[0] = c->op | (uint32_t)c->ctl << CTL_AT | c->source << SOURCE_AT |
              events << (is_delay ? SOURCE_AT : EVENTS_AT);
    if (exchange_has_from(c))
        put_address(word, &n, SAME_FROM, from, c->from);
    if (exchange_has_to(c))
        put_address(word, &n, SAME_TO, to, c->to);
    for (uint32_t i = 0; i < n; i++)
        TRY(VEC_PUSH(&p->word, word[i]));
    return EMU_OK;
}

enum emu_status packed_code_add(struct packed_code *p, const struct exchange_sequence *s)
{
    uint32_t from = 0, to = 0;

    for (size_t i = 0; i < s->count; i++)
        TRY(add_insn(p, &s->code[i], &from, &to));
    return EMU_OK;
}

void packed_code_free(struct packed_code *p)
{
    VEC_FREE(&p->word);
}

uint32_t packed_code_words(uint32_t first)
{
    const struct exchange_insn c = { .op = (uint8_t)bits(first, 0, OP_BITS),
                                     .ctl = (uint8_t)bits(first, CTL_AT, CTL_BITS) };

    return 1 + (exchange_has_from(&c) ? 2 - bits(first, SAME_FROM, 1) : 0) +
           (exchange_has_to(&c) ? 2 - bits(first, SAME_TO, 1) : 0);
}

struct exchange_insn packed_code_next(struct packed_reader *r)
{
    uint32_t word = *r->at++;
    struct exchange_insn c = { .op = (uint8_t)bits(word, 0, OP_BITS),
                               .ctl = (uint8_t)bits(word, CTL_AT, CTL_BITS),
                               .event = r->event };

    if (c.op == EXCHANGE_DELAY) {
        c.events = bits(word, SOURCE_AT, DELAY_BITS) + 1;
    } else {
        c.source = bits(word, SOURCE_AT, SOURCE_BITS);
        c.events = bits(word, EVENTS_AT, EVENTS_BITS) + 1;
    }
    if (exchange_has_from(&c))
        c.from = get_address(r, word, SAME_FROM, &r->from);
    if (exchange_has_to(&c))
        c.to = get_address(r, word, SAME_TO, &r->to);
    r->event += c.events;
    return c;
}
