/* test_op_pass.c - passes over operator graphs: what they find, what they must leave, and that a
 * graph means the same before and after. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "models/pass/op_pass.h"

/* A graph that is built, one line a node. */
static struct op_graph *g;

static int begin(void **state)
{
    (void)state;
    return op_graph_new("test", &g) != EMU_OK;
}

static int end(void **state)
{
    (void)state;
    op_graph_free(g);
    return 0;
}

static uint32_t shaped(enum op_value_kind kind, unsigned rank, const uint32_t *dim)
{
    struct op_shape s = { .type = OP_TYPE_F32, .rank = rank };
    struct op_tensor t;
    uint32_t v;

    memcpy(s.dim, dim, rank * sizeof(*dim));
    if (kind == OP_INPUT) {
        assert_int_equal(op_value_new(g, "x", kind, &s, &v), EMU_OK);
        assert_int_equal(op_graph_input(g, v), EMU_OK);
        return v;
    }
    assert_int_equal(op_tensor_new(&s, &t), EMU_OK);
    for (uint64_t k = 0; k < op_shape_count(&s); k++)
        t.f[k] = 0.25 + (double)((k * 7 + 3) % 16) / 16;
    assert_int_equal(op_value_constant(g, NULL, &t, &v), EMU_OK);
    op_tensor_free(&t);
    return v;
}
#define INPUT(...)                                                                                 \
    shaped(OP_INPUT, sizeof((uint32_t[]){ __VA_ARGS__ }) / 4, (uint32_t[]){ __VA_ARGS__ })
#define DRAWN(...)                                                                                 \
    shaped(OP_CONST, sizeof((uint32_t[]){ __VA_ARGS__ }) / 4, (uint32_t[]){ __VA_ARGS__ })

static uint32_t number(double value)
{
    struct op_tensor t = { .shape = { .type = OP_TYPE_F32 }, .f = &value };
    uint32_t v;

    assert_int_equal(op_value_constant(g, NULL, &t, &v), EMU_OK);
    return v;
}

static uint32_t make(const char *op, const struct op_named_attr *attr, uint32_t attrs,
                     const uint32_t *in, uint32_t ins)
{
    const struct op_request r = {
        .op = op, .in = in, .ins = ins, .outs = 1, .attr = attr, .attrs = attrs
    };
    uint32_t out;

    assert_int_equal(op_node(g, &r, &out), EMU_OK);
    if (g->problems)
        fail_msg("%s: %s", op, g->problem[0].why);
    return out;
}
#define NODE(op, ...)                                                                              \
    make(op, NULL, 0, (uint32_t[]){ __VA_ARGS__ }, sizeof((uint32_t[]){ __VA_ARGS__ }) / 4)

static uint32_t mean(uint32_t x, int64_t axis)
{
    const struct op_named_attr a = { "axes", { .kind = OP_ATTR_INTS, .count = 1, .ints = &axis } };

    return make("ReduceMean", &a, 1, &x, 1);
}

static void compute(struct op_tensor *out)
{
    struct op_tensor x;

    assert_int_equal(g->inputs, 1);
    assert_int_equal(op_tensor_new(&g->value[g->input[0]].shape, &x), EMU_OK);
    for (uint64_t k = 0; k < op_shape_count(&x.shape); k++)
        x.f[k] = (double)((k * 29 + 11) % 64) / 8 - 4;
    assert_int_equal(op_graph_run(g, &x, 0, out), EMU_OK);
    op_tensor_free(&x);
}

/* Runs the passes; the graph means the same, and its nodes are `nodes` and, first of all, `first`.
 */
static void passes(uint32_t result, uint32_t nodes, const char *first)
{
    struct op_tensor before, after;
    double largest = 0;

    assert_int_equal(op_graph_output(g, result), EMU_OK);
    compute(&before);
    if (pass_all(g) != EMU_OK)
        fail_msg("%s", emu_error());
    compute(&after);
    assert_true(op_shape_equal(&before.shape, &after.shape));
    for (uint64_t k = 0; k < op_shape_count(&before.shape); k++)
        largest = fmax(largest, fabs(before.f[k]));
    assert_true(largest > 0);
    for (uint64_t k = 0; k < op_shape_count(&before.shape); k++)
        assert_true(fabs(before.f[k] - after.f[k]) <= 2e-6 * largest);
    op_tensor_free(&before);
    op_tensor_free(&after);
    assert_int_equal(g->nodes, nodes);
    assert_string_equal(g->node[0].row->name, first);
}

/* --- norms -------------------------------------------------------------------------------- */

static uint32_t batch_norm(uint32_t x, uint32_t channels)
{
    const uint32_t c = channels;

    return NODE("BatchNormalization", x, DRAWN(c), DRAWN(c), DRAWN(c), DRAWN(c));
}

static void norm_behind_conv(void **state)
{
    (void)state;
    passes(batch_norm(NODE("Conv", INPUT(1, 3, 6, 6), DRAWN(4, 3, 3, 3)), 4), 1, "Conv");
    assert_int_equal(g->node[0].ins, 3);
}

static void norm_behind_conv_with_bias(void **state)
{
    (void)state;
    passes(batch_norm(NODE("Conv", INPUT(1, 3, 6, 6), DRAWN(4, 3, 3, 3), DRAWN(4)), 4), 1, "Conv");
}

static void norm_behind_transposed_groups(void **state)
{
    const struct op_named_attr groups = { "group", { .kind = OP_ATTR_INT, .i = 2 } };
    const uint32_t in[] = { INPUT(1, 4, 3, 3), DRAWN(4, 3, 2, 2) };

    (void)state;
    passes(batch_norm(make("ConvTranspose", &groups, 1, in, 2), 6), 1, "ConvTranspose");
}

static void norm_elsewhere_stays(void **state)
{
    uint32_t x = INPUT(1, 4, 6, 6), c;

    (void)state;
    c = NODE("Conv", x, DRAWN(4, 4, 1, 1));
    passes(NODE("Add", batch_norm(c, 4), c), 3, "Conv"); /* the convolution has two readers */
}

/* --- pads --------------------------------------------------------------------------------- */

static uint32_t pad(uint32_t x, const int64_t *sizes, uint32_t count)
{
    const struct op_shape list = { .type = OP_TYPE_I64, .rank = 1, .dim = { count } };
    uint32_t pads;

    assert_int_equal(op_constant_new(g, &list, sizes, &pads), EMU_OK);
    return NODE("Pad", x, pads);
}
#define PAD(x, ...)                                                                                \
    pad(x, (int64_t[]){ __VA_ARGS__ }, sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))

/* Windows of 3 x 3 with pads [top, left, bottom, right]. flag: an attribute that is 1, or NULL. */
static uint32_t window(const char *op, const int64_t pads[4], const char *flag, const uint32_t *in,
                       uint32_t ins)
{
    static const int64_t kernel[] = { 3, 3 };
    const struct op_named_attr a[] = {
        { "kernel_shape", { .kind = OP_ATTR_INTS, .count = 2, .ints = kernel } },
        { "pads", { .kind = OP_ATTR_INTS, .count = 4, .ints = pads } },
        { flag, { .kind = OP_ATTR_INT, .i = 1 } },
    };

    return make(op, a, flag ? 3 : 2, in, ins);
}

static const int64_t no_pads[4], some_pads[4] = { 1, 0, 2, 1 };

static void pads_join_convolutions(void **state)
{
    const uint32_t x = INPUT(1, 3, 6, 5);
    const uint32_t in[] = { PAD(x, 0, 0, 1, 2, 0, 0, 0, 1), DRAWN(4, 3, 3, 3) };
    const int64_t want[] = { 2, 2, 2, 2 }, *got;
    struct op_call c;

    (void)state;
    passes(NODE("Add", window("Conv", some_pads, NULL, in, 2), number(1)), 2, "Conv");
    c = op_attrs_of(g, &g->node[0]);
    assert_int_equal(op_ints(&c, "pads", &got), 4);
    assert_memory_equal(got, want, sizeof(want));
}

static void pads_join_means(void **state)
{
    uint32_t x = PAD(INPUT(1, 3, 6, 5), 0, 0, 1, 1, 0, 0, 1, 1);

    (void)state;
    x = window("AveragePool", no_pads, NULL, &x, 1);
    x = PAD(x, 0, 0, 0, 0, 0, 0, 0, 1);
    passes(window("AveragePool", some_pads, "count_include_pad", &x, 1), 2, "AveragePool");
}

/* Pads that are not counted, windows that are rounded up, and maxima see zeros differently; so do
 * channels. */
static void other_pads_stay(void **state)
{
    static const struct {
        const char *op;
        const int64_t *pads;
        const char *flag;
    } t[] = { { "AveragePool", some_pads, NULL },
              { "AveragePool", no_pads, "ceil_mode" },
              { "MaxPool", no_pads, NULL } };
    uint32_t x = INPUT(1, 3, 6, 5), y = PAD(x, 0, 2, 0, 0, 0, -2, 0, 0);

    (void)state;
    y = NODE("GlobalAveragePool", window("AveragePool", no_pads, NULL, &y, 1));
    for (unsigned k = 0; k < EMU_COUNT_OF(t); k++) {
        uint32_t padded = PAD(x, 0, 0, 1, 1, 0, 0, 1, 1);

        padded = window(t[k].op, t[k].pads, t[k].flag, &padded, 1);
        y = NODE("Add", y, NODE("GlobalAveragePool", padded));
    }
    passes(y, 15, "Pad");
}

static void pads_around_nothing_stay(void **state)
{
    const uint32_t in[] = { PAD(INPUT(1, 3, 6, 0), 0, 0, 1, 2, 0, 0, 1, 2), DRAWN(4, 3, 3, 3) };
    struct op_tensor out;

    (void)state;
    assert_int_equal(op_graph_output(g, window("Conv", some_pads, NULL, in, 2)), EMU_OK);
    assert_int_equal(pass_all(g), EMU_OK);
    assert_int_equal(g->nodes, 2);
    compute(&out);
    op_tensor_free(&out);
}

/* --- activations -------------------------------------------------------------------------- */

static void swish(void **state)
{
    uint32_t x = INPUT(4, 8), y;

    (void)state;
    y = NODE("Mul", x, NODE("Sigmoid", x));
    passes(NODE("Mul", NODE("Sigmoid", y), y), 2, "Swish");
    assert_string_equal(g->node[1].row->name, "Swish");
}

/* The gate of a squeeze and excitation is no swish. */
static void gates_stay(void **state)
{
    uint32_t x = INPUT(4, 8), y = NODE("Relu", x);

    (void)state;
    passes(NODE("Mul", x, NODE("Sigmoid", y)), 3, "Relu");
}

static void hard_swish(void **state)
{
    const struct op_named_attr sixth = { "alpha",
                                         { .kind = OP_ATTR_FLOAT, .f = (double)(1 / 6.0f) } };
    uint32_t x = INPUT(4, 8), y, z;

    (void)state;
    y = NODE("Mul", make("HardSigmoid", &sixth, 1, &x, 1), x);
    z = NODE("Clip", NODE("Add", number(3), y), number(0), number(6));
    passes(NODE("Div", NODE("Mul", y, z), number(6)), 2, "HardSwish");
    assert_string_equal(g->node[1].row->name, "HardSwish");
}

static void hard_sigmoid_of_another_slope_stays(void **state)
{
    uint32_t x = INPUT(4, 8);

    (void)state;
    passes(NODE("Mul", NODE("HardSigmoid", x), x), 2, "HardSigmoid");
}

static uint32_t gelu_erf(uint32_t x, double half)
{
    uint32_t e = NODE("Erf", NODE("Div", x, number(sqrt(2))));

    return NODE("Mul", NODE("Mul", x, NODE("Add", e, number(1))), number(half));
}

static void gelu_by_erf(void **state)
{
    uint32_t x = INPUT(4, 8), e;

    (void)state;
    x = gelu_erf(x, 0.5);
    e = NODE("Erf", NODE("Mul", number(sqrt(0.5)), x)); /* and in another order */
    passes(NODE("Mul", NODE("Mul", number(0.5), x), NODE("Add", number(1), e)), 2, "Gelu");
    assert_string_equal(g->node[1].row->name, "Gelu");
    assert_string_equal(g->node[1].attr[0].s, "none");
}

static void almost_gelu_stays(void **state)
{
    (void)state;
    passes(gelu_erf(INPUT(4, 8), 0.4), 5, "Div");
}

static uint32_t gelu_tanh(uint32_t x, uint32_t cube)
{
    uint32_t u = NODE("Add", x, NODE("Mul", number(0.044715), cube));
    uint32_t t = NODE("Tanh", NODE("Mul", u, number(sqrt(2 / M_PI))));

    return NODE("Mul", NODE("Mul", x, number(0.5)), NODE("Add", t, number(1)));
}

static void gelu_by_tanh(void **state)
{
    uint32_t x = INPUT(4, 8);

    (void)state;
    x = gelu_tanh(x, NODE("Pow", x, number(3)));
    passes(gelu_tanh(x, NODE("Mul", NODE("Mul", x, x), x)), 2, "Gelu");
    assert_string_equal(g->node[0].attr[0].s, "tanh");
    assert_string_equal(g->node[1].row->name, "Gelu");
}

/* --- layer norm --------------------------------------------------------------------------- */

/* centred: made once or twice. square: by Pow or Mul. */
static uint32_t layer_norm(uint32_t x, int64_t axis, int twice, int pow)
{
    uint32_t m = mean(x, axis), d = NODE("Sub", x, m), e = twice ? NODE("Sub", x, m) : d;
    uint32_t square = pow ? NODE("Pow", e, number(2)) : NODE("Mul", e, e);

    return NODE("Div", d, NODE("Sqrt", NODE("Add", mean(square, axis), number(1e-3))));
}

static void layer_norm_with_scale_and_bias(void **state)
{
    uint32_t x = INPUT(2, 3, 8);

    (void)state;
    x = NODE("Add", DRAWN(8), NODE("Mul", layer_norm(x, -1, 1, 1), DRAWN(8)));
    passes(layer_norm(x, 2, 0, 0), 2, "LayerNormalization");
    assert_int_equal(g->node[0].ins, 3);
    assert_int_equal(g->node[1].ins, 2);
}

/* A scale by something else than the normalised positions is a product of its own. */
static void other_scales_stay(void **state)
{
    uint32_t x = layer_norm(INPUT(2, 3, 8), -1, 0, 1);

    (void)state;
    passes(NODE("Mul", x, DRAWN(3, 1)), 2, "LayerNormalization");
    assert_string_equal(g->node[1].row->name, "Mul");
}

static void norms_over_other_axes_stay(void **state)
{
    (void)state;
    passes(layer_norm(INPUT(2, 3, 8), 1, 0, 0), 7, "ReduceMean");
}

/* --- functions of another shape -------------------------------------------------------------- */

/* Numbers with more dimensions than x give the result more dimensions, too. */
static void functions_of_more_dimensions_stay(void **state)
{
    uint32_t x = INPUT(4, 8), e = NODE("Erf", NODE("Div", x, number(sqrt(2)))), half = number(0.5);

    (void)state;
    g->value[half].shape = (struct op_shape){ OP_TYPE_F32, 3, { 1, 1, 1 } };
    passes(NODE("Mul", NODE("Mul", x, NODE("Add", e, number(1))), half), 5, "Div");
    assert_int_equal(g->value[g->output[0]].shape.rank, 3);
}

static void norms_of_more_dimensions_stay(void **state)
{
    uint32_t x = INPUT(4, 8), d = NODE("Sub", x, mean(x, -1)), epsilon = number(1e-3);

    (void)state;
    g->value[epsilon].shape = (struct op_shape){ OP_TYPE_F32, 3, { 1, 1, 1 } };
    x = NODE("Add", mean(NODE("Mul", d, d), -1), epsilon);
    passes(NODE("Div", d, NODE("Sqrt", x)), 7, "ReduceMean");
    assert_int_equal(g->value[g->output[0]].shape.rank, 3);
}

/* --- group norm --------------------------------------------------------------------------- */

static uint32_t reshape(uint32_t x, unsigned rank, const uint32_t *dim)
{
    struct op_shape to = { .type = OP_TYPE_F32, .rank = rank };
    const struct op_request r = { .outs = 1 };
    uint32_t out;

    memcpy(to.dim, dim, rank * sizeof(*dim));
    assert_int_equal(op_reshape(g, &r, x, &to, &out), EMU_OK);
    return out;
}
#define RESHAPE(x, ...)                                                                            \
    reshape(x, sizeof((uint32_t[]){ __VA_ARGS__ }) / 4, (uint32_t[]){ __VA_ARGS__ })

/* Two groups of x as instances, before they are channels again. */
static uint32_t instances(uint32_t x, uint32_t items, uint32_t rest)
{
    return NODE("InstanceNormalization", RESHAPE(x, items, 2, rest), DRAWN(2), DRAWN(2));
}

static void group_norm(void **state)
{
    uint32_t y = RESHAPE(instances(INPUT(2, 4, 3, 3), 2, 18), 2, 4, 3, 3);
    struct op_call c;

    (void)state;
    passes(NODE("Add", DRAWN(1, 4, 1, 1), NODE("Mul", y, DRAWN(4, 1, 1))), 1, "GroupNormalization");
    c = op_attrs_of(g, &g->node[0]);
    assert_int_equal(op_int(&c, "num_groups"), 2);
}

/* One list may be the scale and the shift of channels, and of groups. */
static void group_norm_of_one_list(void **state)
{
    uint32_t x = INPUT(1, 2, 6), list = DRAWN(2), column = RESHAPE(list, 2, 1);

    (void)state;
    x = RESHAPE(NODE("Relu", x), 1, 2, 6);
    x = RESHAPE(NODE("InstanceNormalization", x, list, list), 1, 2, 6);
    passes(NODE("Add", NODE("Mul", x, column), column), 2, "Relu");
    assert_string_equal(g->node[1].row->name, "GroupNormalization");
}

static uint32_t parameter(const char *name, uint32_t count)
{
    const struct op_shape s = { .type = OP_TYPE_F32, .rank = 1, .dim = { count } };
    float *data = op_graph_alloc(g, count, sizeof(*data));
    uint32_t v;

    for (uint32_t k = 0; k < count; k++)
        data[k] = 0.5f + (float)k / 8;
    assert_int_equal(op_value_new(g, name, OP_PARAM, &s, &v), EMU_OK);
    g->value[v].data = data;
    return v;
}

/* Parameters that are trained stay what they are, under their names. */
static void group_norm_of_trained_lists(void **state)
{
    struct op_tensor one = { .shape = { .type = OP_TYPE_F32, .rank = 1, .dim = { 2 } } };
    double plain[2] = { 1, 1 };
    uint32_t x = INPUT(2, 4, 9), ones, zeros, scale = parameter("scale", 4),
             shift = parameter("shift", 4), y;

    (void)state;
    g->parameters_change = 1;
    one.f = plain;
    assert_int_equal(op_value_constant(g, NULL, &one, &ones), EMU_OK);
    plain[0] = plain[1] = 0;
    assert_int_equal(op_value_constant(g, NULL, &one, &zeros), EMU_OK);
    y = RESHAPE(NODE("InstanceNormalization", RESHAPE(x, 2, 2, 18), ones, zeros), 2, 4, 9);
    y = NODE("Add", NODE("Mul", y, RESHAPE(scale, 4, 1)), RESHAPE(shift, 4, 1));
    assert_int_equal(g->nodes, 7); /* nothing was computed from a parameter */
    assert_int_equal(op_graph_output(g, y), EMU_OK);
    assert_int_equal(pass_group_norms(g), EMU_OK);
    assert_string_equal(g->node[g->nodes - 1].row->name, "GroupNormalization");
    assert_int_equal(g->value[op_value_find(g, "scale")].kind, OP_PARAM);
    assert_int_equal(g->value[op_value_find(g, "scale")].readers, 1);
    assert_int_equal(g->value[op_value_find(g, "shift")].readers, 1);
}

/* A scale or shift that gives its product or sum another shape is by other channels than x's, or by
 * none. The first one has six numbers for the four channels of x. */
static void group_norms_of_other_shapes_stay(void **state)
{
    const uint32_t x = INPUT(1, 4, 6);
    uint32_t y = NODE("Mul", RESHAPE(instances(x, 1, 12), 4, 6), DRAWN(6));

    (void)state;
    y = NODE("Add", y, DRAWN(1, 4, 1));
    assert_int_equal(g->value[y].shape.rank, 3);
    passes(y, 5, "Reshape");
}

static void group_norms_that_grow_stay(void **state)
{
    uint32_t y = RESHAPE(instances(INPUT(1, 4, 6), 1, 12), 1, 4, 6);

    (void)state;
    y = NODE("Add", NODE("Mul", y, DRAWN(1, 1, 4, 1)), DRAWN(4, 1));
    assert_int_equal(g->value[y].shape.rank, 4);
    passes(y, 5, "Reshape");
}

/* Without numbers there is nothing to say about groups. */
static void empty_group_norms_stay(void **state)
{
    uint32_t x = INPUT(1, 0, 3),
             y = NODE("InstanceNormalization", RESHAPE(x, 1, 0, 3), DRAWN(0), DRAWN(0));

    (void)state;
    y = NODE("Add", NODE("Mul", RESHAPE(y, 1, 0, 3), DRAWN(0, 1)), DRAWN(0, 1));
    assert_int_equal(op_graph_output(g, y), EMU_OK);
    assert_int_equal(pass_all(g), EMU_OK);
    assert_string_equal(g->node[g->nodes - 1].row->name, "Add");
}

/* --- spelt for files ---------------------------------------------------------------------- */

/* What is spelt for a file means the same, and is recognised again. */
static void spelt_and_recognised(void **state)
{
    const struct op_named_attr two = { "num_groups", { .kind = OP_ATTR_INT, .i = 2 } };
    const uint32_t in[] = { INPUT(2, 4, 3, 3), DRAWN(4), DRAWN(4) };
    struct op_tensor before, after;

    (void)state;
    assert_int_equal(op_graph_output(g, NODE("Swish", make("GroupNormalization", &two, 1, in, 3))),
                     EMU_OK);
    compute(&before);
    assert_int_equal(pass_spell(g), EMU_OK);
    for (uint32_t n = 0; n < g->nodes; n++)
        assert_true(g->node[n].row->since <= OP_VERSION_MAX);
    assert_int_equal(g->nodes, 7);
    compute(&after);
    assert_true(op_shape_equal(&before.shape, &after.shape));
    for (uint64_t k = 0; k < op_shape_count(&before.shape); k++)
        assert_true(fabs(before.f[k] - after.f[k]) <= 1e-6);
    op_tensor_free(&before);
    op_tensor_free(&after);
    assert_int_equal(pass_all(g), EMU_OK);
    assert_int_equal(g->nodes, 2);
    assert_string_equal(g->node[0].row->name, "GroupNormalization");
    assert_string_equal(g->node[1].row->name, "Swish");
}

/* --- several nodes in place of one ------------------------------------------------------------ */

static uint32_t labels(unsigned rank, const uint32_t *dim, int64_t classes)
{
    struct op_shape s = { .type = OP_TYPE_I64, .rank = rank };
    int64_t list[64];
    uint32_t v;

    memcpy(s.dim, dim, rank * sizeof(*dim));
    for (uint64_t k = 0; k < op_shape_count(&s); k++)
        list[k] = (int64_t)(k * 5 + 1) % classes;
    assert_int_equal(op_constant_new(g, &s, list, &v), EMU_OK);
    return v;
}

/* Nothing is left of an operator, and the outputs, one or two, mean the same. */
static void expands(const char *op, const uint32_t *result, uint32_t results)
{
    struct op_tensor before[2], after[2];

    for (uint32_t k = 0; k < results; k++)
        assert_int_equal(op_graph_output(g, result[k]), EMU_OK);
    compute(before);
    assert_int_equal(pass_expand(g), EMU_OK);
    assert_int_equal(g->problems, 0);
    compute(after);
    for (uint32_t n = 0; n < g->nodes; n++)
        assert_string_not_equal(g->node[n].row->name, op);
    for (uint32_t k = 0; k < results; k++) {
        assert_true(op_shape_equal(&before[k].shape, &after[k].shape));
        for (uint64_t i = 0; i < op_shape_count(&before[k].shape); i++)
            assert_true(fabs(before[k].f[i] - after[k].f[i]) <= 1e-6 * (1 + fabs(before[k].f[i])));
        op_tensor_free(&before[k]);
        op_tensor_free(&after[k]);
    }
}

/* ignored: no class (0), -1, or a class (2). */
static void one_loss(const char *op, const char *reduction, int weighted, int ignored)
{
    const struct op_named_attr attr[] = {
        { "reduction", { .kind = OP_ATTR_STRING, .s = reduction } },
        { "ignore_index", { .kind = OP_ATTR_INT, .i = ignored == 2 ? 2 : -1 } },
    };
    const uint32_t in[] = { INPUT(3, 5, 2), labels(2, (uint32_t[]){ 3, 2 }, 5),
                            weighted ? DRAWN(5) : OP_NONE };
    int softmax = !strcmp(op, "SoftmaxCrossEntropyLoss");
    const struct op_request r = { .op = op,
                                  .in = in,
                                  .ins = 3,
                                  .outs = softmax ? 2 : 1,
                                  .attr = attr,
                                  .attrs = ignored ? 2 : 1 };
    uint32_t out[2];

    assert_int_equal(op_node(g, &r, out), EMU_OK);
    assert_int_equal(g->problems, 0);
    expands(op, out, softmax ? 2 : 1);
}

static void losses(void **state)
{
    static const char *const op[] = { "SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss" };
    static const char *const reduction[] = { "none", "sum", "mean" };

    for (unsigned k = 0; k < 2 * 3 * 2 * 3; k++) {
        one_loss(op[k % 2], reduction[k / 2 % 3], k / 6 % 2, k / 12);
        end(state);
        assert_int_equal(begin(state), 0);
    }
}

/* A label that names no class makes the loss NaN, which a sum over classes would not. */
static void losses_of_no_class_stay(void **state)
{
    const uint32_t in[] = { INPUT(3, 5), labels(1, (uint32_t[]){ 3 }, 9) };

    (void)state;
    assert_int_equal(op_graph_output(g, make("SoftmaxCrossEntropyLoss", NULL, 0, in, 2)), EMU_OK);
    assert_int_equal(pass_expand(g), EMU_OK);
    assert_int_equal(g->nodes, 1);
}

static void local_responses(void **state)
{
    const struct op_named_attr attr[] = { { "size", { .kind = OP_ATTR_INT, .i = 4 } },
                                          { "alpha", { .kind = OP_ATTR_FLOAT, .f = 0.5 } } };
    const uint32_t x = INPUT(2, 7, 2, 3), y = make("LRN", attr, 2, &x, 1);

    (void)state;
    expands("LRN", &y, 1);
}

static void running_sums(void **state)
{
    for (unsigned k = 0; k < 12; k++) {
        const struct op_named_attr attr[] = {
            { "axis", { .kind = OP_ATTR_INT, .i = (int)(k % 3) - 1 } },
            { "exclusive", { .kind = OP_ATTR_INT, .i = k / 3 % 2 } },
            { "reverse", { .kind = OP_ATTR_INT, .i = k / 6 } },
        };
        const uint32_t x = INPUT(3, 4, 5), y = make("CumSum", attr, 3, &x, 1);

        expands("CumSum", &y, 1);
        end(state);
        assert_int_equal(begin(state), 0);
    }
}

/* Negative places count from the end; those that are nowhere give no one. */
static void one_hot(void **state)
{
    const struct op_shape two = { .type = OP_TYPE_F32, .rank = 1, .dim = { 2 } },
                          depth = { .type = OP_TYPE_I64 };
    const double value[] = { 0.25, 3 };
    const int64_t four = 4;
    uint32_t in[3], y, x = NODE("Round", INPUT(2, 40)); /* numbers are -4 to 4 */

    (void)state;
    in[0] = x;
    assert_int_equal(op_constant_new(g, &depth, &four, &in[1]), EMU_OK);
    assert_int_equal(op_constant_new(g, &two, value, &in[2]), EMU_OK);
    {
        const struct op_named_attr attr[] = {
            { "axis", { .kind = OP_ATTR_INT, .i = 1 } },
            { "depth", { .kind = OP_ATTR_TENSOR, .value = in[1] } },
            { "values", { .kind = OP_ATTR_TENSOR, .value = in[2] } },
        };

        y = make("OneHot", attr, 3, in, 1);
    }
    expands("OneHot", &y, 1);
}

static struct op_named_attr integer(const char *name, int64_t v)
{
    return (struct op_named_attr){ name, { .kind = OP_ATTR_INT, .i = v } };
}

/* Of numbers in [-4, 4), those of arcs in [-1, 1). */
static void functions_by_formulas(void **state)
{
    static const char *const op[] = { "Acos", "Asin", "Atan", "Mod", "IsInf" };
    const struct op_named_attr fmod = integer("fmod", 1);

    for (unsigned k = 0; k < EMU_COUNT_OF(op); k++) {
        uint32_t in[2] = { INPUT(3, 40) }, y;

        if (k < 2)
            in[0] = NODE("Mul", in[0], number(0.25));
        in[1] = DRAWN(40);
        y = make(op[k], &fmod, k == 3, in, k == 3 ? 2 : 1);
        if (k == 4)
            y = NODE("Where", y, number(1), number(2));
        expands(op[k], &y, 1);
        end(state);
        assert_int_equal(begin(state), 0);
    }
}

/* Along each axis, with equal numbers among them. */
static void top_places(void **state)
{
    for (unsigned k = 0; k < 6; k++) {
        const struct op_named_attr attr[] = { integer("axis", k % 3), integer("k", 3),
                                              integer("largest", k / 3) };
        const struct op_named_attr real = integer("to", op_type_onnx_number(OP_TYPE_F32));
        const uint32_t x = NODE("Round", INPUT(5, 4, 6));
        const struct op_request r = {
            .op = "TopK", .in = &x, .ins = 1, .outs = 2, .attr = attr, .attrs = 3
        };
        uint32_t y[2];

        assert_int_equal(op_node(g, &r, y), EMU_OK);
        y[1] = make("Cast", &real, 1, &y[1], 1);
        expands("TopK", y, 2);
        end(state);
        assert_int_equal(begin(state), 0);
    }
}

/* Some places are hit twice: the last one counts. */
static void scattered(void **state)
{
    const struct op_named_attr axis = integer("axis", 1);
    uint32_t in[] = { INPUT(3, 5), labels(2, (uint32_t[]){ 2, 4 }, 5), DRAWN(2, 4) };
    uint32_t y = make("ScatterElements", &axis, 1, in, 3);

    expands("ScatterElements", &y, 1);
    end(state);
    assert_int_equal(begin(state), 0);
    in[0] = INPUT(3, 3, 2);
    in[1] = labels(2, (uint32_t[]){ 4, 2 }, 3);
    in[2] = DRAWN(4, 2);
    y = make("ScatterND", NULL, 0, in, 3);
    expands("ScatterND", &y, 1);
}

static void sums_of_products(void **state)
{
    static const struct {
        const char *equation;
        uint32_t rank, dim[4], others, other[4]; /* others 0: one operand */
    } row[] = {
        { "ij->ji", 2, { 3, 4 }, 0, { 0 } },
        { "...ii->...i", 3, { 2, 3, 3 }, 0, { 0 } },
        { "ii", 2, { 4, 4 }, 0, { 0 } },
        { "bij->ib", 3, { 2, 3, 4 }, 0, { 0 } },
        { "ij,jk->ik", 2, { 3, 4 }, 2, { 4, 5 } },
        { "bhid,bhjd->bhij", 4, { 2, 2, 3, 4 }, 4, { 2, 2, 5, 4 } },
        { "...ij,...jk->...ik", 3, { 2, 3, 4 }, 3, { 1, 4, 5 } },
        { "i,j->ji", 1, { 3 }, 1, { 4 } },
        { "ijk,jl->lj", 3, { 2, 3, 4 }, 2, { 3, 5 } },
        { "i,i", 1, { 7 }, 1, { 7 } },
    };

    for (unsigned k = 0; k < EMU_COUNT_OF(row); k++) {
        const struct op_named_attr equation = { "equation",
                                                { .kind = OP_ATTR_STRING, .s = row[k].equation } };
        const uint32_t in[] = { shaped(OP_INPUT, row[k].rank, row[k].dim),
                                shaped(OP_CONST, row[k].others, row[k].other) };
        uint32_t y = make("Einsum", &equation, 1, in, row[k].others ? 2 : 1);

        expands("Einsum", &y, 1);
        end(state);
        assert_int_equal(begin(state), 0);
    }
}

static void mask_of_all(void **state)
{
    const struct op_request r = {
        .op = "Dropout", .in = (uint32_t[]){ INPUT(3, 4) }, .ins = 1, .outs = 2
    };
    uint32_t y[2];

    (void)state;
    assert_int_equal(op_node(g, &r, y), EMU_OK);
    y[1] = NODE("Where", y[1], number(1), number(2));
    expands("Dropout", y, 2);
}

/* More numbers than a matrix of their square is made for. */
static void long_ones_stay(void **state)
{
    const struct op_named_attr k = integer("k", 1);
    const uint32_t x = INPUT(2000);
    const struct op_request r = {
        .op = "TopK", .in = &x, .ins = 1, .outs = 2, .attr = &k, .attrs = 1
    };
    uint32_t y[2];

    (void)state;
    assert_int_equal(op_node(g, &r, y), EMU_OK);
    assert_int_equal(op_graph_output(g, y[0]), EMU_OK);
    assert_int_equal(pass_expand(g), EMU_OK);
    assert_int_equal(g->nodes, 1);
}

/* --- stages ------------------------------------------------------------------------------- */

/* Each stage is those before it and one more. */
static void stages_come_in_order(void **state)
{
    static const struct {
        const char *last;
        uint32_t nodes;
    } row[] = { { "import", 6 },      { "tidy", 5 },      { "pads", 4 },  { "norms", 3 },
                { "group-norms", 3 }, { "recognise", 2 }, { "expand", 2 } };
    const uint32_t in[] = { PAD(INPUT(1, 3, 6, 5), 0, 0, 1, 1, 0, 0, 1, 1), DRAWN(4, 3, 3, 3) };
    uint32_t y = batch_norm(window("Conv", no_pads, NULL, in, 2), 4);

    (void)state;
    y = NODE("Mul", y, NODE("Sigmoid", y));
    assert_int_equal(op_graph_output(g, y), EMU_OK);
    NODE("Relu", y);
    for (unsigned k = 0; k < EMU_COUNT_OF(row); k++) {
        assert_string_equal(pass_stage(k)->name, row[k].last);
        assert_int_equal(pass_until(g, row[k].last), EMU_OK);
        assert_int_equal(g->nodes, row[k].nodes);
    }
    assert_null(pass_stage(EMU_COUNT_OF(row)));
}

/* --- names -------------------------------------------------------------------------------- */

/* An output keeps its name when what makes it is fused. */
static void outputs_keep_their_names(void **state)
{
    static const char *const name[] = { "scores" };
    uint32_t x = INPUT(4, 8), in[] = { x, NODE("Sigmoid", x) }, y;
    const struct op_request r = {
        .op = "Mul", .name = "last", .in = in, .ins = 2, .out_name = name, .outs = 1
    };

    (void)state;
    assert_int_equal(op_node(g, &r, &y), EMU_OK);
    passes(y, 1, "Swish");
    assert_string_equal(g->value[g->output[0]].name, "scores");
    assert_string_equal(g->node[0].name, "last");
    assert_int_equal(op_value_find(g, "scores"), g->output[0]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(norm_behind_conv),
        TEST(norm_behind_conv_with_bias),
        TEST(norm_behind_transposed_groups),
        TEST(norm_elsewhere_stays),
        TEST(pads_join_convolutions),
        TEST(pads_join_means),
        TEST(other_pads_stay),
        TEST(pads_around_nothing_stay),
        TEST(swish),
        TEST(gates_stay),
        TEST(hard_swish),
        TEST(hard_sigmoid_of_another_slope_stays),
        TEST(gelu_by_erf),
        TEST(almost_gelu_stays),
        TEST(gelu_by_tanh),
        TEST(layer_norm_with_scale_and_bias),
        TEST(other_scales_stay),
        TEST(norms_over_other_axes_stay),
        TEST(functions_of_more_dimensions_stay),
        TEST(norms_of_more_dimensions_stay),
        TEST(group_norm),
        TEST(group_norm_of_one_list),
        TEST(group_norm_of_trained_lists),
        TEST(group_norms_of_other_shapes_stay),
        TEST(group_norms_that_grow_stay),
        TEST(empty_group_norms_stay),
        TEST(spelt_and_recognised),
        TEST(losses),
        TEST(losses_of_no_class_stay),
        TEST(local_responses),
        TEST(running_sums),
        TEST(one_hot),
        TEST(functions_by_formulas),
        TEST(top_places),
        TEST(scattered),
        TEST(sums_of_products),
        TEST(mask_of_all),
        TEST(long_ones_stay),
        TEST(stages_come_in_order),
        TEST(outputs_keep_their_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
