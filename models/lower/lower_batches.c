/* lower_batches.c - the loop over micro batches: what is there when it begins, what the host sends
 * and gets, what is left when it ends. */
#include "models/lower/lower_batches.h"

#include "models/lower/lower_state.h"

/* ---- streams ---- */

int lower_is_of_batch(const struct lowering *l, uint32_t value)
{
    const struct op_value *v = &l->og->value[value];

    if (!lower_has_streams(l) || v->kind == OP_STATE || !v->shape.rank)
        return 0;
    for (uint32_t i = 0; i < l->og->nodes; i++) {
        const struct op_node *n = &l->og->node[i];

        for (uint32_t k = 0; op_node_is(n, OP_ParameterUpdate) && k < n->ins; k++) {
            if (n->in[k] == value)
                return 0;
        }
    }
    return 1;
}

/* A value that goes through IO tiles. */
static void add_transfer(struct prefetch_transfer *list, uint32_t *count, struct tensor at,
                         const char *name)
{
    list[(*count)++] = (struct prefetch_transfer){ .at = at, .name = name };
}

void lower_arrive(struct lowering *l, struct lowered_value *in, struct tensor raw,
                  struct program first)
{
    uint64_t n = op_shape_count(lower_shape(l, in->value));

    in->elem = tensor_elem(l->g, raw);
    in->view = in->raw = raw;
    if (in->elem == ELEM_U8) /* without what fills it up */
        in->view = tensor_slice(l->g, raw, 0, 0, (uint32_t)n);
    in->is_streamed = lower_is_of_batch(l, in->value);
    if (l->options->is_body)
        return;
    if (!in->is_streamed) {
        graph_input(l->g, raw);
    } else if (l->options->io_tiles) {
        add_transfer(l->link.in, &l->link.ins, raw, in->name);
    } else {
        graph_push(l->g, "host");
        in->stream =
            graph_stream(l->g, STREAM_IN, in->elem, tensor_elements(l->g, raw), 1, in->name);
        program_add(l->g, first, program_stream(l->g, in->stream, tensor_flatten(l->g, raw)));
        graph_pop(l->g);
    }
}

void lower_stream_out(struct lowering *l, struct tensor t, struct lowered_value *out)
{
    enum { GRAIN = 16, LEAST = 64 };
    uint32_t n = (uint32_t)tensor_elements(l->g, t);

    out->is_streamed = 1;
    if (l->options->io_tiles) {
        add_transfer(l->link.out, &l->link.outs, t, out->name);
        return;
    }
    graph_push(l->g, "host");
    out->stream = graph_stream(l->g, STREAM_OUT, out->elem, n, 1, out->name);
    out->raw = graph_variable(l->g, out->elem, 1, &n, out->name);
    graph_map_linear(l->g, out->raw, GRAIN, LEAST, 0, graph_compute_tiles(l->g));
    program_add(l->g, l->seq, program_copy(l->g, tensor_flatten(l->g, t), out->raw));
    program_add(l->g, l->seq, program_stream(l->g, out->stream, out->raw));
    graph_pop(l->g);
}

/* Where the transfers of what goes through IO tiles are, in order. */
static void find_transfers(struct lowered_value *v, uint32_t count,
                           const struct prefetch_transfer *t)
{
    for (uint32_t k = 0; k < count; k++) {
        if (!v[k].is_streamed)
            continue;
        v[k].stream = t->stream;
        v[k].raw = t->buffer;
        t++;
    }
}

/* ---- running statistics ---- */

/* Whether a state is changed by what is no update of parameters. */
static int is_statistic(const struct lowering *l, const struct op_update *u)
{
    uint32_t node = l->og->value[u->value].node;

    return node == OP_NONE || !op_node_is(&l->og->node[node], OP_ParameterUpdate);
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

static enum emu_status make_lists(struct lowering *l)
{
    l->statistic = emu_alloc(l->og->updates + 1, sizeof(*l->statistic));
    l->link.in = emu_alloc(l->og->inputs + 1, sizeof(*l->link.in));
    l->link.out = emu_alloc(l->og->outputs + 1, sizeof(*l->link.out));
    return l->statistic && l->link.in && l->link.out
               ? EMU_OK
               : FAIL(NO_MEMORY, "a step of %u states", l->og->updates);
}

void lower_batches_free(struct lowering *l)
{
    emu_free(l->statistic);
    emu_free(l->link.in);
    emu_free(l->link.out);
}

enum emu_status lower_batches_begin(struct lowering *l)
{
    l->after = l->seq;
    if (!lower_has_streams(l))
        return EMU_OK;
    TRY(make_lists(l));
    l->before = l->seq;
    if (lower_has_batches(l)) {
        graph_push(l->g, "accumulate");
        lower_clear_gradients(l);
        copy_statistics(l);
        graph_pop(l->g);
    }
    l->seq = program_sequence(l->g);
    l->after = lower_has_batches(l) ? program_sequence(l->g) : l->seq;
    nn_continue_in(l->nn, l->seq);
    return graph_status(l->g);
}

void lower_batches_end(struct lowering *l)
{
    if (!lower_has_streams(l))
        return;
    l->body = l->seq;
    if (lower_has_batches(l))
        lower_copy_updates(l, l->body);
    else
        l->after = program_sequence(l->g);
    l->seq = l->after;
    nn_continue_in(l->nn, l->seq);
}

enum emu_status lower_batches_close(struct lowering *l)
{
    if (!lower_has_streams(l))
        return EMU_OK;
    l->link.before = l->before;
    l->link.body = l->body;
    l->link.after = l->after;
    l->link.times = l->options->batches > 1 ? l->options->batches : 1;
    if (!l->options->io_tiles) {
        l->seq = l->before;
        program_add(l->g, l->seq, program_repeat(l->g, l->link.times, l->body));
        program_add(l->g, l->seq, l->after);
        return graph_status(l->g);
    }
    TRY(op_prefetch_run(l->g, l->options->io_tiles, &l->link, &l->seq));
    find_transfers(l->out->in, l->og->inputs, l->link.in);
    find_transfers(l->out->out, l->og->outputs, l->link.out);
    return EMU_OK;
}
