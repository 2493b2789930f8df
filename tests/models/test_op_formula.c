/* test_op_formula.c - rows of functions.def: none is missing or too many, and each computes in f64
 * what its operator means.
 */
#include <math.h>
#include <string.h>

#include "models/bound/op_error_rules.h"
#include "models/operators/op_families.h"
#include "models/operators/op_function.h"
#include "models/operators/op_slope.h"
#include "tests/fixtures/pass_fixture.h"

/* No corner of any function. */
static const double at[] = { -2.9, -1.3, -0.45, -0.1, 0.3, 0.8, 1.7, 3.3, 40 };
enum { NUMBERS = EMU_COUNT_OF(at) };
static const double attribute[] = { 0.7, 1.2 };

static uint32_t numbers(const char *name, enum op_type type)
{
    const struct op_shape s = { .type = type, .rank = 1, .dim = { NUMBERS } };
    uint32_t v;

    assert_int_equal(op_value_new(net, name, OP_INPUT, &s, &v), EMU_OK);
    assert_int_equal(op_graph_input(net, v), EMU_OK);
    return v;
}

static struct op_named_attr real(const char *name, double v)
{
    return (struct op_named_attr){ name, { .kind = OP_ATTR_FLOAT, .f = v } };
}

static struct op_named_attr text(const char *name, const char *s)
{
    return (struct op_named_attr){ name, { .kind = OP_ATTR_STRING, .s = s } };
}

/* A node of a function, with attributes that are no presets. */
static const struct op_node *function_node(const char *name, int by_tanh)
{
    const struct op_function *f = op_function_find(name);
    int is_clip = !strcmp(name, "Clip"), is_not = !strcmp(name, "Not");
    uint32_t in[] = { numbers("x", is_not ? OP_TYPE_BOOL : OP_TYPE_F64), OP_NONE, OP_NONE };
    struct op_named_attr attr[3];
    unsigned attrs = 0;

    for (unsigned k = 0; f && k < 2; k++) {
        if (op_function_attr(f, k) && strcmp(name, "IsInf"))
            attr[attrs++] = real(op_function_attr(f, k), attribute[k]);
        if (is_clip) {
            const struct op_shape one = { .type = OP_TYPE_F64 };

            assert_int_equal(op_constant_new(net, &one, &attribute[k], &in[1 + k]), EMU_OK);
        }
    }
    if (by_tanh)
        attr[attrs++] = text("approximate", "tanh");
    make(name, attr, attrs, in, is_clip ? 3 : 1);
    return &net->node[net->nodes - 1];
}

static const struct op_node *slope_node(const char *function, int by_tanh)
{
    const uint32_t in[] = { numbers("x", OP_TYPE_F64), numbers("d", OP_TYPE_F64) };
    const struct op_slope *s = op_slope_find(function);
    struct op_named_attr attr[] = { text("function", function), real("alpha", by_tanh),
                                    real("beta", 0) };

    for (unsigned k = 0; k < 2; k++) {
        if (op_slope_attr(s, k))
            attr[1 + k].attr.f = attribute[k];
    }
    make("UnaryGradient", attr, EMU_COUNT_OF(attr), in, 2);
    return &net->node[net->nodes - 1];
}

/* The formula of the node against its meaning. */
static void compare(const struct op_node *n, const char *name)
{
    const struct rounding r = rounding_of(ELEM_F32);
    struct op_tensor in[2] = { 0 }, out;
    struct op_formula f;

    assert_int_equal(op_graph_output(net, n->out[0]), EMU_OK);
    for (uint32_t k = 0; k < net->inputs; k++) {
        assert_int_equal(op_tensor_new(&net->value[net->input[k]].shape, &in[k]), EMU_OK);
        for (unsigned i = 0; i < NUMBERS; i++) {
            if (op_type_kind(in[k].shape.type) == OP_KIND_FLOAT)
                in[k].f[i] = k ? 1 + at[NUMBERS - 1 - i] : at[i];
            else
                in[k].i[i] = i % 2;
        }
    }
    assert_int_equal(op_graph_run(net, in, 0, &out), EMU_OK);
    assert_int_equal(op_formula_of(net, n, &f), EMU_OK);
    for (unsigned i = 0; i < NUMBERS; i++) {
        const struct bounded x = exactly(op_tensor_number(&in[0], i));
        const struct bounded d = exactly(net->inputs > 1 ? op_tensor_number(&in[1], i) : 0);
        double want = op_tensor_number(&out, i), is = bounded_formula(&r, &f, x, d).v;

        if (!(fabs(is - want) <= 1e-9 * (1 + fabs(want))) && is != want &&
            !(isnan(is) && isnan(want)))
            fail_msg("%s of functions.def is %.12g at %g, but means %.12g", name, is, x.v, want);
    }
    op_tensor_free(&out);
    op_tensor_free(&in[0]);
    op_tensor_free(&in[1]);
}

static void rows_compute_what_they_mean(void **state)
{
    const struct function_row *row;

    for (unsigned k = 0; (row = op_formula_row(k)) != NULL; k++) {
        int by_tanh = !strcmp(row->name, "GeluTanh");
        const char *name = by_tanh ? "Gelu" : row->name;
        const struct op_node *n;

        assert_int_equal(pass_begin(state), 0);
        n = row->is_slope ? slope_node(name, by_tanh) : function_node(name, by_tanh);
        assert_ptr_equal(op_formula_find(net, n), row);
        compare(n, row->name);
        pass_end(state);
    }
}

/* Whether nothing of an operator is left, since tiles compute it as several. */
static int is_expanded(enum op_code op)
{
    assert_int_equal(op_graph_output(net, net->node[0].out[0]), EMU_OK);
    assert_int_equal(pass_expand(net), EMU_OK);
    for (uint32_t n = 0; n < net->nodes; n++) {
        if (op_node_is(&net->node[n], op))
            return 0;
    }
    return 1;
}

static void every_function_has_a_row(void **state)
{
    for (unsigned i = 0; op_row(i); i++) {
        const char *name = op_row(i)->name;

        if (op_row(i)->family != &family_unary || op_row(i)->upgrade)
            continue;
        assert_int_equal(pass_begin(state), 0);
        if (!op_formula_find(net, function_node(name, 0)) && !is_expanded(op_row(i)->code))
            fail_msg("%s has no FUNCTION in functions.def, and no pass makes others of it", name);
        pass_end(state);
    }
}

static void every_slope_has_a_row(void **state)
{
    for (unsigned i = 0; op_row(i); i++) {
        if (!op_slope_find(op_row(i)->name))
            continue;
        assert_int_equal(pass_begin(state), 0);
        if (!op_formula_find(net, slope_node(op_row(i)->name, 0)))
            fail_msg("%s has no SLOPE in functions.def", op_row(i)->name);
        pass_end(state);
    }
}

static double binary_value(const struct op_node *n, const struct binary_row *row, double a,
                           double b)
{
    const struct rounding r = rounding_of(ELEM_F32);
    double y = bounded_binary(&r, row->op, exactly(row->is_swapped ? b : a),
                              exactly(row->is_swapped ? a : b))
                   .v;

    return op_node_is(n, OP_Mean) ? y / 2 : op_node_is(n, OP_Xor) ? 1 - y : y;
}

/* Of the node's two inputs. */
static void compare_binary(const struct op_node *n)
{
    const struct binary_row *row = op_binary_row(n);
    const struct binary_row swapped = { .op = row->op, .is_swapped = !row->is_swapped };
    struct op_tensor in[2], out;

    assert_int_equal(op_graph_output(net, n->out[0]), EMU_OK);
    for (uint32_t k = 0; k < 2; k++) {
        assert_int_equal(op_tensor_new(&net->value[net->input[k]].shape, &in[k]), EMU_OK);
        for (unsigned i = 0; i < NUMBERS; i++) {
            if (op_type_kind(in[k].shape.type) == OP_KIND_FLOAT)
                in[k].f[i] = k ? at[(i + i % 3) % NUMBERS] : at[i];
            else
                in[k].i[i] = i >> k & 1;
        }
    }
    assert_int_equal(op_graph_run(net, in, 0, &out), EMU_OK);
    for (unsigned i = 0; i < NUMBERS; i++) {
        double a = op_tensor_number(&in[0], i), b = op_tensor_number(&in[1], i);
        double want = op_tensor_number(&out, i), is = binary_value(n, row, a, b);

        if (is != want && !(isnan(is) && isnan(want)))
            fail_msg("%s of functions.def is %g of %g and %g, but means %g", n->row->name, is, a, b,
                     want);
        if (row->commutes && binary_value(n, &swapped, a, b) != is)
            fail_msg("%s of functions.def does not commute", n->row->name);
    }
    op_tensor_free(&out);
    op_tensor_free(&in[0]);
    op_tensor_free(&in[1]);
}

static void every_function_of_two_has_a_row(void **state)
{
    static const char *const others[] = { "BitShift", "Mod", "PRelu", "RotaryEmbedding", "Where" };

    for (unsigned i = 0; op_row(i); i++) {
        const struct op_row *row = op_row(i);
        int is_other = row->family != &family_binary || row->upgrade != NULL;

        for (unsigned k = 0; k < EMU_COUNT_OF(others); k++)
            is_other |= !strcmp(row->name, others[k]);
        if (is_other || op_row_find(row->name, 0) != row)
            continue;
        assert_int_equal(pass_begin(state), 0);
        make(row->name, NULL, 0,
             (uint32_t[]){ numbers("x", row->types[0] == 'B' ? OP_TYPE_BOOL : OP_TYPE_F64),
                           numbers("y", row->types[0] == 'B' ? OP_TYPE_BOOL : OP_TYPE_F64) },
             2);
        if (!op_binary_row(&net->node[0]))
            fail_msg("%s has no BINARY in functions.def", row->name);
        compare_binary(&net->node[0]);
        pass_end(state);
    }
}

/* What is filled up with zeros must stay finite. */
static void fields_are_kept_by_what_is_finite_at_0(void **state)
{
    const struct rounding r = rounding_of(ELEM_F32);
    const struct function_row *row;
    struct op_formula f;

    (void)state;
    for (unsigned k = 0; (row = op_formula_row(k)) != NULL; k++) {
        if (row->is_slope)
            continue;
        op_formula_read(row, attribute, &f);
        if (row->keeps_field != isfinite(bounded_formula(&r, &f, exactly(0), exactly(0)).v))
            fail_msg("%s of functions.def is %s at 0", row->name,
                     row->keeps_field ? "not FINITE" : "FINITE");
    }
}

/* Selu's factor and Celu's scale are numbers before the program runs; a scale of 1 is nothing. */
static void numbers_are_folded(void **state)
{
    static const struct function_row celu = { "Celu", 0, 1, "x 1 a Div Scale Exp" };
    static const struct function_row both = { "Selu", 1, 0, "x a b Mul Mul" };
    struct op_formula f;

    (void)state;
    op_formula_read(&celu, (double[]){ 1, 0 }, &f);
    assert_int_equal(f.steps, 1);
    op_formula_read(&celu, (double[]){ 2, 0 }, &f);
    assert_int_equal(f.steps, 2);
    assert_true(f.step[0].in[1].is_number && f.step[0].in[1].number == 0.5);
    op_formula_read(&both, (double[]){ 2, 3 }, &f);
    assert_int_equal(f.steps, 1);
    assert_true(f.step[0].in[1].number == 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_compute_what_they_mean),
        cmocka_unit_test(every_function_has_a_row),
        cmocka_unit_test(every_slope_has_a_row),
        cmocka_unit_test(every_function_of_two_has_a_row),
        cmocka_unit_test(fields_are_kept_by_what_is_finite_at_0),
        cmocka_unit_test(numbers_are_folded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
