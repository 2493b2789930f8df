/* history.c - states of a run: what zstd leaves of machine and host, and pages of memory. */
#include "emu/step/history.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "emu/base/alloc.h"
#include "emu/pod/pod_state.h"
#include "emu/host/host_state.h"

enum {
    PAGE = 1 << DIRTY_PAGE_BITS,
    STATES_MAX = 512,
    LEVEL = 1,
    NOTE_CHANGED = 1, /* written since the last state; the tile's own note went to a digest */
    NOTE_UNHASHED = 2 /* written since the last digest; the tile's own note went to a state */
};

/* A page of a tile as it was at a state, because it is another one at the next. */
struct kept_page {
    uint32_t tile, page;
    uint8_t *bytes; /* owned [PAGE] */
};

struct history_state {
    uint64_t cycle, runs;
    enum machine_stop stop;
    uint8_t *packed; /* owned: chips, their hosts, how long their records are */
    size_t packed_bytes, plain_bytes;
    struct kept_page *page; /* owned; ascending by tile, then page */
    size_t pages, page_cap;
};

struct history {
    struct run *run;                 /* borrowed */
    size_t limit, bytes, copy_bytes; /* bytes: of all states */
    uint32_t tiles, pages;           /* of all chips; pages of a tile */
    uint8_t *copy;                   /* owned, reserved: memory at the last state */
    size_t copy_room;
    uint8_t *note; /* owned, by page of all tiles: NOTE_x */
    struct history_state state[STATES_MAX + 1];
    size_t count;
    struct byte_store plain; /* owned, scratch */
};

/* ---- pages ---- */

/* Tiles are counted through all chips. */
static struct tile *tile_at(const struct history *h, uint32_t tile)
{
    uint32_t tiles = ss_image_arch(h->run->im)->tiles;

    return machine_tile(machine_of_chip(h->run, tile / tiles), tile % tiles);
}

static uint8_t *copy_of(const struct history *h, uint32_t tile, uint32_t page)
{
    return h->copy + ((size_t)tile * h->pages + page) * PAGE;
}

static uint32_t page_bytes(const struct history *h, uint32_t page)
{
    uint32_t left = ss_image_arch(h->run->im)->mem_bytes - page * PAGE;

    return left < PAGE ? left : PAGE;
}

/* Whether a page may have changed since the last state. The tiles' notes serve digests, too: what
 * is taken from them is kept here for the other. */
static int has_changed(struct history *h, uint32_t tile, uint32_t page)
{
    uint8_t *dirty = &tile_at(h, tile)->dirty[page];
    uint8_t *note = &h->note[(size_t)tile * h->pages + page];

    if (*dirty)
        *note = NOTE_CHANGED | NOTE_UNHASHED;
    *dirty = 0;
    return *note & NOTE_CHANGED;
}

static void note_same(struct history *h, uint32_t tile, uint32_t page)
{
    h->note[(size_t)tile * h->pages + page] &= (uint8_t)~NOTE_CHANGED;
}

struct hash128 history_digest(struct history *h)
{
    for (uint32_t i = 0; i < h->tiles; i++) {
        for (uint32_t p = 0; p < h->pages; p++) {
            uint8_t *note = &h->note[(size_t)i * h->pages + p];

            has_changed(h, i, p);
            tile_at(h, i)->dirty[p] = (*note & NOTE_UNHASHED) != 0;
            *note &= (uint8_t)~NOTE_UNHASHED;
        }
    }
    return pod_digest(h->run->pod); /* it clears the tiles' notes */
}

/* Keeps a page of the copy, as it was at a state. */
static enum emu_status keep(struct history *h, struct history_state *s, uint32_t tile,
                            uint32_t page)
{
    struct kept_page k = { tile, page, emu_alloc(PAGE, 1) };

    if (!k.bytes)
        return FAIL(NO_MEMORY, "a page of a state");
    memcpy(k.bytes, copy_of(h, tile, page), page_bytes(h, page));
    if (emu_grow((void **)&s->page, s->pages, &s->page_cap, sizeof(*s->page)) != EMU_OK) {
        ss_free(k.bytes);
        return EMU_NO_MEMORY;
    }
    s->page[s->pages++] = k;
    h->bytes += PAGE + sizeof(k);
    return EMU_OK;
}

/* Brings the copy up to date; what changes in it is kept for the state before (NULL: there is
 * none). */
static enum emu_status update_copy(struct history *h, struct history_state *before)
{
    for (uint32_t i = 0; i < h->tiles; i++) {
        struct tile *t = tile_at(h, i);

        for (uint32_t p = 0; p < h->pages; p++) {
            const uint8_t *now = t->mem + (size_t)p * PAGE;

            if (!has_changed(h, i, p))
                continue;
            if (before && memcmp(copy_of(h, i, p), now, page_bytes(h, p)) != 0)
                TRY(keep(h, before, i, p));
            memcpy(copy_of(h, i, p), now, page_bytes(h, p));
            note_same(h, i, p);
            if (!before)
                h->copy_bytes += PAGE;
        }
    }
    return EMU_OK;
}

/* Writes a page of the copy into the memory of its tile. */
static void write_back(struct history *h, uint32_t tile, uint32_t page)
{
    struct tile *t = tile_at(h, tile);
    uint32_t bytes = page_bytes(h, page);

    memcpy(t->mem + (size_t)page * PAGE, copy_of(h, tile, page), bytes);
    tile_code_written(t, page * PAGE, bytes);
    has_changed(h, tile, page);
    note_same(h, tile, page);
}

/* Memory is what the copy says again. */
static void undo_changes(struct history *h)
{
    for (uint32_t i = 0; i < h->tiles; i++) {
        for (uint32_t p = 0; p < h->pages; p++) {
            if (has_changed(h, i, p))
                write_back(h, i, p);
        }
    }
}

static void forget_pages(struct history *h, struct history_state *s)
{
    for (size_t i = 0; i < s->pages; i++)
        ss_free(s->page[i].bytes);
    ss_free(s->page);
    h->bytes -= s->pages * (PAGE + sizeof(*s->page));
    s->page = NULL;
    s->pages = s->page_cap = 0;
}

static void write_pages(struct history *h, struct history_state *s)
{
    for (size_t i = 0; i < s->pages; i++) {
        const struct kept_page *k = &s->page[i];

        memcpy(copy_of(h, k->tile, k->page), k->bytes, page_bytes(h, k->page));
        write_back(h, k->tile, k->page);
    }
    forget_pages(h, s);
}

/* ---- states ---- */

static void forget_state(struct history *h, struct history_state *s)
{
    forget_pages(h, s);
    h->bytes -= s->packed_bytes;
    ss_free(s->packed);
    *s = (struct history_state){ .packed = NULL };
}

static enum emu_status pack(struct history *h, struct history_state *s)
{
    size_t room, bytes;

    h->plain.bytes = h->plain.at = 0;
    pod_save(h->run->pod, &h->plain);
    for (uint32_t i = 0; i < h->run->chips; i++) {
        size_t supersteps = record_count(h->run->chip[i].record);

        byte_put(&h->plain, &supersteps, sizeof(supersteps));
        if (h->run->chip[i].host)
            host_save(h->run->chip[i].host, &h->plain);
    }
    room = ZSTD_compressBound(h->plain.bytes);
    s->packed = emu_alloc(room + 1, 1);
    if (h->plain.failed || !s->packed)
        return FAIL(NO_MEMORY, "a state of the machine");
    bytes = ZSTD_compress(s->packed, room, h->plain.data, h->plain.bytes, LEVEL);
    if (ZSTD_isError(bytes))
        return FAIL(NO_MEMORY, "a state of the machine: %s", ZSTD_getErrorName(bytes));
    s->plain_bytes = h->plain.bytes;
    s->packed_bytes = bytes;
    h->bytes += bytes;
    s->packed = emu_realloc(s->packed, bytes, 1);
    return EMU_OK;
}

static enum emu_status unpack(struct history *h, const struct history_state *s)
{
    h->plain.bytes = h->plain.at = 0; /* it has room for any state that was packed */
    EMU_ASSERT(ZSTD_decompress(h->plain.data, h->plain.cap, s->packed, s->packed_bytes) ==
               s->plain_bytes);
    h->plain.bytes = s->plain_bytes;
    TRY(pod_restore(h->run->pod, &h->plain));
    for (uint32_t i = 0; i < h->run->chips; i++) {
        size_t supersteps;

        byte_take(&h->plain, &supersteps, sizeof(supersteps));
        record_truncate(h->run->chip[i].record, supersteps);
        if (h->run->chip[i].host)
            TRY(host_restore(h->run->chip[i].host, &h->plain));
    }
    return EMU_OK;
}

/* Joins the pages of b to those of a, the state before: where both have one, a's is the older. Both
 * are in order. */
static enum emu_status join_pages(struct history *h, struct history_state *a,
                                  struct history_state *b)
{
    struct kept_page *all = emu_alloc(a->pages + b->pages + 1, sizeof(*all));
    size_t i = 0, j = 0, n = 0;

    if (!all)
        return FAIL(NO_MEMORY, "pages of a state");
    while (i < a->pages || j < b->pages) {
        const struct kept_page *x = i < a->pages ? &a->page[i] : NULL;
        const struct kept_page *y = j < b->pages ? &b->page[j] : NULL;
        int order = !y                   ? -1
                    : !x                 ? 1
                    : x->tile != y->tile ? (x->tile < y->tile ? -1 : 1)
                    : x->page != y->page ? (x->page < y->page ? -1 : 1)
                                         : 0;

        all[n++] = order <= 0 ? *x : *y;
        if (!order) {
            ss_free(y->bytes);
            h->bytes -= PAGE + sizeof(*y);
        }
        i += order <= 0;
        j += order >= 0;
    }
    ss_free(a->page);
    ss_free(b->page);
    a->page = all;
    a->pages = a->page_cap = n;
    b->page = NULL;
    b->pages = b->page_cap = 0;
    return EMU_OK;
}

/* Drops the state whose neighbours lie closest. */
static enum emu_status drop_one(struct history *h)
{
    size_t at = 1;

    for (size_t i = 2; i + 1 < h->count; i++) {
        if (h->state[i + 1].cycle - h->state[i - 1].cycle <
            h->state[at + 1].cycle - h->state[at - 1].cycle)
            at = i;
    }
    TRY(join_pages(h, &h->state[at - 1], &h->state[at]));
    forget_state(h, &h->state[at]);
    memmove(&h->state[at], &h->state[at + 1], (h->count - at - 1) * sizeof(h->state[0]));
    h->state[--h->count] = (struct history_state){ .packed = NULL };
    return EMU_OK;
}

enum emu_status history_take(struct history *h, uint64_t cycle)
{
    struct history_state s = { .cycle = cycle, .runs = h->run->runs, .stop = h->run->stop };

    EMU_ASSERT(!h->count || cycle > h->state[h->count - 1].cycle);
    TRY(update_copy(h, h->count ? &h->state[h->count - 1] : NULL));
    h->state[h->count++] = s;
    TRY(pack(h, &h->state[h->count - 1]));
    while (h->count > 2 && (h->bytes > h->limit || h->count > STATES_MAX))
        TRY(drop_one(h));
    return EMU_OK;
}

enum emu_status history_restore(struct history *h, size_t i)
{
    EMU_ASSERT(i < h->count);
    undo_changes(h);
    while (h->count > i + 1) {
        forget_state(h, &h->state[--h->count]);
        write_pages(h, &h->state[h->count - 1]);
    }
    h->run->runs = h->state[i].runs;
    h->run->stop = h->state[i].stop;
    return unpack(h, &h->state[i]);
}

/* ---- all ---- */

static enum emu_status can_go_back(const struct run *r)
{
    if (!ss_run_has_values(r))
        return FAIL(USAGE, "the timing engine has no values to look at");
    if (r->options.check)
        return FAIL(USAGE, "what checking mode has seen cannot be taken back");
    for (uint32_t i = 0; i < r->chips; i++) {
        if (r->chip[i].host && !host_can_save(r->chip[i].host))
            return FAIL(USAGE, "a stream of the program is not in memory: it cannot go back");
    }
    return EMU_OK;
}

static enum emu_status begin(struct history *h)
{
    const struct arch *a = ss_image_arch(h->run->im);

    h->tiles = a->tiles * h->run->chips;
    h->pages = (a->mem_bytes + PAGE - 1) / PAGE;
    h->copy_room = (size_t)h->tiles * h->pages * PAGE;
    h->copy = emu_reserve(h->copy_room);
    h->note = emu_alloc((size_t)h->tiles * h->pages, 1);
    if (!h->copy || !h->note)
        return FAIL(NO_MEMORY, "a copy of the memory of %u tiles", h->tiles);
    h->run->stop = pod_run_all(h->run->pod, 0);
    return history_take(h, 0);
}

enum emu_status history_new(struct run *r, size_t bytes, struct history **out)
{
    struct history *h;
    enum emu_status s;

    *out = NULL;
    TRY(can_go_back(r));
    h = emu_alloc(1, sizeof(*h));
    if (!h)
        return FAIL(NO_MEMORY, "the history of a run");
    h->run = r;
    h->limit = bytes;
    s = begin(h);
    if (s == EMU_OK)
        *out = h;
    else
        history_free(h);
    return s;
}

void history_free(struct history *h)
{
    if (!h)
        return;
    for (size_t i = 0; i < h->count; i++)
        forget_state(h, &h->state[i]);
    byte_store_free(&h->plain);
    ss_free(h->note);
    if (h->copy)
        emu_unreserve(h->copy, h->copy_room);
    ss_free(h);
}

size_t history_count(const struct history *h)
{
    return h->count;
}

uint64_t history_cycle(const struct history *h, size_t i)
{
    EMU_ASSERT(i < h->count);
    return h->state[i].cycle;
}

size_t history_find(const struct history *h, uint64_t cycle)
{
    size_t i = h->count - 1;

    while (i && h->state[i].cycle > cycle)
        i--;
    return i;
}

size_t history_bytes(const struct history *h)
{
    return h->bytes;
}

size_t history_copy_bytes(const struct history *h)
{
    return h->copy_bytes;
}
