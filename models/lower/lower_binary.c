/* lower_binary.c - functions of two numbers and of many, with numpy's broadcasting. */
#include <math.h>

#include "models/lower/arithmetic.h"
#include "models/lower/op_formula.h"

static int is_field_like(const struct lowering *l, uint32_t value, const struct activation *f,
                         unsigned axis)
{
    const struct activation *g = &l->at[value].field;

    return lower_has_field(l, value, axis) && g->c == f->c &&
           (uint64_t)g->n * g->h * g->w == (uint64_t)f->n * f->h * f->w;
}

/* Whether a value has a number for each channel of each picture of another, [n][c][1][1]. */
static int is_gate(const struct lowering *l, uint32_t value, uint32_t of)
{
    const struct op_shape *s = lower_shape(l, value), *to = lower_shape(l, of);

    return s->rank >= 3 && s->rank == to->rank && s->dim[0] == to->dim[0] &&
           s->dim[1] == to->dim[1] && op_shape_span(s, 2, s->rank) == 1 &&
           op_shape_span(to, 2, to->rank) > 1;
}

/* A field times a number for each channel, in place. */
static int scale_channels(struct lowering *l, const struct op_node *n, uint32_t x, uint32_t gate)
{
    const struct op_shape *s = lower_shape(l, x);
    uint32_t h = s->rank > 3 ? s->dim[2] : 1, w = s->rank ? s->dim[s->rank - 1] : 1;
    struct activation y, factor;

    if (s->rank > 4 || !lower_computes_on_field(l, x) || !lower_has_field(l, x, 1) ||
        !is_gate(l, gate, x))
        return 0;
    factor = lower_field(l, gate, 1, s->dim[0], 1, 1);
    y = ss_op_channel_scale(l->nn, lower_field_to_change(l, x, 1, s->dim[0], h, w), factor,
                            n->name);
    lower_set_field(l, n->out[0], y, 1);
    return 1;
}

/* Whether a function of zeros is finite: fields are filled up with zeros. */
static int keeps_field(enum binary_op op)
{
    return op != BINARY_DIV && op != BINARY_POW;
}

/* Two fields of one shape. */
static int on_fields(struct lowering *l, const struct op_node *n, const struct binary_row *row)
{
    const struct formula f = { l, n->name };
    uint32_t first = n->in[row->is_swapped];
    const struct placed *a = &l->at[first];
    struct activation y = a->field, b;

    if (!lower_computes_on_field(l, first) || !keeps_field(row->op) ||
        !op_shape_equal(lower_shape(l, n->in[0]), lower_shape(l, n->in[1])) ||
        !is_field_like(l, n->in[!row->is_swapped], &y, a->axis))
        return 0;
    b = lower_field(l, n->in[!row->is_swapped], a->axis, y.n, y.h, y.w);
    y.t = fn_two(&f, row->op, y.t, b.t);
    lower_set_field(l, n->out[0], y, a->axis);
    return 1;
}

/* A field times a constant for each row or column, which operand k is. */
static int by_position(struct lowering *l, const struct op_node *n, unsigned k)
{
    const struct formula f = { l, n->name };
    const struct op_shape *c = lower_shape(l, n->in[k]), *s = lower_shape(l, n->in[1 - k]);
    struct activation y;
    struct op_tensor numbers;
    struct tensor t;
    uint32_t h = c->rank > 1 ? c->dim[c->rank - 2] : 1, w = c->rank ? c->dim[c->rank - 1] : 1;

    if (s->rank != 4 || !lower_is_constant(l, n->in[k]) || !lower_has_field(l, n->in[1 - k], 1) ||
        op_shape_count(c) != (uint64_t)h * w || !op_shape_equal(s, lower_shape(l, n->out[0])) ||
        op_value_read(l->og, n->in[k], &numbers) != EMU_OK)
        return 0;
    y = lower_field(l, n->in[1 - k], 1, s->dim[0], s->dim[2], s->dim[3]);
    t = ss_tensor_reshape(l->g, lower_lanes(l, &numbers, n->name), 5,
                          (const uint32_t[]){ 1, 1, h, w, CHANNEL_BLOCK });
    op_tensor_free(&numbers);
    y.t = fn_two(&f, BINARY_MUL, y.t,
                 lower_broadcast(l, t,
                                 &(const struct op_shape){ .rank = 5,
                                                           .dim = { channel_blocks_of(y.c), y.n,
                                                                    y.h, y.w, CHANNEL_BLOCK } }));
    lower_set_field(l, n->out[0], y, 1);
    return 1;
}

/* Whether dividing by a number is multiplying by its reciprocal, which has a kernel that is six
 * times as fast: by powers of two that are, like it, normal numbers of f16. */
static int is_power_of_two(double number)
{
    int exponent;

    return frexp(number, &exponent) == 0.5 && exponent >= -13 && exponent <= 15;
}

/* A value and a constant number, which is operand `second` of the operation. */
static int with_number(struct lowering *l, const struct op_node *n, const struct binary_row *row,
                       unsigned k)
{
    const struct formula f = { l, n->name };
    const struct placed *p = &l->at[n->in[1 - k]];
    int second = row->commutes || k != (unsigned)row->is_swapped;
    int field = lower_computes_on_field(l, n->in[1 - k]);
    struct activation y = p->field;
    enum binary_op op = row->op;
    struct tensor t;
    double number;

    if (!lower_scalar(l, n->in[k], &number) ||
        !op_shape_equal(lower_shape(l, n->in[1 - k]), lower_shape(l, n->out[0])))
        return 0;
    field = field && (keeps_field(row->op) || (second && number > 0));
    t = field ? y.t : lower_view(l, n->in[1 - k]);
    if (op == BINARY_DIV && second && is_power_of_two(number)) {
        op = BINARY_MUL;
        number = 1 / number;
    }
    y.t = second ? fn_by(&f, op, t, number) : fn_from(&f, op, number, t);
    if (field)
        lower_set_field(l, n->out[0], y, p->axis);
    else
        lower_set_view(l, n->out[0], y.t);
    return 1;
}

static struct tensor operand(struct lowering *l, const struct op_node *n, uint32_t k)
{
    return lower_broadcast(l, lower_view(l, n->in[k]), lower_shape(l, n->out[0]));
}

/* All inputs, one after the other. */
static void on_views(struct lowering *l, const struct op_node *n, const struct binary_row *row)
{
    const struct formula f = { l, n->name };
    struct tensor t = operand(l, n, row->is_swapped && n->ins == 2);

    for (uint32_t k = 1; k < n->ins; k++)
        t = fn_two(&f, row->op, t, operand(l, n, row->is_swapped ? 0 : k));
    if (op_node_is(n, OP_Mean) && n->ins > 1)
        t = fn_by(&f, BINARY_MUL, t, 1.0 / n->ins);
    if (op_node_is(n, OP_Xor))
        t = fn_from(&f, BINARY_SUB, 1, t);
    if (n->ins == 1)
        lower_set_alias(l, n->out[0], n->in[0], t);
    else
        lower_set_view(l, n->out[0], t);
}

static void where(struct lowering *l, const struct op_node *n)
{
    const struct formula f = { l, n->name };

    lower_set_view(l, n->out[0],
                   fn_select(&f, operand(l, n, 0), operand(l, n, 1), operand(l, n, 2)));
}

/* x where it is positive, else slope x. */
static void prelu(struct lowering *l, const struct op_node *n)
{
    const struct formula f = { l, n->name };
    struct tensor x = operand(l, n, 0);
    struct tensor low = fn_two(&f, BINARY_MUL, x, operand(l, n, 1));

    lower_set_view(l, n->out[0], fn_select(&f, fn_by(&f, BINARY_LESS, x, 0), low, x));
}

enum emu_status lower_binary(struct lowering *l, const struct node_group *group,
                             const struct op_node *n)
{
    const struct binary_row *row = op_binary_row(n);

    (void)group;
    if (op_node_is(n, OP_Where)) {
        where(l, n);
        return EMU_OK;
    }
    if (op_node_is(n, OP_PRelu)) {
        prelu(l, n);
        return EMU_OK;
    }
    if (n->ins != 2 || op_node_is(n, OP_Mean) || op_node_is(n, OP_Xor)) {
        on_views(l, n, row);
        return EMU_OK;
    }
    if (row->op == BINARY_MUL &&
        (scale_channels(l, n, n->in[0], n->in[1]) || scale_channels(l, n, n->in[1], n->in[0])))
        return EMU_OK;
    if (on_fields(l, n, row) || with_number(l, n, row, 1) || with_number(l, n, row, 0) ||
        (row->op == BINARY_MUL && l->real == ELEM_F16 &&
         (by_position(l, n, 0) || by_position(l, n, 1))))
        return EMU_OK;
    on_views(l, n, row);
    return EMU_OK;
}

const char *binary_obstacle(const struct op_graph *g, const struct op_node *n)
{
    int first = op_node_is(n, OP_Where);

    if (!op_binary_row(n) && !first && !op_node_is(n, OP_PRelu))
        return "no kernel of this function is built yet";
    for (uint32_t k = 0; k < n->ins; k++) {
        if (op_type_kind(g->value[n->in[k]].shape.type) == OP_KIND_INT)
            return "integers: tiles compute with floats, so cast them before";
    }
    return NULL;
}
