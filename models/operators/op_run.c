/* op_run.c - computes an operator graph in f64 and i64: the plain reference of networks. */
#include <string.h>

#include "models/operators/operators.h"

/* A run. */
struct graph_run {
    const struct op_graph *g;
    struct op_tensor *at; /* by value; .any NULL: not there (yet, or any more) */
    uint32_t *readers;    /* left, by value */
    int rounded;
    op_visit *visit; /* NULL: nobody asks */
    void *arg;
};

/* The numbers of a value, read from the graph if it is constant. */
static enum emu_status fetch(struct graph_run *r, uint32_t value)
{
    if (r->at[value].any)
        return EMU_OK;
    EMU_ASSERT(op_value_constant_kind(&r->g->value[value]));
    return op_value_read(r->g, value, &r->at[value]);
}

/* One reader less: the last one frees it. */
static void release(struct graph_run *r, uint32_t value)
{
    if (value != OP_NONE && --r->readers[value] == 0)
        op_tensor_free(&r->at[value]);
}

static enum emu_status run_node(struct graph_run *r, const struct op_node *n)
{
    const struct op_tensor **in = emu_alloc(n->ins + 1, sizeof(*in));
    struct op_tensor *out = emu_alloc(n->outs + 1, sizeof(*out));
    enum emu_status s = in && out ? EMU_OK : FAIL(NO_MEMORY, "a node");

    for (uint32_t k = 0; s == EMU_OK && k < n->ins; k++) {
        if (n->in[k] == OP_NONE)
            continue;
        s = fetch(r, n->in[k]);
        in[k] = &r->at[n->in[k]];
        if (s == EMU_OK && k == 0 && r->visit)
            s = r->visit(r->arg, n, in[0]);
    }
    if (s == EMU_OK)
        s = op_node_run(r->g, n, in, out);
    for (uint32_t k = 0; out && k < n->outs; k++) {
        if (s != EMU_OK || n->out[k] == OP_NONE || !r->readers[n->out[k]]) {
            op_tensor_free(&out[k]);
            continue;
        }
        if (r->rounded || op_type_kind(out[k].shape.type) != OP_KIND_FLOAT)
            op_tensor_round(&out[k]); /* integers wrap in any case */
        r->at[n->out[k]] = out[k];
    }
    for (uint32_t k = 0; s == EMU_OK && k < n->ins; k++)
        release(r, n->in[k]);
    ss_free(in);
    ss_free(out);
    return s;
}

static enum emu_status copy(const struct op_tensor *from, struct op_tensor *to)
{
    TRY(op_tensor_new(&from->shape, to));
    memcpy(to->any, from->any, op_shape_count(&from->shape) * 8);
    return EMU_OK;
}

static enum emu_status run(struct graph_run *r, const struct op_tensor *in, struct op_tensor *out)
{
    const struct op_graph *g = r->g;

    for (uint32_t k = 0; k < g->inputs; k++)
        TRY(copy(&in[k], &r->at[g->input[k]]));
    for (uint32_t n = 0; n < g->nodes; n++)
        TRY(run_node(r, &g->node[n]));
    for (uint32_t k = 0; out && k < g->outputs; k++) {
        TRY(fetch(r, g->output[k]));
        TRY(copy(&r->at[g->output[k]], &out[k]));
    }
    return EMU_OK;
}

/* out: NULL: not wanted. */
static enum emu_status begin_and_run(struct graph_run *r, const struct op_tensor *in,
                                     struct op_tensor *out)
{
    const struct op_graph *g = r->g;
    enum emu_status s;

    r->at = emu_alloc(g->values + 1, sizeof(*r->at));
    r->readers = emu_alloc(g->values + 1, sizeof(*r->readers));
    s = r->at && r->readers ? EMU_OK : FAIL(NO_MEMORY, "running a graph");
    for (uint32_t v = 0; s == EMU_OK && v < g->values; v++)
        r->readers[v] = g->value[v].readers;
    if (s == EMU_OK)
        s = run(r, in, out);
    for (uint32_t v = 0; r->at && v < g->values; v++)
        op_tensor_free(&r->at[v]);
    ss_free(r->at);
    ss_free(r->readers);
    return s;
}

enum emu_status op_graph_run(const struct op_graph *g, const struct op_tensor *in, int rounded,
                             struct op_tensor *out)
{
    struct graph_run r = { .g = g, .rounded = rounded };

    memset(out, 0, g->outputs * sizeof(*out));
    return begin_and_run(&r, in, out);
}

enum emu_status op_graph_walk(const struct op_graph *g, const struct op_tensor *in, op_visit *visit,
                              void *arg)
{
    struct graph_run r = { .g = g, .visit = visit, .arg = arg };

    return begin_and_run(&r, in, NULL);
}
