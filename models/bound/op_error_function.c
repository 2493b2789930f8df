/* op_error_function.c - functions of one number and their slopes: errors through the kernels that
 * functions.def says. */
#include "models/bound/op_error_rules.h"

/* What the kernels are of; between Wide and Narrow of another type than the result. */
struct formula_types {
    struct rounding now, result;
};

static struct bounded by(const struct rounding *r, enum binary_op op, struct bounded x,
                         double number)
{
    return bounded_binary(r, op, x, bounded_constant(r, number));
}

static struct bounded clamped(const struct rounding *r, struct bounded x, double low, double high)
{
    return by(r, BINARY_MIN, by(r, BINARY_MAX, x, low), high);
}

static struct bounded leaky_relu(const struct rounding *r, struct bounded x, double slope)
{
    return bounded_binary(r, slope > 1 ? BINARY_MIN : BINARY_MAX, by(r, BINARY_MUL, x, slope), x);
}

static struct bounded hard_sigmoid(const struct rounding *r, struct bounded x, double alpha,
                                   double beta)
{
    return clamped(r, by(r, BINARY_ADD, by(r, BINARY_MUL, x, alpha), beta), 0, 1);
}

/* What f32 makes, in the type. */
static struct bounded narrow(const struct rounding *r, struct bounded x)
{
    return r->elem == ELEM_F32 ? x : bounded_round(r, x, 1);
}

/* ---- kernels of slopes: dy times the slope ---- */

/* y (1 - y) dy */
static struct bounded sigmoid_slope(const struct rounding *r, struct bounded y, struct bounded dy)
{
    struct bounded t = bounded_binary(r, BINARY_SUB, y, bounded_binary(r, BINARY_MUL, y, y));

    return bounded_binary(r, BINARY_MUL, t, dy);
}

/* (1 - y^2) dy */
static struct bounded tanh_slope(const struct rounding *r, struct bounded y, struct bounded dy)
{
    struct bounded t = bounded_binary(r, BINARY_MUL, y, y);

    return bounded_binary(r, BINARY_SUB, dy, bounded_binary(r, BINARY_MUL, t, dy));
}

/* With s the sigmoid: in f16 s (1 + (1 - s) v) dy, in f32 (s + (v - v s) s) dy. */
static struct bounded swish_slope(const struct rounding *r, struct bounded v, struct bounded dy)
{
    struct bounded s = bounded_unary(r, UNARY_SIGMOID, v), one = exactly(1), t;

    if (r->elem == ELEM_F16) {
        t = bounded_binary(r, BINARY_MUL, bounded_binary(r, BINARY_SUB, one, s), v);
        t = bounded_binary(r, BINARY_MUL, s, bounded_binary(r, BINARY_ADD, one, t));
    } else {
        t = bounded_binary(r, BINARY_SUB, v, bounded_binary(r, BINARY_MUL, v, s));
        t = bounded_binary(r, BINARY_ADD, s, bounded_binary(r, BINARY_MUL, t, s));
    }
    return bounded_binary(r, BINARY_MUL, t, dy);
}

static struct bounded slope(const struct rounding *r, enum slope_op op, struct bounded v,
                            struct bounded dy)
{
    const struct rounding wide = rounding_of(ELEM_F32);

    switch (op) {
    case SLOPE_RELU:
        return bounded_select(bounded_binary(r, BINARY_LESS, exactly(0), v), dy, exactly(0));
    case SLOPE_SIGMOID:
        return narrow(r, sigmoid_slope(&wide, v, dy));
    case SLOPE_TANH:
        return narrow(r, tanh_slope(&wide, v, dy));
    default:
        return swish_slope(r, v, dy);
    }
}

/* ---- steps ---- */

static struct bounded operand(const struct rounding *r, const struct formula_operand *o,
                              const struct bounded *v)
{
    return o->is_number ? bounded_constant(r, o->number) : v[o->value];
}

/* v: all values so far. */
static struct bounded step(struct formula_types *k, const struct formula_step *s,
                           const struct bounded *v)
{
    const struct rounding *r = &k->now;
    struct bounded a = operand(r, &s->in[0], v);
    double p = s->in[1].number, q = s->in[2].number;

    switch (s->kind) {
    case FORMULA_UNARY:
        return bounded_unary(r, (enum unary_op)s->op, a);
    case FORMULA_BINARY:
        return bounded_binary(r, (enum binary_op)s->op, a, operand(r, &s->in[1], v));
    case FORMULA_SLOPE:
        return slope(r, (enum slope_op)s->op, a, v[s->in[1].value]);
    case FORMULA_WHERE:
        return bounded_select(a, v[s->in[1].value], v[s->in[2].value]);
    case FORMULA_FILL:
        return a;
    case FORMULA_WIDE:
        k->now = rounding_of(ELEM_F32);
        return a;
    case FORMULA_NARROW:
        k->now = k->result;
        return narrow(&k->result, a);
    case FORMULA_IS_NAN:
        return exactly(isnan(a.v));
    case FORMULA_CLAMP:
        return clamped(r, a, p, q);
    case FORMULA_HARD_SIGMOID:
        return hard_sigmoid(r, a, p, q);
    default:
        EMU_ASSERT(s->kind == FORMULA_LEAKY_RELU);
        return leaky_relu(r, a, p);
    }
}

struct bounded bounded_formula(const struct rounding *r, const struct op_formula *f,
                               struct bounded x, struct bounded d)
{
    struct bounded v[FORMULA_FIRST + FORMULA_STEPS];
    struct formula_types k = { *r, *r };

    v[FORMULA_X] = x;
    v[FORMULA_D] = d;
    for (unsigned i = 0; i < f->steps; i++)
        v[FORMULA_FIRST + i] = step(&k, &f->step[i], v);
    return v[FORMULA_FIRST + f->steps - 1];
}

/* ---- families ---- */

/* The row of a node. EMU_BAD_FILE, EMU_NO_MEMORY. */
static enum emu_status formula_of(const struct op_error *o, const struct op_node *n,
                                  struct op_formula *out)
{
    if (!op_formula_find(o->g, n))
        return FAIL(BAD_FILE, "node %s (%s): no bounds of the operator are built yet", n->name,
                    n->row->name);
    return op_formula_of(o->g, n, out);
}

enum emu_status unary_error(const struct op_error *o, const struct op_node *n,
                            const struct bounded_value *const *in, struct bounded_value *out)
{
    const struct rounding r = rounding_of(o->elem);
    struct op_formula f;

    TRY(formula_of(o, n, &f));
    for (uint64_t i = 0; i < count_of(out); i++) {
        struct bounded x = bounded_at(in[0], i);

        out->e[i] = bounded_formula(&r, &f, x, x).e;
    }
    return EMU_OK;
}

/* An operand of the type that is computed with. */
static struct bounded rounded_at(const struct rounding *r, const struct bounded_value *x,
                                 uint64_t i)
{
    struct bounded v = bounded_at(x, i);

    v.e += bounded_constant(r, v.v).e;
    return v;
}

enum emu_status slope_error(const struct op_error *o, const struct op_node *n,
                            const struct bounded_value *const *in, struct bounded_value *out)
{
    const struct rounding r = rounding_of(o->elem);
    struct op_formula f;

    TRY(formula_of(o, n, &f));
    for (uint64_t i = 0; i < count_of(out); i++)
        out->e[i] = bounded_formula(&r, &f, rounded_at(&r, in[0], i), rounded_at(&r, in[1], i)).e;
    return EMU_OK;
}
