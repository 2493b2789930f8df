/* test_pass_functions.c - functions and norms that files spell in small operators are recognised,
 * and what only looks like them stays.
 */
#include <math.h>
#include <string.h>

#include "tests/fixtures/pass_fixture.h"

/* --- activations -------------------------------------------------------------------------- */

static void swish(void **state)
{
    uint32_t x = INPUT(4, 8), y;

    (void)state;
    y = NODE("Mul", x, NODE("Sigmoid", x));
    passes(NODE("Mul", NODE("Sigmoid", y), y), 2, "Swish");
    assert_string_equal(net->node[1].row->name, "Swish");
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
    assert_string_equal(net->node[1].row->name, "HardSwish");
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
    assert_string_equal(net->node[1].row->name, "Gelu");
    assert_string_equal(net->node[1].attr[0].s, "none");
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
    assert_string_equal(net->node[0].attr[0].s, "tanh");
    assert_string_equal(net->node[1].row->name, "Gelu");
}

static uint32_t mean(uint32_t x, int64_t axis)
{
    const struct op_named_attr a = { "axes", { .kind = OP_ATTR_INTS, .count = 1, .ints = &axis } };

    return make("ReduceMean", &a, 1, &x, 1);
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
    assert_int_equal(net->node[0].ins, 3);
    assert_int_equal(net->node[1].ins, 2);
}

/* A scale by something else than the normalised positions is a product of its own. */
static void other_scales_stay(void **state)
{
    uint32_t x = layer_norm(INPUT(2, 3, 8), -1, 0, 1);

    (void)state;
    passes(NODE("Mul", x, DRAWN(3, 1)), 2, "LayerNormalization");
    assert_string_equal(net->node[1].row->name, "Mul");
}

/* A norm whose scale is no constant has one already. */
static void scales_of_numbers_stay(void **state)
{
    uint32_t x = INPUT(8);

    (void)state;
    passes(NODE("Mul", NODE("LayerNormalization", x, NODE("Exp", x)), DRAWN(8)), 3, "Exp");
    assert_string_equal(net->node[2].row->name, "Mul");
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
    net->value[half].shape = (struct op_shape){ OP_TYPE_F32, 3, { 1, 1, 1 } };
    passes(NODE("Mul", NODE("Mul", x, NODE("Add", e, number(1))), half), 5, "Div");
    assert_int_equal(net->value[net->output[0]].shape.rank, 3);
}

static void norms_of_more_dimensions_stay(void **state)
{
    uint32_t x = INPUT(4, 8), d = NODE("Sub", x, mean(x, -1)), epsilon = number(1e-3);

    (void)state;
    net->value[epsilon].shape = (struct op_shape){ OP_TYPE_F32, 3, { 1, 1, 1 } };
    x = NODE("Add", mean(NODE("Mul", d, d), -1), epsilon);
    passes(NODE("Div", d, NODE("Sqrt", x)), 7, "ReduceMean");
    assert_int_equal(net->value[net->output[0]].shape.rank, 3);
}

/* --- group norm --------------------------------------------------------------------------- */

static uint32_t reshape(uint32_t x, unsigned rank, const uint32_t *dim)
{
    struct op_shape to = { .type = OP_TYPE_F32, .rank = rank };
    const struct op_request r = { .outs = 1 };
    uint32_t out;

    memcpy(to.dim, dim, rank * sizeof(*dim));
    assert_int_equal(op_reshape(net, &r, x, &to, &out), EMU_OK);
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
    c = op_attrs_of(net, &net->node[0]);
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
    assert_string_equal(net->node[1].row->name, "GroupNormalization");
}

static uint32_t parameter(const char *name, uint32_t count)
{
    const struct op_shape s = { .type = OP_TYPE_F32, .rank = 1, .dim = { count } };
    float *data = op_graph_alloc(net, count, sizeof(*data));
    uint32_t v;

    for (uint32_t k = 0; k < count; k++)
        data[k] = 0.5f + (float)k / 8;
    assert_int_equal(op_value_new(net, name, OP_PARAM, &s, &v), EMU_OK);
    net->value[v].data = data;
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
    net->parameters_change = 1;
    one.f = plain;
    assert_int_equal(op_value_constant(net, NULL, &one, &ones), EMU_OK);
    plain[0] = plain[1] = 0;
    assert_int_equal(op_value_constant(net, NULL, &one, &zeros), EMU_OK);
    y = RESHAPE(NODE("InstanceNormalization", RESHAPE(x, 2, 2, 18), ones, zeros), 2, 4, 9);
    y = NODE("Add", NODE("Mul", y, RESHAPE(scale, 4, 1)), RESHAPE(shift, 4, 1));
    assert_int_equal(net->nodes, 7); /* nothing was computed from a parameter */
    assert_int_equal(op_graph_output(net, y), EMU_OK);
    assert_int_equal(pass_group_norms(net), EMU_OK);
    assert_string_equal(net->node[net->nodes - 1].row->name, "GroupNormalization");
    assert_int_equal(net->value[op_value_find(net, "scale")].kind, OP_PARAM);
    assert_int_equal(net->value[op_value_find(net, "scale")].readers, 1);
    assert_int_equal(net->value[op_value_find(net, "shift")].readers, 1);
}

/* A scale or shift that gives its product or sum another shape is by other channels than x's, or by
 * none. The first one has six numbers for the four channels of x. */
static void group_norms_of_other_shapes_stay(void **state)
{
    const uint32_t x = INPUT(1, 4, 6);
    uint32_t y = NODE("Mul", RESHAPE(instances(x, 1, 12), 4, 6), DRAWN(6));

    (void)state;
    y = NODE("Add", y, DRAWN(1, 4, 1));
    assert_int_equal(net->value[y].shape.rank, 3);
    passes(y, 5, "Reshape");
}

static void group_norms_that_grow_stay(void **state)
{
    uint32_t y = RESHAPE(instances(INPUT(1, 4, 6), 1, 12), 1, 4, 6);

    (void)state;
    y = NODE("Add", NODE("Mul", y, DRAWN(1, 1, 4, 1)), DRAWN(4, 1));
    assert_int_equal(net->value[y].shape.rank, 4);
    passes(y, 5, "Reshape");
}

/* Without numbers there is nothing to say about groups. */
static void empty_group_norms_stay(void **state)
{
    uint32_t x = INPUT(1, 0, 3),
             y = NODE("InstanceNormalization", RESHAPE(x, 1, 0, 3), DRAWN(0), DRAWN(0));

    (void)state;
    y = NODE("Add", NODE("Mul", RESHAPE(y, 1, 0, 3), DRAWN(0, 1)), DRAWN(0, 1));
    assert_int_equal(op_graph_output(net, y), EMU_OK);
    assert_int_equal(pass_all(net), EMU_OK);
    assert_string_equal(net->node[net->nodes - 1].row->name, "Add");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PASS_TEST(swish),
        PASS_TEST(gates_stay),
        PASS_TEST(hard_swish),
        PASS_TEST(hard_sigmoid_of_another_slope_stays),
        PASS_TEST(gelu_by_erf),
        PASS_TEST(almost_gelu_stays),
        PASS_TEST(gelu_by_tanh),
        PASS_TEST(layer_norm_with_scale_and_bias),
        PASS_TEST(other_scales_stay),
        PASS_TEST(scales_of_numbers_stay),
        PASS_TEST(norms_over_other_axes_stay),
        PASS_TEST(functions_of_more_dimensions_stay),
        PASS_TEST(norms_of_more_dimensions_stay),
        PASS_TEST(group_norm),
        PASS_TEST(group_norm_of_one_list),
        PASS_TEST(group_norm_of_trained_lists),
        PASS_TEST(group_norms_of_other_shapes_stay),
        PASS_TEST(group_norms_that_grow_stay),
        PASS_TEST(empty_group_norms_stay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
