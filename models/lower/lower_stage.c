/* lower_stage.c - what comes from other chips and goes to them (see lower_stage.h). */
#include "models/lower/lower_stage.h"

#include "emu/base/alloc.h"
#include "models/lower/lower_state.h"

/* The same grain as that of inputs: edges lie alike at both ends. */
enum { GRAIN = 16, LEAST = 64 };

/* Whether value is the end of an edge, that of its reader if reads is set. */
static int is_end(const struct lowering *l, uint32_t value, int reads)
{
    const struct lower_stage *s = l->options->stage;

    for (uint32_t k = 0; s && k < s->edges; k++) {
        const struct lower_edge *e = &s->edge[k];

        if (e->value == value && (e->to == s->number) == reads)
            return 1;
    }
    return 0;
}

int lower_comes_from_stage(const struct lowering *l, uint32_t value)
{
    return is_end(l, value, 1);
}

int lower_goes_to_stage(const struct lowering *l, uint32_t value)
{
    return is_end(l, value, 0);
}

void lower_stage_begin(struct lowering *l)
{
    if (!l->options->stage)
        return;
    l->arrival = ss_program_sequence(l->g);
    ss_program_add(l->g, l->seq, l->arrival);
}

void lower_stage_arrive(struct lowering *l, struct lowered_value *in, struct tensor raw)
{
    in->elem = ss_tensor_elem(l->g, raw);
    in->view = in->raw = raw;
    in->is_edge = 1;
}

/* The end of an edge that this stage reads. */
static struct channel_use received(struct lowering *l, const struct lower_edge *e)
{
    struct lowered_value *in = l->out->in;
    struct channel_use use;

    while (in->value != e->value)
        in++;
    use.t = ss_tensor_flatten(l->g, in->raw);
    use.channel = ss_graph_channel(l->g, CHANNEL_RECEIVE, in->elem,
                                   ss_tensor_elements(l->g, in->raw), 0, e->channel);
    return use;
}

/* The buffer of an edge that this stage makes, filled. */
static struct channel_use sent(struct lowering *l, const struct lower_edge *e)
{
    const struct op_value *v = &l->og->value[e->value];
    uint32_t n = (uint32_t)op_shape_count(&v->shape);
    struct channel_use use = { .t = ss_graph_variable(l->g, e->elem, 1, &n, e->channel) };
    struct tensor made = lower_view(l, e->value);

    ss_graph_map_linear(l->g, use.t, GRAIN, LEAST, 0, ss_graph_compute_tiles(l->g));
    if (ss_tensor_elem(l->g, made) != e->elem)
        made = ss_op_cast(l->g, l->seq, made, e->elem, "travels");
    ss_program_add(l->g, l->seq, ss_program_copy(l->g, ss_tensor_flatten(l->g, made), use.t));
    use.channel = ss_graph_channel(l->g, CHANNEL_SEND, e->elem, n, 0, e->channel);
    return use;
}

/* All chips meet behind a stage, and what it made for others travels. */
static void exchange(struct lowering *l, struct program seq, uint32_t stage,
                     const struct channel_use *use)
{
    const struct lower_stage *s = l->options->stage;
    struct channel_use *now = emu_alloc(s->edges + 1, sizeof(*now));
    unsigned n = 0;

    if (!now) {
        ss_graph_fail(l->g, EMU_NO_MEMORY, "%u edges", s->edges);
        return;
    }
    for (uint32_t k = 0; k < s->edges; k++) {
        if (s->edge[k].from == stage)
            now[n++] = use[k];
    }
    ss_program_add(l->g, seq, ss_program_exchange_chips(l->g, CHIPS_OF_REPLICA, now, n));
    ss_free(now);
}

enum emu_status lower_stage_end(struct lowering *l)
{
    const struct lower_stage *s = l->options->stage;
    struct channel_use *use;

    if (!s)
        return EMU_OK;
    use = emu_alloc(s->edges + 1, sizeof(*use));
    if (!use)
        return FAIL(NO_MEMORY, "%u edges", s->edges);
    ss_graph_push(l->g, "stages");
    for (uint32_t k = 0; k < s->edges; k++)
        use[k] = s->edge[k].to == s->number ? received(l, &s->edge[k]) : sent(l, &s->edge[k]);
    for (uint32_t k = 0; k + 1 < s->stages; k++)
        exchange(l, k < s->number ? l->arrival : l->seq, k, use);
    ss_graph_pop(l->g);
    ss_free(use);
    return ss_graph_status(l->g);
}
