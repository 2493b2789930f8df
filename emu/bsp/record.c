/* record.c - the cost of supersteps, deduplicated (see record.h). */
#include "emu/bsp/record.h"
#include "emu/bsp/machine_state.h"

#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/hash.h"

/* One superstep: distinct costs, and which of them each of its tiles had. */
struct record_entry {
    struct record_step step;
    struct tile_step *cost; /* owned [costs] */
    uint32_t costs;
    uint32_t first_tile; /* when the tiles are consecutive, tile[] is NULL */
    uint32_t *tile;      /* owned or NULL, ascending */
    uint16_t *index;     /* owned [step.tiles] into cost; NULL when there is but one */
};

/* What was exchanged, and its key. */
struct exchange_entry {
    struct hash128 key;
    struct exchange_pair *pair; /* owned, like the following; or NULL, and a list */
    void *list;
    uint32_t *messages; /* [2][tiles]: in, out */
    size_t pairs, list_bytes;
    uint64_t words;
};

struct record {
    uint32_t tiles;
    struct record_options options;
    uint64_t left_out;
    struct exchange_entry *exchange; /* owned; id - 1 */
    size_t exchanges, exchange_cap;
    uint32_t *known;            /* owned; ids of exchanges, by their keys */
    size_t knowns;              /* a power of two */
    struct record_entry *entry; /* owned */
    size_t entries, cap, bytes;
    uint32_t *bucket;       /* scratch: cost number + 1 */
    uint32_t buckets;       /* power of two */
    struct tile_step *cost; /* scratch [tiles] */
    uint16_t *index;        /* scratch [tiles] */
};

enum emu_status record_new(uint32_t tiles, const struct record_options *o, struct record **out)
{
    struct record *r = emu_alloc(1, sizeof(*r));

    *out = NULL;
    if (!r)
        return FAIL(NO_MEMORY, "a record of supersteps");
    EMU_ASSERT(tiles <= UINT16_MAX + 1u);
    r->tiles = tiles;
    if (o)
        r->options = *o;
    for (r->buckets = 64; r->buckets < 2 * tiles; r->buckets *= 2)
        ;
    r->bucket = emu_alloc(r->buckets, sizeof(*r->bucket));
    r->cost = emu_alloc(tiles, sizeof(*r->cost));
    r->index = emu_alloc(tiles, sizeof(*r->index));
    if (!r->bucket || !r->cost || !r->index) {
        record_free(r);
        return FAIL(NO_MEMORY, "a record of supersteps of %u tiles", tiles);
    }
    *out = r;
    return EMU_OK;
}

static void entry_free(struct record_entry *e)
{
    ss_free(e->cost);
    ss_free(e->tile);
    ss_free(e->index);
}

static void exchange_entry_free(struct exchange_entry *e)
{
    ss_free(e->pair);
    ss_free(e->list);
    ss_free(e->messages);
}

void record_free(struct record *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->entries; i++)
        entry_free(&r->entry[i]);
    for (size_t i = 0; i < r->exchanges; i++)
        exchange_entry_free(&r->exchange[i]);
    ss_free(r->exchange);
    ss_free(r->known);
    ss_free(r->entry);
    ss_free(r->bucket);
    ss_free(r->cost);
    ss_free(r->index);
    ss_free(r);
}

/* Number of a cost among those seen in this superstep; adds it when new. */
static uint32_t intern(struct record *r, uint32_t *costs, const struct tile_step *s)
{
    uint32_t h = (uint32_t)hash64(s, sizeof(*s)) & (r->buckets - 1);

    for (; r->bucket[h]; h = (h + 1) & (r->buckets - 1)) {
        if (!memcmp(&r->cost[r->bucket[h] - 1], s, sizeof(*s)))
            return r->bucket[h] - 1;
    }
    r->cost[*costs] = *s;
    r->bucket[h] = ++*costs;
    return *costs - 1;
}

static void *copy_of(struct record *r, const void *data, size_t count, size_t size)
{
    void *p = emu_alloc(count, size);

    if (p) {
        memcpy(p, data, count * size);
        r->bytes += count * size;
    }
    return p;
}

enum emu_status record_add(struct record *r, const struct record_step *s, const uint32_t *tile,
                           const struct tile_step *step)
{
    struct record_entry e = { .step = *s };
    int consecutive = s->tiles && tile[s->tiles - 1] - tile[0] == s->tiles - 1;

    EMU_ASSERT(s->tiles <= r->tiles);
    if (r->options.supersteps && r->entries >= r->options.supersteps) {
        r->left_out++;
        return EMU_OK;
    }
    TRY(emu_grow((void **)&r->entry, r->entries, &r->cap, sizeof(*r->entry)));
    memset(r->bucket, 0, r->buckets * sizeof(*r->bucket));
    for (uint32_t i = 0; i < s->tiles; i++)
        r->index[i] = (uint16_t)intern(r, &e.costs, &step[i]);
    e.first_tile = s->tiles ? tile[0] : 0;
    e.cost = copy_of(r, r->cost, e.costs, sizeof(*r->cost));
    if (e.costs > 1)
        e.index = copy_of(r, r->index, s->tiles, sizeof(*r->index));
    if (!consecutive)
        e.tile = copy_of(r, tile, s->tiles, sizeof(*tile));
    if (!e.cost || (e.costs > 1 && !e.index) || (!consecutive && !e.tile)) {
        entry_free(&e);
        return FAIL(NO_MEMORY, "superstep %zu of the record", r->entries);
    }
    r->bytes += sizeof(e);
    r->entry[r->entries++] = e;
    return EMU_OK;
}

size_t record_count(const struct record *r)
{
    return r->entries;
}

const struct record_step *record_at(const struct record *r, size_t i)
{
    EMU_ASSERT(i < r->entries);
    return &r->entry[i].step;
}

static uint32_t entry_tile(const struct record_entry *e, uint32_t k)
{
    return e->tile ? e->tile[k] : e->first_tile + k;
}

static const struct tile_step *entry_cost(const struct record_entry *e, uint32_t k)
{
    return &e->cost[e->index ? e->index[k] : 0];
}

/* The place of a tile among those of e; e->step.tiles: it took no part. */
static uint32_t find_tile(const struct record_entry *e, uint32_t tile)
{
    uint32_t low = 0, high = e->step.tiles;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;

        if (entry_tile(e, mid) < tile)
            low = mid + 1;
        else
            high = mid;
    }
    return low < e->step.tiles && entry_tile(e, low) == tile ? low : e->step.tiles;
}

int record_has_tile(const struct record *r, size_t i, uint32_t tile)
{
    EMU_ASSERT(i < r->entries);
    return find_tile(&r->entry[i], tile) < r->entry[i].step.tiles;
}

struct tile_step record_tile(const struct record *r, size_t i, uint32_t tile)
{
    uint32_t k = find_tile(&r->entry[i], tile), same;

    if (k == r->entry[i].step.tiles)
        return (struct tile_step){ 0 };
    return record_tile_at(r, i, k, &same);
}

struct tile_step record_tile_at(const struct record *r, size_t i, uint32_t k, uint32_t *tile)
{
    const struct record_entry *e = &r->entry[i];

    EMU_ASSERT(i < r->entries && k < e->step.tiles);
    *tile = entry_tile(e, k);
    return *entry_cost(e, k);
}

void record_truncate(struct record *r, size_t n)
{
    EMU_ASSERT(n <= r->entries);
    while (r->entries > n) {
        struct record_entry *e = &r->entry[--r->entries];

        r->bytes -= sizeof(*e) + e->costs * sizeof(*e->cost);
        if (e->index)
            r->bytes -= e->step.tiles * sizeof(*e->index);
        if (e->tile)
            r->bytes -= e->step.tiles * sizeof(*e->tile);
        entry_free(e);
    }
}

size_t record_bytes(const struct record *r)
{
    return r->bytes + r->cap * sizeof(*r->entry);
}

uint32_t record_stage(const struct record *r)
{
    return r->options.stage;
}

uint64_t record_left_out(const struct record *r)
{
    return r->left_out;
}

/* ---- exchanges ---- */

int record_wants_exchanges(const struct record *r)
{
    return r->options.exchanges && (!r->options.supersteps || r->entries < r->options.supersteps);
}

/* Where the id of an exchange stands, or has its place. */
static uint32_t *find_known(const struct record *r, struct hash128 key)
{
    size_t h = key.lo & (r->knowns - 1);

    while (r->known[h] && !hash128_equal(r->exchange[r->known[h] - 1].key, key))
        h = (h + 1) & (r->knowns - 1);
    return &r->known[h];
}

static enum emu_status grow_known(struct record *r)
{
    size_t n = r->knowns ? 2 * r->knowns : 1024;
    uint32_t *known = emu_alloc(n, sizeof(*known));

    if (!known)
        return FAIL(NO_MEMORY, "exchanges of the record");
    ss_free(r->known);
    r->known = known;
    r->knowns = n;
    for (size_t i = 0; i < r->exchanges; i++)
        *find_known(r, r->exchange[i].key) = (uint32_t)i + 1;
    return EMU_OK;
}

static enum emu_status keep_exchange(struct record *r, const struct exchange_phase *p)
{
    struct exchange_entry e = { .key = p->traffic, .pairs = p->pairs, .list_bytes = p->list_bytes };

    TRY(emu_grow((void **)&r->exchange, r->exchanges, &r->exchange_cap, sizeof(*r->exchange)));
    if (p->list)
        e.list = copy_of(r, p->list, p->list_bytes, 1);
    else
        e.pair = copy_of(r, p->pair, p->pairs, sizeof(*p->pair));
    e.messages = emu_alloc(2 * (size_t)r->tiles, sizeof(*e.messages));
    if (!(p->list ? e.list : (void *)e.pair) || !e.messages) {
        exchange_entry_free(&e);
        return FAIL(NO_MEMORY, "an exchange of %zu pairs", p->pairs);
    }
    memcpy(e.messages, p->messages_in, r->tiles * sizeof(*e.messages));
    memcpy(e.messages + r->tiles, p->messages_out, r->tiles * sizeof(*e.messages));
    r->bytes += 2 * (size_t)r->tiles * sizeof(*e.messages);
    for (uint32_t i = 0; i < r->tiles; i++)
        e.words += p->words_in[i];
    r->exchange[r->exchanges++] = e;
    return EMU_OK;
}

enum emu_status record_add_exchange(struct record *r, const struct exchange_phase *p, uint32_t *id)
{
    uint32_t *known;

    *id = 0;
    if (!p->pairs)
        return EMU_OK;
    if (2 * (r->exchanges + 1) > r->knowns)
        TRY(grow_known(r));
    known = find_known(r, p->traffic);
    if (!*known) {
        TRY(keep_exchange(r, p));
        *known = (uint32_t)r->exchanges;
    }
    *id = *known;
    return EMU_OK;
}

size_t record_exchange_count(const struct record *r)
{
    return r->exchanges;
}

struct record_exchange record_exchange_at(const struct record *r, uint32_t id)
{
    const struct exchange_entry *e = &r->exchange[id - 1];

    EMU_ASSERT(id && id <= r->exchanges);
    return (struct record_exchange){ .pairs = e->pairs,
                                     .pair = e->pair,
                                     .list = e->list,
                                     .list_bytes = e->list_bytes,
                                     .words = e->words,
                                     .messages_in = e->messages,
                                     .messages_out = e->messages + r->tiles };
}
