/* op_tidy.c - takes out what no output needs, and nodes that only give a value another name. */
#include "models/operators/operators.h"

/* Whether a node leaves numbers out when the graph is trained. */
static int drops(const struct op_graph *g, const struct op_node *n)
{
    struct op_call c = op_attrs_of(g, n);

    return g->parameters_change && op_node_is(n, OP_Dropout) && op_float(&c, "ratio") > 0;
}

/* Whether a node's results may be replaced by its first input: only the first is read, and it is no
 * output, since outputs keep their names. */
static int is_alias(const struct op_graph *g, const struct op_node *n)
{
    if (!op_node_has(n, OP_IS_ALIAS) || n->out[0] == OP_NONE || drops(g, n))
        return 0;
    for (uint32_t k = 1; k < n->outs; k++) {
        if (n->out[k] != OP_NONE && g->value[n->out[k]].readers)
            return 0;
    }
    for (uint32_t k = 0; k < g->outputs; k++) {
        if (g->output[k] == n->out[0])
            return 0;
    }
    return 1;
}

/* Readers of an alias read its original instead. */
static enum emu_status follow_aliases(struct op_graph *g)
{
    uint32_t *stands_for = emu_alloc(g->values + 1, sizeof(*stands_for));

    if (!stands_for)
        return FAIL(NO_MEMORY, "a graph of %u values", g->values);
    for (uint32_t v = 0; v < g->values; v++)
        stands_for[v] = v;
    for (uint32_t n = 0; n < g->nodes; n++) {
        struct op_node *node = &g->node[n];
        uint32_t *in = (uint32_t *)node->in; /* the graph's */

        for (uint32_t k = 0; k < node->ins; k++) {
            if (in[k] != OP_NONE)
                in[k] = stands_for[in[k]];
        }
        if (is_alias(g, node))
            stands_for[node->out[0]] = in[0];
    }
    ss_free(stands_for);
    return EMU_OK;
}

static void mark_node(const struct op_graph *g, uint32_t n, uint8_t *value, uint8_t *node)
{
    const struct op_node *at = &g->node[n];

    for (uint32_t k = 0; k < at->outs; k++) {
        if (at->out[k] != OP_NONE && value[at->out[k]])
            node[n] = 1;
    }
    if (!node[n])
        return;
    for (uint32_t k = 0; k < at->outs; k++) {
        if (at->out[k] != OP_NONE)
            value[at->out[k]] = 1;
    }
    for (uint32_t k = 0; k < at->ins; k++) {
        if (at->in[k] != OP_NONE)
            value[at->in[k]] = 1;
    }
    for (uint32_t k = 0; k < at->attrs; k++) {
        if (at->attr[k].kind == OP_ATTR_TENSOR)
            value[at->attr[k].value] = 1;
    }
}

enum emu_status op_graph_tidy(struct op_graph *g)
{
    uint8_t *value = emu_alloc(g->values + 1, 1), *node = emu_alloc(g->nodes + 1, 1);
    enum emu_status s = value && node ? follow_aliases(g) : FAIL(NO_MEMORY, "tidying a graph");

    for (uint32_t k = 0; s == EMU_OK && k < g->inputs; k++)
        value[g->input[k]] = 1;
    for (uint32_t k = 0; s == EMU_OK && k < g->outputs; k++)
        value[g->output[k]] = 1;
    for (uint32_t n = g->nodes; s == EMU_OK && n-- > 0;)
        mark_node(g, n, value, node);
    if (s == EMU_OK)
        s = op_graph_compact(g, value, node);
    ss_free(value);
    ss_free(node);
    return s;
}
