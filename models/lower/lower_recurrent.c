/* lower_recurrent.c - LSTM, GRU and RNN.
 *
 * What the inputs of all steps contribute is one product. Then comes a loop whose body is a step:
 * it multiplies its state, [batch][hidden], by the recurrent weights, and computes the gates where
 * the loop has that step's input (struct loop_rows), so that only products exchange data. Gates are
 * the usual functions. */
#include <string.h>

#include "models/lower/arithmetic.h"

/* Inputs of the operators. */
enum { X, W, R, B, LENGTHS, H0, C0, P };

/* A cell in one direction. */
struct recurrent_cell {
    struct formula f;
    const struct op_node *n;
    uint32_t direction, steps, batch, hidden, gates;
    int reverse, batch_first, linear_before_reset;
    struct tensor in; /* [steps][gates][batch][hidden], in the order of time: W x + its bias */
    /* [gates * hidden][hidden]: of all gates; of GRU, of the first two and of the last. */
    struct tensor r[2];
    struct tensor r_bias; /* [gates * hidden]; only if there are biases */
    struct tensor peep;   /* [3][hidden]; only if there are peepholes */
};

/* What a step needs of the one before, each [batch][hidden]; RNN and GRU have no c. */
struct cell_state {
    struct tensor h, c;
};

static unsigned gates_of(const struct op_node *n)
{
    return op_node_is(n, OP_LSTM) ? 4 : op_node_is(n, OP_GRU) ? 3 : 1;
}

static int has(const struct op_node *n, uint32_t k)
{
    return k < n->ins && n->in[k] != OP_NONE;
}

/* a [rows][k] times the transpose of b [gates * hidden][k], as [gates][rows][hidden]. */
static struct tensor times(const struct recurrent_cell *c, struct tensor a, struct tensor b)
{
    static const unsigned turned[] = { 0, 2, 1 }, gates_first[] = { 1, 0, 2 };
    struct graph *g = c->f.l->g;
    const uint32_t *s = ss_tensor_shape(g, a);
    uint32_t rows = s[0], k = s[1], columns = ss_tensor_shape(g, b)[0];
    struct tensor t;

    a = ss_tensor_reshape(g, a, 3, (const uint32_t[]){ 1, rows, k });
    b = ss_tensor_reshape(g, b, 3, (const uint32_t[]){ 1, columns, k });
    t = ss_op_product(g, c->f.l->seq, a, ss_tensor_transpose(g, b, turned), c->f.name);
    t = ss_tensor_reshape(g, t, 3, (const uint32_t[]){ rows, columns / c->hidden, c->hidden });
    return ss_tensor_transpose(g, t, gates_first);
}

/* A number for each gate and place, [gates * hidden], again for each row of [gates][rows][hidden].
 */
static struct tensor for_rows(const struct recurrent_cell *c, struct tensor t, uint32_t rows)
{
    struct graph *g = c->f.l->g;
    uint32_t gates = (uint32_t)ss_tensor_elements(g, t) / c->hidden;

    t = ss_tensor_reshape(g, t, 3, (const uint32_t[]){ gates, 1, c->hidden });
    return ss_tensor_broadcast(g, t, 1, rows);
}

static struct tensor gates_between(const struct recurrent_cell *c, struct tensor t, uint32_t begin,
                                   uint32_t end)
{
    return ss_tensor_slice(c->f.l->g, t, 0, begin, end);
}

static struct tensor gate(const struct recurrent_cell *c, struct tensor t, uint32_t k)
{
    return ss_tensor_index(c->f.l->g, t, k);
}

/* ---- one step ---- */

/* Adds peephole k times the state of the cell to t. */
static struct tensor peeped(const struct recurrent_cell *c, struct tensor t, uint32_t k,
                            struct tensor state)
{
    struct tensor p;

    if (!has(c->n, P))
        return t;
    p = gate(c, for_rows(c, c->peep, c->batch), k);
    return fn_two(&c->f, BINARY_ADD, t, fn_two(&c->f, BINARY_MUL, state, p));
}

/* x + t, mapped to the tiles of x, as everything computed from it. */
static struct tensor plus(const struct recurrent_cell *c, struct tensor x, struct tensor t)
{
    struct lowering *l = c->f.l;
    struct tensor v = ss_graph_variable(l->g, l->real, ss_tensor_rank(l->g, t),
                                        ss_tensor_shape(l->g, t), c->f.name);

    ss_graph_map_like(l->g, v, x);
    ss_program_add(l->g, l->seq, ss_program_copy(l->g, t, v));
    return fn_two(&c->f, BINARY_ADD, x, v);
}

static struct cell_state lstm_step(const struct recurrent_cell *c, struct tensor x,
                                   const struct cell_state *s)
{
    const struct formula *f = &c->f;
    struct tensor t = plus(c, x, times(c, s->h, c->r[0])), i, o, forget, new;
    struct cell_state next;

    i = fn(f, UNARY_SIGMOID, peeped(c, gate(c, t, 0), 0, s->c));
    forget = fn(f, UNARY_SIGMOID, peeped(c, gate(c, t, 2), 2, s->c));
    new = fn(f, UNARY_TANH, gate(c, t, 3));
    next.c =
        fn_two(f, BINARY_ADD, fn_two(f, BINARY_MUL, forget, s->c), fn_two(f, BINARY_MUL, i, new));
    o = fn(f, UNARY_SIGMOID, peeped(c, gate(c, t, 1), 1, next.c));
    next.h = fn_two(f, BINARY_MUL, o, fn(f, UNARY_TANH, next.c));
    return next;
}

/* Gates [begin, end) of h times the recurrent weights, plus their bias. */
static struct tensor recurrent(const struct recurrent_cell *c, struct tensor h, uint32_t begin,
                               uint32_t end)
{
    struct graph *g = c->f.l->g;
    uint32_t from = begin * c->hidden, to = end * c->hidden;
    struct tensor t = times(c, h, c->r[begin != 0]);

    if (!has(c->n, B))
        return t;
    return fn_two(&c->f, BINARY_ADD, t,
                  for_rows(c, ss_tensor_slice(g, c->r_bias, 0, from, to), c->batch));
}

static struct cell_state gru_step(const struct recurrent_cell *c, struct tensor x,
                                  const struct cell_state *s)
{
    const struct formula *f = &c->f;
    struct tensor t = plus(c, gates_between(c, x, 0, 2), recurrent(c, s->h, 0, 2));
    struct tensor z = fn(f, UNARY_SIGMOID, gate(c, t, 0)), h = s->h;
    struct tensor reset = fn(f, UNARY_SIGMOID, gate(c, t, 1)), new;

    new = c->linear_before_reset ? h : fn_two(f, BINARY_MUL, reset, h);
    new = gate(c, recurrent(c, new, 2, 3), 0);
    if (c->linear_before_reset)
        new = fn_two(f, BINARY_MUL, reset, new);
    new = fn(f, UNARY_TANH, fn_two(f, BINARY_ADD, gate(c, x, 2), new));
    /* (1 - z) new + z h = new + z (h - new) */
    h = fn_two(f, BINARY_MUL, z, fn_two(f, BINARY_SUB, h, new));
    return (struct cell_state){ .h = fn_two(f, BINARY_ADD, new, h) };
}

/* x: [gates][batch][hidden] */
static struct cell_state step(const struct recurrent_cell *c, struct tensor x,
                              const struct cell_state *s)
{
    struct tensor t;

    if (op_node_is(c->n, OP_LSTM))
        return lstm_step(c, x, s);
    if (op_node_is(c->n, OP_GRU))
        return gru_step(c, x, s);
    t = plus(c, x, times(c, s->h, c->r[0]));
    return (struct cell_state){ .h = fn(&c->f, UNARY_TANH, gate(c, t, 0)) };
}

/* ---- all steps ---- */

/* Input k of the node for the cell's direction, which is dimension `dim` of it. */
static struct tensor of_direction(const struct recurrent_cell *c, uint32_t k, unsigned dim)
{
    static const unsigned swapped[] = { 1, 0, 2 };
    struct lowering *l = c->f.l;
    struct tensor t = lower_view(l, c->n->in[k]);

    if (dim)
        t = ss_tensor_transpose(l->g, t, swapped);
    return ss_tensor_index(l->g, t, c->direction);
}

/* A state at the start, [batch][hidden]: given, or zeros. */
static struct tensor initial(const struct recurrent_cell *c, uint32_t k)
{
    struct lowering *l = c->f.l;
    const struct op_shape s = { .rank = 2, .dim = { c->batch, c->hidden } };

    return has(c->n, k) ? of_direction(c, k, c->batch_first) : lower_filled(l, l->real, &s, 0);
}

/* Rows of t in the other order. */
static struct tensor backwards(struct lowering *l, struct tensor t)
{
    uint32_t rows = ss_tensor_shape(l->g, t)[0];
    struct tensor *row = emu_alloc(rows, sizeof(*row));

    if (!row) {
        ss_graph_fail(l->g, EMU_NO_MEMORY, "%u steps", rows);
        return t;
    }
    for (uint32_t k = 0; k < rows; k++)
        row[k] = ss_tensor_slice(l->g, t, 0, rows - 1 - k, rows - k);
    t = ss_tensor_concat(l->g, row, rows, 0);
    ss_free(row);
    return t;
}

/* [steps][batch][inputs] of the node as rows, in the order of time. */
static struct tensor inputs(const struct recurrent_cell *c)
{
    static const unsigned time_first[] = { 1, 0, 2 };
    struct graph *g = c->f.l->g;
    struct tensor t = lower_view(c->f.l, c->n->in[X]);

    if (c->batch_first)
        t = ss_tensor_transpose(g, t, time_first);
    if (c->reverse)
        t = backwards(c->f.l, t);
    return ss_tensor_reshape(g, t, 2,
                             (const uint32_t[]){ c->steps * c->batch, ss_tensor_shape(g, t)[2] });
}

/* Gates [begin, end) of the recurrent weights; copied to where they are used, if they are used more
 * than once. */
static struct tensor weights_of(const struct recurrent_cell *c, uint32_t begin, uint32_t end)
{
    struct lowering *l = c->f.l;
    static const unsigned turned[] = { 0, 2, 1 };
    uint32_t columns = (end - begin) * c->hidden;
    struct tensor t =
        ss_tensor_slice(l->g, of_direction(c, R, 0), 0, begin * c->hidden, end * c->hidden);

    if (c->steps == 1)
        return t;
    t = ss_tensor_reshape(l->g, t, 3, (const uint32_t[]){ 1, columns, c->hidden });
    t = ss_op_product_hold(l->g, l->seq, c->batch, ss_tensor_transpose(l->g, t, turned), "weights");
    return ss_tensor_index(l->g, ss_tensor_transpose(l->g, t, turned), 0);
}

static void recurrent_weights(struct recurrent_cell *c)
{
    uint32_t together = op_node_is(c->n, OP_GRU) ? 2 : c->gates;

    c->r[0] = weights_of(c, 0, together);
    if (together < c->gates)
        c->r[1] = weights_of(c, together, c->gates);
}

static void begin(struct recurrent_cell *c)
{
    static const unsigned steps_first[] = { 1, 0, 2, 3 };
    struct graph *g = c->f.l->g;
    uint32_t size = c->gates * c->hidden, rows = c->steps * c->batch;
    struct tensor t = times(c, inputs(c), of_direction(c, W, 0));

    recurrent_weights(c);
    if (has(c->n, B)) {
        struct tensor b = of_direction(c, B, 0);

        t = fn_two(&c->f, BINARY_ADD, t, for_rows(c, ss_tensor_slice(g, b, 0, 0, size), rows));
        c->r_bias = ss_tensor_slice(g, b, 0, size, 2 * size);
        if (!op_node_is(c->n, OP_GRU))
            t = fn_two(&c->f, BINARY_ADD, t, for_rows(c, c->r_bias, rows));
    }
    if (has(c->n, P))
        c->peep = of_direction(c, P, 0);
    t = ss_tensor_reshape(g, t, 4, (const uint32_t[]){ c->gates, c->steps, c->batch, c->hidden });
    c->in = ss_tensor_transpose(g, t, steps_first);
}

/* A variable that keeps a state from step to step, where the gates are; it begins with t. */
static struct tensor keeper(const struct recurrent_cell *c, struct tensor gate, struct tensor t)
{
    struct lowering *l = c->f.l;
    struct tensor v =
        ss_graph_variable(l->g, l->real, 2, (const uint32_t[]){ c->batch, c->hidden }, "state");

    ss_graph_map_like(l->g, v, gate);
    ss_program_add(l->g, l->seq, ss_program_copy(l->g, t, v));
    return v;
}

/* The loop: returns h of all steps, and sets the state to the last one. */
static struct tensor loop(const struct recurrent_cell *c, struct cell_state *s)
{
    struct lowering *l = c->f.l;
    struct graph *g = l->g;
    const uint32_t shape[] = { c->gates, c->batch, c->hidden };
    uint32_t n = c->batch * c->hidden;
    struct row_loop turns = ss_op_row_loop(g, c->steps, "step");
    struct loop_rows in = ss_op_loop_rows(g, &turns, l->real, c->gates, n, "in");
    struct loop_rows out = ss_op_loop_rows(g, &turns, l->real, 1, n, "h");
    struct program all = l->seq, body = ss_program_sequence(g);
    struct tensor x = ss_tensor_reshape(g, c->in, 3, (const uint32_t[]){ c->steps, c->gates, n });
    struct cell_state next;
    int has_c = op_node_is(c->n, OP_LSTM);

    ss_program_add(g, all, ss_program_copy(g, x, in.all));
    x = ss_op_row_get(g, body, &turns, &in, "x");
    s->h = keeper(c, ss_tensor_index(g, x, 0), s->h);
    if (has_c)
        s->c = keeper(c, ss_tensor_index(g, x, 0), s->c);
    l->seq = body;
    next = step(c, ss_tensor_reshape(g, x, 3, shape), s);
    ss_op_row_put(g, body, &turns, &out,
                  ss_tensor_reshape(g, next.h, 2, (const uint32_t[]){ 1, n }), "h");
    ss_op_row_next(g, body, &turns, "next");
    ss_program_add(g, body, ss_program_copy(g, next.h, s->h));
    if (has_c)
        ss_program_add(g, body, ss_program_copy(g, next.c, s->c));
    l->seq = all;
    ss_program_add(g, all, ss_program_repeat(g, c->steps, body));
    return ss_tensor_reshape(g, out.all, 3, (const uint32_t[]){ c->steps, c->batch, c->hidden });
}

/* h of all steps, [steps][batch][hidden], and the last state. */
static struct tensor run(struct recurrent_cell *c, struct cell_state *s)
{
    struct tensor y;

    begin(c);
    *s = (struct cell_state){ .h = initial(c, H0) };
    if (op_node_is(c->n, OP_LSTM))
        s->c = initial(c, C0);
    if (c->steps > 1) {
        y = loop(c, s);
    } else {
        *s = step(c, ss_tensor_index(c->f.l->g, c->in, 0), s);
        y = ss_tensor_reshape(c->f.l->g, s->h, 3, (const uint32_t[]){ 1, c->batch, c->hidden });
    }
    return c->reverse ? backwards(c->f.l, y) : y;
}

/* ---- the family ---- */

/* part[k] of both directions as one with the direction as dimension `dim`. */
static struct tensor of_both(struct lowering *l, const struct tensor *part, uint32_t count,
                             unsigned dim)
{
    uint32_t shape[OP_RANK_MAX];
    unsigned rank = ss_tensor_rank(l->g, part[0]);
    struct tensor wide[2];

    for (unsigned k = 0; k <= rank; k++)
        shape[k] = k == dim ? 1 : ss_tensor_shape(l->g, part[0])[k > dim ? k - 1 : k];
    for (uint32_t k = 0; k < count; k++)
        wide[k] = ss_tensor_reshape(l->g, part[k], rank + 1, shape);
    return count > 1 ? ss_tensor_concat(l->g, wide, count, dim) : wide[0];
}

static void set_result(struct lowering *l, const struct op_node *n, uint32_t k, struct tensor t)
{
    if (k >= n->outs || n->out[k] == OP_NONE)
        return;
    lower_set_view(l, n->out[k], t);
    lower_pin(l, n->out[k]);
}

static struct recurrent_cell cell_of(struct lowering *l, const struct op_node *n,
                                     uint32_t direction)
{
    struct op_call c = lower_call(l, n);
    const struct op_shape *x = lower_shape(l, n->in[X]), *r = lower_shape(l, n->in[R]);
    int batch_first = (int)op_int(&c, "layout");

    return (struct recurrent_cell){ .f = { l, n->name },
                                    .n = n,
                                    .direction = direction,
                                    .steps = x->dim[batch_first],
                                    .batch = x->dim[!batch_first],
                                    .hidden = r->dim[2],
                                    .gates = gates_of(n),
                                    .reverse = direction || op_is(&c, "direction", "reverse"),
                                    .batch_first = batch_first,
                                    .linear_before_reset = op_knows(&c, "linear_before_reset") &&
                                                           op_int(&c, "linear_before_reset") };
}

enum emu_status lower_recurrent(struct lowering *l, const struct node_group *group,
                                const struct op_node *n)
{
    static const unsigned batch_steps[] = { 1, 0, 2 };
    uint32_t directions = lower_shape(l, n->in[R])->dim[0];
    struct tensor y[2], h[2], c[2];
    int batch_first = 0;

    (void)group;
    for (uint32_t d = 0; d < directions; d++) {
        struct recurrent_cell cell = cell_of(l, n, d);
        struct cell_state s;

        batch_first = cell.batch_first;
        y[d] = run(&cell, &s);
        h[d] = s.h;
        c[d] = s.c;
        if (batch_first)
            y[d] = ss_tensor_transpose(l->g, y[d], batch_steps);
    }
    if (ss_graph_status(l->g) != EMU_OK)
        return EMU_OK;
    set_result(l, n, 0, of_both(l, y, directions, batch_first ? 2 : 1));
    set_result(l, n, 1, of_both(l, h, directions, batch_first ? 1 : 0));
    if (n->outs > 2)
        set_result(l, n, 2, of_both(l, c, directions, batch_first ? 1 : 0));
    return EMU_OK;
}

/* Whether all sequences are as long as the input. */
static int are_full(const struct op_graph *g, const struct op_node *n, uint32_t steps)
{
    struct op_tensor t;
    int full = 1;

    if (!op_value_constant_kind(&g->value[n->in[LENGTHS]]) ||
        op_value_read(g, n->in[LENGTHS], &t) != EMU_OK)
        return 0;
    for (uint64_t k = 0; k < op_shape_count(&t.shape); k++)
        full &= t.i[k] == (int64_t)steps;
    op_tensor_free(&t);
    return full;
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
    if (has(n, LENGTHS) && !are_full(g, n, g->value[n->in[X]].shape.dim[op_int(&c, "layout")]))
        return "sequences of different lengths";
    if (op_has(&c, "clip"))
        return "clipping";
    if (op_knows(&c, "input_forget") && op_int(&c, "input_forget"))
        return "coupled gates";
    return NULL;
}
