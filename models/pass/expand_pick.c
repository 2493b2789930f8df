/* expand_pick.c - operators that tiles compute as several (pass_expand()): what picks numbers.
 *
 *   Scatter..  with constant places: of data and updates, one behind the other, those that the
 *              reference leaves there; of sums data, and for each place its first update, its
 *              second, .., up to so many
 *   TopK       the place of a number is how many come before it: larger ones, and equal ones on its
 *              left; then for each place the number that has it */
#include <string.h>

#include "models/pass/expand.h"

enum { PAIRS_MAX = 1 << 22, PICKED_MAX = 1 << 22 }; /* comparisons of TopK, places: at most */
enum { UPDATES_MAX = 16 };                          /* that are added at one place */

int expand_can_pick(const struct op_shape *from, uint64_t places)
{
    return op_shape_count(from) < UINT32_MAX && places <= PICKED_MAX;
}

enum emu_status expand_picked(struct op_pass *p, const struct op_node *n, uint32_t x,
                              const struct op_tensor *places, const struct op_shape *to,
                              uint32_t *out)
{
    const struct op_shape list = { .rank = 1,
                                   .dim = { (uint32_t)op_shape_count(&p->g->value[x].shape) } };
    uint32_t at;

    TRY(op_value_constant(p->g, NULL, places, &at));
    TRY(expand_reshape(p, n, x, &list, &x));
    TRY(expand_binary(p, n, OP_Gather, ".picked", x, at, &x));
    return expand_reshape(p, n, x, to, out);
}

/* ---- Scatter ---- */

/* first, first + 1, .. in a shape. */
static enum emu_status numbers_from(int64_t first, const struct op_shape *shape,
                                    struct op_tensor *out)
{
    struct op_shape s = *shape;

    s.type = OP_TYPE_I64;
    TRY(op_tensor_new(&s, out));
    for (uint64_t k = 0; k < op_shape_count(&s); k++)
        out->i[k] = first + (int64_t)k;
    return EMU_OK;
}

/* Which number, counted through data and updates, is at each place of the result; a list. */
static enum emu_status origins(struct op_pass *p, const struct op_node *n, struct op_tensor *out)
{
    const struct op_shape *x = &p->g->value[n->in[0]].shape;
    struct op_tensor in[3] = { { .any = NULL } };
    const struct op_tensor *const from[] = { &in[0], &in[1], &in[2] };
    enum emu_status s = numbers_from(0, x, &in[0]);

    if (s == EMU_OK)
        s = op_value_read(p->g, n->in[1], &in[1]);
    if (s == EMU_OK)
        s = numbers_from((int64_t)op_shape_count(x), &p->g->value[n->in[2]].shape, &in[2]);
    if (s == EMU_OK)
        s = op_node_run(p->g, n, from, out);
    out->shape =
        (struct op_shape){ .type = OP_TYPE_I64, .rank = 1, .dim = { (uint32_t)op_shape_count(x) } };
    for (unsigned k = 0; k < 3; k++)
        op_tensor_free(&in[k]);
    return s;
}

/* Which number of x each update is added to: a constant, if the places are. */
static enum emu_status put_targets(struct op_pass *p, const struct op_node *n, uint32_t *out)
{
    int nd = op_node_is(n, OP_ScatterND);
    const struct op_call c = op_attrs_of(p->g, n);
    struct expand_part part = { .op = nd ? OP_GatherND : OP_GatherElements, .suffix = ".targets" };
    uint32_t numbers;
    struct op_tensor t;
    enum emu_status s;

    TRY(numbers_from(0, &p->g->value[n->in[0]].shape, &t));
    s = op_value_constant(p->g, NULL, &t, &numbers);
    op_tensor_free(&t);
    TRY(s);
    if (!nd)
        part.attr[part.attrs++] =
            (struct op_named_attr){ "axis", { .kind = OP_ATTR_INT, .i = op_int(&c, "axis") } };
    memcpy(part.in, (uint32_t[]){ numbers, n->in[1], OP_NONE }, sizeof(part.in));
    return expand_put(p, n, &part, out);
}

/* Sums of picks. `added`: by place, how often it has been added to; 0 at first. */
static enum emu_status add_picks(struct op_pass *p, const struct op_node *n,
                                 const struct op_tensor *targets, uint32_t updates, int64_t *added,
                                 uint32_t *out)
{
    const struct op_shape x = p->g->value[n->in[0]].shape;
    uint64_t m = op_shape_count(&targets->shape), left = m;
    uint32_t sum = op_pass_now(p, n->in[0]), part;

    for (int64_t round = 0; left && round < UPDATES_MAX; round++) {
        const struct op_shape list = { .type = OP_TYPE_I64,
                                       .rank = 1,
                                       .dim = { (uint32_t)op_shape_count(&x) } };
        struct op_tensor of;
        enum emu_status s;

        TRY(op_tensor_new(&list, &of));
        for (uint64_t k = 0; k < op_shape_count(&x); k++) {
            of.i[k] = (int64_t)m; /* a zero behind the updates */
            added[k] = 0;
        }
        for (uint64_t k = 0; k < m; k++) {
            if (added[targets->i[k]]++ == round) {
                of.i[targets->i[k]] = (int64_t)k;
                left--;
            }
        }
        s = expand_picked(p, n, updates, &of, &x, &part);
        op_tensor_free(&of);
        TRY(s);
        TRY(expand_binary(p, n, OP_Add, ".sum", sum, part, &sum));
    }
    *out = left ? OP_NONE : sum;
    return EMU_OK;
}

static enum emu_status expand_scatter_add(struct op_pass *p, const struct op_node *n, uint32_t *out)
{
    uint32_t v = op_pass_now(p, n->in[2]), zero, at;
    struct op_shape list = { .rank = 1,
                             .dim = { (uint32_t)op_shape_count(&p->g->value[v].shape) } };
    struct expand_part join = { .op = OP_Concat,
                                .suffix = ".all",
                                .attr = { { "axis", { .kind = OP_ATTR_INT, .i = 0 } } },
                                .attrs = 1 };
    struct op_tensor targets;
    int64_t *added;
    enum emu_status s;

    TRY(put_targets(p, n, &at));
    if (!op_value_constant_kind(&p->g->value[at]))
        return EMU_OK;
    TRY(expand_reshape(p, n, v, &list, &v));
    TRY(expand_number(p, p->g->value[v].shape.type, 0, &zero));
    list.dim[0] = 1;
    TRY(expand_reshape(p, n, zero, &list, &zero));
    memcpy(join.in, (uint32_t[]){ v, zero, OP_NONE }, sizeof(join.in));
    TRY(expand_put(p, n, &join, &v));
    TRY(op_value_read(p->g, at, &targets));
    added = emu_alloc(op_shape_count(&p->g->value[n->in[0]].shape) + 1, sizeof(*added));
    s = added ? add_picks(p, n, &targets, v, added, out) : FAIL(NO_MEMORY, "%s", n->name);
    ss_free(added);
    op_tensor_free(&targets);
    return s;
}

enum emu_status expand_scatter(struct op_pass *p, const struct op_node *n, uint32_t *out)
{
    struct op_call c = op_attrs_of(p->g, n);
    const struct op_shape x = p->g->value[n->in[0]].shape;
    const struct op_shape *updates = &p->g->value[n->in[2]].shape;
    struct op_tensor of = { .any = NULL };
    uint32_t part[2], all;
    struct expand_part join = { .op = OP_Concat,
                                .suffix = ".all",
                                .attr = { { "axis", { .kind = OP_ATTR_INT, .i = 0 } } },
                                .attrs = 1 };
    enum emu_status s;

    if (!op_value_constant_kind(&p->g->value[n->in[1]]) || !op_shape_count(updates) ||
        !expand_can_pick(&x, op_shape_count(&x) + op_shape_count(updates)))
        return EMU_OK;
    if (op_is(&c, "reduction", "add") && op_type_kind(x.type) == OP_KIND_FLOAT)
        return expand_scatter_add(p, n, out);
    if (!op_is(&c, "reduction", "none"))
        return EMU_OK;
    for (unsigned k = 0; k < 2; k++) {
        uint32_t v = op_pass_now(p, n->in[2 * k]);
        const struct op_shape list = { .rank = 1,
                                       .dim = { (uint32_t)op_shape_count(&p->g->value[v].shape) } };

        TRY(expand_reshape(p, n, v, &list, &part[k]));
    }
    memcpy(join.in, (uint32_t[]){ part[0], part[1], OP_NONE }, sizeof(join.in));
    TRY(expand_put(p, n, &join, &all));
    s = origins(p, n, &of);
    if (s == EMU_OK)
        s = expand_picked(p, n, all, &of, &x, out);
    op_tensor_free(&of);
    return s;
}

/* ---- TopK ---- */

struct topk {
    const struct op_node *n;
    struct op_shape x;         /* the axis last */
    uint32_t now, row, column; /* x; [..][1][n] and [..][n][1] */
    uint32_t zero;
    int64_t count;
};

/* 1 where the number of the row comes before that of the column. */
static enum emu_status comes_before(struct op_pass *p, const struct topk *t, int largest,
                                    uint32_t *out)
{
    uint32_t n = t->x.dim[t->x.rank - 1], left, right, beyond, equal;

    TRY(expand_places(p, t->x.type, 2, 1, n, 0, &left));
    TRY(expand_places(p, t->x.type, 2, 0, n, 0, &right));
    TRY(expand_binary(p, t->n, OP_Less, ".left", left, right, &left));
    TRY(expand_binary(p, t->n, largest ? OP_Greater : OP_Less, ".beyond", t->row, t->column,
                      &beyond));
    TRY(expand_binary(p, t->n, OP_Equal, ".equal", t->row, t->column, &equal));
    TRY(expand_binary(p, t->n, OP_And, ".equal_left", equal, left, &equal));
    TRY(expand_binary(p, t->n, OP_Or, ".before", beyond, equal, &beyond));
    return expand_cast(p, t->n, ".ones", beyond, t->x.type, out);
}

/* For each place the number of a row that has it; its own axis last again. */
static enum emu_status by_place(struct op_pass *p, const struct topk *t, uint32_t hot, uint32_t of,
                                const char *suffix, uint32_t *out)
{
    unsigned rank = t->x.rank, axis;
    struct op_call c = op_attrs_of(p->g, t->n);
    int64_t given = op_int(&c, "axis");
    uint32_t v;

    axis = (unsigned)(given < 0 ? given + rank : given);
    TRY(expand_where(p, t->n, suffix, hot, of, t->zero, &v));
    TRY(expand_reduce(p, t->n, OP_ReduceSum, suffix, v, rank, &v));
    return expand_swap_last(p, t->n, suffix, rank, axis, v, out);
}

static enum emu_status begin_top(struct op_pass *p, unsigned axis, struct topk *t)
{
    unsigned rank = t->x.rank;
    uint32_t n = t->x.dim[axis];
    struct op_shape s;

    TRY(expand_swap_last(p, t->n, ".last", rank, axis, op_pass_now(p, t->n->in[0]), &t->now));
    t->x.dim[axis] = t->x.dim[rank - 1];
    t->x.dim[rank - 1] = n;
    s = t->x;
    s.rank++;
    s.dim[rank] = n;
    s.dim[rank - 1] = 1;
    TRY(expand_reshape(p, t->n, t->now, &s, &t->row));
    s.dim[rank] = 1;
    s.dim[rank - 1] = n;
    TRY(expand_reshape(p, t->n, t->now, &s, &t->column));
    return expand_number(p, t->x.type, 0, &t->zero);
}

enum emu_status expand_top_k(struct op_pass *p, const struct op_node *n, uint32_t *out)
{
    struct op_call c = op_attrs_of(p->g, n);
    struct topk t = { .n = n, .x = p->g->value[n->in[0]].shape, .count = op_int(&c, "k") };
    int64_t given = op_int(&c, "axis");
    unsigned rank = t.x.rank, axis = (unsigned)(given < 0 ? given + rank : given);
    uint32_t size = t.x.dim[axis], place, hot, at;
    struct op_shape s;

    if (op_type_kind(t.x.type) != OP_KIND_FLOAT || rank == OP_RANK_MAX || size > EXPAND_SQUARE ||
        op_shape_count(&t.x) * size > PAIRS_MAX || !t.count)
        return EMU_OK;
    TRY(begin_top(p, axis, &t));
    TRY(comes_before(p, &t, op_int(&c, "largest") != 0, &place));
    TRY(expand_reduce(p, n, OP_ReduceSum, ".place", place, rank, &place));
    s = t.x;
    s.dim[s.rank++] = size;
    s.dim[rank - 1] = 1;
    TRY(expand_reshape(p, n, place, &s, &place));
    TRY(expand_places(p, t.x.type, 2, 0, (uint32_t)t.count, 0, &at));
    TRY(expand_binary(p, n, OP_Equal, ".hot", place, at, &hot));
    TRY(by_place(p, &t, hot, t.row, ".values", &out[0]));
    if (n->outs < 2 || n->out[1] == OP_NONE)
        return EMU_OK;
    TRY(expand_places(p, t.x.type, 2, 1, size, 0, &at));
    TRY(by_place(p, &t, hot, at, ".indices", &out[1]));
    return expand_cast(p, n, ".whole", out[1], OP_TYPE_I64, &out[1]);
}
