/* schedule_order.c - the orders in which sends are given their times.
 *
 * Earliest fit is only as good as its order. ORDER_SHIFT suits everything regular: sends that go
 * the same way follow each other, so that delays cancel and no tile waits for two. ORDER_LOAD suits
 * irregular loads: the sends that are hard to place go first.
 */
#include <string.h>

#include "programs/compiler/schedule/schedule_private.h"

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, KEY_BITS = 64 };

void order_sort(struct order_key *key, struct order_key *scratch, uint32_t n)
{
    struct order_key *from = key, *to = scratch;
    uint64_t any = 0, all = UINT64_MAX;

    for (uint32_t i = 0; i < n; i++) {
        any |= key[i].key;
        all &= key[i].key;
    }
    for (unsigned shift = 0; shift < KEY_BITS; shift += DIGIT_BITS) {
        uint32_t next[DIGITS] = { 0 }, sum = 0;
        struct order_key *swap = from;

        if (!((any & ~all) >> shift & (DIGITS - 1)))
            continue; /* the same digit everywhere */
        for (uint32_t i = 0; i < n; i++)
            next[from[i].key >> shift & (DIGITS - 1)]++;
        for (unsigned d = 0; d < DIGITS; d++) {
            uint32_t count = next[d];

            next[d] = sum;
            sum += count;
        }
        for (uint32_t i = 0; i < n; i++)
            to[next[from[i].key >> shift & (DIGITS - 1)]++] = from[i];
        from = to;
        to = swap;
    }
    if (from != key)
        memcpy(key, from, n * sizeof(*key));
}

static uint32_t shift_of(const struct schedule *s, const struct send_list *l,
                         const struct send *send)
{
    uint32_t tiles = s->p->arch->tiles;
    uint32_t to = s->point[l->dest[send->first].point].tile, from = s->point[send->point].tile;

    return (to + tiles - from) % tiles;
}

static uint32_t endpoint_load(const struct endpoint *e)
{
    return e->words_in > e->words_out ? e->words_in : e->words_out;
}

static uint32_t send_load(const struct schedule *s, const struct send_list *l,
                          const struct send *send)
{
    uint32_t most = endpoint_load(&s->point[send->point]);

    for (uint32_t k = send->first; k < send->first + send->dests; k++) {
        uint32_t load = endpoint_load(&s->point[l->dest[k].point]);

        most = load > most ? load : most;
    }
    return most;
}

static uint64_t send_key(const struct schedule *s, const struct send_list *l,
                         const struct send *send, enum send_order order)
{
    uint64_t high;

    switch (order) {
    case ORDER_SHIFT:
        high = shift_of(s, l, send);
        break;
    case ORDER_BACK:
        high = s->p->arch->tiles - shift_of(s, l, send);
        break;
    case ORDER_WORDS:
        high =
            (uint64_t)(UINT32_MAX - send->words) << 16 | (s->p->arch->tiles - shift_of(s, l, send));
        return high << 16 | send->point;
    case ORDER_ADDRESS:
        high = l->dest[send->first].rank;
        break;
    default:
        high = UINT32_MAX - send_load(s, l, send);
        return high << 32 | (UINT32_MAX - send->words);
    }
    return high << 32 | send->point;
}

void order_make(const struct schedule *s, const struct send_list *l, enum send_order order,
                struct order_key *key, struct order_key *scratch)
{
    for (uint32_t j = 0; j < l->sends; j++)
        key[j] = (struct order_key){ .key = send_key(s, l, &l->send[j], order), .send = j };
    order_sort(key, scratch, l->sends);
}
