/* lower_recurrent.c - LSTM, GRU and RNN, step after step.
 *
 * What the inputs of all steps contribute is one product; then each step multiplies its state,
 * [batch][hidden], by the recurrent weights. Gates are the usual functions. */
#include <string.h>

#include "models/lower/arithmetic.h"

/* A cell in one direction. */
struct cell {
    struct formula f;
    uint32_t steps, batch, hidden, gates;
    struct tensor in;     /* [steps][batch][gates * hidden]: W x + its bias */
    struct tensor r;      /* [gates * hidden][hidden] */
    struct tensor r_bias; /* [gates * hidden]; view 0 and no_bias: none */
    int no_bias;
    int linear_before_reset;
};

static unsigned gates_of(const struct op_node *n)
{
    return op_node_is(n, "LSTM") ? 4 : op_node_is(n, "GRU") ? 3 : 1;
}

static int has(const struct op_node *n, uint32_t k)
{
    return k < n->ins && n->in[k] != OP_NONE;
}

/* a [rows][k] times the transpose of b [columns][k]. */
static struct tensor times(const struct formula *f, struct tensor a, struct tensor b)
{
    static const unsigned turned[] = { 0, 2, 1 };
    struct graph *g = f->l->g;
    const uint32_t *s = tensor_shape(g, a);
    uint32_t rows = s[0], k = s[1], columns = tensor_shape(g, b)[0];
    struct tensor t;

    a = tensor_reshape(g, a, 3, (const uint32_t[]){ 1, rows, k });
    b = tensor_reshape(g, b, 3, (const uint32_t[]){ 1, columns, k });
    t = op_product(g, f->l->seq, a, tensor_transpose(g, b, turned), f->name);
    return tensor_reshape(g, t, 2, (const uint32_t[]){ rows, columns });
}

/* [n] added to each row of t [rows][n]. */
static struct tensor plus_row(const struct formula *f, struct tensor t, struct tensor row)
{
    struct graph *g = f->l->g;
    uint32_t rows = tensor_shape(g, t)[0], n = tensor_shape(g, t)[1];

    row = tensor_reshape(g, row, 2, (const uint32_t[]){ 1, n });
    return fn_two(f, BINARY_ADD, t, tensor_broadcast(g, row, 0, rows));
}

/* Columns of gate k of t [rows][gates * hidden]. */
static struct tensor gate(const struct cell *c, struct tensor t, uint32_t k)
{
    return tensor_slice(c->f.l->g, t, tensor_rank(c->f.l->g, t) - 1, k * c->hidden,
                        (k + 1) * c->hidden);
}

/* ---- one step ---- */

static struct tensor lstm_step(const struct cell *c, struct tensor x, struct tensor h,
                               struct tensor *state)
{
    const struct formula *f = &c->f;
    struct tensor t = fn_two(f, BINARY_ADD, x, times(f, h, c->r)), i, o, forget, new;

    i = fn(f, UNARY_SIGMOID, gate(c, t, 0));
    o = fn(f, UNARY_SIGMOID, gate(c, t, 1));
    forget = fn(f, UNARY_SIGMOID, gate(c, t, 2));
    new = fn(f, UNARY_TANH, gate(c, t, 3));
    *state =
        fn_two(f, BINARY_ADD, fn_two(f, BINARY_MUL, forget, *state), fn_two(f, BINARY_MUL, i, new));
    return fn_two(f, BINARY_MUL, o, fn(f, UNARY_TANH, *state));
}

static struct tensor gru_step(const struct cell *c, struct tensor x, struct tensor h)
{
    const struct formula *f = &c->f;
    struct graph *g = f->l->g;
    struct tensor r2 = tensor_slice(g, c->r, 0, 0, 2 * c->hidden);
    struct tensor rh = tensor_slice(g, c->r, 0, 2 * c->hidden, 3 * c->hidden);
    struct tensor t = times(f, h, r2), z, reset, new;

    if (!c->no_bias)
        t = plus_row(f, t, tensor_slice(g, c->r_bias, 0, 0, 2 * c->hidden));
    t = fn_two(f, BINARY_ADD, t, tensor_slice(g, x, 1, 0, 2 * c->hidden));
    z = fn(f, UNARY_SIGMOID, gate(c, t, 0));
    reset = fn(f, UNARY_SIGMOID, gate(c, t, 1));
    new = times(f, c->linear_before_reset ? h : fn_two(f, BINARY_MUL, reset, h), rh);
    if (!c->no_bias)
        new = plus_row(f, new, tensor_slice(g, c->r_bias, 0, 2 * c->hidden, 3 * c->hidden));
    if (c->linear_before_reset)
        new = fn_two(f, BINARY_MUL, reset, new);
    new = fn(f, UNARY_TANH, fn_two(f, BINARY_ADD, new, gate(c, x, 2)));
    /* (1 - z) new + z h = new + z (h - new) */
    return fn_two(f, BINARY_ADD, new, fn_two(f, BINARY_MUL, z, fn_two(f, BINARY_SUB, h, new)));
}

static struct tensor step(const struct op_node *n, const struct cell *c, struct tensor x,
                          struct tensor h, struct tensor *state)
{
    if (op_node_is(n, "LSTM"))
        return lstm_step(c, x, h, state);
    if (op_node_is(n, "GRU"))
        return gru_step(c, x, h);
    return fn(&c->f, UNARY_TANH, fn_two(&c->f, BINARY_ADD, x, times(&c->f, h, c->r)));
}

/* ---- one direction ---- */

/* Input k of the node for direction d, a view without that dimension. */
static struct tensor of_direction(struct lowering *l, const struct op_node *n, uint32_t k,
                                  uint32_t d)
{
    return tensor_index(l->g, lower_view(l, n->in[k]), d);
}

/* A state at the start, [batch][hidden]: given, or zeros. */
static struct tensor initial(const struct cell *c, const struct op_node *n, uint32_t k, uint32_t d)
{
    struct lowering *l = c->f.l;
    const struct op_shape s = { .rank = 2, .dim = { c->batch, c->hidden } };

    return has(n, k) ? of_direction(l, n, k, d) : lower_filled(l, l->real, &s, 0);
}

static void begin(struct cell *c, const struct op_node *n, uint32_t d)
{
    struct lowering *l = c->f.l;
    const struct op_shape *x = lower_shape(l, n->in[0]);
    uint32_t size = c->gates * c->hidden;
    struct tensor t = tensor_reshape(l->g, lower_view(l, n->in[0]), 2,
                                     (const uint32_t[]){ c->steps * c->batch, x->dim[2] });

    t = times(&c->f, t, of_direction(l, n, 1, d));
    c->r = of_direction(l, n, 2, d);
    c->no_bias = !has(n, 3);
    if (!c->no_bias) {
        struct tensor b = of_direction(l, n, 3, d);

        t = plus_row(&c->f, t, tensor_slice(l->g, b, 0, 0, size));
        c->r_bias = tensor_slice(l->g, b, 0, size, 2 * size);
        if (!op_node_is(n, "GRU"))
            t = plus_row(&c->f, t, c->r_bias);
    }
    c->in = tensor_reshape(l->g, t, 3, (const uint32_t[]){ c->steps, c->batch, size });
}

/* Sets y[t] of all steps, and the last states. */
static void run(struct cell *c, const struct op_node *n, uint32_t d, int reverse, struct tensor *y,
                struct tensor *h, struct tensor *state)
{
    begin(c, n, d);
    *h = initial(c, n, 5, d);
    *state = initial(c, n, 6, d);
    for (uint32_t k = 0; k < c->steps; k++) {
        uint32_t t = reverse ? c->steps - 1 - k : k;

        *h = y[t] = step(n, c, tensor_index(c->f.l->g, c->in, t), *h, state);
    }
}

/* ---- the family ---- */

/* part[k], each [batch][hidden], one after the other as a first dimension. */
static struct tensor stacked(struct lowering *l, const struct tensor *part, uint32_t count)
{
    struct tensor *row = emu_alloc(count, sizeof(*row)), t = part[0];
    const uint32_t *s = tensor_shape(l->g, part[0]);
    const uint32_t one[] = { 1, s[0], s[1] };

    if (!row) {
        graph_fail(l->g, EMU_NO_MEMORY, "%u steps", count);
        return t;
    }
    for (uint32_t k = 0; k < count; k++)
        row[k] = tensor_reshape(l->g, part[k], 3, one);
    t = count > 1 ? tensor_concat(l->g, row, count, 0) : row[0];
    emu_free(row);
    return t;
}

enum emu_status lower_recurrent(struct lowering *l, const struct node_group *group,
                                const struct op_node *n)
{
    struct op_call c = lower_call(l, n);
    const struct op_shape *x = lower_shape(l, n->in[0]), *r = lower_shape(l, n->in[2]);
    uint32_t directions = r->dim[0], steps = x->dim[0];
    struct tensor *y = emu_alloc((size_t)directions * steps, sizeof(*y)), h[2], state[2], all[2];
    static const unsigned inner[] = { 1, 0, 2, 3 };

    (void)group;
    if (!y)
        return FAIL(NO_MEMORY, "%s", n->name);
    for (uint32_t d = 0; d < directions; d++) {
        struct cell cell = { .f = { l, n->name },
                             .steps = steps,
                             .batch = x->dim[1],
                             .hidden = r->dim[2],
                             .gates = gates_of(n),
                             .linear_before_reset = op_knows(&c, "linear_before_reset") &&
                                                    op_int(&c, "linear_before_reset") };

        run(&cell, n, d, d || op_is(&c, "direction", "reverse"), y + (size_t)d * steps, &h[d],
            &state[d]);
        all[d] = stacked(l, y + (size_t)d * steps, steps);
        all[d] = tensor_reshape(l->g, all[d], 4,
                                (const uint32_t[]){ 1, steps, cell.batch, cell.hidden });
    }
    emu_free(y);
    if (graph_status(l->g) != EMU_OK)
        return EMU_OK;
    if (n->out[0] != OP_NONE) {
        struct tensor t = directions > 1 ? tensor_concat(l->g, all, 2, 0) : all[0];

        lower_set_view(l, n->out[0], tensor_transpose(l->g, t, inner));
        lower_pin(l, n->out[0]);
    }
    if (n->outs > 1 && n->out[1] != OP_NONE) {
        lower_set_view(l, n->out[1], stacked(l, h, directions));
        lower_pin(l, n->out[1]);
    }
    if (n->outs > 2 && n->out[2] != OP_NONE)
        lower_set_view(l, n->out[2], stacked(l, state, directions));
    return EMU_OK;
}

const char *recurrent_obstacle(const struct op_graph *g, const struct op_node *n)
{
    static const char *const usual[] = { "Sigmoid", "Tanh", "Tanh" };
    struct op_call c = op_attrs_of(g, n);
    const char *const *name;
    uint32_t names = op_texts(&c, "activations", &name), each = gates_of(n);

    each = each == 4 ? 3 : each == 3 ? 2 : 1;
    for (uint32_t k = 0; k < names; k++) {
        const char *want = each == 1 ? "Tanh" : usual[k % each];

        if (strcmp(name[k], want))
            return "functions of gates that are not the usual ones";
    }
    if (has(n, 4))
        return "lengths of sequences";
    if (has(n, 7))
        return "peepholes";
    if (op_has(&c, "clip"))
        return "clipping";
    if (op_knows(&c, "input_forget") && op_int(&c, "input_forget"))
        return "coupled gates";
    return op_int(&c, "layout") ? "the batch as first dimension" : NULL;
}
