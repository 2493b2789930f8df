/* op_count.c - what nodes take: multiply-adds, counted as published tables do (those with padding
 * count), and bytes. */

#include "models/operators/op_bytes.h"
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
    if (op_node_is_of(n, FAMILY_recurrent))
        return recurrent_macs(g, n);
    if (n->out[0] == OP_NONE)
        return 0;
    if (op_node_is(n, OP_Conv)) {
        const struct op_shape *w = &g->value[n->in[1]].shape;

        return elements(g, n->out[0]) * op_shape_span(w, 1, w->rank);
    }
    if (op_node_is(n, OP_ConvTranspose)) {
        const struct op_shape *w = &g->value[n->in[1]].shape;

        return elements(g, n->in[0]) * op_shape_span(w, 1, w->rank);
    }
    if (op_node_is(n, OP_MatMul))
        return a->rank ? elements(g, n->out[0]) * a->dim[a->rank - 1] : 0;
    if (op_node_is(n, OP_Gemm))
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

/* ---- bytes ---- */

int op_node_is_view(const struct op_node *n)
{
    return op_node_has(n, OP_IS_VIEW) && !op_node_is(n, OP_Concat);
}

/* Bytes of a value on the chip: integers have four, all others those of a float, wide or not. */
static uint64_t value_bytes(const struct op_graph *g, uint32_t value, int wide)
{
    enum { HALF = 2, WORD = 4 };
    const struct op_shape *s = &g->value[value].shape;

    return op_shape_count(s) * (wide || op_type_kind(s->type) == OP_KIND_INT ? WORD : HALF);
}

uint64_t op_value_bytes(const struct op_graph *g, uint32_t value)
{
    uint32_t node = g->value[value].node;

    return value_bytes(
        g, value, node != OP_NONE && (node < g->f32_nodes || g->node[node].precision == OP_WIDE));
}

/* seen: by value; 1: another node has read it. */
static struct op_work work_of(const struct op_graph *g, uint32_t node, uint8_t *seen)
{
    const struct op_node *n = &g->node[node];
    int inside = node < g->f32_nodes || n->precision != OP_AS_OTHERS;
    struct op_work w = { .macs = op_node_macs(g, n) };

    for (uint32_t k = 0; k < n->ins; k++) {
        uint32_t v = n->in[k];

        if (v == OP_NONE || !op_value_constant_kind(&g->value[v]) || seen[v])
            continue;
        seen[v] = 1;
        w.weight_bytes += value_bytes(g, v, inside);
    }
    for (uint32_t k = 0; k < n->outs && !op_node_is_view(n); k++)
        w.result_bytes += n->out[k] == OP_NONE ? 0 : op_value_bytes(g, n->out[k]);
    return w;
}

enum emu_status op_graph_work(const struct op_graph *g, struct op_work **out)
{
    struct op_work *w = emu_alloc((size_t)g->nodes + 1, sizeof(*w)), *sum;
    uint8_t *seen = emu_alloc((size_t)g->values + 1, 1);

    *out = w;
    if (!w || !seen) {
        ss_free(seen);
        return FAIL(NO_MEMORY, "the work of %u nodes", g->nodes);
    }
    sum = &w[g->nodes];
    for (uint32_t i = 0; i < g->nodes; i++) {
        w[i] = work_of(g, i, seen);
        sum->macs += w[i].macs;
        sum->weight_bytes += w[i].weight_bytes;
        sum->result_bytes += w[i].result_bytes;
    }
    ss_free(seen);
    return EMU_OK;
}
