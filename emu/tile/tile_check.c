/* tile_check.c - shadow state of the checking mode and its list of reports (see tile_check.h).
 *
 * Per byte of tile memory: one bit "written", one mask of lanes that read it and one of lanes that
 * wrote it in the current run. The masks are cleared at the end of a run, in the lines that were
 * touched. Per vertex: sorted intervals of memory that its workers read and write.
 *
 * Accesses are aligned, so the bytes of one lie in one line, in one word of bits, and in words of
 * eight masks.
 */
#include "emu/tile/tile_check.h"

#include <stdlib.h>

#include "emu/base/alloc.h"
#include "emu/tile/tile_range.h"

enum {
    VECTOR_BYTES = 8,
    LINE_BITS = 8, /* masks are cleared by lines of 256 bytes */
    MASKS = 8,     /* masks of lanes in a word */
    NEAR = 2       /* intervals that a lane keeps */
};

struct check_interval {
    uint32_t begin, end;
};

/* Intervals [first, first + count), disjoint and ascending, of reads and of writes. */
struct check_vertex {
    uint32_t site;
    struct {
        uint32_t first, count;
    } use[2];
};

/* All vertices of a tile, sites ascending; the first one is that of site 0. */
struct check_vertices {
    struct check_vertex *at; /* owned, like the intervals */
    size_t count, cap;
    struct check_interval *interval;
    size_t intervals, interval_cap;
    const struct check_vertex *now, *of[TILE_LANES]; /* of the supervisor; of workers; NULL: none */
    /* What of[] reads, and writes: intervals that its accesses met last. Empty ones hold none. */
    struct check_interval near[TILE_LANES][2][NEAR];
};

/* An access before a RECV that may wait for words of other chips. */
struct early_access {
    uint32_t addr, bytes, pc, lane;
    uint64_t cycle;
};

struct tile_check {
    struct tile_observer observer; /* without functions: there is none */
    uint64_t *written; /* owned: bit per byte; NULL, like the next three: only the observer looks */
    uint64_t *owned;   /* owned: bit per byte, what belongs to something; NULL: all does */
    uint8_t *readers;  /* owned, reserved: lane mask per byte of all lines, and a word more */
    uint8_t *writers;  /* the same, behind it */
    uint64_t *touched; /* owned: bit per line with a mask that is not 0 */
    struct tile_shadow shadow;
    struct check_vertices vertices;
    struct early_access *early; /* owned: since the release of an outer sync */
    size_t earlies, early_cap;
    int is_outer; /* they are remembered */
    int running;
    uint32_t stack_low[TILE_LANES], stack_high[TILE_LANES];
    struct tile_check_report report[TILE_CHECK_MAX];
    size_t count;
    uint64_t dropped;
};

static const char *const check_names[] = {
#define CHECK(name, text) #name,
#include "emu/tile/tile_check.def"
#undef CHECK
};

static const char *const check_texts[] = {
#define CHECK(name, text) text,
#include "emu/tile/tile_check.def"
#undef CHECK
};

const char *tile_check_name(enum tile_check_kind k)
{
    return (unsigned)k < TILE_CHECK_KINDS ? check_names[k] : "?";
}

const char *tile_check_text(enum tile_check_kind k)
{
    return (unsigned)k < TILE_CHECK_KINDS ? check_texts[k] : "?";
}

static enum emu_status begin(struct tile *t)
{
    if (!t->check)
        t->check = emu_alloc(1, sizeof(*t->check));
    return t->check ? EMU_OK : FAIL(NO_MEMORY, "checking mode of tile %u", t->id);
}

static size_t touched_words(const struct tile *t)
{
    return tile_pages(t->mem_bytes, LINE_BITS) / 64 + 1;
}

static size_t mask_bytes(const struct tile *t)
{
    return ((size_t)tile_pages(t->mem_bytes, LINE_BITS) << LINE_BITS) + MASKS;
}

enum emu_status tile_check_new(struct tile *t)
{
    struct tile_check *c;

    EMU_ASSERT(t->check == NULL);
    TRY(begin(t));
    c = t->check;
    c->written = emu_alloc(t->mem_bytes / 64 + 1, sizeof(*c->written));
    c->readers = emu_reserve(2 * mask_bytes(t));
    c->writers = c->readers ? c->readers + mask_bytes(t) : NULL;
    c->touched = emu_alloc(touched_words(t), sizeof(*c->touched));
    if (c->written && c->readers && c->touched)
        return EMU_OK;
    tile_check_free(t);
    return FAIL(NO_MEMORY, "shadow memory of tile %u, %u bytes", t->id, t->mem_bytes);
}

void tile_check_free(struct tile *t)
{
    struct tile_check *c = t->check;

    if (!c)
        return;
    ss_free(c->written);
    ss_free(c->owned);
    emu_unreserve(c->readers, 2 * mask_bytes(t));
    ss_free(c->touched);
    ss_free(c->vertices.at);
    ss_free(c->vertices.interval);
    ss_free(c->early);
    ss_free(c);
    t->check = NULL;
}

enum emu_status tile_observe(struct tile *t, const struct tile_observer *o)
{
    const struct tile_observer nobody = { .ctx = NULL };

    if (!o && !t->check)
        return EMU_OK;
    TRY(begin(t));
    t->check->observer = o ? *o : nobody;
    if (!o && !t->check->written)
        tile_check_free(t);
    return EMU_OK;
}

void tile_check_stack(struct tile *t, unsigned lane, uint32_t low, uint32_t high)
{
    EMU_ASSERT(t->check && lane < TILE_LANES && low <= high);
    t->check->stack_low[lane] = low;
    t->check->stack_high[lane] = high;
}

static void set_bits(uint64_t *bits, uint32_t off, uint32_t bytes)
{
    for (uint32_t i = off; i < off + bytes;) {
        uint32_t bit = i % 64, n = 64 - bit < off + bytes - i ? 64 - bit : off + bytes - i;
        uint64_t mask = n == 64 ? UINT64_MAX : (((uint64_t)1 << n) - 1) << bit;

        bits[i / 64] |= mask;
        i += n;
    }
}

enum emu_status tile_check_own(struct tile *t, uint32_t low, uint32_t bytes)
{
    struct tile_check *c = t->check;

    EMU_ASSERT(c && tile_has(t, low - t->mem_base, bytes));
    if (!c->owned)
        c->owned = emu_alloc(t->mem_bytes / 64 + 1, sizeof(*c->owned));
    if (!c->owned)
        return FAIL(NO_MEMORY, "shadow memory of tile %u", t->id);
    set_bits(c->owned, low - t->mem_base, bytes);
    return EMU_OK;
}

/* ---- vertices ---- */

static int by_begin(const void *a, const void *b)
{
    const struct check_interval *x = a, *y = b;

    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Appends what is read, or what is written; neighbours become one. */
static enum emu_status add_intervals(struct check_vertices *v, struct check_vertex *to, int writes,
                                     const struct tile_check_use *use, size_t uses)
{
    struct check_interval *all;
    size_t n = 0, first = v->intervals;

    for (size_t k = 0; k < uses; k++) {
        if (!use[k].bytes || !(writes ? use[k].writes : use[k].reads))
            continue;
        TRY(emu_grow((void **)&v->interval, v->intervals, &v->interval_cap, sizeof(*v->interval)));
        v->interval[v->intervals++] =
            (struct check_interval){ use[k].addr, use[k].addr + use[k].bytes };
    }
    all = v->interval + first;
    if (v->intervals > first)
        qsort(all, v->intervals - first, sizeof(*all), by_begin);
    for (size_t k = 0; k < v->intervals - first; k++) {
        if (n && all[k].begin <= all[n - 1].end)
            all[n - 1].end = all[k].end > all[n - 1].end ? all[k].end : all[n - 1].end;
        else
            all[n++] = all[k];
    }
    v->intervals = first + n;
    to->use[writes].first = (uint32_t)first;
    to->use[writes].count = (uint32_t)n;
    return EMU_OK;
}

enum emu_status tile_check_vertex(struct tile *t, uint32_t site, const struct tile_check_use *use,
                                  size_t uses)
{
    struct check_vertices *v = &t->check->vertices;
    struct check_vertex x = { .site = site };

    EMU_ASSERT(v->count ? site > v->at[v->count - 1].site : !site);
    for (int writes = 0; writes < 2; writes++)
        TRY(add_intervals(v, &x, writes, use, uses));
    TRY(emu_grow((void **)&v->at, v->count, &v->cap, sizeof(*v->at)));
    v->at[v->count++] = x;
    return EMU_OK;
}

static const struct check_vertex *vertex_at(const struct check_vertices *v, uint32_t site)
{
    size_t low = 1, high = v->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (v->at[middle].site < site)
            low = middle + 1;
        else
            high = middle;
    }
    return low < v->count && v->at[low].site == site ? &v->at[low] : NULL;
}

/* The first interval of a vertex that has one of some bytes; NULL: none has. */
static const struct check_interval *interval_of(const struct check_vertices *v,
                                                const struct check_vertex *x, int writes,
                                                uint32_t addr, uint32_t bytes)
{
    const struct check_interval *at = v->interval + x->use[writes].first;
    size_t low = 0, high = x->use[writes].count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (at[middle].end <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    return low < x->use[writes].count && at[low].begin < addr + bytes ? &at[low] : NULL;
}

/* Whether a vertex reads a byte, or one beside it in its vector: kernels compute with all lanes of
 * what they load, and drop those behind the end. */
static bool is_read(const struct check_vertices *v, const struct check_vertex *x, uint32_t addr)
{
    uint32_t vector = addr / VECTOR_BYTES * VECTOR_BYTES;

    return interval_of(v, x, 0, vector, VECTOR_BYTES) ||
           interval_of(v, v->at, 0, vector, VECTOR_BYTES);
}

/* foreign() by the intervals of the vertex and of those that all have; the one that was met last
 * comes to be the nearest. */
static uint32_t look_up_foreign(struct check_vertices *v, unsigned lane, uint32_t addr,
                                uint32_t bytes, int writes)
{
    const struct check_vertex *x = v->of[lane];
    struct check_interval *near = v->near[lane][writes];
    uint32_t mask = 0;

    for (uint32_t k = 0; k < bytes;) {
        const struct check_interval *at = interval_of(v, x, writes, addr + k, 1);

        if (!at)
            at = interval_of(v, v->at, writes, addr + k, 1);
        if (at) {
            memmove(near + 1, near, (NEAR - 1) * sizeof(*near));
            near[0] = *at;
            k = at->end - addr;
        } else {
            mask |= (uint32_t)(writes || !is_read(v, x, addr + k)) << k;
            k++;
        }
    }
    return mask;
}

/* Bit n: byte n is none that the vertex of a lane reads, or writes. */
static uint32_t foreign(struct tile_check *c, unsigned lane, uint32_t addr, uint32_t bytes,
                        int writes)
{
    struct check_vertices *v = &c->vertices;
    const struct check_interval *near = v->near[lane][writes];

    if (!v->of[lane])
        return 0;
    for (unsigned k = 0; k < NEAR; k++)
        if (addr >= near[k].begin && addr + bytes <= near[k].end)
            return 0;
    return look_up_foreign(v, lane, addr, bytes, writes);
}

uint32_t tile_check_site_of(const struct tile *t, unsigned lane)
{
    const struct check_vertex *x = t->check->vertices.of[lane];

    return x ? x->site : 0;
}

/* Launches in code that was called belong to the vertex of the call. */
void tile_check_site(struct tile *t, uint32_t pc)
{
    struct check_vertices *v = &t->check->vertices;
    const struct check_vertex *x = vertex_at(v, pc);

    v->now = x ? x : v->now;
}

/* ---- reports ---- */

size_t tile_check_count(const struct tile *t)
{
    return t->check ? t->check->count : 0;
}

const struct tile_check_report *tile_check_report(const struct tile *t, size_t i)
{
    EMU_ASSERT(i < tile_check_count(t));
    return &t->check->report[i];
}

uint64_t tile_check_dropped(const struct tile *t)
{
    return t->check ? t->check->dropped : 0;
}

/* Adds r, or counts it where its (kind, pc) is known. */
static void add_report_at(struct tile *t, struct tile_check_report r, uint32_t pc, uint64_t cycle)
{
    struct tile_check *c = t->check;

    r.pc = pc;
    r.cycle = cycle;
    r.count = 1;
    for (size_t i = 0; i < c->count; i++)
        if (c->report[i].kind == r.kind && c->report[i].pc == r.pc) {
            c->report[i].count++;
            return;
        }
    if (c->count < TILE_CHECK_MAX)
        c->report[c->count++] = r;
    else
        c->dropped++;
}

static void add_report(struct tile *t, struct tile_check_report r)
{
    add_report_at(t, r, t->pc[r.lane], t->cycle);
}

static void report_access(struct tile *t, enum tile_check_kind kind, unsigned lane, unsigned other,
                          uint32_t addr, uint32_t bytes)
{
    add_report(t, (struct tile_check_report){
                      .kind = kind,
                      .lane = (uint8_t)lane,
                      .other = (uint8_t)other,
                      .addr = addr,
                      .bytes = bytes,
                      .site = tile_check_site_of(t, lane),
                  });
}

/* Reports a race with the lowest of the lanes in others, workers before the supervisor. */
static void report_race(struct tile *t, unsigned lane, unsigned others, uint32_t addr,
                        uint32_t bytes)
{
    unsigned other = (unsigned)__builtin_ctz(others);
    int super = lane == LANE_SUPER || other == LANE_SUPER;

    report_access(t, super ? TILE_CHECK_RACE_SUPER : TILE_CHECK_RACE, lane, other, addr, bytes);
}

/* Adds the lane to the masks of an access in a run; returns the other lanes whose earlier accesses
 * collide with it. */
static unsigned note_access(struct tile *t, unsigned lane, uint32_t off, uint32_t bytes,
                            int is_store)
{
    struct tile_check *c = t->check;
    uint32_t line = off >> LINE_BITS;
    uint64_t others = 0;

    c->touched[line / 64] |= (uint64_t)1 << line % 64;
    for (uint32_t i = 0; i < bytes; i += MASKS) {
        uint64_t used = bytes - i < MASKS ? ((uint64_t)1 << 8 * (bytes - i)) - 1 : UINT64_MAX;
        uint64_t readers, writers, mine = UINT64_MAX / 0xff << lane & used;

        memcpy(&readers, c->readers + off + i, sizeof(readers));
        memcpy(&writers, c->writers + off + i, sizeof(writers));
        others |= (is_store ? writers | readers : writers) & used;
        mine |= is_store ? writers : readers;
        memcpy((is_store ? c->writers : c->readers) + off + i, &mine, sizeof(mine));
    }
    others |= others >> 32;
    others |= others >> 16;
    others |= others >> 8;
    return (unsigned)others & 0xff & ~(1u << lane);
}

/* Bit n: the bit of byte n of an access is not set. */
static uint32_t unset_bits(const uint64_t *bits, uint32_t off, uint32_t bytes)
{
    return (uint32_t)(~bits[off / 64] >> off % 64) & ((1u << bytes) - 1);
}

/* Bit n: nothing has written byte n. */
static uint32_t unwritten(const struct tile_check *c, uint32_t off, uint32_t bytes)
{
    return unset_bits(c->written, off, bytes);
}

/* exec_check.c waits for the use of what was loaded; without it the load counts as one. */
static void note_load(struct tile *t, unsigned lane, uint32_t addr, uint32_t bytes)
{
    struct tile_shadow *s = &t->check->shadow;
    uint32_t mask = unwritten(t->check, addr - t->mem_base, bytes);
    uint32_t other = foreign(t->check, lane, addr, bytes, 0) & ~mask;

    if (s->mode == SHADOW_COLLECT && s->loads < EMU_COUNT_OF(s->load))
        s->load[s->loads++] = (struct tile_shadow_access){
            .addr = addr, .bytes = bytes, .mask = mask | other, .foreign = other
        };
    else if (mask)
        report_access(t, TILE_CHECK_UNWRITTEN, lane, TILE_CHECK_NOBODY, addr, bytes);
}

/* ---- words of other chips ---- */

void tile_check_outer(struct tile *t)
{
    t->check->is_outer = 1;
    t->check->earlies = 0;
}

void tile_check_recv(struct tile *t)
{
    t->check->is_outer = 0;
}

/* Where the host has no memory for the list the rest goes unseen. */
static void note_early(struct tile *t, unsigned lane, uint32_t addr, uint32_t bytes)
{
    struct tile_check *c = t->check;

    if (emu_grow((void **)&c->early, c->earlies, &c->early_cap, sizeof(*c->early)) == EMU_OK)
        c->early[c->earlies++] = (struct early_access){
            .addr = addr, .bytes = bytes, .pc = t->pc[lane], .lane = lane, .cycle = t->cycle
        };
}

static void report_early(struct tile *t, const struct tile_arrival *a)
{
    struct tile_check *c = t->check;

    for (size_t i = 0; i < c->earlies; i++) {
        const struct early_access *e = &c->early[i];

        if (e->addr >= a->addr + a->bytes || a->addr >= e->addr + e->bytes)
            continue;
        add_report_at(t,
                      (struct tile_check_report){ .kind = TILE_CHECK_EARLY,
                                                  .lane = (uint8_t)e->lane,
                                                  .other = TILE_CHECK_NOBODY,
                                                  .addr = e->addr,
                                                  .bytes = e->bytes },
                      e->pc, e->cycle);
    }
}

void tile_check_load(struct tile *t, unsigned lane, uint32_t addr, uint32_t bytes)
{
    struct tile_check *c = t->check;
    uint32_t off = addr - t->mem_base;
    unsigned others;

    if (c->shadow.mode == SHADOW_MUTE)
        return;

    if (c->observer.access)
        c->observer.access(c->observer.ctx, t, lane, addr, bytes, 0);
    if (!c->written)
        return;
    note_load(t, lane, addr, bytes);
    if (c->is_outer)
        note_early(t, lane, addr, bytes);
    if (!c->running)
        return;
    others = note_access(t, lane, off, bytes, 0);
    if (others)
        report_race(t, lane, others, addr, bytes);
}

static int in_stack(const struct tile_check *c, unsigned owner, uint32_t addr, uint32_t bytes)
{
    return addr < c->stack_high[owner] && addr + bytes > c->stack_low[owner];
}

/* Owner of the range whose end the store crosses, or TILE_CHECK_NOBODY. */
static unsigned stack_crossed(const struct tile *t, unsigned lane, uint32_t addr, uint32_t bytes)
{
    const struct tile_check *c = t->check;

    if (in_stack(c, TILE_CHECK_GUARD, addr, bytes))
        return TILE_CHECK_GUARD;
    if (lane == LANE_SUPER)
        return addr >= tile_m(t, lane, 11) && addr < c->stack_low[lane] ? lane : TILE_CHECK_NOBODY;
    for (unsigned w = 0; w < TILE_WORKERS; w++)
        if (w != lane && in_stack(c, w, addr, bytes))
            return w;
    return TILE_CHECK_NOBODY;
}

/* Bit n: byte n belongs to nothing that the program writes. */
static uint32_t nobodys(const struct tile *t, uint32_t addr, uint32_t bytes)
{
    const struct tile_check *c = t->check;

    return c->owned ? unset_bits(c->owned, addr - t->mem_base, bytes) : 0;
}

/* Whether a store changes bytes that are not for it: of a vertex that is known, what is none of its
 * fields, else what belongs to nothing. */
static bool leaves_owned(const struct tile *t, unsigned lane, uint32_t addr, uint32_t bytes)
{
    struct tile_check *c = t->check;
    uint32_t mask =
        c->vertices.of[lane] ? foreign(c, lane, addr, bytes, 1) : nobodys(t, addr, bytes);

    for (uint32_t k = 0; k < bytes; k++)
        if ((mask >> k & 1) &&
            (c->shadow.mode != SHADOW_COLLECT || !tile_check_put_back(t, lane, k)))
            return true;
    return false;
}

void tile_check_storing(struct tile *t, unsigned lane, uint32_t addr, uint32_t bytes)
{
    struct tile_shadow *s = &t->check->shadow;
    uint32_t off = addr - t->mem_base;

    if (s->mode != SHADOW_COLLECT)
        return;
    s->stores = 1;
    s->store = (struct tile_shadow_access){ .addr = addr, .bytes = bytes };
    s->store.mask = unwritten(t->check, off, bytes);
    s->store.foreign = foreign(t->check, lane, addr, bytes, 0) & ~s->store.mask;
    memcpy(s->store.before, t->mem + off, bytes);
}

void tile_check_store(struct tile *t, unsigned lane, uint32_t addr, uint32_t bytes)
{
    const struct tile_observer *o = &t->check->observer;
    unsigned others, owner;

    if (t->check->shadow.mode == SHADOW_MUTE)
        return;

    if (o->access)
        o->access(o->ctx, t, lane, addr, bytes, 1);
    if (!t->check->written)
        return;
    if (t->check->is_outer)
        note_early(t, lane, addr, bytes);
    if (leaves_owned(t, lane, addr, bytes))
        report_access(t, TILE_CHECK_OUTSIDE, lane, TILE_CHECK_NOBODY, addr, bytes);
    owner = stack_crossed(t, lane, addr, bytes);
    if (owner != TILE_CHECK_NOBODY)
        report_access(t, TILE_CHECK_STACK, lane, owner, addr, bytes);
    if (!t->check->running)
        return;
    others = note_access(t, lane, addr - t->mem_base, bytes, 1);
    if (others)
        report_race(t, lane, others, addr, bytes);
}

void tile_check_conflict(struct tile *t, unsigned lane, uint32_t addr1, uint32_t addr2)
{
    if (!t->check->written)
        return;
    add_report(t, (struct tile_check_report){
                      .kind = TILE_CHECK_CONFLICT,
                      .lane = (uint8_t)lane,
                      .other = TILE_CHECK_NOBODY,
                      .addr = addr1,
                      .addr2 = addr2,
                  });
}

void tile_check_written(struct tile *t, uint32_t off, uint32_t bytes)
{
    if (t->check->written)
        set_bits(t->check->written, off, bytes);
}

struct tile_shadow *tile_check_shadow(struct tile *t)
{
    return t->check && t->check->written ? &t->check->shadow : NULL;
}

void tile_check_used(struct tile *t, unsigned lane, const struct tile_shadow_origin *o)
{
    add_report_at(t,
                  (struct tile_check_report){ .kind = o->kind,
                                              .lane = (uint8_t)lane,
                                              .other = TILE_CHECK_NOBODY,
                                              .addr = o->addr,
                                              .bytes = o->bytes,
                                              .site = o->site },
                  o->pc, o->cycle);
}

/* Outside a run nobody notes who reads. */
bool tile_check_put_back(const struct tile *t, unsigned lane, unsigned byte)
{
    const struct tile_check *c = t->check;
    const struct tile_shadow_access *s = &c->shadow.store;
    uint32_t off = s->addr - t->mem_base + byte;

    return t->mem[off] == s->before[byte] && (!c->running || c->readers[off] >> lane & 1);
}

void tile_check_unwrite(struct tile *t, uint32_t addr)
{
    uint32_t off = addr - t->mem_base;

    t->check->written[off / 64] &= ~((uint64_t)1 << off % 64);
}

void tile_check_launch(struct tile *t, unsigned worker)
{
    struct check_vertices *v = &t->check->vertices;

    t->check->running = 1;
    if (v->of[worker] == v->now)
        return;
    v->of[worker] = v->now;
    memset(v->near[worker], 0, sizeof(v->near[worker]));
}

void tile_check_idle(struct tile *t)
{
    struct tile_check *c = t->check;

    c->running = 0;
    if (!c->written)
        return;
    for (size_t w = 0; w < touched_words(t); w++)
        for (; c->touched[w]; c->touched[w] &= c->touched[w] - 1) {
            size_t off = (64 * w + (unsigned)__builtin_ctzll(c->touched[w])) << LINE_BITS;

            memset(c->readers + off, 0, 1u << LINE_BITS);
            memset(c->writers + off, 0, 1u << LINE_BITS);
        }
}

void tile_check_arrived(struct tile *t, const struct tile_arrival *a)
{
    const struct tile_observer *o = &t->check->observer;

    if (o->arrived)
        o->arrived(o->ctx, t, a);
    if (a->is_far && t->check->written)
        report_early(t, a);
}
