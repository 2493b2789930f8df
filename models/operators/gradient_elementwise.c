/* gradient_elementwise.c - gradients of functions of one number and of two, of casts and of what
 * gives a value another name.
 */
#include <math.h>

#include "models/operators/op_families.h"
#include "models/operators/op_gradient.h"
#include "models/operators/op_slope.h"

static struct op_call call_of(const struct op_gradient *x)
{
    return op_attrs_of(x->g, x->n);
}

/* --- of one number ------------------------------------------------------------------------ */

/* Of Clip: its bounds as attributes. */
static uint32_t bound(struct op_gradient *x, const char *name, double preset)
{
    struct op_call c = call_of(x);
    uint32_t v = op_tensor_value(&c, name);

    return v == OP_NONE ? gradient_number(x, x->n->in[0], preset) : v;
}

/* The gradient passes between the bounds, and at them. */
static uint32_t clip_back(struct op_gradient *x)
{
    uint32_t in = x->n->in[0], low = bound(x, "min", -INFINITY), high = bound(x, "max", INFINITY);
    uint32_t inside = gradient_binary(x, OP_And, gradient_binary(x, OP_GreaterOrEqual, in, low),
                                      gradient_binary(x, OP_LessOrEqual, in, high));
    uint32_t zero = gradient_number(x, in, 0);

    return gradient_node(x, OP_Where, (uint32_t[]){ inside, x->out[0], zero }, 3, NULL, 0);
}

void gradient_unary_node(struct op_gradient *x)
{
    const struct op_slope *s = op_slope_find(x->n->row->name);
    struct op_call c = call_of(x);
    struct op_named_attr attr[3] = { gradient_text("function", x->n->row->name) };
    uint32_t attrs = 1, in[2];

    if (gradient_is(x, OP_Clip)) {
        x->in[0] = clip_back(x);
        return;
    }
    if (gradient_is(x, OP_Neg)) {
        x->in[0] = gradient_unary(x, OP_Neg, x->out[0]);
        return;
    }
    if (!s) /* steps, and what is not a float */
        return;
    for (unsigned k = 0; k < 2; k++) {
        const char *name = op_slope_attr(s, k);

        if (name)
            attr[attrs++] = gradient_float(k ? "beta" : "alpha", op_float(&c, name));
    }
    if (gradient_is(x, OP_Gelu) && op_is(&c, "approximate", "tanh"))
        attr[attrs++] = gradient_float("alpha", 1);
    in[0] = op_slope_of_result(s) ? x->n->out[0] : x->n->in[0];
    in[1] = x->out[0];
    x->in[0] = gradient_node(x, OP_UnaryGradient, in, 2, attr, attrs);
}

/* --- of two ------------------------------------------------------------------------------- */

/* dy times how the result changes with input k. */
static uint32_t product_back(struct op_gradient *x, unsigned k)
{
    return gradient_binary(x, OP_Mul, x->out[0], x->n->in[1 - k]);
}

static uint32_t quotient_back(struct op_gradient *x, unsigned k)
{
    uint32_t by = gradient_binary(x, OP_Div, x->out[0], x->n->in[1]);

    return k ? gradient_unary(x, OP_Neg, gradient_binary(x, OP_Mul, by, x->n->out[0])) : by;
}

/* b a^(b - 1), and a^b log a, which is 0 where a is 0. */
static uint32_t power_back(struct op_gradient *x, unsigned k)
{
    uint32_t a = x->n->in[0], b = x->n->in[1], slope, zero;

    if (gradient_shape(x, a).type != gradient_shape(x, b).type) {
        gradient_refuse(x, "the exponent is of another type than the base");
        return OP_NONE;
    }
    if (!k) {
        slope = gradient_binary(x, OP_Mul, b,
                                gradient_binary(x, OP_Pow, a, gradient_scaled(x, OP_Sub, b, 1)));
    } else {
        zero = gradient_number(x, a, 0);
        slope = gradient_binary(x, OP_Mul, x->n->out[0], gradient_unary(x, OP_Log, a));
        slope = gradient_node(x, OP_Where,
                              (uint32_t[]){ gradient_binary(x, OP_Equal, a, zero), zero, slope }, 3,
                              NULL, 0);
    }
    return gradient_binary(x, OP_Mul, x->out[0], slope);
}

/* 1 where input k is the result, as a float. */
static uint32_t is_result(struct op_gradient *x, unsigned k)
{
    uint32_t equal = gradient_binary(x, OP_Equal, x->n->in[k], x->n->out[0]);
    int64_t type;

    if (equal == OP_NONE)
        return OP_NONE;
    type = op_type_onnx_number(gradient_shape(x, x->n->in[k]).type);
    return gradient_node(x, OP_Cast, &equal, 1,
                         (struct op_named_attr[]){ gradient_int("to", type) }, 1);
}

/* Of Max and Min: inputs that are equal share it. */
static uint32_t extreme_back(struct op_gradient *x, unsigned k)
{
    uint32_t count = OP_NONE;

    if (x->n->ins == 1)
        return x->out[0];
    for (unsigned j = 0; j < x->n->ins; j++)
        count = j ? gradient_binary(x, OP_Add, count, is_result(x, j)) : is_result(x, j);
    return gradient_binary(x, OP_Mul, is_result(x, k),
                           gradient_binary(x, OP_Div, x->out[0], count));
}

static uint32_t prelu_back(struct op_gradient *x, unsigned k)
{
    uint32_t zero = gradient_number(x, x->n->in[0], 0);
    uint32_t below = gradient_binary(x, OP_Less, x->n->in[0], zero);
    uint32_t changed = gradient_binary(x, OP_Mul, x->out[0], x->n->in[1 - k]);

    return gradient_node(x, OP_Where, (uint32_t[]){ below, changed, k ? zero : x->out[0] }, 3, NULL,
                         0);
}

static uint32_t where_back(struct op_gradient *x, unsigned k)
{
    uint32_t zero = gradient_number(x, x->out[0], 0), dy = x->out[0];

    return gradient_node(x, OP_Where,
                         (uint32_t[]){ x->n->in[0], k == 1 ? dy : zero, k == 1 ? zero : dy }, 3,
                         NULL, 0);
}

/* The gradient before the repeats of broadcasting are added up. */
static uint32_t binary_back(struct op_gradient *x, unsigned k)
{
    uint32_t dy = x->out[0];

    if (gradient_is(x, OP_Add) || gradient_is(x, OP_Sum))
        return dy;
    if (gradient_is(x, OP_Sub))
        return k ? gradient_unary(x, OP_Neg, dy) : dy;
    if (gradient_is(x, OP_Mean))
        return gradient_scaled(x, OP_Mul, dy, 1.0 / x->n->ins);
    if (gradient_is(x, OP_Mul))
        return product_back(x, k);
    if (gradient_is(x, OP_Div))
        return quotient_back(x, k);
    if (gradient_is(x, OP_Pow))
        return power_back(x, k);
    if (gradient_is(x, OP_Max) || gradient_is(x, OP_Min))
        return extreme_back(x, k);
    if (gradient_is(x, OP_PRelu))
        return prelu_back(x, k);
    if (gradient_is(x, OP_Where))
        return where_back(x, k);
    gradient_refuse(x, "it jumps"); /* Mod */
    return OP_NONE;
}

/* Operators whose results are no floats are never asked for a gradient. */
void gradient_binary_node(struct op_gradient *x)
{
    for (unsigned k = 0; k < x->n->ins; k++) {
        if (x->wanted[k])
            x->in[k] = gradient_sum_to(
                x, gradient_expand(x, binary_back(x, k), gradient_shape(x, x->n->out[0])),
                gradient_shape(x, x->n->in[k]));
    }
}

/* --- names and types ---------------------------------------------------------------------- */

void gradient_alias_node(struct op_gradient *x)
{
    x->in[0] = x->out[0];
}

void gradient_cast_node(struct op_gradient *x)
{
    int64_t type = op_type_onnx_number(gradient_shape(x, x->n->in[0]).type);

    if (x->wanted[0] && x->out[0] != OP_NONE)
        x->in[0] = gradient_node(x, OP_Cast, x->out, 1,
                                 (struct op_named_attr[]){ gradient_int("to", type) }, 1);
}
