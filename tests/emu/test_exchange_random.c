/* test_exchange_random.c - random exchanges without conflicts: a simple scheduler plans them, an
 * emitter turns each tile's plan into instructions, and memory afterwards is compared with a model
 * that only knows the messages. The word-by-word resolver looks at every phase as well. Then the
 * logs are damaged at random and both resolvers must still agree.
 */
#include "emu/arch/arch_numbers.h"
#include "emu/base/random.h"
#include "tests/fixtures/exchange_fixture.h"

#include <stdio.h>

enum { EVENTS = 3000, SENDS_MAX = 256, RECEIVERS_MAX = 1 << 16, TRIES = 12 };

struct random_message {
    uint32_t event, addr, words, ctl;
};

struct reception {
    uint32_t event, source, words, to; /* source: physical */
    int set_pointer;                   /* 0: it simply continues */
    uint32_t pic;                      /* event at which the pointer is set */
};

struct plan {
    struct random_message *send;
    struct reception *take;
    uint32_t sends, takes;
    uint8_t *out, *in;        /* [EVENTS] port in use */
    uint32_t *read, *written; /* [words] event + 1 of the last send, of the arrival; 0: none */
    uint32_t pointer;         /* before the phase */
};

struct exchange_world {
    struct fabric rig;
    struct plan *plan;
    uint64_t random;
    uint32_t words; /* of a tile's memory */
    uint32_t *expected;
    uint32_t messages;
};

static uint32_t pick(struct exchange_world *w, uint32_t below)
{
    return random_below(&w->random, below);
}

static uint32_t physical(const struct exchange_world *w, uint32_t tile)
{
    return w->rig.x->physical[tile];
}

static int delay(const struct exchange_world *w, uint32_t s, uint32_t d)
{
    return arch_exchange_delay(&w->rig.arch, physical(w, s), physical(w, d));
}

static void world_new(struct exchange_world *w, const char *machine, uint32_t tiles,
                      uint32_t mem_bytes)
{
    *w = (struct exchange_world){ .random = 1, .words = mem_bytes / 4 };
    fabric_new_sized(&w->rig, machine, tiles, mem_bytes, 1);
    w->rig.x->options.cache_bytes = 1 << 20;
    w->plan = calloc(w->rig.arch.tiles, sizeof(*w->plan));
    for (uint32_t i = 0; i < w->rig.arch.tiles; i++) {
        struct plan *p = &w->plan[i];

        p->send = calloc(SENDS_MAX, sizeof(*p->send));
        p->take = calloc(SENDS_MAX, sizeof(*p->take));
        p->out = calloc(EVENTS, 1);
        p->in = calloc(EVENTS, 1);
        p->read = calloc(w->words, 4);
        p->written = calloc(w->words, 4);
    }
    w->expected = calloc(w->rig.arch.tiles, mem_bytes);
}

static void world_free(struct exchange_world *w)
{
    for (uint32_t i = 0; i < w->rig.arch.tiles; i++) {
        struct plan *p = &w->plan[i];

        free(p->send);
        free(p->take);
        free(p->out);
        free(p->in);
        free(p->read);
        free(p->written);
    }
    free(w->plan);
    free(w->expected);
    fabric_free(&w->rig);
}

static void forget_plans(struct exchange_world *w)
{
    w->messages = 0;
    for (uint32_t i = 0; i < w->rig.arch.tiles; i++) {
        struct plan *p = &w->plan[i];

        p->sends = p->takes = 0;
        memset(p->out, 0, EVENTS);
        memset(p->in, 0, EVENTS);
        memset(p->read, 0, w->words * 4);
        memset(p->written, 0, w->words * 4);
        p->pointer = w->rig.arch.mem_base + 4 * pick(w, w->words);
    }
}

/* --- the scheduler --- */

static int is_free(const uint8_t *port, int64_t from, uint32_t words)
{
    if (from < 0 || from + words > EVENTS)
        return 0;
    for (uint32_t k = 0; k < words; k++) {
        if (port[from + k])
            return 0;
    }
    return 1;
}

/* Words read at event .. and written at most later. */
static int may_read(const struct plan *p, uint32_t word, uint32_t words, uint32_t event)
{
    for (uint32_t k = 0; k < words; k++) {
        if (p->written[word + k] && p->written[word + k] - 1 <= event + k)
            return 0;
    }
    return 1;
}

static int may_write(const struct plan *p, uint32_t word, uint32_t words, uint32_t event)
{
    for (uint32_t k = 0; k < words; k++) {
        if (p->written[word + k] || (p->read[word + k] && p->read[word + k] - 1 >= event + k))
            return 0;
    }
    return 1;
}

/* The reception that ends last before an event, or NULL. */
static const struct reception *reception_before(const struct plan *p, uint32_t event)
{
    const struct reception *best = NULL;

    for (uint32_t i = 0; i < p->takes; i++) {
        if (p->take[i].event < event && (!best || p->take[i].event > best->event))
            best = &p->take[i];
    }
    return best;
}

/* Chooses where the words go: after the last ones (so that the pointer need not be set), or
 * anywhere. */
static int place_words(struct exchange_world *w, const struct plan *p, uint32_t event,
                       uint32_t words, uint32_t *to)
{
    const struct reception *before = reception_before(p, event);
    uint32_t base = w->rig.arch.mem_base;

    for (uint32_t k = 0; k < TRIES; k++) {
        uint32_t word = pick(w, w->words - words + 1);

        if (k < 1 && pick(w, 3) == 0)
            word = ((before ? before->to + 4 * before->words : p->pointer) - base) / 4;
        *to = base + 4 * word;
        if (word + words <= w->words && may_write(p, word, words, event))
            return 1;
    }
    return 0;
}

static void commit_reception(struct exchange_world *w, uint32_t d, struct reception r)
{
    struct plan *p = &w->plan[d];

    r.source = physical(w, r.source);
    memset(p->in + r.event, 1, r.words);
    for (uint32_t k = 0; k < r.words; k++)
        p->written[(r.to - w->rig.arch.mem_base) / 4 + k] = r.event + k + 1;
    p->take[p->takes++] = r;
}

static void commit_send(struct exchange_world *w, uint32_t s, const struct random_message *m)
{
    struct plan *p = &w->plan[s];

    memset(p->out + m->event, 1, m->words);
    for (uint32_t k = 0; k < m->words; k++) {
        uint32_t *read = &p->read[(m->addr - w->rig.arch.mem_base) / 4 + k];

        *read = m->event + k + 1 > *read ? m->event + k + 1 : *read;
    }
    p->send[p->sends++] = *m;
    w->messages++;
}

/* One message to up to `fan` receivers at the first event from `from` on where all ports are free.
 */
static void plan_message(struct exchange_world *w, uint32_t s, uint32_t fan, uint32_t from)
{
    uint32_t to[16], n = 0, words = pick(w, 4) ? 1 + pick(w, 12) : 1 + pick(w, 150);
    struct random_message m = { .words = words };
    struct plan *p = &w->plan[s];
    uint32_t word = pick(w, w->words - words + 1);

    for (uint32_t k = 0; k < fan; k++) {
        uint32_t d = pick(w, w->rig.arch.tiles);
        int known = d == s;

        for (uint32_t i = 0; i < n; i++)
            known |= to[i] == d;
        if (!known)
            to[n++] = d;
    }
    for (m.event = from; n && m.event + words <= EVENTS; m.event++) {
        int fits = is_free(p->out, m.event, words);

        for (uint32_t i = 0; fits && i < n; i++)
            fits = is_free(w->plan[to[i]].in, (int64_t)m.event + delay(w, s, to[i]), words);
        if (fits)
            break;
    }
    if (!n || m.event + words > EVENTS || p->sends == SENDS_MAX ||
        !may_read(p, word, words, m.event))
        return;
    m.addr = w->rig.arch.mem_base + 4 * word;
    m.ctl = pick(w, 4) ? 0 : 3;
    commit_send(w, s, &m);
    for (uint32_t i = 0; i < n; i++) {
        struct reception r = { .source = s, .words = words };
        struct plan *q = &w->plan[to[i]];

        r.event = (uint32_t)((int)m.event + delay(w, s, to[i]));
        if (q->takes == SENDS_MAX || !place_words(w, q, r.event, words, &r.to))
            continue;
        commit_reception(w, to[i], r);
        p->send[p->sends - 1].ctl |=
            arch_exchange_direction(&w->rig.arch, physical(w, s), physical(w, to[i]));
    }
    if (!p->send[p->sends - 1].ctl)
        p->send[p->sends - 1].ctl = 1; /* nobody listens */
}

static int by_event(const void *x, const void *y)
{
    const struct reception *a = x, *b = y;

    return a->event < b->event ? -1 : a->event > b->event;
}

static int by_send_event(const void *x, const void *y)
{
    const struct random_message *a = x, *b = y;

    return a->event < b->event ? -1 : a->event > b->event;
}

/* Decides when each pointer is set: after the last word of the reception before, in time for the
 * first of its own. */
static void plan_pointers(struct exchange_world *w, uint32_t d)
{
    struct plan *p = &w->plan[d];
    uint32_t lag = arch_pic_lag(&w->rig.arch, physical(w, d)), from = 0, pointer = p->pointer;

    qsort(p->take, p->takes, sizeof(*p->take), by_event);
    qsort(p->send, p->sends, sizeof(*p->send), by_send_event);
    for (uint32_t i = 0; i < p->takes; i++) {
        struct reception *r = &p->take[i];
        uint32_t last = r->event + lag;

        r->set_pointer = r->to != pointer || pick(w, 4) == 0;
        r->pic = pick(w, 3) == 0 ? last : pick(w, 2) ? from : from + pick(w, last - from + 1);
        pointer = r->to + 4 * r->words;
        from = r->event + r->words + lag;
    }
}

/* --- the emitter --- */

/* What happens at one event of a tile. */
struct change {
    const struct random_message *send; /* begins */
    int stop;                          /* a send ends */
    int mux, pic;
    uint32_t source, pointer;
};

struct emitter {
    struct exchange_world *w;
    struct plan *p;
    uint32_t tile, lag;
    struct change *at; /* [EVENTS + lag room] */
    uint32_t events;   /* last change + 1 */
    uint32_t idle;     /* from here on nothing has been issued yet */
    const struct random_message *sending;
    uint32_t sent, ctl;                    /* words sent of it; stream state C */
    uint32_t source, pic_event, pic_value; /* settings in force */
};

static void emit(struct emitter *e, uint32_t event, struct insn in)
{
    enum fault f = fabric_issue_coded(&e->w->rig, e->tile, event, &in);

    if (f != FAULT_NONE)
        fail_msg("tile %u event %u: %s", e->tile, event, e->w->rig.tile[e->tile].fault.detail);
}

/* The address of the next word that the pointer set last gets, as seen at an event. */
static uint32_t running_pointer(const struct emitter *e, uint32_t event)
{
    uint32_t pointer = e->pic_value;
    int64_t from = e->pic_event == UINT32_MAX ? 0 : (int64_t)e->pic_event - e->lag,
            to = (int64_t)event - e->lag;

    for (uint32_t i = 0; i < e->p->takes; i++) {
        const struct reception *r = &e->p->take[i];
        int64_t first = r->event > from ? r->event : from;
        int64_t end = (int64_t)r->event + r->words < to ? (int64_t)r->event + r->words : to;

        pointer += end > first ? 4 * (uint32_t)(end - first) : 0;
    }
    return pointer;
}

static void note_changes(struct emitter *e)
{
    uint32_t null = e->w->rig.arch.null_source;

    for (uint32_t i = 0; i < e->p->takes; i++) {
        const struct reception *r = &e->p->take[i];
        struct change *end = &e->at[r->event + r->words];

        e->at[r->event].mux = 1;
        e->at[r->event].source = r->source;
        if (!end->mux)
            *end =
                (struct change){ .send = end->send, .stop = end->stop, .mux = 1, .source = null };
    }
    for (uint32_t i = 0; i < e->p->takes; i++) {
        if (e->p->take[i].set_pointer) {
            e->at[e->p->take[i].pic].pic = 1;
            e->at[e->p->take[i].pic].pointer = e->p->take[i].to;
        }
    }
    for (uint32_t i = 0; i < e->p->sends; i++) {
        e->at[e->p->send[i].event].send = &e->p->send[i];
        e->at[e->p->send[i].event + e->p->send[i].words].stop = 1;
    }
}

static int is_change(const struct change *c)
{
    return c->send || c->stop || c->mux || c->pic;
}

/* Issues the settings of an event without sending, and perhaps the wait before them. */
static void emit_settings(struct emitter *e, uint32_t event, uint32_t next, const struct change *c)
{
    uint32_t wait = event - e->idle, n = next - event < 64 ? next - event : 64;

    if (c->mux && c->pic) {
        n = 1 + pick(e->w, n);
        emit(e, event, in_sendpicp(n, 0, 0, c->source, c->pointer));
        e->ctl = 0;
        e->idle = event + n;
        return;
    }
    if (!e->ctl && pick(e->w, 2)) {
        n = 1 + pick(e->w, n);
        emit(e, event,
             c->mux ? in_sendpic_source(n, c->source) : in_sendpic_pointer(n, c->pointer));
        e->idle = event + n;
        return;
    }
    if (wait >= (c->mux ? 4096 : 128) || pick(e->w, 2))
        wait = 0;
    e->idle = event + 1;
    if (c->mux)
        emit(e, event - wait, in_delayxpic(wait + 1, c->source));
    else
        emit(e, event - wait, in_delaypic(wait + 1, c->pointer));
}

/* Issues sends from `event` to `next`, the first of them with the settings of c. */
static void emit_sends(struct emitter *e, uint32_t event, uint32_t next, const struct change *c)
{
    const struct random_message *m = e->sending;
    int set = c->mux + c->pic;

    for (; event < next; set = 0) {
        uint32_t addr = m->addr + 4 * e->sent, left = next - event;
        uint32_t n = 1 + pick(e->w, left < 64 ? left : 64);
        int goes_on =
            e->sent || (e->p->send < m && m[-1].addr + 4 * m[-1].words == addr && e->ctl == m->ctl);

        if (pick(e->w, 3))
            n = left < 64 ? left : 64;
        if (set == 1 && goes_on && pick(e->w, 4)) {
            emit(e, event,
                 c->mux ? in_sendpic_source(n, c->source) : in_sendpic_pointer(n, c->pointer));
        } else if (set) {
            emit(e, event,
                 in_sendpicp(n, addr, m->ctl, c->mux ? c->source : e->source,
                             c->pic ? c->pointer : running_pointer(e, event)));
            if (!c->pic) {
                e->pic_value = running_pointer(e, event);
                e->pic_event = event;
            }
        } else if (goes_on && pick(e->w, 2)) {
            n = left;
            emit(e, event, in_sendoff(n, 0, m->ctl));
        } else {
            emit(e, event, in_send(n, addr, m->ctl));
        }
        e->ctl = m->ctl;
        e->sent += n;
        event += n;
    }
    e->idle = event;
}

static void emit_tile(struct exchange_world *w, uint32_t tile)
{
    static struct change at[EVENTS + 1000];
    struct emitter e = { .w = w, .p = &w->plan[tile], .tile = tile, .at = at };

    e.lag = arch_pic_lag(&w->rig.arch, physical(w, tile));
    e.source = w->rig.arch.null_source;
    e.pic_event = UINT32_MAX;
    e.pic_value = e.p->pointer;
    e.ctl = exchange_log_of(w->rig.x, tile)->stream_ctl;
    memset(at, 0, sizeof(at));
    note_changes(&e);
    for (uint32_t event = 0, next; event < EMU_COUNT_OF(at) - 1; event = next) {
        const struct change *c = &at[event];

        for (next = event + 1; next < EMU_COUNT_OF(at) - 1 && !is_change(&at[next]); next++)
            ;
        if (!is_change(c))
            continue;
        if (c->send || c->stop) {
            e.sending = c->send;
            e.sent = 0;
        }
        if (e.sending)
            emit_sends(&e, event, next, c);
        else if (c->mux || c->pic)
            emit_settings(&e, event, next, c);
        if (c->mux)
            e.source = c->source;
        if (c->pic) {
            e.pic_event = event;
            e.pic_value = c->pointer;
        }
    }
}

/* --- running a phase --- */

static uint32_t *memory_of(struct exchange_world *w, uint32_t *all, uint32_t tile)
{
    return all + (size_t)tile * w->words;
}

/* The model: every reception is found at its sender by source and event. */
static void apply_messages(struct exchange_world *w)
{
    uint32_t tiles = w->rig.arch.tiles, base = w->rig.arch.mem_base;
    uint32_t *now = (uint32_t *)w->rig.mem;

    memcpy(w->expected, now, (size_t)tiles * w->words * 4);
    for (uint32_t d = 0; d < tiles; d++) {
        for (uint32_t i = 0; i < w->plan[d].takes; i++) {
            const struct reception *r = &w->plan[d].take[i];
            uint32_t s = (uint32_t)arch_tile_logical(&w->rig.arch, r->source), k = 0;
            const struct plan *p = &w->plan[s];

            while (k < p->sends && (int)p->send[k].event + delay(w, s, d) != (int)r->event)
                k++;
            assert_true(k < p->sends);
            memcpy(memory_of(w, w->expected, d) + (r->to - base) / 4,
                   memory_of(w, now, s) + (p->send[k].addr - base) / 4, 4 * r->words);
        }
    }
}

static void plan_phase(struct exchange_world *w, uint32_t messages)
{
    uint32_t tiles = w->rig.arch.tiles;

    forget_plans(w);
    for (uint32_t k = 0; k < messages; k++) {
        uint32_t s = pick(w, tiles), fan = pick(w, 5) ? 1 : 1 + pick(w, 16);

        plan_message(w, s, fan, pick(w, 3) ? 0 : pick(w, EVENTS));
    }
    for (uint32_t i = 0; i < tiles; i++)
        plan_pointers(w, i);
}

static void issue_phase(struct exchange_world *w)
{
    for (uint32_t i = 0; i < w->rig.arch.tiles; i++)
        w->rig.tile[i].xcsr[XCSR_DELTA] = w->plan[i].pointer / 4;
    fabric_begin(&w->rig);
    for (uint32_t i = 0; i < w->rig.arch.tiles; i++)
        emit_tile(w, i);
    fabric_recv(&w->rig, EVENTS + 1000);
}

static void check_pointers(struct exchange_world *w)
{
    for (uint32_t i = 0; i < w->rig.arch.tiles; i++) {
        const struct plan *p = &w->plan[i];
        const struct reception *last = p->takes ? &p->take[p->takes - 1] : NULL;

        if (last)
            assert_int_equal(w->rig.tile[i].xcsr[XCSR_DELTA], last->to / 4 + last->words);
    }
}

static void run_phases(const char *machine, uint32_t mem_bytes, uint32_t phases, uint32_t messages,
                       uint64_t seed)
{
    uint32_t planned = 0, overlapping = 0;
    struct exchange_world w;

    world_new(&w, machine, 0, mem_bytes);
    w.random = seed;
    for (uint32_t i = 0; i < w.rig.arch.tiles * w.words; i++)
        ((uint32_t *)w.rig.mem)[i] = i * 2654435761u;
    for (uint32_t k = 0; k < phases; k++) {
        const struct exchange_phase *p;

        plan_phase(&w, messages);
        issue_phase(&w);
        apply_messages(&w);
        if (exchange_resolve(w.rig.x, w.rig.part, &p) != EMU_OK)
            fail_msg("%s", ss_error());
        exchange_deliver(p, w.rig.part, 0, w.rig.arch.tiles);
        assert_memory_equal(w.rig.mem, w.expected, (size_t)w.rig.arch.tiles * mem_bytes);
        check_pointers(&w);
        planned += w.messages;
        overlapping += p->overlaps != 0;
    }
    printf("# %s: %u messages in %u phases, %u of them in place\n", machine, planned, phases,
           overlapping);
    assert_true(planned > phases * messages / 3);
    assert_true(overlapping > 0);
    world_free(&w);
}

static void test_toys(void **state)
{
    (void)state;
    run_phases("toy4", 4096, 400, 60, 11);
    run_phases("toy64", 4096, 20, 1500, 12);
}

static void test_chips(void **state)
{
    (void)state;
    run_phases("mk2", 4096, 2, 9000, 13);
    run_phases("mk1", 4096, 1, 9000, 14);
}

/* --- damage --- */

static int settings_in_order(const struct exchange_set *s, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (s[i].event <= s[i - 1].event)
            return 0;
    }
    return 1;
}

/* Damages one tile's log, within what a supervisor could have issued. Returns 0 when it would not.
 */
static int damage_settings(struct exchange_world *w, struct exchange_set *s, size_t n,
                           uint32_t value)
{
    uint32_t i = pick(w, (uint32_t)n);
    struct exchange_set old = s[i];

    if (pick(w, 2))
        s[i].event += pick(w, 7) - 3;
    else
        s[i].value = value;
    if (s[i].event < 1u << 20 && settings_in_order(s, n))
        return 1;
    s[i] = old;
    return 0;
}

static int damage_send(struct exchange_world *w, struct exchange_log *log)
{
    uint32_t i = pick(w, (uint32_t)log->sends);
    struct exchange_send *s = &log->send[i];

    switch (pick(w, 4)) {
    case 0:
        if (s->words < 2)
            return 0;
        s->words--;
        log->words_out--;
        return 1;
    case 1:
        s->ctl = 1 + pick(w, 3);
        return 1;
    case 2:
        s->addr = w->rig.arch.mem_base + 4 * pick(w, w->words - s->words + 1);
        return 1;
    default:
        if (i + 1 < log->sends && s->event + s->words >= s[1].event)
            return 0;
        s->event++;
        return 1;
    }
}

static int damage_log(struct exchange_world *w)
{
    uint32_t tiles = w->rig.arch.tiles, d = pick(w, tiles);
    struct exchange_log *log = exchange_log_of(w->rig.x, d);
    uint32_t source =
        pick(w, 5) ? physical(w, (d + 1 + pick(w, tiles - 1)) % tiles) : w->rig.arch.null_source;

    switch (pick(w, 3)) {
    case 0:
        return log->sends ? damage_send(w, log) : 0;
    case 1:
        return log->muxes ? damage_settings(w, log->mux, log->muxes, source) : 0;
    default:
        return log->pics ? damage_settings(w, log->pic, log->pics,
                                           w->rig.arch.mem_base + 4 * pick(w, w->words + 1))
                         : 0;
    }
}

/* A machine of small memory elements, on which clashes are faults. */
static void make_clash(struct arch *a)
{
    a->number[ARCH_NUMBER_exchange_clash] = ARCH_CLASH_FAULT;
    a->element_bytes = 128;
    a->region0_bytes = 2048;
}

/* exchange_resolve() asserts that both resolvers report the same fault or give the same copies. */
static void damage_phases(const char *machine, uint32_t tiles, uint32_t phases, int clash,
                          uint32_t seen[EXCHANGE_FAULT_KINDS])
{
    struct exchange_world w;

    world_new(&w, machine, tiles, 4096);
    if (clash)
        make_clash(&w.rig.arch);
    for (uint32_t k = 0; k < phases; k++) {
        const struct exchange_phase *p;
        uint32_t wanted = 1 + pick(&w, 4);
        enum emu_status s;

        if (k % 20 == 0)
            plan_phase(&w, clash ? 10 : 100);
        issue_phase(&w);
        while (wanted)
            wanted -= damage_log(&w) != 0;
        s = exchange_resolve(w.rig.x, w.rig.part, &p);
        assert_true(s == EMU_OK || s == EMU_FAULT);
        seen[s == EMU_OK ? EXCHANGE_FAULT_NONE : exchange_last_fault(w.rig.x)->kind]++;
    }
    world_free(&w);
}

static void test_damage(void **state)
{
    uint32_t seen[EXCHANGE_FAULT_KINDS] = { 0 };

    (void)state;
    damage_phases("toy16", 0, 2500, 0, seen);
    damage_phases("mk2", 24, 2500, 0, seen);
    damage_phases("toy16", 0, 1000, 1, seen);
    damage_phases("mk2", 24, 1000, 1, seen);
    for (int k = 0; k < EXCHANGE_FAULT_KINDS; k++) {
        if (seen[k])
            printf("# %s %u\n", exchange_fault_name((enum exchange_fault_kind)k), seen[k]);
        assert_true(seen[k] || (k && k < EXCHANGE_FAULT_SILENT) ||
                    k == EXCHANGE_FAULT_MISSING_RECV ||
                    (k >= EXCHANGE_FAULT_CHIP_TWICE && k <= EXCHANGE_FAULT_CHIP_AND_HOST));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_toys),
        cmocka_unit_test(test_chips),
        cmocka_unit_test(test_damage),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
