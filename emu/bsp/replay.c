/* replay.c - measures calls and hands out what they cost (replay.h). */
#include "emu/bsp/replay.h"

#include "emu/base/alloc.h"
#include "emu/bsp/barrel_ahead.h"

enum {
    ALL_WORKERS = (1 << TILE_WORKERS) - 1,
    NO_KEY = UINT32_MAX,
    NO_RETURN = 1 /* no address of an instruction */
};

/* All launches of a call. */
struct replay_work {
    size_t launches;
    struct replay_launch launch[];
};

/* What is known of a key. Pointers are owned, NULL while it is not known; read and written
 * atomically, for tiles on other threads use them. */
struct replay_known {
    _Alignas(64) struct replay_work *work;
    struct replay_call *call[TILE_WORKERS]; /* by the slot of the first cycle */
};

struct replay_site {
    uint32_t addr, key; /* key: index in replay.known */
};

enum { SITES_MIN = 1 << 10, SITES_MAX = (1 << 18) - 8 }; /* at a time */

struct replay_sites {
    struct replay_sites *next;
    size_t used, cap;
    struct replay_site site[];
};

/* What a call that is known needs comes first. */
struct replay_tile {
    _Alignas(64) struct replay *all; /* borrowed */
    struct replay_site *site;        /* borrowed from the sites of all; ascending */
    uint32_t sites, next; /* next: after the one found last, where control code mostly goes on */

    uint32_t key;                   /* of the running call, or NO_KEY */
    uint32_t taken;                 /* of its launches */
    const struct replay_work *work; /* of that key; NULL: the call is not known yet */

    int measuring; /* the running call */
    uint32_t back; /* address to which the call that is measured whole returns, or NO_RETURN */
    uint64_t reused, skipped, measured;
    uint32_t rare_from, rare_to; /* all rare branches have addresses from .. to - 1 */

    struct replay_launch *launch; /* owned: measured so far */
    size_t launches, cap;
    uint64_t first[TILE_WORKERS]; /* of the last launch: first issues, and the counters then */
    uint64_t issued[TILE_WORKERS], instructions[TILE_WORKERS];

    uint64_t at_cycle; /* in which the call that is measured whole began, and the counters then */
    uint64_t at_issued[TILE_LANES], at_instructions[TILE_LANES];
};

struct replay {
    struct replay_tile *tile; /* owned [tiles] */
    uint32_t tiles;
    size_t sites;
    struct replay_sites *first_sites; /* owned list: those of all tiles */

    uint64_t *key;              /* owned, like the following; each key once */
    struct replay_known *known; /* by key */
    size_t keys, key_cap;
    uint32_t *slot; /* hash table of indices + 1; 0: free */
    size_t slots;   /* a power of two, at least twice the keys */
};

/* ---- construction ---- */

enum emu_status replay_new(uint32_t tiles, struct replay **out)
{
    struct replay *r = emu_alloc(1, sizeof(*r));

    *out = r;
    if (!r)
        return FAIL(NO_MEMORY, "a timing engine");
    r->tiles = tiles;
    r->tile = emu_alloc_aligned(tiles, sizeof(*r->tile), _Alignof(struct replay_tile));
    if (r->tile)
        return EMU_OK;
    replay_free(r);
    *out = NULL;
    return FAIL(NO_MEMORY, "the calls of %u tiles", tiles);
}

void replay_free(struct replay *r)
{
    if (!r)
        return;
    for (uint32_t i = 0; r->tile && i < r->tiles; i++)
        ss_free(r->tile[i].launch);
    for (struct replay_sites *s = r->first_sites, *next; s; s = next) {
        next = s->next;
        ss_free(s);
    }
    for (size_t i = 0; i < r->keys; i++) {
        ss_free(r->known[i].work);
        for (unsigned slot = 0; slot < TILE_WORKERS; slot++)
            ss_free(r->known[i].call[slot]);
    }
    ss_free(r->tile);
    ss_free(r->key);
    ss_free(r->known);
    ss_free(r->slot);
    ss_free(r);
}

/* The slot of a key, or the free one in which it belongs. Keys are hashes already. */
static uint32_t *key_slot(const struct replay *r, uint64_t key)
{
    size_t i = key & (r->slots - 1);

    while (r->slot[i] && r->key[r->slot[i] - 1] != key)
        i = (i + 1) & (r->slots - 1);
    return &r->slot[i];
}

/* Room for n more keys. */
static enum emu_status reserve_keys(struct replay *r, size_t n)
{
    size_t cap = r->key_cap ? r->key_cap : 256, slots;
    uint64_t *key;
    struct replay_known *known;
    uint32_t *slot;

    if (r->keys + n <= r->key_cap)
        return EMU_OK;
    while (cap < r->keys + n)
        cap *= 2;
    slots = 2 * cap;
    slot = emu_alloc(slots, sizeof(*slot));
    key = emu_realloc(r->key, cap, sizeof(*key));
    r->key = key ? key : r->key;
    known = emu_alloc_aligned(cap, sizeof(*known), _Alignof(struct replay_known));
    if (!slot || !key || !known || cap >= NO_KEY) {
        ss_free(slot);
        ss_free(known);
        return FAIL(NO_MEMORY, "%zu timing keys", cap);
    }
    if (r->keys)
        memcpy(known, r->known, r->keys * sizeof(*known));
    ss_free(r->known);
    r->known = known;
    ss_free(r->slot);
    r->slot = slot;
    r->slots = slots;
    r->key_cap = cap;
    for (size_t i = 0; i < r->keys; i++)
        *key_slot(r, r->key[i]) = (uint32_t)i + 1;
    return EMU_OK;
}

static uint32_t key_index(struct replay *r, uint64_t key)
{
    uint32_t *slot = key_slot(r, key);

    if (!*slot) {
        r->key[r->keys] = key;
        r->known[r->keys] = (struct replay_known){ .work = NULL };
        *slot = (uint32_t)++r->keys;
    }
    return *slot - 1;
}

/* Room for n sites. All tiles' lie together: they are visited by turns. */
static enum emu_status take_sites(struct replay *r, size_t n, struct replay_site **out)
{
    struct replay_sites *s = r->first_sites;

    if (!s || s->cap - s->used < n) {
        size_t cap = s ? 4 * s->cap : SITES_MIN;

        cap = cap < SITES_MAX ? cap : SITES_MAX;
        cap = cap < n ? n : cap;
        s = emu_alloc_aligned(1, sizeof(*s) + cap * sizeof(s->site[0]),
                              _Alignof(struct replay_sites));
        if (!s)
            return FAIL(NO_MEMORY, "%zu calls", n);
        *s = (struct replay_sites){ .next = r->first_sites, .cap = cap };
        r->first_sites = s;
    }
    *out = s->site + s->used;
    s->used += n;
    return EMU_OK;
}

static void note_rare(struct replay_tile *t, uint32_t addr)
{
    t->rare_from = addr < t->rare_from ? addr : t->rare_from;
    t->rare_to = addr + 1;
}

enum emu_status replay_add(struct replay *r, uint32_t tile, const struct replay_key *key, size_t n)
{
    struct replay_tile *t = &r->tile[tile];

    EMU_ASSERT(tile < r->tiles && !t->all);
    TRY(reserve_keys(r, n));
    TRY(take_sites(r, n, &t->site));
    t->rare_from = UINT32_MAX;
    for (size_t i = 0; i < n; i++) {
        t->site[i] = (struct replay_site){ key[i].addr, key_index(r, key[i].key) };
        if (key[i].key == REPLAY_RARE)
            note_rare(t, key[i].addr);
    }
    t->sites = (uint32_t)n;
    t->key = NO_KEY;
    t->back = NO_RETURN;
    t->all = r;
    r->sites += n;
    return EMU_OK;
}

struct replay_tile *replay_of(struct replay *r, uint32_t tile)
{
    return r->tile[tile].all ? &r->tile[tile] : NULL;
}

struct replay_counts replay_counts(const struct replay *r)
{
    struct replay_counts c = { .sites = r->sites, .keys = r->keys };

    for (uint32_t i = 0; i < r->tiles; i++) {
        c.measured += r->tile[i].measured;
        c.reused += r->tile[i].reused;
        c.skipped += r->tile[i].skipped;
    }
    return c;
}

/* ---- measuring ---- */

/* Notes what the workers of the last launch did; all of them have ended. */
static void close_launch(struct replay_tile *t, const struct barrel *b)
{
    struct replay_launch *l;

    if (!t->launches)
        return;
    l = &t->launch[t->launches - 1];
    for (unsigned n = 0; n < TILE_WORKERS; n++) {
        uint64_t exit = b->freed[n] - TILE_WORKERS;

        l->slots[n] = (uint32_t)((exit - t->first[n]) / TILE_WORKERS);
        l->issued[n] = (uint32_t)(b->issued[n] - t->issued[n]);
        l->instructions[n] = (uint32_t)(b->instructions[n] - t->instructions[n]);
    }
}

/* Begins a launch. Returns 0 when the call cannot be measured. */
static int open_launch(struct replay_tile *t, const struct barrel *b)
{
    void *list = t->launch;

    close_launch(t, b);
    if (emu_grow(&list, t->launches, &t->cap, sizeof(*t->launch)) != EMU_OK)
        return 0;
    t->launch = list;
    t->launches++;
    memcpy(t->first, b->next, sizeof(t->first));
    memcpy(t->issued, b->issued, sizeof(t->issued));
    memcpy(t->instructions, b->instructions, sizeof(t->instructions));
    return 1;
}

/* Makes a measured call known. If another tile was faster, its numbers are the same. */
static void publish(struct replay_tile *t)
{
    size_t bytes = t->launches * sizeof(*t->launch);
    struct replay_work *w = emu_alloc(1, sizeof(*w) + bytes), *none = NULL;

    if (!w)
        return; /* the next tile measures again */
    w->launches = t->launches;
    if (bytes)
        memcpy(w->launch, t->launch, bytes);
    if (!__atomic_compare_exchange_n(&t->all->known[t->key].work, &none, w, 0, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        ss_free(w);
    t->measured++;
}

void replay_end(struct replay_tile *t, const struct barrel *b)
{
    if (t->measuring && !b->running) {
        close_launch(t, b);
        publish(t);
    }
    t->measuring = 0;
    t->key = NO_KEY;
    t->work = NULL;
    t->back = NO_RETURN;
}

/* ---- reusing ---- */

static const struct replay_site *find_site(struct replay_tile *t, uint32_t addr)
{
    uint32_t low = 0, high = t->sites;

    if (t->next < high && t->site[t->next].addr == addr)
        return &t->site[t->next++];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (t->site[middle].addr < addr)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == t->sites || t->site[low].addr != addr)
        return NULL;
    t->next = low + 1;
    return &t->site[low];
}

int replay_enter(struct replay_tile *t, const struct barrel *b, uint32_t pc)
{
    const struct replay_site *s = find_site(t, pc);

    if (!s)
        return 0;
    replay_end(t, b);
    t->key = s->key;
    t->work = __atomic_load_n(&t->all->known[s->key].work, __ATOMIC_ACQUIRE);
    t->taken = 0;
    t->launches = 0;
    t->measuring = !t->work;
    t->reused += t->work != NULL;
    return 1;
}

int replay_is_in_call(const struct replay_tile *t)
{
    return t->key != NO_KEY;
}

int replay_is_rare(struct replay_tile *t, uint32_t pc)
{
    const struct replay_site *s = pc >= t->rare_from && pc < t->rare_to ? find_site(t, pc) : NULL;

    return s && t->all->key[s->key] == REPLAY_RARE;
}

const struct replay_launch *replay_take(struct replay_tile *t, const struct barrel *b,
                                        uint8_t workers)
{
    if (workers == ALL_WORKERS && t->work && t->taken < t->work->launches)
        return &t->work->launch[t->taken++];
    if (t->measuring && !(workers == ALL_WORKERS && open_launch(t, b)))
        t->measuring = 0;
    return NULL;
}

/* ---- calls as a whole ---- */

static struct replay_call **place_of_call(const struct replay_tile *t, uint64_t cycle)
{
    return &t->all->known[t->key].call[cycle % TILE_WORKERS];
}

const struct replay_call *replay_skip(struct replay_tile *t, const struct barrel *b, uint32_t back)
{
    const struct replay_call *c = __atomic_load_n(place_of_call(t, b->cycle), __ATOMIC_ACQUIRE);

    if (c) {
        t->skipped++;
        t->reused += t->measuring; /* another tile has measured it since replay_enter() */
        t->measuring = 0;
        replay_end(t, b);
        return c;
    }
    t->back = back;
    t->at_cycle = b->cycle;
    memcpy(t->at_issued, b->issued, sizeof(t->at_issued));
    memcpy(t->at_instructions, b->instructions, sizeof(t->at_instructions));
    return NULL;
}

int replay_returns(const struct replay_tile *t, uint32_t pc)
{
    return t->back == pc;
}

void replay_return(struct replay_tile *t, const struct barrel *b, int quiet)
{
    struct replay_call *c = quiet ? emu_alloc(1, sizeof(*c)) : NULL, *none = NULL;

    if (!c) { /* then it is executed every time */
        replay_end(t, b);
        return;
    }
    c->cycles = b->cycle - t->at_cycle;
    for (unsigned lane = 0; lane < TILE_LANES; lane++) {
        c->issued[lane] = b->issued[lane] - t->at_issued[lane];
        c->instructions[lane] = b->instructions[lane] - t->at_instructions[lane];
    }
    if (!__atomic_compare_exchange_n(place_of_call(t, t->at_cycle), &none, c, 0, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        ss_free(c);
    replay_end(t, b);
}

/* ---- for who looks ahead ---- */

enum { HOST_LINE = 64 /* bytes */ };

void replay_prefetch(const struct replay *r, uint32_t tile)
{
    __builtin_prefetch(&r->tile[tile]);
    __builtin_prefetch((const char *)&r->tile[tile] + HOST_LINE);
}

void replay_prefetch_site(const struct replay_tile *t)
{
    if (t->next < t->sites)
        __builtin_prefetch(&t->site[t->next]);
}

void replay_prefetch_known(const struct replay_tile *t)
{
    if (t->next < t->sites)
        __builtin_prefetch(&t->all->known[t->site[t->next].key]);
}
