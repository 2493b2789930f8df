/* lower_state.c - what a step of training changes: parameters, an optimiser's states, running
 * statistics.
 *
 * States are f32, whatever the type of floats. Those of one list of a ParameterUpdate lie one after
 * another in one variable, each filled up to whole rows of STATE_ROW elements, so that an update is
 * a few operations on one long list. What the network computes with is rounded from it once, at the
 * begin of a step. New values are copied to their states at the end, when nobody reads the old ones
 * any more.
 */
#include "models/lower/lower_state.h"

#include "models/operators/op_update.h"

enum { LEAST = 64 }; /* elements that no tile has fewer of */

struct update_lists update_lists_of(const struct lowering *l, const struct op_node *n)
{
    struct op_call c = lower_call(l, n);
    const struct op_update_method *m = op_update_method(op_string(&c, "method"));

    return (struct update_lists){ .n = n->outs / (1 + m->slots), .slots = m->slots };
}

static uint32_t padded(uint64_t elements)
{
    return (uint32_t)((elements + STATE_ROW - 1) / STATE_ROW * STATE_ROW);
}

uint32_t state_elements(const struct lowering *l, uint32_t value)
{
    return padded(op_shape_count(lower_shape(l, value)));
}

/* Makes `count` values parts of one f32 variable. */
static struct tensor place_list(struct lowering *l, const uint32_t *value, uint32_t count,
                                const char *name)
{
    uint32_t all = 0, at = 0;
    struct tensor t;

    for (uint32_t k = 0; k < count; k++)
        all += state_elements(l, value[k]);
    t = graph_variable(l->g, ELEM_F32, 1, &all, name);
    graph_map_linear(l->g, t, STATE_ROW, LEAST, 0, graph_compute_tiles(l->g));
    graph_keep(l->g, t);
    for (uint32_t k = 0; k < count; k++) {
        struct placed *p = &l->at[value[k]];
        uint32_t n = (uint32_t)op_shape_count(lower_shape(l, value[k]));

        p->state_row = tensor_slice(l->g, t, 0, at, at + state_elements(l, value[k]));
        p->state = lower_reshape(l, tensor_slice(l->g, t, 0, at, at + n), lower_shape(l, value[k]));
        p->has_state = 1;
        at += state_elements(l, value[k]);
    }
    return t;
}

/* The parameters of a list, rounded to what the network computes with. */
static void round_list(struct lowering *l, const uint32_t *value, uint32_t count, struct tensor t)
{
    uint32_t at = 0;

    if (l->real != ELEM_F32)
        t = op_cast(l->g, l->seq, t, l->real, "rounded");
    for (uint32_t k = 0; k < count; k++) {
        uint32_t n = (uint32_t)op_shape_count(lower_shape(l, value[k]));

        lower_set_view(l, value[k], tensor_slice(l->g, t, 0, at, at + n));
        lower_pin(l, value[k]);
        at += state_elements(l, value[k]);
    }
}

static void place_update(struct lowering *l, const struct op_node *n)
{
    struct update_lists u = update_lists_of(l, n);
    struct op_call c = lower_call(l, n);
    const struct op_update_method *m = op_update_method(op_string(&c, "method"));
    const uint32_t *parameter = n->in + UPDATE_LISTS;

    graph_push(l->g, n->name);
    round_list(l, parameter, u.n, place_list(l, parameter, u.n, "parameters"));
    for (unsigned k = 0; k < u.slots; k++)
        place_list(l, parameter + (2 + k) * u.n, u.n, m->slot[k]);
    graph_pop(l->g);
}

void lower_place_states(struct lowering *l)
{
    for (uint32_t i = 0; i < l->og->nodes; i++) {
        if (op_node_is(&l->og->node[i], "ParameterUpdate"))
            place_update(l, &l->og->node[i]);
    }
    for (uint32_t k = 0; k < l->og->inputs; k++) {
        uint32_t v = l->og->input[k];

        if (l->og->value[v].kind == OP_STATE && !l->at[v].has_state)
            round_list(l, &v, 1, place_list(l, &v, 1, l->og->value[v].name));
    }
}

int lower_is_update_number(const struct op_graph *g, uint32_t value)
{
    for (uint32_t i = 0; i < g->nodes; i++) {
        for (unsigned k = 0; k < UPDATE_LISTS && op_node_is(&g->node[i], "ParameterUpdate"); k++) {
            if (g->node[i].in[k] == value)
                return 1;
        }
    }
    return 0;
}

void lower_update_states(struct lowering *l)
{
    const struct op_graph *og = l->og;
    struct tensor *from = emu_alloc(2 * (size_t)og->updates + 1, sizeof(*from));
    struct tensor *to = from + og->updates;

    if (!from) {
        graph_fail(l->g, EMU_NO_MEMORY, "%u states", og->updates);
        return;
    }
    for (uint32_t k = 0; k < og->updates; k++) {
        struct tensor t = lower_view(l, og->update[k].value);

        if (tensor_elem(l->g, t) != ELEM_F32)
            t = op_cast(l->g, l->seq, t, ELEM_F32, "new");
        from[k] = tensor_flatten(l->g, t);
        to[k] = tensor_flatten(l->g, l->at[og->update[k].state].state);
    }
    if (og->updates)
        program_add(l->g, l->seq,
                    program_copy(l->g, tensor_concat(l->g, from, og->updates, 0),
                                 tensor_concat(l->g, to, og->updates, 0)));
    emu_free(from);
}
