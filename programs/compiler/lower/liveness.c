/* liveness.c - the live sets of all objects.
 *
 * A temporary is in use from the first step that accesses it to the last. Other objects with equal
 * accesses (the objects of a variable on most of its tiles) make up a class; classes are solved 64
 * at a time (liveness_solve.h).
 */
#include "programs/compiler/lower/liveness_solve.h"
#include "programs/compiler/lower/lower_private.h"

#include <string.h>

enum { BATCH = 64 };

/* A use of an object as one number, so that lists of uses can be hashed. */
#define USE_CODE(action, phase, flags) ((uint64_t)(action) << 16 | (uint64_t)(phase) << 8 | (flags))

struct range_vec {
    struct live_range *at;
    size_t count, cap;
};

struct life_work {
    struct graph_lowering *w;
    struct index_table sets; /* of live sets by their ranges */
    uint32_t *occurs_first;  /* of every action: in `occurs`; owned, like all that follows */
    uint32_t *occurs;        /* occurrences by action */
    size_t *use_first;       /* of every object: in `use` */
    uint64_t *use;           /* codes by object, ascending */
    uint32_t *class_of;      /* of every object that flows */
    VEC(uint32_t) class;     /* an object of each class */
    struct range_vec range[BATCH];
    uint32_t *open; /* of every set of a batch: where it began to live; LOWERED_NONE */
};

/* ---- live sets ---- */

/* The set of these ranges, ascending and disjoint; equal ones are stored once. */
static enum emu_status live_set_of(struct life_work *x, const struct live_range *r, size_t n,
                                   uint32_t *set)
{
    struct lowered *l = x->w->l;
    uint64_t hash = hash64(r, n * sizeof(*r));
    struct live_set new = { (uint32_t)l->live_range.count, (uint32_t)n };
    uint32_t probe = 0;

    while (index_table_next(&x->sets, hash, &probe, set)) {
        const struct live_set *s = &l->live_set.at[*set];

        if (s->count == n && (!n || !memcmp(&l->live_range.at[s->first], r, n * sizeof(*r))))
            return EMU_OK;
    }
    for (size_t i = 0; i < n; i++)
        TRY(VEC_PUSH(&l->live_range, r[i]));
    *set = (uint32_t)l->live_set.count;
    TRY(VEC_PUSH(&l->live_set, new));
    return index_table_add(&x->sets, hash, *set);
}

/* Appends [begin, end) to ranges that end at `begin` or before. */
static enum emu_status add_range(struct range_vec *v, uint32_t begin, uint32_t end)
{
    struct live_range *last = v->count ? &v->at[v->count - 1] : NULL;

    if (last && last->end == begin) {
        last->end = end;
        return EMU_OK;
    }
    return VEC_PUSH(v, (struct live_range){ begin, end });
}

int object_in_use(const struct lowered *l, const struct object *o, uint32_t step)
{
    const struct live_set *s = &l->live_set.at[o->live];

    for (uint32_t i = s->first; i < s->first + s->count; i++)
        if (l->live_range.at[i].begin <= step && step < l->live_range.at[i].end)
            return 1;
    return o->live == LIVE_ALWAYS;
}

int live_sets_meet(const struct lowered *l, uint32_t a, uint32_t b)
{
    const struct live_set *x = &l->live_set.at[a], *y = &l->live_set.at[b];
    uint32_t i = 0, k = 0;

    if (a == LIVE_ALWAYS || b == LIVE_ALWAYS)
        return 1;
    while (i < x->count && k < y->count) {
        struct live_range p = l->live_range.at[x->first + i], q = l->live_range.at[y->first + k];

        if (p.begin < q.end && q.begin < p.end)
            return 1;
        if (p.end < q.end)
            i++;
        else
            k++;
    }
    return 0;
}

/* ---- temporaries ---- */

/* Occurrences by action, in the order of steps. */
static enum emu_status sort_occurrences(struct life_work *x)
{
    const struct graph_lowering *w = x->w;
    size_t actions = w->action.count, n = w->occurrence.count;

    x->occurs_first = emu_alloc(actions + 2, sizeof(*x->occurs_first));
    x->occurs = emu_alloc(n + 1, sizeof(*x->occurs));
    if (!x->occurs_first || !x->occurs)
        return FAIL(NO_MEMORY, "%zu actions", n);
    for (size_t i = 0; i < n; i++)
        x->occurs_first[w->occurrence.at[i].action + 2]++;
    for (size_t i = 2; i < actions + 2; i++)
        x->occurs_first[i] += x->occurs_first[i - 1];
    for (size_t i = 0; i < n; i++)
        x->occurs[x->occurs_first[w->occurrence.at[i].action + 1]++] = (uint32_t)i;
    return EMU_OK;
}

static enum emu_status temporary_set(struct life_work *x, const struct object_note *o,
                                     uint32_t *set)
{
    struct range_vec *v = &x->range[0];

    v->count = 0;
    for (uint32_t i = x->occurs_first[o->action]; i < x->occurs_first[o->action + 1]; i++) {
        const struct occurrence *at = &x->w->occurrence.at[x->occurs[i]];

        if (o->first < PHASES)
            TRY(add_range(v, at->at[o->first], at->at[o->last] + 1));
    }
    return live_set_of(x, v->at, v->count, set);
}

/* Most temporaries of an action are used in the same phases, so their sets are kept in a table. */
static enum emu_status set_temporaries(struct life_work *x)
{
    enum { KINDS = (PHASES + 1) * PHASES };
    struct graph_lowering *w = x->w;
    uint32_t *known = emu_alloc(w->action.count + 1, KINDS * sizeof(*known)); /* + 1; 0: not yet */
    enum emu_status s = EMU_OK;

    if (!known)
        return FAIL(NO_MEMORY, "live sets of %zu actions", w->action.count);
    for (size_t i = 0; i < w->note.count && s == EMU_OK; i++) {
        const struct object_note *o = &w->note.at[i];
        uint32_t *k = &known[(size_t)o->action * KINDS + o->first * PHASES + o->last];

        if (o->life != LIFE_ACTION)
            continue;
        if (!*k) {
            s = temporary_set(x, o, k);
            *k += 1;
        }
        w->l->object.at[i].live = *k - 1;
    }
    ss_free(known);
    return s;
}

/* ---- classes ---- */

static int flows(const struct object_note *o)
{
    return o->life == LIFE_FLOW || o->life == LIFE_INPUT;
}

static enum emu_status sort_uses(struct life_work *x)
{
    const struct graph_lowering *w = x->w;
    size_t n = w->note.count;

    x->use_first = emu_alloc(n + 2, sizeof(*x->use_first));
    x->use = emu_alloc(w->use.count + 1, sizeof(*x->use));
    if (!x->use_first || !x->use)
        return FAIL(NO_MEMORY, "uses of %zu objects", n);
    for (size_t i = 0; i < w->use.count; i++)
        x->use_first[w->use.at[i].object + 2]++;
    for (size_t i = 2; i < n + 2; i++)
        x->use_first[i] += x->use_first[i - 1];
    for (size_t s = 0; s < w->action.count; s++) {
        const struct action *action = &w->action.at[s];

        for (uint32_t i = action->first_use; i < action->first_use + action->uses; i++) {
            const struct object_use *u = &w->use.at[i];

            x->use[x->use_first[u->object + 1]++] = USE_CODE(s, u->phase, u->flags);
        }
    }
    return EMU_OK;
}

static size_t uses_of(const struct life_work *x, uint32_t object)
{
    return x->use_first[object + 1] - x->use_first[object];
}

static enum emu_status find_class(struct life_work *x, struct index_table *t, uint32_t object)
{
    size_t n = uses_of(x, object);
    const uint64_t *use = x->use + x->use_first[object];
    unsigned life = x->w->note.at[object].life;
    uint64_t hash = hash64(use, n * sizeof(*use)) + life;
    uint32_t probe = 0, i;

    while (index_table_next(t, hash, &probe, &i)) {
        uint32_t other = x->class.at[i];

        if (x->w->note.at[other].life == life && uses_of(x, other) == n &&
            !memcmp(x->use + x->use_first[other], use, n * sizeof(*use))) {
            x->class_of[object] = i;
            return EMU_OK;
        }
    }
    x->class_of[object] = (uint32_t)x->class.count;
    TRY(index_table_add(t, hash, (uint32_t)x->class.count));
    return VEC_PUSH(&x->class, object);
}

static enum emu_status find_classes(struct life_work *x)
{
    struct index_table t = { 0 };
    enum emu_status s = EMU_OK;

    x->class_of = emu_alloc(x->w->note.count + 1, sizeof(*x->class_of));
    if (!x->class_of)
        return FAIL(NO_MEMORY, "classes of %zu objects", x->w->note.count);
    for (size_t i = 0; i < x->w->note.count && s == EMU_OK; i++) {
        if (flows(&x->w->note.at[i]))
            s = find_class(x, &t, (uint32_t)i);
    }
    index_table_free(&t);
    return s;
}

/* ---- batches ---- */

static void enter_uses(const struct life_work *x, struct dataflow *f, uint32_t object, uint64_t bit)
{
    f->host |= x->w->note.at[object].life == LIFE_INPUT ? bit : 0;
    for (size_t i = x->use_first[object]; i < x->use_first[object + 1]; i++) {
        uint32_t action = (uint32_t)(x->use[i] >> 16), phase = x->use[i] >> 8 & 0xff;

        for (uint32_t k = x->occurs_first[action]; k < x->occurs_first[action + 1]; k++) {
            uint32_t step = x->w->occurrence.at[x->occurs[k]].at[phase];

            EMU_ASSERT(step < f->steps);
            f->read[step] |= x->use[i] & USE_READ ? bit : 0;
            f->write[step] |= x->use[i] & USE_WRITE ? bit : 0;
            f->kill[step] |= x->use[i] & USE_KILL ? bit : 0;
        }
    }
}

/* The ranges of all sets of a batch, from one walk over the steps. */
static enum emu_status collect_ranges(struct life_work *x, const struct dataflow *f)
{
    uint64_t now = 0;

    for (unsigned k = 0; k < BATCH; k++)
        x->range[k].count = 0;
    for (uint32_t p = 0; p <= f->steps; p++) {
        uint64_t used = p < f->steps ? dataflow_used(f, p) : 0;

        for (uint64_t change = now ^ used; change; change &= change - 1) {
            unsigned k = (unsigned)__builtin_ctzll(change);

            if (used >> k & 1)
                x->open[k] = p;
            else
                TRY(add_range(&x->range[k], x->open[k], p));
        }
        now = used;
    }
    return EMU_OK;
}

/* Replaces each object of x->class, which stands for a class, by the live set of that class. */
static enum emu_status solve_classes(struct life_work *x, struct dataflow *f)
{
    size_t n = x->class.count;

    for (size_t first = 0; first < n; first += BATCH) {
        size_t end = first + BATCH < n ? first + BATCH : n;

        dataflow_clear(f);
        for (size_t i = first; i < end; i++)
            enter_uses(x, f, x->class.at[i], UINT64_C(1) << (i - first));
        dataflow_solve(f);
        TRY(collect_ranges(x, f));
        for (size_t i = first; i < end; i++)
            TRY(live_set_of(x, x->range[i - first].at, x->range[i - first].count, &x->class.at[i]));
    }
    return EMU_OK;
}

static enum emu_status set_flowing(struct life_work *x)
{
    struct dataflow f;
    enum emu_status s;

    TRY(sort_uses(x));
    TRY(find_classes(x));
    TRY(dataflow_init(&f, x->w->l));
    s = solve_classes(x, &f);
    dataflow_free(&f);
    for (size_t i = 0; i < x->w->note.count && s == EMU_OK; i++) {
        if (flows(&x->w->note.at[i]))
            x->w->l->object.at[i].live = x->class.at[x->class_of[i]];
    }
    return s;
}

static enum emu_status build(struct life_work *x)
{
    uint32_t steps = (uint32_t)x->w->l->step.count;

    TRY(VEC_PUSH(&x->w->l->live_range, (struct live_range){ 0, steps ? steps : 1 }));
    TRY(VEC_PUSH(&x->w->l->live_set, (struct live_set){ 0, 1 }));
    x->open = emu_alloc(BATCH, sizeof(*x->open));
    if (!x->open)
        return FAIL(NO_MEMORY, "liveness");
    TRY(sort_occurrences(x));
    TRY(set_temporaries(x));
    return set_flowing(x);
}

enum emu_status liveness_build(struct graph_lowering *w)
{
    struct life_work x = { .w = w };
    enum emu_status s = build(&x);

    for (unsigned k = 0; k < BATCH; k++)
        VEC_FREE(&x.range[k]);
    VEC_FREE(&x.class);
    index_table_free(&x.sets);
    ss_free(x.occurs_first);
    ss_free(x.occurs);
    ss_free(x.use_first);
    ss_free(x.use);
    ss_free(x.class_of);
    ss_free(x.open);
    return s;
}
