/* op_error_elementwise.c - functions of several numbers: errors through the kernels that
 * functions.def says, as models/lower/lower_binary.c has them. */
#include "models/bound/op_error_rules.h"

/* All operands of a number of the result. */
static struct bounded combine(const struct rounding *r, const struct op_node *n,
                              const struct binary_row *row, const struct bounded *x)
{
    struct bounded y = x[0];

    if (op_node_is(n, OP_Where))
        return bounded_select(x[0], x[1], x[2]);
    if (op_node_is(n, OP_PRelu))
        return bounded_select(bounded_binary(r, BINARY_LESS, x[0], exactly(0)),
                              bounded_binary(r, BINARY_MUL, x[0], x[1]), x[0]);
    if (row->is_swapped)
        return bounded_binary(r, row->op, x[1], x[0]);
    for (uint32_t k = 1; k < n->ins; k++)
        y = bounded_binary(r, row->op, y, x[k]);
    if (op_node_is(n, OP_Mean) && n->ins > 1)
        y = bounded_binary(r, BINARY_MUL, y, bounded_constant(r, 1.0 / n->ins));
    return y;
}

enum emu_status binary_error(const struct op_error *o, const struct op_node *n,
                             const struct bounded_value *const *in, struct bounded_value *out)
{
    const struct rounding r = rounding_of(o->elem);
    const struct binary_row *row = op_binary_row(n);
    struct bounded *x = emu_alloc(n->ins, sizeof(*x));
    uint64_t(*stride)[OP_RANK_MAX] = emu_alloc(n->ins, sizeof(*stride));
    const struct op_shape *s = &out->t.shape;
    uint32_t index[OP_RANK_MAX] = { 0 };
    enum emu_status st = x && stride ? EMU_OK : FAIL(NO_MEMORY, "%s", n->name);

    if (st == EMU_OK && !row && !op_node_is(n, OP_Where) && !op_node_is(n, OP_PRelu))
        st = FAIL(BAD_FILE, "node %s (%s): no bounds of the operator are built yet", n->name,
                  n->row->name);
    for (uint32_t k = 0; st == EMU_OK && k < n->ins; k++)
        op_broadcast_strides(&in[k]->t.shape, s, stride[k]);
    for (uint64_t i = 0; st == EMU_OK && i < count_of(out); i++) {
        for (uint32_t k = 0; k < n->ins; k++) {
            uint64_t at = 0;

            for (unsigned d = 0; d < s->rank; d++)
                at += index[d] * stride[k][d];
            x[k] = bounded_at(in[k], at);
            x[k].e += bounded_constant(&r, x[k].v).e; /* f32 that becomes a field's operand */
        }
        out->e[i] = combine(&r, n, row, x).e;
        op_index_next(s, index);
    }
    ss_free(x);
    ss_free(stride);
    return st;
}
