/* lower_state.c - what a step of training changes: parameters, an optimiser's states, running
 * statistics.
 *
 * Parameters and states of optimisers are f32, or f16 if lower_options say so, but for squares and
 * running statistics, which are always f32. Weights of convolutions lie in the form in which the
 * codelets want them (conv_weights_home()), with zeros for the channels that there are not; all
 * others of a list of a ParameterUpdate lie one after another in one variable, each filled up to
 * whole rows. So an update is a few operations on one long list. What the network computes with is
 * rounded from it once, at the begin of a step, or is the state itself. New values are copied to
 * their states at the end, when nobody reads the old ones any more.
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

/* Results that are states; 0: the node is no update. */
static uint32_t update_results(const struct lowering *l, const struct op_node *n)
{
    struct update_lists u;

    if (!op_node_is(n, "ParameterUpdate"))
        return 0;
    u = update_lists_of(l, n);
    return u.n * (1 + u.slots);
}

/* ---- shapes ---- */

/* The layer of a convolution as far as the form of its weights depends on it. */
static void layer_of(struct lowering *l, uint32_t state, struct conv_layer *layer,
                     struct activation *x)
{
    static const struct op_shape one = { .rank = 5, .dim = { 1, 1, 1, 1, 1 } };
    struct dense_layer d;
    int found = dense_layer_of(l->og, &l->og->node[l->conv_of[state]], &d);

    EMU_ASSERT(found);
    *layer = d.conv;
    *x = (struct activation){ lower_filled(l, ELEM_F16, &one, 0), d.n, d.in_c, d.h, d.w };
}

static uint32_t plain_elements(const struct lowering *l, uint32_t state)
{
    uint64_t n = op_shape_count(lower_shape(l, state));

    return (uint32_t)((n + STATE_ROW - 1) / STATE_ROW * STATE_ROW);
}

uint32_t state_elements(const struct lowering *l, uint32_t state)
{
    return l->at[state].has_state ? (uint32_t)tensor_elements(l->g, l->at[state].state_row)
                                  : plain_elements(l, state);
}

int state_is_filled_up(const struct lowering *l, uint32_t state)
{
    return state_elements(l, state) != op_shape_count(lower_shape(l, state));
}

/* Memory of a convolution's weights in the form of their home. */
static struct tensor in_blocks(struct lowering *l, uint32_t state, struct tensor flat)
{
    struct tensor home = l->at[state].blocks;

    return tensor_reshape(l->g, flat, tensor_rank(l->g, home), tensor_shape(l->g, home));
}

struct tensor lower_of_blocks(struct lowering *l, uint32_t state, struct tensor blocks)
{
    struct conv_layer layer;
    struct activation x;

    layer_of(l, state, &layer, &x);
    return lower_reshape(l, conv_weights_matrix(l->nn, &x, &layer, blocks), lower_shape(l, state));
}

struct tensor state_view(struct lowering *l, uint32_t state, struct tensor flat)
{
    uint32_t n = (uint32_t)op_shape_count(lower_shape(l, state));

    if (l->conv_of[state] == OP_NONE)
        return lower_reshape(l, tensor_slice(l->g, flat, 0, 0, n), lower_shape(l, state));
    return lower_of_blocks(l, state, in_blocks(l, state, flat));
}

/* ---- places ---- */

/* Every state's memory is 0 at the start: what fills it up stays so. */
static void keep_from_zero(struct lowering *l, struct tensor t)
{
    void *zeros = emu_alloc(tensor_elements(l->g, t) + 1, elem_bytes(tensor_elem(l->g, t)));

    if (!zeros) {
        graph_fail(l->g, EMU_NO_MEMORY, "states");
        return;
    }
    graph_set_initial(l->g, t, zeros);
    graph_keep(l->g, t);
    emu_free(zeros);
}

static void set_state(struct lowering *l, uint32_t state, struct tensor flat)
{
    struct placed *p = &l->at[state];

    p->state_row = flat;
    p->has_state = 1;
    p->state = state_view(l, state, flat);
}

/* Memory like that of the weights of an equal block, on the same tiles. */
static struct tensor like_blocks(struct lowering *l, uint32_t state)
{
    struct tensor like = l->at[l->like[state]].blocks;
    struct tensor t = graph_variable(l->g, tensor_elem(l->g, like), tensor_rank(l->g, like),
                                     tensor_shape(l->g, like), l->og->value[state].name);

    graph_map_like(l->g, t, like);
    return t;
}

/* The weights of a convolution. */
static void place_weights(struct lowering *l, uint32_t state, enum elem e)
{
    struct conv_layer layer;
    struct activation x;
    struct conv_home home;

    layer_of(l, state, &layer, &x);
    if (l->like[state] != OP_NONE && l->at[l->like[state]].has_state &&
        l->conv_of[l->like[state]] != OP_NONE)
        home.blocks = like_blocks(l, state);
    else
        home = conv_weights_home(l->nn, &x, &layer, e, l->og->value[state].name);
    if (tensor_elements(l->g, home.blocks) % STATE_ROW) { /* groups that are joined */
        l->conv_of[state] = OP_NONE;
        return;
    }
    l->at[state].blocks = home.blocks;
    keep_from_zero(l, home.blocks);
    set_state(l, state, tensor_flatten(l->g, home.blocks));
}

/* All of a list that are no weights of convolutions, one after another. */
static void place_others(struct lowering *l, const uint32_t *state, uint32_t count, enum elem e,
                         const char *name)
{
    uint32_t all = 0, at = 0;
    struct tensor t;

    for (uint32_t k = 0; k < count; k++)
        all += l->at[state[k]].has_state ? 0 : plain_elements(l, state[k]);
    if (!all)
        return;
    t = graph_variable(l->g, e, 1, &all, name);
    graph_map_linear(l->g, t, STATE_ROW, LEAST, 0, graph_compute_tiles(l->g));
    keep_from_zero(l, t);
    for (uint32_t k = 0; k < count; k++) {
        uint32_t n = plain_elements(l, state[k]);

        if (l->at[state[k]].has_state)
            continue;
        set_state(l, state[k], tensor_slice(l->g, t, 0, at, at + n));
        if (l->like[state[k]] != OP_NONE && l->at[l->like[state[k]]].has_state)
            graph_map_like(l->g, l->at[state[k]].state_row, l->at[l->like[state[k]]].state_row);
        at += n;
    }
}

/* The states of a list, one after another, flat. */
static struct tensor joined(struct lowering *l, const uint32_t *state, uint32_t count)
{
    struct tensor *part = emu_alloc(count + 1, sizeof(*part)), t = { 0 };

    if (!part) {
        graph_fail(l->g, EMU_NO_MEMORY, "states");
        return t;
    }
    for (uint32_t k = 0; k < count; k++)
        part[k] = l->at[state[k]].state_row;
    t = tensor_concat(l->g, part, count, 0);
    emu_free(part);
    return t;
}

/* What the network computes with in place of the states of a list. */
static void round_list(struct lowering *l, const uint32_t *state, uint32_t count)
{
    struct tensor t = joined(l, state, count);
    uint32_t at = 0;

    if (tensor_elem(l->g, t) != l->real)
        t = op_cast(l->g, l->seq, t, l->real, "rounded");
    for (uint32_t k = 0; k < count; k++) {
        struct placed *p = &l->at[state[k]];
        uint32_t n = state_elements(l, state[k]);
        struct tensor one = tensor_slice(l->g, t, 0, at, at + n);

        if (l->conv_of[state[k]] != OP_NONE) {
            p->blocks = in_blocks(l, state[k], one);
            p->has_blocks = 1;
        }
        lower_set_view(l, state[k], state_view(l, state[k], one));
        lower_pin(l, state[k]);
        at += n;
    }
}

static void place_list(struct lowering *l, const uint32_t *state, uint32_t count, enum elem e,
                       const char *name)
{
    for (uint32_t k = 0; k < count; k++) {
        if (l->conv_of[state[k]] != OP_NONE)
            place_weights(l, state[k], e);
    }
    place_others(l, state, count, e, name);
    round_list(l, state, count);
}

/* States of the optimiser lie where their parameters do, in the same form. */
static void place_slot(struct lowering *l, const uint32_t *parameter, const uint32_t *state,
                       uint32_t count, enum elem e, const char *name)
{
    struct tensor like = joined(l, parameter, count), t;
    uint32_t all = (uint32_t)tensor_elements(l->g, like), at = 0;

    t = graph_variable(l->g, e, 1, &all, name);
    graph_map_like(l->g, t, like);
    keep_from_zero(l, t);
    for (uint32_t k = 0; k < count; k++) {
        uint32_t n = state_elements(l, parameter[k]);

        l->conv_of[state[k]] = l->conv_of[parameter[k]];
        l->at[state[k]].blocks = l->at[parameter[k]].blocks;
        set_state(l, state[k], tensor_slice(l->g, t, 0, at, at + n));
        at += n;
    }
}

static void place_update(struct lowering *l, const struct op_node *n)
{
    struct update_lists u = update_lists_of(l, n);
    struct op_call c = lower_call(l, n);
    const struct op_update_method *m = op_update_method(op_string(&c, "method"));
    const uint32_t *parameter = n->in + UPDATE_LISTS;
    enum elem e = l->options->states == STATES_F32 ? ELEM_F32 : ELEM_F16;

    graph_push(l->g, n->name);
    place_list(l, parameter, u.n, e, "parameters");
    for (unsigned k = 0; k < u.slots; k++)
        place_slot(l, parameter, parameter + (2 + k) * u.n, u.n, m->wide[k] ? ELEM_F32 : e,
                   m->slot[k]);
    graph_pop(l->g);
}

/* Finds the convolutions whose weights are states. */
static void find_convolutions(struct lowering *l)
{
    struct dense_layer d;

    for (uint32_t v = 0; v < l->og->values; v++)
        l->conv_of[v] = OP_NONE;
    for (uint32_t i = 0; i < l->og->nodes; i++) {
        const struct op_node *n = &l->og->node[i];

        if (op_node_is(n, "Conv") && dense_layer_of(l->og, n, &d) && d.tensors && !d.linear)
            l->conv_of[d.weights] = i;
    }
}

void lower_place_states(struct lowering *l)
{
    find_convolutions(l);
    for (uint32_t i = 0; i < l->og->nodes; i++) {
        if (op_node_is(&l->og->node[i], "ParameterUpdate"))
            place_update(l, &l->og->node[i]);
    }
    for (uint32_t k = 0; k < l->og->inputs; k++) {
        uint32_t v = l->og->input[k];

        if (l->og->value[v].kind == OP_STATE && !l->at[v].has_state)
            place_list(l, &v, 1, ELEM_F32, l->og->value[v].name);
    }
    for (uint32_t v = 0; v < l->og->values; v++) {
        if (l->og->value[v].kind != OP_STATE || l->at[v].has_state)
            continue;
        place_list(l, &v, 1, l->real, l->og->value[v].name); /* no run changes it */
        lower_set_initial(l, l->at[v].state, v);
    }
}

enum elem lower_input_elem(const struct lowering *l, uint32_t value)
{
    for (uint32_t i = 0; i < l->og->nodes; i++) {
        const struct op_node *n = &l->og->node[i];

        for (unsigned k = 0; k < UPDATE_LISTS && op_node_is(n, "ParameterUpdate"); k++) {
            if (n->in[k] == value)
                return k == UPDATE_SEED ? ELEM_U32 : ELEM_F32;
        }
        if (op_node_is(n, "DropoutMask") && n->in[0] == value)
            return ELEM_U32;
    }
    return lower_elem(l, lower_shape(l, value)->type);
}

/* ---- the end of a step ---- */

/* A sum that is a number in exactly the same cases as the sums of gradients of all
 * ParameterUpdates, if they have them. */
static int sum_of_gradients(struct lowering *l, struct tensor *sum)
{
    int found = 0;

    for (uint32_t i = 0; i < l->og->nodes; i++) {
        const struct op_node *n = &l->og->node[i];
        uint32_t results = update_results(l, n);
        struct tensor t;

        if (!results || n->outs == results)
            continue;
        t = tensor_reshape(l->g, lower_view(l, n->out[results]), 1, (const uint32_t[]){ 1 });
        t = op_binary_scalar(l->g, l->seq, BINARY_MUL, t, 0, "finite"); /* 0 or no number */
        *sum = found ? op_binary(l->g, l->seq, BINARY_ADD, *sum, t, "finite") : t;
        found = 1;
    }
    return found;
}

/* What is done only if all gradients are numbers; 1 means that one is none, so that the timing
 * engine, which has no values, does it. */
static struct program guarded(struct lowering *l, struct program p)
{
    struct tensor sum;

    if (!sum_of_gradients(l, &sum))
        return p;
    graph_set_nan_on_overflow(l->g);
    sum = op_scalar_binary(l->g, l->seq, BINARY_SUB, 1,
                           op_binary(l->g, l->seq, BINARY_EQUAL, sum, sum, "finite"), "finite");
    sum = op_cast(l->g, l->seq, sum, ELEM_I32, "finite");
    return program_if(l->g, tensor_index(l->g, sum, 0), program_sequence(l->g), p);
}

/* The new numbers of a state in its form, or in its shape. */
static void set_update(struct lowering *l, const struct op_update *u, struct tensor *from,
                       struct tensor *to)
{
    const struct placed *p = &l->at[u->value];
    struct tensor t;

    if (p->has_state) {
        *from = p->state_row;
        *to = l->at[u->state].state_row;
        return;
    }
    t = lower_view(l, u->value);
    if (tensor_elem(l->g, t) != ELEM_F32)
        t = op_cast(l->g, l->seq, t, ELEM_F32, "new");
    *from = tensor_flatten(l->g, t);
    *to = tensor_flatten(l->g, l->at[u->state].state);
}

/* Copies what is of one type to the states. room: for two tensors of each. */
static void copy_updates(struct lowering *l, struct program seq, enum elem e,
                         const struct tensor *from, const struct tensor *to, struct tensor *room)
{
    struct tensor *old = room, *new = room + l->og->updates;
    uint32_t n = 0;

    for (uint32_t k = 0; k < l->og->updates; k++) {
        if (tensor_elem(l->g, to[k]) != e)
            continue;
        new[n] = from[k];
        old[n++] = to[k];
    }
    if (n)
        program_add(
            l->g, seq,
            program_copy(l->g, tensor_concat(l->g, new, n, 0), tensor_concat(l->g, old, n, 0)));
}

void lower_update_states(struct lowering *l)
{
    const struct op_graph *og = l->og;
    struct tensor *from = emu_alloc(4 * (size_t)og->updates + 1, sizeof(*from));
    struct tensor *to = from + og->updates;
    struct program copies;

    if (!from) {
        graph_fail(l->g, EMU_NO_MEMORY, "%u states", og->updates);
        return;
    }
    for (uint32_t k = 0; k < og->updates; k++)
        set_update(l, &og->update[k], &from[k], &to[k]);
    if (og->updates) {
        copies = program_sequence(l->g);
        copy_updates(l, copies, ELEM_F32, from, to, to + og->updates);
        copy_updates(l, copies, ELEM_F16, from, to, to + og->updates);
        program_add(l->g, l->seq, guarded(l, copies));
    }
    emu_free(from);
}
