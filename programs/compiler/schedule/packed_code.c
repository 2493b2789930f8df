/* packed_code.c - instructions of an exchange in words, and back (see packed_code.h). */
#include "programs/compiler/schedule/packed_code.h"

_Static_assert(EXCHANGE_DELAYPIC < 1 << PACKED_OP_BITS, "an operation has three bits");

enum { INSN_WORDS_MAX = 5 };

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

/* Writes the words of an instruction and returns how many. */
static uint32_t put_insn(uint32_t *word, const struct exchange_insn *c, uint32_t *from,
                         uint32_t *to)
{
    int is_delay = c->op == EXCHANGE_DELAY;
    uint32_t n = 1, events = c->events - 1;

    EMU_ASSERT(c->events && !(c->source >> PACKED_SOURCE_BITS) && !(c->ctl >> PACKED_CTL_BITS) &&
               !(events >> (is_delay ? PACKED_DELAY_BITS : PACKED_EVENTS_BITS)));
    word[0] = c->op | (uint32_t)c->ctl << PACKED_CTL_AT | c->source << PACKED_SOURCE_AT |
              events << (is_delay ? PACKED_SOURCE_AT : PACKED_EVENTS_AT);
    if (exchange_has_from(c))
        put_address(word, &n, PACKED_SAME_FROM, from, c->from);
    if (exchange_has_to(c))
        put_address(word, &n, PACKED_SAME_TO, to, c->to);
    return n;
}

/* Room for so many more words. */
static enum emu_status reserve(struct packed_code *p, size_t words)
{
    size_t want = p->word.count + words;
    uint32_t *q;

    if (want <= p->word.cap)
        return EMU_OK;
    q = emu_realloc(p->word.at, 2 * want, sizeof(*q));
    if (!q)
        return FAIL(NO_MEMORY, "the code of an exchange");
    p->word.at = q;
    p->word.cap = 2 * want;
    return EMU_OK;
}

enum emu_status packed_code_add(struct packed_code *p, const struct exchange_sequence *s)
{
    uint32_t from = 0, to = 0;

    TRY(reserve(p, INSN_WORDS_MAX * s->count));
    for (size_t i = 0; i < s->count; i++)
        p->word.count += put_insn(p->word.at + p->word.count, &s->code[i], &from, &to);
    return EMU_OK;
}

void packed_code_free(struct packed_code *p)
{
    VEC_FREE(&p->word);
}
