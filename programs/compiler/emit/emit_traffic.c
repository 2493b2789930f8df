/* emit_traffic.c - the instructions of an exchange read once more: what each tile sends when, to
 * whom it listens when and where its pointer goes; then, for each tile that listens, the runs of
 * words that it hears, added up by sender.
 */
#include "programs/compiler/emit/emit_traffic.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "emu/base/packed_numbers.h"
#include "emu/exchange/exchange_traffic.h"
#include "programs/compiler/base/arena.h"
#include "programs/compiler/base/parallel.h"

/* Words that a tile sends one after the other, from `event` on. */
struct sent_words {
    uint32_t event, words, addr, ctl;
};

/* The mux, or the pointer, has a value from an event on. */
struct port_set {
    uint32_t event, value;
};

/* Where the lists of a tile begin. */
struct heard_tile {
    uint32_t tile;
    size_t sent, mux, pointer;
};

/* Room of one thread, and what it knows of the exchange. */
struct traffic_scratch {
    void *zstd; /* owned, like all that follows */
    VEC(struct sent_words) sent;
    VEC(struct port_set) mux;
    VEC(struct port_set) pointer;
    VEC(struct heard_tile) tile; /* of the schedule, and one more */
    VEC(struct exchange_pair) pair;
    uint32_t *messages; /* [2][tiles]: in, out */
    uint32_t *number;   /* the planes of pairs, then their differences */
    size_t numbers;     /* room */
};

struct traffic {
    const struct emit_input *in;
    uint32_t base; /* exchanges of other chips */
    const struct arch *arch;
    struct arch_exchange_end *end;   /* owned; by tile */
    struct traffic_scratch *scratch; /* owned; by thread */
    struct image_traffic *step;      /* owned, like their lists; by step */
};

/* ---- what the tiles do ---- */

static uint32_t address(const struct traffic *x, const struct exchange_schedule *s,
                        struct symbolic_addr a)
{
    const struct object *o = x->in->lowered->object.at;

    return o[s->object ? s->object[a.base] : a.base].addr + (uint32_t)a.bytes;
}

/* Words that follow each other in time and in memory are one run. first: of the tile. */
static enum emu_status add_sent(struct traffic_scratch *r, size_t first, struct sent_words w)
{
    struct sent_words *last = r->sent.count > first ? &r->sent.at[r->sent.count - 1] : NULL;

    if (last && last->ctl == w.ctl && last->event + last->words == w.event &&
        last->addr + 4 * last->words == w.addr) {
        last->words += w.words;
        return EMU_OK;
    }
    return VEC_PUSH(&r->sent, w);
}

static enum emu_status run_tile(const struct traffic *x, const struct exchange_schedule *s,
                                const struct tile_schedule *t, struct traffic_scratch *r)
{
    struct packed_reader code = exchange_schedule_read(s, t);
    size_t first = r->sent.count;
    uint32_t addr = 0, ctl = 0;

    for (uint32_t i = 0; i < t->insns; i++) {
        const struct exchange_insn c = packed_code_next(&code);
        int waits =
            c.op == EXCHANGE_DELAY || c.op == EXCHANGE_DELAYXPIC || c.op == EXCHANGE_DELAYPIC;
        uint32_t change = waits ? c.event + c.events - 1 : c.event;

        if (c.op == EXCHANGE_SEND || c.op == EXCHANGE_SENDPICP)
            addr = exchange_has_from(&c) ? address(x, s, c.from) : 0;
        if (c.op == EXCHANGE_SEND || c.op == EXCHANGE_SENDPICP || c.op == EXCHANGE_SENDOFF)
            ctl = c.ctl;
        if (c.op == EXCHANGE_SENDXPIC || c.op == EXCHANGE_SENDPICP || c.op == EXCHANGE_DELAYXPIC)
            TRY(VEC_PUSH(&r->mux, (struct port_set){ change, c.source }));
        if (exchange_has_to(&c))
            TRY(VEC_PUSH(&r->pointer, (struct port_set){ change, address(x, s, c.to) }));
        if (waits)
            continue;
        if (ctl)
            TRY(add_sent(r, first, (struct sent_words){ c.event, c.events, addr, ctl }));
        addr += 4 * c.events;
    }
    return EMU_OK;
}

static enum emu_status run_tiles(const struct traffic *x, const struct exchange_schedule *s,
                                 struct traffic_scratch *r)
{
    r->sent.count = r->mux.count = r->pointer.count = r->tile.count = 0;
    for (uint32_t i = 0; i <= s->tiles; i++) {
        uint32_t tile = i < s->tiles ? s->tile[i].tile : x->arch->tiles;

        TRY(VEC_PUSH(&r->tile,
                     (struct heard_tile){ tile, r->sent.count, r->mux.count, r->pointer.count }));
        if (i < s->tiles)
            TRY(run_tile(x, s, &s->tile[i], r));
    }
    return EMU_OK;
}

/* ---- what they hear ---- */

/* A tile while it listens. */
struct listener {
    const struct traffic *x;
    struct traffic_scratch *r;
    uint32_t tile;
    int64_t lag;                   /* of its pointer behind its mux */
    size_t next, end;              /* pointer sets that are left */
    uint32_t to;                   /* where the next word goes */
    size_t first;                  /* of its pairs */
    uint32_t after_from, after_to; /* where a word that continues the last message lies, */
    int64_t after_event;           /* and when it comes */
};

/* n words at once: the next message, or the rest of the last one. */
static enum emu_status hear(struct listener *l, uint32_t source, uint32_t from, uint32_t n,
                            int64_t event)
{
    size_t count = l->r->pair.count;
    struct exchange_pair *last = count > l->first ? &l->r->pair.at[count - 1] : NULL;
    int follows = last && last->from == source && l->after_from == from && l->after_to == l->to &&
                  l->after_event == event;

    if (last && last->from == source) {
        last->words += n;
        last->messages += !follows;
    } else {
        TRY(VEC_PUSH(&l->r->pair, (struct exchange_pair){ source, l->tile, n, 1 }));
    }
    l->to += 4 * n;
    l->after_from = from + 4 * n;
    l->after_to = l->to;
    l->after_event = event + n;
    return EMU_OK;
}

/* n words of one run, the first at `event`: the pointer may move between them. */
static enum emu_status hear_run(struct listener *l, uint32_t source, uint32_t from, uint32_t n,
                                int64_t event)
{
    const struct port_set *set = l->r->pointer.at;

    while (n) {
        uint32_t part = n;

        for (; l->next < l->end && set[l->next].event - l->lag <= event; l->next++)
            l->to = set[l->next].value;
        if (l->next < l->end && set[l->next].event - l->lag - event < n)
            part = (uint32_t)(set[l->next].event - l->lag - event);
        TRY(hear(l, source, from, part, event));
        from += 4 * part;
        event += part;
        n -= part;
    }
    return EMU_OK;
}

/* The last run of a tile that begins at or before an event, which there is. */
static size_t find_sent(const struct traffic_scratch *r, const struct heard_tile *t, int64_t event)
{
    size_t low = t->sent, high = t[1].sent;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (r->sent.at[middle].event <= event)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static int by_tile(const void *a, const void *b)
{
    const struct heard_tile *x = a, *y = b;

    return x->tile < y->tile ? -1 : x->tile > y->tile;
}

static const struct heard_tile *find_tile(const struct traffic_scratch *r, uint32_t tile)
{
    const struct heard_tile key = { .tile = tile }, *found;

    found = bsearch(&key, r->tile.at, r->tile.count - 1, sizeof(key), by_tile);
    EMU_ASSERT(found); /* a schedule has whom it listens to */
    return found;
}

/* The tile listens to a source at its events from .. to - 1. */
static enum emu_status listen(struct listener *l, uint32_t physical, int64_t from, int64_t to)
{
    const struct traffic *x = l->x;
    uint32_t source = (uint32_t)arch_tile_logical(x->arch, physical);
    int64_t delay = arch_exchange_delay_between(&x->end[source], &x->end[l->tile]);

    for (size_t i = find_sent(l->r, find_tile(l->r, source), from - delay); from < to; i++) {
        const struct sent_words *s = &l->r->sent.at[i];
        int64_t skip = from - delay - s->event;
        int64_t n = s->words - skip < to - from ? s->words - skip : to - from;

        EMU_ASSERT(skip >= 0 && n > 0); /* the schedule is conflict-free */
        TRY(hear_run(l, source, s->addr + 4 * (uint32_t)skip, (uint32_t)n, from));
        from += n;
    }
    return EMU_OK;
}

static int by_sender(const void *a, const void *b)
{
    const struct exchange_pair *x = a, *y = b;

    return x->from < y->from ? -1 : x->from > y->from;
}

/* Sorts the pairs of a tile and adds up those of one sender. */
static void add_up(struct traffic_scratch *r, size_t first)
{
    size_t n = r->pair.count - first, kept = 0;
    struct exchange_pair *p = n ? r->pair.at + first : NULL;
    int sorted = 1;

    for (size_t i = 1; i < n; i++)
        sorted &= p[i - 1].from < p[i].from;
    if (sorted)
        return;
    qsort(p, n, sizeof(*p), by_sender);
    for (size_t i = 0; i < n; i++) {
        if (kept && p[kept - 1].from == p[i].from) {
            p[kept - 1].words += p[i].words;
            p[kept - 1].messages += p[i].messages;
        } else {
            p[kept++] = p[i];
        }
    }
    r->pair.count = first + kept;
}

static enum emu_status hear_tile(const struct traffic *x, struct traffic_scratch *r,
                                 const struct heard_tile *t)
{
    struct listener l = { .x = x,
                          .r = r,
                          .tile = t->tile,
                          .lag = arch_pic_lag(x->arch, arch_tile_physical(x->arch, t->tile)),
                          .next = t->pointer,
                          .end = t[1].pointer,
                          .first = r->pair.count };
    uint32_t messages = 0;

    for (size_t k = t->mux; k + 1 < t[1].mux; k++) {
        const struct port_set *m = &r->mux.at[k];

        if (m->value != x->arch->null_source && m[1].event > m->event)
            TRY(listen(&l, m->value, m->event, m[1].event));
    }
    add_up(r, l.first);
    for (size_t i = l.first; i < r->pair.count; i++)
        messages += r->pair.at[i].messages;
    r->messages[t->tile] = messages;
    r->messages[x->arch->tiles + t->tile] = (uint32_t)(t[1].sent - t->sent);
    return EMU_OK;
}

/* ---- lists ---- */

static enum emu_status need_numbers(struct traffic_scratch *r, size_t n)
{
    if (n <= r->numbers)
        return EMU_OK;
    ss_free(r->number);
    r->number = emu_alloc(n, sizeof(*r->number));
    r->numbers = r->number ? n : 0;
    return r->number ? EMU_OK : FAIL(NO_MEMORY, "%zu numbers of an exchange", n);
}

/* *out: owned by the caller. difference: may be number. */
static enum emu_status pack(struct traffic_scratch *r, const uint32_t *number, uint32_t *difference,
                            size_t n, const void **out, uint32_t *bytes)
{
    void *packed = emu_alloc(packed_numbers_room(n), 1);
    size_t packed_bytes;

    if (!packed)
        return FAIL(NO_MEMORY, "%zu numbers of an exchange", n);
    packed_numbers_differ(difference, number, n);
    packed_bytes = packed_numbers_pack(r->zstd, difference, n, packed);
    *out = emu_realloc(packed, packed_bytes, 1);
    *out = *out ? *out : packed;
    *bytes = (uint32_t)packed_bytes;
    return EMU_OK;
}

static enum emu_status pack_lists(const struct traffic *x, uint32_t step, struct traffic_scratch *r)
{
    struct image_traffic *t = &x->step[step];
    size_t pairs = r->pair.count, tiles = x->arch->tiles, n = EXCHANGE_PAIR_PLANES * pairs;
    size_t most = n > 2 * tiles ? n : 2 * tiles;

    t->exchange = x->base + step + 1;
    t->pairs = (uint32_t)pairs;
    t->key = exchange_traffic_key(r->pair.at, pairs, r->messages, (uint32_t)tiles);
    TRY(need_numbers(r, 2 * most));
    exchange_pairs_to_planes(r->pair.at, pairs, r->number);
    TRY(pack(r, r->number, r->number + most, n, &t->list, &t->list_bytes));
    return pack(r, r->messages, r->number + most, 2 * tiles, &t->messages, &t->messages_bytes);
}

static enum emu_status read_step(void *ctx, uint32_t step, unsigned thread)
{
    const struct traffic *x = ctx;
    const struct exchange_schedule *s = &x->in->schedule[step];
    struct traffic_scratch *r = &x->scratch[thread];

    if (!s->tiles || x->base + step + 1 >= EXCHANGE_PARTS_MAX)
        return EMU_OK;
    TRY(run_tiles(x, s, r));
    memset(r->messages, 0, 2 * x->arch->tiles * sizeof(*r->messages));
    r->pair.count = 0;
    for (uint32_t i = 0; i < s->tiles; i++)
        TRY(hear_tile(x, r, &r->tile.at[i]));
    return r->pair.count ? pack_lists(x, step, r) : EMU_OK;
}

/* ---- all ---- */

static enum emu_status scratch_init(struct traffic_scratch *r, uint32_t tiles)
{
    r->zstd = ZSTD_createCCtx();
    r->messages = emu_alloc(2 * (size_t)tiles, sizeof(*r->messages));
    return r->zstd && r->messages ? EMU_OK : FAIL(NO_MEMORY, "exchanges of %u tiles", tiles);
}

static void scratch_free(struct traffic_scratch *r)
{
    ZSTD_freeCCtx(r->zstd);
    VEC_FREE(&r->sent);
    VEC_FREE(&r->mux);
    VEC_FREE(&r->pointer);
    VEC_FREE(&r->tile);
    VEC_FREE(&r->pair);
    ss_free(r->messages);
    ss_free(r->number);
}

static enum emu_status read_all(struct traffic *x, unsigned threads, struct image *im)
{
    uint32_t steps = (uint32_t)x->in->lowered->step.count;

    if (!x->end || !x->scratch || !x->step)
        return FAIL(NO_MEMORY, "exchanges of %u steps", steps);
    for (uint32_t t = 0; t < x->arch->tiles; t++)
        x->end[t] = arch_exchange_end_of(x->arch, arch_tile_physical(x->arch, t));
    for (unsigned i = 0; i < threads; i++)
        TRY(scratch_init(&x->scratch[i], x->arch->tiles));
    TRY(parallel_each(steps, threads, read_step, x));
    for (uint32_t i = 0; i < steps; i++) {
        if (x->step[i].pairs)
            TRY(image_add_traffic(im, &x->step[i]));
    }
    return EMU_OK;
}

enum emu_status emit_traffic(const struct emit_input *in, uint32_t base, unsigned threads,
                             struct image *im)
{
    const struct arch *a = ss_image_arch(im);
    size_t steps = in->lowered->step.count;
    unsigned n = parallel_threads(threads);
    struct traffic x = { .in = in,
                         .base = base,
                         .arch = a,
                         .end = emu_alloc(a->tiles, sizeof(*x.end)),
                         .scratch = emu_alloc(n, sizeof(*x.scratch)),
                         .step = emu_alloc(steps + 1, sizeof(*x.step)) };
    enum emu_status s = read_all(&x, n, im);

    for (unsigned i = 0; x.scratch && i < n; i++)
        scratch_free(&x.scratch[i]);
    for (size_t i = 0; x.step && i < steps; i++) {
        ss_free((void *)x.step[i].list);
        ss_free((void *)x.step[i].messages);
    }
    ss_free(x.end);
    ss_free(x.scratch);
    ss_free(x.step);
    return s;
}
