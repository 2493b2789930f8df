/* op_pass.c - the walk of a pass over the nodes of a graph. */
#include <string.h>

#include "models/pass/op_pass.h"

static void pass_free(struct op_pass *p)
{
    ss_free(p->old);
    ss_free(p->producer);
    ss_free(p->readers);
    ss_free(p->stands_for);
}

/* Takes the nodes out of the graph. */
static enum emu_status pass_begin(struct op_graph *g, struct op_pass *p)
{
    *p = (struct op_pass){ .g = g, .values = g->values };
    p->producer = emu_alloc(g->values + 1, sizeof(*p->producer));
    p->readers = emu_alloc(g->values + 1, sizeof(*p->readers));
    p->stands_for = emu_alloc(g->values + 1, sizeof(*p->stands_for));
    if (!p->producer || !p->readers || !p->stands_for) {
        pass_free(p);
        return FAIL(NO_MEMORY, "a pass over %u values", g->values);
    }
    for (uint32_t v = 0; v < g->values; v++) {
        p->producer[v] = g->value[v].node;
        p->readers[v] = g->value[v].readers;
        p->stands_for[v] = v;
    }
    p->old = g->node;
    p->olds = g->nodes;
    p->f32_nodes = g->f32_nodes;
    g->node = NULL;
    g->nodes = 0;
    g->node_cap = 0;
    return EMU_OK;
}

/* The old node stays as it is: patterns that come later are matched with it. */
static enum emu_status keep(struct op_pass *p, const struct op_node *n)
{
    uint32_t *in = op_graph_copy(p->g, n->in, n->ins * sizeof(*in));
    struct op_node now = *n;

    if (!in)
        return FAIL(NO_MEMORY, "a node");
    for (uint32_t k = 0; k < n->ins; k++) {
        if (in[k] != OP_NONE)
            in[k] = op_pass_now(p, in[k]);
    }
    now.in = in;
    return op_graph_append(p->g, &now);
}

void op_pass_replace(struct op_pass *p, uint32_t value, uint32_t by)
{
    p->stands_for[value] = by;
    op_value_swap_names(p->g, value, by);
}

const struct op_node *op_pass_made_by(const struct op_pass *p, uint32_t value, enum op_code op)
{
    const struct op_node *n;

    if (value >= p->values || p->producer[value] == OP_NONE)
        return NULL;
    n = &p->old[p->producer[value]];
    return op_node_is(n, op) ? n : NULL;
}

int op_pass_scalar(const struct op_pass *p, uint32_t value, double *number)
{
    const struct op_value *v;
    struct op_tensor t;

    if (value == OP_NONE)
        return 0;
    v = &p->g->value[value];
    if (!op_value_constant_kind(v) || op_shape_count(&v->shape) != 1 ||
        op_value_read(p->g, value, &t) != EMU_OK)
        return 0;
    *number = op_tensor_number(&t, 0);
    op_tensor_free(&t);
    return 1;
}

static enum emu_status walk(struct op_pass *p, op_pass_visit *visit)
{
    for (uint32_t n = 0; n < p->olds; n++) {
        int replaced = 0;

        TRY(visit(p, n, &replaced));
        if (!replaced)
            TRY(keep(p, &p->old[n]));
        if (n < p->f32_nodes)
            p->g->f32_nodes = p->g->nodes;
    }
    for (uint32_t k = 0; k < p->g->outputs; k++)
        p->g->output[k] = op_pass_now(p, p->g->output[k]);
    for (uint32_t k = 0; k < p->g->updates; k++)
        p->g->update[k].value = op_pass_now(p, p->g->update[k].value);
    return EMU_OK;
}

enum emu_status op_pass_run(struct op_graph *g, op_pass_visit *visit)
{
    struct op_pass p;
    enum emu_status s;

    TRY(pass_begin(g, &p));
    s = walk(&p, visit);
    pass_free(&p);
    if (s == EMU_OK)
        s = op_graph_tidy(g);
    return s == EMU_OK ? op_graph_check(g) : s;
}

/* ---- precision ---- */

enum emu_status pass_widen(struct op_graph *g, const char *last)
{
    if (!last) {
        g->f32_nodes = g->nodes;
        return EMU_OK;
    }
    for (uint32_t n = 0; n < g->nodes; n++) {
        if (!strcmp(g->node[n].name, last)) {
            g->f32_nodes = n + 1;
            return EMU_OK;
        }
    }
    return FAIL(USAGE, "no node is called '%s' once nodes are fused", last);
}

/* ---- all of them ---- */

static const struct pass_stage stages[] = {
    { "import", NULL },
    { "tidy", op_graph_tidy },
    { "pads", pass_join_pads },
    { "norms", pass_fold_norms },
    { "group-norms", pass_group_norms },
    { "recognise", pass_recognise },
    { "expand", pass_expand },
};

const struct pass_stage *pass_stage(unsigned k)
{
    return k < EMU_COUNT_OF(stages) ? &stages[k] : NULL;
}

enum emu_status pass_until(struct op_graph *g, const char *last)
{
    for (unsigned k = 0; k < EMU_COUNT_OF(stages); k++) {
        if (stages[k].run)
            TRY(stages[k].run(g));
        TRY(op_graph_check(g));
        if (!strcmp(stages[k].name, last))
            break;
    }
    return EMU_OK;
}

enum emu_status pass_all(struct op_graph *g)
{
    return pass_until(g, stages[EMU_COUNT_OF(stages) - 1].name);
}
