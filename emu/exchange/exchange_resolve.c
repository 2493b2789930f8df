/* exchange_resolve.c - turns logs into copies, working on intervals: the time in which a tile
 * listens is cut at the sends of its sources and at the changes of its pointer.
 *
 * Tiles are resolved one after the other, by each thread a part of them, so apart from the copies
 * only one tile needs memory: a bit per word received, which finds words received twice and words
 * that are both sent and received. Only where the latter happens are the copies of the tile sorted
 * by address. Only one fault is reported, that of the lowest tile and there the one with the lowest
 * event, so the search for it may be slow.
 */
#include "emu/arch/arch_numbers.h"
#include "emu/exchange/exchange_private.h"

#include "emu/base/alloc.h"

/* One tile while its mux intervals are walked. */
struct receiver {
    struct exchange *x;
    struct exchange_resolver *r;
    struct tile *const *tile;
    const struct exchange_log *log;
    uint32_t d; /* logical number */
    int64_t lag;
    size_t pic;       /* next change of the pointer */
    uint32_t pointer; /* byte address of the next word */
    size_t first;     /* its first copy */
    struct exchange_fault *fault;
};

static enum emu_status figures_new(struct exchange *x)
{
    struct exchange_figures *f = &x->figures;
    uint32_t **per_tile[] = { &f->copies,  &f->end_event,   &f->words_in,    &f->words_out,
                              &f->pointer, &f->messages_in, &f->messages_out };

    for (size_t i = 0; i < EMU_COUNT_OF(per_tile); i++) {
        *per_tile[i] = emu_alloc(x->tiles, sizeof(uint32_t));
        if (!*per_tile[i])
            return FAIL(NO_MEMORY, "exchange figures of %u tiles", x->tiles);
    }
    return EMU_OK;
}

enum emu_status exchange_resolvers_new(struct exchange *x)
{
    x->resolver = emu_alloc(x->options.threads, sizeof(*x->resolver));
    if (!x->resolver)
        return FAIL(NO_MEMORY, "exchanges on %u threads", x->options.threads);
    for (unsigned i = 0; i < x->options.threads; i++) {
        struct exchange_resolver *r = &x->resolver[i];

        r->received = emu_alloc(x->memory_words / 64 + 1, sizeof(*r->received));
        if (!r->received)
            return FAIL(NO_MEMORY, "a bit per word of memory");
    }
    return figures_new(x);
}

void exchange_resolvers_free(struct exchange *x)
{
    for (unsigned i = 0; x->resolver && i < x->options.threads; i++) {
        struct exchange_resolver *r = &x->resolver[i];

        ss_free(r->copy);
        ss_free(r->pair);
        ss_free(r->arrive);
        ss_free(r->received);
        ss_free(r->order);
        ss_free(r->merge);
    }
    ss_free(x->resolver);
    ss_free(x->figures.copies);
    ss_free(x->figures.end_event);
    ss_free(x->figures.words_in);
    ss_free(x->figures.words_out);
    ss_free(x->figures.pointer);
    ss_free(x->figures.messages_in);
    ss_free(x->figures.messages_out);
}

/* --- faults --- */

/* The instruction that set the mux as it is at an event; 0 before the first. */
static uint32_t mux_pc(const struct exchange_log *log, int64_t event)
{
    uint32_t pc = 0;

    for (size_t i = 0; i < log->muxes && log->mux[i].event <= event; i++)
        pc = log->mux[i].pc;
    return pc;
}

static void note(const struct receiver *v, enum exchange_fault_kind kind, int64_t event,
                 uint32_t other, uint32_t addr, uint32_t other_addr)
{
    const struct exchange_fault f = { .kind = kind,
                                      .tile = v->d,
                                      .other = other,
                                      .event = (uint32_t)event,
                                      .addr = addr,
                                      .other_addr = other_addr,
                                      .pc = mux_pc(v->log, event),
                                      .cycle = v->log->release + (uint64_t)event };

    if (exchange_fault_before(&f, v->fault))
        *v->fault = f;
}

/* --- words that arrive --- */

static enum emu_status make_room(struct exchange_resolver *r)
{
    size_t want = r->capacity ? 2 * r->capacity : 1024;
    struct exchange_copy *copy;
    uint32_t *arrive;

    if (r->copies < r->capacity)
        return EMU_OK;
    copy = emu_realloc(r->copy, want, sizeof(*copy));
    if (copy)
        r->copy = copy;
    arrive = copy ? emu_realloc(r->arrive, want, sizeof(*arrive)) : NULL;
    if (!arrive)
        return FAIL(NO_MEMORY, "%zu copies of an exchange", want);
    r->arrive = arrive;
    r->capacity = want;
    return EMU_OK;
}

/* Words from a source whose first reaches the mux at `event`, to consecutive addresses. */
static enum emu_status add_copy(struct receiver *v, const struct exchange_copy *c, int64_t event)
{
    struct exchange_resolver *r = v->r;
    struct exchange_copy *last = r->copies > v->first ? &r->copy[r->copies - 1] : NULL;

    if (last && last->from == c->from && last->from_off + 4 * last->words == c->from_off &&
        last->to_off + 4 * last->words == c->to_off &&
        r->arrive[r->copies - 1] + last->words == event) {
        last->words += c->words;
        return EMU_OK;
    }
    TRY(make_room(r));
    r->arrive[r->copies] = (uint32_t)event;
    r->copy[r->copies++] = *c;
    return EMU_OK;
}

/* Applies the pointer changes that act on words reaching the mux at `event`. */
static void move_pointer(struct receiver *v, int64_t event)
{
    const struct exchange_log *log = v->log;

    while (v->pic < log->pics && log->pic[v->pic].event - v->lag <= event)
        v->pointer = log->pic[v->pic++].value;
}

/* Takes n words in, the first of which reaches the mux at `event`. */
static enum emu_status take(struct receiver *v, uint32_t from, uint32_t addr, uint32_t n,
                            int64_t event)
{
    const struct exchange_log *log = v->log;
    const struct arch *a = v->x->arch;

    while (n) {
        struct exchange_copy c = { .from = from, .to = v->d, .from_off = addr - a->mem_base };
        uint32_t room;

        move_pointer(v, event);
        c.words = n;
        if (v->pic < log->pics && log->pic[v->pic].event - v->lag - event < n)
            c.words = (uint32_t)(log->pic[v->pic].event - v->lag - event);
        c.to_off = v->pointer - a->mem_base;
        room = c.to_off < a->mem_bytes ? (a->mem_bytes - c.to_off) / 4 : 0;
        if (room < c.words) {
            c.words = room;
            note(v, EXCHANGE_FAULT_POINTER_OUTSIDE, event + room, from, v->pointer + 4 * room,
                 addr + 4 * room);
        }
        if (c.words)
            TRY(add_copy(v, &c, event));
        if (v->fault->kind != EXCHANGE_FAULT_NONE)
            return EMU_OK;
        v->pointer += 4 * c.words;
        addr += 4 * c.words;
        event += c.words;
        n -= c.words;
    }
    return EMU_OK;
}

/* Index of the last send that begins at or before an event, -1 if there is none. */
static ptrdiff_t find_send(const struct exchange_log *log, int64_t event)
{
    size_t low = 0,
           high = log->sends; /* those below low begin at or before it, those from high on later */

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (log->send[mid].event <= event)
            low = mid + 1;
        else
            high = mid;
    }
    return (ptrdiff_t)low - 1;
}

/* The tile listens to one source at its events from .. to - 1. */
static enum emu_status listen(struct receiver *v, uint32_t source, int64_t from, int64_t to)
{
    struct exchange *x = v->x;
    uint32_t s = (uint32_t)x->logical[source];
    const struct exchange_log *log = &x->log[s];
    int64_t delay = arch_exchange_delay_between(&x->end[s], &x->end[v->d]);
    unsigned ways = arch_exchange_direction_between(&x->end[s], &x->end[v->d]);
    size_t sends = v->tile[s] ? log->sends : 0;
    ptrdiff_t i = sends ? find_send(log, from - delay) : -1;

    while (from < to) {
        const struct exchange_send *send = i >= 0 && (size_t)i < sends ? &log->send[i] : NULL;
        int64_t skip = send ? from - delay - send->event : -1, n;

        if (skip < 0 || skip >= send->words) {
            move_pointer(v, from);
            note(v, EXCHANGE_FAULT_SILENT, from, s, v->pointer, 0);
            return EMU_OK;
        }
        if (!(send->ctl & ways)) {
            move_pointer(v, from);
            note(v, EXCHANGE_FAULT_OTHER_WAY, from, s, v->pointer, send->addr + 4 * (uint32_t)skip);
            return EMU_OK;
        }
        n = send->words - skip < to - from ? send->words - skip : to - from;
        TRY(take(v, s, send->addr + 4 * (uint32_t)skip, (uint32_t)n, from));
        if (v->fault->kind != EXCHANGE_FAULT_NONE)
            return EMU_OK;
        from += n;
        i++;
    }
    return EMU_OK;
}

static enum emu_status listen_all(struct receiver *v)
{
    const struct exchange_log *log = v->log;
    uint32_t null = v->x->arch->null_source;

    for (size_t k = 0; k < log->muxes && v->fault->kind == EXCHANGE_FAULT_NONE; k++) {
        const struct exchange_set *mux = &log->mux[k];

        if (mux->value == null)
            continue;
        if (k + 1 < log->muxes)
            TRY(listen(v, mux->value, mux->event, log->mux[k + 1].event));
        else
            note(v, EXCHANGE_FAULT_MUX_LEFT_ON, mux->event, (uint32_t)v->x->logical[mux->value], 0,
                 0);
    }
    return EMU_OK;
}

/* --- words received twice --- */

/* Bits of a range that lie in word w of a bit map. */
static uint64_t bits_in(uint32_t w, uint32_t first, uint32_t last)
{
    uint64_t mask = UINT64_MAX;

    if (w == first / 64)
        mask <<= first % 64;
    if (w == last / 64)
        mask &= UINT64_MAX >> (63 - last % 64);
    return mask;
}

/* Whether a word of [off, off + 4 * words) is marked. */
static int any_marked(const uint64_t *map, uint32_t off, uint32_t words)
{
    uint32_t first = off / 4, last = first + words - 1;
    uint64_t any = 0;

    for (uint32_t w = first / 64; w <= last / 64; w++)
        any |= map[w] & bits_in(w, first, last);
    return any != 0;
}

static void mark(uint64_t *map, uint32_t off, uint32_t words)
{
    uint32_t first = off / 4, last = first + words - 1;

    for (uint32_t w = first / 64; w <= last / 64; w++)
        map[w] |= bits_in(w, first, last);
}

static void clear_marks(const struct receiver *v)
{
    for (size_t i = v->first; i < v->r->copies; i++) {
        uint32_t first = v->r->copy[i].to_off / 256,
                 last = (v->r->copy[i].to_off / 4 + v->r->copy[i].words - 1) / 64;

        memset(&v->r->received[first], 0, (last - first + 1) * sizeof(uint64_t));
    }
}

/* Some word arrives twice: finds the first that does, word by word. */
static void note_twice(const struct receiver *v)
{
    struct exchange_resolver *r = v->r;
    uint32_t base = v->x->arch->mem_base;

    clear_marks(v);
    for (size_t i = v->first; i < r->copies; i++) {
        const struct exchange_copy *c = &r->copy[i];

        for (uint32_t k = 0; k < c->words; k++) {
            if (any_marked(r->received, c->to_off + 4 * k, 1)) {
                note(v, EXCHANGE_FAULT_TWICE, (int64_t)r->arrive[i] + k, c->from,
                     base + c->to_off + 4 * k, base + c->from_off + 4 * k);
                return;
            }
            mark(r->received, c->to_off + 4 * k, 1);
        }
    }
}

/* Leaves the words received marked. */
static void check_twice(const struct receiver *v)
{
    int twice = 0;

    for (size_t i = v->first; i < v->r->copies; i++) {
        const struct exchange_copy *c = &v->r->copy[i];

        twice |= any_marked(v->r->received, c->to_off, c->words);
        mark(v->r->received, c->to_off, c->words);
    }
    if (EMU_UNLIKELY(twice))
        note_twice(v);
}

/* --- words sent after their replacement has come
 * ------------------------------------------------------------------------------ */

static enum emu_status make_order_room(struct exchange_resolver *r, size_t n)
{
    struct exchange_order *grown;

    if (n <= r->order_capacity)
        return EMU_OK;
    r->order_capacity = 0;
    grown = emu_realloc(r->order, 2 * n, sizeof(*grown));
    if (grown)
        r->order = grown;
    grown = grown ? emu_realloc(r->merge, 2 * n, sizeof(*grown)) : NULL;
    if (!grown)
        return FAIL(NO_MEMORY, "order of %zu copies", n);
    r->merge = grown;
    r->order_capacity = 2 * n;
    return EMU_OK;
}

/* Merges the sorted halves [low, mid) and [mid, high) of from into to. */
static void merge_halves(const struct exchange_order *from, struct exchange_order *to, size_t low,
                         size_t mid, size_t high)
{
    size_t i = low, j = mid;

    for (size_t k = low; k < high; k++) {
        if (i < mid && (j >= high || from[i].off <= from[j].off))
            to[k] = from[i++];
        else
            to[k] = from[j++];
    }
}

/* Sorts the tile's copies by the offset they go to; r->order has the result. */
static enum emu_status sort_copies(const struct receiver *v, size_t n)
{
    struct exchange_resolver *r = v->r;
    int sorted = 1;

    TRY(make_order_room(r, n));
    for (size_t i = 0; i < n; i++) {
        r->order[i].off = r->copy[v->first + i].to_off;
        r->order[i].copy = (uint32_t)(v->first + i);
        sorted &= !i || r->order[i - 1].off <= r->order[i].off;
    }
    for (size_t width = 1; width < n && !sorted; width *= 2) {
        struct exchange_order *swap = r->order;

        for (size_t low = 0; low < n; low += 2 * width) {
            size_t mid = low + width < n ? low + width : n,
                   high = mid + width < n ? mid + width : n;

            merge_halves(r->order, r->merge, low, mid, high);
        }
        r->order = r->merge;
        r->merge = swap;
    }
    return EMU_OK;
}

/* Index in the order of the last copy that goes to `off` or below, or 0. */
static size_t find_order(const struct exchange_order *order, size_t n, uint32_t off)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (order[mid].off <= off)
            low = mid + 1;
        else
            high = mid;
    }
    return low ? low - 1 : 0;
}

/* Holds one send against the words that replace what it reads. Address and event advance together
 * on both sides, so that one word of the common range decides for all of it. */
static void check_send(const struct receiver *v, const struct exchange_send *s, size_t n)
{
    const struct exchange_resolver *r = v->r;
    uint32_t base = v->x->arch->mem_base, off = s->addr - base, end = off + 4 * s->words;

    size_t i =
        v->fault->kind ? 0 : find_order(r->order, n, off); /* after a fault copies may overlap */

    for (; i < n && r->order[i].off < end; i++) {
        uint32_t index = r->order[i].copy;
        const struct exchange_copy *c = &r->copy[index];
        uint32_t at = c->to_off > off ? c->to_off : off;
        int64_t reads = (int64_t)s->event + (at - off) / 4;

        if (c->to_off + 4 * c->words <= off)
            continue;
        if (reads >= (int64_t)r->arrive[index] + (at - c->to_off) / 4)
            note(v, EXCHANGE_FAULT_REPLACED, reads, c->from, base + at,
                 base + c->from_off + (at - c->to_off));
    }
}

static enum emu_status check_replaced(const struct receiver *v)
{
    const struct exchange_log *log = v->log;
    uint32_t base = v->x->arch->mem_base;
    size_t n = v->r->copies - v->first;
    int sorted = 0;

    for (size_t i = 0; n && i < log->sends; i++) {
        const struct exchange_send *s = &log->send[i];

        if (!any_marked(v->r->received, s->addr - base, s->words))
            continue;
        v->r->overlaps = 1;
        if (!sorted)
            TRY(sort_copies(v, n));
        sorted = 1;
        check_send(v, s, n);
    }
    return EMU_OK;
}

/* --- clashes --- */

static void check_clash(const struct receiver *v)
{
    struct exchange_fault f;

    if (arch_exchange_clash(v->x->arch) != ARCH_CLASH_FAULT)
        return;
    exchange_find_clash(v->x, v->d, &v->r->copy[v->first], &v->r->arrive[v->first],
                        v->r->copies - v->first, &f);
    if (f.kind != EXCHANGE_FAULT_NONE && exchange_fault_before(&f, v->fault))
        *v->fault = f;
}

/* --- all tiles --- */

static void set_figures(const struct receiver *v)
{
    struct exchange_figures *f = &v->x->figures;
    const struct exchange_resolver *r = v->r;
    const struct exchange_log *log = v->log;
    uint32_t words = 0;

    if (r->copies == v->first)
        return;
    for (size_t i = v->first; i < r->copies; i++)
        words += r->copy[i].words;
    f->copies[v->d] = (uint32_t)(r->copies - v->first);
    f->messages_in[v->d] = f->copies[v->d];
    f->words_in[v->d] = words;
    f->end_event[v->d] =
        r->arrive[r->copies - 1] + r->copy[r->copies - 1].words - 1 + (uint32_t)v->lag;
    f->pointer[v->d] = v->pic < log->pics ? log->pic[log->pics - 1].value : v->pointer;
}

enum emu_status exchange_resolve_tile(struct exchange *x, struct exchange_resolver *r,
                                      struct tile *const *tile, uint32_t d,
                                      struct exchange_fault *fault)
{
    struct receiver v = { .x = x,
                          .r = r,
                          .tile = tile,
                          .log = &x->log[d],
                          .d = d,
                          .lag = x->lag[d],
                          .pointer = x->log[d].pointer,
                          .first = r->copies,
                          .fault = fault };
    enum emu_status s;

    fault->kind = EXCHANGE_FAULT_NONE;
    if (!v.log->muxes)
        return EMU_OK;
    TRY(listen_all(&v));
    check_twice(&v);
    s = check_replaced(&v);
    check_clash(&v);
    clear_marks(&v);
    set_figures(&v);
    if (s == EMU_OK && x->options.pairs)
        s = exchange_add_pairs(r, d, r->copy + v.first, r->copies - v.first);
    return s;
}

static enum emu_status resolve_part(struct exchange *x, struct exchange_resolver *r,
                                    struct tile *const *tile)
{
    struct exchange_figures *f = &x->figures;

    r->copies = r->pairs = 0;
    r->overlaps = 0;
    r->fault.kind = EXCHANGE_FAULT_NONE;
    for (uint32_t d = r->from; d < r->to; d++) {
        f->copies[d] = f->end_event[d] = f->words_in[d] = f->words_out[d] = f->pointer[d] = 0;
        f->messages_in[d] = f->messages_out[d] = 0;
        if (!tile[d])
            continue;
        f->words_out[d] = x->log[d].words_out;
        f->messages_out[d] = (uint32_t)x->log[d].sends;
        TRY(exchange_resolve_tile(x, r, tile, d, &r->fault));
        if (r->fault.kind != EXCHANGE_FAULT_NONE)
            return EMU_OK;
        if (x->options.figures)
            f->copies[d] = r->copies = 0;
    }
    return EMU_OK;
}

/* About what it takes to resolve a tile. */
static size_t effort(const struct exchange *x, struct tile *const *tile, uint32_t d)
{
    return tile[d] ? x->log[d].muxes + x->log[d].pics + x->log[d].sends : 0;
}

enum { PART_EFFORT = 1 << 12 /* some 50 us: less is no work for another thread */ };

/* Divides the tiles among the resolvers. Returns how many of these have work. */
static unsigned divide(struct exchange *x, struct tile *const *tile)
{
    size_t all = 0, done = 0;
    unsigned parts, i = 0;

    for (uint32_t d = 0; d < x->tiles; d++)
        all += effort(x, tile, d);
    parts =
        all / PART_EFFORT < x->options.threads ? (unsigned)(all / PART_EFFORT) : x->options.threads;
    parts = parts ? parts : 1;
    x->resolver[0].from = 0;
    for (uint32_t d = 0; d < x->tiles; d++) {
        if (i + 1 < parts && done * parts >= all * (i + 1)) {
            x->resolver[i++].to = d;
            x->resolver[i].from = d;
        }
        done += effort(x, tile, d);
    }
    x->resolver[i].to = x->tiles;
    while (++i < x->options.threads)
        x->resolver[i].from = x->resolver[i].to = x->tiles;
    return parts;
}

enum emu_status exchange_resolve_intervals(struct exchange *x, struct tile *const *tile,
                                           struct exchange_fault *fault)
{
    unsigned parts = divide(x, tile);
    uint64_t copies = 0, words = 0;

    fault->kind = EXCHANGE_FAULT_NONE;
#pragma omp parallel for schedule(static, 1) num_threads((int)parts) if (parts > 1)
    for (unsigned i = 0; i < x->options.threads; i++)
        x->resolver[i].status = resolve_part(x, &x->resolver[i], tile);
    for (unsigned i = 0; i < x->options.threads; i++) {
        const struct exchange_resolver *r = &x->resolver[i];

        if (r->status != EMU_OK) /* the message belongs to another thread */
            return FAIL(NO_MEMORY, "copies of an exchange");
        copies += r->copies;
        if (r->fault.kind != EXCHANGE_FAULT_NONE) {
            *fault = r->fault;
            return EMU_OK;
        }
    }
    for (uint32_t d = 0; d < x->tiles; d++)
        words += x->figures.words_in[d];
    if (copies > UINT32_MAX / 2 || words > UINT32_MAX)
        return FAIL(NO_MEMORY, "an exchange of %llu words", (unsigned long long)words);
    return EMU_OK;
}
