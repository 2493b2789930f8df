/* exchange_cache.c - keeps resolved phases and finds them again by the hash of their logs.
 *
 * The key covers what the tiles of the phase logged (what they executed only where that may be a
 * fault), with the tiles' numbers, and, for a tile that
 * may receive before it sets its pointer, the initial pointer, too. A pointer that is set first is
 * left out, because loops end with other pointers than they began with.
 */
#include "emu/arch/arch_numbers.h"
#include "emu/exchange/exchange_private.h"

#include "emu/base/alloc.h"

/* Whether a word may arrive while the pointer of the phase before is in force. */
static int needs_pointer(const struct exchange *x, const struct exchange_log *log)
{
    for (size_t i = 0; i < log->muxes; i++) {
        if (log->mux[i].value != x->arch->null_source)
            return !log->pics || log->pic[0].event - (int64_t)x->lag[log->tile] > log->mux[i].event;
    }
    return 0;
}

struct hash128 exchange_key(struct exchange *x, struct tile *const *tile)
{
    size_t n = 0;

    for (uint32_t i = 0; i < x->tiles; i++) {
        const struct exchange_log *log = &x->log[i];

        if (!tile[i] || !(log->sends || log->muxes || log->pics))
            continue;
        x->log_key[n++] = (struct exchange_log_key){
            .tile = i,
            .pointer = needs_pointer(x, log) ? log->pointer : 0,
            .sends = (uint32_t)log->sends,
            .muxes = (uint32_t)log->muxes,
            .pics = (uint32_t)log->pics,
            .send = hash128(log->send, log->sends * sizeof(*log->send)),
            .mux = hash128(log->mux, log->muxes * sizeof(*log->mux)),
            .pic = hash128(log->pic, log->pics * sizeof(*log->pic)),
        };
        if (arch_exchange_clash(x->arch) == ARCH_CLASH_FAULT) {
            x->log_key[n - 1].fetches = (uint32_t)log->fetches;
            x->log_key[n - 1].fetch = hash128(log->fetch, log->fetches * sizeof(*log->fetch));
        }
    }
    return hash128(x->log_key, n * sizeof(*x->log_key));
}

struct exchange_phase *exchange_cache_find(struct exchange *x, struct hash128 key)
{
    struct exchange_cached *c = x->bucket[key.lo % EXCHANGE_CACHE_BUCKETS];

    while (c && !hash128_equal(c->phase.key, key))
        c = c->next;
    return c ? &c->phase : NULL;
}

void exchange_cache_clear(struct exchange *x)
{
    for (size_t i = 0; i < EXCHANGE_CACHE_BUCKETS; i++) {
        while (x->bucket[i]) {
            struct exchange_cached *c = x->bucket[i];

            x->bucket[i] = c->next;
            ss_free(c);
        }
    }
    x->counts.cache_bytes = 0;
    x->counts.cache_phases = 0;
}

static const uint32_t *put_numbers(uint32_t **at, const uint32_t *from, size_t n)
{
    const uint32_t *put = memcpy(*at, from, n * sizeof(*from));

    *at += n;
    return put;
}

/* What lies before each of n things of these sizes, and before the end. */
static const uint32_t *put_sums(uint32_t **at, const uint32_t *size, size_t n)
{
    uint32_t *put = *at, sum = 0;

    for (size_t i = 0; i < n; i++) {
        put[i] = sum;
        sum += size[i];
    }
    put[n] = sum;
    *at += n + 1;
    return put;
}

/* The phase and its arrays in one block. */
static struct exchange_cached *build(const struct exchange *x, struct hash128 key, size_t copies,
                                     size_t pairs, size_t bytes)
{
    const struct exchange_figures *f = &x->figures;
    struct exchange_cached *c = emu_alloc(1, bytes);
    struct exchange_copy *copy;
    struct exchange_pair *pair;
    uint32_t *at;

    if (!c)
        return NULL;
    copy = (struct exchange_copy *)(c + 1);
    pair = (struct exchange_pair *)(copy + copies);
    at = (uint32_t *)(pair + pairs);
    c->bytes = bytes;
    c->phase = (struct exchange_phase){ .copies = copies, .copy = copy, .key = key };
    if (x->options.pairs) {
        c->phase.pairs = pairs;
        c->phase.pair = pair;
    }
    for (unsigned i = 0; i < x->options.threads; i++) {
        const struct exchange_resolver *r = &x->resolver[i];

        c->phase.overlaps |= r->overlaps;
        if (r->copies)
            memcpy(copy, r->copy, r->copies * sizeof(*copy));
        copy += r->copies;
        if (r->pairs)
            memcpy(pair, r->pair, r->pairs * sizeof(*pair));
        pair += r->pairs;
    }
    c->phase.first_copy = put_sums(&at, f->copies, x->tiles);
    c->phase.first_word = put_sums(&at, f->words_in, x->tiles);
    c->phase.end_event = put_numbers(&at, f->end_event, x->tiles);
    c->phase.words_in = put_numbers(&at, f->words_in, x->tiles);
    c->phase.words_out = put_numbers(&at, f->words_out, x->tiles);
    c->phase.pointer = put_numbers(&at, f->pointer, x->tiles);
    if (x->options.pairs) {
        c->phase.messages_in = put_numbers(&at, f->messages_in, x->tiles);
        c->phase.messages_out = put_numbers(&at, f->messages_out, x->tiles);
        c->phase.traffic =
            exchange_traffic_key(c->phase.pair, pairs, c->phase.messages_in, x->tiles);
    }
    return c;
}

enum emu_status exchange_cache_add(struct exchange *x, struct hash128 key,
                                   struct exchange_phase **out)
{
    size_t copies = 0, pairs = 0, lists = x->options.pairs ? 8 : 6, bytes;
    struct exchange_cached *c;

    for (unsigned i = 0; i < x->options.threads; i++) {
        copies += x->resolver[i].copies;
        pairs += x->resolver[i].pairs;
    }
    bytes = sizeof(*c) + copies * sizeof(struct exchange_copy) +
            pairs * sizeof(struct exchange_pair) +
            (lists * (size_t)x->tiles + 2) * sizeof(uint32_t);
    if (x->counts.cache_phases && x->counts.cache_bytes + bytes > x->options.cache_bytes) {
        exchange_cache_clear(x);
        x->counts.evictions++;
    }
    c = build(x, key, copies, pairs, bytes);
    if (!c)
        return FAIL(NO_MEMORY, "a phase of %zu copies", copies);
    c->next = x->bucket[key.lo % EXCHANGE_CACHE_BUCKETS];
    x->bucket[key.lo % EXCHANGE_CACHE_BUCKETS] = c;
    x->counts.cache_bytes += bytes;
    x->counts.cache_phases++;
    *out = &c->phase;
    return EMU_OK;
}
