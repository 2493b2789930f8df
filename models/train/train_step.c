/* train_step.c - adds loss, gradients and update to the graph of a network. */
#include "models/train/train_step.h"

#include <math.h>
#include <string.h>

#include "models/operators/op_gradient.h"
#include "models/operators/op_update.h"
#include "models/pass/op_pass.h"

/* ---- the optimiser ---- */

enum emu_status train_optimiser_of(const char *method, struct train_optimiser *out)
{
    static const struct train_optimiser usual[] = {
        { .method = "sgd", .alpha = 0.9 },
        { .method = "rmsprop", .alpha = 0.9, .beta = 0.9, .epsilon = 1e-3 },
        { .method = "lars", .alpha = 0.9, .epsilon = 1e-8, .eta = 1e-3 },
        { .method = "adamw", .alpha = 0.9, .beta = 0.999, .epsilon = 1e-8, .decay = 0.01 },
    };

    for (unsigned k = 0; k < EMU_COUNT_OF(usual); k++) {
        if (!strcmp(usual[k].method, method)) {
            *out = usual[k];
            return EMU_OK;
        }
    }
    return FAIL(USAGE, "optimiser %.40s is none of sgd, rmsprop, lars, adamw", method);
}

/* ---- what is trained ---- */

/* Whether a value holds running statistics of a batch norm: not trained, but updated. */
static int is_statistic(const struct op_graph *g, uint32_t value)
{
    for (uint32_t i = 0; i < g->nodes; i++) {
        const struct op_node *n = &g->node[i];

        if (op_node_is(n, OP_BatchNormalization) && (n->in[3] == value || n->in[4] == value))
            return 1;
    }
    return 0;
}

static int is_parameter(const struct op_value *v)
{
    return v->kind == OP_PARAM && v->shape.rank > 0 && op_type_kind(v->shape.type) == OP_KIND_FLOAT;
}

/* Makes parameters and running statistics states. */
static enum emu_status make_states(struct op_graph *g)
{
    for (uint32_t v = 0; v < g->values; v++) {
        if (is_parameter(&g->value[v]) && g->value[v].readers)
            TRY(op_graph_state(g, v));
    }
    return EMU_OK;
}

/* ---- batch norms that train ---- */

static enum emu_status update_statistics(struct op_graph *g, const struct op_node *n,
                                         const uint32_t *out)
{
    for (unsigned k = 0; k < 2; k++) {
        uint32_t state = n->in[3 + k];

        if (g->value[state].kind != OP_STATE)
            continue;
        for (uint32_t u = 0; u < g->updates; u++) {
            if (g->update[u].state == state)
                return FAIL(BAD_FILE, "node %s: its running statistics are those of another, too",
                            n->name);
        }
        TRY(op_graph_update(g, state, out[1 + k]));
    }
    return EMU_OK;
}

/* A batch norm with the statistics of its batch. */
static enum emu_status visit_norm(struct op_pass *p, uint32_t node, int *replaced)
{
    const struct op_node *n = &p->old[node];
    struct op_call c = op_attrs_of(p->g, n);
    struct op_named_attr attr[3] = { { "training_mode", { .kind = OP_ATTR_INT, .i = 1 } } };
    uint32_t in[5], out[3];
    const struct op_request r = { .op = n->row->name,
                                  .name = n->name,
                                  .block = n->block,
                                  .in = in,
                                  .ins = n->ins,
                                  .outs = 3,
                                  .attr = attr,
                                  .attrs = EMU_COUNT_OF(attr) };

    if (!op_node_is(n, OP_BatchNormalization))
        return EMU_OK;
    attr[1] = (struct op_named_attr){ "epsilon",
                                      { .kind = OP_ATTR_FLOAT, .f = op_float(&c, "epsilon") } };
    attr[2] = (struct op_named_attr){ "momentum",
                                      { .kind = OP_ATTR_FLOAT, .f = op_float(&c, "momentum") } };
    for (uint32_t k = 0; k < n->ins; k++)
        in[k] = op_pass_now(p, n->in[k]);
    TRY(op_node(p->g, &r, out));
    TRY(update_statistics(p->g, n, out));
    op_pass_replace(p, n->out[0], out[0]);
    *replaced = 1;
    return EMU_OK;
}

/* ---- loss ---- */

/* The scores are what the network's softmax reads, if it has one. */
static uint32_t scores_of(const struct op_graph *g)
{
    uint32_t y = g->output[0];
    const struct op_node *n = g->value[y].node == OP_NONE ? NULL : &g->node[g->value[y].node];

    return n && (op_node_is(n, OP_Softmax) || op_node_is(n, OP_LogSoftmax)) ? n->in[0] : y;
}

/* The scores become the only output. */
static enum emu_status keep_scores(struct op_graph *g, uint32_t *scores)
{
    const struct op_shape *s;
    uint32_t batch;

    if (g->inputs != 1 || !g->outputs)
        return FAIL(USAGE,
                    "%s has %u inputs and %u outputs: only a network with one input and "
                    "scores can be trained",
                    g->name, g->inputs, g->outputs);
    *scores = scores_of(g);
    s = &g->value[*scores].shape;
    batch = g->value[g->input[0]].shape.dim[0];
    if (s->rank != 2 || s->dim[0] != batch || s->dim[1] < 2) {
        char text[OP_SHAPE_TEXT];

        return FAIL(USAGE, "the scores of %s are %s, expected [%u][classes]", g->name,
                    op_shape_text(s, text), batch);
    }
    for (uint32_t k = 0; k < g->outputs; k++)
        g->value[g->output[k]].readers--;
    g->outputs = 0;
    TRY(op_graph_output(g, *scores));
    TRY(op_graph_tidy(g)); /* indices change */
    *scores = g->output[0];
    return EMU_OK;
}

static enum emu_status add_number(struct op_graph *g, const char *name, uint32_t *out)
{
    const struct op_shape s = { .type = OP_TYPE_F32 };

    TRY(op_value_new(g, name, OP_INPUT, &s, out));
    return op_graph_input(g, *out);
}

static enum emu_status add_loss(struct op_graph *g, struct train_step *t)
{
    const struct op_shape s = g->value[t->scores].shape;
    const struct op_shape seed = { .type = OP_TYPE_U32, .rank = 1, .dim = { 2 } };
    const char *const name[] = { "loss" };
    uint32_t in[2] = { t->scores };
    const struct op_request r = { .op = op_name(OP_CrossEntropy),
                                  .name = "loss",
                                  .block = "loss",
                                  .in = in,
                                  .ins = 2,
                                  .out_name = name,
                                  .outs = 1 };

    TRY(op_value_new(g, "targets", OP_INPUT, &s, &t->targets));
    TRY(op_graph_input(g, t->targets));
    TRY(add_number(g, "loss_scale", &t->loss_scale));
    TRY(add_number(g, "rate", &t->rate));
    TRY(add_number(g, "scale", &t->scale));
    TRY(add_number(g, "step", &t->number));
    TRY(op_value_new(g, "seed", OP_INPUT, &seed, &t->seed));
    TRY(op_graph_input(g, t->seed));
    in[1] = t->targets;
    TRY(op_node(g, &r, &t->loss));
    return op_graph_output(g, t->loss);
}

/* ---- update ---- */

/* A state of the optimiser for a parameter. */
static enum emu_status add_slot(struct op_graph *g, uint32_t parameter, const char *name,
                                double begin, uint32_t *out)
{
    const struct op_shape s = g->value[parameter].shape;
    char full[512];
    struct op_tensor t;
    void *data = op_graph_alloc(g, op_shape_count(&s) + 1, op_type_bytes(s.type));

    if (!data)
        return FAIL(NO_MEMORY, "states of the optimiser");
    snprintf(full, sizeof(full), "%.400s.%s", g->value[parameter].name, name);
    TRY(op_value_new(g, full, OP_STATE, &s, out));
    TRY(op_graph_input(g, *out));
    g->value[*out].data = data;
    if (begin == 0)
        return EMU_OK;
    TRY(op_tensor_new(&s, &t));
    for (uint64_t k = 0; k < op_shape_count(&s); k++)
        t.f[k] = begin;
    op_tensor_pack(&t, data);
    op_tensor_free(&t);
    return EMU_OK;
}

/* Parameters that are updated by one node. */
struct updated {
    uint32_t *list;     /* owned: inputs of the node, then its results */
    uint32_t n;         /* parameters */
    uint32_t ins, outs; /* of the node */
};

static enum emu_status add_update_node(struct op_graph *g, const struct train_optimiser *o,
                                       const struct op_update_method *m, int decays,
                                       const struct updated *u)
{
    const struct op_named_attr attr[] = {
        { "method", { .kind = OP_ATTR_STRING, .s = m->name } },
        { "alpha", { .kind = OP_ATTR_FLOAT, .f = o->alpha } },
        { "beta", { .kind = OP_ATTR_FLOAT, .f = o->beta } },
        { "epsilon", { .kind = OP_ATTR_FLOAT, .f = o->epsilon } },
        { "decay", { .kind = OP_ATTR_FLOAT, .f = decays ? o->decay : 0 } },
        { "eta", { .kind = OP_ATTR_FLOAT, .f = decays ? o->eta : 0 } },
        { "nesterov", { .kind = OP_ATTR_INT, .i = o->nesterov } },
    };
    const struct op_request r = { .op = op_name(OP_ParameterUpdate),
                                  .name = decays ? "update.weights" : "update.lists",
                                  .block = "update",
                                  .in = u->list,
                                  .ins = u->ins,
                                  .outs = u->outs,
                                  .attr = attr,
                                  .attrs = EMU_COUNT_OF(attr) };
    uint32_t *out = u->list + u->ins;

    TRY(op_node(g, &r, out));
    TRY(op_graph_output(g, out[u->outs - 1]));
    for (uint32_t k = 0; k + 1 < u->outs; k++) {
        uint32_t slot = k / u->n, at = UPDATE_LISTS + (slot ? slot + 1 : 0) * u->n + k % u->n;

        TRY(op_graph_update(g, u->list[at], out[k]));
    }
    return EMU_OK;
}

/* The update of those parameters that decay, or of the others. */
static enum emu_status add_update(struct op_graph *g, const struct train_optimiser *o, int decays,
                                  const uint32_t *trained, const uint32_t *gradient, uint32_t count,
                                  const struct train_step *t)
{
    const struct op_update_method *m = op_update_method(o->method);
    struct updated u = { .n = 0 };
    enum emu_status s = EMU_OK;
    uint32_t at = 0;

    for (uint32_t k = 0; k < count; k++)
        u.n += gradient[k] != OP_NONE && (g->value[trained[k]].shape.rank > 1) == decays;
    if (!u.n)
        return EMU_OK;
    u.ins = UPDATE_LISTS + (2 + m->slots) * u.n;
    u.outs = (1 + m->slots) * u.n + 1;
    u.list = emu_alloc(u.ins + u.outs, sizeof(*u.list));
    if (!u.list)
        return FAIL(NO_MEMORY, "an update of %u parameters", u.n);
    u.list[UPDATE_RATE] = t->rate;
    u.list[UPDATE_SCALE] = t->scale;
    u.list[UPDATE_STEP] = t->number;
    u.list[UPDATE_SEED] = t->seed;
    for (uint32_t k = 0; s == EMU_OK && k < count; k++) {
        if (gradient[k] == OP_NONE || (g->value[trained[k]].shape.rank > 1) != decays)
            continue;
        u.list[UPDATE_LISTS + at] = trained[k];
        u.list[UPDATE_LISTS + u.n + at] = gradient[k];
        for (unsigned j = 0; s == EMU_OK && j < m->slots; j++)
            s = add_slot(g, trained[k], m->slot[j], m->begin[j],
                         &u.list[UPDATE_LISTS + (2 + j) * u.n + at]);
        at++;
    }
    if (s == EMU_OK)
        s = add_update_node(g, o, m, decays, &u);
    ss_free(u.list);
    return s;
}

static enum emu_status add_backward(struct op_graph *g, const struct train_optimiser *o,
                                    struct train_step *t)
{
    uint32_t *list = emu_alloc(2 * (size_t)g->inputs + 1, sizeof(*list)), n = 0;
    uint32_t *gradient = list ? list + g->inputs : NULL;
    enum emu_status s = list ? EMU_OK : FAIL(NO_MEMORY, "gradients");

    for (uint32_t k = 0; s == EMU_OK && k < g->inputs; k++) {
        if (g->value[g->input[k]].kind == OP_STATE && !is_statistic(g, g->input[k]))
            list[n++] = g->input[k];
    }
    if (s == EMU_OK && !n)
        s = FAIL(USAGE, "%s has no parameters to train", g->name);
    if (s == EMU_OK)
        s = op_gradients(g, t->loss, t->loss_scale, list, n, gradient);
    for (int decays = 1; s == EMU_OK && decays >= 0; decays--)
        s = add_update(g, o, decays, list, gradient, n, t);
    ss_free(list);
    return s;
}

/* ---- the step ---- */

/* Values by name: indices change when a graph is tidied. */
static void find_values(const struct op_graph *g, const char *data, const char *scores,
                        struct train_step *t)
{
    t->data = op_value_find(g, data);
    t->scores = op_value_find(g, scores);
    t->targets = op_value_find(g, "targets");
    t->loss_scale = op_value_find(g, "loss_scale");
    t->rate = op_value_find(g, "rate");
    t->scale = op_value_find(g, "scale");
    t->number = op_value_find(g, "step");
    t->seed = op_value_find(g, "seed");
    t->masks = op_value_find(g, "masks");
    t->loss = op_value_find(g, "loss");
    t->sum[0] = t->sum[1] = OP_NONE;
    for (uint32_t i = 0, k = 0; i < g->nodes; i++) {
        const struct op_node *n = &g->node[i];

        if (op_node_is(n, OP_ParameterUpdate))
            t->sum[k++] = n->out[n->outs - 1];
    }
}

enum emu_status train_step_make(struct op_graph *g, const struct train_optimiser *o,
                                struct train_step *out)
{
    const char *data, *scores;

    if (!op_update_method(o->method))
        return FAIL(USAGE, "there is no optimiser %.40s", o->method);
    TRY(keep_scores(g, &out->scores));
    data = g->value[g->input[0]].name;
    scores = g->value[out->scores].name;
    TRY(train_dropout_add(g, &o->drop, out->scores, &out->masks));
    TRY(make_states(g));
    TRY(op_pass_run(g, visit_norm));
    find_values(g, data, scores, out);
    TRY(add_loss(g, out));
    TRY(add_backward(g, o, out));
    TRY(op_graph_tidy(g));
    find_values(g, data, scores, out);
    return op_graph_check(g);
}

int train_sums_finite(const double sum[2])
{
    return isfinite(sum[0]) && isfinite(sum[1]);
}

enum emu_status train_eval_make(struct op_graph *g, struct train_step *out)
{
    TRY(keep_scores(g, &out->scores));
    TRY(make_states(g));
    *out = (struct train_step){ .data = g->input[0],
                                .targets = OP_NONE,
                                .loss_scale = OP_NONE,
                                .rate = OP_NONE,
                                .scale = OP_NONE,
                                .number = OP_NONE,
                                .seed = OP_NONE,
                                .masks = OP_NONE,
                                .sum = { OP_NONE, OP_NONE },
                                .loss = OP_NONE,
                                .scores = g->output[0] };
    return op_graph_check(g);
}
