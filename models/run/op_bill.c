/* op_bill.c - groups of nodes as rows of a bill. */
#include "models/run/op_bill.h"

#include <string.h>

#include "emu/arch/arch.h"
#include "emu/base/alloc.h"

static uint64_t elements(const struct op_graph *g, uint32_t value)
{
    return op_shape_count(&g->value[value].shape);
}

/* Cycles of a node on all tiles with their units at full rate; see op_bill.h. Views and what
 * becomes part of weights cost nothing. */
static double bound_of(const struct arch *a, const struct op_graph *g, const struct op_node *n)
{
    static const char *const exponential[] = { "Sigmoid", "Swish", "Exp", "Tanh", "Softmax" };
    static const char *const free_of_charge[] = { "view", "slice", "alias", "shape", "constant" };
    double values, macs = (double)op_node_macs(g, n);

    if (macs > 0) {
        int depthwise = op_node_is(n, "Conv") && g->value[n->in[1]].shape.dim[1] == 1 &&
                        g->value[n->in[0]].shape.dim[1] > 1;

        return (depthwise ? 4 : 1) * macs / a->tiles / a->f16_macs_f16;
    }
    for (unsigned k = 0; k < EMU_COUNT_OF(free_of_charge); k++) {
        if (!strcmp(n->row->family->name, free_of_charge[k]))
            return 0;
    }
    values = (double)elements(g, n->ins ? n->in[0] : n->out[0]) / a->tiles;
    for (unsigned k = 0; k < EMU_COUNT_OF(exponential); k++) {
        if (op_node_is(n, exponential[k]))
            return values * a->slots_f16sigm / 2 + values / 4;
    }
    return values / 4;
}

static void make_source(const struct lowered_network *n, uint32_t i, const struct arch *a,
                        struct layer_source *out)
{
    const struct op_graph *g = n->graph;
    const struct node_group *group = &n->groups.at[i];
    const struct op_node *first = &g->node[group->node[0]];

    *out = (struct layer_source){ .layer = i,
                                  .last = i,
                                  .scope = n->group[i].scope,
                                  .text = { first->name, first->block, "" },
                                  .plan = n->group[i].plan.cut_n ? &n->group[i].plan : NULL };
    node_group_text(g, group, out->text.op);
    for (unsigned k = 0; k < group->nodes; k++) {
        const struct op_node *node = &g->node[group->node[k]];

        out->macs += op_node_macs(g, node);
        if (group->nodes == 1 || !op_node_is(node, "Add"))
            out->bound += (uint64_t)bound_of(a, g, node);
    }
}

enum emu_status op_bill_init(const struct lowered_network *n, const struct compiled *c,
                             const struct arch *a, struct layer_cycles *out)
{
    struct layer_source *source = emu_alloc(n->groups.count + 1, sizeof(*source));
    enum emu_status s;

    *out = (struct layer_cycles){ .row = NULL };
    if (!source)
        return FAIL(NO_MEMORY, "bills of %u layers", n->groups.count);
    for (uint32_t i = 0; i < n->groups.count; i++)
        make_source(n, i, a, &source[i]);
    s = layer_cycles_init(source, n->groups.count, c, out);
    emu_free(source);
    return s;
}

/* ---- facts ---- */

/* The length of the list of scores: the last dimension of the first output, if it is one list for
 * each input of the batch. */
static uint32_t classes_of(const struct op_graph *g, uint32_t batch)
{
    const struct op_shape *s = g->outputs ? &g->value[g->output[0]].shape : NULL;

    if (!s || !s->rank || op_type_kind(s->type) != OP_KIND_FLOAT ||
        op_shape_span(s, 0, s->rank - 1) != batch || s->dim[s->rank - 1] < 2)
        return 0;
    return s->dim[s->rank - 1];
}

/* Whether the only input with such a shape is [n][3][h][w], [n][h][w][3], or [n][1][side][side]. */
static int takes_pictures(const struct op_graph *g)
{
    uint32_t pictures = 0;

    for (uint32_t k = 0; k < g->inputs; k++) {
        const struct op_value *v = &g->value[g->input[k]];
        const uint32_t *d = v->shape.dim;

        pictures += v->kind == OP_INPUT && v->shape.rank == 4 &&
                    (d[1] == 3 || d[3] == 3 || (d[1] == 1 && d[2] == d[3]));
    }
    return pictures == 1;
}

uint64_t op_graph_parameters(const struct op_graph *g)
{
    uint64_t n = 0;

    for (uint32_t v = 0; v < g->values; v++)
        n += g->value[v].kind == OP_PARAM ? elements(g, v) : 0;
    return n;
}

struct model_facts op_facts(const struct op_graph *g, const char *name, uint32_t batch,
                            uint64_t parameters)
{
    enum { F16_BYTES = 2 };
    struct model_facts f = {
        .name = name, .batch = batch, .classes = classes_of(g, batch), .parameters = parameters
    };
    size_t used = 0;

    f.takes_pictures = takes_pictures(g);
    f.macs = op_graph_macs(g) / batch;
    for (uint32_t k = 0; k < g->inputs; k++) {
        char shape[OP_SHAPE_TEXT];

        f.input_bytes += F16_BYTES * elements(g, g->input[k]);
        if (used < sizeof(f.input))
            used += (size_t)snprintf(f.input + used, sizeof(f.input) - used, "%s%s", k ? ", " : "",
                                     op_shape_text(&g->value[g->input[k]].shape, shape));
    }
    for (uint32_t k = 0; k < g->outputs; k++)
        f.output_bytes += F16_BYTES * elements(g, g->output[k]);
    return f;
}
