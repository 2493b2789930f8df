/* test_op_lower.c - operator graphs as programs: which nodes run as one, that values are not
 * overwritten while others need them, what is refused, and numbers against the reference. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "emu/arch/arch.h"
#include "models/lower/op_program.h"
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

/* attr: of a node; kind OP_ATTR_NONE: it has none. */
static uint32_t node_with(const char *op, unsigned ins, const uint32_t *in,
                          struct op_named_attr attr)
{
    return op_line_node(g, op, ins, in, &attr, attr.attr.kind != OP_ATTR_NONE);
}

static uint32_t node(const char *op, unsigned ins, const uint32_t *in)
{
    return node_with(op, ins, in, (struct op_named_attr){ .name = NULL });
}
#define NODE(op, ...) node(op, sizeof((uint32_t[]){ __VA_ARGS__ }) / 4, (uint32_t[]){ __VA_ARGS__ })

static void output(uint32_t value)
{
    assert_int_equal(op_graph_output(g, value), EMU_OK);
}

/* Runs the graph on the chip and in the reference; every number must be within 1 % of the largest.
 */
static void run(const char *machine, enum elem real)
{
    const struct op_program_options o = { .lower = { .real = real }, .compile = { .threads = 1 } };
    const struct session_options so = { .threads = 1 };
    struct op_tensor in[4] = { 0 }, want[4] = { 0 }, got;
    struct op_program p;
    struct session *s;

    assert_int_equal(op_graph_check(g), EMU_OK);
    assert_int_equal(op_lower_check(g), EMU_OK);
    assert_int_equal(g->problems, 0);
    if (op_program_new(ss_arch_preset(machine), g, &o, &p) != EMU_OK)
        fail_msg("%s", ss_error());
    assert_true(ss_compiled_fits(p.compiled));
    assert_int_equal(ss_session_new(p.compiled, &so, &s), EMU_OK);
    for (uint32_t k = 0; k < g->inputs; k++) {
        assert_int_equal(op_tensor_new(&g->value[g->input[k]].shape, &in[k]), EMU_OK);
        for (uint64_t i = 0; i < op_shape_count(&in[k].shape); i++) {
            if (op_type_kind(in[k].shape.type) == OP_KIND_FLOAT)
                in[k].f[i] = op_line_drawn(i + 5 * k);
            else
                in[k].i[i] = (int64_t)(7 * i % 10) - (i == 4 ? 10 : 0);
        }
        assert_int_equal(op_program_write(&p, s, k, &in[k]), EMU_OK);
    }
    assert_int_equal(ss_session_run(s), EMU_OK);
    assert_int_equal(op_graph_run(g, in, 0, want), EMU_OK);
    for (uint32_t k = 0; k < g->outputs; k++) {
        double largest = 1e-3;

        assert_int_equal(op_program_read(&p, s, k, &got), EMU_OK);
        for (uint64_t i = 0; i < op_shape_count(&got.shape); i++)
            largest = fmax(largest, fabs(want[k].f[i]));
        for (uint64_t i = 0; i < op_shape_count(&got.shape); i++) {
            if (!(fabs(got.f[i] - want[k].f[i]) <= 0.01 * largest))
                fail_msg("output %u [%llu]: %g, expected %g", k, (unsigned long long)i, got.f[i],
                         want[k].f[i]);
        }
        op_tensor_free(&got);
        op_tensor_free(&want[k]);
    }
    for (uint32_t k = 0; k < g->inputs; k++)
        op_tensor_free(&in[k]);
    ss_session_free(s);
    op_program_free(&p);
}

static uint32_t groups(void)
{
    struct node_groups n;
    uint32_t count;

    assert_int_equal(node_groups_of(g, ELEM_F16, &n), EMU_OK);
    count = n.count;
    node_groups_free(&n);
    return count;
}

/* ---- what runs as one ---- */

/* relu(conv(x) + conv'(x)): the later convolution adds. */
static void test_residual(void **state)
{
    uint32_t x = INPUT(1, 16, 6, 6), a, b;

    (void)state;
    a = NODE("Conv", x, WEIGHTS(32, 16, 1, 1), WEIGHTS(32));
    b = NODE("Conv", NODE("Relu", NODE("Conv", x, WEIGHTS(16, 16, 1, 1))), WEIGHTS(32, 16, 1, 1));
    output(NODE("Relu", NODE("Add", a, b)));
    assert_int_equal(groups(), 3);
    run("toy64", ELEM_F16);
}

/* The sum is read twice, so the function after it is a node of its own. */
static void test_two_readers(void **state)
{
    uint32_t x = INPUT(1, 16, 4, 4), y = NODE("Conv", x, WEIGHTS(16, 16, 1, 1));
    uint32_t sum = NODE("Add", y, x);

    (void)state;
    output(NODE("Mul", NODE("Relu", sum), sum));
    assert_int_equal(groups(), 3);
    run("toy64", ELEM_F16);
}

/* x W + b + x, as a transformer has it. */
static void test_dense(void **state)
{
    uint32_t x = INPUT(1, 7, 48);

    (void)state;
    output(NODE("Add", NODE("Add", NODE("MatMul", x, WEIGHTS(48, 48)), WEIGHTS(48)), x));
    assert_int_equal(groups(), 1);
    run("toy64", ELEM_F16);
}

static void test_dense_f32(void **state)
{
    uint32_t x = INPUT(2, 3, 20);

    (void)state;
    output(NODE("Add", NODE("MatMul", x, WEIGHTS(20, 9)), WEIGHTS(9)));
    run("toy64", ELEM_F32);
}

/* A field of 6 x 1 and one of 1 x 6 have as many positions, but not the same. */
static void test_crossed_fields(void **state)
{
    uint32_t column = NODE("Conv", INPUT(1, 16, 6, 1), WEIGHTS(16, 16, 1, 1));
    uint32_t row = NODE("Conv", INPUT(1, 16, 1, 6), WEIGHTS(16, 16, 1, 1));

    (void)state;
    output(NODE("Max", column, row));
    run("toy64", ELEM_F16);
}

/* ---- in place ---- */

/* The field that is scaled is read again afterwards. */
static void test_scaled_and_read(void **state)
{
    uint32_t x = INPUT(1, 20, 5, 5), y = NODE("Conv", x, WEIGHTS(20, 20, 1, 1));
    uint32_t gate = NODE("Sigmoid", NODE("GlobalAveragePool", y)), scaled = NODE("Mul", y, gate);

    (void)state;
    output(NODE("Sub", scaled, y));
    run("toy64", ELEM_F16);
}

/* The same through a view of the field. */
static void test_scaled_and_seen(void **state)
{
    uint32_t x = INPUT(1, 16, 3, 3), y = NODE("Relu", NODE("Conv", x, WEIGHTS(16, 16, 1, 1)));
    uint32_t seen = NODE("Flatten", y);

    (void)state;
    output(NODE("Mul", y, NODE("GlobalAveragePool", y)));
    output(seen);
    run("toy64", ELEM_F16);
}

/* ---- outputs, fields of odd channels ---- */

static void test_outputs(void **state)
{
    uint32_t x = INPUT(2, 3, 4);

    (void)state;
    output(NODE("Transpose", x)); /* a view of the input */
    output(WEIGHTS(3, 5));        /* a constant */
    output(NODE("Softmax", x));
    run("toy64", ELEM_F32);
}

static void test_odd_channels(void **state)
{
    uint32_t x = INPUT(2, 5, 7, 6), a = NODE("Conv", x, WEIGHTS(9, 5, 3, 3));
    uint32_t b = NODE("Conv", x, WEIGHTS(7, 5, 3, 3));

    (void)state;
    output(NODE("Conv", NODE("Tanh", NODE("Sub", a, NODE("Abs", a))), WEIGHTS(4, 9, 1, 1)));
    output(NODE("GlobalMaxPool", b));
    run("toy64", ELEM_F16);
}

/* Indices that are known at run time only, one of them from the end. */
static uint32_t group_norm(uint32_t x, uint32_t channels, int64_t groups, int64_t strided)
{
    const uint32_t in[] = { x, WEIGHTS(channels), WEIGHTS(channels) };
    const struct op_named_attr attr[] = {
        { "num_groups", { .kind = OP_ATTR_INT, .i = groups } },
        { "strided", { .kind = OP_ATTR_INT, .i = strided } },
    };

    return op_line_node(g, "GroupNormalization", 3, in, attr, EMU_COUNT_OF(attr));
}

static uint32_t patches(uint32_t x, uint32_t w, uint32_t bias, unsigned dims, const int64_t *size)
{
    const uint32_t in[] = { x, w, bias };

    return node_with(
        "Conv", 3, in,
        (struct op_named_attr){ "strides", { .kind = OP_ATTR_INTS, .count = dims, .ints = size } });
}

/* Windows of an input that are neighbours are positions of a product; not those of a result, or
 * with another stride. */
static void test_patches(void **state)
{
    static const int64_t size[] = { 4, 3 };
    uint32_t x = INPUT(2, 3, 9, 12), line = INPUT(1, 5, 13), w = WEIGHTS(20, 3, 4, 3);
    struct dense_layer d;
    unsigned found = 0;

    (void)state;
    output(NODE("Relu", patches(x, w, WEIGHTS(20), 2, size)));
    output(patches(line, WEIGHTS(6, 5, 4), WEIGHTS(6), 1, size));
    output(patches(NODE("Abs", x), w, WEIGHTS(20), 2, size));
    output(NODE("Conv", x, w));
    for (uint32_t i = 0; i < g->nodes; i++) {
        if (!dense_layer_of(g, &g->node[i], &d) || !d.patch_h)
            continue;
        found++;
        assert_int_equal(d.conv.kernel_h * d.conv.kernel_w, 1);
        assert_int_equal(d.in_c, d.x == x ? 3 * 4 * 3 : 5 * 4);
        assert_int_equal(d.h * d.w, d.x == x ? 2 * 4 : 3);
    }
    assert_int_equal(found, 2);
    run("toy64", ELEM_F16);
}

static void test_patches_f32(void **state)
{
    static const int64_t size[] = { 4, 4 };

    (void)state;
    output(patches(INPUT(1, 3, 8, 8), WEIGHTS(16, 3, 4, 4), WEIGHTS(16), 2, size));
    run("toy64", ELEM_F32);
}

/* By powers of two and by other numbers. */
static void test_division(void **state)
{
    static const double number[] = { 8, 5, -4, 0.25 };
    uint32_t x = INPUT(3, 5), y;

    (void)state;
    for (unsigned k = 0; k < EMU_COUNT_OF(number); k++) {
        const struct op_shape s = { .type = OP_TYPE_F32 };
        struct op_tensor t;

        assert_int_equal(op_tensor_new(&s, &t), EMU_OK);
        t.f[0] = number[k];
        assert_int_equal(op_value_constant(g, NULL, &t, &y), EMU_OK);
        op_tensor_free(&t);
        output(NODE("Div", x, y));
    }
    run("toy64", ELEM_F16);
}

/* With an activation function after it they are one; in place, or beside a result that is read
 * again. */
static void test_group_norm(void **state)
{
    uint32_t x = NODE("Conv", INPUT(2, 3, 6, 6), WEIGHTS(32, 3, 3, 3)), y;

    (void)state;
    y = NODE("Swish", group_norm(x, 32, 4, 1));
    output(NODE("Conv", y, WEIGHTS(16, 32, 1, 1)));
    assert_int_equal(groups(), 3);
    run("toy64", ELEM_F16);
}

static void test_group_norm_and_others(void **state)
{
    uint32_t x = NODE("Conv", INPUT(1, 16, 5, 7), WEIGHTS(24, 16, 1, 1));

    (void)state;
    output(NODE("Add", NODE("Relu", group_norm(x, 24, 2, 0)), x)); /* x is read after the norm */
    output(group_norm(NODE("Conv", INPUT(1, 16, 5, 7), WEIGHTS(20, 16, 1, 1)), 20, 5, 1));
    run("toy64", ELEM_F16);
}

/* A loss is f32 also where others are f16: so are its views, and others read it rounded. */
static void test_losses_among_f16(void **state)
{
    const struct op_named_attr none[] = { { "reduction",
                                            { .kind = OP_ATTR_STRING, .s = "none" } } };
    uint32_t x = INPUT(4, 6);
    uint32_t loss = op_line_node(g, "CrossEntropy", 2, (uint32_t[]){ x, WEIGHTS(4, 6) }, none, 1);

    (void)state;
    output(NODE("Mul", loss, INPUT(4)));
    output(NODE("Relu", NODE("Neg", loss)));
    output(NODE("MatMul", NODE("Mul", loss, WEIGHTS(3, 4)), WEIGHTS(4, 5)));
    output(loss);
    run("toy16", ELEM_F16);
}

/* Weights that are states, of groups that are joined, with fewer numbers than a row has and with
 * one dimension. */
static void test_joined_states(void **state)
{
    static const struct op_shape shape[] = { { OP_TYPE_F32, 4, { 4, 3, 1, 1 } },
                                             { OP_TYPE_F32, 3, { 8, 3, 2 } } };
    const struct op_named_attr groups[] = { { "group", { .kind = OP_ATTR_INT, .i = 2 } } };
    uint32_t x[] = { INPUT(1, 6, 4, 5), INPUT(2, 6, 9) };

    (void)state;
    for (unsigned k = 0; k < 2; k++) {
        uint32_t w;

        assert_int_equal(op_value_new(g, NULL, OP_PARAM, &shape[k], &w), EMU_OK);
        assert_int_equal(op_graph_state(g, w), EMU_OK);
        output(op_line_node(g, "Conv", 2, (uint32_t[]){ x[k], w }, groups, 1));
    }
    run("toy64", ELEM_F16);
}

/* A norm whose scale is an input, behind a convolution: in f32, too, where fields are f16. */
static void norm_of_input(enum elem real)
{
    const struct op_named_attr groups[] = { { "num_groups", { .kind = OP_ATTR_INT, .i = 4 } } };
    uint32_t x = NODE("Conv", INPUT(2, 3, 5, 4), WEIGHTS(8, 3, 1, 1));

    output(NODE("Swish", op_line_node(g, "GroupNormalization", 3,
                                      (uint32_t[]){ x, INPUT(8), WEIGHTS(8) }, groups, 1)));
    run("toy64", real);
}

static void test_norm_of_input(void **state)
{
    (void)state;
    norm_of_input(ELEM_F16);
}

static void test_norm_of_input_f32(void **state)
{
    (void)state;
    norm_of_input(ELEM_F32);
}

/* Scores of a list of classes are f32; Flatten leaves the field that the dense layer reads. */
static void test_scores(void **state)
{
    const struct op_program_options o = { .lower = { .real = ELEM_F16 } };
    uint32_t x = NODE("GlobalAveragePool", NODE("Relu", INPUT(2, 24, 3, 3)));
    struct op_program p;

    (void)state;
    output(NODE("Softmax", NODE("MatMul", NODE("Flatten", x), WEIGHTS(24, 40))));
    assert_int_equal(op_program_new(ss_arch_preset("toy64"), g, &o, &p), EMU_OK);
    assert_int_equal(p.network->out[0].elem, ELEM_F32);
    op_program_free(&p);
    run("toy64", ELEM_F16);
}

static void test_look_up(void **state)
{
    const struct op_shape s = { .type = OP_TYPE_I64, .rank = 2, .dim = { 2, 3 } };
    uint32_t ids;

    (void)state;
    assert_int_equal(op_value_new(g, "ids", OP_INPUT, &s, &ids), EMU_OK);
    assert_int_equal(op_graph_input(g, ids), EMU_OK);
    output(NODE("Gather", WEIGHTS(10, 24), ids));
    run("toy64", ELEM_F16);
}

/* Columns of a field that are picked and mixed stay fields: no channel is moved by itself, or the
 * lists of what goes where would not fit. */
static void test_picked_columns(void **state)
{
    enum { WIDTH = 100, WIDER = 201 };
    const struct op_shape list = { .type = OP_TYPE_I64, .rank = 1, .dim = { WIDER } };
    const struct op_named_attr axis = { "axis", { .kind = OP_ATTR_INT, .i = 3 } };
    int64_t index[2][WIDER];
    uint32_t x, at[2], part[2];

    (void)state;
    for (int64_t k = 0; k < WIDER; k++) {
        index[0][k] = k / 2 < WIDTH ? k / 2 : -1;
        index[1][k] = k / 2 + 1 < WIDTH ? k / 2 + 1 : WIDTH - 1;
    }
    x = NODE("Conv", INPUT(1, 16, 8, WIDTH), WEIGHTS(24, 16, 1, 1));
    for (unsigned k = 0; k < 2; k++) {
        assert_int_equal(op_constant_new(g, &list, index[k], &at[k]), EMU_OK);
        part[k] = node_with("Gather", 2, (const uint32_t[]){ x, at[k] }, axis);
    }
    output(NODE("Add", NODE("Mul", NODE("Sub", part[1], part[0]), WEIGHTS(WIDER)), part[0]));
    run("toy16", ELEM_F16);
}

/* A table of many words: a tile does not send an index once for every word that it is compared
 * with, whose instructions would not fit. */
static void test_look_up_many(void **state)
{
    const struct op_shape s = { .type = OP_TYPE_I64, .rank = 1, .dim = { 32 } };
    uint32_t ids;

    (void)state;
    assert_int_equal(op_value_new(g, "ids", OP_INPUT, &s, &ids), EMU_OK);
    assert_int_equal(op_graph_input(g, ids), EMU_OK);
    output(NODE("Gather", WEIGHTS(700, 4), ids));
    run("toy16", ELEM_F16);
}

/* One index takes a dimension away, a matrix of them adds one: both are views of any size. */
static void test_picked_others(void **state)
{
    enum { ROWS = 1040, COLUMNS = 1024 }; /* more than what may be picked one by one */
    const struct op_shape one = { .type = OP_TYPE_I64 };
    const struct op_shape four = { .type = OP_TYPE_I64, .rank = 2, .dim = { 2, 2 } };
    const struct op_named_attr axis = { "axis", { .kind = OP_ATTR_INT, .i = 1 } };
    uint32_t x = INPUT(ROWS, 2, COLUMNS), at, rows;

    (void)state;
    assert_int_equal(op_constant_new(g, &one, (const int64_t[]){ -1 }, &at), EMU_OK);
    output(NODE("Relu", node_with("Gather", 2, (const uint32_t[]){ x, at }, axis)));
    assert_int_equal(op_constant_new(g, &four, (const int64_t[]){ 1, 0, 0, 1 }, &rows), EMU_OK);
    x = NODE("Relu", INPUT(4, 3, 6));
    output(NODE("Neg", node_with("Gather", 2, (const uint32_t[]){ x, rows }, axis)));
    run("mk2", ELEM_F16);
}

/* ---- refused ---- */

static void test_obstacles(void **state)
{
    uint32_t x = INPUT(1, 4, 5, 5), w = INPUT(4, 4, 1, 1);

    (void)state;
    output(NODE("Conv", x, w));
    output(NODE("Acos", x));
    assert_int_equal(op_lower_check(g), EMU_OK);
    assert_int_equal(g->problems, 2);
    assert_string_equal(g->problem[0].why,
                        "weights that are not constant: --precision f32 runs it");
    assert_string_equal(g->problem[1].op, "Acos");
}

static void test_range(void **state)
{
    const struct op_program_options o = { .compile = { .threads = 1 },
                                          .lower = { .real = ELEM_F16 } };
    const struct session_options so = { .threads = 1 };
    struct op_program p;
    struct op_tensor t;
    struct session *s;

    (void)state;
    output(NODE("Relu", INPUT(2)));
    assert_int_equal(op_program_new(ss_arch_preset("toy4"), g, &o, &p), EMU_OK);
    assert_int_equal(ss_session_new(p.compiled, &so, &s), EMU_OK);
    assert_int_equal(op_tensor_new(&g->value[g->input[0]].shape, &t), EMU_OK);
    t.f[1] = 1e6;
    assert_int_equal(op_program_write(&p, s, 0, &t), EMU_USAGE);
    assert_non_null(strstr(ss_error(), "beyond the range of f16"));
    op_tensor_free(&t);
    ss_session_free(s);
    op_program_free(&p);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_residual),        TEST(test_two_readers),
        TEST(test_dense),           TEST(test_dense_f32),
        TEST(test_scaled_and_read), TEST(test_scaled_and_seen),
        TEST(test_outputs),         TEST(test_odd_channels),
        TEST(test_obstacles),       TEST(test_look_up),
        TEST(test_range),           TEST(test_group_norm),
        TEST(test_scores),          TEST(test_group_norm_and_others),
        TEST(test_patches),         TEST(test_patches_f32),
        TEST(test_division),        TEST(test_crossed_fields),
        TEST(test_joined_states),   TEST(test_losses_among_f16),
        TEST(test_norm_of_input),   TEST(test_norm_of_input_f32),
        TEST(test_picked_columns),  TEST(test_look_up_many),
        TEST(test_picked_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
