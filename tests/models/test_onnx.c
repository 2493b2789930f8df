/* test_onnx.c - ONNX files that are right: what graphs, sizes, constants and functions become. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "models/onnx/onnx.h"
#include "models/onnx/onnx_names.h"
#include "tests/fixtures/onnx_fixture.h"

#define SPAN(text)                                                                                 \
    ((struct wire_span){ (const uint8_t *)(text), (const uint8_t *)(text) + strlen(text) })

/* Reads a file in memory, which stays until close_model(). */
static struct proto file;

static struct onnx_model *open_model(struct proto *graph, const struct onnx_options *o)
{
    struct onnx_model *m;

    put_model(&file, 8, 13, graph);
    if (onnx_read_bytes(file.at, file.bytes, "f.onnx", o, &m) != EMU_OK)
        fail_msg("%s", ss_error());
    return m;
}

static void expect_no_problem(const struct onnx_model *m)
{
    const struct op_problem *p = m->graph->problem;

    if (m->graph->problems)
        fail_msg("%s (%s) of %s: %s", p->node, p->op, p->inputs, p->why);
}

static void close_model(struct onnx_model *m)
{
    onnx_model_free(m);
    proto_free(&file);
    assert_int_equal(alloc_live(), 0);
}

static const struct op_value *value(const struct onnx_model *m, const char *name)
{
    uint32_t v = op_value_find(m->graph, name);

    if (v == OP_NONE)
        fail_msg("no value %s", name);
    return &m->graph->value[v];
}

static void expect_shape(const struct onnx_model *m, const char *name, const char *text)
{
    char shape[OP_SHAPE_TEXT];

    assert_string_equal(op_shape_text(&value(m, name)->shape, shape), text);
}

/* The numbers of a constant as f64. */
static void expect_numbers(const struct onnx_model *m, const char *name, unsigned count,
                           const double *want)
{
    struct op_tensor t;

    assert_true(op_value_constant_kind(value(m, name)));
    assert_int_equal(op_value_read(m->graph, op_value_find(m->graph, name), &t), EMU_OK);
    assert_int_equal(op_shape_count(&t.shape), count);
    for (unsigned k = 0; k < count; k++)
        assert_true(op_tensor_number(&t, k) == want[k]);
    op_tensor_free(&t);
}

/* --- graphs ------------------------------------------------------------------------------- */

static void small_graph(void **state)
{
    static const float w[3] = { 1, 2, 3 };
    struct proto g = { 0 };
    struct onnx_model *m;

    (void)state;
    put_input(&g, "x", 1, "2,3");
    put_input(&g, "w", 1, "3"); /* old files list initializers, too */
    put_initializer_f32(&g, "w", "3", w, 3);
    put_node(&g, "Add", "x,w", "s", NULL);
    put_node(&g, "Relu", "s", "y", NULL);
    put_output(&g, "y", 1, "2,3");
    m = open_model(&g, NULL);
    assert_string_equal(m->producer, "test 1.2");
    assert_int_equal(m->ir_version, 8);
    assert_int_equal(m->opset, 13);
    assert_null(m->warning);
    assert_false(m->newer);
    assert_int_equal(m->parameters, 1);
    assert_int_equal(m->parameter_bytes, 12);
    assert_int_equal(m->numbers, 3);
    assert_int_equal(m->graph->nodes, 2);
    assert_int_equal(m->graph->nodes_read, 2);
    assert_int_equal(m->graph->inputs, 1);
    assert_int_equal(m->graph->outputs, 1);
    assert_int_equal(value(m, "w")->kind, OP_PARAM);
    assert_true((const uint8_t *)value(m, "w")->data > file.at &&
                (const uint8_t *)value(m, "w")->data < file.at + file.bytes);
    expect_shape(m, "y", "f32 [2, 3]");
    close_model(m);
}

/* What no output needs is not made, however wrong it is. */
static void dead_nodes(void **state)
{
    struct proto g = { 0 };
    struct onnx_model *m;

    (void)state;
    put_input(&g, "x", 1, "2");
    put_node(&g, "Unheard", "x", "z", NULL);
    put_node(&g, "Relu", "x", "y", NULL);
    put_output(&g, "y", 1, "2");
    m = open_model(&g, NULL);
    assert_int_equal(m->graph->nodes, 1);
    expect_no_problem(m);
    assert_int_equal(op_value_find(m->graph, "z"), OP_NONE);
    close_model(m);
}

/* A cut: other outputs, without the nodes and inputs that they do not need. */
static void cut(void **state)
{
    static const char *const outputs[] = { "a", "x" };
    const struct onnx_options o = { .output = outputs, .outputs = 2 };
    struct proto g = { 0 };
    struct onnx_model *m;

    (void)state;
    put_input(&g, "x", 1, "2");
    put_input(&g, "open", 1, "N,M");
    put_node(&g, "Relu", "x", "a", NULL);
    put_node(&g, "Unheard", "a,open", "b", NULL);
    put_output(&g, "b", 1, "2");
    m = open_model(&g, &o);
    expect_no_problem(m);
    assert_int_equal(m->graph->inputs, 1);
    assert_int_equal(m->graph->outputs, 2);
    assert_string_equal(m->graph->value[m->graph->output[0]].name, "a");
    assert_string_equal(m->graph->value[m->graph->output[1]].name, "x");
    close_model(m);
}

/* Results that nobody reads are not wanted of their nodes. */
static void unread_results(void **state)
{
    struct proto g = { 0 };
    struct onnx_model *m;

    (void)state;
    put_input(&g, "x", 1, "2");
    put_node(&g, "Dropout", "x", "y,mask", NULL);
    put_output(&g, "y", 1, "2");
    m = open_model(&g, NULL);
    expect_no_problem(m);
    assert_int_equal(op_value_find(m->graph, "mask"), OP_NONE);
    close_model(m);
}

/* All that cannot run is told at once. */
static void problems(void **state)
{
    struct proto g = { 0 }, if_attrs = { 0 }, body = { 0 }, a = { 0 };
    struct onnx_model *m;
    const struct op_graph *graph;

    (void)state;
    for (int k = 0; k < 10000; k++) { /* graphs inside of graphs are not looked into */
        struct proto outer = { 0 };

        proto_message(&outer, ONNX_ATTRIBUTE_G, &body);
        body = outer;
    }
    proto_text(&a, ONNX_ATTRIBUTE_NAME, "then_branch");
    proto_int(&a, ONNX_ATTRIBUTE_TYPE, 5);
    proto_message(&a, ONNX_ATTRIBUTE_G, &body);
    proto_message(&if_attrs, ONNX_NODE_ATTRIBUTE, &a);
    put_input(&g, "x", 1, "2");
    put_input(&g, "text", 8, "2");
    put_node_in(&g, ONNX_GRAPH_NODE, "n1", "com.acme", "Fused", "x", "a", NULL);
    put_node_in(&g, ONNX_GRAPH_NODE, "n2", NULL, "If", "x", "b", &if_attrs);
    put_node_in(&g, ONNX_GRAPH_NODE, "n3", NULL, "Relu", "a", "c", NULL);
    put_node_in(&g, ONNX_GRAPH_NODE, "n4", NULL, "Relu", "text", "d", NULL);
    for (const char *name = "abcd"; *name; name++)
        put_output(&g, (char[]){ *name, 0 }, 1, "2");
    m = open_model(&g, NULL);
    graph = m->graph;
    assert_int_equal(graph->problems, 3);
    assert_int_equal(graph->nodes_behind, 2);
    assert_string_equal(graph->problem[0].op, "input");
    assert_string_equal(graph->problem[0].node, "text");
    assert_string_equal(graph->problem[1].op, "com.acme.Fused");
    assert_string_equal(graph->problem[1].node, "n1");
    assert_string_equal(graph->problem[1].inputs, "f32 [2]");
    assert_string_equal(graph->problem[2].op, "If");
    assert_non_null(strstr(graph->problem[2].why, "it chooses between graphs by what is known"));
    close_model(m);
}

/* Why a graph inside a node does not run, and what to do, is said of what the graph is for. */
static void graphs_inside_nodes(void **state)
{
    static const struct {
        const char *op, *in, *why;
    } row[] = { { "If", "on", "its condition is always true: simplify the file" },
                { "If", "off", "which leaves its else_branch alone" },
                { "If", "x", "it chooses between graphs by what is known at run time only" },
                { "Scan", "x", "a loop over a graph inside it: export it unrolled" },
                { "SequenceMap", "x", "a graph inside a node is not built" } };
    const float on = 1, off = 0;

    (void)state;
    for (unsigned k = 0; k < EMU_COUNT_OF(row); k++) {
        struct proto g = { 0 }, attrs = { 0 }, body = { 0 }, a = { 0 };
        struct onnx_model *m;

        proto_text(&a, ONNX_ATTRIBUTE_NAME, "body");
        proto_int(&a, ONNX_ATTRIBUTE_TYPE, 5);
        proto_message(&a, ONNX_ATTRIBUTE_G, &body);
        proto_message(&attrs, ONNX_NODE_ATTRIBUTE, &a);
        put_input(&g, "x", 1, "1");
        put_initializer_f32(&g, "on", "1", &on, 1);
        put_initializer_f32(&g, "off", "1", &off, 1);
        put_node_in(&g, ONNX_GRAPH_NODE, "n", NULL, row[k].op, row[k].in, "y", &attrs);
        put_output(&g, "y", 1, "1");
        m = open_model(&g, NULL);
        assert_int_equal(m->graph->problems, 1);
        assert_string_equal(m->graph->problem[0].node, "n");
        if (!strstr(m->graph->problem[0].why, row[k].why))
            fail_msg("%s of %s: %s", row[k].op, row[k].in, m->graph->problem[0].why);
        close_model(m);
    }
}

/* What the file says of shapes is only compared. */
static void hints(void **state)
{
    struct proto g = { 0 };
    struct onnx_model *m;

    (void)state;
    put_input(&g, "x", 1, "2,3");
    put_value(&g, ONNX_GRAPH_VALUE_INFO, "s", 1, "2,N");
    put_value(&g, ONNX_GRAPH_VALUE_INFO, "nowhere", 1, "7");
    put_node(&g, "Relu", "x", "s", NULL);
    put_node(&g, "Relu", "s", "y", NULL);
    put_output(&g, "y", 1, "2,4");
    m = open_model(&g, NULL);
    assert_string_equal(m->warning, "y is f32 [2, 3], the file says f32 [2, 4]");
    close_model(m);

    put_input(&g, "x", 1, "2,3");
    put_value(&g, ONNX_GRAPH_VALUE_INFO, "s", 1, "?");
    put_node(&g, "Relu", "x", "s", NULL);
    put_node(&g, "Relu", "s", "y", NULL);
    put_output(&g, "y", 7, "2,3");
    m = open_model(&g, NULL);
    assert_string_equal(m->warning, "s is f32 [2, 3], the file says f32 [?]; and 1 more shapes");
    close_model(m);
}

/* Fields of later versions are skipped. */
static void unknown_fields(void **state)
{
    struct proto g = { 0 };
    struct onnx_model *m;

    (void)state;
    put_input(&g, "x", 1, "2");
    put_output(&g, "x", 1, "2");
    proto_text(&g, 1000, "?");
    proto_f32(&g, 1001, 1);
    m = open_model(&g, NULL);
    assert_true(m->newer);
    close_model(m);
}

/* --- sizes -------------------------------------------------------------------------------- */

static void two_inputs(struct proto *g)
{
    put_input(g, "ids", 1, "batch,seq");
    put_input(g, "mask", 1, "batch,1,seq");
    put_node(g, "Add", "ids,mask", "y", NULL);
    put_output(g, "y", 1, "batch,batch,seq");
}

static void open_dimensions(void **state)
{
    static const struct onnx_dim seq = { "seq", 5 }, both[] = { { "seq", 5 }, { "batch", 3 } };
    struct onnx_options o = { .dim = &seq, .dims = 1 };
    struct proto g = { 0 };
    struct onnx_model *m;

    (void)state;
    two_inputs(&g);
    m = open_model(&g, &o);
    assert_int_equal(m->batched, 2);
    expect_shape(m, "ids", "f32 [1, 5]");
    expect_shape(m, "mask", "f32 [1, 1, 5]");
    close_model(m);

    o.batch = 4;
    two_inputs(&g);
    m = open_model(&g, &o);
    expect_shape(m, "y", "f32 [4, 4, 5]");
    close_model(m);

    o.dim = both;
    o.dims = 2;
    two_inputs(&g);
    m = open_model(&g, &o);
    assert_int_equal(m->batched, 0);
    expect_shape(m, "y", "f32 [3, 3, 5]");
    close_model(m);
}

/* A dimension without number and name, and one of -1, go by input and axis. */
static void nameless_dimensions(void **state)
{
    static const struct onnx_dim dims[] = { { "x.1", 7 }, { "x.2", 9 } };
    const struct onnx_options o = { .dim = dims, .dims = 2 };
    struct proto g = { 0 };
    struct onnx_model *m;

    (void)state;
    put_input(&g, "x", 1, "?,-1,?");
    put_output(&g, "x", 1, "?,?,?");
    m = open_model(&g, &o);
    expect_shape(m, "x", "f32 [1, 7, 9]");
    close_model(m);
}

/* Inputs that are constants: what follows from them is computed. */
static void bound_inputs(void **state)
{
    int64_t numbers[2] = { 3, 4 };
    const struct op_tensor shape = { .shape = { .type = OP_TYPE_I64, .rank = 1, .dim = { 2 } },
                                     .i = numbers };
    const struct onnx_binding bound = { "shape", &shape };
    const struct onnx_options o = { .bound = &bound, .bounds = 1 };
    struct proto g = { 0 };
    struct onnx_model *m;

    (void)state;
    put_input(&g, "shape", 7, "K");
    put_node(&g, "Add", "shape,shape", "y", NULL);
    put_output(&g, "y", 7, "2");
    m = open_model(&g, &o);
    assert_int_equal(m->graph->inputs, 0);
    expect_numbers(m, "y", 2, (const double[]){ 6, 8 });
    close_model(m);
}

/* --- tensors ------------------------------------------------------------------------------ */

static void initializer(struct proto *g, const char *name, uint32_t type, const char *dims,
                        struct proto *data)
{
    struct proto t = { 0 };

    put_tensor(&t, name, type, dims, NULL, 0);
    proto_raw(&t, data->at, data->bytes);
    proto_free(data);
    proto_message(g, ONNX_GRAPH_INITIALIZER, &t);
    put_output(g, name, type, dims);
}

static void typed_data(void **state)
{
    struct proto g = { 0 }, d = { 0 }, packed = { 0 };
    struct onnx_model *m;

    (void)state;
    for (unsigned k = 0; k < 3; k++)
        proto_f32(&d, ONNX_TENSOR_FLOAT_DATA, 0.5f * (float)k);
    initializer(&g, "floats", 1, "3", &d);
    proto_bytes(&d, ONNX_TENSOR_FLOAT_DATA, (const float[]){ 4, 5 }, 8);
    initializer(&g, "packed", 1, "2", &d);
    proto_bytes(&d, ONNX_TENSOR_DOUBLE_DATA, (const double[]){ 1e300 }, 8);
    initializer(&g, "double", 11, "", &d);
    proto_varint(&packed, 0x3c00);
    proto_varint(&packed, 0xc000);
    proto_message(&d, ONNX_TENSOR_INT32_DATA, &packed);
    initializer(&g, "half", 10, "2", &d);
    proto_int(&d, ONNX_TENSOR_INT32_DATA, (uint64_t)-3); /* ten bytes */
    proto_int(&d, ONNX_TENSOR_INT32_DATA, 0xfffffffe);   /* five: some writers */
    proto_int(&d, ONNX_TENSOR_INT32_DATA, 127);
    initializer(&g, "i8", 3, "3,1", &d);
    proto_int(&d, ONNX_TENSOR_INT32_DATA, 1);
    proto_int(&d, ONNX_TENSOR_INT32_DATA, 0);
    initializer(&g, "bool", 9, "2", &d);
    proto_int(&d, ONNX_TENSOR_INT64_DATA, (uint64_t)INT64_MIN);
    initializer(&g, "i64", 7, "1", &d);
    proto_int(&d, ONNX_TENSOR_UINT64_DATA, UINT32_MAX);
    initializer(&g, "u32", 12, "1", &d);
    initializer(&g, "none", 7, "0,5", &d);
    m = open_model(&g, NULL);
    expect_numbers(m, "floats", 3, (const double[]){ 0, 0.5, 1 });
    expect_numbers(m, "packed", 2, (const double[]){ 4, 5 });
    expect_numbers(m, "double", 1, (const double[]){ 1e300 });
    expect_numbers(m, "half", 2, (const double[]){ 1, -2 });
    expect_numbers(m, "i8", 3, (const double[]){ -3, -2, 127 });
    expect_numbers(m, "bool", 2, (const double[]){ 1, 0 });
    expect_numbers(m, "i64", 1, (const double[]){ (double)INT64_MIN });
    expect_numbers(m, "u32", 1, (const double[]){ UINT32_MAX });
    expect_numbers(m, "none", 0, NULL);
    expect_shape(m, "none", "i64 [0, 5]");
    close_model(m);
}

static void bare_tensor(void **state)
{
    struct proto t = { 0 };
    struct op_tensor out;

    (void)state;
    put_tensor(&t, NULL, 1, "2", (const float[]){ 1, -1 }, 8);
    assert_int_equal(onnx_tensor_read(t.at, t.bytes, "t.pb", &out), EMU_OK);
    assert_true(out.f[0] == 1 && out.f[1] == -1);
    op_tensor_free(&out);
    proto_free(&t);

    put_tensor(&t, NULL, 7, "1", NULL, 0);
    proto_int(&t, ONNX_TENSOR_INT64_DATA, 77);
    assert_int_equal(onnx_tensor_read(t.at, t.bytes, "t.pb", &out), EMU_OK);
    assert_int_equal(out.i[0], 77);
    op_tensor_free(&out);
    proto_free(&t);

    put_tensor(&t, NULL, 8, "1", NULL, 0);
    assert_int_equal(onnx_tensor_read(t.at, t.bytes, "t.pb", &out), EMU_BAD_FILE);
    assert_string_equal(ss_error(), "t.pb: texts cannot be computed with");
    assert_null(out.any);
    proto_free(&t);
    assert_int_equal(alloc_live(), 0);
}

/* A constant without `type`, as in files of the first version, and one of its own type. */
static void attributes(void **state)
{
    struct proto g = { 0 }, attrs = { 0 }, a = { 0 }, t = { 0 };
    struct onnx_model *m;

    (void)state;
    put_input(&g, "x", 1, "2,3");
    proto_text(&a, ONNX_ATTRIBUTE_NAME, "axis");
    proto_int(&a, ONNX_ATTRIBUTE_I, 0);
    proto_message(&attrs, ONNX_NODE_ATTRIBUTE, &a);
    put_node(&g, "Softmax", "x", "y", &attrs);
    put_tensor(&t, NULL, 7, "2", (const int64_t[]){ 8, 9 }, 16);
    put_attr_tensor(&attrs, "value", &t);
    put_node(&g, "Constant", "", "c", &attrs);
    put_output(&g, "y", 1, "2,3");
    put_output(&g, "c", 7, "2");
    m = open_model(&g, NULL);
    expect_no_problem(m);
    expect_numbers(m, "c", 2, (const double[]){ 8, 9 });
    close_model(m);
}

/* --- functions ---------------------------------------------------------------------------- */

/* Twice(x) = x + x; Four(x) = Twice(Twice(x)); Choose[axis](x) = Softmax[axis](x), axis 0. */
static void put_functions(struct proto *m)
{
    struct proto f = { 0 }, attrs = { 0 }, preset = { 0 };

    proto_text(&f, ONNX_FUNCTION_NAME, "Twice");
    proto_text(&f, ONNX_FUNCTION_DOMAIN, "own");
    proto_text(&f, ONNX_FUNCTION_INPUT, "a");
    proto_text(&f, ONNX_FUNCTION_INPUT, "unused");
    proto_text(&f, ONNX_FUNCTION_OUTPUT, "b");
    put_node_in(&f, ONNX_FUNCTION_NODE, "add", NULL, "Add", "a,a", "b", NULL);
    proto_message(m, ONNX_MODEL_FUNCTION, &f);

    proto_text(&f, ONNX_FUNCTION_NAME, "Four");
    proto_text(&f, ONNX_FUNCTION_DOMAIN, "own");
    proto_text(&f, ONNX_FUNCTION_INPUT, "a");
    proto_text(&f, ONNX_FUNCTION_OUTPUT, "b");
    proto_text(&f, ONNX_FUNCTION_OUTPUT, "a");
    put_node_in(&f, ONNX_FUNCTION_NODE, "first", "own", "Twice", "a", "t", NULL);
    put_node_in(&f, ONNX_FUNCTION_NODE, "second", "own", "Twice", "t", "b", NULL);
    proto_message(m, ONNX_MODEL_FUNCTION, &f);

    proto_text(&f, ONNX_FUNCTION_NAME, "Choose");
    proto_text(&f, ONNX_FUNCTION_DOMAIN, "own");
    proto_text(&f, ONNX_FUNCTION_INPUT, "a");
    proto_text(&f, ONNX_FUNCTION_OUTPUT, "b");
    proto_text(&f, ONNX_FUNCTION_ATTRIBUTE, "which");
    put_opset(&f, ONNX_FUNCTION_OPSET, "", 13);
    put_attr_ref(&attrs, "axis", "which", 2);
    put_node_in(&f, ONNX_FUNCTION_NODE, NULL, NULL, "Softmax", "a", "b", &attrs);
    proto_text(&preset, ONNX_ATTRIBUTE_NAME, "which");
    proto_int(&preset, ONNX_ATTRIBUTE_TYPE, 2);
    proto_int(&preset, ONNX_ATTRIBUTE_I, 0);
    proto_message(&f, ONNX_FUNCTION_PRESET, &preset);
    proto_message(m, ONNX_MODEL_FUNCTION, &f);
}

static const struct op_node *node(const struct onnx_model *m, const char *name)
{
    for (uint32_t k = 0; k < m->graph->nodes; k++) {
        if (!strcmp(m->graph->node[k].name, name))
            return &m->graph->node[k];
    }
    fail_msg("no node %s", name);
    return NULL;
}

static int64_t axis_of(const struct onnx_model *m, const char *name)
{
    const struct op_node *n = node(m, name);
    struct op_attr_spec spec;

    for (unsigned k = 0; op_row_attr(n->row, k, &spec); k++) {
        if (!strcmp(spec.name, "axis"))
            return n->attr[k].i;
    }
    fail_msg("no axis");
    return 0;
}

static void functions(void **state)
{
    struct proto g = { 0 }, attrs = { 0 };
    struct onnx_model *m;

    (void)state;
    put_functions(&file);
    put_input(&g, "x", 1, "2,3");
    put_input(&g, "up/t", 1, "1"); /* a name that the call would like */
    put_node_in(&g, ONNX_GRAPH_NODE, "/up/Four", "own", "Four", "x", "y,z", NULL);
    put_node_in(&g, ONNX_GRAPH_NODE, "p", "own", "Choose", "y", "p", NULL);
    put_attr_int(&attrs, "which", 1);
    put_node_in(&g, ONNX_GRAPH_NODE, "q", "own", "Choose", "p", "q", &attrs);
    put_output(&g, "q", 1, "2,3");
    put_output(&g, "z", 1, "2,3");
    m = open_model(&g, NULL);
    expect_no_problem(m);
    assert_int_equal(m->graph->nodes,
                     5); /* 2 Add, 2 Softmax, Identity for an output that is an input */
    assert_string_equal(node(m, "up.first.add")->block, "up.first");
    assert_int_equal(value(m, "y")->node, 1);
    expect_shape(m, "up/t_2", "f32 [2, 3]");
    expect_shape(m, "z", "f32 [2, 3]");
    assert_int_equal(axis_of(m, "p.Softmax"), 0);
    assert_int_equal(axis_of(m, "q.Softmax"), 1);
    close_model(m);
}

/* --- names -------------------------------------------------------------------------------- */

static void module_names(void **state)
{
    static const struct {
        const char *node, *name, *block;
    } row[] = {
        { "/conv1/Conv", "conv1", "" },
        { "/layer1/layer1.0/conv1/Conv", "layer1.0.conv1", "layer1.0" },
        { "/layer1/layer1.0/Add", "layer1.0.Add", "layer1.0" },
        { "/layer1/layer1.0/downsample/downsample.0/Conv", "layer1.0.downsample.0", "layer1.0" },
        { "/features/features.1/features.1.0/block/block.0/block.0.0/Conv",
          "features.1.0.block.0.0", "features.1.0" },
        { "/h.0/ln/Sub", "h.0.ln.Sub", "h.0" }, /* a module of several nodes */
        { "/h.0/ln/Pow", "h.0.ln.Pow", "h.0" },
        { "/Flatten", "Flatten", "" },
        { "Conv_17", "Conv_17", "" },
        { "layer1.0.conv1", "layer1.0.conv1", "layer1.0" },
        { "model/block1/conv", "model/block1/conv", "model/block1" },
        { "/a/", "/a/", "/a" },
        { "", "", "" },
    };
    struct onnx_modules m = { .module = NULL };
    char name[ONNX_TEXT_MAX + 1], block[ONNX_TEXT_MAX + 1];

    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(row); k++)
        assert_int_equal(onnx_modules_add(&m, SPAN(row[k].node)), EMU_OK);
    for (size_t k = 0; k < EMU_COUNT_OF(row); k++) {
        onnx_modules_name(&m, SPAN(row[k].node), name, block);
        assert_string_equal(name, row[k].name);
        assert_string_equal(block, row[k].block);
    }
    onnx_modules_free(&m);
    assert_int_equal(alloc_live(), 0);
}

/* Empty and equal names are made. */
static void node_names(void **state)
{
    struct proto g = { 0 };
    struct onnx_model *m;

    (void)state;
    put_input(&g, "x", 1, "2");
    put_node_in(&g, ONNX_GRAPH_NODE, "n", NULL, "Relu", "x", "a", NULL);
    put_node_in(&g, ONNX_GRAPH_NODE, "n", NULL, "Relu", "a", "b", NULL);
    put_node_in(&g, ONNX_GRAPH_NODE, "", NULL, "Relu", "b", "c", NULL);
    put_output(&g, "c", 1, "2");
    m = open_model(&g, NULL);
    assert_string_equal(m->graph->node[0].name, "n");
    assert_string_equal(m->graph->node[1].name, "Relu_2");
    assert_string_equal(m->graph->node[2].name, "Relu_3");
    close_model(m);
}

static void name_table(void **state)
{
    struct onnx_names t = { .names = 0 };
    char text[100][8];
    uint32_t at;

    (void)state;
    assert_int_equal(onnx_names_find(&t, SPAN("n1")), ONNX_NAME_NONE);
    for (unsigned k = 0; k < 100; k++) {
        snprintf(text[k], sizeof(text[k]), "n%u", k);
        assert_int_equal(onnx_names_add(&t, SPAN(text[k]), &at), EMU_OK);
        assert_int_equal(at, k);
    }
    for (unsigned k = 0; k < 100; k++)
        assert_int_equal(onnx_names_find(&t, SPAN(text[k])), k);
    assert_int_equal(onnx_names_find(&t, SPAN("n")), ONNX_NAME_NONE);
    onnx_names_free(&t);
    assert_int_equal(alloc_live(), 0);
}

/* --- files -------------------------------------------------------------------------------- */

static void write_file(const char *folder, const char *name, const void *data, size_t bytes)
{
    char path[300];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, bytes, f), bytes);
    fclose(f);
}

static void entry(struct proto *t, const char *key, const char *text)
{
    struct proto e = { 0 };

    proto_text(&e, ONNX_ENTRY_KEY, key);
    proto_text(&e, ONNX_ENTRY_VALUE, text);
    proto_message(t, ONNX_TENSOR_EXTERNAL_DATA, &e);
}

/* A model whose one output is an initializer in another file. */
static void put_external(const char *folder, const char *location, const char *offset,
                         const char *length)
{
    struct proto g = { 0 }, t = { 0 };

    put_tensor(&t, "w", 1, "2", NULL, 0);
    entry(&t, "location", location);
    if (offset)
        entry(&t, "offset", offset);
    if (length)
        entry(&t, "length", length);
    proto_int(&t, ONNX_TENSOR_DATA_LOCATION, 1);
    proto_message(&g, ONNX_GRAPH_INITIALIZER, &t);
    put_output(&g, "w", 1, "2");
    put_model(&file, 8, 13, &g);
    write_file(folder, "m.onnx", file.at, file.bytes);
}

static void external_data(void **state)
{
    static const float numbers[4] = { 1, 2, 3, 4 };
    char folder[] = "/tmp/test_onnx_XXXXXX", path[300], other[400];
    static const struct {
        const char *location, *offset, *length, *why; /* NULL: it is read */
    } row[] = {
        { "w.bin", "8", "8", NULL },
        { "sub/w.bin", "8", NULL, NULL },
        { "./w.bin", "8", NULL, NULL },
        { "w.bin", "12", NULL, "has 16" },
        { "w.bin", "17", NULL, "has 16" },
        { "w.bin", "99999999999999999999", NULL, "digits" },
        { "w.bin", "-1", NULL, "digits" },
        { "w.bin", "0", "16", "is said to have 16" },
        { "../w.bin", "0", NULL, "not below" },
        { "sub/../w.bin", "0", NULL, "not below" },
        { "/etc/passwd", "0", NULL, "not below" },
        { "", "0", NULL, "not below" },
        { "sub//w.bin", "0", NULL, "not below" },
        { "link.bin", "0", NULL, "link.bin" },
        { "to/w.bin", "0", NULL, "to/w.bin" },
        { "none.bin", "0", NULL, "No such file" },
        { "sub", "0", NULL, "sub: no regular file" },
        { "pipe", "0", NULL, "no regular file" },
    };

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/sub", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    write_file(folder, "w.bin", numbers, sizeof(numbers));
    write_file(folder, "sub/w.bin", numbers, sizeof(numbers));
    snprintf(path, sizeof(path), "%s/link.bin", folder);
    assert_int_equal(symlink("w.bin", path), 0);
    snprintf(path, sizeof(path), "%s/to", folder);
    assert_int_equal(symlink("sub", path), 0);
    snprintf(path, sizeof(path), "%s/pipe", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    snprintf(path, sizeof(path), "%s/m.onnx", folder);
    for (size_t k = 0; k < EMU_COUNT_OF(row); k++) {
        struct onnx_model *m;
        enum emu_status s;

        put_external(folder, row[k].location, row[k].offset, row[k].length);
        s = onnx_read_file(path, NULL, &m);
        if (row[k].why) {
            assert_true(s == EMU_BAD_FILE || s == EMU_IO);
            assert_null(m);
            snprintf(other, sizeof(other), "%s: initializer w: ", path);
            if (strncmp(ss_error(), other, strlen(other)) || !strstr(ss_error(), row[k].why))
                fail_msg("\"%s\" does not say \"%s\"", ss_error(), row[k].why);
            proto_free(&file);
        } else {
            if (s != EMU_OK)
                fail_msg("%s", ss_error());
            expect_numbers(m, "w", 2, (const double[]){ 3, 4 });
            close_model(m);
        }
    }
    snprintf(other, sizeof(other), "rm -r %s", folder);
    assert_int_equal(system(other), 0);
    assert_int_equal(alloc_live(), 0);
}

static void no_file(void **state)
{
    struct onnx_model *m;

    (void)state;
    assert_int_equal(onnx_read_file("/nowhere/m.onnx", NULL, &m), EMU_IO);
    assert_null(m);
    assert_int_equal(onnx_read_file("/", NULL, &m), EMU_IO);
    assert_non_null(strstr(ss_error(), "/: no regular file"));
    assert_int_equal(onnx_read_file("/dev/null", NULL, &m), EMU_IO);
    assert_int_equal(alloc_live(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_graph),
        cmocka_unit_test(dead_nodes),
        cmocka_unit_test(cut),
        cmocka_unit_test(unread_results),
        cmocka_unit_test(problems),
        cmocka_unit_test(graphs_inside_nodes),
        cmocka_unit_test(hints),
        cmocka_unit_test(unknown_fields),
        cmocka_unit_test(open_dimensions),
        cmocka_unit_test(nameless_dimensions),
        cmocka_unit_test(bound_inputs),
        cmocka_unit_test(typed_data),
        cmocka_unit_test(bare_tensor),
        cmocka_unit_test(attributes),
        cmocka_unit_test(functions),
        cmocka_unit_test(module_names),
        cmocka_unit_test(node_names),
        cmocka_unit_test(name_table),
        cmocka_unit_test(external_data),
        cmocka_unit_test(no_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
