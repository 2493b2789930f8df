/* test_gradients.c - gradients of all operators against differences, and of graphs: values that are
 * read several times, paths that need none, what is asked for in vain.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "models/operators/op_gradient.h"
#include "tests/fixtures/operator_fixture.h"

static const struct gradient_case cases[] = {
#define GRADIENT(op, attrs, in, outs)         { op, attrs, in, outs, NULL },
#define NO_GRADIENT(op, attrs, in, outs, why) { op, attrs, in, outs, why },
#define NO_FLOATS(op)                         { op, NULL, NULL, 0, NULL },
#include "tests/models/gradients.def"
#undef NO_FLOATS
#undef NO_GRADIENT
#undef GRADIENT
};

static void operators_against_differences(void **state)
{
    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(cases); k++) {
        if (cases[k].in)
            gradient_case_check(&cases[k]);
    }
}

/* A row that is added to the table needs a case here. */
static void every_operator_has_one_or_says_why_not(void **state)
{
    (void)state;
    for (unsigned i = 0; op_row(i); i++) {
        int found = op_row_find(op_row(i)->name, 0)->upgrade != NULL; /* it is another one now */

        for (size_t k = 0; k < EMU_COUNT_OF(cases); k++)
            found |= !strcmp(cases[k].op, op_row(i)->name);
        if (!found)
            fail_msg("%s has no case in gradients.def", op_row(i)->name);
    }
}

/* --- graphs ------------------------------------------------------------------------------- */

static struct op_graph *graph;

static uint32_t input(const char *name)
{
    const struct op_shape s = { .type = OP_TYPE_F64 };
    uint32_t v;

    assert_int_equal(op_value_new(graph, name, OP_INPUT, &s, &v), EMU_OK);
    assert_int_equal(op_graph_input(graph, v), EMU_OK);
    return v;
}

static uint32_t node(const char *op, uint32_t a, uint32_t b)
{
    const uint32_t in[] = { a, b };
    const struct op_request r = { .op = op, .in = in, .ins = b == OP_NONE ? 1 : 2, .outs = 1 };
    uint32_t out;

    assert_int_equal(op_node(graph, &r, &out), EMU_OK);
    assert_int_equal(graph->problems, 0);
    return out;
}

static double run(uint32_t value, const double *in)
{
    struct op_tensor t[4], out;
    double y;

    graph->outputs = 0;
    assert_int_equal(op_graph_output(graph, value), EMU_OK);
    for (uint32_t k = 0; k < graph->inputs; k++) {
        assert_int_equal(op_tensor_new(&graph->value[graph->input[k]].shape, &t[k]), EMU_OK);
        t[k].f[0] = in[k];
    }
    assert_int_equal(op_graph_run(graph, t, 0, &out), EMU_OK);
    y = out.f[0];
    for (uint32_t k = 0; k < graph->inputs; k++)
        op_tensor_free(&t[k]);
    op_tensor_free(&out);
    return y;
}

/* (a b + a + a)(a b) by a is 2 a b^2 + 4 a b, by b is 2 a^2 b + 2 a^2; a loss scale is a factor. */
static void readers_add_up(void **state)
{
    const double at[] = { 3, 5, 64 };
    uint32_t a, b, scale, ab, y, gradient[2];

    (void)state;
    assert_int_equal(op_graph_new("readers", &graph), EMU_OK);
    a = input("a");
    b = input("b");
    scale = input("scale");
    ab = node("Mul", a, b);
    y = node("Mul", node("Add", node("Add", ab, a), a), ab);
    assert_int_equal(op_gradients(graph, y, scale, (uint32_t[]){ a, b }, 2, gradient), EMU_OK);
    assert_int_equal(op_graph_check(graph), EMU_OK);
    assert_true(run(gradient[0], at) == 64 * (2 * 3 * 25 + 4 * 3 * 5));
    assert_true(run(gradient[1], at) == 64 * (2 * 9 * 5 + 2 * 9));
    op_graph_free(graph);
}

/* What nobody asks for is not made; what the loss does not depend on has none. */
static void only_what_is_asked_for(void **state)
{
    uint32_t a, b, y, gradient[2], before;

    (void)state;
    assert_int_equal(op_graph_new("paths", &graph), EMU_OK);
    a = input("a");
    b = input("b");
    node("Mean", a, b);
    y = node("Add", node("Exp", a, OP_NONE), a);
    before = graph->nodes;
    assert_int_equal(op_gradients(graph, y, OP_NONE, (uint32_t[]){ b }, 1, gradient), EMU_OK);
    assert_int_equal(gradient[0], OP_NONE);
    assert_int_equal(graph->nodes, before);
    assert_int_equal(op_gradients(graph, y, OP_NONE, (uint32_t[]){ a, b }, 2, gradient), EMU_OK);
    assert_int_equal(gradient[1], OP_NONE);
    assert_string_equal(graph->node[before].row->name, "UnaryGradient");
    assert_non_null(strstr(graph->node[before].name, ".back"));
    op_graph_free(graph);
}

static void of_one_float_only(void **state)
{
    const struct op_shape two = { .type = OP_TYPE_F64, .rank = 1, .dim = { 2 } };
    uint32_t x, gradient;

    (void)state;
    assert_int_equal(op_graph_new("two", &graph), EMU_OK);
    assert_int_equal(op_value_new(graph, "x", OP_INPUT, &two, &x), EMU_OK);
    assert_int_equal(op_gradients(graph, x, OP_NONE, &x, 1, &gradient), EMU_BAD_FILE);
    assert_non_null(strstr(emu_error(), "x is no single float"));
    op_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_against_differences),
        cmocka_unit_test(every_operator_has_one_or_says_why_not),
        cmocka_unit_test(readers_add_up),
        cmocka_unit_test(only_what_is_asked_for),
        cmocka_unit_test(of_one_float_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
