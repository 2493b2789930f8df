/* lower_update.c - ParameterUpdate on the chip: formulas on whole lists of parameters, in f32
 * (family_update.c has their meaning).
 *
 * What a tile has of parameters, gradients and states is one run of memory each, at the same places
 * of the lists (lower_state.c). So nothing is exchanged but a few numbers, and parameters are
 * updated in place, some elements of every tile at a time: what is in f32 meanwhile takes little
 * memory.
 */
#include <string.h>

#include "models/lower/arithmetic.h"
#include "models/lower/lower_state.h"
#include "models/operators/op_update.h"

/* Elements of a tile that are updated at a time. */
enum { PART = 2048 };

/* Numbers that are the same on all tiles; after them, numbers for each parameter. */
enum { NUMBER_RATE, NUMBER_SCALE, NUMBER_FIRST, NUMBER_SECOND, NUMBERS };

/* A ParameterUpdate. */
struct update {
    struct formula f;
    const struct op_node *n;
    struct update_lists lists;
    struct tensor w, g, state[UPDATE_SLOTS]; /* whole lists, flat */
    struct list_piece *piece;                /* owned; of the lists, by parameter */
    struct tensor numbers;                   /* on every tile */
    double alpha, beta, epsilon, decay, eta;
    int nesterov;
};

/* Some elements of each tile, in f32: parameters, gradients times the scale, states; what becomes
 * of them. */
struct update_part {
    const struct update *u;
    struct list_piece *from; /* owned; of the lists */
    uint32_t runs;
    struct list_piece *piece; /* owned; of the part, by parameter */
    uint32_t pieces;
    struct tensor w, g, state[UPDATE_SLOTS];
    struct tensor to, state_to[UPDATE_SLOTS];
};

/* ---- lists ---- */

/* What a list has of each parameter, one after another. */
static struct tensor joined(const struct update *u, unsigned list, int gradients)
{
    struct lowering *l = u->f.l;
    const uint32_t *value = u->n->in + UPDATE_LISTS + list * u->lists.n;
    struct tensor *part = emu_alloc(u->lists.n + 1, sizeof(*part)), t = { 0 };

    if (!part) {
        ss_graph_fail(l->g, EMU_NO_MEMORY, "%s", u->n->name);
        return t;
    }
    for (uint32_t k = 0; k < u->lists.n; k++)
        part[k] = gradients ? l->at[value[k]].gradient : l->at[value[k]].state_row;
    t = ss_tensor_concat(l->g, part, u->lists.n, 0);
    ss_free(part);
    return t;
}

static enum emu_status update_begin(struct lowering *l, const struct op_node *n, struct update *u)
{
    struct op_call c = lower_call(l, n);
    uint32_t at = 0;

    *u = (struct update){ .f = { l, n->name },
                          .n = n,
                          .lists = update_lists_of(l, n),
                          .alpha = op_float(&c, "alpha"),
                          .beta = op_float(&c, "beta"),
                          .epsilon = op_float(&c, "epsilon"),
                          .decay = op_float(&c, "decay"),
                          .eta = op_float(&c, "eta"),
                          .nesterov = op_int(&c, "nesterov") != 0 };
    u->piece = emu_alloc(u->lists.n + 1, sizeof(*u->piece));
    if (!u->piece)
        return FAIL(NO_MEMORY, "%s", n->name);
    for (uint32_t k = 0; k < u->lists.n; k++) {
        uint32_t end = at + state_elements(l, n->in[UPDATE_LISTS + k]);

        u->piece[k] = (struct list_piece){ at, end, k };
        at = end;
    }
    u->w = joined(u, 0, 0);
    u->g = joined(u, 0, 1);
    for (unsigned k = 0; k < u->lists.slots; k++)
        u->state[k] = joined(u, 2 + k, 0);
    return ss_graph_status(l->g);
}

/* ---- numbers of all tiles ---- */

static struct tensor number_of(const struct update *u, unsigned input)
{
    struct graph *g = u->f.l->g;

    return ss_tensor_reshape(g, lower_view(u->f.l, u->n->in[input]), 1, (const uint32_t[]){ 1 });
}

/* 1 / (1 - a^step) */
static struct tensor correction(const struct update *u, double a)
{
    struct tensor t = fn_from(&u->f, BINARY_POW, a, number_of(u, UPDATE_STEP));

    return fn(&u->f, UNARY_RECIPROCAL, fn_from(&u->f, BINARY_SUB, 1, t));
}

/* Root of the sum of squares of each parameter, [n]. */
static struct tensor norms(const struct update *u, struct tensor list)
{
    return fn(&u->f, UNARY_SQRT,
              ss_op_piece_totals(u->f.l->g, u->f.l->seq, REDUCE_SUMSQ, list, u->piece, u->lists.n,
                                 u->lists.n, u->f.name));
}

static struct tensor again(const struct update *u, struct tensor number, uint32_t n)
{
    return ss_tensor_broadcast(u->f.l->g, number, 0, n);
}

/* The rate of each parameter by LARS, [n]. */
static struct tensor rates(const struct update *u)
{
    const struct op_shape list = { .rank = 1, .dim = { u->lists.n } };
    struct tensor w, g, t, rate = again(u, number_of(u, UPDATE_RATE), u->lists.n);

    if (u->eta <= 0)
        return rate;
    w = norms(u, u->w);
    g = fn_two(&u->f, BINARY_MUL, norms(u, u->g), again(u, number_of(u, UPDATE_SCALE), u->lists.n));
    t = u->decay == 0 ? g : fn_two(&u->f, BINARY_ADD, g, fn_by(&u->f, BINARY_MUL, w, u->decay));
    t = fn_by(&u->f, BINARY_ADD, t, u->epsilon);
    t = fn_two(&u->f, BINARY_DIV, fn_by(&u->f, BINARY_MUL, w, u->eta), t);
    t = fn_select(&u->f, fn_two(&u->f, BINARY_MIN, w, g), t,
                  lower_filled(u->f.l, ELEM_F32, &list, 1));
    return fn_two(&u->f, BINARY_MUL, t, rate);
}

static void send_numbers(struct update *u, const char *method)
{
    struct graph *g = u->f.l->g;
    struct tensor rate = number_of(u, UPDATE_RATE);
    struct tensor part[NUMBERS + 1] = { [NUMBER_RATE] = rate,
                                        [NUMBER_SCALE] = number_of(u, UPDATE_SCALE),
                                        [NUMBER_FIRST] = rate,
                                        [NUMBER_SECOND] = rate };
    unsigned n = NUMBERS;

    if (!strcmp(method, "adamw")) {
        part[NUMBER_FIRST] = correction(u, u->alpha);
        part[NUMBER_SECOND] = correction(u, u->beta);
    }
    if (!strcmp(method, "lars"))
        part[n++] = rates(u);
    u->numbers = ss_op_piece_numbers(g, u->f.l->seq, ss_tensor_concat(g, part, n, 0), u->f.name);
}

/* ---- a part ---- */

/* Elements of a list that a part has, flat. */
static struct tensor take(const struct update_part *p, struct tensor list)
{
    struct graph *g = p->u->f.l->g;
    struct tensor *part = emu_alloc(p->runs + 1, sizeof(*part)), t = list;

    if (!part) {
        ss_graph_fail(g, EMU_NO_MEMORY, "%s", p->u->f.name);
        return t;
    }
    for (uint32_t k = 0; k < p->runs; k++)
        part[k] = ss_tensor_slice(g, list, 0, p->from[k].begin, p->from[k].end);
    t = ss_tensor_concat(g, part, p->runs, 0);
    ss_free(part);
    return t;
}

/* Times one number. */
static struct tensor times(const struct update_part *p, struct tensor t, uint32_t number)
{
    struct graph *g = p->u->f.l->g;
    const struct list_piece all = { 0, (uint32_t)ss_tensor_elements(g, t), number };

    return ss_op_piece_mul(g, p->u->f.l->seq, t, &all, 1, p->u->numbers, p->u->f.name);
}

/* a x + b y */
static struct tensor mix(const struct update_part *p, double a, struct tensor x, double b,
                         struct tensor y)
{
    const struct formula *f = &p->u->f;

    if (a != 1)
        x = fn_by(f, BINARY_MUL, x, a);
    if (b != 1)
        y = fn_by(f, BINARY_MUL, y, b);
    return fn_two(f, BINARY_ADD, x, y);
}

/* Gradients with the parameters' decay. */
static struct tensor decayed(const struct update_part *p)
{
    return p->u->decay == 0 ? p->g : mix(p, 1, p->g, p->u->decay, p->w);
}

/* ---- methods ---- */

static void sgd(struct update_part *p)
{
    const struct update *u = p->u;
    struct tensor h = decayed(p), v = mix(p, u->alpha, p->state[0], 1, h);

    p->state_to[0] = v;
    p->to = fn_two(&u->f, BINARY_SUB, p->w,
                   times(p, u->nesterov ? mix(p, 1, h, u->alpha, v) : v, NUMBER_RATE));
}

static void rmsprop(struct update_part *p)
{
    const struct update *u = p->u;
    struct tensor h = decayed(p), root;

    p->state_to[0] = mix(p, u->beta, p->state[0], 1 - u->beta, fn_two(&u->f, BINARY_MUL, h, h));
    root = fn(&u->f, UNARY_RSQRT, fn_by(&u->f, BINARY_ADD, p->state_to[0], u->epsilon));
    h = times(p, fn_two(&u->f, BINARY_MUL, h, root), NUMBER_RATE);
    p->state_to[1] = mix(p, u->alpha, p->state[1], 1, h);
    p->to = fn_two(&u->f, BINARY_SUB, p->w, p->state_to[1]);
}

static void lars(struct update_part *p)
{
    const struct update *u = p->u;
    struct tensor h = ss_op_piece_mul(u->f.l->g, u->f.l->seq, decayed(p), p->piece, p->pieces,
                                      u->numbers, u->f.name);

    p->state_to[0] = mix(p, u->alpha, p->state[0], 1, h);
    p->to = fn_two(&u->f, BINARY_SUB, p->w, p->state_to[0]);
}

static void adamw(struct update_part *p)
{
    const struct update *u = p->u;
    struct tensor t, root;

    p->state_to[0] = mix(p, u->alpha, p->state[0], 1 - u->alpha, p->g);
    p->state_to[1] =
        mix(p, u->beta, p->state[1], 1 - u->beta, fn_two(&u->f, BINARY_MUL, p->g, p->g));
    root = fn(&u->f, UNARY_SQRT, times(p, p->state_to[1], NUMBER_SECOND));
    t = fn_two(&u->f, BINARY_DIV, times(p, p->state_to[0], NUMBER_FIRST),
               fn_by(&u->f, BINARY_ADD, root, u->epsilon));
    if (u->decay != 0)
        t = mix(p, 1, t, u->decay, p->w);
    p->to = fn_two(&u->f, BINARY_SUB, p->w, times(p, t, NUMBER_RATE));
}

static const struct {
    const char *method;
    void (*run)(struct update_part *p);
} methods[] = { { "sgd", sgd }, { "rmsprop", rmsprop }, { "lars", lars }, { "adamw", adamw } };

/* ---- parts ---- */

/* Stores new numbers in the type of their states. */
static void store(const struct update_part *p, struct tensor list, struct tensor t)
{
    struct lowering *l = p->u->f.l;
    const char *name = p->u->f.name;

    if (ss_tensor_elem(l->g, list) == ELEM_F16 && l->options->states == STATES_F16_NEAREST)
        t = ss_op_cast(l->g, l->seq, t, ELEM_F16, name);
    else if (ss_tensor_elem(l->g, list) == ELEM_F16)
        t = ss_op_round_random(l->g, l->seq, t, lower_seed(l, p->u->n->in[UPDATE_SEED]), l->draws++,
                               name);
    ss_program_add(l->g, l->seq, ss_program_copy(l->g, t, take(p, list)));
}

static void update_one_part(struct update_part *p)
{
    const struct update *u = p->u;
    struct op_call c = lower_call(u->f.l, u->n);

    p->w = fn_wide(&u->f, take(p, u->w));
    p->g = times(p, fn_wide(&u->f, take(p, u->g)), NUMBER_SCALE);
    for (unsigned k = 0; k < u->lists.slots; k++)
        p->state[k] = fn_wide(&u->f, take(p, u->state[k]));
    for (unsigned k = 0; k < EMU_COUNT_OF(methods); k++) {
        if (op_is(&c, "method", methods[k].method))
            methods[k].run(p);
    }
    for (unsigned k = 0; k < u->lists.slots; k++)
        store(p, u->state[k], p->state_to[k]);
    store(p, u->w, p->to);
}

/* Which parameter each element of a part belongs to. */
static enum emu_status find_pieces(struct update_part *p)
{
    const struct update *u = p->u;
    uint32_t at = 0, most = p->runs + u->lists.n;

    p->piece = emu_alloc(most + 1, sizeof(*p->piece));
    if (!p->piece)
        return FAIL(NO_MEMORY, "%s", u->f.name);
    for (uint32_t i = 0; i < p->runs; i++) {
        uint32_t begin = p->from[i].begin, end = p->from[i].end, k = 0;

        while (u->piece[k].end <= begin)
            k++;
        for (; begin < end; k++) {
            uint32_t n = (end < u->piece[k].end ? end : u->piece[k].end) - begin;

            EMU_ASSERT(p->pieces < most);
            p->piece[p->pieces++] = (struct list_piece){ at, at + n, NUMBERS + k };
            begin += n;
            at += n;
        }
    }
    return EMU_OK;
}

static enum emu_status update_in_parts(struct update *u)
{
    uint32_t parts = ss_op_list_parts(u->f.l->g, u->w, PART);

    for (uint32_t i = 0; i < parts; i++) {
        struct update_part p = { .u = u };
        enum emu_status s = ss_op_list_part(u->f.l->g, u->w, STATE_ROW, i, parts, &p.from, &p.runs);

        if (s == EMU_OK)
            s = find_pieces(&p);
        if (s == EMU_OK && p.runs)
            update_one_part(&p);
        ss_free(p.from);
        ss_free(p.piece);
        TRY(s);
    }
    return ss_graph_status(u->f.l->g);
}

void lower_apply_update(struct lowering *l, const struct op_node *n)
{
    struct op_call c = lower_call(l, n);
    struct update u;
    enum emu_status s;

    ss_graph_push(l->g, n->name);
    s = update_begin(l, n, &u);
    if (s == EMU_OK) {
        send_numbers(&u, op_string(&c, "method"));
        s = update_in_parts(&u);
    }
    if (s != EMU_OK)
        ss_graph_fail(l->g, s, "%s", ss_error());
    ss_free(u.piece);
    ss_graph_pop(l->g);
}

/* ---- the node ---- */

/* Results are the states, which change at the end of the step. */
static void set_results(struct lowering *l, const struct op_node *n, struct update_lists lists)
{
    for (uint32_t k = 0; k < lists.n * (1 + lists.slots); k++) {
        uint32_t slot = k / lists.n;
        uint32_t state = n->in[UPDATE_LISTS + (slot ? slot + 1 : 0) * lists.n + k % lists.n];
        struct placed *p = &l->at[n->out[k]];

        lower_set_view(l, n->out[k], l->at[state].state);
        lower_pin(l, n->out[k]);
        p->state = l->at[state].state;
        p->state_row = l->at[state].state_row;
        p->has_state = 1;
    }
}

enum emu_status lower_update(struct lowering *l, const struct node_group *group,
                             const struct op_node *n)
{
    struct update_lists lists = update_lists_of(l, n);
    struct program before = l->seq;
    struct update u;
    struct tensor sum;

    (void)group;
    lower_other_gradients(l, n);
    set_results(l, n, lists);
    l->seq = l->after;
    if (n->outs > lists.n * (1 + lists.slots)) {
        TRY(update_begin(l, n, &u));
        sum = ss_tensor_reshape(l->g, ss_op_total(l->g, l->seq, REDUCE_SUM, u.g, n->name), 1,
                                (const uint32_t[]){ 1 });
        sum = fn_two(&u.f, BINARY_MUL, sum, number_of(&u, UPDATE_SCALE));
        lower_set_view(l, n->out[n->outs - 1], ss_tensor_reshape(l->g, sum, 0, NULL));
        ss_free(u.piece);
    }
    l->seq = before;
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
