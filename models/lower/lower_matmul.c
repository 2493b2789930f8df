/* lower_matmul.c - matrix products: dense layers, and products of values. */
#include <string.h>

#include "models/lower/arithmetic.h"

/* t as [batch][rows][columns], broadcast to the batch dimensions of the result. */
static struct tensor batched(struct lowering *l, struct tensor t, const struct op_shape *to)
{
    unsigned rank = ss_tensor_rank(l->g, t);
    const uint32_t *s = ss_tensor_shape(l->g, t);
    struct op_shape wide = { .rank = to->rank };
    uint32_t rows = s[rank - 2], columns = s[rank - 1];

    memcpy(wide.dim, to->dim, to->rank * sizeof(wide.dim[0]));
    wide.dim[to->rank - 2] = rows;
    wide.dim[to->rank - 1] = columns;
    t = lower_broadcast(l, t, &wide);
    return ss_tensor_reshape(
        l->g, t, 3,
        (const uint32_t[]){ (uint32_t)op_shape_span(&wide, 0, wide.rank - 2), rows, columns });
}

/* A vector is a matrix of one row on the left, of one column on the right. */
static struct tensor matrix(struct lowering *l, uint32_t value, int right)
{
    const struct op_shape *s = lower_shape(l, value);
    struct tensor t = lower_view(l, value);

    if (s->rank > 1)
        return t;
    return ss_tensor_reshape(l->g, t, 2,
                             (const uint32_t[]){ right ? s->dim[0] : 1, right ? 1 : s->dim[0] });
}

static void matmul(struct lowering *l, const struct op_node *n)
{
    struct tensor a = matrix(l, n->in[0], 0), b = matrix(l, n->in[1], 1);
    unsigned ra = ss_tensor_rank(l->g, a), rb = ss_tensor_rank(l->g, b);
    const struct op_shape *sa = lower_shape(l, n->in[0]), *sb = lower_shape(l, n->in[1]);
    struct op_shape full = { .rank = ra > rb ? ra : rb };

    if (rb == 2) { /* all of the batch has the same right operand: more rows of one product */
        uint32_t k = ss_tensor_shape(l->g, b)[0];

        a = ss_tensor_reshape(
            l->g, a, 3, (const uint32_t[]){ 1, (uint32_t)(ss_tensor_elements(l->g, a) / k), k });
        b = ss_tensor_reshape(l->g, b, 3, (const uint32_t[]){ 1, k, ss_tensor_shape(l->g, b)[1] });
    } else {
        for (unsigned d = 0; d + 2 < full.rank; d++) {
            unsigned of = full.rank - d;
            uint32_t x = sa->rank >= of ? sa->dim[sa->rank - of] : 1;
            uint32_t y = sb->rank >= of ? sb->dim[sb->rank - of] : 1;

            full.dim[d] = x > y ? x : y;
        }
        a = batched(l, a, &full);
        b = batched(l, b, &full);
    }
    lower_set_view(l, n->out[0], ss_op_product(l->g, l->seq, a, b, n->name));
}

static void gemm(struct lowering *l, const struct op_node *n)
{
    static const unsigned turned[] = { 1, 0 };
    const struct formula f = { l, n->name };
    struct op_call c = lower_call(l, n);
    struct tensor a = lower_view(l, n->in[0]), b = lower_view(l, n->in[1]), t;
    const uint32_t *s;

    if (op_int(&c, "transA"))
        a = ss_tensor_transpose(l->g, a, turned);
    if (op_int(&c, "transB"))
        b = ss_tensor_transpose(l->g, b, turned);
    s = ss_tensor_shape(l->g, a);
    a = ss_tensor_reshape(l->g, a, 3, (const uint32_t[]){ 1, s[0], s[1] });
    s = ss_tensor_shape(l->g, b);
    b = ss_tensor_reshape(l->g, b, 3, (const uint32_t[]){ 1, s[0], s[1] });
    t = lower_reshape(l, ss_op_product(l->g, l->seq, a, b, n->name), lower_shape(l, n->out[0]));
    if (op_float(&c, "alpha") != 1)
        t = fn_by(&f, BINARY_MUL, t, op_float(&c, "alpha"));
    if (n->ins > 2 && n->in[2] != OP_NONE) {
        struct tensor more = lower_broadcast(l, lower_view(l, n->in[2]), lower_shape(l, n->out[0]));

        if (op_float(&c, "beta") != 1)
            more = fn_by(&f, BINARY_MUL, more, op_float(&c, "beta"));
        t = fn_two(&f, BINARY_ADD, t, more);
    }
    lower_set_view(l, n->out[0], t);
}

enum emu_status lower_matmul(struct lowering *l, const struct node_group *group,
                             const struct op_node *n)
{
    struct dense_layer d;

    if (l->real == ELEM_F16 && dense_layer_of(l->og, n, &d))
        return lower_dense(l, group, n);
    if (op_node_is(n, OP_Gemm))
        gemm(l, n);
    else
        matmul(l, n);
    return EMU_OK;
}

const char *matmul_obstacle(const struct op_graph *g, const struct op_node *n)
{
    return op_type_kind(g->value[n->in[0]].shape.type) == OP_KIND_FLOAT
               ? NULL
               : "integers: tiles compute with floats, so cast them before";
}
