/* op_count.c - multiply-adds of nodes, counted as published tables do: those with padding count. */
#include <string.h>

#include "models/operators/operators.h"

static uint64_t elements(const struct op_graph *g, uint32_t value)
{
    return op_shape_count(&g->value[value].shape);
}

/* Every step multiplies its input by W and its state by R, for each direction. */
static uint64_t recurrent_macs(const struct op_graph *g, const struct op_node *n)
{
    const struct op_shape *w = &g->value[n->in[1]].shape;
    uint64_t rows = elements(g, n->in[0]) / w->dim[w->rank - 1]; /* steps x batch */

    return rows * (elements(g, n->in[1]) + elements(g, n->in[2]));
}

uint64_t op_node_macs(const struct op_graph *g, const struct op_node *n)
{
    const struct op_shape *a = n->ins > 0 && n->in[0] != OP_NONE ? &g->value[n->in[0]].shape : NULL;
    struct op_call c = op_attrs_of(g, n);

    if (!n->outs || !a)
        return 0;
    if (!strcmp(n->row->family->name, "recurrent"))
        return recurrent_macs(g, n);
    if (n->out[0] == OP_NONE)
        return 0;
    if (op_node_is(n, "Conv")) {
        const struct op_shape *w = &g->value[n->in[1]].shape;

        return elements(g, n->out[0]) * op_shape_span(w, 1, w->rank);
    }
    if (op_node_is(n, "ConvTranspose")) {
        const struct op_shape *w = &g->value[n->in[1]].shape;

        return elements(g, n->in[0]) * op_shape_span(w, 1, w->rank);
    }
    if (op_node_is(n, "MatMul"))
        return a->rank ? elements(g, n->out[0]) * a->dim[a->rank - 1] : 0;
    if (op_node_is(n, "Gemm"))
        return elements(g, n->out[0]) * a->dim[op_int(&c, "transA") ? 0 : 1];
    return 0;
}

uint64_t op_graph_macs(const struct op_graph *g)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < g->nodes; i++)
        sum += op_node_macs(g, &g->node[i]);
    return sum;
}
