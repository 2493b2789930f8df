/* exchange_deliver.c - performs the copies of a resolved phase.
 *
 * exchange_resolve() has proven that no word is received twice and none is sent after its
 * replacement came. So if no tile receives into bytes it sends, copies may be done in any order, by
 * any number of threads; else every word is read before any is written.
 */
#include "emu/exchange/exchange_private.h"
#include "emu/tile/tile_check.h"

enum { PREFETCH_COPIES = 8 };

static void note_written_slowly(struct tile *t, const struct exchange_copy *c)
{
    const struct tile_arrival a = { .addr = t->mem_base + c->to_off,
                                    .bytes = 4 * c->words,
                                    .from = c->from,
                                    .from_addr = t->mem_base + c->from_off };

    tile_code_written(t, c->to_off, 4 * c->words);
    if (t->check)
        tile_check_arrived(t, &a);
}

static void note_written(struct tile *t, const struct exchange_copy *c)
{
    uint32_t off = c->to_off, bytes = 4 * c->words;
    uint32_t last = (off + bytes - 1) >> DIRTY_PAGE_BITS;

    if (EMU_UNLIKELY(off < t->code_end || t->check)) {
        note_written_slowly(t, c);
        return;
    }
    for (uint32_t page = off >> DIRTY_PAGE_BITS; page <= last; page++)
        t->dirty[page] = 1;
}

static void move_words(void *to, const void *from, uint32_t words)
{
    if (words == 1)
        memcpy(to, from, 4);
    else
        memcpy(to, from, 4 * (size_t)words);
}

static void copy_directly(const struct exchange_phase *p, struct tile *const *tile, uint32_t from,
                          uint32_t to)
{
    uint32_t first = p->first_copy[from], end = p->first_copy[to];

    for (uint32_t i = first; i < end; i++) {
        const struct exchange_copy *c = &p->copy[i];
        struct tile *t = tile[c->to];

        if (i + PREFETCH_COPIES < end) {
            const struct exchange_copy *ahead = c + PREFETCH_COPIES;

            __builtin_prefetch(tile[ahead->from]->mem + ahead->from_off);
        }
        move_words(t->mem + c->to_off, tile[c->from]->mem + c->from_off, c->words);
        note_written(t, c);
    }
}

void exchange_gather(const struct exchange_phase *p, struct tile *const *tile, uint32_t from,
                     uint32_t to)
{
    uint32_t *at = p->staging + p->first_word[from];

    for (uint32_t i = p->first_copy[from]; i < p->first_copy[to]; i++) {
        const struct exchange_copy *c = &p->copy[i];

        move_words(at, tile[c->from]->mem + c->from_off, c->words);
        at += c->words;
    }
}

void exchange_store(const struct exchange_phase *p, struct tile *const *tile, uint32_t from,
                    uint32_t to)
{
    const uint32_t *at = p->staging + p->first_word[from];

    for (uint32_t i = p->first_copy[from]; i < p->first_copy[to]; i++) {
        const struct exchange_copy *c = &p->copy[i];

        move_words(tile[c->to]->mem + c->to_off, at, c->words);
        note_written(tile[c->to], c);
        at += c->words;
    }
}

void exchange_deliver(const struct exchange_phase *p, struct tile *const *tile, uint32_t from,
                      uint32_t to)
{
    if (!p->overlaps) {
        copy_directly(p, tile, from, to);
        return;
    }
    exchange_gather(p, tile, from, to);
    exchange_store(p, tile, from, to);
}
