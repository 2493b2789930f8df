/* random_graph.h - random graphs from a seed: variables of all types and shapes, mapped in every
 * way, views of views, copies, compute sets, control flow, streams, functions, sync groups.
 *
 *   random_graph_new    builds the graph; `drop` leaves out steps of it, for the reducer
 *   random_graph_free
 *
 * Only elements that have a value are read: `have` says which do when nothing is left out (random
 * choices depend on it), `now` which do in the graph as built; a step that would read others is
 * left out, too. What a loop, a branch or a function does to them counts only while inside.
 */
#ifndef TESTS_RANDOM_GRAPH_H
#define TESTS_RANDOM_GRAPH_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs/graph/graph.h"

enum {
    RG_VARIABLES = 160,
    RG_STREAMS = 12,
    RG_SETS = 24,
    RG_FUNCTIONS = 6,
    RG_STEPS = 1024,   /* steps the reducer can leave out */
    RG_TRANSFERS = 64, /* at most of one stream in a run, by the weights of loops */
    RG_EDGES = 16,     /* vertices of a compute set, about */
    RG_RUNS = 8,       /* of a list */
    RG_MIXED = 255     /* group of a variable that lies in several */
};

enum { RG_READ = 1, RG_WRITTEN = 2 };

struct rg_variable {
    struct tensor t;
    enum elem elem;
    uint32_t elements;
    uint8_t kept, constant, initial, input;
    uint8_t reserved; /* steers a loop: not to be written */
    uint8_t group;
    uint8_t *have, *now; /* of each element: has a value */
    uint8_t *flag;       /* RG_READ, RG_WRITTEN: in the compute set or copy being drawn */
};

/* Tensors that a step reads and writes. */
struct rg_access {
    struct tensor read[RG_EDGES * 8], write[RG_EDGES * 8];
    unsigned reads, writes;
};

struct rg_stream {
    uint32_t stream;
    enum stream_way way;
    struct tensor t;
    uint32_t weight; /* transfers so far */
    uint8_t together;
};

struct rg_set {
    uint32_t set;
    struct rg_access access, built; /* of all its vertices; of those in the graph as built */
};

struct random_graph {
    struct graph *g;
    uint64_t random;
    uint32_t first, tiles; /* the window of tiles in use */
    uint32_t split;        /* tiles from here on are in group 1; first + tiles: there is none */
    unsigned vars, streams, sets, functions;
    struct rg_variable var[RG_VARIABLES];
    struct rg_stream stream[RG_STREAMS];
    struct rg_set set[RG_SETS];
    uint32_t function[RG_FUNCTIONS];
    uint32_t function_weight[RG_FUNCTIONS]; /* of its streams, when called once */
    unsigned group;       /* part of a program_together() being drawn; RG_MIXED: none */
    unsigned depth, left; /* nesting; steps still to be drawn */
    uint32_t weight;      /* how often the current place runs */
    unsigned dropping;    /* inside of something that is left out */
    const uint8_t *drop;  /* [RG_STEPS], NULL: nothing is left out */
    unsigned step, steps_built;
    unsigned names;
    struct program idle; /* never runs: operations that are left out */
};

/* ---- choices ---- */

static inline uint32_t rg_below(struct random_graph *r, uint32_t n)
{
    r->random = r->random * 6364136223846793005u + 1442695040888963407u;
    return n ? (uint32_t)((r->random >> 33) % n) : 0;
}

static inline int rg_chance(struct random_graph *r, uint32_t percent)
{
    return rg_below(r, 100) < percent;
}

static inline uint32_t rg_between(struct random_graph *r, uint32_t low, uint32_t high)
{
    return low + rg_below(r, high - low + 1);
}

static inline const char *rg_name(struct random_graph *r, const char *what, char out[24])
{
    snprintf(out, 24, "%s%u", what, r->names++);
    return out;
}

/* Random values: small numbers, any number, or any bits. */
static inline void rg_fill(struct random_graph *r, enum elem e, uint64_t n, void *data)
{
    unsigned style = rg_below(r, 4);

    for (uint64_t i = 0; i < n; i++) {
        uint32_t bits = rg_below(r, 1u << 16) << 16 | rg_below(r, 1u << 16);
        double d = ((double)rg_below(r, 2048) - 1024) / 128;
        struct fp_env env = { 0 };

        if (e == ELEM_F32 && style)
            bits = fp_bits((float)d);
        else if (e == ELEM_F16 && style)
            bits = fp_f16_from_f64(d, 0, &env);
        else if (style > 1)
            bits &= 7;
        memcpy((uint8_t *)data + i * elem_bytes(e), &bits, elem_bytes(e));
    }
}

/* ---- elements of views ---- */

typedef int rg_element_fn(struct random_graph *r, struct rg_variable *v, uint64_t element);

struct rg_walk {
    struct random_graph *r;
    rg_element_fn *fn;
};

/* Variables are numbered alike in graph and generator. */
static inline enum emu_status rg_walk_run(void *ctx, const struct view_run *run)
{
    struct rg_walk *w = ctx;

    for (uint64_t i = 0; i < run->elements; i++) {
        if (!w->fn(w->r, &w->r->var[run->var], run->offset + i))
            return EMU_USAGE;
    }
    return EMU_OK;
}

/* Whether fn says 1 for all elements of a view. */
static inline int rg_all(struct random_graph *r, struct tensor t, rg_element_fn *fn)
{
    struct rg_walk w = { r, fn };

    return t.view != GRAPH_NONE && /* no such view: the builder has reported an error */
           view_runs(r->g, t.view, 0, tensor_elements(r->g, t), rg_walk_run, &w) == EMU_OK;
}

static inline int rg_may_read(struct random_graph *r, struct rg_variable *v, uint64_t e)
{
    return v->have[e] && !(v->flag[e] & RG_WRITTEN) &&
           (r->group == RG_MIXED || v->group == r->group);
}

static inline int rg_may_write(struct random_graph *r, struct rg_variable *v, uint64_t e)
{
    return !v->constant && !v->reserved && !v->flag[e] &&
           (r->group == RG_MIXED || v->group == r->group);
}

static inline int rg_may_change(struct random_graph *r, struct rg_variable *v, uint64_t e)
{
    return v->have[e] && rg_may_write(r, v, e);
}

/* Marks an element once: 0 when the view has it twice. */
static inline int rg_mark_once(struct random_graph *r, struct rg_variable *v, uint64_t e)
{
    (void)r;
    if (v->flag[e])
        return 0;
    v->flag[e] = RG_WRITTEN;
    return 1;
}

static inline int rg_unmark(struct random_graph *r, struct rg_variable *v, uint64_t e)
{
    (void)r;
    v->flag[e] = 0;
    return 1;
}

static inline int rg_mark_read(struct random_graph *r, struct rg_variable *v, uint64_t e)
{
    (void)r;
    v->flag[e] |= RG_READ;
    return 1;
}

static inline int rg_is_now(struct random_graph *r, struct rg_variable *v, uint64_t e)
{
    (void)r;
    return v->now[e];
}

static inline int rg_is_had(struct random_graph *r, struct rg_variable *v, uint64_t e)
{
    (void)r;
    return v->have[e];
}

static inline int rg_set_now(struct random_graph *r, struct rg_variable *v, uint64_t e)
{
    (void)r;
    return v->now[e] = 1;
}

static inline int rg_set_have(struct random_graph *r, struct rg_variable *v, uint64_t e)
{
    (void)r;
    return v->have[e] = 1;
}

/* Whether the next step is left out by number, or lies inside of one that is. */
static inline int rg_step_dropped(struct random_graph *r)
{
    unsigned step = r->step++;

    return r->dropping || (r->drop && step < RG_STEPS && r->drop[step]);
}

static inline int rg_has_now(struct random_graph *r, const struct rg_access *a)
{
    for (unsigned i = 0; i < a->reads; i++) {
        if (!rg_all(r, a->read[i], rg_is_now))
            return 0;
    }
    return 1;
}

/* What a step has written has values from here on. */
static inline void rg_written(struct random_graph *r, const struct rg_access *a, int built)
{
    for (unsigned i = 0; i < a->writes; i++) {
        rg_all(r, a->write[i], rg_set_have);
        if (built)
            rg_all(r, a->write[i], rg_set_now);
    }
}

static inline void rg_clear_flags(struct random_graph *r)
{
    for (unsigned i = 0; i < r->vars; i++)
        memset(r->var[i].flag, 0, r->var[i].elements);
}

/* Whether a tensor may be written as a whole: allowed, and no element twice. Leaves no marks. */
static inline int rg_writable(struct random_graph *r, struct tensor t, rg_element_fn *may)
{
    int once;

    if (!rg_all(r, t, may))
        return 0;
    once = rg_all(r, t, rg_mark_once);
    rg_all(r, t, rg_unmark); /* all flags were 0: that is what `may` asks for */
    return once;
}

/* ---- variables and their tiles ---- */

static inline uint32_t rg_tile(struct random_graph *r)
{
    uint32_t low = r->first, high = r->first + r->tiles;

    if (r->group == 1)
        low = r->split;
    if (r->group == 0)
        high = r->split;
    return low + rg_below(r, high - low);
}

static inline uint32_t rg_shape(struct random_graph *r, uint32_t most, unsigned *rank,
                                uint32_t shape[TENSOR_MAX_RANK])
{
    uint32_t n = 1;

    *rank = rg_chance(r, 5) ? 0 : rg_between(r, 1, 4);
    for (unsigned k = 0; k < *rank; k++) {
        uint32_t room = most / n;
        uint32_t limit = k + 1 < *rank && room > 12 ? 12 : room;

        shape[k] = rg_between(r, 1, limit);
        if (rg_chance(r, 60) && limit >= 4)
            shape[k] = rg_between(r, limit / 2, limit);
        n *= shape[k];
    }
    return n;
}

/* Runs of random lengths up to `longest` on random tiles. */
static inline void rg_map_scattered(struct random_graph *r, struct tensor t, uint32_t longest)
{
    struct tensor flat = tensor_flatten(r->g, t);
    uint32_t n = (uint32_t)tensor_elements(r->g, t), at = 0;

    while (at < n) {
        uint32_t end = at + rg_between(r, 1, longest);

        if (end > n)
            end = n;
        graph_map(r->g, tensor_slice(r->g, flat, 0, at, end), rg_tile(r));
        at = end;
    }
}

static inline void rg_map_linear(struct random_graph *r, struct tensor t)
{
    static const uint32_t grains[] = { 1, 1, 2, 3, 4, 5, 8, 16, 64 };
    uint32_t low = rg_tile(r), high = rg_tile(r);

    if (low > high || rg_chance(r, 40)) {
        low = r->group == 1 ? r->split : r->first;
        high = (r->group == 0 ? r->split : r->first + r->tiles) - 1;
    }
    graph_map_linear(r->g, t, grains[rg_below(r, EMU_COUNT_OF(grains))], rg_between(r, 1, 8), low,
                     high - low + 1);
}

static inline void rg_map(struct random_graph *r, struct tensor t)
{
    uint32_t n = (uint32_t)tensor_elements(r->g, t);

    switch (rg_below(r, 8)) {
    case 0:
    case 1:
        graph_map(r->g, t, rg_tile(r));
        return;
    case 2:
        rg_map_scattered(r, t, 1 + n / 3);
        return;
    case 3:
        rg_map_scattered(r, t, rg_between(r, 3, 40));
        return;
    case 4: /* over another mapping, with holes */
        rg_map_linear(r, t);
        graph_map(r->g, tensor_slice(r->g, tensor_flatten(r->g, t), 0, n / 3, n - n / 3),
                  rg_tile(r));
        return;
    case 5: /* follows another one */
        for (unsigned i = 0; i < r->vars; i++) {
            if (r->var[i].elements == n && (r->group == RG_MIXED || r->var[i].group == r->group)) {
                graph_map_like(r->g, t, r->var[i].t);
                return;
            }
        }
        /* fall through */
    default:
        rg_map_linear(r, t);
    }
}

/* The group of all tiles of a variable, or RG_MIXED. */
static inline uint8_t rg_group_of(struct random_graph *r, const struct rg_variable *v)
{
    uint8_t group = 0;

    for (uint32_t e = 0; e < v->elements; e++) {
        uint8_t here = graph_tile_of(r->g, v->t, e) >= r->split;

        if (e && here != group)
            return RG_MIXED;
        group = here;
    }
    return group;
}

/* Adds the variable t, which the graph has just made. */
static inline struct rg_variable *rg_track(struct random_graph *r, struct tensor t, uint8_t defined)
{
    struct rg_variable *v = &r->var[r->vars++];

    *v = (struct rg_variable){ .t = t,
                               .elem = tensor_elem(r->g, t),
                               .elements = (uint32_t)tensor_elements(r->g, t) };
    v->have = emu_alloc(3, v->elements);
    EMU_ASSERT(v->have);
    v->now = v->have + v->elements;
    v->flag = v->now + v->elements;
    memset(v->have, defined, 2 * (size_t)v->elements);
    return v;
}

enum rg_kind { RG_PLAIN, RG_INPUT, RG_KEPT, RG_INITIAL, RG_CONSTANT };

static inline struct rg_variable *rg_variable(struct random_graph *r, enum elem e, unsigned rank,
                                              const uint32_t *shape, enum rg_kind kind)
{
    struct rg_variable *v;
    struct tensor t;
    uint64_t n = 1;
    char name[24];
    void *data;

    for (unsigned k = 0; k < rank; k++)
        n *= shape[k];
    data = emu_alloc(n, elem_bytes(e));
    EMU_ASSERT(data && r->vars < RG_VARIABLES);
    rg_fill(r, e, n, data);
    rg_name(r, elem_name(e), name);
    t = kind == RG_CONSTANT ? graph_constant(r->g, e, rank, shape, data, name)
                            : graph_variable(r->g, e, rank, shape, name);
    rg_map(r, t);
    if (kind == RG_INITIAL)
        graph_set_initial(r->g, t, data);
    if (kind == RG_KEPT || (kind == RG_INITIAL && rg_chance(r, 50)))
        graph_keep(r->g, t);
    emu_free(data);
    if (kind == RG_INPUT)
        graph_input(r->g, t);
    v = rg_track(r, t, kind != RG_PLAIN);
    v->constant = kind == RG_CONSTANT;
    v->initial = kind == RG_INITIAL;
    v->kept = kind == RG_KEPT;
    v->input = kind == RG_INPUT;
    v->group = rg_group_of(r, v);
    return v;
}

static inline void rg_variables(struct random_graph *r, uint32_t most)
{
    unsigned n = rg_between(r, 3, 12);
    uint32_t shape[TENSOR_MAX_RANK];
    unsigned rank;

    for (unsigned e = 0; e < ELEM_COUNT; e++) { /* of every type there is something to take */
        shape[0] = rg_between(r, 64, most < 300 ? most : 300);
        rg_variable(r, (enum elem)e, 1, shape, RG_KEPT);
    }
    for (unsigned i = 0; i < n; i++) {
        uint32_t pick = rg_below(r, 10);
        enum elem e = pick < 4   ? ELEM_F32
                      : pick < 8 ? ELEM_F16
                                 : (enum elem)rg_below(r, ELEM_COUNT);

        if (r->split < r->first + r->tiles && rg_chance(r, 40))
            r->group = rg_below(r, 2);
        rg_shape(r, rg_chance(r, 25) ? most : 60 + most / 16, &rank, shape);
        pick = rg_below(r, 10);
        rg_variable(r, e, rank, shape,
                    pick < 3   ? RG_PLAIN
                    : pick < 5 ? RG_INPUT
                    : pick < 7 ? RG_KEPT
                    : pick < 9 ? RG_INITIAL
                               : RG_CONSTANT);
        r->group = RG_MIXED;
    }
}

/* ---- views ---- */

static inline struct tensor rg_view_slice(struct random_graph *r, struct tensor t)
{
    unsigned rank = tensor_rank(r->g, t), dim;
    uint32_t size, begin;

    if (!rank)
        return t;
    dim = rg_below(r, rank);
    size = tensor_shape(r->g, t)[dim];
    begin = rg_below(r, size);
    if (!dim && rank > 1 && rg_chance(r, 30))
        return tensor_index(r->g, t, begin);
    return tensor_slice(r->g, t, dim, begin, rg_between(r, begin + 1, size));
}

static inline struct tensor rg_view_transpose(struct random_graph *r, struct tensor t)
{
    unsigned rank = tensor_rank(r->g, t), order[TENSOR_MAX_RANK];

    for (unsigned k = 0; k < rank; k++) {
        unsigned other = rg_below(r, k + 1);

        order[k] = order[other];
        order[other] = k;
    }
    return rank ? tensor_transpose(r->g, t, order) : t;
}

/* Any shape with as many elements. */
static inline struct tensor rg_view_reshape(struct random_graph *r, struct tensor t)
{
    uint32_t n = (uint32_t)tensor_elements(r->g, t), shape[TENSOR_MAX_RANK];
    unsigned rank = 0;

    while (rank < 3 && rg_chance(r, 70)) {
        uint32_t f = rg_between(r, 1, 9);

        if (n % f)
            f = n % 2 ? 1 : 2;
        shape[rank++] = f;
        n /= f;
    }
    shape[rank++] = n;
    return tensor_reshape(r->g, t, rank, shape);
}

/* Two parts of a dimension, in the other order, apart or overlapping. */
static inline struct tensor rg_view_concat(struct random_graph *r, struct tensor t)
{
    unsigned rank = tensor_rank(r->g, t), dim;
    uint32_t size, a, b;
    struct tensor part[2];

    if (!rank)
        return t;
    dim = rg_below(r, rank);
    size = tensor_shape(r->g, t)[dim];
    if (size < 2)
        return t;
    a = rg_between(r, 1, size - 1);
    b = rg_chance(r, 70) ? a : rg_between(r, 1, size - 1);
    part[0] = tensor_slice(r->g, t, dim, a, size);
    part[1] = tensor_slice(r->g, t, dim, 0, b);
    return tensor_concat(r->g, part, 2, dim);
}

static inline struct tensor rg_view_broadcast(struct random_graph *r, struct tensor t)
{
    unsigned rank = tensor_rank(r->g, t), dim = rg_below(r, rank + 1);
    uint32_t shape[TENSOR_MAX_RANK];

    if (rank > 3)
        return t;
    for (unsigned k = 0; k < rank; k++)
        shape[k + (k >= dim)] = tensor_shape(r->g, t)[k];
    shape[dim] = 1;
    return tensor_broadcast(r->g, tensor_reshape(r->g, t, rank + 1, shape), dim,
                            rg_between(r, 2, 5));
}

static inline struct tensor rg_view(struct random_graph *r, struct tensor t, int reading)
{
    for (unsigned steps = rg_below(r, 4); steps; steps--) {
        switch (rg_below(r, 6)) {
        case 0:
        case 1:
            t = rg_view_slice(r, t);
            break;
        case 2:
            t = rg_view_transpose(r, t);
            break;
        case 3:
            t = rg_view_reshape(r, t);
            break;
        case 4:
            t = rg_view_concat(r, t);
            break;
        default:
            if (reading && tensor_elements(r->g, t) < 64)
                t = rg_view_broadcast(r, t);
        }
    }
    return t;
}

static inline int rg_fits(struct random_graph *r, struct tensor t, rg_element_fn *may)
{
    return may == rg_may_read ? rg_all(r, t, may) : rg_writable(r, t, may);
}

/* A random view of any variable of a type that may be used so; 0: none was found. */
static inline int rg_any_view(struct random_graph *r, enum elem e, rg_element_fn *may,
                              struct tensor *out)
{
    for (unsigned tries = 0; tries < 12; tries++) {
        const struct rg_variable *v = &r->var[rg_below(r, r->vars)];

        if (v->elem != e)
            continue;
        *out = rg_view(r, v->t, may == rg_may_read);
        if (rg_fits(r, *out, may))
            return 1;
    }
    return 0;
}

/* The same with at most n elements in one dimension. */
static inline int rg_piece(struct random_graph *r, enum elem e, uint32_t n, rg_element_fn *may,
                           struct tensor *out)
{
    for (unsigned tries = 0; tries < 8; tries++) {
        const struct rg_variable *v = &r->var[rg_below(r, r->vars)];
        uint32_t have, at;

        if (v->elem != e)
            continue;
        *out = tensor_flatten(r->g, rg_chance(r, 60) ? v->t : rg_view(r, v->t, may == rg_may_read));
        have = (uint32_t)tensor_elements(r->g, *out);
        if (have > n) {
            at = rg_chance(r, 50) ? 0 : rg_below(r, have - n + 1);
            *out = tensor_slice(r->g, *out, 0, at, at + n);
        }
        if (rg_fits(r, *out, may))
            return 1;
    }
    return 0;
}

/* Exactly n elements of a type in one dimension, in up to six pieces. */
static inline int rg_flat(struct random_graph *r, enum elem e, uint32_t n, rg_element_fn *may,
                          struct tensor *out)
{
    struct tensor piece[6];
    uint32_t left = n;
    unsigned pieces = 0;

    while (left && pieces < EMU_COUNT_OF(piece)) {
        uint32_t want = left > 3 && rg_chance(r, 15) ? rg_between(r, 1, left) : left;

        if (!rg_piece(r, e, want, may, &piece[pieces]))
            return 0;
        left -= (uint32_t)tensor_elements(r->g, piece[pieces++]);
    }
    if (left || !pieces)
        return 0;
    *out = pieces == 1 ? piece[0] : tensor_concat(r->g, piece, pieces, 0);
    return rg_fits(r, *out, may);
}

#endif
