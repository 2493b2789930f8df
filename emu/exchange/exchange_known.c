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

/* Whether an address is after the part before the next one, and before that. */
static int is_between_parts(const struct exchange_log *log, uint32_t addr)
{
    size_t next = log->next_part;

    return (next == log->parts || addr < log->part[next].addr) &&
           (!next || addr > log->part[next - 1].addr);
}

static const struct exchange_part *find_part(struct exchange_log *log, uint32_t addr)
{
    size_t low = 0, high = log->parts;

    if (log->next_part < high && log->part[log->next_part].addr == addr)
        return &log->part[log->next_part++];
    if (is_between_parts(log, addr))
        return NULL;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (log->part[middle].addr < addr)
            low = middle + 1;
        else
            high = middle;
    }
    log->next_part = low;
    if (low == log->parts || log->part[low].addr != addr)
        return NULL;
    log->next_part = low + 1;
    return &log->part[low];
}

/* What tiles have for x->first[] that begin with anything else. */
static const struct exchange_part no_part = { .exchange = 0 };

const struct exchange_part *exchange_first_part(const struct exchange *x, uint32_t tile)
{
    return x->first[tile] == &no_part ? NULL : x->first[tile];
}

const struct exchange_part *exchange_take_first(struct exchange *x, uint32_t tile)
{
    const struct exchange_part *p = x->first[tile];

    x->first[tile] = NULL;
    return p;
}

uint32_t exchange_skip_part(struct exchange_log *log, struct tile *t, uint64_t until)
{
    const struct exchange_part *p;

    if (!log->parts || !log->running || log->open || t->cycle != log->release || until < t->cycle)
        return 0;
    p = exchange_take_first(log->fabric, log->tile);
    if (!p)
        p = find_part(log, t->pc[LANE_SUPER]);
    else if (p == &no_part)
        return 0;
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

    if (!x->first[tile] && log->next_part < log->parts)
        __builtin_prefetch(&log->part[log->next_part]);
}

uint32_t exchange_next_code(struct exchange *x, uint32_t tile, const struct tile *t)
{
    const struct exchange_log *log = exchange_log_of(x, tile);
    const struct exchange_part *next =
        log->next_part < log->parts ? &log->part[log->next_part] : NULL;
    uint32_t pc = t->pc[LANE_SUPER];

    if (x->first[tile])
        return pc + x->first[tile]->bytes; /* none of what is no part */
    return next && next->addr == pc ? pc + next->bytes : pc;
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

/* The figures of a tile; p NULL: it has no part. */
static void set_figures(struct exchange_figures *f, uint32_t d, const struct exchange_part *p)
{
    f->end_event[d] = p ? p->end_event : 0;
    f->words_in[d] = p ? p->words_in : 0;
    f->words_out[d] = p ? p->words_out : 0;
}

static void set_phase(struct exchange *x, uint32_t exchange)
{
    const struct exchange_figures *f = &x->figures;

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
        for (uint32_t d = 0; d < x->tiles; d++)
            set_figures(&x->figures, d, tile[d] ? x->log[d].known : NULL);
        set_phase(x, exchange);
        x->counts.known++;
        return &x->known_phase;
    }
    for (uint32_t d = 0; d < x->tiles && *wrong == FAULT_NONE; d++) {
        if (tile[d] && x->log[d].known)
            *wrong = execute_part(&x->log[d], tile[d]);
    }
    return NULL;
}

/* ---- a phase that has just begun ---- */

static void forget_sorted(struct exchange *x)
{
    ss_free(x->sorted);
    ss_free(x->sorted_tile);
    ss_free(x->sorted_first);
    x->sorted = NULL;
    x->sorted_tile = NULL;
    x->sorted_first = NULL;
}

static enum emu_status sort_parts(struct exchange *x)
{
    size_t n = 0;

    x->sorted_first = emu_alloc((size_t)x->part_numbers + 1, sizeof(*x->sorted_first));
    for (uint32_t k = 0; x->sorted_first && k < x->part_numbers; k++) {
        x->sorted_first[k] = n;
        n += x->part_tiles[k];
    }
    x->sorted_tile = emu_alloc_aligned(n, sizeof(*x->sorted_tile), sizeof(*x->sorted_tile));
    x->sorted = emu_alloc_aligned(n, sizeof(*x->sorted), sizeof(*x->sorted));
    if (!x->sorted_first || !x->sorted_tile || !x->sorted) {
        forget_sorted(x);
        return FAIL(NO_MEMORY, "%zu parts of exchanges", n);
    }
    for (uint32_t d = 0; d < x->tiles; d++) {
        for (size_t i = 0; i < x->log[d].parts; i++) {
            size_t to = x->sorted_first[x->log[d].part[i].exchange]++;

            x->sorted_tile[to] = d;
            x->sorted[to] = x->log[d].part[i];
        }
    }
    for (uint32_t k = x->part_numbers; k > 0; k--)
        x->sorted_first[k] = x->sorted_first[k - 1];
    x->sorted_first[0] = 0;
    return EMU_OK;
}

/* The part of the exchange of the phase that a tile has at an address. */
static const struct exchange_part *
next_of_phase(const struct exchange *x, struct exchange_beginning *b, uint32_t tile, uint32_t addr)
{
    size_t first = x->sorted_first[b->exchange], end = x->sorted_first[b->exchange + 1];

    if (b->at > first && x->sorted_tile[b->at - 1] >= tile)
        b->at = first;
    while (b->at < end && x->sorted_tile[b->at] < tile)
        b->at++;
    return b->at < end && x->sorted_tile[b->at] == tile && x->sorted[b->at].addr == addr
               ? &x->sorted[b->at++]
               : NULL;
}

/* With which part a tile begins; NULL: with none of the exchange of the phase. */
static const struct exchange_part *begins_with(struct exchange *x, struct exchange_beginning *b,
                                               struct exchange_log *log, uint32_t addr)
{
    const struct exchange_part *p;

    if (!log->parts || (!x->sorted && sort_parts(x) != EMU_OK))
        return NULL;
    if (!b->exchange) {
        p = find_part(log, addr);
        if (!p)
            return NULL;
        b->exchange = p->exchange;
        b->at = x->sorted_first[p->exchange];
    }
    return next_of_phase(x, b, log->tile, addr);
}

void exchange_beginning_add(struct exchange *x, struct exchange_beginning *b, const struct tile *t,
                            int is_idle)
{
    struct exchange_log *log = (struct exchange_log *)t->exchange;
    const struct exchange_part *p = is_idle ? begins_with(x, b, log, t->pc[LANE_SUPER]) : NULL;

    EMU_ASSERT(log->fabric == x && log->running);
    b->is_mixed |= log->open;
    x->first[log->tile] = p || !is_idle ? p : &no_part;
    if (!p) {
        b->others++;
        return;
    }
    b->events = p->events > b->events ? p->events : b->events;
    b->parts++;
}

int exchange_beginning_is_known(const struct exchange *x, const struct exchange_beginning *b)
{
    return b->exchange && !b->is_mixed && b->parts == x->part_tiles[b->exchange] &&
           (!x->options.pairs || find_traffic(x, b->exchange));
}

const struct exchange_phase *exchange_believe(struct exchange *x,
                                              const struct exchange_beginning *b)
{
    x->counts.known++;
    if (!x->options.pairs)
        return NULL;
    for (uint32_t d = 0; d < x->tiles; d++) {
        const struct exchange_part *p = exchange_first_part(x, d);

        set_figures(&x->figures, d, p && p->exchange == b->exchange ? p : NULL);
    }
    set_phase(x, b->exchange);
    return &x->known_phase;
}
