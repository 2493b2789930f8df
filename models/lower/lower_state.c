/* lower_state.c - what a step of training changes: parameters, an optimiser's states, running
 * statistics.
 *
 * Parameters and states of optimisers are f32, or f16 if lower_options say so, but for squares and
 * running statistics, which are always f32. Weights of convolutions lie in the form in which the
 * codelets want them (ss_conv_weights_home()), with zeros for the channels that there are not; all
 * others of a list of a ParameterUpdate are filled up to whole rows. Each is spread over the tiles
 * that have the fewest elements so far. A list is one variable, and the states of its optimiser and
 * its gradients are others with the same layout, so an update is a few operations without any
 * exchange. A gradient goes where its parameter lies as soon as it is made. What the network
 * computes with is rounded from the parameters once, at the begin of a step, or is the state
 * itself. Updates change states in place, at the end, when the old ones are not read any more.
 */
#include "models/lower/lower_state.h"

#include <stdlib.h>

#include "models/lower/lower_batches.h"
#include "models/operators/op_update.h"

enum { LEAST = 128 }; /* the fewest elements that a tile may have */

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

    if (!op_node_is(n, OP_ParameterUpdate))
        return 0;
    u = update_lists_of(l, n);
    return u.n * (1 + u.slots);
}

/* ---- shapes ---- */

/* The layer of a convolution as far as the form of its weights depends on it. */
static void layer_of(struct lowering *l, uint32_t state, struct conv_layer *layer,
                     struct activation *x)
{
    static const struct op_shape field = { .rank = 5, .dim = { 1, 1, 1, 1, 1 } };
    static const struct op_shape picture = { .rank = 4, .dim = { 1, 1, 1, 1 } };
    const struct op_shape *one = &field;
    struct dense_layer d;
    int found = dense_layer_of(l->og, &l->og->node[l->conv_of[state]], &d);

    EMU_ASSERT(found);
    if (value_is_picture(l->og, d.x))
        one = &picture;
    *layer = d.conv;
    *x = (struct activation){ lower_filled(l, ELEM_F16, one, 0), d.n, d.in_c, d.h, d.w };
}

static uint32_t plain_elements(const struct lowering *l, uint32_t state)
{
    uint64_t n = op_shape_count(lower_shape(l, state));

    return (uint32_t)((n + STATE_ROW - 1) / STATE_ROW * STATE_ROW);
}

uint32_t state_elements(const struct lowering *l, uint32_t state)
{
    return l->at[state].has_state ? (uint32_t)ss_tensor_elements(l->g, l->at[state].state_row)
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

    return ss_tensor_reshape(l->g, flat, ss_tensor_rank(l->g, home), ss_tensor_shape(l->g, home));
}

struct tensor lower_of_blocks(struct lowering *l, uint32_t state, struct tensor blocks)
{
    struct conv_layer layer;
    struct activation x;

    layer_of(l, state, &layer, &x);
    return lower_reshape(l, ss_conv_weights_matrix(l->nn, &x, &layer, blocks),
                         lower_shape(l, state));
}

struct tensor state_view(struct lowering *l, uint32_t state, struct tensor flat)
{
    uint32_t n = (uint32_t)op_shape_count(lower_shape(l, state));

    if (l->conv_of[state] == OP_NONE)
        return lower_reshape(l, ss_tensor_slice(l->g, flat, 0, 0, n), lower_shape(l, state));
    return lower_of_blocks(l, state, in_blocks(l, state, flat));
}

/* ---- places ---- */

/* Every state's memory is 0 at the start: what fills it up stays so. */
static void keep_from_zero(struct lowering *l, struct tensor t)
{
    void *zeros =
        emu_alloc(ss_tensor_elements(l->g, t) + 1, ss_elem_bytes(ss_tensor_elem(l->g, t)));

    if (!zeros) {
        ss_graph_fail(l->g, EMU_NO_MEMORY, "states");
        return;
    }
    ss_graph_set_initial(l->g, t, zeros);
    ss_graph_keep(l->g, t);
    ss_free(zeros);
}

static void set_state(struct lowering *l, uint32_t state, struct tensor flat)
{
    struct placed *p = &l->at[state];

    p->state_row = flat;
    p->has_state = 1;
    p->state = state_view(l, state, flat);
}

/* Where the state of an equal block lies, if that is decided already. */
static const struct tensor *home_of_equal(const struct lowering *l, uint32_t state)
{
    uint32_t like = l->like[state];

    return like != OP_NONE && l->at[like].has_home ? &l->at[like].home : NULL;
}

static void set_home(struct lowering *l, uint32_t state, struct tensor home)
{
    l->at[state].home = home;
    l->at[state].has_home = 1;
}

/* How many states lie where this one does, itself included. */
static uint32_t equal_states(const struct lowering *l, uint32_t state)
{
    uint32_t count = 1;

    for (uint32_t k = 0; k < l->og->inputs; k++)
        count += l->like[l->og->input[k]] == state;
    return count;
}

struct tile_load {
    uint64_t load;
    uint32_t tile;
};

static int by_load(const void *a, const void *b)
{
    const struct tile_load *x = a, *y = b;

    if (x->load != y->load)
        return x->load < y->load ? -1 : 1;
    return (x->tile > y->tile) - (x->tile < y->tile);
}

/* Marks the `count` tiles that have least. */
static enum emu_status mark_least(const struct lowering *l, uint32_t count, uint8_t *mark)
{
    uint32_t tiles = ss_graph_compute_tiles(l->g);
    struct tile_load *t = emu_alloc(tiles + 1, sizeof(*t));

    if (!t)
        return FAIL(NO_MEMORY, "the load of %u tiles", tiles);
    for (uint32_t k = 0; k < tiles; k++)
        t[k] = (struct tile_load){ l->load[k], k };
    qsort(t, tiles, sizeof(*t), by_load);
    for (uint32_t k = 0; k < count; k++)
        mark[t[k].tile] = 1;
    ss_free(t);
    return EMU_OK;
}

/* Spreads weights over tiles in pieces of `whole` elements: every tile gets the same number, and
 * the remaining pieces go to the tiles with the fewest elements. Weights of equal blocks, which
 * will lie in the same places, are counted, too. */
static void deal_out(struct lowering *l, struct tensor t, uint32_t whole, uint32_t equals)
{
    uint32_t tiles = ss_graph_compute_tiles(l->g), n = (uint32_t)ss_tensor_elements(l->g, t),
             at = 0;
    uint32_t pieces = (n + whole - 1) / whole;
    uint8_t *more = emu_alloc(tiles + 1, 1);
    enum emu_status s = more ? mark_least(l, pieces % tiles, more) : FAIL(NO_MEMORY, "weights");

    if (s != EMU_OK)
        ss_graph_fail(l->g, s, "%s", ss_error());
    for (uint32_t k = 0; s == EMU_OK && k < tiles && at < n; k++) {
        uint32_t size = (pieces / tiles + more[k]) * whole;

        size = size < n - at ? size : n - at;
        if (!size)
            continue;
        ss_graph_map(l->g, ss_tensor_slice(l->g, t, 0, at, at + size), k);
        l->load[k] += (uint64_t)size * equals;
        at += size;
    }
    ss_free(more);
}

/* The weights of a convolution lie in the form that it wants. */
static void find_home_of_weights(struct lowering *l, uint32_t state, enum elem e)
{
    const struct tensor *like = home_of_equal(l, state);
    const char *name = l->og->value[state].name;
    struct conv_layer layer;
    struct activation x;
    struct conv_home home;
    struct tensor t;
    uint32_t n;

    if (like) {
        l->at[state].blocks = l->at[l->like[state]].blocks;
        set_home(l, state, *like);
        return;
    }
    layer_of(l, state, &layer, &x);
    home = ss_conv_weights_home(l->nn, &x, &layer, e, name);
    n = (uint32_t)ss_tensor_elements(l->g, home.blocks);
    if (n % STATE_ROW) { /* groups that are joined */
        l->conv_of[state] = OP_NONE;
        return;
    }
    t = ss_graph_variable(l->g, e, 1, &n, name);
    deal_out(l, t, home.whole, equal_states(l, state));
    l->at[state].blocks = home.blocks;
    set_home(l, state, t);
}

/* All others are flat. */
static void find_other_home(struct lowering *l, uint32_t state, enum elem e)
{
    const struct tensor *like = home_of_equal(l, state);
    uint32_t n = plain_elements(l, state);
    struct tensor t;

    if (like) {
        set_home(l, state, *like);
        return;
    }
    t = ss_graph_variable(l->g, e, 1, &n, l->og->value[state].name);
    deal_out(l, t, LEAST, equal_states(l, state));
    set_home(l, state, t);
}

/* The states of a list, or where they lie, one after another, flat. */
static struct tensor joined(struct lowering *l, const uint32_t *state, uint32_t count, int homes)
{
    struct tensor *part = emu_alloc(count + 1, sizeof(*part)), t = { 0 };

    if (!part) {
        ss_graph_fail(l->g, EMU_NO_MEMORY, "states");
        return t;
    }
    for (uint32_t k = 0; k < count; k++)
        part[k] = homes ? l->at[state[k]].home : l->at[state[k]].state_row;
    t = ss_tensor_concat(l->g, part, count, 0);
    ss_free(part);
    return t;
}

/* One variable that is 0 at the start, with each element where that of a list is. */
static struct tensor zeros_like(struct lowering *l, struct tensor list, enum elem e,
                                const char *name)
{
    uint32_t n = (uint32_t)ss_tensor_elements(l->g, list);
    struct tensor t = ss_graph_variable(l->g, e, 1, &n, name);

    ss_graph_map_like(l->g, t, list);
    keep_from_zero(l, t);
    return t;
}

/* A list in one variable that lies like its homes: what a tile has of it is one run of memory. */
static void place_at_homes(struct lowering *l, const uint32_t *state, uint32_t count, enum elem e,
                           const char *name)
{
    struct tensor t = zeros_like(l, joined(l, state, count, 1), e, name);
    uint32_t at = 0;

    for (uint32_t k = 0; k < count; k++) {
        uint32_t n = (uint32_t)ss_tensor_elements(l->g, l->at[state[k]].home);

        set_state(l, state[k], ss_tensor_slice(l->g, t, 0, at, at + n));
        at += n;
    }
}

/* The values with which the network computes instead of the states of a list. */
static void round_list(struct lowering *l, const uint32_t *state, uint32_t count)
{
    struct tensor t = joined(l, state, count, 0);
    uint32_t at = 0;

    if (ss_tensor_elem(l->g, t) != l->real)
        t = ss_op_cast(l->g, l->seq, t, l->real, "rounded");
    for (uint32_t k = 0; k < count; k++) {
        struct placed *p = &l->at[state[k]];
        uint32_t n = state_elements(l, state[k]);
        struct tensor one = ss_tensor_slice(l->g, t, 0, at, at + n);

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
            find_home_of_weights(l, state[k], e);
        if (l->conv_of[state[k]] == OP_NONE)
            find_other_home(l, state[k], e);
    }
    place_at_homes(l, state, count, e, name);
    round_list(l, state, count);
}

/* States of the optimiser lie where their parameters do, in the same form. */
static void place_slot(struct lowering *l, const uint32_t *parameter, const uint32_t *state,
                       uint32_t count, enum elem e, const char *name)
{
    struct tensor t = zeros_like(l, joined(l, parameter, count, 0), e, name);
    uint32_t at = 0;

    for (uint32_t k = 0; k < count; k++) {
        uint32_t n = state_elements(l, parameter[k]);

        l->conv_of[state[k]] = l->conv_of[parameter[k]];
        l->at[state[k]].blocks = l->at[parameter[k]].blocks;
        set_state(l, state[k], ss_tensor_slice(l->g, t, 0, at, at + n));
        at += n;
    }
}

/* Gradients lie where their parameters do, in the same form and type. What fills them up stays 0.
 */
static void place_gradients(struct lowering *l, const uint32_t *parameter, const uint32_t *gradient,
                            uint32_t count, enum elem e)
{
    struct tensor like = joined(l, parameter, count, 0), t;
    uint32_t all = (uint32_t)ss_tensor_elements(l->g, like), at = 0;

    t = ss_graph_variable(l->g, e, 1, &all, "gradients");
    ss_graph_map_like(l->g, t, like);
    keep_from_zero(l, t);
    for (uint32_t k = 0; k < count; k++) {
        uint32_t n = state_elements(l, parameter[k]);

        l->at[parameter[k]].gradient = ss_tensor_slice(l->g, t, 0, at, at + n);
        if (l->gradient_of[gradient[k]] == OP_NONE)
            l->gradient_of[gradient[k]] = parameter[k];
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

    ss_graph_push(l->g, n->name);
    place_list(l, parameter, u.n, e, "parameters");
    place_gradients(l, parameter, parameter + u.n, u.n, e);
    for (unsigned k = 0; k < u.slots; k++)
        place_slot(l, parameter, parameter + (2 + k) * u.n, u.n, m->wide[k] ? ELEM_F32 : e,
                   m->slot[k]);
    ss_graph_pop(l->g);
}

/* Finds the convolutions whose weights are states. */
static void find_convolutions(struct lowering *l)
{
    struct dense_layer d;

    for (uint32_t v = 0; v < l->og->values; v++)
        l->conv_of[v] = l->gradient_of[v] = OP_NONE;
    for (uint32_t i = 0; i < l->og->nodes; i++) {
        const struct op_node *n = &l->og->node[i];

        if (op_node_is(n, OP_Conv) && dense_layer_of(l->og, n, &d) && d.tensors && !d.linear)
            l->conv_of[d.weights] = i;
    }
}

void lower_place_states(struct lowering *l)
{
    find_convolutions(l);
    for (uint32_t i = 0; i < l->og->nodes; i++) {
        if (op_node_is(&l->og->node[i], OP_ParameterUpdate))
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

static int is_read_wide(const struct lowering *l, uint32_t value);

/* Whether a reader of a value computes in f32, or only moves it and all readers behind it do. */
static int reads_wide(const struct lowering *l, const struct op_node *n)
{
    return n->precision != OP_AS_OTHERS ||
           (op_node_is_of(n, FAMILY_view) && is_read_wide(l, n->out[0]));
}

/* Whether all readers of a value compute in f32: rounding the input would lose the precision for
 * which they were made f32. */
static int is_read_wide(const struct lowering *l, uint32_t value)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < l->og->nodes; i++) {
        const struct op_node *n = &l->og->node[i];

        for (uint32_t k = 0; k < n->ins; k++)
            found += n->in[k] == value && reads_wide(l, n);
    }
    return found && found == value_reads(l->og, value);
}

enum elem op_input_elem(const struct op_graph *og, const struct lower_options *o, uint32_t value)
{
    const struct lowering l = { .og = og,
                                .options = o,
                                .real = og->f32_nodes ? ELEM_F32 : o->real };

    return lower_is_trained_on(&l, value) || value_is_picture(og, value)
               ? ELEM_F16
               : lower_input_elem(&l, value);
}

enum elem lower_input_elem(const struct lowering *l, uint32_t value)
{
    enum op_type type = lower_shape(l, value)->type;

    for (uint32_t i = 0; i < l->og->nodes; i++) {
        const struct op_node *n = &l->og->node[i];

        for (unsigned k = 0; k < UPDATE_LISTS && op_node_is(n, OP_ParameterUpdate); k++) {
            if (n->in[k] == value)
                return k == UPDATE_SEED ? ELEM_U32 : ELEM_F32;
        }
        if (op_node_is(n, OP_DropoutMask) && n->in[0] == value)
            return ELEM_U32;
    }
    return op_type_kind(type) == OP_KIND_FLOAT && is_read_wide(l, value) ? ELEM_F32
                                                                         : lower_elem(l, type);
}

/* ---- gradients ---- */

/* Whether a gradient has the form of its parameter, with what fills that up. */
static int is_in_blocks(const struct lowering *l, uint32_t parameter, const struct placed *p)
{
    return l->conv_of[parameter] != OP_NONE && p->has_blocks &&
           ss_tensor_elements(l->g, p->blocks) == state_elements(l, parameter);
}

/* A gradient on its way: numbers as the parameter has them, and where that lies; both flat. */
struct way_home {
    struct tensor from, to;
};

/* Rounds a gradient that goes to where its parameter lies: to, flat, with zeros where it is filled
 * up. */
static struct way_home way_home(struct lowering *l, uint32_t parameter, const struct placed *p,
                                struct tensor to)
{
    int blocks = is_in_blocks(l, parameter, p);
    struct tensor from = blocks ? p->blocks : p->view;

    ss_graph_push(l->g, l->og->value[parameter].name);
    if (ss_tensor_elem(l->g, from) != ss_tensor_elem(l->g, to))
        from = ss_op_cast(l->g, l->seq, from, ss_tensor_elem(l->g, to), "rounded");
    ss_graph_pop(l->g);
    if (!blocks)
        to = state_view(l, parameter, to);
    return (struct way_home){ ss_tensor_flatten(l->g, from), ss_tensor_flatten(l->g, to) };
}

static void bring_home(struct lowering *l, uint32_t parameter, const struct placed *p,
                       struct tensor to)
{
    struct way_home way = way_home(l, parameter, p, to);

    ss_graph_push(l->g, l->og->value[parameter].name);
    ss_program_add(l->g, l->seq, ss_program_copy(l->g, way.from, way.to));
    ss_graph_pop(l->g);
}

/* New memory for the gradient of a parameter, where that lies. */
static struct tensor memory_at_home(struct lowering *l, uint32_t parameter, const struct placed *p)
{
    struct tensor like = l->at[parameter].gradient, t;
    uint32_t n = (uint32_t)ss_tensor_elements(l->g, like);

    t = ss_graph_variable(l->g, ss_tensor_elem(l->g, like), 1, &n, "gradient");
    ss_graph_map_like(l->g, t, like);
    if (state_is_filled_up(l, parameter) && !is_in_blocks(l, parameter, p))
        ss_op_fill(l->g, l->seq, t, 0, "gradient");
    return t;
}

/* The gradient of a parameter where that lies, in new memory. */
static struct tensor new_at_home(struct lowering *l, uint32_t parameter, const struct placed *p)
{
    struct tensor t = memory_at_home(l, parameter, p);

    bring_home(l, parameter, p, t);
    return t;
}

/* What the update takes: a gradient, or the sum of those of all micro batches. */
static void take_gradient(struct lowering *l, uint32_t parameter, const struct placed *p)
{
    struct tensor to = l->at[parameter].gradient, t;

    if (!lower_has_batches(l)) {
        if (p->has_gradient)
            ss_program_add(l->g, l->seq, ss_program_copy(l->g, p->gradient, to));
        else
            bring_home(l, parameter, p, to);
    } else {
        t = p->has_gradient ? p->gradient : new_at_home(l, parameter, p);
        ss_graph_push(l->g, "accumulate");
        ss_op_axpy(l->g, l->seq, 1, t, to, "add");
        ss_graph_pop(l->g);
    }
    l->at[parameter].has_gradient = 1;
}

void lower_gradients_in_function(struct lowering *l, const uint32_t *value, const uint8_t *asked,
                                 uint32_t values, struct placed *made)
{
    struct tensor *from = emu_alloc(values + 1, sizeof(*from));
    struct tensor *to = emu_alloc(values + 1, sizeof(*to));
    unsigned n = 0;

    if (!from || !to)
        ss_graph_fail(l->g, EMU_NO_MEMORY, "gradients of a function");
    ss_graph_push(l->g, "weights");
    for (uint32_t k = 0; from && to && k < values; k++) {
        uint32_t parameter = l->gradient_of[value[k]];
        struct way_home way;

        if (!asked[k] || parameter == OP_NONE || !made[k].has_view)
            continue;
        made[k].gradient = memory_at_home(l, parameter, &made[k]);
        made[k].has_gradient = 1;
        way = way_home(l, parameter, &made[k], made[k].gradient);
        from[n] = way.from;
        to[n++] = way.to;
    }
    if (n)
        ss_program_add(l->g, l->seq,
                       ss_program_copy(l->g, ss_tensor_concat(l->g, from, n, 0),
                                       ss_tensor_concat(l->g, to, n, 0)));
    ss_graph_pop(l->g);
    ss_free(from);
    ss_free(to);
}

int lower_gradient_is_home(const struct lowering *l, uint32_t value, const struct placed *made)
{
    return made->has_gradient && value_reads(l->og, value) == 1;
}

void lower_gradient_is_made(struct lowering *l, uint32_t value, const struct placed *made)
{
    uint32_t parameter = value == OP_NONE ? OP_NONE : l->gradient_of[value];
    uint32_t node = value == OP_NONE ? OP_NONE : l->og->value[value].node;

    if (parameter == OP_NONE || l->at != l->outer)
        return;
    if (node != OP_NONE)
        ss_graph_push(l->g, l->og->node[node].name);
    ss_graph_push(l->g, "weights");
    if (made && made->has_gradient) {
        take_gradient(l, parameter, made);
    } else {
        lower_view(l, value);
        take_gradient(l, parameter, &l->at[value]);
    }
    ss_graph_pop(l->g);
    if (node != OP_NONE)
        ss_graph_pop(l->g);
}

void lower_other_gradients(struct lowering *l, const struct op_node *n)
{
    struct update_lists u = update_lists_of(l, n);
    const uint32_t *parameter = n->in + UPDATE_LISTS, *gradient = parameter + u.n;

    for (uint32_t k = 0; k < u.n; k++) {
        if (l->at[parameter[k]].has_gradient)
            continue;
        lower_view(l, gradient[k]);
        take_gradient(l, parameter[k], &l->at[gradient[k]]);
    }
}

/* The gradients of the parameters of an update, one after another. */
static struct tensor all_gradients(struct lowering *l, const struct op_node *n)
{
    struct update_lists u = update_lists_of(l, n);
    struct tensor *part = emu_alloc(u.n + 1, sizeof(*part)), t = { 0 };

    if (!part) {
        ss_graph_fail(l->g, EMU_NO_MEMORY, "gradients");
        return t;
    }
    for (uint32_t k = 0; k < u.n; k++)
        part[k] = l->at[n->in[UPDATE_LISTS + k]].gradient;
    t = ss_tensor_concat(l->g, part, u.n, 0);
    ss_free(part);
    return t;
}

void lower_clear_gradients(struct lowering *l)
{
    for (uint32_t i = 0; i < l->og->nodes; i++) {
        if (update_results(l, &l->og->node[i]))
            ss_op_fill(l->g, l->seq, all_gradients(l, &l->og->node[i]), 0, "clear");
    }
}

void lower_list_gradients(struct lowering *l)
{
    for (uint32_t k = 0; k < l->og->inputs; k++) {
        uint32_t v = l->og->input[k];
        struct tensor at = l->at[v].gradient;

        if (!l->at[v].has_gradient)
            continue;
        l->out->gradient[l->out->gradients++] =
            (struct lowered_value){ .value = v,
                                    .name = l->og->value[v].name,
                                    .view = state_view(l, v, at),
                                    .elem = ss_tensor_elem(l->g, at) };
    }
}

/* ---- the end of a step ---- */

/* A sum that is NaN exactly when the sum of some ParameterUpdate's gradients is no number.
 */
static int sum_of_gradients(struct lowering *l, struct tensor *sum)
{
    int found = 0;

    for (uint32_t i = 0; i < l->og->nodes; i++) {
        const struct op_node *n = &l->og->node[i];
        uint32_t results = update_results(l, n);
        struct tensor t;

        if (!results || n->outs == results)
            continue;
        t = ss_tensor_reshape(l->g, lower_view(l, n->out[results]), 1, (const uint32_t[]){ 1 });
        t = ss_op_binary_scalar(l->g, l->seq, BINARY_MUL, t, 0, "finite"); /* 0 or no number */
        *sum = found ? ss_op_binary(l->g, l->seq, BINARY_ADD, *sum, t, "finite") : t;
        found = 1;
    }
    return found;
}

/* Operations that are done only if all gradients are numbers. The condition is 1 if one is not,
 * which is rare: so the timing engine, which has no values, does these operations. */
static struct program guarded(struct lowering *l, int has_sum, struct tensor sum, struct program p)
{
    if (!has_sum)
        return p;
    ss_graph_set_nan_on_overflow(l->g);
    sum =
        ss_op_scalar_binary(l->g, l->seq, BINARY_SUB, 1,
                            ss_op_binary(l->g, l->seq, BINARY_EQUAL, sum, sum, "finite"), "finite");
    sum = ss_op_cast(l->g, l->seq, sum, ELEM_I32, "finite");
    return ss_program_if_rare(l->g, ss_tensor_index(l->g, sum, 0), ss_program_sequence(l->g), p);
}

/* Whether a state gets another value than the one that an update has written in place. */
static int is_copied(const struct lowering *l, const struct op_update *u)
{
    const struct placed *p = &l->at[u->value];

    return !p->has_state || p->state_row.view != l->at[u->state].state_row.view;
}

/* Copies other results, running statistics say, to their states, which are f32. */
void lower_copy_updates(struct lowering *l, struct program seq)
{
    struct tensor *old = emu_alloc(2 * (size_t)l->og->updates + 1, sizeof(*old)), *new;
    uint32_t n = 0;

    if (!old) {
        ss_graph_fail(l->g, EMU_NO_MEMORY, "%u states", l->og->updates);
        return;
    }
    new = old + l->og->updates;
    for (uint32_t k = 0; k < l->og->updates; k++) {
        const struct op_update *u = &l->og->update[k];
        struct tensor t;

        if (!is_copied(l, u))
            continue;
        t = lower_view(l, u->value);
        if (ss_tensor_elem(l->g, t) != ELEM_F32)
            t = ss_op_cast(l->g, l->seq, t, ELEM_F32, "new");
        new[n] = ss_tensor_flatten(l->g, t);
        old[n++] = ss_tensor_flatten(l->g, l->at[u->state].state);
    }
    if (n)
        ss_program_add(l->g, seq,
                       ss_program_copy(l->g, ss_tensor_concat(l->g, new, n, 0),
                                       ss_tensor_concat(l->g, old, n, 0)));
    ss_free(old);
}

void lower_update_states(struct lowering *l)
{
    const struct op_graph *og = l->og;
    struct program outer = l->seq, changes;
    struct tensor sum = { 0 };
    int has_sum;

    if (!og->updates)
        return;
    changes = ss_program_sequence(l->g);
    has_sum = sum_of_gradients(l, &sum);
    if (lower_has_batches(l))
        lower_keep_statistics(l, changes);
    else
        lower_copy_updates(l, changes);
    ss_program_add(l->g, outer, guarded(l, has_sum, sum, changes));
    l->seq = changes;
    for (uint32_t i = 0; i < og->nodes; i++) {
        if (update_results(l, &og->node[i]))
            lower_apply_update(l, &og->node[i]);
    }
    l->seq = outer;
}
