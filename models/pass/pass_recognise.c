/* pass_recognise.c - finds functions that exporters spell in small operators: expressions up to the
 * order of operands, with constants by value.
 *
 *   Swish                x sigmoid(x)
 *   HardSwish            x hardsigmoid(x), x clip(x + 3, 0, 6) / 6
 *   Gelu                 x (1 + erf(x / sqrt 2)) / 2, or with tanh(sqrt(2 / pi) (x + 0.044715 x^3))
 *   LayerNormalization   (x - mean) / sqrt(mean((x - mean)^2) + epsilon), then a scale and a bias
 *
 * What is found is appended where its last node stands; the nodes it was spelt in go unless others
 * read them.
 */
#include <math.h>
#include <string.h>

#include "models/pass/op_pass.h"

enum { FACTORS_MAX = 8 };

/* A product: a number times values. */
struct scaled_product {
    double number;
    uint32_t factor[FACTORS_MAX];
    unsigned factors;
};

static int close_to(double a, double b)
{
    return fabs(a - b) <= 1e-6 * fabs(b); /* constants of files are f32 */
}

/* Multiplies a product by a value, which is taken apart as far as it is one and has not been
 * recognised as something else. 0: too many factors. */
static int product_times(const struct op_pass *p, struct scaled_product *to, uint32_t value,
                         unsigned depth)
{
    int as_it_was = op_pass_now(p, value) == value;
    const struct op_node *mul = as_it_was ? op_pass_made_by(p, value, OP_Mul) : NULL;
    const struct op_node *div = as_it_was ? op_pass_made_by(p, value, OP_Div) : NULL;
    double number;

    if (op_pass_scalar(p, value, &number)) {
        to->number *= number;
        return 1;
    }
    if (mul && depth)
        return product_times(p, to, mul->in[0], depth - 1) &&
               product_times(p, to, mul->in[1], depth - 1);
    if (div && depth && op_pass_scalar(p, div->in[1], &number)) {
        to->number /= number;
        return product_times(p, to, div->in[0], depth - 1);
    }
    if (to->factors == FACTORS_MAX)
        return 0;
    to->factor[to->factors++] = value;
    return 1;
}

static struct scaled_product product_of(const struct op_pass *p, uint32_t value)
{
    struct scaled_product out = { .number = 1 };

    if (!product_times(p, &out, value, 4))
        out.factors = 0;
    return out;
}

/* value = other + a constant number; 0: it is no such sum. */
static int sum_with(const struct op_pass *p, uint32_t value, double *number, uint32_t *other)
{
    const struct op_node *add = op_pass_made_by(p, value, OP_Add);

    for (unsigned k = 0; add && k < 2; k++) {
        if (op_pass_scalar(p, add->in[k], number)) {
            *other = add->in[1 - k];
            return 1;
        }
    }
    return 0;
}

/* Appends a function that keeps the shape of in[0] in place of node n, unless n is of another
 * shape: numbers in it may have more dimensions than x. */
static enum emu_status put(struct op_pass *p, const struct op_node *n, enum op_code op,
                           const uint32_t *in, uint32_t ins, const struct op_named_attr *attr,
                           uint32_t attrs, int *replaced)
{
    uint32_t now[3], by;
    const struct op_request r = { .op = op_name(op),
                                  .name = n->name,
                                  .block = n->block,
                                  .in = now,
                                  .ins = ins,
                                  .outs = 1,
                                  .attr = attr,
                                  .attrs = attrs };

    if (!op_shape_equal(&p->g->value[in[0]].shape, &p->g->value[n->out[0]].shape))
        return EMU_OK;
    for (uint32_t k = 0; k < ins; k++)
        now[k] = in[k] == OP_NONE ? OP_NONE : op_pass_now(p, in[k]);
    TRY(op_node(p->g, &r, &by));
    op_pass_replace(p, n->out[0], by);
    *replaced = 1;
    return EMU_OK;
}

/* --- x times a function of x -------------------------------------------------------------- */

/* Whether a bound of a clip is a number. */
static int is_bound(const struct op_pass *p, const struct op_node *clip, const char *name,
                    double number)
{
    const struct op_call c = op_attrs_of(p->g, clip);
    double bound;

    return op_pass_scalar(p, op_tensor_value(&c, name), &bound) && bound == number;
}

/* clip(x + 3, 0, 6): x, or OP_NONE. */
static uint32_t clipped(const struct op_pass *p, uint32_t value)
{
    const struct op_node *clip = op_pass_made_by(p, value, OP_Clip);
    double number;
    uint32_t x;

    if (!clip || !is_bound(p, clip, "min", 0) || !is_bound(p, clip, "max", 6) ||
        !sum_with(p, clip->in[0], &number, &x) || number != 3)
        return OP_NONE;
    return x;
}

/* Whether value is Gelu's inner function of x, erf: of x / sqrt 2; else tanh. */
static int is_erf(const struct op_pass *p, uint32_t value, uint32_t x)
{
    const struct op_node *erf = op_pass_made_by(p, value, OP_Erf);
    struct scaled_product t;

    if (!erf)
        return 0;
    t = product_of(p, erf->in[0]);
    return t.factors == 1 && t.factor[0] == x && close_to(t.number, M_SQRT1_2);
}

/* x^3, as a power or as products. */
static int is_cube(const struct op_pass *p, const struct scaled_product *t, uint32_t x)
{
    const struct op_node *pow = t->factors == 1 ? op_pass_made_by(p, t->factor[0], OP_Pow) : NULL;
    double three;

    if (pow)
        return pow->in[0] == x && op_pass_scalar(p, pow->in[1], &three) && three == 3;
    return t->factors == 3 && t->factor[0] == x && t->factor[1] == x && t->factor[2] == x;
}

static int is_tanh(const struct op_pass *p, uint32_t value, uint32_t x)
{
    const struct op_node *tanh = op_pass_made_by(p, value, OP_Tanh), *add;
    struct scaled_product t;

    if (!tanh)
        return 0;
    t = product_of(p, tanh->in[0]);
    if (t.factors != 1 || !close_to(t.number, sqrt(2 / M_PI)))
        return 0;
    add = op_pass_made_by(p, t.factor[0], OP_Add);
    for (unsigned k = 0; add && k < 2; k++) {
        if (add->in[k] == x) {
            t = product_of(p, add->in[1 - k]);
            return close_to(t.number, 0.044715) && is_cube(p, &t, x);
        }
    }
    return 0;
}

/* The kind of Gelu that number x f is: "none" (erf), "tanh", or NULL. */
static const char *gelu(const struct op_pass *p, double number, uint32_t x, uint32_t f)
{
    double one;
    uint32_t inner;

    if (!close_to(number, 0.5) || !sum_with(p, f, &one, &inner) || one != 1)
        return NULL;
    return is_erf(p, inner, x) ? "none" : is_tanh(p, inner, x) ? "tanh" : NULL;
}

/* Whether a hard sigmoid is x / 6 + 1 / 2 between its bounds. */
static int is_sixth(const struct op_pass *p, const struct op_node *hard)
{
    const struct op_call c = op_attrs_of(p->g, hard);

    return close_to(op_float(&c, "alpha"), 1.0 / 6) && op_float(&c, "beta") == 0.5;
}

/* number x f, f another factor. */
static enum emu_status product_of_two(struct op_pass *p, const struct op_node *n, double number,
                                      uint32_t x, uint32_t f, int *replaced)
{
    const struct op_node *sigmoid = op_pass_made_by(p, f, OP_Sigmoid);
    const struct op_node *hard = op_pass_made_by(p, f, OP_HardSigmoid);
    const char *kind = gelu(p, number, x, f);

    if (kind) {
        const struct op_named_attr a = { "approximate", { .kind = OP_ATTR_STRING, .s = kind } };

        return put(p, n, OP_Gelu, &x, 1, &a, 1, replaced);
    }
    if (number == 1 && sigmoid && sigmoid->in[0] == x)
        return put(p, n, OP_Swish, &x, 1, NULL, 0, replaced);
    if (number == 1 && hard && hard->in[0] == x && is_sixth(p, hard))
        return put(p, n, OP_HardSwish, &x, 1, NULL, 0, replaced);
    if (close_to(number, 1.0 / 6) && clipped(p, f) == x)
        return put(p, n, OP_HardSwish, &x, 1, NULL, 0, replaced);
    return EMU_OK;
}

static enum emu_status visit_product(struct op_pass *p, uint32_t node, int *replaced)
{
    const struct op_node *n = &p->old[node];
    int is_mul = op_node_is(n, OP_Mul);
    struct scaled_product t;

    if (!is_mul && !op_node_is(n, OP_Div))
        return EMU_OK;
    for (unsigned k = 0; is_mul && k < 2 && !*replaced; k++) /* x may be a product itself */
        TRY(product_of_two(p, n, 1, n->in[k], n->in[1 - k], replaced));
    if (*replaced)
        return EMU_OK;
    t = product_of(p, n->out[0]);
    for (unsigned k = 0; t.factors == 2 && k < 2 && !*replaced; k++)
        TRY(product_of_two(p, n, t.number, t.factor[k], t.factor[1 - k], replaced));
    return EMU_OK;
}

/* --- layer norm --------------------------------------------------------------------------- */

/* The first of the last axes over which a node takes the mean with dimensions kept; OP_NONE. */
static uint32_t mean_axis(const struct op_pass *p, const struct op_node *mean)
{
    const struct op_call c = op_attrs_of(p->g, mean);
    unsigned rank = p->g->value[mean->in[0]].shape.rank;
    const int64_t *axes;
    uint32_t n = op_ints(&c, "axes", &axes), set = 0;

    if (!n || !op_int(&c, "keepdims"))
        return OP_NONE;
    for (uint32_t k = 0; k < n; k++)
        set |= 1u << (axes[k] < 0 ? axes[k] + rank : axes[k]);
    return set == (1u << rank) - (1u << (rank - n)) ? rank - n : OP_NONE;
}

/* value = x - mean(x): x and the axis. */
static int is_centred(const struct op_pass *p, uint32_t value, uint32_t *x, uint32_t *axis)
{
    const struct op_node *sub = op_pass_made_by(p, value, OP_Sub), *mean;

    mean = sub ? op_pass_made_by(p, sub->in[1], OP_ReduceMean) : NULL;
    if (!mean || mean->in[0] != sub->in[0])
        return 0;
    *x = sub->in[0];
    *axis = mean_axis(p, mean);
    return *axis != OP_NONE;
}

/* value = d^2: d. */
static uint32_t square_of(const struct op_pass *p, uint32_t value)
{
    const struct op_node *pow = op_pass_made_by(p, value, OP_Pow);
    const struct op_node *mul = op_pass_made_by(p, value, OP_Mul);
    double two;

    if (pow && op_pass_scalar(p, pow->in[1], &two) && two == 2)
        return pow->in[0];
    return mul && mul->in[0] == mul->in[1] ? mul->in[0] : OP_NONE;
}

/* value = sqrt(mean((x - mean)^2) + epsilon) over the same axes. */
static int is_deviation(const struct op_pass *p, uint32_t value, uint32_t x, uint32_t axis,
                        double *epsilon)
{
    const struct op_node *root = op_pass_made_by(p, value, OP_Sqrt), *mean;
    uint32_t variance, from, centred_axis;

    if (!root || !sum_with(p, root->in[0], epsilon, &variance))
        return 0;
    mean = op_pass_made_by(p, variance, OP_ReduceMean);
    return mean && mean_axis(p, mean) == axis &&
           is_centred(p, square_of(p, mean->in[0]), &from, &centred_axis) && from == x &&
           centred_axis == axis;
}

/* Ones of the normalised axes. */
static enum emu_status make_ones(struct op_graph *g, const struct op_shape *x, uint32_t axis,
                                 uint32_t *out)
{
    struct op_shape s = { .type = x->type, .rank = x->rank - axis };
    struct op_tensor t;
    enum emu_status status;

    memcpy(s.dim, x->dim + axis, s.rank * sizeof(s.dim[0]));
    TRY(op_tensor_new(&s, &t));
    for (uint64_t k = 0; k < op_shape_count(&s); k++)
        t.f[k] = 1;
    status = op_value_constant(g, NULL, &t, out);
    op_tensor_free(&t);
    return status;
}

static enum emu_status visit_norm(struct op_pass *p, uint32_t node, int *replaced)
{
    const struct op_node *n = &p->old[node];
    struct op_named_attr attr[2] = { { "axis", { .kind = OP_ATTR_INT } },
                                     { "epsilon", { .kind = OP_ATTR_FLOAT } } };
    uint32_t in[2], axis;
    double epsilon;

    if (!op_node_is(n, OP_Div) || !is_centred(p, n->in[0], &in[0], &axis) ||
        !is_deviation(p, n->in[1], in[0], axis, &epsilon))
        return EMU_OK;
    attr[0].attr.i = axis;
    attr[1].attr.f = epsilon;
    TRY(make_ones(p->g, &p->g->value[in[0]].shape, axis, &in[1]));
    return put(p, n, OP_LayerNormalization, in, 2, attr, 2, replaced);
}

/* Whether a value is a constant for each normalised position of a norm. */
static int is_affine(const struct op_pass *p, const struct op_node *norm, uint32_t value)
{
    const struct op_value *v = &p->g->value[value];

    return op_value_constant_kind(v) && op_shape_equal(&v->shape, &p->g->value[norm->in[1]].shape);
}

/* Whether a value is a constant of ones; a scale may be an input or what steps of training change.
 */
static int all_ones(const struct op_pass *p, uint32_t value)
{
    const struct op_value *v = &p->g->value[value];
    struct op_tensor t;
    int ones = 1;

    if (!op_value_constant_kind(v) || !v->data || op_value_read(p->g, value, &t) != EMU_OK)
        return 0;
    for (uint64_t k = 0; k < op_shape_count(&t.shape); k++)
        ones &= t.f[k] == 1;
    op_tensor_free(&t);
    return ones;
}

static enum emu_status put_norm(struct op_pass *p, const struct op_node *n,
                                const struct op_node *norm, uint32_t scale, uint32_t bias,
                                int *replaced)
{
    const uint32_t in[3] = { norm->in[0], scale, bias };
    const struct op_call c = op_attrs_of(p->g, norm);
    const struct op_named_attr attr[2] = {
        { "axis", { .kind = OP_ATTR_INT, .i = op_int(&c, "axis") } },
        { "epsilon", { .kind = OP_ATTR_FLOAT, .f = op_float(&c, "epsilon") } }
    };

    return put(p, n, OP_LayerNormalization, in, 3, attr, 2, replaced);
}

/* norm x scale, if the norm has none yet. */
static enum emu_status visit_scale(struct op_pass *p, uint32_t node, int *replaced)
{
    const struct op_node *n = &p->old[node];

    if (!op_node_is(n, OP_Mul))
        return EMU_OK;
    for (unsigned k = 0; k < 2; k++) {
        const struct op_node *norm = op_pass_made_by(p, n->in[k], OP_LayerNormalization);

        if (norm && norm->ins == 2 && p->readers[n->in[k]] == 1 &&
            is_affine(p, norm, n->in[1 - k]) && all_ones(p, norm->in[1]))
            return put_norm(p, n, norm, n->in[1 - k], OP_NONE, replaced);
    }
    return EMU_OK;
}

/* norm + bias, if the norm has none yet. */
static enum emu_status visit_bias(struct op_pass *p, uint32_t node, int *replaced)
{
    const struct op_node *n = &p->old[node];

    if (!op_node_is(n, OP_Add))
        return EMU_OK;
    for (unsigned k = 0; k < 2; k++) {
        const struct op_node *norm = op_pass_made_by(p, n->in[k], OP_LayerNormalization);

        if (norm && norm->ins == 2 && p->readers[n->in[k]] == 1 && is_affine(p, norm, n->in[1 - k]))
            return put_norm(p, n, norm, norm->in[1], n->in[1 - k], replaced);
    }
    return EMU_OK;
}

enum emu_status pass_recognise(struct op_graph *g)
{
    TRY(op_pass_run(g, visit_product));
    TRY(op_pass_run(g, visit_norm));
    TRY(op_pass_run(g, visit_scale));
    return op_pass_run(g, visit_bias);
}
