/* schedule_pass.c - one order of sends in, times out.
 *
 * A pass gives the sends their times one after the other, each the earliest at which its sender and
 * all its receivers are free; so it never takes an event of a port twice. The memory of a tile is a
 * port of its own for objects that are sent from and stored into, where the machine forbids both at
 * one event: a word takes it at the event at which it is read or stored. A round pushes the
 * schedule towards its end in reversed time, latest sends first, and then back again in the order
 * of the starts, which closes gaps.
 */
#include <string.h>

#include "programs/compiler/schedule/schedule_private.h"

enum {
    PASSES_MIN = 3,        /* of a large exchange */
    PASSES_MAX = 40,       /* of a small one */
    PASS_WORK = 1 << 20,   /* about so many receivers in all passes together */
    PASS_EVENTS = 1 << 12, /* over so many events one receiver costs as much again */
    AHEAD_JOB = 16,        /* sends ahead at which its job is fetched, its ports, */
    AHEAD_USE = 12,
    AHEAD_ROWS = 8, /* their first rows, and their bits from there on */
    AHEAD_BITS = 4,
    HOPELESS = 4 /* a pass is given up at so many times the least events */
};

void search_free(struct search *f)
{
    timelines_free(&f->ports);
    ss_free(f->use);
    ss_free(f->job);
    ss_free(f->key);
    ss_free(f->scratch);
    ss_free(f->start);
    ss_free(f->phase);
    ss_free(f->arrived);
    ss_free(f->end);
    ss_free(f->least);
    ss_free(f->best.start);
}

/* ---- parts ---- */

static uint32_t root_of(uint32_t *above, uint32_t port)
{
    while (above[port] != port) {
        above[port] = above[above[port]];
        port = above[port];
    }
    return port;
}

/* Joins the ports of every send and numbers the connected parts. above: [ports]. */
static void number_parts(struct search *f, uint32_t *above, uint32_t *number)
{
    const struct send_list *l = f->l;

    for (uint32_t p = 0; p < f->s->ports; p++)
        above[p] = p;
    for (uint32_t j = 0; j < l->sends; j++)
        for (uint32_t i = f->job[j].first_use; i < f->job[j + 1].first_use; i++)
            above[root_of(above, f->use[i].port)] = root_of(above, l->send[j].point);
    for (uint32_t j = 0; j < l->sends; j++) {
        uint32_t root = root_of(above, l->send[j].point);

        if (!number[root])
            number[root] = ++f->parts;
        f->job[j].part = number[root] - 1;
    }
}

/* Parts of the exchange that have no port in common are judged separately. */
static enum emu_status find_parts(struct search *f)
{
    uint32_t *above = emu_alloc(f->s->ports, sizeof(*above));
    uint32_t *number = emu_alloc(f->s->ports, sizeof(*number));
    int ok = above && number;

    if (ok) {
        number_parts(f, above, number);
        f->end = emu_alloc(f->parts, sizeof(*f->end));
        f->least = emu_alloc(f->parts, sizeof(*f->least));
        ok = f->end && f->least;
    }
    ss_free(above);
    ss_free(number);
    return ok ? EMU_OK : FAIL(NO_MEMORY, "the schedule of an exchange");
}

/* Events from the start of a send to its last word in memory. */
static uint32_t tail_of(const struct search *f, const struct send *send)
{
    int32_t most = 0;

    for (uint32_t k = send->first; k < send->first + send->dests; k++) {
        const struct send_dest *d = &f->l->dest[k];
        int32_t after = d->delay + (int32_t)f->s->point[d->point].lag;

        most = after > most ? after : most;
    }
    return (uint32_t)most + send->words - 1;
}

/* Says which ports the sends use; when, the passes say. */
static enum emu_status list_jobs(struct search *f)
{
    const struct send_list *l = f->l;
    uint32_t n = 0;

    f->job = emu_alloc((size_t)l->sends + 1, sizeof(*f->job));
    f->use = emu_alloc(2 * ((size_t)l->sends + l->dests), sizeof(*f->use));
    if (!f->job || !f->use)
        return FAIL(NO_MEMORY, "the schedule of an exchange");
    for (uint32_t j = 0; j < l->sends; j++) {
        const struct send *send = &l->send[j];

        f->job[j] = (struct job){ .first_use = n, .words = send->words, .tail = tail_of(f, send) };
        f->use[n++].port = send->point;
        if (send->in_place)
            f->use[n++].port = f->s->point[send->point].memory_port;
        for (uint32_t k = send->first; k < send->first + send->dests; k++) {
            f->use[n++].port = f->s->points + l->dest[k].point;
            if (l->dest[k].in_place)
                f->use[n++].port = f->s->point[l->dest[k].point].memory_port;
        }
    }
    f->job[l->sends].first_use = n;
    return EMU_OK;
}

void search_forget(struct search *f)
{
    f->best.events = UINT32_MAX;
    for (uint32_t i = 0; i < f->parts; i++)
        f->least[i] = f->below;
}

static uint32_t shortest_of(const struct send_list *l)
{
    uint32_t words = UINT32_MAX;

    for (uint32_t j = 0; j < l->sends; j++)
        words = l->send[j].words < words ? l->send[j].words : words;
    return words;
}

enum emu_status search_init(struct search *f, const struct schedule *s, const struct send_list *l,
                            uint32_t below)
{
    uint32_t n = l->sends;
    uint64_t work;

    *f = (struct search){ .s = s, .l = l, .below = below };
    f->key = emu_alloc(n, sizeof(*f->key));
    f->scratch = emu_alloc(n, sizeof(*f->scratch));
    f->start = emu_alloc(n, sizeof(*f->start));
    f->phase = emu_alloc(n, sizeof(*f->phase));
    f->arrived = emu_alloc(s->points, sizeof(*f->arrived));
    f->best.start = emu_alloc(n, sizeof(*f->best.start));
    if (!f->key || !f->scratch || !f->start || !f->phase || !f->arrived || !f->best.start)
        return FAIL(NO_MEMORY, "the schedule of an exchange");
    TRY(list_jobs(f));
    TRY(find_parts(f));
    search_forget(f);
    f->unit = schedule_grid(s, l, f->phase);
    work = (l->dests + 1) * (1 + (uint64_t)s->least / PASS_EVENTS);
    f->passes = (uint32_t)(PASS_WORK / work);
    f->passes = f->passes < PASSES_MIN   ? PASSES_MIN
                : f->passes > PASSES_MAX ? PASSES_MAX
                                         : f->passes;
    return timelines_init(&f->ports, s->ports, s->least + s->least / 8, shortest_of(l));
}

/* ---- passes ---- */

static void use_forward(struct search *f)
{
    const struct send_list *l = f->l;

    for (uint32_t j = 0; j < l->sends; j++) {
        const struct send *send = &l->send[j];
        struct timeline_use *use = &f->use[f->job[j].first_use];

        use++->shift = 0;
        if (send->in_place)
            use++->shift = 0;
        for (uint32_t k = send->first; k < send->first + send->dests; k++) {
            const struct send_dest *d = &l->dest[k];

            use++->shift = d->delay;
            if (d->in_place)
                use++->shift = d->delay + (int32_t)f->s->point[d->point].lag;
        }
    }
}

/* Sets the ports' clocks to reversed time. There, event 0 of a receiver is the last event at which
 * an arriving word is still in memory before `events`, event 0 of a memory is `events`, and event 0
 * of a sender is later than any event that matters. Returns, in forward time, what is the sender's
 * event -1 in reversed time. */
static int32_t use_backward(struct search *f, uint32_t events)
{
    const struct send_list *l = f->l;
    int32_t after = 0;

    for (uint32_t k = 0; k < l->dests; k++) {
        int32_t end = (int32_t)(events + 1 - f->s->point[l->dest[k].point].lag) - l->dest[k].delay;

        after = end > after ? end : after;
    }
    for (uint32_t j = 0; j < l->sends; j++) {
        const struct send *send = &l->send[j];
        struct timeline_use *use = &f->use[f->job[j].first_use];

        use++->shift = 0;
        if (send->in_place)
            use++->shift = (int32_t)events + 1 - after;
        for (uint32_t k = send->first; k < send->first + send->dests; k++) {
            const struct send_dest *d = &l->dest[k];
            int32_t shift = (int32_t)(events + 1 - f->s->point[d->point].lag) - after - d->delay;

            use++->shift = shift;
            if (d->in_place)
                use++->shift = shift;
        }
    }
    return after;
}

/* The first event at which a send can begin so that it arrives after everything placed before
 * it, at all its receivers. */
static uint32_t after_all(const struct search *f, const struct send *send)
{
    uint32_t from = 0;

    for (uint32_t k = send->first; k < send->first + send->dests; k++) {
        const struct send_dest *d = &f->l->dest[k];
        int32_t event = (int32_t)f->arrived[d->point] - d->delay;

        from = event > (int32_t)from ? (uint32_t)event : from;
    }
    return from;
}

static void note_arrival(struct search *f, const struct send *send, uint32_t event)
{
    for (uint32_t k = send->first; k < send->first + send->dests; k++) {
        const struct send_dest *d = &f->l->dest[k];

        f->arrived[d->point] = event + (uint32_t)d->delay + send->words;
    }
}

/* Whether a part should take its times from a pass in which it ends with so many events. Times that
 * were already good stay, because the orders that are tried first take less code. */
static int is_better(const struct search *f, uint32_t part)
{
    return f->end[part] < f->least[part] &&
           !schedule_is_within(f->s, f->least[part], SCHEDULE_GOOD_PERCENT);
}

/* The jobs of a pass lie all over memory: what the next ones need is fetched early. */
static void look_ahead(const struct search *f, uint32_t i)
{
    const struct order_key *key = f->key + i;
    const struct job *job;

    if (i + AHEAD_JOB >= f->l->sends)
        return;
    __builtin_prefetch(&f->job[key[AHEAD_JOB].send]);
    __builtin_prefetch(&f->use[f->job[key[AHEAD_USE].send].first_use]);
    job = &f->job[key[AHEAD_ROWS].send];
    for (uint32_t k = job->first_use; k < job[1].first_use; k++)
        timelines_prefetch_rows(&f->ports, f->use[k].port);
    job = &f->job[key[AHEAD_BITS].send];
    for (uint32_t k = job->first_use; k < job[1].first_use; k++)
        timelines_prefetch_bits(&f->ports, f->use[k].port, job->words);
}

/* One pass over all sends. */
struct pass {
    const struct attempt *a;
    int32_t after;   /* 0, or what use_backward() returned */
    uint32_t before; /* nothing follows a pass with at least so many events, */
    int last;        /* or this one: parts that cannot get better are left out */
    uint32_t events;
};

/* Gives a send its time. */
static enum emu_status fit_job(struct search *f, const struct pass *p, uint32_t j, uint32_t *event)
{
    const struct job *job = &f->job[j];
    struct timeline_grid grid = { .unit = p->a->on_grid ? f->unit : 1 };
    uint32_t from = 0;

    if (grid.unit > 1) /* all words are multiples of the unit */
        grid.phase =
            (p->after ? (uint32_t)p->after + f->unit - f->phase[j] : f->phase[j]) % f->unit;
    if (p->a->in_order && !p->after)
        from = after_all(f, &f->l->send[j]);
    TRY(timelines_fit(&f->ports, &f->use[job->first_use], job[1].first_use - job->first_use,
                      job->words, from, grid, event));
    if (p->a->in_order)
        note_arrival(f, &f->l->send[j], *event);
    return EMU_OK;
}

/* Gives the sends their times in the order of the keys. Sets f->hopeless when an order that must be
 * kept takes far too long. */
static enum emu_status fit_all(struct search *f, struct pass *p)
{
    /* An order that must be kept counts as a whole: where one part is hopeless, all are. */
    int leave_out = !p->after && (!p->a->in_order || f->parts == 1);

    f->hopeless = 0;
    p->events = 0;
    timelines_clear(&f->ports);
    f->passes -= f->passes > 0;
    memset(f->arrived, 0, f->s->points * sizeof(*f->arrived));
    memset(f->end, 0, f->parts * sizeof(*f->end));
    for (uint32_t i = 0; i < f->l->sends && !f->hopeless; i++) {
        uint32_t j = f->key[i].send, part = f->job[j].part, event, end;

        look_ahead(f, i);
        if (leave_out && p->last && !is_better(f, part))
            continue;
        TRY(fit_job(f, p, j, &event));
        f->start[j] = (int32_t)event;
        end = event + f->job[j].tail;
        f->end[part] = end > f->end[part] ? end : f->end[part];
        p->events = end > p->events ? end : p->events;
        p->last |= end >= p->before;
        f->hopeless = p->a->in_order && event / HOPELESS > f->s->least;
    }
    return EMU_OK;
}

/* When the last word of a send is in memory. */
static uint32_t send_end(const struct search *f, uint32_t j)
{
    return (uint32_t)f->start[j] + f->job[j].tail;
}

/* Takes over the times of the parts that are better than before. */
static void keep_best(struct search *f)
{
    for (uint32_t j = 0; j < f->l->sends; j++) {
        if (is_better(f, f->job[j].part))
            f->best.start[j] = (uint32_t)f->start[j];
    }
    f->best.events = 0;
    for (uint32_t i = 0; i < f->parts; i++) {
        f->least[i] = is_better(f, i) ? f->end[i] : f->least[i];
        f->best.events = f->least[i] > f->best.events ? f->least[i] : f->best.events;
    }
}

static enum emu_status pass_forward(struct search *f, struct pass *p)
{
    use_forward(f);
    TRY(fit_all(f, p));
    if (!f->hopeless)
        keep_best(f);
    return EMU_OK;
}

/* Pushes a schedule of `events` events towards its end and leaves the sends in the order of their
 * starts. */
static enum emu_status pass_backward(struct search *f, const struct attempt *a, uint32_t events)
{
    struct pass p = { .a = a, .before = UINT32_MAX };
    uint32_t n = f->l->sends;

    for (uint32_t i = 0; i < n; i++)
        f->key[i].key = events - send_end(f, f->key[i].send);
    order_sort(f->key, f->scratch, n);
    p.after = use_backward(f, events);
    TRY(fit_all(f, &p));
    for (uint32_t i = 0; i < n; i++) {
        uint32_t j = f->key[i].send;

        f->start[j] = p.after - (int32_t)f->job[j].words - f->start[j];
        f->key[i].key = (uint64_t)((int64_t)f->start[j] - INT32_MIN);
    }
    order_sort(f->key, f->scratch, n);
    return EMU_OK;
}

int search_is_good(const struct search *f)
{
    return schedule_is_within(f->s, f->best.events, SCHEDULE_GOOD_PERCENT);
}

/* The times of the best schedule, for pass_backward(). */
static void start_from_best(struct search *f, struct pass *p)
{
    for (uint32_t j = 0; j < f->l->sends; j++) {
        f->key[j].send = j;
        f->start[j] = (int32_t)f->best.start[j];
    }
    p->events = f->best.events;
}

/* The first pass of an attempt: times without a round. */
static enum emu_status first_pass(struct search *f, struct pass *p)
{
    switch (p->a->order) {
    case ORDER_BEST:
        start_from_best(f, p);
        return EMU_OK;
    case ORDER_ROUNDS:
        TRY(schedule_rounds(f->s, f->l, f->key, f->scratch));
        break;
    default:
        order_make(f->s, f->l, p->a->order, f->key, f->scratch);
    }
    return pass_forward(f, p);
}

enum emu_status search_attempt(struct search *f, const struct attempt *a)
{
    struct pass p = { .a = a, .before = UINT32_MAX, .last = !a->rounds };

    TRY(first_pass(f, &p));
    for (unsigned k = 0; k < a->rounds && f->passes && p.events < p.before; k++) {
        if (search_is_good(f))
            break;
        p.before = p.events;
        TRY(pass_backward(f, a, p.events));
        p.last = k + 1 == a->rounds || f->passes <= 1;
        TRY(pass_forward(f, &p));
    }
    return EMU_OK;
}
