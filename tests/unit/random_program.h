/* random_program.h - the program of a random graph: copies, compute sets, streams, control flow.
 *
 * Every step that changes something is numbered; the reducer leaves steps out by number. A step is
 * left out, too, when it would read what then has no value.
 */
#ifndef TESTS_RANDOM_PROGRAM_H
#define TESTS_RANDOM_PROGRAM_H

#include "tests/unit/random_codelets.h"
#include "tests/unit/random_ops.h"

/* ---- steps ---- */

static inline void rg_add(struct random_graph *r, struct program seq, struct program p)
{
    program_add(r->g, seq, p);
    r->steps_built++;
}

/* A new sequence; none where everything is left out: a graph has no nodes that nobody uses. */
static inline struct program rg_sequence(struct random_graph *r)
{
    return r->dropping ? (struct program){ GRAPH_NONE } : program_sequence(r->g);
}

/* What has values at a place: taken before a loop or branch, put back behind it. */
struct rg_values {
    uint8_t *have[RG_VARIABLES];
    unsigned vars;
};

static inline void rg_values_take(struct random_graph *r, struct rg_values *x)
{
    x->vars = r->vars;
    for (unsigned i = 0; i < r->vars; i++) {
        x->have[i] = emu_alloc(2, r->var[i].elements);
        EMU_ASSERT(x->have[i]);
        memcpy(x->have[i], r->var[i].have, 2 * (size_t)r->var[i].elements);
    }
}

/* which: 1: `have`, 2: `now`, 3: both */
static inline void rg_values_restore(struct random_graph *r, struct rg_values *x, unsigned which)
{
    for (unsigned i = 0; i < x->vars; i++) {
        uint32_t n = r->var[i].elements;

        if (which & 1)
            memcpy(r->var[i].have, x->have[i], n);
        if (which & 2)
            memcpy(r->var[i].now, x->have[i] + n, n);
    }
    for (unsigned i = x->vars; i < r->vars; i++) { /* tapes of loops inside */
        if (r->var[i].constant)
            continue;
        if (which & 1)
            memset(r->var[i].have, 0, r->var[i].elements);
        if (which & 2)
            memset(r->var[i].now, 0, r->var[i].elements);
    }
}

static inline void rg_values_free(struct rg_values *x)
{
    for (unsigned i = 0; i < x->vars; i++)
        emu_free(x->have[i]);
}

/* ---- copies and streams ---- */

static inline void rg_copy(struct random_graph *r, struct program seq, struct tensor from,
                           struct tensor to)
{
    struct rg_access a = { .read = { from }, .write = { to }, .reads = 1, .writes = 1 };
    int built = !rg_step_dropped(r) && rg_has_now(r, &a);

    if (built)
        rg_add(r, seq, program_copy(r->g, from, to));
    rg_written(r, &a, built);
}

/* Inside one variable, mostly onto a part of itself. */
static inline void rg_copy_shifted(struct random_graph *r, struct program seq)
{
    struct rg_variable *v = &r->var[rg_below(r, r->vars)];
    struct tensor flat = tensor_flatten(r->g, v->t), from, to;
    uint32_t n = rg_between(r, 1, v->elements), a, b;

    if (n == v->elements && n > 1)
        n--;
    a = rg_below(r, v->elements - n + 1);
    b = rg_below(r, v->elements - n + 1);
    from = tensor_slice(r->g, flat, 0, a, a + n);
    to = tensor_slice(r->g, flat, 0, b, b + n);
    if (rg_fits(r, from, rg_may_read) && rg_fits(r, to, rg_may_write))
        rg_copy(r, seq, from, to);
}

static inline struct tensor rg_like(struct random_graph *r, struct tensor flat, struct tensor like)
{
    return tensor_reshape(r->g, flat, tensor_rank(r->g, like), tensor_shape(r->g, like));
}

static inline void rg_copy_any(struct random_graph *r, struct program seq)
{
    const struct rg_variable *v = &r->var[rg_below(r, r->vars)];
    struct tensor from, to;
    uint64_t n;

    if (rg_chance(r, 50)) {
        if (!rg_any_view(r, v->elem, rg_may_read, &from))
            return;
        n = tensor_elements(r->g, from);
        if (n <= 4096 && rg_flat(r, v->elem, (uint32_t)n, rg_may_write, &to))
            rg_copy(r, seq, from, rg_like(r, to, from));
        return;
    }
    if (!rg_any_view(r, v->elem, rg_may_write, &to))
        return;
    n = tensor_elements(r->g, to);
    if (n <= 4096 && rg_flat(r, v->elem, (uint32_t)n, rg_may_read, &from))
        rg_copy(r, seq, rg_like(r, from, to), to);
}

static inline void rg_stream_node(struct random_graph *r, struct program seq, struct rg_stream *s)
{
    struct rg_access a = { .reads = 0 };
    int built;

    s->weight += r->weight;
    if (s->way == STREAM_IN)
        a.write[a.writes++] = s->t;
    else
        a.read[a.reads++] = s->t;
    built = !rg_step_dropped(r) && rg_has_now(r, &a);
    if (built)
        rg_add(r, seq, program_stream(r->g, s->stream, s->t));
    rg_written(r, &a, built);
}

static inline void rg_stream_any(struct random_graph *r, struct program seq)
{
    struct rg_stream *s;
    rg_element_fn *may;
    struct tensor t;
    char name[24];

    if (r->streams && rg_chance(r, 30)) { /* the same tensor again */
        s = &r->stream[rg_below(r, r->streams)];
        if (s->weight + r->weight <= RG_TRANSFERS && !s->together && r->group == RG_MIXED &&
            rg_fits(r, s->t, s->way == STREAM_IN ? rg_may_write : rg_may_read))
            rg_stream_node(r, seq, s);
        return;
    }
    if (r->streams == RG_STREAMS || r->weight > RG_TRANSFERS)
        return;
    s = &r->stream[r->streams];
    *s = (struct rg_stream){ .way = rg_chance(r, 50) ? STREAM_IN : STREAM_OUT,
                             .together = r->group != RG_MIXED };
    may = s->way == STREAM_IN ? rg_may_write : rg_may_read;
    if (!rg_any_view(r, r->var[rg_below(r, r->vars)].elem, may, &t) ||
        tensor_elements(r->g, t) > 200)
        return;
    s->t = t;
    s->stream = graph_stream(r->g, s->way, tensor_elem(r->g, t), tensor_elements(r->g, t),
                             rg_between(r, 1, 4), rg_name(r, "stream", name));
    r->streams++;
    rg_stream_node(r, seq, s);
}

/* ---- compute sets ---- */

static inline void rg_execute(struct random_graph *r, struct program seq, const struct rg_set *s)
{
    int built = !rg_step_dropped(r) && rg_has_now(r, &s->built);

    if (built)
        rg_add(r, seq, program_execute(r->g, s->set));
    rg_written(r, &s->access, 0);
    rg_written(r, &s->built, built);
}

/* A set that was run before, once more. */
static inline void rg_execute_again(struct random_graph *r, struct program seq)
{
    const struct rg_set *s;

    if (!r->sets || r->group != RG_MIXED)
        return;
    s = &r->set[rg_below(r, r->sets)];
    for (unsigned i = 0; i < s->access.reads; i++) {
        if (!rg_all(r, s->access.read[i], rg_is_had))
            return;
    }
    rg_execute(r, seq, s);
}

static inline void rg_compute(struct random_graph *r, struct program seq)
{
    unsigned want = rg_chance(r, 30) ? rg_between(r, 4, 12) : rg_between(r, 1, 3);
    struct rg_set s = { .set = 0 };
    char name[24];

    s.set = graph_compute_set(r->g, rg_name(r, "set", name));
    for (unsigned i = 0; i < want; i++)
        rg_vertex(r, &s);
    rg_clear_flags(r);
    if (s.access.reads + s.access.writes == 0)
        return;
    rg_execute(r, seq, &s);
    if (r->group == RG_MIXED && r->sets < RG_SETS)
        r->set[r->sets++] = s;
}

/* ---- control flow ---- */

static inline struct program rg_block(struct random_graph *r, unsigned steps);

/* A body of its own; `times` is how often it runs for one run of this place. */
static inline struct program rg_body(struct random_graph *r, uint32_t times)
{
    uint32_t weight = r->weight;
    struct program p;

    r->weight *= times;
    r->depth++;
    p = rg_block(r, rg_between(r, 0, 4));
    r->depth--;
    r->weight = weight;
    return p;
}

static inline void rg_nested_in(struct random_graph *r, struct program seq, uint32_t times)
{
    struct program body = rg_body(r, times);

    if (!r->dropping)
        program_add(r->g, seq, body);
}

static inline void rg_repeat(struct random_graph *r, struct program seq)
{
    uint32_t times = rg_chance(r, 10) ? 0 : rg_between(r, 1, r->depth < 3 ? 4 : 2);
    struct rg_values before;
    struct program body;
    int dropped = rg_step_dropped(r);

    rg_values_take(r, &before);
    r->dropping += dropped;
    body = rg_body(r, times ? times : 1);
    r->dropping -= dropped;
    if (!dropped)
        rg_add(r, seq, program_repeat(r->g, times, body));
    rg_values_restore(r, &before, (times ? 0 : 1) | (times && !dropped ? 0 : 2));
    rg_values_free(&before);
}

/* Constants and the state of a loop, and the tensor that says whether it goes on. */
struct rg_loop {
    struct tensor start, state, go;
    struct program step; /* moves the state on */
    enum elem elem;
};

static inline void rg_loop_state(struct random_graph *r, struct rg_loop *x, uint32_t n,
                                 const uint32_t *values, int built)
{
    struct rg_variable *v;
    char name[24];

    x->start = graph_constant(r->g, x->elem, 1, &n, values, rg_name(r, "loop", name));
    rg_map(r, x->start);
    v = rg_track(r, x->start, 1);
    v->constant = 1;
    v->group = rg_group_of(r, v);
    v = rg_variable(r, x->elem, 1, &n, RG_PLAIN);
    v->reserved = 1;
    memset(v->have, 1, n);
    memset(v->now, built, n);
    x->state = v->t;
}

/* A tape of numbers that are not zero, and a zero at its end, moves on before every round. */
static inline void rg_loop_tape(struct random_graph *r, uint32_t rounds, int built,
                                struct rg_loop *x)
{
    uint32_t tape[8], pad = rg_below(r, 3), n = rounds + 2 + pad;

    for (uint32_t i = 0; i < n; i++)
        tape[i] = i == rounds + 1 ? 0 : rg_chance(r, 20) ? 1u << 31 : rg_between(r, 1, 9);
    x->elem = rg_chance(r, 50) ? ELEM_I32 : ELEM_U32;
    rg_loop_state(r, x, n, tape, built);
    x->go = tensor_index(r->g, x->state, 0);
    if (built)
        x->step = program_copy(r->g, tensor_slice(r->g, x->state, 0, 1, n),
                               tensor_slice(r->g, x->state, 0, 0, n - 1));
}

/* A counter goes down before every round; beside others that go down, too. */
static inline void rg_loop_counter(struct random_graph *r, uint32_t rounds, int built,
                                   struct rg_loop *x)
{
    uint32_t count[3] = { 77, rounds + 1, 0 }, n = rg_between(r, 2, 3), tile = rg_tile(r), set, v;
    char name[24];

    x->elem = ELEM_I32;
    rg_loop_state(r, x, n, count, built);
    x->go = tensor_index(r->g, x->state, 1);
    set = graph_compute_set(r->g, rg_name(r, "count", name));
    if (!built)
        return;
    v = graph_vertex(r->g, set, "add_scalar_i32", tile);
    vertex_connect(r->g, v, "x", x->state);
    vertex_set_u32(r->g, v, "b", UINT32_MAX);
    x->step = program_execute(r->g, set);
}

static inline void rg_while(struct random_graph *r, struct program seq)
{
    uint32_t rounds = rg_between(r, 0, 3);
    struct rg_loop x = { .step = { GRAPH_NONE } };
    struct rg_values before;
    struct program condition, body;
    int dropped = rg_step_dropped(r);

    if (r->vars + 2 > RG_VARIABLES || r->group != RG_MIXED)
        return;
    if (rg_chance(r, 50))
        rg_loop_tape(r, rounds, !dropped, &x);
    else
        rg_loop_counter(r, rounds, !dropped, &x);
    r->dropping += dropped;
    condition = rg_sequence(r);
    if (!r->dropping)
        program_add(r->g, condition, x.step);
    if (rg_chance(r, 40))
        rg_nested_in(r, condition, rounds + 1);
    rg_values_take(r, &before);
    body = rg_body(r, rounds ? rounds : 1);
    r->dropping -= dropped;
    rg_values_restore(r, &before, 3);
    rg_values_free(&before);
    if (dropped)
        return;
    rg_add(r, seq, program_copy(r->g, x.start, x.state));
    rg_add(r, seq, program_while(r->g, condition, x.go, body));
}

static inline void rg_if(struct random_graph *r, struct program seq)
{
    enum elem e = rg_chance(r, 50) ? ELEM_I32 : ELEM_U32;
    struct tensor predicate;
    struct rg_access a = { .reads = 1 };
    struct rg_values before;
    struct program then_part, else_part;
    int dropped = rg_step_dropped(r);

    if (r->group != RG_MIXED || !rg_flat(r, e, 1, rg_may_read, &predicate))
        return;
    a.read[0] = predicate;
    dropped |= !rg_has_now(r, &a);
    r->dropping += dropped;
    rg_values_take(r, &before);
    then_part = rg_body(r, 1);
    rg_values_restore(r, &before, 3);
    else_part = rg_body(r, 1);
    rg_values_restore(r, &before, 3);
    rg_values_free(&before);
    r->dropping -= dropped;
    if (!dropped)
        rg_add(r, seq, program_if(r->g, predicate, then_part, else_part));
}

/* A function, and its first call. Made at the outermost level only: there, what has a value will
 * have one at every later call. */
static inline void rg_function(struct random_graph *r, struct program seq)
{
    struct rg_values before;
    struct program body;
    int dropped = rg_step_dropped(r);
    char name[24];

    if (r->depth || r->functions == RG_FUNCTIONS)
        return;
    r->dropping += dropped;
    rg_values_take(r, &before);
    body = rg_body(r, 8); /* its calls; see rg_call() */
    rg_values_restore(r, &before, dropped ? 2 : 0);
    rg_values_free(&before);
    r->dropping -= dropped;
    if (dropped)
        body = program_sequence(r->g);
    r->function[r->functions] = graph_function(r->g, body, rg_name(r, "function", name));
    r->function_weight[r->functions] = 1;
    if (!dropped)
        rg_add(r, seq, program_call(r->g, r->function[r->functions]));
    r->functions++;
}

/* A function that was left out is empty: calling it does nothing. */
static inline void rg_call(struct random_graph *r, struct program seq)
{
    unsigned k = rg_below(r, r->functions);

    if (!r->functions || r->function_weight[k] + r->weight > 8 || r->group != RG_MIXED)
        return;
    r->function_weight[k] += r->weight;
    if (!rg_step_dropped(r))
        rg_add(r, seq, program_call(r->g, r->function[k]));
}

/* Two sync groups on their own. What one part wrote has values behind it. */
static inline void rg_together(struct random_graph *r, struct program seq)
{
    static const unsigned groups[2] = { 0, 1 };
    struct rg_values before;
    struct program part[2];
    int dropped = rg_step_dropped(r);

    if (r->split == r->first + r->tiles || r->group != RG_MIXED)
        return;
    rg_values_take(r, &before);
    r->dropping += dropped;
    for (unsigned k = 0; k < 2; k++) {
        r->group = groups[k];
        part[k] = rg_body(r, 1);
    }
    r->group = RG_MIXED;
    r->dropping -= dropped;
    rg_values_restore(r, &before, dropped ? 2 : 0);
    rg_values_free(&before);
    if (!dropped)
        rg_add(r, seq, program_together(r->g, groups, part, 2));
}

static inline void rg_nested(struct random_graph *r, struct program seq)
{
    rg_nested_in(r, seq, 1);
}

typedef void rg_draw(struct random_graph *r, struct program seq);

/* A sequence of about `steps` steps. */
static inline struct program rg_block(struct random_graph *r, unsigned steps)
{
    static rg_draw *const leaf[] = { rg_copy_any, rg_copy_any, rg_copy_any,      rg_copy_shifted,
                                     rg_compute,  rg_compute,  rg_compute,       rg_compute,
                                     rg_compute,  rg_compute,  rg_execute_again, rg_stream_any,
                                     rg_operation };
    static rg_draw *const branch[] = { rg_repeat,   rg_while, rg_if,      rg_nested,
                                       rg_function, rg_call,  rg_together };
    struct program seq = rg_sequence(r);

    for (; steps && r->left && r->step < RG_STEPS - 8; steps--) {
        int deeper = r->depth < 7 && r->weight <= 12 && rg_chance(r, r->depth < 3 ? 25 : 45);

        r->left--;
        if (deeper)
            branch[rg_below(r, EMU_COUNT_OF(branch))](r, seq);
        else
            leaf[rg_below(r, EMU_COUNT_OF(leaf))](r, seq);
    }
    return seq;
}

/* What the program keeps for itself becomes visible: copies of it into kept variables. */
static inline void rg_show(struct random_graph *r, struct program seq)
{
    unsigned vars = r->vars;

    for (unsigned i = 0; i < vars && r->vars < RG_VARIABLES; i++) {
        struct tensor t = r->var[i].t;

        if (r->var[i].kept || r->var[i].initial || r->var[i].constant || rg_chance(r, 30) ||
            !rg_all(r, t, rg_is_had))
            continue;
        rg_copy(r, seq, t,
                rg_variable(r, r->var[i].elem, tensor_rank(r->g, t), tensor_shape(r->g, t), RG_KEPT)
                    ->t);
    }
}

/* ---- the whole graph ---- */

static inline void rg_machine(struct random_graph *r)
{
    static const char *const names[] = { "toy4", "toy4", "toy16", "toy16", "toy64", "mk2" };
    const struct arch *a = arch_preset(names[rg_below(r, 40) ? rg_below(r, 5) : 5]);

    EMU_ASSERT(graph_new(a, &r->g) == EMU_OK);
    r->tiles = a->tiles <= 64 ? a->tiles : 12;
    if (rg_chance(r, 30) && r->tiles > 2)
        r->tiles = rg_between(r, 1, r->tiles);
    r->first = rg_below(r, a->tiles - r->tiles + 1);
    r->split = r->first + r->tiles;
    if (r->tiles > 1 && rg_chance(r, 15)) {
        r->split -= rg_between(r, 1, r->tiles > 4 ? 4 : r->tiles - 1);
        graph_set_group(r->g, r->split, r->first + r->tiles - r->split, 1);
    }
}

/* drop: [RG_STEPS], 1: leave this step out; NULL: none. Free with random_graph_free. */
static inline struct random_graph *random_graph_new(uint64_t seed, const uint8_t *drop)
{
    struct random_graph *r = emu_alloc(1, sizeof(*r));
    struct program main;

    EMU_ASSERT(r);
    r->random = seed * 0x9e3779b97f4a7c15u + 12345;
    r->drop = drop;
    r->group = RG_MIXED;
    r->weight = 1;
    r->idle.node = GRAPH_NONE;
    rg_machine(r);
    rg_variables(r, rg_chance(r, 20) ? 3000 : 400);
    r->left = rg_between(r, 3, rg_chance(r, 20) ? 80 : 25);
    main = rg_block(r, r->left);
    rg_show(r, main);
    if (r->idle.node != GRAPH_NONE)
        program_add(r->g, main, program_repeat(r->g, 0, r->idle));
    graph_set_program(r->g, main);
    return r;
}

static inline void random_graph_free(struct random_graph *r)
{
    for (unsigned i = 0; i < r->vars; i++)
        emu_free(r->var[i].have);
    graph_free(r->g);
    emu_free(r);
}

#endif
