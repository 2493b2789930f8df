/* schedule.c - searches for times at which all sends of an exchange can begin, and keeps the
 * best.
 *
 * For cycles it attempts several orders until one is good; where multicasts stand in each other's
 * way, it then tries the same with multicasts split into parts. For memory it makes a single pass
 * with each order and compares the sizes of the code.
 */
#include "programs/compiler/schedule/schedule_private.h"

enum {
    SPLIT_PERCENT = 10, /* above schedule.least: worth the code of split multicasts */
    SPLIT_MOST = 8,     /* receivers of the largest parts */
    ROUNDS = 2,
    ROUNDS_JOBS_MAX = 1 << 18 /* above, ORDER_ROUNDS takes too long */
};

/* ---- cycles ---- */

/* The best schedule so far and its sends. */
struct choice {
    struct send_list list; /* owned, unless it is the list of the schedule itself */
    struct timing timing;  /* owned */
};

static void choice_free(struct choice *c, const struct schedule *s)
{
    if (c->list.send != s->list.send)
        send_list_free(&c->list);
    ss_free(c->timing.start);
}

static enum emu_status search_cycles(struct search *f, const struct attempt *attempt,
                                     size_t attempts)
{
    int unicast = f->l->sends == f->l->dests;

    for (size_t i = 0; i < attempts && f->passes && !search_is_good(f); i++) {
        if ((attempt[i].on_grid && f->unit == 1) ||
            (attempt[i].order == ORDER_ROUNDS && (!unicast || f->l->sends > ROUNDS_JOBS_MAX)))
            continue;
        TRY(search_attempt(f, &attempt[i]));
    }
    return EMU_OK;
}

/* The orders that need the least code come first. Then comes what suits exchanges without a
 * pattern: the grid, the best times so far pushed together, and the fullest tiles first. */
static enum emu_status search_whole(struct search *f)
{
    static const struct attempt attempts[] = {
        { .order = ORDER_BACK },
        { .order = ORDER_SHIFT },
        { .order = ORDER_WORDS },
        { .order = ORDER_ROUNDS },
        { .order = ORDER_BACK, .on_grid = 1, .rounds = 1 },
        { .order = ORDER_BEST, .rounds = ROUNDS },
        { .order = ORDER_LOAD, .rounds = ROUNDS },
    };

    return search_cycles(f, attempts, EMU_COUNT_OF(attempts));
}

/* Parts of multicasts: their sends are so many that only the best orders are worth their time. */
static enum emu_status search_split(struct search *f)
{
    static const struct attempt attempts[] = {
        { .order = ORDER_BACK },
        { .order = ORDER_SHIFT },
        { .order = ORDER_LOAD, .rounds = ROUNDS },
    };

    return search_cycles(f, attempts, EMU_COUNT_OF(attempts));
}

/* Searches times for a list of sends, of which it becomes the owner, and keeps the better schedule.
 */
static enum emu_status choose(const struct schedule *s, const struct send_list *l,
                              struct choice *best)
{
    struct choice mine = { .list = *l };
    struct search f;
    enum emu_status st = search_init(&f, s, &mine.list, best->timing.events);

    if (st == EMU_OK)
        st = l->send == s->list.send ? search_whole(&f) : search_split(&f);
    mine.timing = f.best;
    f.best.start = NULL;
    search_free(&f);
    if (st == EMU_OK && mine.timing.events < best->timing.events) {
        struct choice swap = *best;

        *best = mine;
        mine = swap;
    }
    choice_free(&mine, s);
    return st;
}

static enum emu_status choose_all(const struct schedule *s, struct choice *best)
{
    struct send_list l = s->list;

    TRY(choose(s, &l, best));
    for (uint32_t receivers = SPLIT_MOST; receivers; receivers /= 2) {
        if (schedule_is_within(s, best->timing.events, SPLIT_PERCENT))
            break;
        TRY(schedule_split(s, receivers, &l));
        if (l.sends)
            TRY(choose(s, &l, best));
    }
    return EMU_OK;
}

static enum emu_status schedule_cycles(const struct schedule *s, struct exchange_schedule *out)
{
    struct choice best = { .timing = { .events = UINT32_MAX } };
    enum emu_status st = choose_all(s, &best);

    if (st == EMU_OK)
        st = schedule_code(s, &best.list, &best.timing, out);
    choice_free(&best, s);
    return st;
}

/* ---- memory ---- */

/* A tenth less code is worth about a fifth more events. */
static double memory_cost(const struct exchange_schedule *x)
{
    return (double)x->code_bytes * (double)x->code_bytes * x->events;
}

static enum emu_status search_memory(struct search *f, struct exchange_schedule *out)
{
    static const struct attempt attempts[] = {
        { .order = ORDER_BACK },
        { .order = ORDER_SHIFT },
        { .order = ORDER_ADDRESS, .in_order = 1 },
        { .order = ORDER_BACK, .on_grid = 1 },
        { .order = ORDER_SHIFT, .on_grid = 1 },
        { .order = ORDER_LOAD },
    };

    for (size_t i = 0; i < EMU_COUNT_OF(attempts) && f->passes; i++) {
        struct exchange_schedule x;

        if (attempts[i].on_grid && f->unit == 1)
            continue;
        search_forget(f);
        TRY(search_attempt(f, &attempts[i]));
        if (f->best.events == UINT32_MAX)
            continue;
        TRY(schedule_code(f->s, f->l, &f->best, &x));
        if (!out->tile || memory_cost(&x) < memory_cost(out)) {
            struct exchange_schedule swap = *out;

            *out = x;
            x = swap;
        }
        exchange_schedule_free(&x);
    }
    return EMU_OK;
}

static enum emu_status schedule_memory(const struct schedule *s, struct exchange_schedule *out)
{
    struct search f;
    enum emu_status st = search_init(&f, s, &s->list, UINT32_MAX);

    if (st == EMU_OK)
        st = search_memory(&f, out);
    search_free(&f);
    if (st != EMU_OK)
        exchange_schedule_free(out);
    return st;
}

/* ---- the API ---- */

enum emu_status exchange_schedule(const struct exchange_problem *p, enum exchange_target target,
                                  struct exchange_schedule *out)
{
    struct schedule s;
    enum emu_status st;

    *out = (struct exchange_schedule){ .tile = NULL };
    if (!p->messages)
        return EMU_OK;
    st = schedule_read(&s, p);
    if (st == EMU_OK)
        st = target == EXCHANGE_MEMORY ? schedule_memory(&s, out) : schedule_cycles(&s, out);
    schedule_free(&s);
    return st;
}

void exchange_schedule_free(struct exchange_schedule *s)
{
    schedule_block_release(s->block);
    ss_free(s->object);
    *s = (struct exchange_schedule){ .tile = NULL };
}

const struct tile_schedule *exchange_schedule_of(const struct exchange_schedule *s, uint32_t tile)
{
    uint32_t low = 0, high = s->tiles;

    while (low < high) {
        uint32_t mid = (low + high) / 2;

        if (s->tile[mid].tile == tile)
            return &s->tile[mid];
        if (s->tile[mid].tile < tile)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}
