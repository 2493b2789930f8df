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
    HOPELESS = 4           /* a pass is given up at so many times the least events */
};

void search_free(struct search *f)
{
    timelines_free(&f->ports);
    emu_free(f->use);
    emu_free(f->first_use);
    emu_free(f->key);
    emu_free(f->scratch);
    emu_free(f->start);
    emu_free(f->phase);
    emu_free(f->arrived);
    emu_free(f->part);
    emu_free(f->end);
    emu_free(f->least);
    emu_free(f->best.start);
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
        for (uint32_t i = f->first_use[j]; i < f->first_use[j + 1]; i++)
            above[root_of(above, f->use[i].port)] = root_of(above, l->send[j].point);
    for (uint32_t j = 0; j < l->sends; j++) {
        uint32_t root = root_of(above, l->send[j].point);

        if (!number[root])
            number[root] = ++f->parts;
        f->part[j] = number[root] - 1;
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
    emu_free(above);
    emu_free(number);
    return ok ? EMU_OK : FAIL(NO_MEMORY, "the schedule of an exchange");
}

/* Says which ports the sends use; when, the passes say. */
static enum emu_status list_uses(struct search *f)
{
    const struct send_list *l = f->l;
    uint32_t n = 0;

    f->first_use = emu_alloc((size_t)l->sends + 1, sizeof(*f->first_use));
    f->use = emu_alloc(2 * ((size_t)l->sends + l->dests), sizeof(*f->use));
    if (!f->first_use || !f->use)
        return FAIL(NO_MEMORY, "the schedule of an exchange");
    for (uint32_t j = 0; j < l->sends; j++) {
        const struct send *send = &l->send[j];

        f->first_use[j] = n;
        f->use[n++].port = send->point;
        if (send->in_place)
            f->use[n++].port = f->s->point[send->point].memory_port;
        for (uint32_t k = send->first; k < send->first + send->dests; k++) {
            f->use[n++].port = f->s->points + l->dest[k].point;
            if (l->dest[k].in_place)
                f->use[n++].port = f->s->point[l->dest[k].point].memory_port;
        }
    }
    f->first_use[l->sends] = n;
    return EMU_OK;
}

void search_forget(struct search *f)
{
    f->best.events = UINT32_MAX;
    for (uint32_t i = 0; i < f->parts; i++)
        f->least[i] = UINT32_MAX;
}

enum emu_status search_init(struct search *f, const struct schedule *s, const struct send_list *l)
{
    uint32_t n = l->sends;
    uint64_t work;

    *f = (struct search){ .s = s, .l = l };
    f->key = emu_alloc(n, sizeof(*f->key));
    f->scratch = emu_alloc(n, sizeof(*f->scratch));
    f->start = emu_alloc(n, sizeof(*f->start));
    f->phase = emu_alloc(n, sizeof(*f->phase));
    f->arrived = emu_alloc(s->points, sizeof(*f->arrived));
    f->part = emu_alloc(n, sizeof(*f->part));
    f->best.start = emu_alloc(n, sizeof(*f->best.start));
    if (!f->key || !f->scratch || !f->start || !f->phase || !f->arrived || !f->part ||
        !f->best.start)
        return FAIL(NO_MEMORY, "the schedule of an exchange");
    TRY(list_uses(f));
    TRY(find_parts(f));
    search_forget(f);
    f->unit = schedule_grid(s, l, f->phase);
    work = (l->dests + 1) * (1 + (uint64_t)s->least / PASS_EVENTS);
    f->passes = (uint32_t)(PASS_WORK / work);
    f->passes = f->passes < PASSES_MIN   ? PASSES_MIN
                : f->passes > PASSES_MAX ? PASSES_MAX
                                         : f->passes;
    return timelines_init(&f->ports, s->ports, s->least + s->least / 8);
}

/* ---- passes ---- */

static void use_forward(struct search *f)
{
    const struct send_list *l = f->l;

    for (uint32_t j = 0; j < l->sends; j++) {
        const struct send *send = &l->send[j];
        struct timeline_use *use = &f->use[f->first_use[j]];

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
        struct timeline_use *use = &f->use[f->first_use[j]];

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

/* Gives the sends their times in the order of the keys. after: 0, or what use_backward() returned.
 * Sets f->hopeless when an order that must be kept takes far too long. */
static enum emu_status fit_all(struct search *f, const struct attempt *a, int32_t after)
{
    const struct send_list *l = f->l;
    struct timeline_grid grid = { .unit = a->on_grid ? f->unit : 1 };

    f->hopeless = 0;
    timelines_clear(&f->ports);
    f->passes -= f->passes > 0;
    memset(f->arrived, 0, f->s->points * sizeof(*f->arrived));
    for (uint32_t i = 0; i < l->sends && !f->hopeless; i++) {
        uint32_t j = f->key[i].send, event;
        const struct send *send = &l->send[j];

        if (grid.unit > 1) /* all words are multiples of the unit */
            grid.phase = (after ? (uint32_t)after + f->unit - f->phase[j] : f->phase[j]) % f->unit;
        TRY(timelines_fit(&f->ports, &f->use[f->first_use[j]],
                          f->first_use[j + 1] - f->first_use[j], send->words,
                          a->in_order && !after ? after_all(f, send) : 0, grid, &event));
        if (a->in_order)
            note_arrival(f, send, event);
        f->start[j] = (int32_t)event;
        f->hopeless = a->in_order && event / HOPELESS > f->s->least;
    }
    return EMU_OK;
}

/* When the last word of a send is in memory. */
static uint32_t send_end(const struct search *f, uint32_t j)
{
    const struct send *send = &f->l->send[j];
    int32_t most = 0;

    for (uint32_t k = send->first; k < send->first + send->dests; k++) {
        const struct send_dest *d = &f->l->dest[k];
        int32_t after = d->delay + (int32_t)f->s->point[d->point].lag;

        most = after > most ? after : most;
    }
    return (uint32_t)(f->start[j] + most + (int32_t)send->words - 1);
}

/* Whether a part should take its times from this pass. Times that were already good stay, because
 * the orders that are tried first take less code. */
static int is_better(const struct search *f, uint32_t part)
{
    return f->end[part] < f->least[part] &&
           !schedule_is_within(f->s, f->least[part], SCHEDULE_GOOD_PERCENT);
}

/* Takes over the times of the parts that are better than before. */
static void keep_best(struct search *f)
{
    for (uint32_t j = 0; j < f->l->sends; j++) {
        if (is_better(f, f->part[j]))
            f->best.start[j] = (uint32_t)f->start[j];
    }
    f->best.events = 0;
    for (uint32_t i = 0; i < f->parts; i++) {
        f->least[i] = is_better(f, i) ? f->end[i] : f->least[i];
        f->best.events = f->least[i] > f->best.events ? f->least[i] : f->best.events;
    }
}

static enum emu_status pass_forward(struct search *f, const struct attempt *a, uint32_t *events)
{
    use_forward(f);
    TRY(fit_all(f, a, 0));
    *events = 0;
    memset(f->end, 0, f->parts * sizeof(*f->end));
    for (uint32_t j = 0; j < f->l->sends; j++) {
        uint32_t end = send_end(f, j), *most = &f->end[f->part[j]];

        *most = end > *most ? end : *most;
        *events = end > *events ? end : *events;
    }
    if (!f->hopeless)
        keep_best(f);
    return EMU_OK;
}

/* Pushes a schedule of `events` events towards its end and leaves the sends in the order of their
 * starts. */
static enum emu_status pass_backward(struct search *f, const struct attempt *a, uint32_t events)
{
    uint32_t n = f->l->sends;
    int32_t after;

    for (uint32_t i = 0; i < n; i++)
        f->key[i].key = events - send_end(f, f->key[i].send);
    order_sort(f->key, f->scratch, n);
    after = use_backward(f, events);
    TRY(fit_all(f, a, after));
    for (uint32_t i = 0; i < n; i++) {
        uint32_t j = f->key[i].send;

        f->start[j] = after - (int32_t)f->l->send[j].words - f->start[j];
        f->key[i].key = (uint64_t)((int64_t)f->start[j] - INT32_MIN);
    }
    order_sort(f->key, f->scratch, n);
    return EMU_OK;
}

int search_is_good(const struct search *f)
{
    return schedule_is_within(f->s, f->best.events, SCHEDULE_GOOD_PERCENT);
}

enum emu_status search_attempt(struct search *f, const struct attempt *a)
{
    uint32_t events, before = UINT32_MAX;

    if (a->order == ORDER_ROUNDS)
        TRY(schedule_rounds(f->s, f->l, f->key, f->scratch));
    else
        order_make(f->s, f->l, a->order, f->key, f->scratch);
    TRY(pass_forward(f, a, &events));
    for (unsigned k = 0; k < a->rounds && f->passes && events < before; k++) {
        if (search_is_good(f))
            break;
        before = events;
        TRY(pass_backward(f, a, events));
        TRY(pass_forward(f, a, &events));
    }
    return EMU_OK;
}
