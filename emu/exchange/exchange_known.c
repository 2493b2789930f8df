/* exchange_known.c - exchanges of which all figures are known before they run (exchange_part.h).
 *
 * A tile that comes to the code of such a part goes on after it at once, and notes the part. When
 * the phase is complete, the parts of its tiles are its outcome, if they are all the parts of one
 * exchange and nobody else has sent or listened. Otherwise the code is executed into the logs, as
 * it would have been before, and the phase is resolved.
 */
#include "emu/exchange/exchange_known.h"

#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/exchange/exchange_private.h"

enum emu_status exchange_add_parts(struct exchange *x, uint32_t tile,
                                   const struct exchange_part *part, size_t n)
{
    struct exchange_log *log = exchange_log_of(x, tile);
    uint32_t most = x->part_numbers, *tiles;

    EMU_ASSERT(!log->parts);
    if (!x->options.figures || (x->options.pairs && !x->traffics) || x->options.check)
        return EMU_OK;
    for (size_t i = 0; i < n; i++)
        most = part[i].exchange >= most ? part[i].exchange + 1 : most;
    tiles = emu_realloc(x->part_tiles, (size_t)most + 1, sizeof(*tiles));
    if (!tiles)
        return FAIL(NO_MEMORY, "%u exchanges", most);
    for (uint32_t k = x->part_numbers; k <= most; k++)
        tiles[k] = 0;
    x->part_tiles = tiles;
    x->part_numbers = most;
    for (size_t i = 0; i < n; i++)
        tiles[part[i].exchange]++;
    log->part = part;
    log->parts = n;
    return EMU_OK;
}

int exchange_has_pairs(const struct exchange *x)
{
    return x->options.pairs;
}

enum emu_status exchange_set_traffic(struct exchange *x, const struct exchange_traffic *t, size_t n)
{
    size_t messages = 2 * (size_t)x->tiles;

    EMU_ASSERT(!x->traffic);
    x->traffic = emu_alloc(n, sizeof(*x->traffic));
    x->traffic_messages = emu_alloc(n, messages * sizeof(*x->traffic_messages));
    if (!x->traffic || !x->traffic_messages)
        return FAIL(NO_MEMORY, "who sends to whom in %zu exchanges", n);
    for (size_t i = 0; i < n; i++) {
        uint32_t *own = x->traffic_messages + messages * i;

        memcpy(own, t[i].messages, messages * sizeof(*own));
        x->traffic[i] = t[i];
        x->traffic[i].messages = own;
    }
    x->traffics = n;
    return EMU_OK;
}

static int by_exchange(const void *a, const void *b)
{
    const struct exchange_traffic *x = a, *y = b;

    return x->exchange < y->exchange ? -1 : x->exchange > y->exchange;
}

static const struct exchange_traffic *find_traffic(const struct exchange *x, uint32_t exchange)
{
    const struct exchange_traffic key = { .exchange = exchange };

    return x->traffics ? bsearch(&key, x->traffic, x->traffics, sizeof(key), by_exchange) : NULL;
}

/* ---- a tile ---- */

static const struct exchange_part *find_part(struct exchange_log *log, uint32_t addr)
{
    size_t low = 0, high = log->parts;

    if (log->next_part < high && log->part[log->next_part].addr == addr)
        return &log->part[log->next_part++];
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (log->part[middle].addr < addr)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == log->parts || log->part[low].addr != addr)
        return NULL;
    log->next_part = low + 1;
    return &log->part[low];
}

uint32_t exchange_skip_part(struct exchange_log *log, struct tile *t, uint64_t until)
{
    const struct exchange_part *p;

    if (!log->parts || !log->running || log->open || t->cycle != log->release || until < t->cycle)
        return 0;
    p = find_part(log, t->pc[LANE_SUPER]);
    if (!p || until - t->cycle < p->events)
        return 0;
    log->known = p;
    log->open = 1;
    t->cycle += p->events;
    t->pc[LANE_SUPER] += p->bytes;
    return p->instructions;
}

void exchange_prefetch_part(struct exchange *x, uint32_t tile)
{
    const struct exchange_log *log = exchange_log_of(x, tile);

    if (log->next_part < log->parts)
        __builtin_prefetch(&log->part[log->next_part]);
}

uint32_t exchange_next_code(struct exchange *x, uint32_t tile, const struct tile *t)
{
    const struct exchange_log *log = exchange_log_of(x, tile);
    const struct exchange_part *next = log->part + log->next_part;
    uint32_t pc = t->pc[LANE_SUPER];

    return log->next_part < log->parts && next->addr == pc ? pc + next->bytes : pc;
}

/* Executes what was skipped. */
static enum fault execute_part(struct exchange_log *log, struct tile *t)
{
    size_t parts = log->parts;
    uint32_t pc = t->pc[LANE_SUPER];
    uint64_t cycle = t->cycle;
    int running = log->running, open = log->open;

    t->pc[LANE_SUPER] = log->known->addr;
    t->cycle = log->release;
    log->running = 1;
    log->parts = 0;
    log->known = NULL;
    exchange_run(&log->port, t, UINT64_MAX);
    if (t->fault.kind)
        return t->fault.kind;
    log->parts = parts;
    log->running = running;
    log->open = open;
    t->pc[LANE_SUPER] = pc;
    t->cycle = cycle;
    return FAULT_NONE;
}

/* ---- a phase ---- */

/* The number of the exchange that the phase consists of; 0: it does not consist of one of which
 * enough is known. */
static uint32_t exchange_of(const struct exchange *x, struct tile *const *tile)
{
    uint32_t exchange = 0, parts = 0;

    for (uint32_t d = 0; d < x->tiles; d++) {
        const struct exchange_log *log = &x->log[d];

        if (!tile[d])
            continue;
        if (!log->known && (log->sends || log->muxes || log->pics))
            return 0;
        if (!log->known)
            continue;
        if (exchange && log->known->exchange != exchange)
            return 0;
        exchange = log->known->exchange;
        parts++;
    }
    if (parts != x->part_tiles[exchange] || (x->options.pairs && !find_traffic(x, exchange)))
        return 0;
    return exchange;
}

static void set_traffic(struct exchange *x, uint32_t exchange)
{
    const struct exchange_traffic *t = find_traffic(x, exchange);
    struct exchange_phase *p = &x->known_phase;

    p->pairs = t->pairs;
    p->messages_in = t->messages;
    p->messages_out = t->messages + x->tiles;
    p->traffic = t->key;
    p->list = t->list;
    p->list_bytes = t->list_bytes;
}

static void set_phase(struct exchange *x, struct tile *const *tile, uint32_t exchange)
{
    static const struct exchange_part none = { .exchange = 0 };
    struct exchange_figures *f = &x->figures;

    for (uint32_t d = 0; d < x->tiles; d++) {
        const struct exchange_part *p = tile[d] && x->log[d].known ? x->log[d].known : &none;

        f->end_event[d] = p->end_event;
        f->words_in[d] = p->words_in;
        f->words_out[d] = p->words_out;
    }
    x->known_phase = (struct exchange_phase){ .end_event = f->end_event,
                                              .words_in = f->words_in,
                                              .words_out = f->words_out };
    if (x->options.pairs)
        set_traffic(x, exchange);
}

const struct exchange_phase *exchange_known_phase(struct exchange *x, struct tile *const *tile,
                                                  enum fault *wrong)
{
    uint32_t exchange;

    *wrong = FAULT_NONE;
    if (!x->part_tiles)
        return NULL;
    exchange = exchange_of(x, tile);
    if (exchange) {
        set_phase(x, tile, exchange);
        x->counts.known++;
        return &x->known_phase;
    }
    for (uint32_t d = 0; d < x->tiles && *wrong == FAULT_NONE; d++) {
        if (tile[d] && x->log[d].known)
            *wrong = execute_part(&x->log[d], tile[d]);
    }
    return NULL;
}
