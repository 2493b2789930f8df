/* lower_batches.c - the loop over batches: what exists before it begins, what the host sends and
 * gets, what remains after it. */
#include "models/lower/lower_batches.h"

#include "models/lower/lower_stage.h"
#include "models/lower/lower_state.h"

/* ---- streams ---- */

int lower_is_of_batch(const struct lowering *l, uint32_t value)
{
    const struct op_value *v = &l->og->value[value];

    if (lower_comes_from_stage(l, value))
        return 1;
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

/* Whether the values of a batch come as a transfer of ss_op_prefetch(). If not (a step of training
 * without IO tiles), each of them is a stream of its own, placed where the network needs it. */
static int has_transfers(const struct lowering *l)
{
    return l->options->loop.is_open || l->options->loop.link.tiles;
}

static void add_transfer(struct prefetch_transfer *list, uint32_t *count, struct tensor at,
                         const char *name)
{
    list[(*count)++] = (struct prefetch_transfer){ .at = at, .name = name };
}

void lower_arrive(struct lowering *l, struct lowered_value *in, struct tensor raw,
                  struct program first)
{
    struct prefetch *loop = &l->out->loop;
    uint64_t n = op_shape_count(lower_shape(l, in->value));

    if (lower_comes_from_stage(l, in->value)) {
        lower_stage_arrive(l, in, raw);
        return;
    }
    in->elem = ss_tensor_elem(l->g, raw);
    in->view = in->raw = raw;
    if (in->elem == ELEM_U8) /* without what fills it up */
        in->view = ss_tensor_slice(l->g, raw, 0, 0, (uint32_t)n);
    in->is_streamed = lower_is_of_batch(l, in->value);
    if (!in->is_streamed) {
        ss_graph_input(l->g, raw);
    } else if (has_transfers(l)) {
        add_transfer(loop->in, &loop->ins, raw, in->name);
    } else {
        ss_graph_push(l->g, "host");
        in->stream =
            ss_graph_stream(l->g, STREAM_IN, in->elem, ss_tensor_elements(l->g, raw), 1, in->name);
        ss_program_add(l->g, first,
                       ss_program_stream(l->g, in->stream, ss_tensor_flatten(l->g, raw)));
        ss_graph_pop(l->g);
    }
}

/* Whether a value is made once for a step, by an update, not for every micro batch. */
static int is_of_update(const struct lowering *l, uint32_t value)
{
    uint32_t node = l->og->value[value].node;

    return node != OP_NONE && op_node_is(&l->og->node[node], OP_ParameterUpdate);
}

int lower_leaves(const struct lowering *l, uint32_t output)
{
    uint32_t results = l->options->loop.results;

    return lower_has_streams(l) && (!results || output < results) &&
           !is_of_update(l, l->og->output[output]);
}

void lower_stream_out(struct lowering *l, struct tensor t, struct lowered_value *out)
{
    enum { GRAIN = 16, LEAST = 64 };
    struct prefetch *loop = &l->out->loop;
    uint32_t n = (uint32_t)ss_tensor_elements(l->g, t);

    out->is_streamed = 1;
    if (has_transfers(l)) {
        add_transfer(loop->out, &loop->outs, t, out->name);
        return;
    }
    ss_graph_push(l->g, "host");
    out->stream = ss_graph_stream(l->g, STREAM_OUT, out->elem, n, 1, out->name);
    out->raw = ss_graph_variable(l->g, out->elem, 1, &n, out->name);
    ss_graph_map_linear(l->g, out->raw, GRAIN, LEAST, 0, ss_graph_compute_tiles(l->g));
    ss_program_add(l->g, l->seq, ss_program_copy(l->g, ss_tensor_flatten(l->g, t), out->raw));
    ss_program_add(l->g, l->seq, ss_program_stream(l->g, out->stream, out->raw));
    ss_graph_pop(l->g);
}

/* Where the transfers of ss_op_prefetch() are, in order. */
static void find_transfers(struct lowered_value *v, uint32_t count,
                           const struct prefetch_transfer *t)
{
    for (uint32_t k = 0; k < count; k++) {
        if (!v[k].is_streamed)
            continue;
        v[k].stream = t->stream;
        v[k].raw = t->buffer[0];
        t++;
    }
}

/* ---- running statistics ---- */

/* Whether a state is changed by something else than an update of parameters. */
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
        n = (uint32_t)ss_tensor_elements(l->g, p->state_row);
        work = ss_graph_variable(l->g, ss_tensor_elem(l->g, p->state_row), 1, &n, "running");
        ss_graph_map_like(l->g, work, p->state_row);
        ss_program_add(l->g, l->seq, ss_program_copy(l->g, p->state_row, work));
        p->running = p->state_row;
        p->state_row = work;
        p->state = state_view(l, u->state, work);
    }
}

void lower_keep_statistics(struct lowering *l, struct program seq)
{
    for (uint32_t k = 0; k < l->og->updates; k++) {
        const struct op_update *u = &l->og->update[k];
        const struct placed *p = &l->at[u->state];

        if (is_statistic(l, u))
            ss_program_add(l->g, seq, ss_program_copy(l->g, p->state_row, p->running));
    }
}

/* ---- the loop ---- */

static enum emu_status begin_loop(struct lowering *l)
{
    const struct lower_loop *o = &l->options->loop;
    struct prefetch *loop = &l->out->loop;

    loop->link = o->link;
    loop->times = o->is_open ? 0 : o->batches > 1 ? o->batches : 1;
    loop->before = l->seq;
    loop->in = emu_alloc(l->og->inputs + 1, sizeof(*loop->in));
    loop->out = emu_alloc(l->og->outputs + 1, sizeof(*loop->out));
    return loop->in && loop->out ? EMU_OK : FAIL(NO_MEMORY, "a loop over batches");
}

enum emu_status lower_batches_begin(struct lowering *l)
{
    l->after = l->seq;
    if (!lower_has_streams(l))
        return EMU_OK;
    TRY(begin_loop(l));
    if (lower_has_batches(l)) {
        ss_graph_push(l->g, "accumulate");
        lower_clear_gradients(l);
        copy_statistics(l);
        ss_graph_pop(l->g);
    }
    l->seq = ss_program_sequence(l->g);
    l->after = lower_has_batches(l) ? ss_program_sequence(l->g) : l->seq;
    ss_nn_continue_in(l->nn, l->seq);
    return ss_graph_status(l->g);
}

void lower_batches_end(struct lowering *l)
{
    if (!lower_has_streams(l))
        return;
    l->out->loop.body = l->seq;
    if (lower_has_batches(l))
        lower_copy_updates(l, l->seq);
    else
        l->after = ss_program_sequence(l->g);
    l->seq = l->after;
    ss_nn_continue_in(l->nn, l->seq);
}

enum emu_status lower_batches_close(struct lowering *l)
{
    struct prefetch *loop = &l->out->loop;

    if (!lower_has_streams(l))
        return EMU_OK;
    loop->after = l->after;
    TRY(ss_op_prefetch(l->g, loop, &l->seq));
    if (has_transfers(l)) {
        find_transfers(l->out->in, l->og->inputs, loop->in);
        find_transfers(l->out->out, l->og->outputs, loop->out);
    }
    return EMU_OK;
}
