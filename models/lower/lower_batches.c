/* lower_batches.c - the loop over micro batches: what is there when it begins, what the host sends
 * and gets, what is left when it ends. */
#include "models/lower/lower_batches.h"

#include "models/lower/lower_state.h"

/* ---- streams ---- */

int lower_is_of_batch(const struct lowering *l, uint32_t value)
{
    const struct op_value *v = &l->og->value[value];

    if (!lower_has_batches(l) || v->kind == OP_STATE || !v->shape.rank)
        return 0;
    for (uint32_t i = 0; i < l->og->nodes; i++) {
        const struct op_node *n = &l->og->node[i];

        for (uint32_t k = 0; op_node_is(n, "ParameterUpdate") && k < n->ins; k++) {
            if (n->in[k] == value)
                return 0;
        }
    }
    return 1;
}

void lower_stream_in(struct lowering *l, struct lowered_value *in, struct tensor raw)
{
    in->is_streamed = 1;
    in->stream = graph_stream(l->g, STREAM_IN, in->elem, tensor_elements(l->g, raw), 1, in->name);
    in->raw = raw;
}

void lower_stream_out(struct lowering *l, struct tensor t, struct lowered_value *out)
{
    enum { GRAIN = 16, LEAST = 64 };
    uint32_t n = (uint32_t)tensor_elements(l->g, t);

    graph_push(l->g, "host");
    out->is_streamed = 1;
    out->stream = graph_stream(l->g, STREAM_OUT, out->elem, n, 1, out->name);
    out->raw = graph_variable(l->g, out->elem, 1, &n, out->name);
    graph_map_linear(l->g, out->raw, GRAIN, LEAST, 0, graph_compute_tiles(l->g));
    program_add(l->g, l->seq, program_copy(l->g, tensor_flatten(l->g, t), out->raw));
    program_add(l->g, l->seq, program_stream(l->g, out->stream, out->raw));
    graph_pop(l->g);
}

static void receive(struct lowering *l)
{
    graph_push(l->g, "host");
    for (uint32_t k = 0; k < l->og->inputs; k++) {
        const struct lowered_value *in = &l->out->in[k];
        struct tensor raw;

        if (!in->is_streamed)
            continue;
        raw = tensor_flatten(l->g, in->raw);
        program_add(l->g, l->seq, program_stream(l->g, in->stream, raw));
        if (in->raw.view != in->view.view)
            program_add(l->g, l->seq, program_copy(l->g, raw, tensor_flatten(l->g, in->view)));
    }
    graph_pop(l->g);
}

/* ---- running statistics ---- */

/* Whether a state is changed by what is no update of parameters. */
static int is_statistic(const struct lowering *l, const struct op_update *u)
{
    uint32_t node = l->og->value[u->value].node;

    return node == OP_NONE || !op_node_is(&l->og->node[node], "ParameterUpdate");
}

/* The loop works on copies of them. */
static void copy_statistics(struct lowering *l)
{
    for (uint32_t k = 0; k < l->og->updates; k++) {
        const struct op_update *u = &l->og->update[k];
        struct placed *p = &l->at[u->state];
        struct tensor work;
        uint32_t n;

        if (!is_statistic(l, u))
            continue;
        n = (uint32_t)tensor_elements(l->g, p->state_row);
        work = graph_variable(l->g, tensor_elem(l->g, p->state_row), 1, &n, "running");
        graph_map_like(l->g, work, p->state_row);
        program_add(l->g, l->seq, program_copy(l->g, p->state_row, work));
        l->statistic[k] = p->state_row;
        p->state_row = work;
        p->state = state_view(l, u->state, work);
    }
}

void lower_keep_statistics(struct lowering *l, struct program seq)
{
    for (uint32_t k = 0; k < l->og->updates; k++) {
        const struct op_update *u = &l->og->update[k];

        if (is_statistic(l, u))
            program_add(l->g, seq, program_copy(l->g, l->at[u->state].state_row, l->statistic[k]));
    }
}

/* ---- the loop ---- */

enum emu_status lower_batches_begin(struct lowering *l)
{
    l->after = l->seq;
    if (!lower_has_batches(l))
        return EMU_OK;
    l->statistic = emu_alloc(l->og->updates + 1, sizeof(*l->statistic));
    if (!l->statistic)
        return FAIL(NO_MEMORY, "%u states", l->og->updates);
    graph_push(l->g, "accumulate");
    lower_clear_gradients(l);
    copy_statistics(l);
    graph_pop(l->g);
    l->before = l->seq;
    l->seq = program_sequence(l->g);
    l->after = program_sequence(l->g);
    nn_continue_in(l->nn, l->seq);
    receive(l);
    return graph_status(l->g);
}

void lower_batches_end(struct lowering *l)
{
    struct program body = l->seq;

    if (!lower_has_batches(l))
        return;
    lower_copy_updates(l, body);
    l->seq = l->before;
    nn_continue_in(l->nn, l->seq);
    program_add(l->g, l->seq, program_repeat(l->g, l->options->batches, body));
    program_add(l->g, l->seq, l->after);
}
