/* test_op_pass.c - passes over operator graphs: batch norms and pads that join their neighbours,
 * what they must leave, the order of the stages, and what outputs are called afterwards.
 */
#include <math.h>

#include "tests/fixtures/pass_fixture.h"

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
    assert_int_equal(net->node[0].ins, 3);
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

    assert_int_equal(op_constant_new(net, &list, sizes, &pads), EMU_OK);
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
    c = op_attrs_of(net, &net->node[0]);
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
    assert_int_equal(op_graph_output(net, window("Conv", some_pads, NULL, in, 2)), EMU_OK);
    assert_int_equal(pass_all(net), EMU_OK);
    assert_int_equal(net->nodes, 2);
    compute(&out);
    op_tensor_free(&out);
}

/* --- spelt for files ---------------------------------------------------------------------- */

/* What is spelt for a file means the same, and is recognised again. */
static void spelt_and_recognised(void **state)
{
    const struct op_named_attr two = { "num_groups", { .kind = OP_ATTR_INT, .i = 2 } };
    const uint32_t in[] = { INPUT(2, 4, 3, 3), DRAWN(4), DRAWN(4) };
    struct op_tensor before, after;

    (void)state;
    assert_int_equal(
        op_graph_output(net, NODE("Swish", make("GroupNormalization", &two, 1, in, 3))), EMU_OK);
    compute(&before);
    assert_int_equal(pass_spell(net), EMU_OK);
    for (uint32_t n = 0; n < net->nodes; n++)
        assert_non_null(op_row_find(net->node[n].row->name, OP_VERSION_WRITTEN));
    assert_int_equal(net->nodes, 7);
    compute(&after);
    assert_true(op_shape_equal(&before.shape, &after.shape));
    for (uint64_t k = 0; k < op_shape_count(&before.shape); k++)
        assert_true(fabs(before.f[k] - after.f[k]) <= 1e-6);
    op_tensor_free(&before);
    op_tensor_free(&after);
    assert_int_equal(pass_all(net), EMU_OK);
    assert_int_equal(net->nodes, 2);
    assert_string_equal(net->node[0].row->name, "GroupNormalization");
    assert_string_equal(net->node[1].row->name, "Swish");
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
    assert_int_equal(op_graph_output(net, y), EMU_OK);
    NODE("Relu", y);
    for (unsigned k = 0; k < EMU_COUNT_OF(row); k++) {
        assert_string_equal(pass_stage(k)->name, row[k].last);
        assert_int_equal(pass_until(net, row[k].last), EMU_OK);
        assert_int_equal(net->nodes, row[k].nodes);
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
    assert_int_equal(op_node(net, &r, &y), EMU_OK);
    passes(y, 1, "Swish");
    assert_string_equal(net->value[net->output[0]].name, "scores");
    assert_string_equal(net->node[0].name, "last");
    assert_int_equal(op_value_find(net, "scores"), net->output[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PASS_TEST(norm_behind_conv),
        PASS_TEST(norm_behind_conv_with_bias),
        PASS_TEST(norm_behind_transposed_groups),
        PASS_TEST(norm_elsewhere_stays),
        PASS_TEST(pads_join_convolutions),
        PASS_TEST(pads_join_means),
        PASS_TEST(other_pads_stay),
        PASS_TEST(pads_around_nothing_stay),
        PASS_TEST(spelt_and_recognised),
        PASS_TEST(stages_come_in_order),
        PASS_TEST(outputs_keep_their_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
