/* schedule_rounds.c - the sends of an exchange dealt into rounds in which every tile sends and
 * receives at most one: an edge colouring of the graph between senders and receivers.
 *
 * As many colours as the largest number of sends of a tile are always enough (Konig): where no
 * colour is free on both sides, two colours are swapped along the path of sends that have them.
 */
#include "programs/compiler/schedule/schedule_private.h"

enum { NO_SEND = UINT32_MAX, WORD_BITS = 64 };

struct colouring {
    const struct send_list *l;
    uint32_t points, colours, words; /* words of 64 colours */
    uint32_t *send;                  /* owned; [2 * points][colours]: senders, then receivers */
    uint64_t *used;                  /* owned; [2 * points][words] */
    uint32_t *colour;                /* owned; of every send */
};

static uint32_t sender_of(const struct colouring *c, uint32_t j)
{
    return c->l->send[j].point;
}

static uint32_t receiver_of(const struct colouring *c, uint32_t j)
{
    return c->points + c->l->dest[c->l->send[j].first].point;
}

static uint64_t *used_of(const struct colouring *c, uint32_t port)
{
    return c->used + (size_t)port * c->words;
}

/* The first colour that neither of two ports uses; NO_SEND when there is none. */
static uint32_t first_free(const struct colouring *c, uint32_t a, uint32_t b)
{
    const uint64_t *x = used_of(c, a), *y = used_of(c, b);

    for (uint32_t w = 0; w < c->words; w++) {
        uint64_t free = ~(x[w] | y[w]);
        uint32_t colour = w * WORD_BITS + (free ? (uint32_t)__builtin_ctzll(free) : 0);

        if (free)
            return colour < c->colours ? colour : NO_SEND;
    }
    return NO_SEND;
}

static void set_colour(struct colouring *c, uint32_t port, uint32_t colour, uint32_t send)
{
    uint64_t bit = UINT64_C(1) << colour % WORD_BITS, *w = used_of(c, port) + colour / WORD_BITS;

    c->send[(size_t)port * c->colours + colour] = send;
    *w = send == NO_SEND ? *w & ~bit : *w | bit;
}

static uint32_t send_at(const struct colouring *c, uint32_t port, uint32_t colour)
{
    return c->send[(size_t)port * c->colours + colour];
}

/* Frees colour a, which is used at a port, by swapping it with b along the path that begins there.
 * b is free at the port. */
static void flip_path(struct colouring *c, uint32_t port, uint32_t a, uint32_t b)
{
    uint32_t send = send_at(c, port, a);

    set_colour(c, port, a, NO_SEND);
    while (send != NO_SEND) {
        uint32_t other = sender_of(c, send) == port ? receiver_of(c, send) : sender_of(c, send);
        uint32_t next = send_at(c, other, b), swap = a;

        set_colour(c, port, b, send);
        set_colour(c, other, b, send);
        c->colour[send] = b;
        if (next == NO_SEND)
            set_colour(c, other, a, NO_SEND);
        port = other;
        send = next;
        a = b;
        b = swap;
    }
}

static void colour_send(struct colouring *c, uint32_t j)
{
    uint32_t from = sender_of(c, j), to = receiver_of(c, j), colour = first_free(c, from, to);

    if (colour == NO_SEND) {
        uint32_t other = first_free(c, to, to);

        colour = first_free(c, from, from);
        flip_path(c, to, colour, other);
    }
    c->colour[j] = colour;
    set_colour(c, from, colour, j);
    set_colour(c, to, colour, j);
}

static uint32_t most_sends(struct colouring *c)
{
    uint32_t most = 0;

    for (uint32_t j = 0; j < c->l->sends; j++) {
        uint32_t out = ++c->send[sender_of(c, j)], in = ++c->send[receiver_of(c, j)];

        most = out > most ? out : most;
        most = in > most ? in : most;
    }
    return most;
}

static enum emu_status colour_all(struct colouring *c)
{
    c->send = emu_alloc(2 * (size_t)c->points, sizeof(*c->send));
    if (!c->send)
        return FAIL(NO_MEMORY, "the rounds of an exchange");
    c->colours = most_sends(c);
    c->words = (c->colours + WORD_BITS - 1) / WORD_BITS;
    ss_free(c->send);
    c->send = emu_alloc(2 * (size_t)c->points * c->colours, sizeof(*c->send));
    c->used = emu_alloc(2 * (size_t)c->points * c->words, sizeof(*c->used));
    if (!c->send || !c->used)
        return FAIL(NO_MEMORY, "the rounds of an exchange");
    for (size_t i = 0; i < 2 * (size_t)c->points * c->colours; i++)
        c->send[i] = NO_SEND;
    for (uint32_t j = 0; j < c->l->sends; j++)
        colour_send(c, j);
    return EMU_OK;
}

static enum emu_status rounds_with(struct colouring *c, struct order_key *key,
                                   struct order_key *scratch)
{
    uint32_t sends = c->l->sends;

    c->colour = emu_alloc(sends, sizeof(*c->colour));
    if (!c->colour)
        return FAIL(NO_MEMORY, "the rounds of an exchange");
    TRY(colour_all(c));
    for (uint32_t j = 0; j < sends; j++)
        key[j] =
            (struct order_key){ .key = (uint64_t)c->colour[j] << 32 | sender_of(c, j), .send = j };
    order_sort(key, scratch, sends);
    return EMU_OK;
}

enum emu_status schedule_rounds(const struct schedule *s, const struct send_list *l,
                                struct order_key *key, struct order_key *scratch)
{
    struct colouring c = { .l = l, .points = s->points };
    enum emu_status st = rounds_with(&c, key, scratch);

    ss_free(c.send);
    ss_free(c.used);
    ss_free(c.colour);
    return st;
}
