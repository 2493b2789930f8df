/* step_search.c - finds the cycle at which something happens first: runs on with observers on the
 * tiles that matter, then goes back to it. */
#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/bsp/machine_state.h"
#include "emu/job/case_run.h"
#include "emu/step/step_search.h"

enum {
    CAREFUL_RUNS = 64,        /* from issue to issue of a tile, before larger pieces are tried */
    FIRST_CHUNK = 256,        /* cycles of a piece; pieces grow ... */
    LAST_CHUNK = 1 << 22,     /* ... to this, ... */
    PATIENT_MILLISECONDS = 50 /* ... while one takes less */
};

/* The first thing that was found, and when. */
struct event {
    int is_set;
    uint64_t cycle; /* of the position to go to, ... */
    uint64_t held;  /* ... and how far its tile is then; 0: as far as the others */
    uint64_t last;  /* STOP_BREAK: issues up to this cycle belong to it */
    struct stepper_stop stop;
};

struct step_search;

/* What is seen of one tile. */
struct watcher {
    struct step_search *x; /* borrowed */
    uint32_t chip, tile;
    struct observed *observed; /* owned */
    struct event event;
    int waits_for_sync; /* the event is a packet that came while the tile was in a sync */
    uint64_t issues;    /* that count for the goal */
    int is_last;        /* the issue under way is the one that was to be reached */
};

struct step_search {
    struct stepper *s; /* borrowed, like the goal */
    const struct goal *goal;
    uint64_t from;
    struct watcher watcher[STEPPER_POINTS + 1];
    unsigned watchers;
    size_t first_entry; /* of the record, that may end after `from` */
};

/* The position of a tile at a cycle of its own: it may have come there only later, because others
 * of its exchange were late. */
static void set_position(struct event *e, const struct stepper *s, uint32_t chip, uint32_t tile,
                         uint64_t cycle)
{
    uint64_t settled = machine_place(machine_of_chip(s->run, chip), tile).settled;
    int lags = settled > cycle && tile == s->tile && chip == s->chip;

    e->cycle = settled > cycle ? settled : cycle;
    e->held = lags ? cycle : 0;
}

static void take_earlier(struct event *best, const struct event *e)
{
    if (e->is_set && (!best->is_set || e->cycle < best->cycle))
        *best = *e;
}

/* ---- what observers see ---- */

static int of_goal(const struct watcher *w, const struct issue *i)
{
    const struct goal *g = w->x->goal;

    if (w->tile != w->x->s->tile || w->chip != w->x->s->chip)
        return 0;
    switch (g->kind) {
    case GOAL_ISSUE:
        return i->lane == w->x->s->lane;
    case GOAL_TILE:
        return 1;
    case GOAL_PC:
        return i->pc == g->number && (g->any_lane || i->lane == w->x->s->lane);
    default:
        return 0;
    }
}

/* Stops before an issue; contexts that issue there in the same round belong to it. */
static void stop_before(struct watcher *w, const struct issue *i, enum stop_reason why, int point)
{
    struct stepper *s = w->x->s;
    uint64_t round = stepper_round(s, w->chip, w->tile, i->cycle);
    struct event e = { .is_set = 1, .last = i->cycle };

    set_position(&e, s, w->chip, w->tile, round);
    if (s->stopped_at == w->x->from && i->cycle <= s->passed)
        return;
    if (w->event.is_set && w->event.cycle == e.cycle && w->event.held == e.held &&
        w->event.stop.point == point && w->event.stop.why == why) {
        w->event.stop.lanes |= 1u << i->lane;
        w->event.last = i->cycle;
        return;
    }
    e.stop = (struct stepper_stop){ .why = why, .point = point, .lanes = 1u << i->lane };
    take_earlier(&w->event, &e);
}

static int is_on(const struct stepper_point *p, const struct watcher *w)
{
    return p->chip == w->chip && p->tile == w->tile;
}

static void see_issue(void *ctx, const struct tile *t, const struct issue *i)
{
    struct watcher *w = ctx;
    struct stepper *s = w->x->s;

    (void)t;
    for (unsigned k = 0; k < STEPPER_POINTS && !w->x->goal->ignores_points; k++) {
        const struct stepper_point *p = &s->point[k];

        if (p->number && !p->is_watch && is_on(p, w) && p->addr == i->pc &&
            (p->lane == POINT_ANY_LANE || p->lane == i->lane))
            stop_before(w, i, STOP_BREAK, p->number);
    }
    if (!of_goal(w, i))
        return;
    if (w->x->goal->kind == GOAL_PC)
        stop_before(w, i, STOP_THERE, 0);
    else
        w->is_last = ++w->issues == (w->x->goal->kind == GOAL_ISSUE ? w->x->goal->number : 1);
}

static int overlap(uint32_t a, uint32_t a_bytes, uint32_t b, uint32_t b_bytes)
{
    return a < b + b_bytes && b < a + a_bytes;
}

static struct memory_writer writer_of(const struct issue *i, const struct issue_access *a,
                                      uint32_t chip)
{
    struct memory_writer w = { .kind = WRITER_CONTEXT,
                               .cycle = i->cycle,
                               .chip = chip,
                               .tile = i->tile,
                               .addr = a->addr,
                               .bytes = a->bytes,
                               .lane = i->lane,
                               .pc = i->pc };

    issue_text(&i->main, i->is_bundle ? &i->aux : NULL, NULL, w.text, sizeof(w.text));
    return w;
}

static void see_store(struct watcher *w, const struct issue *i, const struct issue_access *a)
{
    struct stepper *s = w->x->s;

    for (unsigned k = 0; k < STEPPER_POINTS; k++) {
        const struct stepper_point *p = &s->point[k];
        struct event e = { .is_set = 1 };

        set_position(&e, s, w->chip, w->tile, i->cycle + 1);
        if (!p->number || !p->is_watch || !is_on(p, w) ||
            !overlap(p->addr, p->bytes, a->addr, a->bytes))
            continue;
        e.stop = (struct stepper_stop){ .why = STOP_WATCH,
                                        .point = p->number,
                                        .writer = writer_of(i, a, w->chip) };
        take_earlier(&w->event, &e);
    }
}

static void see_issued(void *ctx, const struct tile *t, const struct issue *i)
{
    struct watcher *w = ctx;

    for (unsigned k = 0; k < i->accesses && !w->x->goal->ignores_points; k++) {
        if (i->access[k].is_store)
            see_store(w, i, &i->access[k]);
    }
    if (w->is_last) {
        struct event e = { .is_set = 1, .stop = { .why = STOP_THERE } };

        set_position(&e, w->x->s, w->chip, w->tile, i->cycle + 1);
        e.stop.issue = *i;
        issue_values(i, t, e.stop.values, sizeof(e.stop.values));
        take_earlier(&w->event, &e);
        w->is_last = 0;
    }
}

/* Of the host or of another chip. */
static int is_packet(const struct tile_arrival *a)
{
    return a->from == TILE_FROM_HOST || a->is_far;
}

/* When all words of the exchange are there that a tile is in. */
static uint64_t exchange_end_cycle(struct stepper *s, uint32_t chip, uint32_t tile)
{
    struct machine *m = machine_of_chip(s->run, chip);
    uint64_t release = machine_place(m, tile).release, last = 0;

    for (uint32_t i = 0; i < ss_image_arch(s->run->im)->tiles; i++) {
        struct machine_place p = machine_place(m, i);

        if (p.release == release && p.in_exchange && p.arrived > last)
            last = p.arrived;
    }
    return last + 1;
}

/* The cycle in which what has come to a tile is in memory: packets know theirs. */
static uint64_t arrival_cycle(struct stepper *s, uint32_t chip, uint32_t tile,
                              const struct tile_arrival *a)
{
    return is_packet(a) ? a->cycle : exchange_end_cycle(s, chip, tile);
}

static struct memory_writer writer_elsewhere(struct stepper *s, uint32_t chip, uint32_t tile,
                                             const struct tile_arrival *a)
{
    return (struct memory_writer){ .kind = a->from == TILE_FROM_HOST ? WRITER_HOST : WRITER_TILE,
                                   .cycle = arrival_cycle(s, chip, tile, a),
                                   .chip = chip,
                                   .tile = tile,
                                   .addr = a->addr,
                                   .bytes = a->bytes,
                                   .from_chip = a->is_far ? a->chip : chip,
                                   .from = a->from,
                                   .from_addr = a->from_addr };
}

static void see_arrival(void *ctx, const struct tile *t, const struct tile_arrival *a)
{
    struct watcher *w = ctx;
    struct stepper *s = w->x->s;
    uint64_t cycle = arrival_cycle(s, w->chip, w->tile, a);

    (void)t;
    for (unsigned k = 0; k < STEPPER_POINTS && !w->x->goal->ignores_points; k++) {
        const struct stepper_point *p = &s->point[k];
        struct event e = { .is_set = 1, .cycle = a->from == TILE_FROM_HOST ? cycle + 1 : cycle };

        if (!p->number || !p->is_watch || !is_on(p, w) ||
            !overlap(p->addr, p->bytes, a->addr, a->bytes))
            continue;
        if (e.cycle <= w->x->from)
            e.cycle = w->x->from + 1;
        e.stop = (struct stepper_stop){ .why = STOP_WATCH,
                                        .point = p->number,
                                        .writer = writer_elsewhere(s, w->chip, w->tile, a) };
        if (!w->event.is_set || e.cycle < w->event.cycle)
            w->waits_for_sync =
                is_packet(a) && machine_place(machine_of_chip(s->run, w->chip), w->tile).at_sync;
        take_earlier(&w->event, &e);
    }
}

/* ---- observers ---- */

static enum emu_status watch_tile(struct step_search *x, uint32_t chip, uint32_t tile)
{
    struct watcher *w = &x->watcher[x->watchers];
    const struct observer_calls calls = { w, see_issue, see_issued, see_arrival };

    for (unsigned i = 0; i < x->watchers; i++) {
        if (x->watcher[i].tile == tile && x->watcher[i].chip == chip)
            return EMU_OK;
    }
    *w = (struct watcher){ .x = x, .chip = chip, .tile = tile };
    TRY(observe_begin(machine_of_chip(x->s->run, chip), tile, &calls, &w->observed));
    x->watchers++;
    return EMU_OK;
}

static int looks_at_issues(const struct goal *g)
{
    return g->kind == GOAL_ISSUE || g->kind == GOAL_TILE || g->kind == GOAL_PC;
}

static enum emu_status begin(struct step_search *x)
{
    struct stepper *s = x->s;

    if (looks_at_issues(x->goal))
        TRY(watch_tile(x, s->chip, s->tile));
    for (unsigned k = 0; k < STEPPER_POINTS && !x->goal->ignores_points; k++) {
        if (s->point[k].number)
            TRY(watch_tile(x, s->point[k].chip, s->point[k].tile));
    }
    return EMU_OK;
}

static void end(struct step_search *x)
{
    for (unsigned i = 0; i < x->watchers; i++)
        observe_end(x->watcher[i].observed);
}

/* ---- what the record says ---- */

/* The n-th cycle after `from` at which the chosen tile begins another phase; 0: not yet. */
struct phases {
    uint64_t from, left, found;
};

static void add_phase(struct phases *p, uint64_t cycle)
{
    if (cycle <= p->from || p->found)
        return;
    p->from = cycle;
    if (!--p->left)
        p->found = cycle;
}

static void find_phase(const struct step_search *x, struct event *best)
{
    const struct stepper *s = x->s;
    struct machine_place here = machine_place(stepper_machine(s), s->tile);
    struct phases p = { x->from, x->goal->number, 0 };
    struct event e = { .is_set = 1, .stop = { .why = STOP_THERE } };

    for (size_t i = x->first_entry; i < record_count(stepper_record(s)); i++) {
        const struct record_step *r = record_at(stepper_record(s), i);
        struct tile_step t = record_tile(stepper_record(s), i, s->tile);
        uint32_t exchange = t.exchange_cycles + t.link_cycles;

        if (!stepper_is_boundary(s, i))
            continue;
        add_phase(&p, exchange ? r->release + exchange : 0);
        add_phase(&p, r->release + exchange + t.compute_cycles + 1);
        add_phase(&p, r->end);
    }
    if (here.received && here.received_at > here.release)
        add_phase(&p, here.received_at);
    if (here.at_sync)
        add_phase(&p, here.arrived + 1);
    e.cycle = p.found;
    if (p.found)
        take_earlier(best, &e);
}

static int has_name(const struct step_search *x, uint64_t superstep)
{
    const char *name = stepper_name(x->s, superstep);

    return name && !strncmp(name, x->goal->name, strlen(x->goal->name));
}

/* Beginnings of supersteps after `from`. */
static void find_boundary(const struct step_search *x, struct event *best)
{
    const struct stepper *s = x->s;

    for (size_t i = x->first_entry; i < record_count(stepper_record(s)); i++) {
        const struct record_step *r = record_at(stepper_record(s), i);
        struct event e = { .is_set = 1, .cycle = r->end, .stop = { .why = STOP_THERE } };

        if (!stepper_is_boundary(s, i) || r->end <= x->from)
            continue;
        if (x->goal->kind == GOAL_SUPERSTEP ? r->index + 1 == x->goal->number
                                            : has_name(x, r->index + 1) && !has_name(x, r->index))
            take_earlier(best, &e);
    }
}

/* The release of the sync at which a tile got a packet of the host. */
static void settle_packet(const struct step_search *x, struct watcher *w)
{
    const struct record *r = x->s->run->chip[w->chip].record;
    unsigned group = machine_tile_group(machine_of_chip(x->s->run, w->chip), w->tile);

    for (size_t i = 0; i < record_count(r) && w->waits_for_sync; i++) {
        if (record_at(r, i)->group != group || record_at(r, i)->end < w->event.cycle - 1)
            continue;
        w->event.cycle = record_at(r, i)->end;
        w->waits_for_sync = 0;
    }
    if (w->waits_for_sync && x->s->state == STEPPER_ENDED)
        w->event.cycle = stepper_end_cycle(x->s);
}

/* The first of all events at or before `to`. */
static struct event first_event(struct step_search *x, uint64_t to)
{
    struct stepper *s = x->s;
    struct event best = { 0 }, at_end = { .is_set = 1, .stop = { .why = STOP_END } };

    for (unsigned i = 0; i < x->watchers; i++) {
        struct watcher *w = &x->watcher[i];

        observe_flush(w->observed);
        if (w->event.is_set && w->waits_for_sync)
            settle_packet(x, w);
        take_earlier(&best, &w->event);
    }
    if (x->goal->kind == GOAL_PHASE)
        find_phase(x, &best);
    if (x->goal->kind == GOAL_SUPERSTEP || x->goal->kind == GOAL_NAME)
        find_boundary(x, &best);
    if (x->goal->kind == GOAL_CYCLE && to >= x->goal->number)
        take_earlier(&best, &(struct event){ .is_set = 1,
                                             .cycle = x->goal->number,
                                             .stop = { .why = STOP_THERE } });
    if (s->state != STEPPER_RUNS) {
        at_end.cycle = stepper_end_cycle(s);
        take_earlier(&best, &at_end);
    } else if (best.is_set && best.cycle > to) {
        best.is_set = 0; /* something else may come before it */
    }
    return best;
}

/* ---- the search ---- */

/* Up to where to run next. Looking for an issue of a tile, at first from one to the next: then
 * nothing need be undone. A tile that lags behind the others gets there first. */
static uint64_t next_piece(const struct step_search *x, unsigned pieces, uint64_t chunk)
{
    struct stepper *s = x->s;
    struct machine_place p = machine_place(stepper_machine(s), s->tile);
    uint64_t to = s->cycle + chunk;

    if (s->held) {
        int lags =
            looks_at_issues(x->goal) && pieces < CAREFUL_RUNS && !p.waits && p.clock + 1 < s->cycle;

        stepper_hold(s, lags ? p.clock + 1 : 0);
        return s->cycle;
    }
    if (looks_at_issues(x->goal) && pieces < CAREFUL_RUNS && !p.waits)
        to = p.clock >= s->cycle ? p.clock + 1 : s->cycle + 1;
    return x->goal->kind == GOAL_CYCLE && to > x->goal->number ? x->goal->number : to;
}

static enum emu_status look(struct step_search *x, struct event *best)
{
    struct stepper *s = x->s;
    uint64_t chunk = FIRST_CHUNK;

    for (unsigned pieces = 0; !best->is_set; pieces++) {
        double before = s->run_seconds, took;

        TRY(stepper_put_away(s, pieces == 0 && !looks_at_issues(x->goal)));
        before = s->run_seconds;
        TRY(stepper_advance(s, next_piece(x, pieces, chunk)));
        took = s->run_seconds - before;
        if (chunk < LAST_CHUNK && took * 1000 < PATIENT_MILLISECONDS)
            chunk *= 2;
        *best = first_event(x, s->cycle);
        if (!best->is_set && s->options.interrupted && s->options.interrupted())
            *best =
                (struct event){ .is_set = 1, .cycle = s->cycle, .stop = { .why = STOP_INTERRUPT } };
    }
    return EMU_OK;
}

/* The words of an exchange come after the tile's own part of it: goes on until they are there. */
static enum emu_status finish_exchange(struct stepper *s)
{
    uint64_t step = 1, end = s->cycle;

    stepper_hold(s, end);
    while (s->state == STEPPER_RUNS && machine_place(stepper_machine(s), s->tile).in_exchange) {
        TRY(stepper_advance(s, s->cycle + step));
        step = step < LAST_CHUNK ? 2 * step : step;
    }
    stepper_hold(s, s->cycle > end ? end : 0);
    return EMU_OK;
}

static size_t first_entry(const struct stepper *s)
{
    size_t n = record_count(stepper_record(s));

    return n > 2 * MACHINE_MAX_GROUPS ? n - 2 * MACHINE_MAX_GROUPS : 0;
}

enum emu_status stepper_go(struct stepper *s, const struct goal *g, struct stepper_stop *out)
{
    struct step_search x = { .s = s, .goal = g, .from = s->cycle, .first_entry = first_entry(s) };
    struct event best = { 0 };
    enum emu_status st;

    *out = (struct stepper_stop){ .why = STOP_END };
    if (s->state != STEPPER_RUNS)
        return EMU_OK;
    st = begin(&x);
    if (st == EMU_OK)
        st = look(&x, &best);
    end(&x);
    TRY(st);
    TRY(stepper_go_position(s, best.cycle, best.held));
    if (best.stop.why == STOP_END && s->state == STEPPER_RUNS)
        TRY(stepper_advance(s, s->cycle + FIRST_CHUNK)); /* a fault that nobody has seen before */
    if (g->kind == GOAL_PHASE && best.stop.why == STOP_THERE)
        TRY(finish_exchange(s));
    if (best.last) {
        s->stopped_at = s->cycle;
        s->passed = best.last;
    }
    *out = best.stop;
    return EMU_OK;
}

/* ---- backwards ---- */

/* Looks at a tile in pieces of the past, the latest first, without moving for good. */
struct look_back {
    struct stepper *s;
    uint32_t chip, addr, bytes; /* chip: of the tile that is looked at */
    struct memory_writer last;
    int found;
    struct event *issue; /* owned: ring: positions before the last n issues of the context */
    uint64_t n, issues, before;
};

static void note_issue(void *ctx, const struct tile *t, const struct issue *i)
{
    struct look_back *l = ctx;

    (void)t;
    if (i->lane != l->s->lane || i->cycle >= l->before)
        return;
    set_position(&l->issue[l->issues++ % l->n], l->s, l->chip, i->tile,
                 stepper_round(l->s, l->chip, i->tile, i->cycle));
}

static void note_store(void *ctx, const struct tile *t, const struct issue *i)
{
    struct look_back *l = ctx;

    (void)t;
    for (unsigned k = 0; k < i->accesses; k++) {
        const struct issue_access *a = &i->access[k];

        if (!a->is_store || !overlap(l->addr, l->bytes, a->addr, a->bytes))
            continue;
        l->last = writer_of(i, a, l->chip);
        l->found = 1;
    }
}

static void note_arrival(void *ctx, const struct tile *t, const struct tile_arrival *a)
{
    struct look_back *l = ctx;
    if (!overlap(l->addr, l->bytes, a->addr, a->bytes))
        return;
    l->last = writer_elsewhere(l->s, l->chip, t->id & 0xffff, a);
    l->found = 1;
}

/* Goes to state i and runs from there to a cycle, observed. */
static enum emu_status look_at(struct look_back *l, size_t i, uint64_t to, uint32_t tile,
                               const struct observer_calls *calls)
{
    struct stepper *s = l->s;
    struct observed *o;
    enum emu_status st;

    TRY(stepper_go_to(s, history_cycle(s->history, i)));
    TRY(observe_begin(machine_of_chip(s->run, l->chip), tile, calls, &o));
    st = stepper_advance(s, to);
    observe_flush(o);
    observe_end(o);
    return st;
}

enum emu_status stepper_last_writer(struct stepper *s, uint32_t chip, uint32_t tile, uint32_t addr,
                                    uint32_t bytes, struct memory_writer *out, int *found)
{
    struct look_back l = { .s = s, .chip = chip, .addr = addr, .bytes = bytes };
    const struct observer_calls calls = { &l, NULL, note_store, note_arrival };
    uint64_t here = s->cycle, held = s->held, to = here;

    for (size_t i = history_find(s->history, here) + 1; i-- && !l.found;) {
        uint64_t from = history_cycle(s->history, i);

        if (from < to)
            TRY(look_at(&l, i, to, tile, &calls));
        to = from;
    }
    TRY(stepper_go_position(s, here, held));
    *out = l.last;
    *found = l.found;
    return EMU_OK;
}

enum emu_status stepper_back_issues(struct stepper *s, uint64_t n, uint64_t *found)
{
    struct look_back l = {
        .s = s, .chip = s->chip, .n = n, .before = s->held ? s->held : s->cycle
    };
    const struct observer_calls calls = { &l, note_issue, NULL, NULL };
    uint64_t here = s->cycle, left = n, to = here;
    struct event goal = { .cycle = here, .held = s->held };
    enum emu_status st = EMU_OK;

    l.issue = emu_alloc(n + 1, sizeof(*l.issue));
    if (!l.issue)
        return FAIL(NO_MEMORY, "the last issues of a context");
    for (size_t i = history_find(s->history, here) + 1; i-- && left && st == EMU_OK;) {
        uint64_t from = history_cycle(s->history, i), seen;

        l.issues = 0;
        if (from < to)
            st = look_at(&l, i, to, s->tile, &calls);
        seen = l.issues < left ? l.issues : left;
        if (seen)
            goal = l.issue[(l.issues - seen) % n];
        left -= seen;
        to = from;
    }
    ss_free(l.issue);
    *found = n - left;
    TRY(st);
    return stepper_go_position(s, goal.cycle, goal.held);
}
