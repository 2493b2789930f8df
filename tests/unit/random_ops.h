/* random_ops.h - whole operations of programs/ops in a random program.
 *
 * An operation makes variables of its own; they join the generator's, so that both number alike.
 * Only its result has values afterwards. What the reducer leaves out is built, too, but into a
 * sequence that never runs: later choices must not depend on it.
 */
#ifndef TESTS_RANDOM_OPS_H
#define TESTS_RANDOM_OPS_H

#include "tests/unit/random_graph.h"

enum { RG_OP_ELEMENTS = 700, RG_OP_VARIABLES = 70 };

/* An operation in the making. */
struct rg_op {
    struct program seq; /* where it goes */
    struct rg_access access;
    int built;
};

/* Counts the step and says where it is to be built. */
static inline void rg_op_begin(struct random_graph *r, struct program seq, struct rg_op *o)
{
    o->built = !rg_step_dropped(r) && rg_has_now(r, &o->access);
    if (!o->built && r->idle.node == GRAPH_NONE)
        r->idle = program_sequence(r->g);
    o->seq = o->built ? seq : r->idle;
    r->steps_built += (unsigned)o->built;
}

/* Takes over the variables of an operation; result: NULL, or what it made. */
static inline void rg_op_end(struct random_graph *r, struct rg_op *o, const struct tensor *result)
{
    while (r->vars < r->g->variable.count) {
        struct rg_variable *v = rg_track(r, r->g->variable.at[r->vars].whole, 0);

        v->constant = r->g->variable.at[r->vars - 1].constant;
        v->reserved = !v->constant;
        memset(v->have, v->constant, 2 * (size_t)v->elements);
        v->group = rg_group_of(r, v);
    }
    if (result)
        o->access.write[o->access.writes++] = *result;
    rg_written(r, &o->access, o->built);
}

static inline enum elem rg_float(struct random_graph *r)
{
    return rg_chance(r, 50) ? ELEM_F16 : ELEM_F32;
}

/* A view to read for an operation, of the wanted rank if that is not 0. */
static inline int rg_op_view(struct random_graph *r, unsigned rank, struct rg_op *o,
                             struct tensor *t)
{
    *o = (struct rg_op){ .built = 0 };
    if (!rg_any_view(r, rg_float(r), rg_may_read, t) ||
        tensor_elements(r->g, *t) > RG_OP_ELEMENTS || (rank && tensor_rank(r->g, *t) != rank))
        return 0;
    o->access.read[o->access.reads++] = *t;
    return 1;
}

static inline void rg_op_unary(struct random_graph *r, struct program seq)
{
    struct tensor t, result;
    struct rg_op o;
    char name[24];

    if (!rg_op_view(r, 0, &o, &t))
        return;
    rg_op_begin(r, seq, &o);
    rg_name(r, "unary", name);
    switch (rg_below(r, 3)) {
    case 0:
        result =
            op_cast(r->g, o.seq, t, tensor_elem(r->g, t) == ELEM_F16 ? ELEM_F32 : ELEM_F16, name);
        break;
    case 1:
        result =
            op_binary_scalar(r->g, o.seq, (enum binary_op)rg_below(r, BINARY_COUNT), t, 1.5f, name);
        break;
    default:
        result = op_unary(r->g, o.seq, (enum unary_op)rg_below(r, UNARY_COUNT), t, name);
    }
    rg_op_end(r, &o, &result);
}

static inline void rg_op_binary(struct random_graph *r, struct program seq)
{
    struct tensor a, b, result;
    struct rg_op o;
    char name[24];

    if (!rg_op_view(r, 0, &o, &a) ||
        !rg_flat(r, tensor_elem(r->g, a), (uint32_t)tensor_elements(r->g, a), rg_may_read, &b))
        return;
    b = tensor_reshape(r->g, b, tensor_rank(r->g, a), tensor_shape(r->g, a));
    o.access.read[o.access.reads++] = b;
    rg_op_begin(r, seq, &o);
    result = op_binary(r->g, o.seq, (enum binary_op)rg_below(r, BINARY_COUNT), a, b,
                       rg_name(r, "binary", name));
    rg_op_end(r, &o, &result);
}

static inline void rg_op_whole(struct random_graph *r, struct program seq)
{
    struct tensor t, result;
    struct rg_op o;
    char name[24];

    if (!rg_op_view(r, 0, &o, &t))
        return;
    rg_op_begin(r, seq, &o);
    rg_name(r, "whole", name);
    switch (rg_below(r, 3)) {
    case 0:
        result = op_argmax(r->g, o.seq, t, name);
        break;
    case 1:
        result = op_softmax(r->g, o.seq, t, name);
        break;
    default:
        result = op_total(r->g, o.seq, (enum reduce_op)rg_below(r, REDUCE_COUNT), t, name);
    }
    rg_op_end(r, &o, &result);
}

static inline void rg_op_matrix(struct random_graph *r, struct program seq)
{
    struct tensor t, result;
    struct rg_op o;
    char name[24];

    if (!rg_op_view(r, 2, &o, &t))
        return;
    rg_op_begin(r, seq, &o);
    rg_name(r, "matrix", name);
    result = rg_chance(r, 40) ? op_transpose(r->g, o.seq, t, name)
                              : op_reduce(r->g, o.seq, (enum reduce_op)rg_below(r, REDUCE_COUNT), t,
                                          tensor_elem(r->g, t), name);
    rg_op_end(r, &o, &result);
}

/* In place: y += a x, or a value everywhere. */
static inline void rg_op_inplace(struct random_graph *r, struct program seq)
{
    struct rg_op o = { .built = 0 };
    struct tensor x, y;
    enum elem e = rg_float(r);
    int fill = rg_chance(r, 30);
    char name[24];

    if (!rg_any_view(r, e, fill ? rg_may_write : rg_may_change, &y) ||
        tensor_elements(r->g, y) > RG_OP_ELEMENTS)
        return;
    rg_all(r, y, rg_mark_once);
    if (!fill) {
        int found = rg_flat(r, e, (uint32_t)tensor_elements(r->g, y), rg_may_read, &x);

        rg_clear_flags(r);
        if (!found)
            return;
        x = tensor_reshape(r->g, x, tensor_rank(r->g, y), tensor_shape(r->g, y));
        o.access.read[o.access.reads++] = x;
        o.access.read[o.access.reads++] = y;
    }
    rg_clear_flags(r);
    rg_op_begin(r, seq, &o);
    rg_name(r, "inplace", name);
    if (fill)
        op_fill(r->g, o.seq, y, -0.75f, name);
    else
        op_axpy(r->g, o.seq, 0.5f, x, y, name);
    rg_op_end(r, &o, &y);
}

/* At the outermost level, and not where a sync group is on its own. */
static inline void rg_operation(struct random_graph *r, struct program seq)
{
    static void (*const draw[])(struct random_graph *,
                                struct program) = { rg_op_unary, rg_op_binary, rg_op_whole,
                                                    rg_op_matrix, rg_op_inplace };

    if (r->depth || r->dropping || r->vars > RG_OP_VARIABLES)
        return;
    draw[rg_below(r, EMU_COUNT_OF(draw))](r, seq);
}

#endif
