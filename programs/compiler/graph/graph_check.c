/* graph_check.c - what can be proven of a graph before it is compiled: mapping, fields, and that
 * the vertices of a compute set do not disturb each other. The program tree: program_check.c.
 *
 * Accesses of a compute set are sorted by place and swept once, so the time is near linear in the
 * number of runs. What is only read in a compute set is not even looked at. Threads share the
 * compute sets.
 */
#include "programs/compiler/graph/graph_private.h"

#include <string.h>

#include "programs/compiler/base/parallel.h"

/* Elements of a variable that one field of a vertex reads or writes. */
struct element_access {
    uint64_t begin; /* elements of all variables are numbered through: access_check.base */
    uint32_t elements;
    uint32_t position; /* of the first of them in the field */
    uint32_t vertex;   /* GRAPH_NONE: no vertex but one view */
    uint16_t field;    /* of the codelet */
    uint16_t written;
};

struct access_check {
    struct graph *g;
    uint64_t *base;  /* of each variable; owned, like the next */
    uint32_t *stamp; /* of each variable: 1 + the last compute set that writes it */
    VEC(struct element_access) access;
    struct element_access *spare; /* for sorting; owned */
    size_t spares;
};

static void check_free(struct access_check *c)
{
    VEC_FREE(&c->access);
    ss_free(c->spare);
    ss_free(c->stamp);
    ss_free(c->base);
}

static enum emu_status check_begin(struct access_check *c, struct graph *g)
{
    uint64_t next = 0;

    *c = (struct access_check){ .g = g };
    c->base = emu_alloc(g->variable.count, sizeof(*c->base));
    c->stamp = emu_alloc(g->variable.count, sizeof(*c->stamp));
    if (!c->base || !c->stamp)
        return FAIL(NO_MEMORY, "the check of %zu variables", g->variable.count);
    for (size_t k = 0; k < g->variable.count; k++) {
        c->base[k] = next;
        next += g->variable.at[k].elements;
    }
    return EMU_OK;
}

/* ---- accesses ---- */

/* Which accesses view_runs() adds, and where it is. */
struct adding {
    struct access_check *c;
    struct element_access next;
    uint32_t stamp; /* only variables with this one; 0: all */
};

static enum emu_status add_access(void *ctx, const struct view_run *run)
{
    struct adding *a = ctx;
    uint64_t left = run->elements;

    a->next.begin = a->c->base[run->var] + run->offset;
    while (left && (!a->stamp || a->c->stamp[run->var] == a->stamp)) {
        a->next.elements = left < GRAPH_NONE ? (uint32_t)left : GRAPH_NONE;
        TRY(VEC_PUSH(&a->c->access, a->next));
        a->next.begin += a->next.elements;
        a->next.position += a->next.elements;
        left -= a->next.elements;
    }
    a->next.position += (uint32_t)left;
    return EMU_OK;
}

/* Sorts by begin: a radix sort, 11 bits at a time, of the distance to the first one. */
static enum emu_status sort_accesses(struct access_check *c)
{
    enum { BITS = 11, BUCKETS = 1 << BITS };
    size_t n = c->access.count, sorted = 1;
    uint64_t low = UINT64_MAX, high = 0;

    for (size_t k = 0; k < n; k++) {
        uint64_t begin = c->access.at[k].begin;

        low = begin < low ? begin : low;
        high = begin > high ? begin : high;
        sorted += k && c->access.at[k - 1].begin <= begin;
    }
    if (sorted >= n)
        return EMU_OK;
    if (c->spares < n) {
        ss_free(c->spare);
        c->spares = c->access.cap; /* as large as what it changes places with */
        c->spare = emu_alloc(c->spares, sizeof(*c->spare));
        if (!c->spare) {
            c->spares = 0;
            return FAIL(NO_MEMORY, "%zu accesses of a compute set", n);
        }
    }
    for (unsigned shift = 0; shift < 64 && (high - low) >> shift; shift += BITS) {
        size_t first[BUCKETS + 1] = { 0 }, cap = c->access.cap;
        struct element_access *from = c->access.at, *to = c->spare;

        for (size_t k = 0; k < n; k++)
            first[1 + ((from[k].begin - low) >> shift) % BUCKETS]++;
        for (size_t k = 1; k < BUCKETS; k++)
            first[k] += first[k - 1];
        for (size_t k = 0; k < n; k++)
            to[first[((from[k].begin - low) >> shift) % BUCKETS]++] = from[k];
        c->access.at = to;
        c->access.cap = c->spares;
        c->spare = from;
        c->spares = cap;
    }
    return EMU_OK;
}

/* The variable that holds element `at` of all. */
static uint32_t var_of(const struct access_check *c, uint64_t at)
{
    uint32_t low = 0, high = (uint32_t)c->g->variable.count;

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;

        if (c->base[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static struct graph_text access_element(const struct access_check *c,
                                        const struct element_access *a)
{
    uint32_t var = var_of(c, a->begin);

    return element_text(c->g, var, a->begin - c->base[var]);
}

static const char *access_field(const struct access_check *c, const struct element_access *a)
{
    return c->g->vertex.at[a->vertex].codelet->field[a->field].name;
}

/* a and b overlap, at the beginning of b. */
static enum emu_status conflict(const struct access_check *c, const struct element_access *a,
                                const struct element_access *b)
{
    if (b->vertex == a->vertex && b->written && a->written && a->field == b->field)
        return FAIL(BAD_PROGRAM, "%s: field %s holds %s twice, expected every element written once",
                    vertex_text(c->g, b->vertex).text, access_field(c, b),
                    access_element(c, b).text);
    if (b->vertex == a->vertex && !(b->written && a->written))
        return FAIL(BAD_PROGRAM,
                    "%s: %s is element %u of field %s and element %u of field %s: expected to be "
                    "written to the place where it is read from",
                    vertex_text(c->g, b->vertex).text, access_element(c, b).text,
                    a->position + (uint32_t)(b->begin - a->begin), access_field(c, a), b->position,
                    access_field(c, b));
    return FAIL(
        BAD_PROGRAM, "%s is %s by %s, field %s, and %s by %s, field %s", access_element(c, b).text,
        a->written ? "written" : "read", vertex_text(c->g, a->vertex).text, access_field(c, a),
        b->written ? "written" : "read", vertex_text(c->g, b->vertex).text, access_field(c, b));
}

/* Whether b may access elements of a: one vertex may read and write the same place. */
static int in_place(const struct element_access *a, const struct element_access *b)
{
    return a->vertex == b->vertex && !(a->written && b->written) &&
           b->begin - a->begin == (uint64_t)b->position - a->position;
}

/* What reached furthest so far: a write, a read, and a read of another vertex than that one's. */
struct group_reach {
    const struct element_access *write, *read, *other;
};

static uint64_t access_end(const struct element_access *a)
{
    return a ? a->begin + a->elements : 0;
}

/* Of accesses that may overlap b, *a is one. */
static enum emu_status check_pair(const struct access_check *c, const struct element_access *a,
                                  const struct element_access *b)
{
    if (access_end(a) <= b->begin || in_place(a, b))
        return EMU_OK;
    return conflict(c, a, b);
}

static enum emu_status sweep_accesses(const struct access_check *c)
{
    struct group_reach r = { 0 };

    for (size_t k = 0; k < c->access.count; k++) {
        const struct element_access *a = &c->access.at[k];

        TRY(check_pair(c, r.write, a));
        if (a->written) {
            TRY(check_pair(c, r.read, a));
            TRY(check_pair(c, r.other, a));
            r.write = access_end(a) > access_end(r.write) ? a : r.write;
        } else if (access_end(a) > access_end(r.read)) {
            if (r.read && r.read->vertex != a->vertex)
                r.other = r.read;
            r.read = a;
        } else if (a->vertex != r.read->vertex && access_end(a) > access_end(r.other)) {
            r.other = a;
        }
    }
    return EMU_OK;
}

/* ---- views that are written ---- */

/* Whether a block surely has no element twice: each dimension steps over all smaller ones. */
static int block_is_injective(const struct view *v)
{
    struct view_fold f;
    uint64_t span = 0; /* of the dimensions seen, smallest stride first */

    view_fold(v, &f);
    for (unsigned k = 0; k < f.rank; k++) {
        unsigned smallest = GRAPH_NONE;

        for (unsigned j = 0; j < f.rank; j++)
            if (f.size[j] && (smallest == GRAPH_NONE || f.stride[j] < f.stride[smallest]))
                smallest = j;
        if (f.stride[smallest] <= (int64_t)span)
            return 0;
        span += (f.size[smallest] - 1) * (uint64_t)f.stride[smallest];
        f.size[smallest] = 0;
    }
    return 1;
}

struct constant_search {
    const struct graph *g;
    uint32_t found;
};

static void find_constant(void *ctx, uint32_t var)
{
    struct constant_search *s = ctx;

    if (s->found == GRAPH_NONE && s->g->variable.at[var].constant)
        s->found = var;
}

/* The first constant in a view; GRAPH_NONE: there is none. */
static uint32_t view_constant(const struct graph *g, uint32_t view)
{
    struct constant_search s = { g, GRAPH_NONE };

    view_vars(g, view, find_constant, &s);
    return s.found;
}

enum emu_status view_check_written(struct access_check *c, uint32_t view, const char *who)
{
    struct adding a = { c, { .vertex = GRAPH_NONE, .written = 1 }, 0 };
    const struct view *v = &c->g->view.at[view];
    uint32_t constant = view_constant(c->g, view);

    if (constant != GRAPH_NONE)
        return FAIL(BAD_PROGRAM, "%s: writes to the constant %s", who,
                    c->g->variable.at[constant].name);
    if (!v->elements || (v->kind == VIEW_BLOCK && block_is_injective(v)))
        return EMU_OK;
    c->access.count = 0;
    TRY(view_runs(c->g, view, 0, v->elements, add_access, &a));
    TRY(sort_accesses(c));
    for (size_t k = 1; k < c->access.count; k++)
        if (access_end(&c->access.at[k - 1]) > c->access.at[k].begin)
            return FAIL(BAD_PROGRAM, "%s: writes %s twice, expected every element once", who,
                        access_element(c, &c->access.at[k]).text);
    return EMU_OK;
}

/* ---- exchanges between chips ---- */

static const struct channel *use_channel(const struct graph *g, const struct channel_use *u)
{
    return &g->channel.at[u->channel];
}

static enum emu_status add_uses(struct access_check *c, const struct node *n)
{
    const struct graph *g = c->g;

    c->access.count = 0;
    for (uint32_t i = n->a; i < n->a + n->b; i++) {
        const struct channel_use *u = &g->use.at[i];
        struct adding a = { c, { .vertex = i }, 0 };

        a.next.written = use_channel(g, u)->way == CHANNEL_RECEIVE;
        TRY(view_runs(g, u->t.view, 0, g->view.at[u->t.view].elements, add_access, &a));
    }
    return sort_accesses(c);
}

/* a and b, of which at least one is received, overlap at the beginning of b. */
static enum emu_status use_conflict(const struct access_check *c, const struct element_access *a,
                                    const struct element_access *b, const char *who)
{
    const struct channel *x = use_channel(c->g, &c->g->use.at[a->vertex]),
                         *y = use_channel(c->g, &c->g->use.at[b->vertex]);

    return FAIL(BAD_PROGRAM, "%s: %s is %s channel %s and %s channel %s", who,
                access_element(c, b).text, a->written ? "received from" : "sent to", x->name,
                b->written ? "received from" : "sent to", y->name);
}

enum emu_status uses_check(struct access_check *c, const struct node *n, const char *who)
{
    const struct element_access *write = NULL, *any = NULL; /* what reached furthest so far */

    for (uint32_t i = n->a; i < n->a + n->b; i++)
        if (use_channel(c->g, &c->g->use.at[i])->way == CHANNEL_RECEIVE)
            TRY(view_check_written(c, c->g->use.at[i].t.view, who));
    TRY(add_uses(c, n));
    for (size_t k = 0; k < c->access.count; k++) {
        const struct element_access *a = &c->access.at[k];

        if (access_end(write) > a->begin)
            return use_conflict(c, write, a, who);
        if (a->written && access_end(any) > a->begin)
            return use_conflict(c, any, a, who);
        write = a->written && access_end(a) > access_end(write) ? a : write;
        any = access_end(a) > access_end(any) ? a : any;
    }
    return EMU_OK;
}

/* ---- vertices ---- */

/* The views of a field; *n of them. */
static const uint32_t *field_views(const struct graph *g, const struct codelet_field *type,
                                   const struct vertex_field *f, uint32_t *n)
{
    *n = field_is_edge(type->kind) ? 1 : field_is_list(type->kind) ? f->count : 0;
    return *n && field_is_list(type->kind) ? g->list.at + f->first : &f->view;
}

static enum emu_status check_field(const struct graph *g, uint32_t vertex,
                                   const struct codelet_field *type, const struct vertex_field *f)
{
    uint64_t elements = 0;
    const uint32_t *view;
    uint32_t n;

    if (type->kind == FIELD_LENGTH || type->kind == FIELD_APART)
        return EMU_OK;
    if (!f->set)
        return FAIL(BAD_PROGRAM, "%s: field %s is not %s", vertex_text(g, vertex).text, type->name,
                    field_is_edge(type->kind) || field_is_list(type->kind) ? "connected" : "set");
    view = field_views(g, type, f, &n);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t constant = GRAPH_NONE;

        elements += g->view.at[view[k]].elements;
        if (field_is_written(type->kind))
            constant = view_constant(g, view[k]);
        if (constant != GRAPH_NONE)
            return FAIL(BAD_PROGRAM, "%s: field %s writes to the constant %s",
                        vertex_text(g, vertex).text, type->name, g->variable.at[constant].name);
    }
    if (elements >= GRAPH_NONE)
        return FAIL(BAD_PROGRAM, "%s: field %s has %llu elements, expected less than 2^32 - 1",
                    vertex_text(g, vertex).text, type->name, (unsigned long long)elements);
    return EMU_OK;
}

struct stamping {
    uint32_t *stamp;
    uint32_t value;
    int found;
};

static void set_stamp(void *ctx, uint32_t var)
{
    struct stamping *s = ctx;

    s->stamp[var] = s->value;
}

static void has_stamp(void *ctx, uint32_t var)
{
    struct stamping *s = ctx;

    s->found |= s->stamp[var] == s->value;
}

/* Checks the fields of a vertex and marks the variables it writes. */
static enum emu_status check_vertex(struct access_check *c, uint32_t vertex, uint32_t stamp)
{
    const struct vertex *v = &c->g->vertex.at[vertex];
    struct stamping s = { c->stamp, stamp, 0 };

    for (unsigned k = 0; k < v->codelet->fields; k++) {
        const struct codelet_field *type = &v->codelet->field[k];
        const struct vertex_field *f = &c->g->field.at[v->field + k];
        const uint32_t *view;
        uint32_t n;

        TRY(check_field(c->g, vertex, type, f));
        view = field_views(c->g, type, f, &n);
        for (uint32_t i = 0; i < n && field_is_written(type->kind); i++)
            view_vars(c->g, view[i], set_stamp, &s);
    }
    return EMU_OK;
}

/* Adds what a vertex accesses of variables that the compute set writes. */
static enum emu_status add_vertex(struct access_check *c, uint32_t vertex, uint32_t stamp)
{
    const struct vertex *v = &c->g->vertex.at[vertex];

    for (unsigned k = 0; k < v->codelet->fields; k++) {
        const struct codelet_field *type = &v->codelet->field[k];
        struct adding a = { c, { .vertex = vertex, .field = (uint16_t)k }, stamp };
        const uint32_t *view;
        uint32_t n;

        a.next.written = field_is_written(type->kind) != 0;
        view = field_views(c->g, type, &c->g->field.at[v->field + k], &n);
        for (uint32_t i = 0; i < n; i++) {
            struct stamping s = { c->stamp, stamp, 0 };
            uint64_t elements = c->g->view.at[view[i]].elements;

            view_vars(c->g, view[i], has_stamp, &s);
            if (s.found)
                TRY(view_runs(c->g, view[i], 0, elements, add_access, &a));
            else
                a.next.position += (uint32_t)elements;
        }
    }
    return EMU_OK;
}

static enum emu_status check_compute_set(struct access_check *c, uint32_t set)
{
    const struct compute_set *s = &c->g->compute_set.at[set];

    for (size_t k = 0; k < s->vertex.count; k++)
        TRY(check_vertex(c, s->vertex.at[k], set + 1));
    c->access.count = 0;
    for (size_t k = 0; k < s->vertex.count; k++)
        TRY(add_vertex(c, s->vertex.at[k], set + 1));
    TRY(sort_accesses(c));
    return sweep_accesses(c);
}

/* ---- all ---- */

static enum emu_status check_mapping(struct graph *g, uint32_t var)
{
    const struct variable *v = &g->variable.at[var];
    const struct map_run *run;
    uint64_t missing = 0;
    size_t runs, first = SIZE_MAX;

    TRY(variable_map(g, var, &run, &runs));
    for (size_t k = 0; k < runs; k++) {
        if (run[k].tile != GRAPH_NONE)
            continue;
        missing += run[k].end - run[k].begin;
        first = first == SIZE_MAX ? k : first;
    }
    if (!missing)
        return EMU_OK;
    return FAIL(BAD_PROGRAM,
                "variable %s %s: %llu of %llu elements are on no tile, the first is %s: expected "
                "every element mapped",
                v->name, shape_text(v->rank, v->shape).text, (unsigned long long)missing,
                (unsigned long long)v->elements, element_text(g, var, run[first].begin).text);
}

static enum emu_status check_set(void *ctx, uint32_t set, unsigned thread)
{
    struct access_check *c = ctx; /* one for each thread */

    return check_compute_set(&c[thread], set);
}

static enum emu_status check_all(struct graph *g, struct access_check *c, unsigned threads)
{
    for (size_t k = 0; k < g->variable.count; k++) /* puts their mappings in order, too */
        TRY(check_mapping(g, (uint32_t)k));
    for (unsigned t = 0; t < threads; t++)
        TRY(check_begin(&c[t], g));
    TRY(parallel_each((uint32_t)g->compute_set.count, threads, check_set, c));
    return graph_check_program(g, &c[0]);
}

enum emu_status graph_check_by(struct graph *g, unsigned threads)
{
    unsigned n = parallel_threads(threads);
    struct access_check *c;
    enum emu_status s;

    TRY(ss_graph_status(g));
    c = emu_alloc(n, sizeof(*c));
    s = c ? check_all(g, c, n) : FAIL(NO_MEMORY, "the check of a graph by %u threads", n);
    for (unsigned t = 0; c && t < n; t++)
        check_free(&c[t]);
    ss_free(c);
    return s;
}

enum emu_status ss_graph_check(struct graph *g)
{
    return graph_check_by(g, 1);
}
