/* lower_slice.c - cutting, joining, padding, and every other operator that only says which element
 * of its input goes where: views.
 *
 * To find out which element goes where, the operator's own meaning (op_node_run()) is run on an
 * input whose elements are their own numbers. If every dimension can be picked by itself, the view
 * is made dimension by dimension, otherwise run by run. */
#include <string.h>

#include "models/lower/lowering.h"
#include "models/operators/op_move.h"

enum { RUNS_MAX = 1 << 20 }; /* of a view that is made run by run */

/* From where each element of a result comes: an element of the input, or FILL. */
enum { FILL = -1 };
struct origin {
    int64_t *of; /* owned; by element of the result */
    uint64_t count;
};

/* Runs the node on numbers that begin with `first`; other inputs are constants. */
static enum emu_status run_on_numbers(struct lowering *l, const struct op_node *n, int64_t first,
                                      struct op_tensor *out)
{
    const struct op_tensor **in = emu_alloc(n->ins + 1, sizeof(*in));
    struct op_tensor *own = emu_alloc(n->ins + 1, sizeof(*own));
    struct op_shape s = *lower_shape(l, n->in[0]);
    enum emu_status st = in && own ? EMU_OK : FAIL(NO_MEMORY, "%s", n->name);

    s.type = OP_TYPE_I64;
    if (st == EMU_OK)
        st = op_tensor_new(&s, &own[0]);
    for (uint64_t k = 0; st == EMU_OK && k < op_shape_count(&s); k++)
        own[0].i[k] = first + (int64_t)k;
    for (uint32_t k = 1; st == EMU_OK && k < n->ins; k++) {
        if (n->in[k] != OP_NONE)
            st = op_value_read(l->og, n->in[k], &own[k]);
    }
    for (uint32_t k = 0; st == EMU_OK && k < n->ins; k++)
        in[k] = n->in[k] == OP_NONE ? NULL : &own[k];
    if (st == EMU_OK)
        st = op_node_run(l->og, n, in, out);
    for (uint32_t k = 0; own && k < n->ins; k++)
        op_tensor_free(&own[k]);
    ss_free(in);
    ss_free(own);
    return st;
}

/* Results that change when the numbers of the input change are elements of the input; all others
 * are fill. */
static enum emu_status find_origin(struct lowering *l, const struct op_node *n, struct origin *o)
{
    int64_t far = (int64_t)op_shape_count(lower_shape(l, n->in[0]));
    struct op_tensor *a = emu_alloc(2 * n->outs, sizeof(*a)), *b = a + n->outs;
    enum emu_status s = a ? EMU_OK : FAIL(NO_MEMORY, "%s", n->name);

    o->count = op_shape_count(lower_shape(l, n->out[0]));
    o->of = emu_alloc(o->count + 1, sizeof(*o->of));
    if (s == EMU_OK && !o->of)
        s = FAIL(NO_MEMORY, "%s", n->name);
    if (s == EMU_OK)
        s = run_on_numbers(l, n, 0, a);
    if (s == EMU_OK)
        s = run_on_numbers(l, n, far, b);
    for (uint64_t k = 0; s == EMU_OK && k < o->count; k++)
        o->of[k] = a->i[k] == b->i[k] ? FILL : a->i[k];
    for (uint32_t k = 0; a && k < n->outs; k++) {
        op_tensor_free(&a[k]);
        op_tensor_free(&b[k]);
    }
    ss_free(a);
    return s;
}

/* ---- views ---- */

/* A constant that lies in memory in the order of dimensions of t. */
static struct tensor spread_fill(struct lowering *l, struct tensor t, const struct op_shape *s,
                                 double fill)
{
    struct op_shape in_order = *s;
    unsigned order[OP_RANK_MAX], back[OP_RANK_MAX];
    struct op_tensor numbers;
    enum emu_status st;

    ss_tensor_memory_order(l->g, t, order);
    for (unsigned k = 0; k < s->rank; k++) {
        in_order.dim[k] = s->dim[order[k]];
        back[order[k]] = k;
    }
    in_order.type = OP_TYPE_F32;
    st = op_tensor_new(&in_order, &numbers);
    if (st != EMU_OK) {
        ss_graph_fail(l->g, st, "%s", ss_error());
        return t;
    }
    for (uint64_t k = 0; k < op_shape_count(&in_order); k++)
        numbers.f[k] = fill;
    t = lower_numbers(l, ss_tensor_elem(l->g, t), &numbers, "fill");
    op_tensor_free(&numbers);
    return ss_tensor_transpose(l->g, t, back);
}

/* The elements around t. If one number were sent to all of them, every run that reads it would take
 * an instruction of the exchange, and with many operations the code of the sending tile would get
 * too long. */
static struct tensor fill_of(struct lowering *l, struct tensor t, const struct op_shape *s,
                             double fill)
{
    enum { FEW = 256 };

    return ss_graph_takes_turns(l->g) && op_shape_count(s) > FEW
               ? spread_fill(l, t, s, fill)
               : lower_filled(l, ss_tensor_elem(l->g, t), s, fill);
}

/* Neighbours become one part. */
struct tensor lower_pick(struct lowering *l, struct tensor t, unsigned dim, const int64_t *index,
                         uint32_t count, double fill)
{
    struct op_shape one = { .rank = ss_tensor_rank(l->g, t) };
    struct tensor *part = emu_alloc(count + 1, sizeof(*part));
    uint32_t parts = 0;

    if (!part) {
        ss_graph_fail(l->g, EMU_NO_MEMORY, "%u parts", count);
        return t;
    }
    memcpy(one.dim, ss_tensor_shape(l->g, t), one.rank * sizeof(one.dim[0]));
    for (uint32_t k = 0, end; k < count; k = end) {
        int64_t step = k + 1 < count && index[k] >= 0 ? index[k + 1] - index[k] : 0;

        for (end = k + 1; end < count && (index[k] < 0 ? index[end] < 0
                                                       : (step == 0 || step == 1) &&
                                                             index[end] - index[end - 1] == step);)
            end++;
        one.dim[dim] = end - k;
        if (index[k] < 0) {
            part[parts++] = fill_of(l, t, &one, fill);
        } else if (step == 1) {
            part[parts++] =
                ss_tensor_slice(l->g, t, dim, (uint32_t)index[k], (uint32_t)index[end - 1] + 1);
        } else {
            part[parts] = ss_tensor_slice(l->g, t, dim, (uint32_t)index[k], (uint32_t)index[k] + 1);
            if (end > k + 1)
                part[parts] = ss_tensor_broadcast(l->g, part[parts], dim, end - k);
            parts++;
        }
    }
    if (parts > 1)
        t = ss_tensor_concat(l->g, part, parts, dim);
    else
        t = part[0];
    ss_free(part);
    return t;
}

/* Whether each dimension picks for itself; index: what, by dimension, one list after the other. */
static int is_separable(const struct op_shape *from, const struct op_shape *to,
                        const struct origin *o, int64_t *index)
{
    uint64_t stride[OP_RANK_MAX], to_stride[OP_RANK_MAX], base = 0;
    uint32_t at[OP_RANK_MAX] = { 0 }, first[OP_RANK_MAX], lists = 0;

    if (from->rank != to->rank || !o->count)
        return 0;
    for (unsigned d = 0; d < to->rank; d++) {
        stride[d] = op_shape_span(from, d + 1, from->rank);
        to_stride[d] = op_shape_span(to, d + 1, to->rank);
        first[d] = lists;
        lists += to->dim[d];
    }
    while (base < o->count && o->of[base] == FILL)
        base++;
    if (base == o->count)
        return 0;
    for (unsigned d = 0; d < to->rank; d++) {
        uint64_t origin = base - base / to_stride[d] % to->dim[d] * to_stride[d];

        for (uint32_t k = 0; k < to->dim[d]; k++) {
            int64_t e = o->of[origin + k * to_stride[d]];

            index[first[d] + k] =
                e == FILL ? FILL : (int64_t)((uint64_t)e / stride[d] % from->dim[d]);
        }
    }
    for (uint64_t k = 0; k < o->count; k++) {
        int64_t want = 0;

        for (unsigned d = 0; d < to->rank && want != FILL; d++) {
            int64_t i = index[first[d] + at[d]];

            want = i == FILL ? FILL : want + i * (int64_t)stride[d];
        }
        if (want != o->of[k])
            return 0;
        op_index_next(to, at);
    }
    return 1;
}

static struct tensor by_dimension(struct lowering *l, struct tensor t, const struct op_shape *to,
                                  const int64_t *index, double fill)
{
    for (unsigned d = 0; d < to->rank; d++) {
        uint32_t size = ss_tensor_shape(l->g, t)[d];
        int same = to->dim[d] == size;

        for (uint32_t k = 0; k < to->dim[d] && same; k++)
            same = index[k] == k;
        if (!same)
            t = lower_pick(l, t, d, index, to->dim[d], fill);
        index += to->dim[d];
    }
    return t;
}

/* The numbers as indices into all of t. */
static struct tensor by_runs(struct lowering *l, struct tensor t, const struct op_shape *to,
                             const struct origin *o, double fill)
{
    if (o->count > RUNS_MAX) {
        ss_graph_fail(l->g, EMU_BAD_FILE, "%llu elements that are picked one by one",
                      (unsigned long long)o->count);
        return t;
    }
    t = lower_pick(l, ss_tensor_flatten(l->g, t), 0, o->of, (uint32_t)o->count, fill);
    return lower_reshape(l, t, to);
}

/* The result with a dimension for each of its input, in the same order: a Gather with one index, or
 * a matrix of them, has another number of dimensions. */
static struct op_shape picked_shape(struct lowering *l, const struct op_node *n)
{
    struct op_shape picked = *lower_shape(l, n->out[0]);

    if (op_node_is(n, OP_Gather)) {
        picked = *lower_shape(l, n->in[0]);
        picked.dim[lower_axis(l, n)] = (uint32_t)op_shape_count(lower_shape(l, n->in[1]));
    }
    return picked;
}

enum emu_status lower_moved(struct lowering *l, const struct op_node *n, double fill)
{
    const struct op_shape *from = lower_shape(l, n->in[0]), *to = lower_shape(l, n->out[0]);
    struct op_shape picked = picked_shape(l, n);
    uint64_t lists = 0;
    struct tensor t = lower_view(l, n->in[0]);
    struct origin o = { 0 };
    int64_t *index;
    enum emu_status s = find_origin(l, n, &o);

    for (unsigned d = 0; d < picked.rank; d++)
        lists += picked.dim[d];
    index = emu_alloc(lists + 1, sizeof(*index));
    if (s == EMU_OK && !index)
        s = FAIL(NO_MEMORY, "%s", n->name);
    if (s == EMU_OK) {
        t = is_separable(from, &picked, &o, index)
                ? lower_reshape(l, by_dimension(l, t, &picked, index, fill), to)
                : by_runs(l, t, to, &o, fill);
        lower_set_alias(l, n->out[0], n->in[0], t);
    }
    ss_free(index);
    ss_free(o.of);
    return s;
}

/* ---- Split, Concat ---- */

static void split(struct lowering *l, const struct op_node *n)
{
    struct op_call c = lower_call(l, n);
    const struct op_shape *x = lower_shape(l, n->in[0]);
    unsigned axis = lower_axis(l, n);
    struct tensor t = lower_view(l, n->in[0]);
    uint32_t at = 0;

    for (uint32_t k = 0; k < n->outs; k++) {
        uint32_t end = at + (uint32_t)op_split_size(&c, x->dim[axis], n->outs, k);

        if (n->out[k] != OP_NONE && end > at)
            lower_set_alias(l, n->out[k], n->in[0], ss_tensor_slice(l->g, t, axis, at, end));
        at = end;
    }
}

/* Fields whose channels fill their blocks are joined block by block. */
static int join_fields(struct lowering *l, const struct op_node *n, unsigned axis)
{
    struct tensor *part = emu_alloc(n->ins, sizeof(*part));
    struct activation y = { 0 };
    int can = part != NULL;

    for (uint32_t k = 0; k < n->ins && can; k++) {
        const struct activation *f = &l->at[n->in[k]].field;

        can = lower_has_field(l, n->in[k], axis) && (k + 1 == n->ins || f->c % CHANNEL_BLOCK == 0);
        if (!can)
            break;
        if (!k)
            y = *f;
        can = f->n == y.n && f->h == y.h && f->w == y.w;
        part[k] = f->t;
        y.c += k ? f->c : 0;
    }
    if (can) {
        y.t = ss_tensor_concat(l->g, part, n->ins, 0);
        lower_set_field(l, n->out[0], y, axis);
    }
    ss_free(part);
    return can;
}

static void concat(struct lowering *l, const struct op_node *n)
{
    unsigned axis = lower_axis(l, n);
    struct tensor *part;
    uint32_t parts = 0;

    if (!join_fields(l, n, axis)) {
        part = emu_alloc(n->ins, sizeof(*part));
        if (!part) {
            ss_graph_fail(l->g, EMU_NO_MEMORY, "%s", n->name);
            return;
        }
        for (uint32_t k = 0; k < n->ins; k++) {
            if (lower_shape(l, n->in[k])->dim[axis])
                part[parts++] = lower_view(l, n->in[k]);
        }
        lower_set_view(l, n->out[0],
                       parts > 1 ? ss_tensor_concat(l->g, part, parts, axis) : part[0]);
        ss_free(part);
    }
    for (uint32_t k = 0; k < n->ins; k++)
        lower_pin(l, n->in[k]);
    lower_pin(l, n->out[0]);
}

/* ---- the family ---- */

static double pad_value(struct lowering *l, const struct op_node *n)
{
    struct op_call c = lower_call(l, n);
    uint32_t value = op_knows(&c, "value") ? op_tensor_value(&c, "value") : OP_NONE;
    double number = 0;

    return value != OP_NONE && lower_scalar(l, value, &number) ? number : 0;
}

enum emu_status lower_slice(struct lowering *l, const struct node_group *group,
                            const struct op_node *n)
{
    (void)group;
    if (op_node_is(n, OP_Concat))
        concat(l, n);
    else if (op_node_is(n, OP_Split))
        split(l, n);
    else
        return lower_moved(l, n, !op_node_is(n, OP_Pad) ? 0 : pad_value(l, n));
    return EMU_OK;
}

const char *slice_obstacle(const struct op_graph *g, const struct op_node *n)
{
    if (op_node_is(n, OP_Concat))
        return NULL;
    for (uint32_t k = 1; k < n->ins; k++) {
        if (n->in[k] != OP_NONE && !op_value_constant_kind(&g->value[n->in[k]]))
            return "only its first input may be known at run time";
    }
    return NULL;
}
