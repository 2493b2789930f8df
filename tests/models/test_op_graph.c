/* test_op_graph.c - making nodes: versions, attributes, constant inputs, folding, what cannot run;
 * running, tidying, checking a graph. What operators mean: test_operators_*.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "models/operators/op_print.h"

static struct op_graph *graph(void)
{
    struct op_graph *g;

    assert_int_equal(op_graph_new("test", &g), EMU_OK);
    return g;
}

static struct op_shape shape(enum op_type type, unsigned rank, uint32_t a, uint32_t b)
{
    return (struct op_shape){ .type = type, .rank = rank, .dim = { a, b } };
}

static uint32_t input(struct op_graph *g, const char *name, uint32_t a, uint32_t b)
{
    const struct op_shape s = shape(OP_TYPE_F32, 2, a, b);
    uint32_t v;

    assert_int_equal(op_value_new(g, name, OP_INPUT, &s, &v), EMU_OK);
    assert_int_equal(op_graph_input(g, v), EMU_OK);
    return v;
}

/* A constant list of n numbers; rank 0 if n is 0: the scalar at[0]. */
static uint32_t list(struct op_graph *g, enum op_type type, const void *at, uint32_t n)
{
    const struct op_shape s = shape(type, n ? 1 : 0, n, 0);
    uint32_t v;

    assert_int_equal(op_constant_new(g, &s, at, &v), EMU_OK);
    return v;
}

static uint32_t ints(struct op_graph *g, const int64_t *at, uint32_t n)
{
    return list(g, OP_TYPE_I64, at, n);
}

static uint32_t floats(struct op_graph *g, const double *at, uint32_t n)
{
    return list(g, OP_TYPE_F32, at, n);
}

static uint32_t node(struct op_graph *g, const char *op, unsigned version, const char *name,
                     uint32_t a, uint32_t b, const struct op_named_attr *attr, uint32_t attrs)
{
    const uint32_t in[] = { a, b };
    const struct op_request r = { .op = op,
                                  .version = version,
                                  .name = name,
                                  .in = in,
                                  .ins = b == OP_NONE ? 1 : 2,
                                  .outs = 1,
                                  .attr = attr,
                                  .attrs = attrs };
    uint32_t out;

    assert_int_equal(op_node(g, &r, &out), EMU_OK);
    return out;
}

/* All rows of the table can be read: kinds, presets, inputs; canonical inputs come first. */
static void rows_can_be_read(void **state)
{
    (void)state;
    for (unsigned i = 0; op_row(i); i++) {
        const struct op_row *row = op_row(i);
        struct op_attr_spec spec;

        assert_true(row->ins_min <= row->ins_max && row->outs_min <= row->outs_max);
        assert_true(row->since >= OP_VERSION_MIN);
        assert_true(*row->types || !row->ins_max);
        assert_non_null(row->family->infer);
        assert_non_null(row->family->ref);
        for (unsigned k = 0; op_row_attr(row, k, &spec); k++) {
            assert_true(spec.input < (int)row->ins_max);
            if (spec.input >= 0)
                assert_true((unsigned)spec.input >= op_row_inputs(row));
        }
        for (unsigned k = 0; k < i; k++)
            assert_false(row->code == op_row(k)->code && op_row(k)->since == row->since);
        assert_ptr_equal(op_row_of(row->code), op_row_find(row->name, 0));
    }
    assert_null(op_row_find("Softmax", 0)->upgrade);
    assert_int_equal(op_row_find("Softmax", 12)->since < 13, 1);
    assert_null(op_row_find("NoSuchThing", 0));
    assert_null(op_row_find("HardSwish", 13)); /* came with 14 */
    assert_null(op_row_find("Gelu", 19));      /* came with 20 */
    assert_non_null(op_row_find("Gelu", 0));
    for (unsigned i = 0; op_row(i); i++) /* nodes have the newest rows; OURS is above all sets */
        assert_true(op_row(i)->since <= OP_VERSION_MAX || op_row(i)->since == OP_VERSION_OURS);
}

/* What cannot run is never more than there is: one node of a file may have become several. */
static void refused_of_all(void **state)
{
    struct op_graph g = { .nodes_read = 5, .nodes_wrong = 1, .nodes_behind = 2, .nodes = 2 };

    (void)state;
    assert_int_equal(op_graph_refused(&g, ""), EMU_BAD_FILE);
    assert_string_equal(ss_error(), "3 of 5 nodes cannot run");
    g = (struct op_graph){ .nodes_read = 1, .nodes_wrong = 2, .nodes = 6 };
    assert_int_equal(op_graph_refused(&g, " here"), EMU_BAD_FILE);
    assert_string_equal(ss_error(), "2 of 6 nodes cannot run here");
    g = (struct op_graph){ .nodes_read = 1, .nodes_wrong = 2, .nodes_behind = 3, .nodes = 4 };
    assert_int_equal(op_graph_refused(&g, ""), EMU_BAD_FILE);
    assert_string_equal(ss_error(), "5 of 5 nodes cannot run");
}

/* Version 1 of Squeeze has axes as an attribute, 13 as an input: the nodes are the same. */
static void constant_inputs_become_attributes(void **state)
{
    static const int64_t axes[] = { 1 };
    const struct op_named_attr attr = { "axes",
                                        { .kind = OP_ATTR_INTS, .count = 1, .ints = axes } };
    struct op_graph *g = graph();
    uint32_t x = input(g, "x", 4, 1), old, new;

    (void)state;
    old = node(g, "Squeeze", 11, "old", x, OP_NONE, &attr, 1);
    new = node(g, "Squeeze", 13, "new", x, ints(g, axes, 1), NULL, 0);
    assert_int_equal(g->nodes, 2);
    for (unsigned n = 0; n < 2; n++) {
        assert_int_equal(g->node[n].ins, 1);
        assert_int_equal(g->node[n].row->since, 13);
        assert_int_equal(g->node[n].attr[0].count, 1);
        assert_int_equal(g->node[n].attr[0].ints[0], 1);
    }
    assert_true(op_shape_equal(&g->value[old].shape, &g->value[new].shape));
    assert_int_equal(g->value[new].shape.rank, 1);
    assert_int_equal(op_graph_check(g), EMU_OK);
    op_graph_free(g);
}

/* What can be computed is a constant, unless it is large and larger than what it is made of. */
static void constants_fold(void **state)
{
    static const double v[] = { -1, 2 };
    static const int64_t small[] = { 3, 2 }, large[] = { 100000, 2 };
    struct op_graph *g = graph();
    uint32_t c = floats(g, v, 2), r = node(g, "Relu", 13, "r", c, OP_NONE, NULL, 0), x, s;
    struct op_tensor t;

    (void)state;
    assert_int_equal(g->nodes, 0);
    assert_int_equal(op_value_read(g, r, &t), EMU_OK);
    assert_true(t.f[0] == 0 && t.f[1] == 2);
    op_tensor_free(&t);
    x = node(g, "Expand", 13, "e", r, ints(g, small, 2), NULL, 0);
    assert_int_equal(g->value[x].kind, OP_CONST);
    x = node(g, "Expand", 13, "e", r, ints(g, large, 2), NULL, 0);
    assert_int_equal(g->value[x].kind, OP_RESULT);
    assert_int_equal(g->value[x].shape.dim[0], 100000);
    s = node(g, "Shape", 13, "s", x, OP_NONE, NULL, 0); /* of a node's result: known all the same */
    assert_int_equal(g->value[s].kind, OP_CONST);
    assert_int_equal(op_value_read(g, s, &t), EMU_OK);
    assert_true(t.i[0] == 100000 && t.i[1] == 2);
    op_tensor_free(&t);
    op_graph_free(g);
}

/* Each node that cannot run is told once by kind; what follows from it is only counted. */
static void problems_are_collected(void **state)
{
    static const int64_t axes[] = { 0 };
    const struct op_named_attr text = { "axes", { .kind = OP_ATTR_STRING, .s = "x" } },
                               unknown = { "colour", { .kind = OP_ATTR_INT, .i = 1 } },
                               list = { "axes",
                                        { .kind = OP_ATTR_INTS, .count = 1, .ints = axes } };
    const struct {
        const char *op;
        unsigned version;
        const struct op_named_attr *attr;
        const char *why;
    } row[] = {
        { "Relu", 13, &unknown, "attribute colour is not known to version" },
        { "Squeeze", 11, &text, "attribute axes is a string, expected integers" },
        { "Squeeze", 11, &list, "" /* its own words: the dimension is not 1 */ },
        { "Einstein", 13, NULL, "no operator of that name is built" },
        { "HardSwish", 13, NULL, "version 13 of the operator set has none: it came with 14" },
        { "Not", 13, NULL, "input 0 is f32, expected a bool" },
        { "Concat", 13, NULL, "axis is missing" },
        { "MatMul", 13, NULL, "1 inputs: 2 to 2 are expected" },
    };
    struct op_graph *g = graph();
    uint32_t x = input(g, "x", 4, 2), bad = OP_NONE, behind;
    char *said = NULL;
    size_t bytes;
    FILE *f;

    (void)state;
    for (unsigned k = 0; k < EMU_COUNT_OF(row); k++) {
        for (unsigned twice = 0; twice < 2; twice++)
            bad = node(g, row[k].op, row[k].version, "n", x, OP_NONE, row[k].attr,
                       row[k].attr ? 1 : 0);
        assert_int_equal(g->problems, k + 1);
        assert_int_equal(g->problem[k].nodes, 2);
        assert_string_equal(g->problem[k].op, row[k].op);
        assert_string_equal(g->problem[k].inputs, "f32 [4, 2]");
        if (!strstr(g->problem[k].why, row[k].why))
            fail_msg("%s: %s", row[k].op, g->problem[k].why);
        assert_int_equal(g->value[bad].shape.type, OP_TYPE_UNKNOWN);
    }
    behind = node(g, "Relu", 13, "r", bad, OP_NONE, NULL, 0);
    behind = node(g, "Relu", 13, "r", behind, OP_NONE, NULL, 0);
    assert_int_equal(g->value[behind].shape.type, OP_TYPE_UNKNOWN);
    assert_int_equal(g->nodes_behind, 2);
    assert_int_equal(g->problems, EMU_COUNT_OF(row));
    assert_int_equal(g->nodes_wrong, 2 * EMU_COUNT_OF(row));
    f = open_memstream(&said, &bytes);
    op_graph_print_problems(g, f);
    fclose(f);
    assert_non_null(strstr(said, "does not run: 16 nodes, and 2 that read what they would make\n"));
    free(said);
    op_graph_free(g);
}

/* A target shape that is computed from data is refused; the second input is named. */
static void attributes_must_be_constant(void **state)
{
    struct op_graph *g = graph();
    const struct op_shape two = shape(OP_TYPE_I64, 1, 2, 0);
    uint32_t x = input(g, "x", 4, 2), s;

    (void)state;
    assert_int_equal(op_value_new(g, "s", OP_INPUT, &two, &s), EMU_OK);
    assert_int_equal(op_graph_input(g, s), EMU_OK);
    node(g, "Reshape", 13, "r", x, s, NULL, 0);
    assert_int_equal(g->problems, 1);
    assert_string_equal(g->problem[0].why,
                        "shape (input 1) depends on data: only a constant is built; export it with "
                        "fixed shape");
    op_graph_free(g);
}

/* Dead nodes, unread constants and aliases go; an output keeps its name, even behind an alias. */
static void tidying(void **state)
{
    static const double half[] = { 0.5 };
    struct op_graph *g = graph();
    uint32_t x = input(g, "x", 2, 2), unused = input(g, "unused", 2, 2), y, z;
    const char *const name[] = { "y" };
    struct op_request last = { .op = "Identity", .in = &y, .ins = 1, .outs = 1, .out_name = name };
    struct op_tensor in[2], out;

    (void)state;
    node(g, "Relu", 13, "dead", x, OP_NONE, NULL, 0);
    z = node(g, "Identity", 13, "alias", x, OP_NONE, NULL, 0);
    y = node(g, "Mul", 13, "mul", z, floats(g, half, 0), NULL, 0);
    assert_int_equal(op_node(g, &last, &z), EMU_OK);
    assert_int_equal(op_graph_output(g, z), EMU_OK);
    floats(g, half, 1);
    assert_int_equal(g->nodes, 4);
    assert_int_equal(op_graph_tidy(g), EMU_OK);
    assert_int_equal(op_graph_check(g), EMU_OK);
    assert_int_equal(g->nodes, 2);
    assert_string_equal(g->node[0].name, "mul");
    assert_int_equal(g->node[0].in[0], op_value_find(g, "x"));
    assert_int_equal(g->values, 5); /* x, unused, the half, its product, y */
    assert_int_equal(g->inputs, 2);
    assert_string_equal(g->value[g->output[0]].name, "y");
    for (unsigned k = 0; k < 2; k++)
        assert_int_equal(op_tensor_new(&g->value[g->input[k]].shape, &in[k]), EMU_OK);
    in[0].f[3] = 3;
    assert_int_equal(op_graph_run(g, in, 1, &out), EMU_OK);
    assert_true(out.f[3] == 1.5 && out.f[0] == 0);
    for (unsigned k = 0; k < 2; k++)
        op_tensor_free(&in[k]);
    op_tensor_free(&out);
    (void)unused;
    op_graph_free(g);
}

/* Planted damage is found. */
static void the_check_finds(void **state)
{
    struct op_graph *g = graph();
    uint32_t x = input(g, "x", 2, 2), a = node(g, "Relu", 13, "a", x, OP_NONE, NULL, 0),
             b = node(g, "Relu", 13, "b", a, OP_NONE, NULL, 0);
    uint32_t *in = (uint32_t *)g->node[0].in;

    (void)state;
    assert_int_equal(op_graph_output(g, b), EMU_OK);
    assert_int_equal(op_graph_check(g), EMU_OK);
    in[0] = b;
    assert_int_equal(op_graph_check(g), EMU_BAD_FILE);
    assert_string_equal(ss_error(), "node a reads %1 before it is made");
    in[0] = 77;
    assert_int_equal(op_graph_check(g), EMU_BAD_FILE);
    in[0] = x;
    g->value[a].node = 1;
    assert_int_equal(op_graph_check(g), EMU_BAD_FILE);
    g->value[a].node = 0;
    g->value[x].readers = 2;
    assert_int_equal(op_graph_check(g), EMU_BAD_FILE);
    g->value[x].readers = 1;
    assert_int_equal(op_graph_check(g), EMU_OK);
    op_graph_free(g);
}

/* Names are found among many; two of one name are refused; made ones are free. */
static void names(void **state)
{
    const struct op_shape s = shape(OP_TYPE_F32, 1, 1, 0);
    struct op_graph *g = graph();
    char name[16];
    uint32_t v;

    (void)state;
    for (uint32_t k = 0; k < 1000; k++) {
        snprintf(name, sizeof(name), "%%%u", 2 * k);
        assert_int_equal(op_value_new(g, name, OP_INPUT, &s, &v), EMU_OK);
        assert_int_equal(op_value_new(g, NULL, OP_INPUT, &s, &v), EMU_OK);
    }
    assert_int_equal(g->values, 2000);
    assert_string_equal(g->value[op_value_find(g, "%1998")].name, "%1998");
    assert_int_equal(op_value_find(g, "nobody"), OP_NONE);
    assert_int_equal(op_value_new(g, "%4", OP_INPUT, &s, &v), EMU_BAD_FILE);
    assert_string_equal(ss_error(), "two values are called %4");
    op_graph_free(g);
}

/* Elements of files and numbers of the reference, both ways: limits, rounding, wrapping. */
static void numbers(void **state)
{
    static const struct {
        enum op_type type;
        double f, rounded;
        int64_t i, wrapped;
    } row[] = {
        { .type = OP_TYPE_F32, .f = 1 + 0x1p-30, .rounded = 1 },
        { .type = OP_TYPE_F64, .f = 1 + 0x1p-30, .rounded = 1 + 0x1p-30 },
        { .type = OP_TYPE_F16, .f = 1 + 0x1p-11, .rounded = 1 },
        { .type = OP_TYPE_F16, .f = -0x1p-24, .rounded = -0x1p-24 },
        { .type = OP_TYPE_F16, .f = 65519.9, .rounded = 65504 },
        { .type = OP_TYPE_F16, .f = -65520, .rounded = -INFINITY },
        { .type = OP_TYPE_F32, .f = 1e300, .rounded = INFINITY },
        { .type = OP_TYPE_BF16, .f = 1 + 3 * 0x1p-8, .rounded = 1 + 0x1p-6 },
        { .type = OP_TYPE_U8, .i = 257, .wrapped = 1 },
        { .type = OP_TYPE_I8, .i = 255, .wrapped = -1 },
        { .type = OP_TYPE_U16, .i = -1, .wrapped = 65535 },
        { .type = OP_TYPE_I16, .i = 32768, .wrapped = -32768 },
        { .type = OP_TYPE_I32, .i = INT64_C(1) << 31, .wrapped = INT32_MIN },
        { .type = OP_TYPE_U32, .i = -1, .wrapped = UINT32_MAX },
        { .type = OP_TYPE_I64, .i = INT64_MIN, .wrapped = INT64_MIN },
        { .type = OP_TYPE_BOOL, .i = 1, .wrapped = 1 },
    };

    (void)state;
    for (unsigned k = 0; k < EMU_COUNT_OF(row); k++) {
        const struct op_shape s = shape(row[k].type, 0, 0, 0);
        uint8_t bytes[8] = { 0 };
        struct op_tensor t, back;

        assert_int_equal(op_tensor_new(&s, &t), EMU_OK);
        if (op_type_kind(row[k].type) == OP_KIND_FLOAT)
            t.f[0] = row[k].f;
        else
            t.i[0] = row[k].i;
        op_tensor_pack(&t, bytes);
        op_tensor_round(&t);
        assert_int_equal(op_tensor_unpack(&s, bytes, &back), EMU_OK);
        assert_memory_equal(t.any, back.any, 8);
        if (op_type_kind(row[k].type) == OP_KIND_FLOAT)
            assert_true(t.f[0] == row[k].rounded);
        else
            assert_true(t.i[0] == row[k].wrapped);
        op_tensor_free(&t);
        op_tensor_free(&back);
    }
}

static uint32_t block(struct op_graph *g, const char *name, uint32_t a, uint32_t b, uint32_t c)
{
    const struct op_shape s = { OP_TYPE_F32, 3, { a, b, c } };
    uint32_t v;

    assert_int_equal(op_value_new(g, name, OP_INPUT, &s, &v), EMU_OK);
    assert_int_equal(op_graph_input(g, v), EMU_OK);
    return v;
}

/* Cells multiply by W and R in every step of every sequence, in each direction. */
static void multiply_adds_of_cells(void **state)
{
    static const struct {
        const char *op;
        uint32_t gates;
        int64_t layout;
        const char *direction;
        uint32_t directions;
    } c[] = { { "LSTM", 4, 0, "forward", 1 },
              { "GRU", 3, 1, "reverse", 1 },
              { "RNN", 1, 0, "bidirectional", 2 } };
    enum { STEPS = 20, BATCH = 2, INPUTS = 64, HIDDEN = 128 };

    (void)state;
    for (unsigned k = 0; k < EMU_COUNT_OF(c); k++) {
        struct op_graph *g = graph();
        const uint32_t in[] = { block(g, "x", c[k].layout ? BATCH : STEPS,
                                      c[k].layout ? STEPS : BATCH, INPUTS),
                                block(g, "w", c[k].directions, c[k].gates * HIDDEN, INPUTS),
                                block(g, "r", c[k].directions, c[k].gates * HIDDEN, HIDDEN) };
        const struct op_named_attr attr[] = {
            { "hidden_size", { .kind = OP_ATTR_INT, .i = HIDDEN } },
            { "layout", { .kind = OP_ATTR_INT, .i = c[k].layout } },
            { "direction", { .kind = OP_ATTR_STRING, .s = c[k].direction } }
        };
        const struct op_request r = {
            .op = c[k].op, .name = "cell", .in = in, .ins = 3, .outs = 1, .attr = attr, .attrs = 3
        };
        uint32_t out;

        if (op_node(g, &r, &out) != EMU_OK)
            fail_msg("%s", ss_error());
        assert_int_equal(op_graph_macs(g), (uint64_t)STEPS * BATCH * c[k].directions * c[k].gates *
                                               HIDDEN * (INPUTS + HIDDEN));
        op_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_can_be_read),
        cmocka_unit_test(refused_of_all),
        cmocka_unit_test(constant_inputs_become_attributes),
        cmocka_unit_test(constants_fold),
        cmocka_unit_test(problems_are_collected),
        cmocka_unit_test(attributes_must_be_constant),
        cmocka_unit_test(tidying),
        cmocka_unit_test(the_check_finds),
        cmocka_unit_test(names),
        cmocka_unit_test(numbers),
        cmocka_unit_test(multiply_adds_of_cells),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
