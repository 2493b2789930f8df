/* test_operators_fields.c - operators of fields and moves on numbers worked out by hand: windows,
 * shapes, views, slices, indices, resizing, recurrent cells; what is refused; same bits on any
 * number of threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <omp.h>

#include "emu/base/random.h"
#include "tests/fixtures/operator_fixture.h"

/* --- the table ---------------------------------------------------------------------------- */

static const struct operator_case cases[] = {
#define CASE(op, version, attrs, in, out) { op, version, attrs, in, out },
#include "tests/models/operators_fields.def"
#undef CASE
};

/* The cases of some families. */
static void family(void **state)
{
    assert_true(operator_families_check(cases, EMU_COUNT_OF(cases), *state) > 10);
}

/* Data that is not constant. */
static void data_dependent(void **state)
{
    const struct op_shape s = { .type = OP_TYPE_F32, .rank = 1, .dim = { 3 } };
    struct op_request r = { .op = "NonZero", .version = 13, .ins = 1, .outs = 1 };
    struct op_graph *g;
    uint32_t x, out[2];

    (void)state;
    assert_int_equal(op_graph_new("test", &g), EMU_OK);
    assert_int_equal(op_value_new(g, "x", OP_INPUT, &s, &x), EMU_OK);
    r.in = &x;
    assert_int_equal(op_node(g, &r, out), EMU_OK);
    assert_int_equal(g->problems, 1);
    assert_non_null(strstr(g->problem[0].why, "depends on data"));
    /* the shape of data is constant */
    r.op = "Shape";
    assert_int_equal(op_node(g, &r, out), EMU_OK);
    assert_int_equal(g->value[out[0]].kind, OP_CONST);
    assert_int_equal(g->nodes, 0);
    op_graph_free(g);
}

/* --- threads ------------------------------------------------------------------------------ */

static void fill(uint64_t seed, struct op_tensor *t)
{
    for (uint64_t k = 0; k < op_shape_count(&t->shape); k++)
        t->f[k] = (double)((int64_t)(random_next(&seed) >> 40) - (1 << 23)) * 0x1p-23;
}

/* A node on seeded numbers. */
static struct op_tensor run(const struct op_request *r, const struct op_shape *in)
{
    struct op_tensor t[3], out;
    struct op_graph *g;
    uint32_t v[3], y;
    struct op_request here = *r;

    here.in = v;
    assert_int_equal(op_graph_new("threads", &g), EMU_OK);
    for (uint32_t k = 0; k < r->ins; k++) {
        assert_int_equal(op_value_new(g, NULL, OP_INPUT, &in[k], &v[k]), EMU_OK);
        assert_int_equal(op_graph_input(g, v[k]), EMU_OK);
        assert_int_equal(op_tensor_new(&in[k], &t[k]), EMU_OK);
        fill(k + 1, &t[k]);
    }
    assert_int_equal(op_node(g, &here, &y), EMU_OK);
    assert_int_equal(g->problems, 0);
    assert_int_equal(op_graph_output(g, y), EMU_OK);
    assert_int_equal(op_graph_run(g, t, 0, &out), EMU_OK);
    for (uint32_t k = 0; k < r->ins; k++)
        op_tensor_free(&t[k]);
    op_graph_free(g);
    return out;
}

static void same_bits_on_any_number_of_threads(void **state)
{
    static const struct op_shape conv[] = { { OP_TYPE_F32, 4, { 2, 12, 13, 13 } },
                                            { OP_TYPE_F32, 4, { 20, 6, 3, 3 } } };
    static const struct op_shape pool[] = { { OP_TYPE_F32, 4, { 2, 12, 33, 33 } } };
    static const struct op_shape cell[] = { { OP_TYPE_F32, 3, { 3, 1, 150 } },
                                            { OP_TYPE_F32, 3, { 1, 600, 150 } },
                                            { OP_TYPE_F32, 3, { 1, 600, 150 } } };
    static const int64_t kernel[] = { 3, 3 };
    static const struct op_named_attr group = { "group", { .kind = OP_ATTR_INT, .i = 2 } };
    static const struct op_named_attr shape = {
        "kernel_shape", { .kind = OP_ATTR_INTS, .count = 2, .ints = kernel }
    };
    static const struct {
        struct op_request r;
        const struct op_shape *in;
    } products[] = {
        { { .op = "Conv", .ins = 2, .outs = 1, .attr = &group, .attrs = 1 }, conv },
        { { .op = "AveragePool", .ins = 1, .outs = 1, .attr = &shape, .attrs = 1 }, pool },
        { { .op = "LSTM", .ins = 3, .outs = 1 }, cell },
    };
    int before = omp_get_max_threads();

    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(products); k++) {
        struct op_tensor one, more;

        omp_set_num_threads(1);
        one = run(&products[k].r, products[k].in);
        omp_set_num_threads(3);
        more = run(&products[k].r, products[k].in);
        assert_memory_equal(one.f, more.f, op_shape_count(&one.shape) * 8);
        op_tensor_free(&one);
        op_tensor_free(&more);
    }
    omp_set_num_threads(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        { "conv", family, NULL, NULL, "conv conv_back" },
        { "pool", family, NULL, NULL, "pool" },
        { "shape", family, NULL, NULL, "shape" },
        { "constant", family, NULL, NULL, "constant" },
        { "view", family, NULL, NULL, "view" },
        { "slice", family, NULL, NULL, "slice" },
        { "gather", family, NULL, NULL, "gather" },
        { "resize", family, NULL, NULL, "resize" },
        { "recurrent", family, NULL, NULL, "recurrent" },
        cmocka_unit_test(data_dependent),
        cmocka_unit_test(same_bits_on_any_number_of_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
