/* exchange_pairs.c - who sends to whom in a phase: the copies of a receiver, added up by sender. */
#include "emu/exchange/exchange_private.h"

#include <stdlib.h>

#include "emu/base/alloc.h"

enum { INSERTED = 64 /* longer lists are sorted by halves */ };

static int by_sender(const void *a, const void *b)
{
    const struct exchange_pair *x = a, *y = b;

    return x->from < y->from ? -1 : x->from > y->from;
}

/* Most lists are short, or in order already. */
static void sort(struct exchange_pair *p, size_t n)
{
    if (n > INSERTED) {
        qsort(p, n, sizeof(*p), by_sender);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        struct exchange_pair x = p[i];
        size_t k = i;

        for (; k && p[k - 1].from > x.from; k--)
            p[k] = p[k - 1];
        p[k] = x;
    }
}

/* Entries of one sender become the first of them. Returns how many are left. */
static size_t merge(struct exchange_pair *p, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        if (kept && p[kept - 1].from == p[i].from) {
            p[kept - 1].words += p[i].words;
            p[kept - 1].messages += p[i].messages;
        } else {
            p[kept++] = p[i];
        }
    }
    return kept;
}

enum emu_status exchange_add_pairs(struct exchange_resolver *r, uint32_t d,
                                   const struct exchange_copy *copy, size_t n)
{
    struct exchange_pair *first;

    while (r->pairs + n > r->pair_capacity) {
        size_t capacity = r->pair_capacity ? 2 * r->pair_capacity : 1024;
        struct exchange_pair *grown = emu_realloc(r->pair, capacity, sizeof(*grown));

        if (!grown)
            return FAIL(NO_MEMORY, "the pairs of an exchange");
        r->pair = grown;
        r->pair_capacity = capacity;
    }
    first = r->pair + r->pairs;
    for (size_t i = 0; i < n; i++)
        first[i] = (struct exchange_pair){ copy[i].from, d, copy[i].words, 1 };
    n = merge(first, n); /* many copies of one sender follow each other */
    sort(first, n);
    r->pairs += merge(first, n);
    return EMU_OK;
}
