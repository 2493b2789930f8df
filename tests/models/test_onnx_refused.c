/* test_onnx_refused.c - ONNX files that lie, ask for too much, or leave something open: each is
 * refused with the file, the node and what is wrong, and nothing stays behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "models/onnx/onnx.h"
#include "tests/fixtures/onnx_fixture.h"

static void expect_refused(const void *data, size_t bytes, const struct onnx_options *o,
                           enum emu_status status, const char *why)
{
    struct onnx_model *m;
    enum emu_status s = onnx_read_bytes(data, bytes, "f.onnx", o, &m);

    if (s != status)
        fail_msg("status %d, not %d: %s", (int)s, (int)status, why);
    assert_null(m);
    if (strncmp(ss_error(), "f.onnx: ", 8) || !strstr(ss_error(), why))
        fail_msg("\"%s\" does not say \"%s\"", ss_error(), why);
}

/* The model of the graph, and frees it. */
static void refuse_model(struct proto *m, const char *why)
{
    expect_refused(m->at, m->bytes, NULL, EMU_BAD_FILE, why);
    proto_free(m);
    assert_int_equal(alloc_live(), 0);
}

static void refuse(struct proto *graph, const char *why)
{
    struct proto m = { 0 };

    put_model(&m, 8, 13, graph);
    refuse_model(&m, why);
}

/* x f32 [2] -> Relu -> y, with more written before the node. */
static struct proto relu_graph(void)
{
    struct proto g = { 0 };

    put_input(&g, "x", 1, "2");
    put_node(&g, "Relu", "x", "y", NULL);
    put_output(&g, "y", 1, "2");
    return g;
}

/* --- bytes -------------------------------------------------------------------------------- */

static void wire(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *why;
    } row[] = {
        { "", 0, "no ONNX file, but an empty file" },
        { "\x08\x08", 2, "no ONNX file: it has no graph" },
        { "\x3a\x00", 2, "no ONNX file: it has no version of the format" },
        { "PK\x03\x04", 4, "no ONNX file, but a zip archive, as torch.save() writes: export the" },
        { "PK\x03", 3, "no ONNX file: byte 2" },
        { "\x80\x02}", 3, "but a pickle, as torch.save() once wrote: export the network" },
        { "version https://git-lfs.github.com/spec/v1\n", 42,
          "but a Git LFS pointer, not the file" },
        { " \n<!DOCTYPE html>", 17, "but a page of a website" },
        { "<HTML>", 6, "but a page of a website" },
        { "<htm", 4, "no ONNX file: byte" },
        { "\x1c\x00\x00\x00TFL3", 8, "but a TensorFlow Lite model: convert it with tf2onnx" },
        { "\x10\x00\x00\x00\x00\x00\x00\x00{\"a\"", 12,
          "but a safetensors file: it has weights, but no network" },
        { "\x89HDF\r\n\x1a\n", 8, "but an HDF5 file, as Keras writes: convert it with tf2onnx" },
        { "\x08\x08\x12\x05x", 5, "it ends too early, or is damaged: byte 4: a field of 5 bytes" },
        { "\x08", 1, "byte 1: a number that goes on behind its message" },
        { "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12,
          "byte 1: a number that has more" },
        { "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11, "byte 1: a number that has more" },
        { "\x12\x05"
          "abcd",
          6, "byte 2: a field of 5 bytes in a message that has 4 left" },
        { "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, "a field of 18446744073709551615" },
        { "\x08\x08\x3a\x04\x0a\x05\x01\x02", 8,
          "byte 6: a field of 5 bytes in a message that has 2" },
        { "\x0b\x0c", 2, "byte 0: a field of the type 3" },
        { "\x0e", 1, "byte 0: a field of the type 6" },
        { "\x00\x00", 2, "byte 0: no field has the number 0" },
        { "\x3a\x00\x3a\x00", 4, "two graphs" },
        { "\x0d\x01\x02\x03\x04", 5, "byte 0: field 1 (IR_VERSION) has another type" },
    };

    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(row); k++)
        expect_refused(row[k].bytes, row[k].n, NULL, EMU_BAD_FILE, row[k].why);
    assert_int_equal(alloc_live(), 0);
}

/* A model with some of everything. */
static void put_rich(struct proto *m)
{
    static const float w[2] = { 1, 2 };
    struct proto g = { 0 }, f = { 0 }, attrs = { 0 }, t = { 0 };

    proto_text(&f, ONNX_FUNCTION_NAME, "Twice");
    proto_text(&f, ONNX_FUNCTION_DOMAIN, "own");
    proto_text(&f, ONNX_FUNCTION_INPUT, "a");
    proto_text(&f, ONNX_FUNCTION_OUTPUT, "b");
    proto_text(&f, ONNX_FUNCTION_OUTPUT, "a");
    proto_text(&f, ONNX_FUNCTION_ATTRIBUTE, "n");
    put_node_in(&f, ONNX_FUNCTION_NODE, "add", NULL, "Add", "a,a", "b", NULL);
    proto_message(m, ONNX_MODEL_FUNCTION, &f);
    put_input(&g, "x", 1, "N,2");
    put_initializer_f32(&g, "w", "2", w, 2);
    put_tensor(&t, "v", 1, "2", NULL, 0);
    proto_f32(&t, ONNX_TENSOR_FLOAT_DATA, 1);
    proto_f32(&t, ONNX_TENSOR_FLOAT_DATA, 2);
    proto_message(&g, ONNX_GRAPH_INITIALIZER, &t);
    put_value(&g, ONNX_GRAPH_VALUE_INFO, "s", 1, "N,3");
    put_node_in(&g, ONNX_GRAPH_NODE, "/a/a.0/Add", NULL, "Add", "x,w", "s", NULL);
    put_attr_int(&attrs, "n", 3);
    put_node_in(&g, ONNX_GRAPH_NODE, "/a/a.0/T", "own", "Twice", "s", "t,u", &attrs);
    put_tensor(&t, NULL, 1, "2", w, 8);
    put_attr_tensor(&attrs, "value", &t);
    put_node(&g, "Constant", "", "c", &attrs);
    put_node(&g, "Add", "c,v", "d", NULL);
    put_node(&g, "Mul", "t,d", "e", NULL);
    put_attr_int(&attrs, "axis", -1);
    put_node(&g, "Softmax", "e", "y", &attrs);
    put_node_in(&g, ONNX_GRAPH_NODE, NULL, "other", "Op", "u", "z", NULL);
    put_output(&g, "y", 1, "N,2");
    put_output(&g, "z", 1, "N,2");
    put_output(&g, "u", 1, "N,2");
    put_model(m, 8, 13, &g);
}

/* Cut anywhere, and with any bit turned, a file is read or refused with a message. */
static void damaged(void **state)
{
    struct proto m = { 0 };
    struct onnx_model *out;

    (void)state;
    put_rich(&m);
    assert_int_equal(onnx_read_bytes(m.at, m.bytes, "f.onnx", NULL, &out), EMU_OK);
    onnx_model_free(out);
    for (size_t k = 0; k < m.bytes; k++) {
        uint8_t *part = emu_alloc(k, 1); /* so that a sanitizer sees the end */

        memcpy(part, m.at, k);
        expect_refused(part, k, NULL, EMU_BAD_FILE, "");
        ss_free(part);
    }
    for (size_t k = 0; k < 8 * m.bytes; k++) {
        m.at[k / 8] ^= (uint8_t)(1u << k % 8);
        if (onnx_read_bytes(m.at, m.bytes, "f.onnx", NULL, &out) != EMU_OK)
            assert_true(!out && !strncmp(ss_error(), "f.onnx: ", 8));
        onnx_model_free(out);
        m.at[k / 8] ^= (uint8_t)(1u << k % 8);
    }
    proto_free(&m);
    assert_int_equal(alloc_live(), 0);
}

/* Each allocation fails once. */
static void out_of_memory(void **state)
{
    struct proto m = { 0 };
    struct onnx_model *out;
    long before, n;

    (void)state;
    put_rich(&m);
    before = alloc_live();
    for (n = 0;; n++) {
        enum emu_status s;

        alloc_test_fail_at(n);
        s = onnx_read_bytes(m.at, m.bytes, "f.onnx", NULL, &out);
        alloc_test_fail_at(-1);
        if (s == EMU_OK)
            break;
        assert_int_equal(s, EMU_NO_MEMORY);
        assert_null(out);
        assert_int_equal(alloc_live(), before);
    }
    assert_true(n > 50);
    onnx_model_free(out);
    proto_free(&m);
    assert_int_equal(alloc_live(), 0);
}

/* --- the model ---------------------------------------------------------------------------- */

static void versions(void **state)
{
    struct proto m = { 0 }, g = relu_graph();
    struct onnx_model *out;

    (void)state;
    put_model(&m, 8, 27, &g);
    refuse_model(&m, "version 27 of the operators: 1 to 26 are known, and not what became of Relu "
                     "there; export it with opset_version=17, or convert it with "
                     "onnx.version_converter");
    g = relu_graph();
    put_model(&m, 8, (uint64_t)-1, &g);
    refuse_model(&m, "version -1 of the operators");
    g = relu_graph();
    put_opset(&m, ONNX_MODEL_OPSET, "ai.onnx", 12);
    put_model(&m, 8, 13, &g);
    refuse_model(&m, "versions 12 and 13");
    g = relu_graph();
    put_opset(&m, ONNX_MODEL_OPSET, "com.acme", 99);
    put_model(&m, 3, 0, &g);
    refuse_model(&m, "node of y (Relu): the file does not name a version of the operators");
    g = relu_graph();
    put_model(&m, 2, 0, &g);
    assert_int_equal(onnx_read_bytes(m.at, m.bytes, "f.onnx", NULL, &out), EMU_OK);
    assert_int_equal(out->opset, 1);
    onnx_model_free(out);
    proto_free(&m);
    assert_int_equal(alloc_live(), 0);
}

/* A graph whose one input, output and initializer have a name. */
static void refuse_name(const char *name, const char *why)
{
    struct proto g = { 0 };

    put_input(&g, name, 1, "2");
    put_output(&g, name, 1, "2");
    refuse(&g, why);
    put_initializer_f32(&g, name, "2", (const float[]){ 1, 2 }, 2);
    refuse(&g, why);
    put_input(&g, "x", 1, "2");
    put_node(&g, "Relu", "x", name, NULL);
    put_output(&g, name, 1, "2");
    refuse(&g, *name ? why : "a value without a name");
}

static void names(void **state)
{
    char longest[1026] = "";
    struct proto g = { 0 }, t = { 0 };

    (void)state;
    memset(longest, 'x', 1025);
    refuse_name(longest, "a text of 1025 bytes: at most 1024");
    refuse_name("a\nb", "control character");
    refuse_name("a\x7f", "control character");
    refuse_name("\xc2\x85", "control character");
    refuse_name("\xff", "not UTF-8");
    refuse_name("\xc3", "not UTF-8");
    proto_bytes(&t, ONNX_TENSOR_NAME, "a\0b", 3);
    proto_message(&g, ONNX_GRAPH_INITIALIZER, &t);
    refuse(&g, "control character");
    put_initializer_f32(&g, "", "2", (const float[]){ 1, 2 }, 2);
    refuse(&g, "initializer : a value without a name");
    g = relu_graph();
    put_initializer_f32(&g, "w", "1", (const float[]){ 1 }, 1);
    put_initializer_f32(&g, "w", "1", (const float[]){ 1 }, 1);
    refuse(&g, "initializer w: two values are called w");
    g = relu_graph();
    put_input(&g, "x", 1, "2");
    refuse(&g, "two values are called x");
    g = relu_graph();
    put_node_in(&g, ONNX_GRAPH_NODE, "twice", NULL, "Relu", "x", "y", NULL);
    refuse(&g, "node twice (Relu): two values are called y");
    g = relu_graph();
    put_node_in(&g, ONNX_GRAPH_NODE, "n", NULL, "Split", "x", "a,a", NULL);
    refuse(&g, "node n (Split): two values are called a");
    g = relu_graph();
    put_node_in(&g, ONNX_GRAPH_NODE, "n", NULL, "Relu", "y", "x", NULL);
    refuse(&g, "node n (Relu): two values are called x");
}

/* --- the graph ---------------------------------------------------------------------------- */

static void order(void **state)
{
    struct proto g = { 0 };

    (void)state;
    put_node_in(&g, ONNX_GRAPH_NODE, "n", NULL, "Relu", "x", "y", NULL);
    put_output(&g, "y", 1, "2");
    refuse(&g, "node n (Relu): it reads x, which nothing before it makes");
    put_input(&g, "x", 1, "2");
    put_node_in(&g, ONNX_GRAPH_NODE, "n", NULL, "Add", "x,z", "y", NULL);
    put_node_in(&g, ONNX_GRAPH_NODE, "m", NULL, "Relu", "y", "z", NULL);
    put_output(&g, "y", 1, "2");
    refuse(&g, "node n (Add): it reads z, which nothing before it makes");
    put_input(&g, "x", 1, "2");
    put_node_in(&g, ONNX_GRAPH_NODE, "n", NULL, "Add", "x,y", "y", NULL);
    put_output(&g, "y", 1, "2");
    refuse(&g, "node n (Add): it reads y, which nothing before it makes");
    g = relu_graph();
    put_output(&g, "z", 1, "2");
    refuse(&g, "output z: nothing makes it");
    put_input(&g, "x", 1, "2");
    refuse(&g, "it has no outputs");
    g = relu_graph();
    put_node_in(&g, ONNX_GRAPH_NODE, "n", NULL, "", "x", "z", NULL);
    refuse(&g, "node n (): it has no operator");
    g = relu_graph();
    proto_bytes(&g, ONNX_GRAPH_SPARSE, NULL, 0);
    refuse(&g, "sparse initializers are not built");
}

static void inputs(void **state)
{
    static const struct {
        const char *dims, *why; /* dims NULL: no shape */
    } row[] = {
        { NULL, "input x: it has no shape" },
        { "1,2,3,4,5,6,7,8,9", "more than 8 dimensions" },
        { "4294967296", "dimension 0 is 4294967296" },
        { "65536,65536,2", "input x: more than 2^32 elements" },
    };

    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(row); k++) {
        struct proto g = { 0 };

        put_input(&g, "x", 1, row[k].dims);
        put_output(&g, "x", 1, "1");
        refuse(&g, row[k].why);
    }
}

static void options(void **state)
{
    static const struct onnx_dim dim[] = { { "width", 3 }, { "depth", 5 } };
    static const char *const nowhere = "nowhere";
    float numbers[2] = { 1, 2 };
    double f[2] = { 1, 2 };
    const struct op_tensor t = { .shape = { .type = OP_TYPE_F32, .rank = 1, .dim = { 2 } },
                                 .f = f };
    const struct onnx_binding x = { "x", &t }, w = { "w", &t };
    struct onnx_options o = { .dim = dim, .dims = 1 };
    struct proto g = { 0 }, m = { 0 };

    (void)state;
    put_input(&g, "x", 1, "N,3,height,width");
    put_input(&g, "ids", 7, "N,?");
    put_initializer_f32(&g, "w", "2", numbers, 2);
    put_input(&g, "w", 1, "2");
    put_output(&g, "x", 1, "N,3,height,width");
    put_model(&m, 8, 13, &g);
    expect_refused(m.at, m.bytes, &o, EMU_USAGE,
                   "sizes that the file leaves open: x [N, 3, height, 3]: N, height; ids [N, "
                   "ids.1]: N, ids.1; give each one: --dim N=N");
    o = (struct onnx_options){ .output = &nowhere, .outputs = 1 };
    expect_refused(m.at, m.bytes, &o, EMU_USAGE, "no value is called nowhere");
    o = (struct onnx_options){ .bound = &x, .bounds = 1 };
    expect_refused(m.at, m.bytes, &o, EMU_BAD_FILE, "input x: what is given for it is f32 [2]");
    proto_free(&m);

    g = relu_graph();
    put_initializer_f32(&g, "w", "2", numbers, 2);
    put_input(&g, "w", 1, "2");
    put_model(&m, 8, 13, &g);
    o = (struct onnx_options){ .dim = dim + 1, .dims = 1 };
    expect_refused(m.at, m.bytes, &o, EMU_USAGE, "no input has an open dimension depth");
    o = (struct onnx_options){ .bound = &w, .bounds = 1 };
    expect_refused(m.at, m.bytes, &o, EMU_USAGE, "no input is called w");
    proto_free(&m);
    assert_int_equal(alloc_live(), 0);
}

/* --- tensors ------------------------------------------------------------------------------ */

/* A graph with one initializer, which is its output. data: fields besides dims and type. */
static void refuse_tensor(uint32_t type, const char *dims, struct proto *data, const char *why)
{
    struct proto g = { 0 }, t = { 0 };

    put_tensor(&t, "w", type, dims, NULL, 0);
    proto_raw(&t, data->at, data->bytes);
    proto_free(data);
    proto_message(&g, ONNX_GRAPH_INITIALIZER, &t);
    put_output(&g, "w", type, dims);
    refuse(&g, why);
}

static void tensors(void **state)
{
    static const uint8_t zeros[16];
    struct proto d = { 0 };

    (void)state;
    proto_bytes(&d, ONNX_TENSOR_RAW_DATA, zeros, 7);
    refuse_tensor(1, "2", &d, "initializer w: f32 [2] is 8 bytes of data, it has 7");
    proto_bytes(&d, ONNX_TENSOR_RAW_DATA, zeros, 9);
    refuse_tensor(1, "2", &d, "is 8 bytes of data, it has 9");
    refuse_tensor(1, "2", &d, "is 8 bytes of data, it has 0");
    proto_bytes(&d, ONNX_TENSOR_RAW_DATA, zeros, 4);
    refuse_tensor(1, "0", &d, "is 0 bytes of data, it has 4");
    refuse_tensor(1, "4611686018427387904,4611686018427387904", &d, "dimension 0 is 46116860184");
    refuse_tensor(1, "-1", &d, "dimension 0 is -1");
    refuse_tensor(1, "4294967295,4294967295", &d, "more than 2^32 elements");
    refuse_tensor(1, "65536,65536", &d, "is 17179869184 bytes of data, it has 0");
    refuse_tensor(1, "1,1,1,1,1,1,1,1,1", &d, "more than 8 dimensions");
    proto_bytes(&d, ONNX_TENSOR_RAW_DATA, zeros, 4);
    proto_f32(&d, ONNX_TENSOR_FLOAT_DATA, 1);
    refuse_tensor(1, "1", &d, "data in several places");
    proto_bytes(&d, ONNX_TENSOR_RAW_DATA, zeros, 4);
    proto_bytes(&d, ONNX_TENSOR_RAW_DATA, zeros, 4);
    refuse_tensor(1, "1", &d, "data in several places");
    proto_f32(&d, ONNX_TENSOR_FLOAT_DATA, 1);
    proto_int(&d, ONNX_TENSOR_INT32_DATA, 1);
    refuse_tensor(1, "1", &d, "data in several places");
    proto_int(&d, ONNX_TENSOR_INT32_DATA, 1);
    refuse_tensor(1, "1", &d, "numbers in the field of another type");
    proto_int(&d, ONNX_TENSOR_INT64_DATA, 1);
    refuse_tensor(6, "1", &d, "numbers in the field of another type");
    proto_int(&d, ONNX_TENSOR_INT64_DATA, 1);
    refuse_tensor(7, "2", &d, "i64 [2] is 2 numbers, it has 1");
    proto_int(&d, ONNX_TENSOR_INT32_DATA, 65536);
    refuse_tensor(10, "1", &d, "65536 is no f16");
    proto_int(&d, ONNX_TENSOR_INT32_DATA, 2);
    refuse_tensor(9, "1", &d, "2 is no bool");
    proto_int(&d, ONNX_TENSOR_INT32_DATA, 256);
    refuse_tensor(2, "1", &d, "256 is no u8");
    proto_int(&d, ONNX_TENSOR_INT32_DATA, (uint64_t)-129);
    refuse_tensor(3, "1", &d, "-129 is no i8");
    proto_int(&d, ONNX_TENSOR_INT32_DATA, 1ull << 32);
    refuse_tensor(6, "1", &d, "4294967296 is no i32");
    proto_int(&d, ONNX_TENSOR_UINT64_DATA, 1ull << 32);
    refuse_tensor(12, "1", &d, "4294967296 is no u32");
    proto_bytes(&d, ONNX_TENSOR_FLOAT_DATA, zeros, 7);
    refuse_tensor(1, "2", &d, "field 4 (FLOAT_DATA) has another type");
    proto_bytes(&d, ONNX_TENSOR_INT64_DATA, "\x80", 1);
    refuse_tensor(7, "0", &d, "field 7 (INT64_DATA) has another type");
    proto_bytes(&d, ONNX_TENSOR_SEGMENT, NULL, 0);
    refuse_tensor(1, "0", &d, "a tensor in segments is not built");
    proto_int(&d, ONNX_TENSOR_DATA_LOCATION, 2);
    refuse_tensor(1, "0", &d, "in place 2");
    proto_int(&d, ONNX_TENSOR_DATA_LOCATION, 1);
    refuse_tensor(1, "1", &d, "which is not looked for");
}

/* --- nodes -------------------------------------------------------------------------------- */

/* Softmax with one attribute of these fields. */
static void refuse_attribute(struct proto *a, const char *why)
{
    struct proto g = { 0 }, attrs = { 0 };

    proto_message(&attrs, ONNX_NODE_ATTRIBUTE, a);
    put_input(&g, "x", 1, "2");
    put_node_in(&g, ONNX_GRAPH_NODE, "n", NULL, "Softmax", "x", "y", &attrs);
    put_output(&g, "y", 1, "2");
    refuse(&g, why);
}

static void attributes(void **state)
{
    struct proto a = { 0 }, t = { 0 }, g = { 0 }, attrs = { 0 };

    (void)state;
    proto_int(&a, ONNX_ATTRIBUTE_I, 1);
    refuse_attribute(&a, "node n (Softmax): an attribute without a name");
    proto_text(&a, ONNX_ATTRIBUTE_NAME, "axis");
    refuse_attribute(&a, "attribute axis has no value");
    proto_text(&a, ONNX_ATTRIBUTE_NAME, "axis");
    proto_int(&a, ONNX_ATTRIBUTE_I, 1);
    proto_int(&a, ONNX_ATTRIBUTE_TYPE, 1);
    refuse_attribute(&a, "attribute axis is said to be a float and is an integer");
    proto_text(&a, ONNX_ATTRIBUTE_NAME, "axis");
    proto_int(&a, ONNX_ATTRIBUTE_I, 1);
    proto_f32(&a, ONNX_ATTRIBUTE_F, 1);
    refuse_attribute(&a, "it is an integer and a float");
    proto_text(&a, ONNX_ATTRIBUTE_NAME, "axis");
    proto_int(&a, ONNX_ATTRIBUTE_TYPE, 15);
    refuse_attribute(&a, "attribute axis: ONNX has no type 15");
    proto_text(&a, ONNX_ATTRIBUTE_NAME, "axis");
    proto_text(&a, ONNX_ATTRIBUTE_REF, "which");
    refuse_attribute(&a, "names one of a function, and is in none");
    proto_text(&a, ONNX_ATTRIBUTE_NAME, "axis");
    proto_bytes(&a, ONNX_ATTRIBUTE_T, NULL, 0);
    proto_bytes(&a, ONNX_ATTRIBUTE_T, NULL, 0);
    refuse_attribute(&a, "it is a tensor twice");
    proto_text(&a, ONNX_ATTRIBUTE_NAME, "axis");
    put_tensor(&t, NULL, 1, "2", "1234", 4);
    proto_message(&a, ONNX_ATTRIBUTE_T, &t);
    refuse_attribute(&a, "node n (Softmax): attribute axis: f32 [2] is 8 bytes of data, it has 4");
    put_input(&g, "x", 1, "2");
    put_attr_int(&attrs, "axis", 0);
    put_attr_int(&attrs, "axis", 0);
    put_node_in(&g, ONNX_GRAPH_NODE, "n", NULL, "Softmax", "x", "y", &attrs);
    put_output(&g, "y", 1, "2");
    refuse(&g, "attribute axis is there twice");
}

/* Well formed, but not built, or of another kind than the operator's: a problem of the node. */
static void expect_problem(const char *op, struct proto *attrs, const char *why)
{
    struct proto g = { 0 }, m = { 0 };
    struct onnx_model *out;

    put_input(&g, "x", 1, "2");
    put_node(&g, op, "x", "y", attrs);
    put_output(&g, "y", 1, "2");
    put_model(&m, 8, 13, &g);
    assert_int_equal(onnx_read_bytes(m.at, m.bytes, "f.onnx", NULL, &out), EMU_OK);
    assert_int_equal(out->graph->problems, 1);
    if (!strstr(out->graph->problem[0].why, why))
        fail_msg("\"%s\" does not say \"%s\"", out->graph->problem[0].why, why);
    onnx_model_free(out);
    proto_free(&m);
    assert_int_equal(alloc_live(), 0);
}

static void not_built(void **state)
{
    struct proto attrs = { 0 }, a = { 0 }, t = { 0 };

    (void)state;
    put_attr_f32(&attrs, "axis", 1);
    expect_problem("Softmax", &attrs, "axis");
    put_attr_text(&attrs, "axis", "a\nb");
    expect_problem("Softmax", &attrs, "attribute axis: a text with a control character");
    put_tensor(&t, NULL, 8, "2", NULL, 0);
    put_attr_tensor(&attrs, "value", &t);
    expect_problem("Relu", &attrs, "attribute value: texts cannot be computed with");
    proto_text(&a, ONNX_ATTRIBUTE_NAME, "value");
    proto_bytes(&a, ONNX_ATTRIBUTE_SPARSE, NULL, 0);
    proto_message(&attrs, ONNX_NODE_ATTRIBUTE, &a);
    expect_problem("Relu", &attrs, "attribute value is a sparse tensor, which is not built");
}

static void limits(void **state)
{
    struct proto g = { 0 }, attrs = { 0 }, n = { 0 };

    (void)state;
    for (int k = 0; k < 65; k++)
        put_attr_int(&attrs, "axis", 0);
    put_node(&g, "Relu", "x", "y", &attrs);
    refuse(&g, "65 attributes: at most 64");
    for (int k = 0; k < 4097; k++)
        proto_text(&n, ONNX_NODE_INPUT, "");
    proto_text(&n, ONNX_NODE_OP, "Concat");
    proto_message(&g, ONNX_GRAPH_NODE, &n);
    refuse(&g, "node of  (Concat): 4097 inputs and 0 outputs: at most 4096");
    for (int k = 0; k < 2 << 20; k++) /* two bytes each */
        proto_bytes(&g, ONNX_GRAPH_NODE, NULL, 0);
    refuse(&g, "more than 1048576 nodes");
}

/* --- functions ---------------------------------------------------------------------------- */

/* Function F`k`: calls of others, then what is given. */
static void put_function(struct proto *m, unsigned number, unsigned calls, unsigned of)
{
    char name[16], other[16], in[16] = "a", out[16];
    struct proto f = { 0 };

    snprintf(name, sizeof(name), "F%u", number);
    snprintf(other, sizeof(other), "F%u", of);
    proto_text(&f, ONNX_FUNCTION_NAME, name);
    proto_text(&f, ONNX_FUNCTION_INPUT, "a");
    for (unsigned k = 0; k < calls; k++) {
        snprintf(out, sizeof(out), "b%u", k);
        put_node_in(&f, ONNX_FUNCTION_NODE, "call", NULL, other, in, out, NULL);
        memcpy(in, out, sizeof(in));
    }
    proto_text(&f, ONNX_FUNCTION_OUTPUT, in);
    proto_message(m, ONNX_MODEL_FUNCTION, &f);
}

static void refuse_call(struct proto *m, const char *op, const char *in, const char *out,
                        const char *why)
{
    struct proto g = { 0 };

    put_input(&g, "x", 1, "2");
    put_node_in(&g, ONNX_GRAPH_NODE, "n", NULL, op, in, out, NULL);
    put_output(&g, "y", 1, "2");
    put_model(m, 8, 13, &g);
    refuse_model(m, why);
}

static void functions(void **state)
{
    struct proto m = { 0 }, g = { 0 }, attrs = { 0 }, f = { 0 };

    (void)state;
    put_function(&m, 0, 1, 0);
    refuse_call(&m, "F0", "x", "y", "node n (F0): node call (F0): the function calls itself");
    put_function(&m, 0, 1, 1);
    put_function(&m, 1, 1, 0);
    refuse_call(&m, "F0", "x", "y", "the function calls itself");
    for (unsigned k = 0; k < 9; k++)
        put_function(&m, k, k ? 1 : 0, k - 1);
    refuse_call(&m, "F8", "x", "y", "more than 8 deep");
    put_function(&m, 0, 0, 0);
    put_function(&m, 0, 0, 0);
    refuse_call(&m, "F0", "x", "y", "two functions are called F0");
    put_function(&m, 0, 0, 0);
    refuse_call(&m, "F0", "x,x", "y", "2 inputs and 1 outputs; the function has 1 and 1");
    put_function(&m, 0, 0, 0);
    refuse_call(&m, "F0", "", "y", "its output a is an input that is absent");

    put_function(&m, 0, 0, 0);
    put_input(&g, "x", 1, "2");
    put_attr_int(&attrs, "axis", 0);
    put_node_in(&g, ONNX_GRAPH_NODE, "n", NULL, "F0", "x", "y", &attrs);
    put_output(&g, "y", 1, "2");
    put_model(&m, 8, 13, &g);
    refuse_model(&m, "it has attributes that the function has not");

    proto_text(&f, ONNX_FUNCTION_NAME, "F");
    put_node_in(&f, ONNX_FUNCTION_NODE, "n", NULL, "Relu", "a", "b", NULL);
    proto_message(&m, ONNX_MODEL_FUNCTION, &f);
    refuse_call(&m, "F", "x", "y", "function F: node n (Relu): it reads a, which nothing");
}

/* Eight functions that call one another a hundred times: 10^16 nodes of 20 KB of file. */
static void endless_calls(void **state)
{
    struct proto m = { 0 };

    (void)state;
    for (unsigned k = 0; k < 8; k++)
        put_function(&m, k, k ? 100 : 0, k - 1);
    refuse_call(&m, "F7", "x", "y", "too much memory for a file of");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wire),          cmocka_unit_test(damaged),
        cmocka_unit_test(out_of_memory), cmocka_unit_test(versions),
        cmocka_unit_test(names),         cmocka_unit_test(order),
        cmocka_unit_test(inputs),        cmocka_unit_test(options),
        cmocka_unit_test(tensors),       cmocka_unit_test(attributes),
        cmocka_unit_test(not_built),     cmocka_unit_test(limits),
        cmocka_unit_test(functions),     cmocka_unit_test(endless_calls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
