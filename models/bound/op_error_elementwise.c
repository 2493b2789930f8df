/* op_error_elementwise.c - functions of several numbers: the kernels that they are made of, as in
 * models/lower/lower_binary.c. */
#include "models/bound/op_error_rules.h"

static const struct binary_error {
    const char *name;
    enum binary_op op;
    int swapped;
} binary[] = {
    { "Add", BINARY_ADD, 0 },      { "And", BINARY_MUL, 0 },
    { "Div", BINARY_DIV, 0 },      { "Equal", BINARY_EQUAL, 0 },
    { "Greater", BINARY_LESS, 1 }, { "GreaterOrEqual", BINARY_LESS_OR_EQUAL, 1 },
    { "Less", BINARY_LESS, 0 },    { "LessOrEqual", BINARY_LESS_OR_EQUAL, 0 },
    { "Max", BINARY_MAX, 0 },      { "Mean", BINARY_ADD, 0 },
    { "Min", BINARY_MIN, 0 },      { "Mul", BINARY_MUL, 0 },
    { "Or", BINARY_MAX, 0 },       { "Pow", BINARY_POW, 0 },
    { "Sub", BINARY_SUB, 0 },      { "Sum", BINARY_ADD, 0 },
    { "Xor", BINARY_EQUAL, 0 },
};

static const struct binary_error *binary_row_of(const struct op_node *n)
{
    for (unsigned k = 0; k < EMU_COUNT_OF(binary); k++) {
        if (op_node_is(n, binary[k].name))
            return &binary[k];
    }
    return NULL;
}

/* All operands of a number of the result. */
static struct bounded combine(const struct rounding *r, const struct op_node *n,
                              const struct binary_error *row, const struct bounded *x)
{
    struct bounded y = x[0];

    if (op_node_is(n, "Where"))
        return bounded_select(x[0], x[1], x[2]);
    if (op_node_is(n, "PRelu"))
        return bounded_select(bounded_binary(r, BINARY_LESS, x[0], exactly(0)),
                              bounded_binary(r, BINARY_MUL, x[0], x[1]), x[0]);
    if (row->swapped)
        return bounded_binary(r, row->op, x[1], x[0]);
    for (uint32_t k = 1; k < n->ins; k++)
        y = bounded_binary(r, row->op, y, x[k]);
    if (op_node_is(n, "Mean") && n->ins > 1)
        y = bounded_binary(r, BINARY_MUL, y, bounded_constant(r, 1.0 / n->ins));
    return y;
}

enum emu_status binary_error(const struct op_error *o, const struct op_node *n,
                             const struct bounded_value *const *in, struct bounded_value *out)
{
    const struct rounding r = rounding_of(o->elem);
    const struct binary_error *row = binary_row_of(n);
    struct bounded *x = emu_alloc(n->ins, sizeof(*x));
    uint64_t(*stride)[OP_RANK_MAX] = emu_alloc(n->ins, sizeof(*stride));
    const struct op_shape *s = &out->t.shape;
    uint32_t index[OP_RANK_MAX] = { 0 };
    enum emu_status st = x && stride ? EMU_OK : FAIL(NO_MEMORY, "%s", n->name);

    if (st == EMU_OK && !row && !op_node_is(n, "Where") && !op_node_is(n, "PRelu"))
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
    emu_free(x);
    emu_free(stride);
    return st;
}
