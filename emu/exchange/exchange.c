/* exchange.c - the fabric of a chip: creates it, attaches tiles, begins and ends a phase, and
 * resolves logs.
 */
#include "emu/exchange/exchange_private.h"

#include "emu/base/alloc.h"

enum { CACHE_BYTES = 256 << 20 };

static enum emu_status fill_geometry(struct exchange *x)
{
    const struct arch *a = x->arch;

    x->physical = emu_alloc(x->tiles, sizeof(*x->physical));
    x->lag = emu_alloc(x->tiles, sizeof(*x->lag));
    x->end = emu_alloc(x->tiles, sizeof(*x->end));
    x->logical = emu_alloc(x->physicals, sizeof(*x->logical));
    if (!x->physical || !x->lag || !x->end || !x->logical)
        return FAIL(NO_MEMORY, "exchange geometry of %u tiles", x->tiles);
    for (uint32_t i = 0; i < x->tiles; i++) {
        x->physical[i] = arch_tile_physical(a, i);
        x->lag[i] = (int32_t)arch_pic_lag(a, x->physical[i]);
        x->end[i] = arch_exchange_end_of(a, x->physical[i]);
    }
    for (uint32_t i = 0; i < x->physicals; i++)
        x->logical[i] = arch_tile_logical(a, i);
    return EMU_OK;
}

static enum emu_status fill(struct exchange *x)
{
    x->log = emu_alloc(x->tiles, sizeof(*x->log));
    x->log_key = emu_alloc(x->tiles, sizeof(*x->log_key));
    if (x->options.check) {
        x->unheard = emu_alloc(x->tiles, sizeof(*x->unheard));
        x->clashes.clash = emu_alloc(EXCHANGE_CLASHES_MAX, sizeof(*x->clashes.clash));
    }
    x->first = emu_alloc(x->tiles, sizeof(*x->first));
    if (!x->log || !x->log_key || !x->first ||
        (x->options.check && (!x->unheard || !x->clashes.clash)))
        return FAIL(NO_MEMORY, "exchange logs of %u tiles", x->tiles);
    for (uint32_t i = 0; i < x->tiles; i++) {
        x->log[i].port.issue = exchange_issue;
        x->log[i].port.run = exchange_run;
        x->log[i].port.fetch = exchange_watches_clashes(x) ? exchange_fetch : NULL;
        x->log[i].fabric = x;
        x->log[i].tile = i;
    }
    TRY(fill_geometry(x));
    return exchange_resolvers_new(x);
}

enum emu_status exchange_new(const struct arch *arch, const struct exchange_options *o,
                             struct exchange **out)
{
    struct exchange *x = emu_alloc(1, sizeof(*x));
    enum emu_status s;

    *out = NULL;
    if (!x)
        return FAIL(NO_MEMORY, "an exchange fabric");
    x->arch = arch;
    if (o)
        x->options = *o;
    if (!x->options.cache_bytes)
        x->options.cache_bytes = CACHE_BYTES;
    if (!x->options.threads)
        x->options.threads = 1;
    x->tiles = arch->tiles;
    x->physicals = arch_physical_count(arch);
    x->memory_words = arch->mem_bytes / 4;
    exchange_run_init(&x->run);
    s = fill(x);
    if (s != EMU_OK)
        exchange_free(x);
    else
        *out = x;
    return s;
}

static void free_log(struct exchange *x, uint32_t tile)
{
    struct exchange_log *log = &x->log[tile];

    exchange_take_requests(x, tile);
    ss_free(log->send);
    ss_free(log->mux);
    ss_free(log->pic);
    ss_free(log->fetch);
    ss_free(log->request);
    ss_free(log->transfer);
    ss_free(log->payload);
}

void exchange_free(struct exchange *x)
{
    if (!x)
        return;
    for (uint32_t i = 0; x->log && i < x->tiles; i++)
        free_log(x, i);
    exchange_cache_clear(x);
    exchange_resolvers_free(x);
    ss_free(x->log);
    ss_free(x->log_key);
    ss_free(x->first);
    ss_free(x->unheard);
    ss_free(x->pairs);
    ss_free(x->clashes.clash);
    ss_free(x->physical);
    ss_free(x->lag);
    ss_free(x->end);
    ss_free(x->logical);
    ss_free(x->staging);
    ss_free(x->part_tiles);
    ss_free(x->sorted);
    ss_free(x->sorted_tile);
    ss_free(x->sorted_first);
    ss_free(x->traffic);
    ss_free(x->traffic_messages);
    ss_free(x);
}

struct exchange_log *exchange_log_of(struct exchange *x, uint32_t tile)
{
    EMU_ASSERT(tile < x->tiles);
    return &x->log[tile];
}

void exchange_attach(struct exchange *x, uint32_t tile, struct tile *t)
{
    EMU_ASSERT(t->mem_bytes == x->arch->mem_bytes && t->mem_base == x->arch->mem_base);
    t->exchange = &exchange_log_of(x, tile)->port;
    t->xcsr[XCSR_MUX] = x->arch->null_source;
}

static struct exchange_log *log_of_tile(const struct exchange *x, const struct tile *t)
{
    struct exchange_log *log = (struct exchange_log *)t->exchange;

    EMU_ASSERT(log && log->fabric == x);
    return log;
}

static void forget(struct exchange_log *log)
{
    log->sends = log->muxes = log->pics = log->fetches = 0;
    log->words_out = 0;
    log->known = NULL;
}

/* The mux was put to a source before the phase: the tile listens from event 0 on. */
static enum fault begin_listening(struct exchange *x, struct exchange_log *log, struct tile *t)
{
    struct exchange_fault f = { .other = EXCHANGE_NOBODY, .value = t->xcsr[XCSR_MUX] };
    enum fault wrong;

    f.kind = exchange_source_error(x, log->tile, f.value);
    if (f.kind != EXCHANGE_FAULT_NONE)
        return exchange_raise(log, t, &f);
    wrong = exchange_open(log, t);
    if (wrong != FAULT_NONE)
        return wrong;
    if (exchange_log_mux(log, 0, f.value, t->pc[LANE_SUPER]) == EMU_OK)
        return FAULT_NONE;
    f.kind = EXCHANGE_FAULT_NO_HOST_MEMORY;
    return exchange_raise(log, t, &f);
}

enum fault exchange_end(struct exchange *x, struct tile *t, uint64_t cycle)
{
    struct exchange_log *log = log_of_tile(x, t);
    const struct exchange_fault f = { .kind = EXCHANGE_FAULT_MISSING_RECV,
                                      .event = (uint32_t)(cycle - log->release),
                                      .other = EXCHANGE_NOBODY };

    log->fault.kind = EXCHANGE_FAULT_NONE;
    if (log->header.to.words)
        return exchange_payload_missing(log, t);
    return log->open ? exchange_raise(log, t, &f) : FAULT_NONE;
}

enum fault exchange_begin(struct exchange *x, struct tile *t, uint64_t release)
{
    struct exchange_log *log = log_of_tile(x, t);
    enum fault wrong = exchange_end(x, t, release);

    if (wrong != FAULT_NONE)
        return wrong;
    forget(log);
    log->release = release;
    log->running = 1;
    log->to_chips = 0;
    log->free_event = 0;
    x->first[log->tile] = NULL;
    if (t->xcsr[XCSR_MUX] != x->arch->null_source)
        return begin_listening(x, log, t);
    return FAULT_NONE;
}

enum fault exchange_recv(struct exchange *x, struct tile *t, uint32_t event)
{
    struct exchange_log *log = log_of_tile(x, t);
    uint32_t source;

    if (!log->running)
        return FAULT_NONE;
    if (log->header.to.words)
        return exchange_payload_missing(log, t);
    source = exchange_log_source(log);
    if (source != x->arch->null_source) {
        const struct exchange_fault f = { .kind = EXCHANGE_FAULT_MUX_LEFT_ON,
                                          .event = event,
                                          .other = (uint32_t)x->logical[source],
                                          .value = source };

        return exchange_raise(log, t, &f);
    }
    log->open = log->running = log->to_chips = 0;
    return FAULT_NONE;
}

uint64_t exchange_unheard_words(const struct exchange *x, uint32_t tile)
{
    return x->unheard ? x->unheard[tile] : 0;
}

enum emu_status exchange_count_pairs(struct exchange *x)
{
    if (!x->pairs)
        x->pairs = emu_alloc((size_t)x->tiles * x->tiles, sizeof(*x->pairs));
    return x->pairs ? EMU_OK : FAIL(NO_MEMORY, "who sends to whom of %u tiles", x->tiles);
}

const uint64_t *exchange_pairs(const struct exchange *x)
{
    return x->pairs;
}

struct exchange_counts exchange_counts(const struct exchange *x)
{
    return x->counts;
}

/* Puts the fault found by resolving into the tile and into ss_error(). */
static enum emu_status report(struct exchange *x, struct tile *t, const struct exchange_fault *f)
{
    int first = t->fault.kind == FAULT_NONE;
    char text[320];

    x->fault = *f;
    tile_fault(t, LANE_SUPER, FAULT_EXERR, f->addr, exchange_fault_text(f->kind));
    if (first) {
        t->fault.pc = f->pc;
        t->fault.cycle = f->cycle;
        t->fault.addr2 = f->other_addr;
    }
    exchange_fault_print(f, text, sizeof(text));
    return FAIL(FAULT, "%s", text);
}

/* Holds the word-by-word resolver's outcome against that of the interval resolver (f), or against a
 * phase from the cache. */
static enum emu_status compare(struct exchange *x, struct tile *const *tile,
                               const struct exchange_phase *p, const struct exchange_fault *f)
{
    const struct exchange_notes notes = { x->unheard, &x->clashes };
    struct exchange_fault second;
    const char *differ;

    TRY(exchange_check(x, tile, p, &second, &differ, f->kind ? NULL : &notes));
    EMU_ASSERT(differ == NULL);
    EMU_ASSERT(exchange_fault_equal(f, &second) || (!f->kind && !second.kind));
    return EMU_OK;
}

static enum emu_status resolve_anew(struct exchange *x, struct tile *const *tile,
                                    struct hash128 key, struct exchange_phase **p)
{
    struct exchange_fault f;

    TRY(exchange_resolve_intervals(x, tile, &f));
    if (f.kind != EXCHANGE_FAULT_NONE) {
        if (x->options.check)
            TRY(compare(x, tile, NULL, &f));
        return report(x, tile[f.tile], &f);
    }
    x->counts.resolved++;
    return exchange_cache_add(x, key, p);
}

static enum emu_status make_staging(struct exchange *x, const struct exchange_phase *p)
{
    size_t words = p->first_word[x->tiles];
    uint32_t *grown;

    if (words <= x->staging_words)
        return EMU_OK;
    grown = emu_realloc(x->staging, words, sizeof(*grown));
    if (!grown)
        return FAIL(NO_MEMORY, "%zu words that are exchanged in place", words);
    x->staging = grown;
    x->staging_words = words;
    return EMU_OK;
}

/* The phase is over for its tiles: the incoming pointers stand after the last words. */
static void finish(struct exchange *x, struct tile *const *tile, const struct exchange_phase *p)
{
    for (uint32_t i = 0; i < x->tiles; i++) {
        if (!tile[i])
            continue;
        if (p->words_in[i])
            tile[i]->xcsr[XCSR_DELTA] = (p->pointer[i] - tile[i]->xcsr[XCSR_IN_BASE]) >> 2;
        forget(&x->log[i]);
    }
}

static void count_pairs(struct exchange *x, const struct exchange_phase *p)
{
    for (size_t i = 0; x->pairs && !x->options.figures && i < p->copies; i++) {
        const struct exchange_copy *c = &p->copy[i];

        x->pairs[(size_t)c->from * x->tiles + c->to] += c->words;
    }
}

enum emu_status exchange_resolve(struct exchange *x, struct tile *const *tile,
                                 const struct exchange_phase **out)
{
    struct exchange_phase *p;
    struct hash128 key;
    enum fault wrong;

    x->fault.kind = EXCHANGE_FAULT_NONE;
    *out = exchange_known_phase(x, tile, &wrong);
    if (wrong != FAULT_NONE)
        return FAIL(FAULT, "code of an exchange that was taken for valid");
    if (*out) {
        for (uint32_t i = 0; i < x->tiles; i++)
            if (tile[i])
                forget(&x->log[i]);
        return EMU_OK;
    }
    key = exchange_key(x, tile);
    p = exchange_cache_find(x, key);
    if (p)
        x->counts.replayed++;
    else
        TRY(resolve_anew(x, tile, key, &p));
    if (x->options.check)
        TRY(compare(x, tile, p, &x->fault));
    if (p->overlaps && !x->options.figures) {
        TRY(make_staging(x, p));
        p->staging = x->staging;
    }
    finish(x, tile, p);
    count_pairs(x, p);
    *out = p;
    return EMU_OK;
}
