/* expand_einsum.c - Einsum of one or two operands as what tiles compute (pass_expand()).
 *
 * Of each operand first the diagonals and broadcasts are picked, then the labels are summed over
 * that nothing else has. One operand is then moved into the order of the result. Of two, the labels
 * are a batch (of both and the result), rows (of the first), columns (of the second), and sums (of
 * both): a product of matrices, moved into that order; without sums, of numbers. */
#include <string.h>

#include "models/operators/op_einsum.h"
#include "models/pass/expand.h"

/* Labels in an order. */
struct labels {
    unsigned n;
    unsigned at[EINSUM_LABELS];
};

struct einsum_operand {
    uint32_t value;
    struct labels labels; /* of its dimensions */
};

struct einsum_spelling {
    struct op_pass *p;
    const struct op_node *n;
    struct einsum e;
    struct einsum_operand operand[2];
};

static int has(const struct labels *l, unsigned label)
{
    for (unsigned k = 0; k < l->n; k++) {
        if (l->at[k] == label)
            return 1;
    }
    return 0;
}

static void add(struct labels *l, unsigned label)
{
    l->at[l->n++] = label;
}

static struct labels of_term(const struct einsum_term *t)
{
    struct labels l = { .n = 0 };

    for (unsigned d = 0; d < t->n; d++) {
        if (!has(&l, t->label[d]))
            add(&l, t->label[d]);
    }
    return l;
}

static struct op_shape shape_of(const struct einsum_spelling *s, const struct labels *l)
{
    struct op_shape shape = { .rank = l->n };

    for (unsigned d = 0; d < l->n; d++)
        shape.dim[d] = s->e.size[l->at[d]];
    return shape;
}

static uint32_t span_of(const struct einsum_spelling *s, const struct labels *l)
{
    uint32_t n = 1;

    for (unsigned d = 0; d < l->n; d++)
        n *= s->e.size[l->at[d]];
    return n;
}

/* ---- one operand ---- */

/* Whether the labels name the operand as it is. */
static int is_whole(const struct op_shape *x, const struct op_shape *to)
{
    return to->rank == x->rank && !memcmp(to->dim, x->dim, x->rank * sizeof(x->dim[0]));
}

static int can_pick(const struct einsum_spelling *s, unsigned k)
{
    const struct op_shape *x = &s->p->g->value[s->operand[k].value].shape;
    const struct op_shape to = shape_of(s, &s->operand[k].labels);

    return op_shape_count(x) < UINT32_MAX &&
           (is_whole(x, &to) || expand_can_pick(x, op_shape_count(&to)));
}

/* Picks what the labels name. */
static enum emu_status pick(struct einsum_spelling *s, unsigned k)
{
    struct einsum_operand *o = &s->operand[k];
    const struct op_shape x = s->p->g->value[o->value].shape;
    struct op_shape to = shape_of(s, &o->labels), list = { .type = OP_TYPE_I64, .rank = 1 };
    uint32_t index[OP_RANK_MAX] = { 0 };
    struct op_tensor places;
    enum emu_status st;

    if (is_whole(&x, &to))
        return EMU_OK;
    list.dim[0] = (uint32_t)op_shape_count(&to);
    TRY(op_tensor_new(&list, &places));
    for (uint32_t i = 0; i < list.dim[0]; i++) {
        for (unsigned d = 0; d < to.rank; d++)
            places.i[i] += (int64_t)(index[d] * op_einsum_stride(&s->e.in[k], &x, o->labels.at[d]));
        op_index_next(&to, index);
    }
    st = expand_picked(s->p, s->n, o->value, &places, &to, &o->value);
    op_tensor_free(&places);
    return st;
}

/* Sums over the labels that nothing else has. */
static enum emu_status sum_own(struct einsum_spelling *s, unsigned k, const struct labels *out)
{
    struct einsum_operand *o = &s->operand[k];
    struct labels left = { .n = 0 };

    for (unsigned d = 0; d < o->labels.n; d++) {
        unsigned label = o->labels.at[d];

        if (has(out, label) || (s->e.operands > 1 && has(&s->operand[!k].labels, label)))
            add(&left, label);
        else
            TRY(expand_reduce(s->p, s->n, OP_ReduceSum, ".sum", o->value, left.n, &o->value));
    }
    o->labels = left;
    return EMU_OK;
}

/* Dimensions in another order. */
static enum emu_status move(struct einsum_spelling *s, struct einsum_operand *o,
                            const struct labels *to)
{
    int64_t perm[OP_RANK_MAX] = { 0 };

    for (unsigned d = 0; d < to->n; d++) {
        while (o->labels.at[perm[d]] != to->at[d])
            perm[d]++;
    }
    o->labels = *to;
    return expand_transpose(s->p, s->n, ".order", to->n, perm, o->value, &o->value);
}

/* ---- two ---- */

struct classes {
    struct labels batch, rows, columns, sums;
};

static struct classes classes_of(const struct einsum_spelling *s, const struct labels *out)
{
    const struct labels *a = &s->operand[0].labels, *b = &s->operand[1].labels;
    struct classes c = { .batch = { .n = 0 } };

    for (unsigned d = 0; d < a->n; d++)
        add(!has(b, a->at[d]) ? &c.rows : has(out, a->at[d]) ? &c.batch : &c.sums, a->at[d]);
    for (unsigned d = 0; d < b->n; d++) {
        if (!has(a, b->at[d]))
            add(&c.columns, b->at[d]);
    }
    return c;
}

/* An operand as [batch][first][second]. */
static enum emu_status as_matrices(struct einsum_spelling *s, struct einsum_operand *o,
                                   const struct labels *batch, const struct labels *first,
                                   const struct labels *second)
{
    const struct op_shape to = {
        .rank = 3, .dim = { span_of(s, batch), span_of(s, first), span_of(s, second) }
    };
    struct labels all = *batch;

    for (unsigned d = 0; d < first->n; d++)
        add(&all, first->at[d]);
    for (unsigned d = 0; d < second->n; d++)
        add(&all, second->at[d]);
    TRY(move(s, o, &all));
    return expand_reshape(s->p, s->n, o->value, &to, &o->value);
}

/* The product becomes the first operand. */
static enum emu_status multiply(struct einsum_spelling *s, const struct labels *out)
{
    const struct classes c = classes_of(s, out);
    struct einsum_operand *a = &s->operand[0], *b = &s->operand[1];
    struct labels all = c.batch;
    struct op_shape to;

    TRY(as_matrices(s, a, &c.batch, &c.rows, &c.sums));
    TRY(as_matrices(s, b, &c.batch, &c.sums, &c.columns));
    TRY(expand_binary(s->p, s->n, c.sums.n ? OP_MatMul : OP_Mul, ".product", a->value, b->value,
                      &a->value));
    for (unsigned d = 0; d < c.rows.n; d++)
        add(&all, c.rows.at[d]);
    for (unsigned d = 0; d < c.columns.n; d++)
        add(&all, c.columns.at[d]);
    to = shape_of(s, &all);
    a->labels = all;
    return expand_reshape(s->p, s->n, a->value, &to, &a->value);
}

enum emu_status expand_einsum(struct op_pass *p, const struct op_node *n, uint32_t *out)
{
    struct op_call c = op_attrs_of(p->g, n);
    const struct op_shape *in[2];
    struct einsum_spelling s = { .p = p, .n = n };
    struct labels result;

    if (n->ins > 2 || op_type_kind(p->g->value[n->in[0]].shape.type) != OP_KIND_FLOAT ||
        !op_shape_count(&p->g->value[n->out[0]].shape))
        return EMU_OK;
    c.in = in;
    c.ins = n->ins;
    for (uint32_t k = 0; k < n->ins; k++) {
        s.operand[k].value = op_pass_now(p, n->in[k]);
        in[k] = &p->g->value[n->in[k]].shape;
    }
    TRY(op_einsum_of(&c, &s.e));
    result = of_term(&s.e.out);
    for (uint32_t k = 0; k < n->ins; k++) {
        s.operand[k].labels = of_term(&s.e.in[k]);
        if (!can_pick(&s, k))
            return EMU_OK;
    }
    for (uint32_t k = 0; k < n->ins; k++)
        TRY(pick(&s, k));
    for (uint32_t k = 0; k < n->ins; k++)
        TRY(sum_own(&s, k, &result));
    if (n->ins > 1)
        TRY(multiply(&s, &result));
    TRY(move(&s, &s.operand[0], &result));
    return expand_unary(p, n, OP_Identity, "", s.operand[0].value, out);
}
