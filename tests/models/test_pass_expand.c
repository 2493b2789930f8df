/* test_pass_expand.c - operators that become several others mean the same.
 */
#include <math.h>
#include <string.h>

#include "tests/fixtures/pass_fixture.h"

/* --- several nodes in place of one ------------------------------------------------------------ */

static uint32_t labels(unsigned rank, const uint32_t *dim, int64_t classes)
{
    struct op_shape s = { .type = OP_TYPE_I64, .rank = rank };
    int64_t list[64];
    uint32_t v;

    memcpy(s.dim, dim, rank * sizeof(*dim));
    for (uint64_t k = 0; k < op_shape_count(&s); k++)
        list[k] = (int64_t)(k * 5 + 1) % classes;
    assert_int_equal(op_constant_new(net, &s, list, &v), EMU_OK);
    return v;
}

/* Nothing is left of an operator, and the outputs, one or two, mean the same. */
static void expands(const char *op, const uint32_t *result, uint32_t results)
{
    struct op_tensor before[2], after[2];

    for (uint32_t k = 0; k < results; k++)
        assert_int_equal(op_graph_output(net, result[k]), EMU_OK);
    compute(before);
    assert_int_equal(pass_expand(net), EMU_OK);
    assert_int_equal(net->problems, 0);
    compute(after);
    for (uint32_t n = 0; n < net->nodes; n++)
        assert_string_not_equal(net->node[n].row->name, op);
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

    assert_int_equal(op_node(net, &r, out), EMU_OK);
    assert_int_equal(net->problems, 0);
    expands(op, out, softmax ? 2 : 1);
}

static void losses(void **state)
{
    static const char *const op[] = { "SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss" };
    static const char *const reduction[] = { "none", "sum", "mean" };

    for (unsigned k = 0; k < 2 * 3 * 2 * 3; k++) {
        one_loss(op[k % 2], reduction[k / 2 % 3], k / 6 % 2, k / 12);
        pass_end(state);
        assert_int_equal(pass_begin(state), 0);
    }
}

/* A label that names no class makes the loss NaN, which a sum over classes would not. */
static void losses_of_no_class_stay(void **state)
{
    const uint32_t in[] = { INPUT(3, 5), labels(1, (uint32_t[]){ 3 }, 9) };

    (void)state;
    assert_int_equal(op_graph_output(net, make("SoftmaxCrossEntropyLoss", NULL, 0, in, 2)), EMU_OK);
    assert_int_equal(pass_expand(net), EMU_OK);
    assert_int_equal(net->nodes, 1);
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
        pass_end(state);
        assert_int_equal(pass_begin(state), 0);
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
    assert_int_equal(op_constant_new(net, &depth, &four, &in[1]), EMU_OK);
    assert_int_equal(op_constant_new(net, &two, value, &in[2]), EMU_OK);
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
        pass_end(state);
        assert_int_equal(pass_begin(state), 0);
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

        assert_int_equal(op_node(net, &r, y), EMU_OK);
        y[1] = make("Cast", &real, 1, &y[1], 1);
        expands("TopK", y, 2);
        pass_end(state);
        assert_int_equal(pass_begin(state), 0);
    }
}

/* Some places are hit twice: the last one counts. */
static void scattered(void **state)
{
    const struct op_named_attr axis = integer("axis", 1);
    uint32_t in[] = { INPUT(3, 5), labels(2, (uint32_t[]){ 2, 4 }, 5), DRAWN(2, 4) };
    uint32_t y = make("ScatterElements", &axis, 1, in, 3);

    expands("ScatterElements", &y, 1);
    pass_end(state);
    assert_int_equal(pass_begin(state), 0);
    in[0] = INPUT(3, 3, 2);
    in[1] = labels(2, (uint32_t[]){ 4, 2 }, 3);
    in[2] = DRAWN(4, 2);
    y = make("ScatterND", NULL, 0, in, 3);
    expands("ScatterND", &y, 1);
}

/* Sums at places that are constant, some of them added to several times. */
static void added_up(void **state)
{
    const struct op_named_attr attr[] = { integer("axis", 1),
                                          { "reduction", { .kind = OP_ATTR_STRING, .s = "add" } } };
    uint32_t in[] = { DRAWN(2, 5), labels(2, (uint32_t[]){ 2, 9 }, 5), INPUT(2, 9) };
    uint32_t y = make("ScatterElements", attr, 2, in, 3);

    expands("ScatterElements", &y, 1);
    pass_end(state);
    assert_int_equal(pass_begin(state), 0);
    in[0] = INPUT(3, 3, 2);
    in[1] = labels(2, (uint32_t[]){ 4, 2 }, 3);
    in[2] = DRAWN(4, 2);
    y = make("ScatterND", attr + 1, 1, in, 3);
    expands("ScatterND", &y, 1);
}

/* Places are constant, along any axis, or numbers of the input. */
static void gathered_back(void **state)
{
    const struct op_named_attr along[] = { integer("axis", 1), integer("size", 5) };
    const struct op_named_attr first[] = { integer("axis", 0), integer("size", 6) };
    const struct op_named_attr whole = integer("to", op_type_onnx_number(OP_TYPE_I64));
    uint32_t in[] = { labels(2, (uint32_t[]){ 3, 2 }, 5), INPUT(2, 3, 2, 4) };
    uint32_t y = make("GatherGradient", along, 2, in, 2);

    expands("GatherGradient", &y, 1);
    pass_end(state);
    assert_int_equal(pass_begin(state), 0);
    in[0] = INPUT(7); /* from -4 to 4 */
    in[0] = make("Cast", &whole, 1, in, 1);
    in[1] = DRAWN(7, 3);
    y = make("GatherGradient", first, 2, in, 2);
    expands("GatherGradient", &y, 1);
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
        pass_end(state);
        assert_int_equal(pass_begin(state), 0);
    }
}

static void mask_of_all(void **state)
{
    const struct op_request r = {
        .op = "Dropout", .in = (uint32_t[]){ INPUT(3, 4) }, .ins = 1, .outs = 2
    };
    uint32_t y[2];

    (void)state;
    assert_int_equal(op_node(net, &r, y), EMU_OK);
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
    assert_int_equal(op_node(net, &r, y), EMU_OK);
    assert_int_equal(op_graph_output(net, y[0]), EMU_OK);
    assert_int_equal(pass_expand(net), EMU_OK);
    assert_int_equal(net->nodes, 1);
}

static unsigned nodes_of(enum op_code op)
{
    unsigned n = 0;

    for (uint32_t k = 0; k < net->nodes; k++)
        n += op_node_is(&net->node[k], op);
    return n;
}

/* Linear: picks and what lies between them, whose memory does not grow with the square of a side.
 * Cubic, and where what lies outside counts less: a matrix. */
static void resized(void **state)
{
    static const int64_t size[][4] = { { 2, 3, 9, 7 }, { 2, 3, 2, 11 }, { 2, 3, 4, 2 } };

    for (unsigned k = 0; k < 9; k++) {
        const struct op_named_attr attr[] = {
            { "sizes", { .kind = OP_ATTR_INTS, .count = 4, .ints = size[k / 3] } },
            { "mode", { .kind = OP_ATTR_STRING, .s = k % 3 == 1 ? "cubic" : "linear" } },
            { "exclude_outside", { .kind = OP_ATTR_INT, .i = k % 3 == 2 } },
        };
        const uint32_t x = INPUT(2, 3, 4, 5), y = make("Resize", attr, 3, &x, 1);
        unsigned changes = k / 3 == 2 ? 1 : 2;

        expands("Resize", &y, 1);
        assert_int_equal(nodes_of(OP_Gather), nodes_of(OP_MatMul) ? 0 : 2 * changes);
        assert_int_equal(nodes_of(OP_MatMul), k % 3 == 1 ? changes : 0);
        pass_end(state);
        assert_int_equal(pass_begin(state), 0);
    }
}

/* Transposed convolutions whose windows do not overlap are one of each position; others stay. */
static void upsampled(void **state)
{
    static const int64_t apart[] = { 2, 3 }, over[] = { 1, 3 }, pads[] = { 0, 1, 0, 0 };
    const struct {
        const int64_t *strides;
        unsigned attrs;
        int64_t group;
        int stays;
    } row[] = { { apart, 2, 1, 0 }, { over, 2, 1, 1 }, { apart, 3, 1, 1 }, { apart, 2, 2, 1 } };

    for (unsigned k = 0; k < 2 * EMU_COUNT_OF(row); k++) {
        const struct op_named_attr attr[] = {
            { "strides", { .kind = OP_ATTR_INTS, .count = 2, .ints = row[k / 2].strides } },
            { "group", { .kind = OP_ATTR_INT, .i = row[k / 2].group } },
            { "pads", { .kind = OP_ATTR_INTS, .count = 4, .ints = pads } },
        };
        const uint32_t in[] = { INPUT(2, 4, 5, 3), DRAWN(4, 3, 2, 3),
                                DRAWN(3 * (uint32_t)row[k / 2].group) };
        uint32_t y = make("ConvTranspose", attr, row[k / 2].attrs, in, 2 + k % 2);

        if (!row[k / 2].stays) {
            expands("ConvTranspose", &y, 1);
            assert_int_equal(nodes_of(OP_Conv), 1);
            assert_int_equal(nodes_of(OP_MatMul), 0);
        } else {
            assert_int_equal(op_graph_output(net, y), EMU_OK);
            assert_int_equal(pass_expand(net), EMU_OK);
            assert_int_equal(nodes_of(OP_ConvTranspose), 1);
        }
        pass_end(state);
        assert_int_equal(pass_begin(state), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PASS_TEST(losses),           PASS_TEST(losses_of_no_class_stay),
        PASS_TEST(local_responses),  PASS_TEST(running_sums),
        PASS_TEST(added_up),         PASS_TEST(gathered_back),
        PASS_TEST(one_hot),          PASS_TEST(functions_by_formulas),
        PASS_TEST(top_places),       PASS_TEST(scattered),
        PASS_TEST(sums_of_products), PASS_TEST(mask_of_all),
        PASS_TEST(long_ones_stay),   PASS_TEST(resized),
        PASS_TEST(upsampled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
