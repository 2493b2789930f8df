/* op_bill.c - groups of nodes as rows of a bill. */
#include "models/answer/op_bill.h"

#include "emu/arch/arch_numbers.h"
#include "emu/base/alloc.h"

static uint64_t elements(const struct op_graph *g, uint32_t value)
{
    return op_shape_count(&g->value[value].shape);
}

/* Cycles of a node on all tiles with their units at full rate; see op_bill.h. Views and what
 * becomes part of weights cost nothing. */
static double bound_of(const struct arch *a, const struct op_graph *g, const struct op_node *n)
{
    static const enum op_code exponential[] = { OP_Sigmoid, OP_Swish, OP_Exp, OP_Tanh, OP_Softmax };
    double values, macs = (double)op_node_macs(g, n);

    if (macs > 0) {
        int depthwise = op_node_is(n, OP_Conv) && g->value[n->in[1]].shape.dim[1] == 1 &&
                        g->value[n->in[0]].shape.dim[1] > 1;

        return (depthwise ? 4 : 1) * macs / a->tiles / arch_f16_macs_f16(a);
    }
    if (op_node_has(n, OP_IS_FREE))
        return 0;
    values = (double)elements(g, n->ins ? n->in[0] : n->out[0]) / a->tiles;
    for (unsigned k = 0; k < EMU_COUNT_OF(exponential); k++) {
        if (op_node_is(n, exponential[k]))
            return values * arch_slots_f16sigm(a) / 2 + values / 4;
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
        if (group->nodes == 1 || !op_node_is(node, OP_Add))
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
    ss_free(source);
    return s;
}

/* ---- facts ---- */
