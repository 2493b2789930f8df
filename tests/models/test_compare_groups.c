/* test_compare_groups.c - groups of a graph against the reference: all are within their bounds, and
 * a wrong parameter on the reference's side is found. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "emu/arch/arch.h"
#include "models/bound/compare_groups.h"
#include "tests/fixtures/op_lines.h"

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
    return alloc_live() != 0;
}

#define INPUT(...)   OP_LINE_INPUT(g, __VA_ARGS__)
#define WEIGHTS(...) OP_LINE_WEIGHTS(g, __VA_ARGS__)

static uint32_t node(const char *op, unsigned ins, const uint32_t *in)
{
    return op_line_node(g, op, ins, in, NULL, 0);
}
#define NODE(op, ...) node(op, sizeof((uint32_t[]){ __VA_ARGS__ }) / 4, (uint32_t[]){ __VA_ARGS__ })

static void output(uint32_t value)
{
    assert_int_equal(op_graph_output(g, value), EMU_OK);
}

/* Compiles for a toy machine with all results kept, and runs. Then one number of a constant is
 * changed, if there is a constant to change, and all groups are compared. */
static struct group_comparison compare(enum elem real, uint32_t changed)
{
    struct group_comparison sum = { .rows = json_array() };
    struct op_program_options o = { .lower = { .real = real, .keep_end = UINT32_MAX },
                                    .compile = { .threads = 1 } };
    const struct session_options so = { .threads = 1 };
    struct op_tensor in;
    struct op_program p;
    struct session *s;

    assert_int_equal(op_graph_check(g), EMU_OK);
    if (op_program_new(ss_arch_preset("toy64"), g, &o, &p) != EMU_OK)
        fail_msg("%s", ss_error());
    assert_true(ss_compiled_fits(p.compiled));
    assert_int_equal(ss_session_new(p.compiled, &so, &s), EMU_OK);
    for (uint32_t k = 0; k < g->inputs; k++) {
        assert_int_equal(op_tensor_new(&g->value[g->input[k]].shape, &in), EMU_OK);
        for (uint64_t i = 0; i < op_shape_count(&in.shape); i++)
            in.f[i] = op_line_drawn(i + 5 * k);
        assert_int_equal(op_program_write(&p, s, k, &in), EMU_OK);
        op_tensor_free(&in);
    }
    assert_int_equal(ss_session_run(s), EMU_OK);
    if (changed != OP_NONE)
        ((float *)(uintptr_t)g->value[changed].data)[0] += 0.5f;
    o.lower.keep_end = p.network->groups.count;
    if (compare_groups(&p, s, &o.lower, &sum) != EMU_OK)
        fail_msg("%s", ss_error());
    ss_session_free(s);
    op_program_free(&p);
    json_decref(sum.rows);
    sum.rows = NULL;
    return sum;
}

/* A convolution with a residual, a gate that works in place, and a dense layer. */
static uint32_t small_network(void)
{
    uint32_t x = INPUT(1, 16, 6, 6), w = WEIGHTS(16, 16, 3, 3), y, gate;

    y = NODE("Relu", NODE("Add", NODE("Conv", x, WEIGHTS(16, 16, 1, 1), WEIGHTS(16)), x));
    gate = NODE("Sigmoid", NODE("GlobalAveragePool", y));
    y = NODE("Conv", NODE("Mul", y, gate), w);
    y = NODE("Swish", y);
    output(NODE("Softmax", NODE("Flatten", y)));
    return w;
}

static void test_within_bounds(void **state)
{
    struct group_comparison sum;

    (void)state;
    small_network();
    for (unsigned f32 = 0; f32 < 2; f32++) {
        sum = compare(f32 ? ELEM_F32 : ELEM_F16, OP_NONE);
        if (sum.broken)
            fail_msg("%s", sum.first);
        assert_true(sum.compared >= 6);
    }
}

/* An LSTM that begins with a state, without peepholes and with them. */
static void test_peepholes(void **state)
{
    enum { STEPS = 4, ITEMS = 2, NUMBERS = 5, HIDDEN = 6, GATES = 4 * HIDDEN };

    (void)state;
    for (unsigned ins = 7; ins <= 8; ins++) {
        const uint32_t in[] = { INPUT(STEPS, ITEMS, NUMBERS),
                                WEIGHTS(1, GATES, NUMBERS),
                                WEIGHTS(1, GATES, HIDDEN),
                                WEIGHTS(1, 2 * GATES),
                                OP_NONE,
                                WEIGHTS(1, ITEMS, HIDDEN),
                                WEIGHTS(1, ITEMS, HIDDEN),
                                WEIGHTS(1, 3 * HIDDEN) };

        output(node("LSTM", ins, in));
    }
    for (unsigned f32 = 0; f32 < 2; f32++) {
        struct group_comparison sum = compare(f32 ? ELEM_F32 : ELEM_F16, OP_NONE);

        if (sum.broken)
            fail_msg("%s", sum.first);
        assert_int_equal(sum.compared, 2);
    }
}

/* Only the group that reads the wrong weight is off: the others get the machine's numbers. */
static void test_wrong_weight(void **state)
{
    struct group_comparison sum;

    (void)state;
    sum = compare(ELEM_F16, small_network());
    assert_int_equal(sum.broken, 1);
    assert_non_null(strstr(sum.first, "Conv"));
}

/* Functions, sums and products without weights. */
static void test_arithmetic(void **state)
{
    static const char *const op[] = { "Sigmoid", "Tanh",     "Exp",      "Erf",       "Gelu",
                                      "Elu",     "Softplus", "Softsign", "HardSwish", "Abs",
                                      "Floor",   "Sin",      "Selu",     "Asinh",     "Sinh" };
    uint32_t x = INPUT(2, 3, 40), y = INPUT(2, 3, 40);
    struct group_comparison sum;

    (void)state;
    for (unsigned k = 0; k < EMU_COUNT_OF(op); k++)
        output(NODE(op[k], x));
    output(NODE("Div", x, NODE("Exp", y)));
    output(NODE("Where", NODE("Less", x, y), x, y));
    output(NODE("ReduceLogSumExp", x));
    output(NODE("LogSoftmax", x));
    for (unsigned f32 = 0; f32 < 2; f32++) {
        sum = compare(f32 ? ELEM_F32 : ELEM_F16, OP_NONE);
        if (sum.broken)
            fail_msg("%s", sum.first);
        assert_true(sum.compared >= 20);
    }
}

static uint32_t norm_of(uint32_t x, uint32_t channels)
{
    const uint32_t variance = NODE("Exp", WEIGHTS(channels));

    return NODE("BatchNormalization", x, WEIGHTS(channels), WEIGHTS(channels), WEIGHTS(channels),
                variance);
}

/* The root of a sum of squares that f16 has not. */
static void test_wide_sums(void **state)
{
    uint32_t eighth = WEIGHTS(1), x = NODE("Div", INPUT(2, 3, 40), eighth);
    struct group_comparison sum;

    (void)state;
    output(NODE("ReduceL2", NODE("Div", x, eighth)));
    sum = compare(ELEM_F16, OP_NONE);
    if (sum.broken)
        fail_msg("%s", sum.first);
    assert_int_equal(sum.compared, 3);
}

/* A dense layer of few results leaves the channels of a position on several tiles, which norms
 * and gates of channels must put together. */
static void test_cut_channels(void **state)
{
    const struct op_named_attr shape = {
        "shape", { .kind = OP_ATTR_INTS, .count = 4, .ints = (const int64_t[]){ 3, 19, 1, 1 } }
    };
    uint32_t y = NODE("MatMul", INPUT(3, 1), WEIGHTS(1, 19)), field;
    const struct op_request r = {
        .op = "Reshape", .in = &y, .ins = 1, .outs = 1, .attr = &shape, .attrs = 1
    };
    struct group_comparison sum;

    (void)state;
    output(norm_of(y, 19));
    assert_int_equal(op_node(g, &r, &field), EMU_OK);
    output(NODE("GlobalAveragePool", field));
    sum = compare(ELEM_F16, OP_NONE);
    if (sum.broken)
        fail_msg("%s", sum.first);
    assert_true(sum.compared >= 3);
}

/* In f32 a copy in f16, made for a pool, is for the pool alone. */
static void test_wide_beside_pool(void **state)
{
    uint32_t x = NODE("Exp", INPUT(1, 6, 4, 5)),
             gate = NODE("Sigmoid", NODE("GlobalAveragePool", x));
    struct group_comparison sum;

    (void)state;
    output(NODE("Mul", x, gate));
    output(NODE("Add", x, x));
    sum = compare(ELEM_F32, OP_NONE);
    if (sum.broken)
        fail_msg("%s", sum.first);
    assert_int_equal(sum.compared, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_within_bounds, begin, end),
        cmocka_unit_test_setup_teardown(test_wrong_weight, begin, end),
        cmocka_unit_test_setup_teardown(test_peepholes, begin, end),
        cmocka_unit_test_setup_teardown(test_arithmetic, begin, end),
        cmocka_unit_test_setup_teardown(test_wide_sums, begin, end),
        cmocka_unit_test_setup_teardown(test_cut_channels, begin, end),
        cmocka_unit_test_setup_teardown(test_wide_beside_pool, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
