/* schedule_check.c - a second opinion on a schedule, from the instructions alone.
 *
 * The instructions of every tile are executed on paper, which gives lists of what it sends, which
 * tile it listens to and where its pointer goes. Then, for every event at which a tile listens,
 * what its source sends then is looked up and compared with the messages of the problem. This code
 * shares nothing with the search but the geometry of the machine.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "emu/arch/arch_numbers.h"
#include "programs/compiler/base/arena.h"
#include "programs/compiler/schedule/schedule_private.h"

/* Words on the fabric, or a change of the mux or the pointer, from an event on. */
struct sent_run {
    uint32_t event, words, ctl;
    struct symbolic_addr from;
};

struct mux_set {
    uint32_t event, source;
};

struct pointer_set {
    uint32_t event;
    struct symbolic_addr to;
};

/* What the problem wants to be stored. */
struct wanted {
    struct symbolic_addr to, from;
    uint32_t words, tile; /* tile: the sender */
    uint32_t first_word;  /* words of this tile that lie at lower addresses */
};

struct paper_tile {
    VEC(struct sent_run) sent;
    VEC(struct mux_set) mux;
    VEC(struct pointer_set) pointer;
    VEC(struct wanted) wanted;
    uint8_t *stored; /* owned; [words wanted] */
    uint32_t words;
};

struct paper {
    const struct exchange_problem *p;
    struct paper_tile *tile; /* owned; [arch->tiles] */
};

static void paper_free(struct paper *w)
{
    for (uint32_t t = 0; w->tile && t < w->p->arch->tiles; t++) {
        VEC_FREE(&w->tile[t].sent);
        VEC_FREE(&w->tile[t].mux);
        VEC_FREE(&w->tile[t].pointer);
        VEC_FREE(&w->tile[t].wanted);
        ss_free(w->tile[t].stored);
    }
    ss_free(w->tile);
}

/* ---- what is wanted ---- */

static int wanted_order(const void *x, const void *y)
{
    const struct wanted *a = x, *b = y;

    if (a->to.base != b->to.base)
        return a->to.base < b->to.base ? -1 : 1;
    return a->to.bytes < b->to.bytes ? -1 : a->to.bytes > b->to.bytes;
}

static enum emu_status list_wanted(struct paper *w)
{
    const struct exchange_problem *p = w->p;

    for (size_t i = 0; i < p->messages; i++) {
        const struct exchange_message *m = &p->message[i];

        for (uint32_t k = m->first; k < m->first + m->dests; k++) {
            const struct wanted x = {
                .to = p->dest[k].to, .from = m->from, .words = m->words, .tile = m->tile
            };

            TRY(VEC_PUSH(&w->tile[p->dest[k].tile].wanted, x));
        }
    }
    for (uint32_t t = 0; t < p->arch->tiles; t++) {
        struct paper_tile *tile = &w->tile[t];

        if (!tile->wanted.count)
            continue;
        qsort(tile->wanted.at, tile->wanted.count, sizeof(*tile->wanted.at), wanted_order);
        for (size_t i = 0; i < tile->wanted.count; i++) {
            tile->wanted.at[i].first_word = tile->words;
            tile->words += tile->wanted.at[i].words;
        }
        tile->stored = emu_alloc(tile->words, 1);
        if (!tile->stored)
            return FAIL(NO_MEMORY, "the proof of a schedule");
    }
    return EMU_OK;
}

/* ---- execution on paper ---- */

static enum emu_status check_length(const struct exchange_insn *c, uint32_t tile, uint32_t byte)
{
    static const uint32_t most[] = {
        [EXCHANGE_SEND] = 64,        [EXCHANGE_SENDOFF] = 4096, [EXCHANGE_SENDXPIC] = 64,
        [EXCHANGE_SENDPIC] = 64,     [EXCHANGE_SENDPICP] = 64,  [EXCHANGE_DELAY] = 1 << 19,
        [EXCHANGE_DELAYXPIC] = 4096, [EXCHANGE_DELAYPIC] = 128
    };

    if (!c->events || c->events > most[c->op])
        return FAIL(BAD_EXCHANGE, "tile %u, event %u: an instruction of %u events", tile, c->event,
                    c->events);
    if (c->op == EXCHANGE_SENDPICP && byte % 8)
        return FAIL(BAD_EXCHANGE, "tile %u, event %u: sendpicp at byte %u", tile, c->event, byte);
    return EMU_OK;
}

/* An address of the code; bases stand for objects where the schedule says which. */
static struct symbolic_addr addr_of(const struct exchange_schedule *s, struct symbolic_addr a)
{
    return (struct symbolic_addr){ s->object ? s->object[a.base] : a.base, a.bytes };
}

static enum emu_status run_code(struct paper_tile *tile, const struct exchange_schedule *s,
                                const struct tile_schedule *t)
{
    struct packed_reader r = exchange_schedule_read(s, t);
    uint32_t event = 0, byte = 0, ctl = 0;
    int has_stream = 0;
    struct symbolic_addr stream = { .base = 0 };

    for (uint32_t i = 0; i < t->insns; i++) {
        const struct exchange_insn insn = packed_code_next(&r), *c = &insn;
        int waits =
            c->op == EXCHANGE_DELAY || c->op == EXCHANGE_DELAYXPIC || c->op == EXCHANGE_DELAYPIC;
        uint32_t change = waits ? event + c->events - 1 : event;

        TRY(check_length(c, t->tile, byte));
        byte += c->op == EXCHANGE_SENDPICP ? 8 : 4;
        if (c->op == EXCHANGE_SEND || c->op == EXCHANGE_SENDPICP) {
            stream = addr_of(s, c->from);
            has_stream = 1;
        }
        if (c->op == EXCHANGE_SEND || c->op == EXCHANGE_SENDPICP || c->op == EXCHANGE_SENDOFF)
            ctl = c->ctl;
        if (c->op == EXCHANGE_SENDXPIC || c->op == EXCHANGE_SENDPICP || c->op == EXCHANGE_DELAYXPIC)
            TRY(VEC_PUSH(&tile->mux, (struct mux_set){ change, c->source }));
        if (c->op == EXCHANGE_SENDPIC || c->op == EXCHANGE_SENDPICP || c->op == EXCHANGE_DELAYPIC)
            TRY(VEC_PUSH(&tile->pointer, (struct pointer_set){ change, addr_of(s, c->to) }));
        if (!waits && !has_stream)
            return FAIL(BAD_EXCHANGE, "tile %u, event %u: sends from nowhere", t->tile, event);
        if (!waits && ctl)
            TRY(VEC_PUSH(&tile->sent, (struct sent_run){ event, c->events, ctl, stream }));
        if (!waits)
            stream.bytes += 4 * (int64_t)c->events;
        event += c->events;
    }
    if (byte != t->bytes || event != t->end_event)
        return FAIL(BAD_EXCHANGE, "tile %u: code of %u bytes and %u events", t->tile, byte, event);
    return EMU_OK;
}

/* ---- who hears what ---- */

static const struct sent_run *run_at(const struct paper_tile *tile, int64_t event)
{
    size_t low = 0, high = tile->sent.count;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (tile->sent.at[mid].event <= event)
            low = mid + 1;
        else
            high = mid;
    }
    if (!low || event >= (int64_t)tile->sent.at[low - 1].event + tile->sent.at[low - 1].words)
        return NULL;
    return &tile->sent.at[low - 1];
}

static struct wanted *wanted_at(const struct paper_tile *tile, struct symbolic_addr to)
{
    size_t low = 0, high = tile->wanted.count;
    struct wanted *x;

    while (low < high) {
        size_t mid = (low + high) / 2;

        x = &tile->wanted.at[mid];
        if (x->to.base < to.base || (x->to.base == to.base && x->to.bytes <= to.bytes))
            low = mid + 1;
        else
            high = mid;
    }
    if (!low)
        return NULL;
    x = &tile->wanted.at[low - 1];
    return x->to.base == to.base && to.bytes < x->to.bytes + 4 * (int64_t)x->words ? x : NULL;
}

/* One word: `from` of tile `source` stored at `to`. */
static enum emu_status store_word(struct paper_tile *tile, uint32_t t, uint32_t event,
                                  uint32_t source, struct symbolic_addr from,
                                  struct symbolic_addr to)
{
    const struct wanted *x = wanted_at(tile, to);
    int64_t offset = x ? to.bytes - x->to.bytes : 0;
    uint8_t *stored;

    if (!x || x->tile != source || x->from.base != from.base ||
        x->from.bytes + offset != from.bytes)
        return FAIL(
            BAD_EXCHANGE,
            "tile %u, event %u: stores base %u byte %u of tile %u at base %u byte %u, which "
            "no message wants",
            t, event, from.base, from.bytes, source, to.base, to.bytes);
    stored = &tile->stored[x->first_word + (uint32_t)(offset / 4)];
    if (*stored)
        return FAIL(BAD_EXCHANGE, "tile %u, event %u: base %u byte %u a second time", t, event,
                    to.base, to.bytes);
    *stored = 1;
    tile->words--;
    return EMU_OK;
}

/* A word that is stored in an object at an event must not meet one that is sent from it. */
static enum emu_status check_clash(const struct paper_tile *tile, uint32_t t, uint32_t event,
                                   uint32_t base)
{
    const struct sent_run *r = run_at(tile, event);

    if (r && r->from.base == base)
        return FAIL(BAD_EXCHANGE, "tile %u, event %u: sends from base %u and stores into it", t,
                    event, base);
    return EMU_OK;
}

/* Events [from, to) of tile t, during which it listens to one source. */
static enum emu_status listen(struct paper *w, uint32_t t, uint32_t physical, uint32_t from,
                              uint32_t to, struct symbolic_addr *pointer, size_t *next)
{
    const struct arch *a = w->p->arch;
    uint32_t own = arch_tile_physical(a, t), lag = arch_pic_lag(a, own);
    struct paper_tile *tile = &w->tile[t];
    int source = arch_tile_logical(a, physical), delay;
    unsigned direction;

    if (source < 0 || physical == own)
        return FAIL(BAD_EXCHANGE, "tile %u, event %u: listens to %u", t, from, physical);
    delay = arch_exchange_delay(a, physical, own);
    direction = arch_exchange_direction(a, physical, own);
    for (uint32_t e = from; e < to; e++) {
        int64_t sent = (int64_t)e - delay;
        const struct sent_run *r = run_at(&w->tile[source], sent);
        struct symbolic_addr word;

        if (!r || !(r->ctl & direction))
            return FAIL(BAD_EXCHANGE, "tile %u, event %u: tile %d sends nothing this way", t, e,
                        source);
        for (; *next < tile->pointer.count && tile->pointer.at[*next].event <= e + lag; ++*next)
            *pointer = tile->pointer.at[*next].to;
        word = r->from;
        word.bytes += 4 * (sent - r->event);
        TRY(store_word(tile, t, e, (uint32_t)source, word, *pointer));
        if (arch_exchange_clash(a) == ARCH_CLASH_FAULT)
            TRY(check_clash(tile, t, e + lag, pointer->base));
        pointer->bytes += 4;
    }
    return EMU_OK;
}

static enum emu_status prove_tile(struct paper *w, uint32_t t, uint32_t events)
{
    const struct arch *a = w->p->arch;
    struct paper_tile *tile = &w->tile[t];
    struct symbolic_addr pointer = { .base = UINT32_MAX };
    size_t next = 0;

    for (size_t i = 0; i < tile->mux.count; i++) {
        const struct mux_set *m = &tile->mux.at[i];

        if (m->source == a->null_source)
            continue;
        if (i + 1 == tile->mux.count)
            return FAIL(BAD_EXCHANGE, "tile %u still listens at the end", t);
        if (m[1].event + arch_pic_lag(a, arch_tile_physical(a, t)) > events + 1)
            return FAIL(BAD_EXCHANGE, "tile %u listens until event %u of %u", t, m[1].event,
                        events);
        TRY(listen(w, t, m->source, m->event, m[1].event, &pointer, &next));
    }
    if (tile->words)
        return FAIL(BAD_EXCHANGE, "tile %u misses %u words", t, tile->words);
    return EMU_OK;
}

static enum emu_status prove_with(struct paper *w, const struct exchange_schedule *s)
{
    TRY(list_wanted(w));
    for (uint32_t i = 0; i < s->tiles; i++) {
        if (i && s->tile[i].tile <= s->tile[i - 1].tile)
            return FAIL(BAD_EXCHANGE, "tile %u stands after tile %u", s->tile[i].tile,
                        s->tile[i - 1].tile);
        TRY(run_code(&w->tile[s->tile[i].tile], s, &s->tile[i]));
    }
    for (uint32_t t = 0; t < w->p->arch->tiles; t++)
        TRY(prove_tile(w, t, s->events));
    return EMU_OK;
}

enum emu_status schedule_prove(const struct exchange_problem *p, const struct exchange_schedule *s)
{
    struct paper w = { .p = p, .tile = emu_alloc(p->arch->tiles, sizeof(*w.tile)) };
    enum emu_status st = w.tile ? prove_with(&w, s) : FAIL(NO_MEMORY, "the proof of a schedule");

    paper_free(&w);
    return st;
}
