/* op_error_cell.c - LSTM, GRU and RNN with bounds, step after step as in
 * models/lower/lower_recurrent.c: products of W with all inputs and of R with the state, biases,
 * and the usual functions of gates.
 *
 * Bounds of a state grow from step to step, many times with large R. So the state that a step reads
 * is the machine's own, exact, where the results of all steps are known; only the cell of an LSTM
 * is carried on, and its bound shrinks with every forget gate. */

#include "models/bound/op_error_rules.h"

enum { BLOCK = 16, ROUNDINGS_MORE = 4 };
enum { X, W, R, B, INITIAL_H = 5, INITIAL_C, P };

/* A cell in one direction. */
struct cell_error {
    struct rounding r;
    const struct op_node *n;
    const struct bounded_value *const *in;
    const struct op_tensor *made; /* of the first result; any NULL: not known */
    struct bounded_value *out;
    uint32_t steps, batch, inputs, hidden, gates, directions, direction;
    int late;                                /* GRU: linear_before_reset */
    int batch_first;                         /* layout */
    struct bounded *h, *c, *from_x, *from_h; /* owned: the state, and of a step [gates][hidden] */
    struct bounded *reset;                   /* owned: [hidden] */
};

static struct bounded fn(const struct cell_error *c, enum unary_op op, struct bounded x)
{
    return bounded_unary(&c->r, op, x);
}
static struct bounded two(const struct cell_error *c, enum binary_op op, struct bounded a,
                          struct bounded b)
{
    return bounded_binary(&c->r, op, a, b);
}

/* ---- products ---- */

/* The product of a row of weights, at element `at`, with x[0 .. n). The bound is that of op_error.h
 * for products. */
static struct bounded product(const struct cell_error *c, const struct bounded_value *weights,
                              uint64_t at, const struct bounded *x, uint32_t n)
{
    double size = 0, partial, blocks = ceil((double)n / BLOCK);
    struct bounded y = exactly(0);

    for (uint32_t i = 0; i < n; i++) {
        double w = weights->t.f[at + i], w_error = weights->e ? weights->e[at + i] : 0;

        y.v += w * x[i].v;
        size += fabs(w * x[i].v);
        y.e += fabs(x[i].v) * w_error + x[i].e * (fabs(w) + w_error);
    }
    partial = (size + fabs(y.v)) / 2;
    if (c->r.elem == ELEM_F32)
        y.e += (n + 4.0) * F32_UNIT * partial + F32_UNIT * size + c->r.t;
    else
        y.e += (blocks + ROUNDINGS_MORE) * (c->r.u * partial + c->r.t) + 0x1p-20 * size;
    return y;
}

/* Rows [first, last) of the weights of this direction times x. */
static void products(const struct cell_error *c, uint32_t k, uint32_t first, uint32_t last,
                     const struct bounded *x, uint32_t n, struct bounded *to)
{
    uint64_t base = (uint64_t)c->direction * c->gates * c->hidden;

#pragma omp parallel for
    for (uint32_t j = first; j < last; j++)
        to[j] = product(c, c->in[k], (base + j) * n, x, n);
}

/* Adds a bias: the first or the second of this direction. */
static void add_bias(const struct cell_error *c, int second, uint32_t first, uint32_t last,
                     struct bounded *to)
{
    uint64_t rows = (uint64_t)c->gates * c->hidden, base = (2 * c->direction + second) * rows;

    for (uint32_t j = first; j < last && has_input(c->n, c->in, B); j++)
        to[j] = two(c, BINARY_ADD, to[j], bounded_at(c->in[B], base + j));
}

/* ---- one step ---- */

/* Gate k of an LSTM at place j before its function; state: of the cell, as its peephole sees it. */
static struct bounded gate_sum(const struct cell_error *c, uint32_t k, uint32_t j,
                               struct bounded state)
{
    uint32_t n = c->hidden;
    struct bounded t = two(c, BINARY_ADD, c->from_x[k * n + j], c->from_h[k * n + j]);

    if (!has_input(c->n, c->in, P))
        return t;
    return two(c, BINARY_ADD, t,
               two(c, BINARY_MUL, state, bounded_at(c->in[P], (3 * c->direction + k) * n + j)));
}

static void lstm_step(const struct cell_error *c)
{
    uint32_t n = c->hidden;

    products(c, R, 0, 4 * n, c->h, n, c->from_h);
    for (uint32_t j = 0; j < n; j++) {
        struct bounded i = fn(c, UNARY_SIGMOID, gate_sum(c, 0, j, c->c[j]));
        struct bounded forget = fn(c, UNARY_SIGMOID, gate_sum(c, 2, j, c->c[j]));
        struct bounded new = two(c, BINARY_ADD, c->from_x[3 * n + j], c->from_h[3 * n + j]);

        c->c[j] = two(c, BINARY_ADD, two(c, BINARY_MUL, forget, c->c[j]),
                      two(c, BINARY_MUL, i, fn(c, UNARY_TANH, new)));
        c->h[j] = two(c, BINARY_MUL, fn(c, UNARY_SIGMOID, gate_sum(c, 1, j, c->c[j])),
                      fn(c, UNARY_TANH, c->c[j]));
    }
}

static void gru_step(const struct cell_error *c)
{
    uint32_t n = c->hidden;

    products(c, R, 0, (c->late ? 3 : 2) * n, c->h, n, c->from_h);
    add_bias(c, 1, 0, (c->late ? 3 : 2) * n, c->from_h);
    for (uint32_t j = 0; j < 2 * n; j++) /* z, r */
        c->from_h[j] = fn(c, UNARY_SIGMOID, two(c, BINARY_ADD, c->from_h[j], c->from_x[j]));
    for (uint32_t j = 0; j < n; j++)
        c->reset[j] = two(c, BINARY_MUL, c->from_h[n + j], c->h[j]);
    if (!c->late) {
        products(c, R, 2 * n, 3 * n, c->reset, n, c->from_h);
        add_bias(c, 1, 2 * n, 3 * n, c->from_h);
    }
    for (uint32_t j = 0; j < n; j++) {
        struct bounded z = c->from_h[j], past = c->from_h[2 * n + j], now;

        if (c->late)
            past = two(c, BINARY_MUL, c->from_h[n + j], past);
        now = fn(c, UNARY_TANH, two(c, BINARY_ADD, past, c->from_x[2 * n + j]));
        c->h[j] = two(c, BINARY_ADD, now, two(c, BINARY_MUL, z, two(c, BINARY_SUB, c->h[j], now)));
    }
}

static void rnn_step(const struct cell_error *c)
{
    products(c, R, 0, c->hidden, c->h, c->hidden, c->from_h);
    for (uint32_t j = 0; j < c->hidden; j++)
        c->h[j] = fn(c, UNARY_TANH, two(c, BINARY_ADD, c->from_x[j], c->from_h[j]));
}

static void one_step(const struct cell_error *c, const struct bounded *x)
{
    products(c, W, 0, c->gates * c->hidden, x, c->inputs, c->from_x);
    add_bias(c, 0, 0, c->gates * c->hidden, c->from_x);
    if (!op_node_is(c->n, OP_GRU))
        add_bias(c, 1, 0, c->gates * c->hidden, c->from_x);
    if (op_node_is(c->n, OP_LSTM))
        lstm_step(c);
    else if (op_node_is(c->n, OP_GRU))
        gru_step(c);
    else
        rnn_step(c);
}

/* ---- sequences ---- */

static void begin(const struct cell_error *c, uint32_t k, uint64_t at, struct bounded *state)
{
    for (uint32_t j = 0; j < c->hidden; j++)
        state[j] = has_input(c->n, c->in, k) ? bounded_at(c->in[k], at + j) : exactly(0);
}

static void write(const struct cell_error *c, uint32_t k, uint64_t at, const struct bounded *state)
{
    for (uint32_t j = 0; k < c->n->outs && c->out[k].e && j < c->hidden; j++) {
        c->out[k].t.f[at + j] = state[j].v;
        c->out[k].e[at + j] = state[j].e;
    }
}

/* The first element of an input, of a result of a step, and of a state. */
static uint64_t input_at(const struct cell_error *c, uint64_t t, uint64_t b)
{
    return (c->batch_first ? b * c->steps + t : t * c->batch + b) * c->inputs;
}
static uint64_t result_at(const struct cell_error *c, uint64_t t, uint64_t b)
{
    return (c->batch_first ? (b * c->steps + t) * c->directions + c->direction
                           : (t * c->directions + c->direction) * c->batch + b) *
           c->hidden;
}
static uint64_t state_at(const struct cell_error *c, uint64_t b)
{
    return (c->batch_first ? b * c->directions + c->direction
                           : (uint64_t)c->direction * c->batch + b) *
           c->hidden;
}

/* Batch item b, forwards or backwards. x: room for an input. */
static void one_sequence(const struct cell_error *c, uint32_t b, int backwards, struct bounded *x)
{
    uint64_t state = state_at(c, b);

    begin(c, INITIAL_H, state, c->h);
    begin(c, INITIAL_C, state, c->c);
    for (uint32_t k = 0; k < c->steps; k++) {
        uint64_t t = backwards ? c->steps - 1 - k : k, from = input_at(c, t, b);
        uint64_t y = result_at(c, t, b);

        for (uint32_t i = 0; i < c->inputs; i++)
            x[i] = bounded_at(c->in[X], from + i);
        one_step(c, x);
        write(c, 0, y, c->h);
        if (k + 1 == c->steps)
            write(c, 1, state, c->h);
        for (uint32_t j = 0; c->made && c->made->any && j < c->hidden; j++)
            c->h[j] = exactly(c->made->f[y + j]);
    }
    write(c, 2, state, c->c);
}

static enum emu_status cell_new(const struct op_error *o, const struct op_node *n,
                                const struct bounded_value *const *in, struct bounded_value *out,
                                struct cell_error *c)
{
    const struct op_shape *x = &in[X]->t.shape, *r = &in[R]->t.shape;
    struct op_call call = op_attrs_of(o->g, n);
    size_t rows;

    *c = (struct cell_error){
        .r = rounding_of(o->elem), .n = n, .in = in, .out = out, .made = o->made
    };
    c->batch_first = op_int(&call, "layout") != 0;
    c->steps = x->dim[c->batch_first];
    c->batch = x->dim[!c->batch_first];
    c->inputs = x->dim[2];
    c->directions = r->dim[0];
    c->hidden = r->dim[2];
    c->gates = r->dim[1] / c->hidden;
    c->late = op_knows(&call, "linear_before_reset") && op_int(&call, "linear_before_reset");
    rows = (size_t)c->gates * c->hidden;
    c->h = emu_alloc(c->hidden, sizeof(*c->h));
    c->c = emu_alloc(c->hidden, sizeof(*c->c));
    c->reset = emu_alloc(c->hidden, sizeof(*c->reset));
    c->from_x = emu_alloc(rows, sizeof(*c->from_x));
    c->from_h = emu_alloc(rows, sizeof(*c->from_h));
    return c->h && c->c && c->reset && c->from_x && c->from_h ? EMU_OK
                                                              : FAIL(NO_MEMORY, "%s", n->name);
}

enum emu_status recurrent_error(const struct op_error *o, const struct op_node *n,
                                const struct bounded_value *const *in, struct bounded_value *out)
{
    struct op_call call = op_attrs_of(o->g, n);
    int reverse = op_is(&call, "direction", "reverse");
    struct bounded *x = emu_alloc(in[X]->t.shape.dim[2], sizeof(*x));
    struct cell_error c;
    enum emu_status s = cell_new(o, n, in, out, &c);

    if (s == EMU_OK && !x)
        s = FAIL(NO_MEMORY, "%s", n->name);
    for (c.direction = 0; s == EMU_OK && c.direction < c.directions; c.direction++) {
        for (uint32_t b = 0; b < c.batch; b++)
            one_sequence(&c, b, c.direction || reverse, x);
    }
    ss_free(x);
    ss_free(c.h);
    ss_free(c.c);
    ss_free(c.reset);
    ss_free(c.from_x);
    ss_free(c.from_h);
    return s;
}
