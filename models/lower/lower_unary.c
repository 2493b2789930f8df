/* lower_unary.c - functions of one number and their slopes, as the kernels that functions.def says.
 */
#include <string.h>

#include "models/lower/arithmetic.h"
#include "models/lower/op_formula.h"

/* ---- steps of formulas ---- */

static struct tensor filled_like(const struct formula *f, struct tensor x, double number)
{
    struct op_shape s = { .rank = ss_tensor_rank(f->l->g, x) };

    memcpy(s.dim, ss_tensor_shape(f->l->g, x), s.rank * sizeof(s.dim[0]));
    return lower_filled(f->l, ss_tensor_elem(f->l->g, x), &s, number);
}

static struct tensor narrow(const struct formula *f, struct tensor t, enum elem e)
{
    return e == ELEM_F32 ? t : ss_op_cast(f->l->g, f->l->seq, t, e, f->name);
}

static struct tensor binary(const struct formula *f, const struct formula_step *s, struct tensor a,
                            struct tensor b)
{
    if (s->in[0].is_number)
        return fn_from(f, (enum binary_op)s->op, s->in[0].number, b);
    if (s->in[1].is_number)
        return fn_by(f, (enum binary_op)s->op, a, s->in[1].number);
    return fn_two(f, (enum binary_op)s->op, a, b);
}

/* v: all values so far. */
static struct tensor step(const struct formula *f, const struct formula_step *s,
                          const struct tensor *v)
{
    struct tensor a = v[s->in[0].value], b = v[s->in[1].value], c = v[s->in[2].value];
    struct graph *g = f->l->g;
    float p = (float)s->in[1].number, q = (float)s->in[2].number;

    switch (s->kind) {
    case FORMULA_UNARY:
        return fn(f, (enum unary_op)s->op, a);
    case FORMULA_BINARY:
        return binary(f, s, a, b);
    case FORMULA_SLOPE:
        return ss_op_slope(g, f->l->seq, (enum slope_op)s->op, a, b, f->name);
    case FORMULA_WHERE:
        return fn_select(f, a, b, c);
    case FORMULA_FILL:
        return filled_like(f, v[FORMULA_X], s->in[0].number);
    case FORMULA_WIDE:
        return fn_wide(f, a);
    case FORMULA_NARROW:
        return narrow(f, a, ss_tensor_elem(g, v[FORMULA_X]));
    case FORMULA_IS_NAN:
        return fn_from(f, BINARY_SUB, 1, fn_two(f, BINARY_EQUAL, a, a));
    case FORMULA_CLAMP:
        return ss_op_clamp(g, f->l->seq, a, p, q, f->name);
    case FORMULA_HARD_SIGMOID:
        return ss_op_hard_sigmoid(g, f->l->seq, a, p, q, f->name);
    default:
        EMU_ASSERT(s->kind == FORMULA_LEAKY_RELU);
        return ss_op_leaky_relu(g, f->l->seq, a, p, f->name);
    }
}

/* The row of a node at x, and of a slope the gradient d. */
static enum emu_status compute(struct lowering *l, const struct op_node *n, struct tensor x,
                               struct tensor d, struct tensor *out)
{
    struct tensor v[FORMULA_FIRST + FORMULA_STEPS] = { [FORMULA_X] = x, [FORMULA_D] = d };
    const struct formula f = { l, n->name };
    struct op_formula formula;

    TRY(op_formula_of(l->og, n, &formula));
    for (unsigned k = 0; k < formula.steps; k++)
        v[FORMULA_FIRST + k] = step(&f, &formula.step[k], v);
    *out = v[FORMULA_FIRST + formula.steps - 1];
    return EMU_OK;
}

/* ---- functions ---- */

enum emu_status lower_unary(struct lowering *l, const struct node_group *group,
                            const struct op_node *n)
{
    const struct placed *p = &l->at[n->in[0]];
    int field = lower_computes_on_field(l, n->in[0]) && op_formula_find(l->og, n)->keeps_field;
    struct activation y = p->field;
    struct tensor x = field ? y.t : lower_view(l, n->in[0]);

    (void)group;
    TRY(compute(l, n, x, x, &y.t));
    if (field)
        lower_set_field(l, n->out[0], y, p->axis);
    else
        lower_set_view(l, n->out[0], y.t);
    return EMU_OK;
}

const char *unary_obstacle(const struct op_graph *g, const struct op_node *n)
{
    struct op_call c = op_attrs_of(g, n);
    double number;

    if (!op_formula_find(g, n))
        return "no kernel of this function is built yet";
    if (op_type_kind(g->value[n->in[0]].shape.type) == OP_KIND_INT)
        return "integers: tiles compute with floats, so cast them before";
    if (op_node_is(n, OP_Clip)) {
        const struct lowering l = { .og = g };

        for (unsigned k = 0; k < 2; k++) {
            uint32_t bound = op_tensor_value(&c, k ? "max" : "min");

            if (bound != OP_NONE && !lower_scalar(&l, bound, &number))
                return "bounds that are not one constant number";
        }
    }
    return NULL;
}

/* ---- slopes ---- */

/* A function of fields keeps them: channels beyond the last are 0 times dy, which is 0 there. */
static int on_fields(struct lowering *l, const struct op_node *n, struct tensor *v,
                     struct activation *dy)
{
    const struct activation *x = &l->at[n->in[0]].field;

    *dy = l->at[n->in[1]].field;
    if (!l->at[n->in[1]].has_field || !lower_computes_on_field(l, n->in[0]) ||
        !lower_has_field(l, n->in[0], l->at[n->in[1]].axis) || x->c != dy->c ||
        (uint64_t)x->n * x->h * x->w != (uint64_t)dy->n * dy->h * dy->w)
        return 0;
    *v = ss_tensor_reshape(l->g, x->t, 5, ss_tensor_shape(l->g, dy->t));
    return 1;
}

enum emu_status lower_slope(struct lowering *l, const struct node_group *group,
                            const struct op_node *n)
{
    struct tensor v;
    struct activation dy;
    int field = on_fields(l, n, &v, &dy);

    (void)group;
    if (!field) {
        v = lower_view(l, n->in[0]);
        dy.t = lower_view(l, n->in[1]);
    }
    TRY(compute(l, n, v, dy.t, &dy.t));
    if (field)
        lower_set_field(l, n->out[0], dy, l->at[n->in[1]].axis);
    else
        lower_set_view(l, n->out[0], dy.t);
    return EMU_OK;
}

const char *slope_obstacle(const struct op_graph *g, const struct op_node *n)
{
    return op_formula_find(g, n) ? NULL : "no lowering of that function's slope is built yet";
}
