/* lower_update.c - ParameterUpdate on the chip: formulas on whole lists of parameters, in f32
 * (family_update.c has their meaning). */
#include <string.h>

#include "models/lower/arithmetic.h"
#include "models/lower/lower_state.h"
#include "models/operators/op_update.h"

/* A list in rows: parameters, gradients times the scale, states; what becomes of them. */
struct update {
    struct formula f;
    const struct op_node *n;
    struct update_lists lists;
    struct tensor w, g, state[UPDATE_SLOTS];
    struct tensor to, state_to[UPDATE_SLOTS];
    struct tensor rate, step; /* [STATE_ROW], all the same number */
    double alpha, beta, epsilon, decay, eta;
    int nesterov;
};

/* ---- operands ---- */

static struct tensor in_rows(struct graph *g, struct tensor t)
{
    return tensor_reshape(
        g, t, 2, (const uint32_t[]){ (uint32_t)(tensor_elements(g, t) / STATE_ROW), STATE_ROW });
}

/* An input of one number, again for each column. */
static struct tensor number(const struct update *u, unsigned input)
{
    struct graph *g = u->f.l->g;
    struct tensor t =
        tensor_reshape(g, lower_view(u->f.l, u->n->in[input]), 1, (const uint32_t[]){ 1 });

    return tensor_broadcast(g, t, 0, STATE_ROW);
}

/* The states of a list, one after another, in f32. */
static struct tensor list_of(const struct update *u, unsigned list)
{
    struct lowering *l = u->f.l;
    const uint32_t *value = u->n->in + UPDATE_LISTS + list * u->lists.n;
    struct tensor *part = emu_alloc(u->lists.n + 1, sizeof(*part)), t = { 0 };

    if (!part) {
        graph_fail(l->g, EMU_NO_MEMORY, "%s", u->n->name);
        return t;
    }
    for (uint32_t k = 0; k < u->lists.n; k++)
        part[k] = l->at[value[k]].state_row;
    t = fn_wide(&u->f, in_rows(l->g, tensor_concat(l->g, part, u->lists.n, 0)));
    emu_free(part);
    return t;
}

/* Whether a gradient has the form of its parameter, with what fills that up. */
static int is_in_blocks(const struct lowering *l, uint32_t parameter, uint32_t gradient)
{
    const struct placed *p = &l->at[gradient];

    return l->conv_of[parameter] != OP_NONE && p->has_blocks &&
           tensor_elements(l->g, p->blocks) == state_elements(l, parameter);
}

/* Fetches the gradients that have a type, each element to where its parameter lies, as f32. part:
 * by parameter; room: for 3 tensors of each. */
static void fetch_gradients(const struct update *u, enum elem e, struct tensor *part,
                            struct tensor *room)
{
    struct lowering *l = u->f.l;
    const uint32_t *parameter = u->n->in + UPDATE_LISTS, *gradient = parameter + u->lists.n;
    struct tensor *place = room, *from = place + u->lists.n, *to = from + u->lists.n, all;
    uint32_t n = 0, elements = 0, filled_up = 0;

    for (uint32_t k = 0; k < u->lists.n; k++) {
        if (tensor_elem(l->g, lower_view(l, gradient[k])) != e)
            continue;
        place[n++] = l->at[parameter[k]].state_row;
        elements += state_elements(l, parameter[k]);
        filled_up |= (uint32_t)state_is_filled_up(l, parameter[k]);
    }
    if (!n)
        return;
    all = graph_variable(l->g, e, 1, &elements, "gradients");
    graph_map_like(l->g, all, tensor_concat(l->g, place, n, 0));
    if (filled_up)
        op_fill(l->g, l->seq, all, 0, u->n->name);
    n = 0;
    for (uint32_t k = 0, at = 0; k < u->lists.n; k++) {
        uint32_t size = state_elements(l, parameter[k]);
        struct tensor t = lower_view(l, gradient[k]);

        if (tensor_elem(l->g, t) != e)
            continue;
        to[n] = tensor_slice(l->g, all, 0, at, at + size);
        if (is_in_blocks(l, parameter[k], gradient[k])) {
            from[n++] = tensor_flatten(l->g, l->at[gradient[k]].blocks);
        } else {
            from[n] = tensor_flatten(l->g, t);
            to[n] = tensor_flatten(l->g, state_view(l, parameter[k], to[n]));
            n++;
        }
        at += size;
    }
    program_add(l->g, l->seq,
                program_copy(l->g, tensor_concat(l->g, from, n, 0), tensor_concat(l->g, to, n, 0)));
    if (e != ELEM_F32)
        all = op_cast(l->g, l->seq, all, ELEM_F32, u->n->name);
    for (uint32_t k = 0, at = 0; k < u->lists.n; k++) {
        uint32_t size = state_elements(l, parameter[k]);

        if (tensor_elem(l->g, lower_view(l, gradient[k])) != e)
            continue;
        part[k] = tensor_slice(l->g, all, 0, at, at + size);
        at += size;
    }
}

static struct tensor gradients(const struct update *u)
{
    struct lowering *l = u->f.l;
    struct tensor *part = emu_alloc(4 * (size_t)u->lists.n + 1, sizeof(*part)), t = { 0 };

    if (!part) {
        graph_fail(l->g, EMU_NO_MEMORY, "%s", u->n->name);
        return t;
    }
    fetch_gradients(u, ELEM_F16, part, part + u->lists.n);
    fetch_gradients(u, ELEM_F32, part, part + u->lists.n);
    t = in_rows(l->g, tensor_concat(l->g, part, u->lists.n, 0));
    emu_free(part);
    return fn_two(&u->f, BINARY_MUL, t, number(u, UPDATE_SCALE));
}

/* ---- methods ---- */

/* a x + b y */
static struct tensor mix(const struct update *u, double a, struct tensor x, double b,
                         struct tensor y)
{
    if (a != 1)
        x = fn_by(&u->f, BINARY_MUL, x, a);
    if (b != 1)
        y = fn_by(&u->f, BINARY_MUL, y, b);
    return fn_two(&u->f, BINARY_ADD, x, y);
}

/* Gradients with the parameters' decay. */
static struct tensor decayed(const struct update *u)
{
    return u->decay == 0 ? u->g : mix(u, 1, u->g, u->decay, u->w);
}

static struct tensor at_rate(const struct update *u, struct tensor t)
{
    return fn_two(&u->f, BINARY_MUL, t, u->rate);
}

static void sgd(struct update *u)
{
    struct tensor h = decayed(u), v = mix(u, u->alpha, u->state[0], 1, h);

    u->state_to[0] = v;
    u->to =
        fn_two(&u->f, BINARY_SUB, u->w, at_rate(u, u->nesterov ? mix(u, 1, h, u->alpha, v) : v));
}

static void rmsprop(struct update *u)
{
    struct tensor h = decayed(u), root;

    u->state_to[0] = mix(u, u->beta, u->state[0], 1 - u->beta, fn_two(&u->f, BINARY_MUL, h, h));
    root = fn(&u->f, UNARY_RSQRT, fn_by(&u->f, BINARY_ADD, u->state_to[0], u->epsilon));
    h = at_rate(u, fn_two(&u->f, BINARY_MUL, h, root));
    u->state_to[1] = mix(u, u->alpha, u->state[1], 1, h);
    u->to = fn_two(&u->f, BINARY_SUB, u->w, u->state_to[1]);
}

/* Parameter k of a list in rows. */
static struct tensor one_of(const struct update *u, struct tensor list, uint32_t k, uint32_t *begin)
{
    uint32_t rows = state_elements(u->f.l, u->n->in[UPDATE_LISTS + k]) / STATE_ROW;

    *begin += rows;
    return tensor_slice(u->f.l->g, list, 0, *begin - rows, *begin);
}

/* Root of the sum of squares of each parameter, [n]. */
static struct tensor norms(const struct update *u, struct tensor list, struct tensor *part)
{
    struct graph *g = u->f.l->g;
    uint32_t begin = 0;

    for (uint32_t k = 0; k < u->lists.n; k++)
        part[k] = tensor_reshape(
            g, op_total(g, u->f.l->seq, REDUCE_SUMSQ, one_of(u, list, k, &begin), u->f.name), 1,
            (const uint32_t[]){ 1 });
    return fn(&u->f, UNARY_SQRT, tensor_concat(g, part, u->lists.n, 0));
}

/* How much of a step each parameter takes, [n]. */
static struct tensor trust(const struct update *u, struct tensor *part)
{
    const struct op_shape list = { .rank = 1, .dim = { u->lists.n } };
    struct tensor w = norms(u, u->w, part), g = norms(u, u->g, part), t;

    t = fn_by(&u->f, BINARY_ADD, mix(u, 1, g, u->decay, w), u->epsilon);
    t = fn_two(&u->f, BINARY_DIV, fn_by(&u->f, BINARY_MUL, w, u->eta), t);
    return fn_select(&u->f, fn_two(&u->f, BINARY_MIN, w, g), t,
                     lower_filled(u->f.l, ELEM_F32, &list, 1));
}

static void lars(struct update *u)
{
    struct graph *g = u->f.l->g;
    struct tensor h = decayed(u), *part = emu_alloc(u->lists.n + 1, sizeof(*part)), t;
    uint32_t begin = 0;

    if (!part) {
        graph_fail(g, EMU_NO_MEMORY, "%s", u->n->name);
        return;
    }
    if (u->eta > 0) {
        t = trust(u, part);
        for (uint32_t k = 0; k < u->lists.n; k++)
            part[k] = fn_two(&u->f, BINARY_MUL, one_of(u, h, k, &begin),
                             tensor_broadcast(g, tensor_slice(g, t, 0, k, k + 1), 0, STATE_ROW));
        h = tensor_concat(g, part, u->lists.n, 0);
    }
    u->state_to[0] = mix(u, u->alpha, u->state[0], 1, at_rate(u, h));
    u->to = fn_two(&u->f, BINARY_SUB, u->w, u->state_to[0]);
    emu_free(part);
}

/* x / (1 - a^step) */
static struct tensor corrected(const struct update *u, struct tensor x, double a)
{
    struct tensor t = fn_from(&u->f, BINARY_SUB, 1, fn_from(&u->f, BINARY_POW, a, u->step));

    return fn_two(&u->f, BINARY_MUL, x, fn(&u->f, UNARY_RECIPROCAL, t));
}

static void adamw(struct update *u)
{
    struct tensor t, root;

    u->state_to[0] = mix(u, u->alpha, u->state[0], 1 - u->alpha, u->g);
    u->state_to[1] =
        mix(u, u->beta, u->state[1], 1 - u->beta, fn_two(&u->f, BINARY_MUL, u->g, u->g));
    root = fn(&u->f, UNARY_SQRT, corrected(u, u->state_to[1], u->beta));
    t = fn_two(&u->f, BINARY_DIV, corrected(u, u->state_to[0], u->alpha),
               fn_by(&u->f, BINARY_ADD, root, u->epsilon));
    if (u->decay != 0)
        t = mix(u, 1, t, u->decay, u->w);
    u->to = fn_two(&u->f, BINARY_SUB, u->w, at_rate(u, t));
}

static const struct {
    const char *method;
    void (*run)(struct update *u);
} methods[] = { { "sgd", sgd }, { "rmsprop", rmsprop }, { "lars", lars }, { "adamw", adamw } };

/* ---- results ---- */

/* New numbers of states in their type. */
static struct tensor rounded(struct update *u, uint32_t state, struct tensor t)
{
    struct lowering *l = u->f.l;

    if (tensor_elem(l->g, l->at[state].state_row) == ELEM_F32)
        return t;
    if (l->options->states == STATES_F16_NEAREST)
        return op_cast(l->g, l->seq, t, ELEM_F16, u->n->name);
    return op_round_random(l->g, l->seq, t, lower_seed(l, u->n->in[UPDATE_SEED]), l->draws++,
                           u->n->name);
}

/* Results of a list in rows; the states are those of its inputs from `state` on. */
static void set_list(struct update *u, unsigned list, const uint32_t *state, struct tensor t)
{
    struct lowering *l = u->f.l;
    const uint32_t *out = u->n->out + list * u->lists.n;
    uint32_t begin = 0;

    t = rounded(u, state[0], t);

    for (uint32_t k = 0; k < u->lists.n; k++) {
        struct tensor one = tensor_flatten(l->g, one_of(u, t, k, &begin));
        struct placed *p = &l->at[out[k]];

        lower_set_view(l, out[k], state_view(l, u->n->in[UPDATE_LISTS + k], one));
        p->state_row = one;
        p->has_state = 1;
    }
}

enum emu_status lower_update(struct lowering *l, const struct node_group *group,
                             const struct op_node *n)
{
    struct op_call c = lower_call(l, n);
    struct update u = { .f = { l, n->name },
                        .n = n,
                        .lists = update_lists_of(l, n),
                        .alpha = op_float(&c, "alpha"),
                        .beta = op_float(&c, "beta"),
                        .epsilon = op_float(&c, "epsilon"),
                        .decay = op_float(&c, "decay"),
                        .eta = op_float(&c, "eta"),
                        .nesterov = op_int(&c, "nesterov") != 0 };

    (void)group;
    u.w = list_of(&u, 0);
    u.g = gradients(&u);
    for (unsigned k = 0; k < u.lists.slots; k++)
        u.state[k] = list_of(&u, 2 + k);
    u.rate = number(&u, UPDATE_RATE);
    u.step = number(&u, UPDATE_STEP);
    for (unsigned k = 0; k < EMU_COUNT_OF(methods); k++) {
        if (op_is(&c, "method", methods[k].method))
            methods[k].run(&u);
    }
    set_list(&u, 0, n->in + UPDATE_LISTS, u.to);
    for (unsigned k = 0; k < u.lists.slots; k++)
        set_list(&u, 1 + k, n->in + UPDATE_LISTS + (2 + k) * u.lists.n, u.state_to[k]);
    if (n->outs > u.lists.n * (1 + u.lists.slots))
        lower_set_view(
            l, n->out[n->outs - 1],
            tensor_reshape(l->g, op_total(l->g, l->seq, REDUCE_SUM, u.g, n->name), 0, NULL));
    return EMU_OK;
}

const char *update_obstacle(const struct op_graph *g, const struct op_node *n)
{
    uint32_t parameters;
    struct op_call c = op_attrs_of(g, n);
    const struct op_update_method *m = op_update_method(op_string(&c, "method"));

    parameters = n->outs / (1 + m->slots);

    for (uint32_t k = UPDATE_LISTS; k < n->ins; k++) {
        int is_gradient = (k - UPDATE_LISTS) / parameters == 1;

        if (!is_gradient && g->value[n->in[k]].kind != OP_STATE)
            return "parameters or states that are no states of the graph";
    }
    return NULL;
}
