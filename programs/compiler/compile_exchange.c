/* compile_exchange.c - equal problems of lowered steps are found by hash, scheduled once, and share
 * the schedule, each with its objects.
 */
#include "programs/compiler/compile_exchange.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "emu/base/progress_meter.h"
#include "programs/compiler/exchange_problem.h"
#include "programs/compiler/schedule/schedule_store.h"

/* Room of one thread. */
struct phase_problem {
    struct step_messages messages;
    struct step_objects objects;
    struct hash128 hash;
};

struct step_key {
    struct hash128 hash;
    uint32_t step;
};

struct exchanges {
    const struct lowered *l;
    enum exchange_target target;
    int threads;
    struct schedule_store *store;  /* borrowed; NULL: none */
    struct exchange_schedule *out; /* borrowed */
    struct phase_problem *problem; /* by thread; owned */
    struct step_key *key;          /* STEP_EXCHANGE only; later sorted: equal ones together */
    uint32_t keys;
    uint32_t *group; /* first entry of key of every different problem */
    uint32_t groups;
    uint8_t *found;              /* by group: its schedule was in the store; owned */
    struct arch arch;            /* of the chip, with as much memory as a program may ask for */
    struct progress_meter meter; /* of messages */
    enum emu_status *status;     /* by step */
    char **error;                /* by step; owned */
};

static enum emu_status build_problem(const struct lowered *l, uint32_t step,
                                     struct phase_problem *p)
{
    TRY(step_messages_read(l, step, &p->messages));
    return step_messages_number(&p->messages, &p->objects, &p->hash);
}

/* ---- equal problems ---- */

static int compare_step_keys(const void *x, const void *y)
{
    const struct step_key *a = x, *b = y;

    if (a->hash.hi != b->hash.hi)
        return a->hash.hi < b->hash.hi ? -1 : 1;
    if (a->hash.lo != b->hash.lo)
        return a->hash.lo < b->hash.lo ? -1 : 1;
    return a->step < b->step ? -1 : a->step > b->step;
}

/* What takes longest comes first, so that no thread is left with it at the end. */
static int compare_groups(const void *x, const void *y, void *exchanges)
{
    const struct exchanges *e = exchanges;
    uint32_t a = e->key[*(const uint32_t *)x].step, b = e->key[*(const uint32_t *)y].step;
    uint64_t m = e->l->step.at[a].count, n = e->l->step.at[b].count;

    if (m != n)
        return m < n ? 1 : -1;
    return a < b ? -1 : a > b;
}

static void keep_error(struct exchanges *x, uint32_t step, enum emu_status s)
{
    x->status[step] = s;
    if (s != EMU_OK)
        x->error[step] = emu_strdup(ss_error());
}

static void hash_problems(struct exchanges *x)
{
#pragma omp parallel for schedule(dynamic, 4) num_threads(x->threads)
    for (uint32_t i = 0; i < x->keys; i++) {
        struct phase_problem *p = &x->problem[omp_get_thread_num()];
        struct step_key *k = &x->key[i];

        keep_error(x, k->step, build_problem(x->l, k->step, p));
        k->hash = p->hash;
    }
    qsort(x->key, x->keys, sizeof(*x->key), compare_step_keys);
    for (uint32_t i = 0; i < x->keys; i++)
        if (!i || !hash128_equal(x->key[i].hash, x->key[i - 1].hash))
            x->group[x->groups++] = i;
    qsort_r(x->group, x->groups, sizeof(*x->group), compare_groups, x);
}

/* ---- schedules ---- */

/* The objects of a problem are what the numbers in its schedule stand for. */
static enum emu_status keep_objects(const struct phase_problem *p, struct exchange_schedule *out)
{
    const struct step_objects *o = &p->objects;
    size_t bytes = o->base.count * sizeof(*o->base.at);

    out->object = emu_alloc(o->base.count + 1, sizeof(*out->object));
    if (!out->object)
        return FAIL(NO_MEMORY, "the %zu objects of an exchange", o->base.count);
    memcpy(out->object, o->base.at, bytes);
    return EMU_OK;
}

/* Finds the schedule of a group in the store, or makes it and keeps it there. */
static enum emu_status schedule_problem(struct exchanges *x, uint32_t g,
                                        const struct phase_problem *p,
                                        struct exchange_schedule *out)
{
    const struct exchange_problem e = step_problem(&p->messages, &x->arch);
    int stored = x->store && e.dest_count >= SCHEDULE_STORE_LEAST;
    struct hash128 key;

    if (stored) {
        key = schedule_store_key(x->store, &x->arch, x->target, x->key[x->group[g]].hash);
        x->found[g] = (uint8_t)schedule_store_find(x->store, key, out);
    }
    if (x->found[g])
        return EMU_OK;
    TRY(exchange_schedule(&e, x->target, out));
    if (stored)
        schedule_store_keep(x->store, key, &e, out);
    return EMU_OK;
}

/* The other steps of a group share the schedule of the first, each with objects of its own. */
static enum emu_status schedule_group(struct exchanges *x, uint32_t g, struct phase_problem *p)
{
    uint32_t first = x->group[g], step = x->key[first].step;

    TRY(build_problem(x->l, step, p));
    TRY(schedule_problem(x, g, p, &x->out[step]));
    TRY(keep_objects(p, &x->out[step]));
    for (uint32_t i = first + 1; i < x->keys && hash128_equal(x->key[i].hash, x->key[first].hash);
         i++) {
        struct exchange_schedule *s = &x->out[x->key[i].step];

        if (x->out[step].block)
            schedule_block_use(x->out[step].block, s);
        TRY(build_problem(x->l, x->key[i].step, p));
        TRY(keep_objects(p, s));
    }
    return EMU_OK;
}

/* Of all different exchanges, which is about how long they take. */
static uint64_t messages_of(const struct exchanges *x)
{
    uint64_t sum = 0;

    for (uint32_t g = 0; g < x->groups; g++)
        sum += x->l->step.at[x->key[x->group[g]].step].count;
    return sum;
}

static void schedule_groups(struct exchanges *x)
{
#pragma omp parallel for schedule(dynamic, 1) num_threads(x->threads)
    for (uint32_t g = 0; g < x->groups; g++) {
        uint32_t step = x->key[x->group[g]].step;

        keep_error(x, step, schedule_group(x, g, &x->problem[omp_get_thread_num()]));
        progress_meter_add(&x->meter, x->l->step.at[step].count);
    }
}

/* The first error of a step, with its message set again for ss_error(). */
static enum emu_status first_error(const struct exchanges *x)
{
    const struct lowered *l = x->l;

    for (uint32_t step = 0; step < l->step.count; step++)
        if (x->status[step] != EMU_OK)
            return ss_fail(x->status[step], "step %u, '%s': %s", step,
                           strings_text(&l->strings, l->step.at[step].name),
                           x->error[step] ? x->error[step] : "out of memory");
    return EMU_OK;
}

static enum emu_status exchanges_init(struct exchanges *x)
{
    size_t steps = x->l->step.count;

    x->key = emu_alloc(steps + 1, sizeof(*x->key));
    x->group = emu_alloc(steps + 1, sizeof(*x->group));
    x->found = emu_alloc(steps + 1, sizeof(*x->found));
    x->status = emu_alloc(steps + 1, sizeof(*x->status));
    x->error = emu_alloc(steps + 1, sizeof(*x->error));
    x->problem = emu_alloc((size_t)x->threads, sizeof(*x->problem));
    if (!x->key || !x->group || !x->found || !x->status || !x->error || !x->problem)
        return FAIL(NO_MEMORY, "exchanges of %zu steps", steps);
    for (uint32_t step = 0; step < steps; step++)
        if (x->l->step.at[step].kind == STEP_EXCHANGE)
            x->key[x->keys++].step = step;
    return EMU_OK;
}

static void exchanges_free(struct exchanges *x)
{
    for (size_t step = 0; x->error && step < x->l->step.count; step++)
        ss_free(x->error[step]);
    for (int i = 0; x->problem && i < x->threads; i++) {
        step_messages_free(&x->problem[i].messages);
        step_objects_free(&x->problem[i].objects);
    }
    ss_free(x->key);
    ss_free(x->group);
    ss_free(x->found);
    ss_free(x->status);
    ss_free(x->error);
    ss_free(x->problem);
}

static void add_totals(const struct exchanges *x, struct exchange_totals *t)
{
    *t = (struct exchange_totals){ .exchanges = x->keys, .different = x->groups };
    for (uint32_t g = 0; g < x->groups; g++)
        t->found += x->found[g];
    for (uint32_t i = 0; i < x->keys; i++) {
        t->messages += x->l->step.at[x->key[i].step].count;
        t->code_bytes += x->out[x->key[i].step].code_bytes;
        t->events += x->out[x->key[i].step].events;
    }
}

enum emu_status compile_exchanges(const struct lowered *l, enum exchange_target target, int threads,
                                  struct schedule_store *store, FILE *progress,
                                  struct exchange_schedule *out, struct exchange_totals *totals)
{
    struct exchanges x = { .l = l,
                           .target = target,
                           .threads = threads,
                           .store = store,
                           .out = out,
                           .arch = exchange_arch(ss_graph_arch(l->graph)) };
    enum emu_status s = exchanges_init(&x);

    if (s == EMU_OK) {
        hash_problems(&x);
        s = first_error(&x);
    }
    if (s == EMU_OK) {
        progress_meter_begin(&x.meter, progress, "exchange", "messages", messages_of(&x));
        schedule_groups(&x);
        progress_meter_end(&x.meter);
        s = first_error(&x);
    }
    if (s == EMU_OK)
        add_totals(&x, totals);
    exchanges_free(&x);
    return s;
}
