/* test_operators_math.c - operators of numbers worked out by hand: functions, reductions, products,
 * norms, losses, old versions; what is refused; the same bits from all kinds of products.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/fixtures/operator_fixture.h"

static const struct operator_case cases[] = {
#define CASE(op, version, attrs, in, out) { op, version, attrs, in, out },
#include "tests/models/operators_math.def"
#undef CASE
};

/* The cases of some families. */
static void family(void **state)
{
    assert_true(operator_families_check(cases, EMU_COUNT_OF(cases), *state) > 5);
}

/* Every name of the table has its function, and NaN stays NaN in what gives floats. */
static void nan_stays_nan(void **state)
{
    (void)state;
    for (unsigned i = 0; op_row(i); i++) {
        const struct op_row *row = op_row(i);
        const char *result = !strcmp(row->name, "IsNaN")   ? "bool [] 1"
                             : !strcmp(row->name, "IsInf") ? "bool [] 0"
                                                           : "f64 [] nan";
        const struct operator_case c = { row->name, row->since, "", "f64 [] nan", result };

        if (row->family_code == FAMILY_unary && *row->types != 'B')
            operator_case_check(&c);
    }
}

/* One Einsum of matrices [side][side]. */
static struct op_graph *einsum(const char *equation, uint32_t side, uint32_t ins, uint32_t *out)
{
    const struct op_shape s = { .type = OP_TYPE_F32, .rank = 2, .dim = { side, side } };
    const struct op_named_attr attr = { "equation", { .kind = OP_ATTR_STRING, .s = equation } };
    uint32_t in[4];
    const struct op_request r = {
        .op = "Einsum", .in = in, .ins = ins, .outs = 1, .attr = &attr, .attrs = 1
    };
    struct op_graph *g;

    assert_int_equal(op_graph_new("test", &g), EMU_OK);
    for (uint32_t k = 0; k < ins; k++)
        assert_int_equal(op_value_new(g, NULL, OP_INPUT, &s, &in[k]), EMU_OK);
    assert_int_equal(op_node(g, &r, out), EMU_OK);
    return g;
}

static void einsum_blanks(void **state)
{
    uint32_t y;
    struct op_graph *g = einsum(" i j ,j  k -> i k ", 3, 2, &y);

    (void)state;
    assert_int_equal(g->problems, 0);
    assert_int_equal(g->value[y].shape.rank, 2);
    op_graph_free(g);
}

/* Short lists can ask for more products than anybody can wait for. */
static void einsums_of_too_much_work(void **state)
{
    uint32_t y;
    struct op_graph *g = einsum("ab,cd,ef,gh->", 64, 4, &y);

    (void)state;
    assert_int_equal(g->problems, 1);
    assert_non_null(strstr(g->problem[0].why, "2.81e+14 products of 1.64e+04 numbers"));
    op_graph_free(g);
}

/* An old softmax along the last dimension is the new one; otherwise it is flattened and back. */
static void upgrades_make_few_nodes(void **state)
{
    static const struct {
        const char *op;
        unsigned version;
        int64_t axis;
        uint32_t nodes;
    } row[] = { { "Softmax", 12, -1, 1 },
                { "Softmax", 12, 2, 1 },
                { "Softmax", 12, 1, 3 },
                { "Softmax", 13, 1, 1 } };
    const struct op_shape s = { .type = OP_TYPE_F32, .rank = 3, .dim = { 2, 3, 4 } };

    (void)state;
    for (unsigned k = 0; k < EMU_COUNT_OF(row); k++) {
        const struct op_named_attr attr = { "axis", { .kind = OP_ATTR_INT, .i = row[k].axis } };
        const char *const name[] = { "y" };
        uint32_t x, y;
        const struct op_request r = { .op = row[k].op,
                                      .version = row[k].version,
                                      .name = "soft",
                                      .in = &x,
                                      .ins = 1,
                                      .out_name = name,
                                      .outs = 1,
                                      .attr = &attr,
                                      .attrs = 1 };
        struct op_graph *g;

        assert_int_equal(op_graph_new("test", &g), EMU_OK);
        assert_int_equal(op_value_new(g, "x", OP_INPUT, &s, &x), EMU_OK);
        assert_int_equal(op_node(g, &r, &y), EMU_OK);
        assert_int_equal(g->nodes, row[k].nodes);
        assert_int_equal(op_value_find(g, "y"), y);
        assert_true(op_shape_equal(&g->value[y].shape, &s));
        assert_string_equal(g->node[row[k].nodes / 2].name, "soft");
        assert_string_equal(g->node[row[k].nodes / 2].row->name, "Softmax");
        assert_int_equal(op_graph_check(g), EMU_OK);
        op_graph_free(g);
    }
}

/* --- larger products ---------------------------------------------------------------------- */

enum { SIDE = 67 }; /* no multiple of what the loops take at a time */

static double some(uint64_t k)
{
    return (double)(k * 7919 % 1009) / 1009 - 0.5;
}

/* A square constant; turned: its transpose. */
static uint32_t square(struct op_graph *g, int turned)
{
    const struct op_shape s = { .type = OP_TYPE_F64, .rank = 2, .dim = { SIDE, SIDE } };
    struct op_tensor t;
    uint32_t v;

    assert_int_equal(op_tensor_new(&s, &t), EMU_OK);
    for (unsigned i = 0; i < SIDE; i++) {
        for (unsigned j = 0; j < SIDE; j++)
            t.f[i * SIDE + j] = turned ? some(j * SIDE + i) : some(i * SIDE + j);
    }
    assert_int_equal(op_value_constant(g, NULL, &t, &v), EMU_OK);
    op_tensor_free(&t);
    return v;
}

/* The same bits from plain loops, MatMul, Gemm with and without transposed operands, and Einsum. */
static void products_have_the_same_bits(void **state)
{
    static const struct {
        const char *op;
        int a_turned, b_turned;
        const char *equation;
    } row[] = { { "MatMul", 0, 0, NULL }, { "Gemm", 0, 0, NULL }, { "Gemm", 0, 1, NULL },
                { "Gemm", 1, 0, NULL },   { "Gemm", 1, 1, NULL }, { "Einsum", 0, 1, "ij,kj->ik" } };

    (void)state;
    for (unsigned k = 0; k < EMU_COUNT_OF(row); k++) {
        const struct op_named_attr turn[] = {
            { "transA", { .kind = OP_ATTR_INT, .i = row[k].a_turned } },
            { "transB", { .kind = OP_ATTR_INT, .i = row[k].b_turned } }
        };
        const struct op_named_attr equation = { "equation",
                                                { .kind = OP_ATTR_STRING, .s = row[k].equation } };
        struct op_graph *g;
        struct op_tensor t;
        uint32_t in[2], out;
        struct op_request r = { .op = row[k].op, .in = in, .ins = 2, .outs = 1 };

        assert_int_equal(op_graph_new("test", &g), EMU_OK);
        in[0] = square(g, row[k].a_turned);
        in[1] = square(g, row[k].b_turned);
        r.attr = row[k].equation ? &equation : turn;
        r.attrs = row[k].equation ? 1 : strcmp(row[k].op, "Gemm") ? 0 : 2;
        assert_int_equal(op_node(g, &r, &out), EMU_OK);
        assert_int_equal(g->problems, 0);
        assert_int_equal(op_value_read(g, out, &t), EMU_OK);
        for (unsigned i = 0; i < SIDE; i++) {
            for (unsigned j = 0; j < SIDE; j++) {
                double sum = 0;

                for (unsigned n = 0; n < SIDE; n++)
                    sum += some(i * SIDE + n) * some(n * SIDE + j);
                if (t.f[i * SIDE + j] != sum)
                    fail_msg("%s [%u][%u]: %.17g, expected %.17g", row[k].op, i, j,
                             t.f[i * SIDE + j], sum);
            }
        }
        op_tensor_free(&t);
        op_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        { "unary", family, NULL, NULL, "unary" },
        { "alias", family, NULL, NULL, "alias" },
        { "binary", family, NULL, NULL, "binary" },
        { "reduce", family, NULL, NULL, "reduce" },
        { "softmax", family, NULL, NULL, "softmax" },
        { "cast", family, NULL, NULL, "cast" },
        { "matmul", family, NULL, NULL, "matmul" },
        { "einsum", family, NULL, NULL, "einsum" },
        { "norm", family, NULL, NULL, "norm" },
        { "gradients", family, NULL, NULL, "slope norm_back" },
        { "updates", family, NULL, NULL, "update" },
        { "loss", family, NULL, NULL, "loss" },
        cmocka_unit_test(nan_stays_nan),
        cmocka_unit_test(einsum_blanks),
        cmocka_unit_test(einsums_of_too_much_work),
        cmocka_unit_test(upgrades_make_few_nodes),
        cmocka_unit_test(products_have_the_same_bits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
