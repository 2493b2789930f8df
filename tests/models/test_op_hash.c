/* test_op_hash.c - the key of a graph: everything that becomes a program changes it, one thing at a
 * time, and nothing else does; the same of the options of lowering.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emu/base/alloc.h"
#include "models/lower/lower_options.h"
#include "models/operators/op_hash.h"
#include "models/operators/operators.h"
#include "tests/fixtures/op_lines.h"

static struct op_graph *g;
static uint32_t x, w, state, conv;

static uint32_t value(const char *name, enum op_value_kind kind, unsigned rank, const uint32_t *dim)
{
    struct op_shape s = { .type = OP_TYPE_F32, .rank = rank };
    uint32_t v;

    memcpy(s.dim, dim, rank * sizeof(*dim));
    assert_int_equal(op_value_new(g, name, kind, &s, &v), EMU_OK);
    return v;
}

static uint32_t node(const char *op, const char *name, unsigned ins, const uint32_t *in,
                     const struct op_named_attr *attr, unsigned attrs)
{
    return op_line_of(g,
                      (struct op_request){ .op = op,
                                           .name = name,
                                           .block = "b",
                                           .in = in,
                                           .ins = ins,
                                           .attr = attr,
                                           .attrs = attrs },
                      name);
}

/* x and w through a convolution, plus a state. */
static int begin(void **unused)
{
    float numbers[2 * 3 * 3 * 3], first[2] = { 1, 2 };
    static const int64_t pads[] = { 1, 1, 1, 1 }, strides[] = { 2, 2 };
    const struct op_named_attr attr[] = {
        { "pads", { .kind = OP_ATTR_INTS, .count = 4, .ints = pads } },
        { "strides", { .kind = OP_ATTR_INTS, .count = 2, .ints = strides } },
    };
    uint32_t y;

    (void)unused;
    assert_int_equal(op_graph_new("test", &g), EMU_OK);
    for (unsigned k = 0; k < EMU_COUNT_OF(numbers); k++)
        numbers[k] = (float)k;
    x = value("x", OP_INPUT, 4, (uint32_t[]){ 1, 3, 8, 8 });
    w = value("w", OP_PARAM, 4, (uint32_t[]){ 2, 3, 3, 3 });
    state = value("state", OP_STATE, 4, (uint32_t[]){ 1, 2, 1, 1 });
    g->value[w].data = op_graph_copy(g, numbers, sizeof(numbers));
    g->value[state].data = op_graph_copy(g, first, sizeof(first));
    assert_int_equal(op_graph_input(g, x), EMU_OK);
    assert_int_equal(op_graph_input(g, state), EMU_OK);
    conv = g->nodes;
    y = node("Conv", "conv", 2, (uint32_t[]){ x, w }, attr, EMU_COUNT_OF(attr));
    y = node("Add", "sum", 2, (uint32_t[]){ y, state }, NULL, 0);
    assert_int_equal(op_graph_output(g, y), EMU_OK);
    return 0;
}

static int end(void **unused)
{
    (void)unused;
    op_graph_free(g);
    return alloc_live() != 0;
}

static struct hash128 hash(void)
{
    struct hash128 h;

    assert_int_equal(op_graph_hash(g, &h), EMU_OK);
    return h;
}

/* Flips a bit of a member while the hash is taken. */
static int counts(const void *member)
{
    uint8_t *byte = (uint8_t *)(uintptr_t)member;
    struct hash128 before = hash(), after;

    *byte ^= 1;
    after = hash();
    *byte ^= 1;
    assert_true(hash128_equal(before, hash()));
    return !hash128_equal(before, after);
}

static void same_graph(void **unused)
{
    struct hash128 first = hash();

    end(unused);
    begin(unused);
    assert_true(hash128_equal(first, hash()));
}

static void values_count(void **unused)
{
    (void)unused;
    assert_true(counts(g->value[x].name));
    assert_true(counts(&g->value[x].shape.dim[2]));
    assert_true(counts(&g->value[x].twin));
    assert_true(counts((const uint8_t *)g->value[w].data + 17));
    assert_true(counts(&g->input[0]));
    assert_true(counts(&g->output[0]));
    assert_true(counts(&g->f32_nodes));
}

/* Numbers that a run begins with are written by the host; of a state that is no input they are not.
 */
static void first_numbers(void **unused)
{
    (void)unused;
    assert_false(counts(g->value[state].data));
    g->inputs = 1;
    assert_true(counts(g->value[state].data));
}

static void nodes_count(void **unused)
{
    struct op_node *n = &g->node[conv];
    struct hash128 before;
    unsigned lists = 0;

    (void)unused;
    assert_true(counts(n->name));
    assert_true(counts(n->block));
    assert_true(counts(&n->precision));
    assert_true(counts(&n->in[0]));
    for (uint32_t k = 0; k < n->attrs; k++) {
        struct op_attr *a = (struct op_attr *)(uintptr_t)&n->attr[k];

        if (a->kind == OP_ATTR_INT)
            assert_true(counts(&a->i));
        else if (a->kind == OP_ATTR_FLOAT)
            assert_true(counts(&a->f));
        else if (a->kind == OP_ATTR_STRING)
            assert_true(counts(a->s));
        else if (a->kind == OP_ATTR_INTS && ++lists)
            assert_true(counts(&a->ints[a->count - 1]));
    }
    assert_in_range(lists, 2, 8); /* pads, strides */
    before = hash();
    n->row = op_row_of(OP_ConvTranspose);
    assert_false(hash128_equal(before, hash()));
}

/* ---- options ---- */

enum { PADDING = 12 /* bytes of struct lower_options between members */ };

static struct hash128 hash_options(const struct lower_options *o)
{
    char text[1024] = "";
    FILE *f = fmemopen(text, sizeof(text), "w");

    assert_non_null(f);
    lower_options_print(o, f);
    fclose(f);
    return hash128(text, strlen(text));
}

/* Every byte of a member changes the text. What stands in no member is padding; two members are
 * pointers. */
static void options_count(void **unused)
{
    const struct lower_options none = { .real = ELEM_F16 };
    unsigned silent = 0;

    (void)unused;
    for (size_t at = 0; at < sizeof(none); at++) {
        struct lower_options o = none;
        int is_pointer;

        ((uint8_t *)&o)[at] ^= 1;
        is_pointer = o.loop.pixels || o.stage;
        o.loop.pixels = NULL;
        o.stage = NULL;
        if (!is_pointer)
            silent += hash128_equal(hash_options(&none), hash_options(&o));
    }
    assert_int_equal(silent, PADDING);
}

static void stages_count(void **unused)
{
    const struct lower_edge edge = { 3, 0, 1, "x", ELEM_F16 };
    const struct lower_edge others[] = { { 4, 0, 1, "x", ELEM_F16 },
                                         { 3, 1, 1, "x", ELEM_F16 },
                                         { 3, 0, 2, "x", ELEM_F16 },
                                         { 3, 0, 1, "y", ELEM_F16 },
                                         { 3, 0, 1, "x", ELEM_F32 } };
    struct lower_stage stage = { 0, 2, &edge, 1, 1 };
    struct lower_options o = { .real = ELEM_F16 };
    struct hash128 none = hash_options(&o), first;

    (void)unused;
    o.stage = &stage;
    first = hash_options(&o);
    assert_false(hash128_equal(none, first));
    for (size_t k = 0; k < EMU_COUNT_OF(others); k++) {
        stage.edge = &others[k];
        assert_false(hash128_equal(first, hash_options(&o)));
    }
    stage = (struct lower_stage){ 1, 2, &edge, 1, 1 };
    assert_false(hash128_equal(first, hash_options(&o)));
    stage = (struct lower_stage){ 0, 2, &edge, 1, 0 };
    assert_false(hash128_equal(first, hash_options(&o)));
    stage = (struct lower_stage){ 0, 2, &edge, 0, 1 };
    assert_false(hash128_equal(first, hash_options(&o)));
}

static void pixels_count(void **unused)
{
    struct pixel_format format = { .elem = ELEM_U8 };
    struct lower_options o = { .real = ELEM_F16, .loop.pixels = &format };
    struct hash128 first = hash_options(&o);

    (void)unused;
    format.number[2][255] = 1;
    assert_false(hash128_equal(first, hash_options(&o)));
    format.number[2][255] = 0;
    format.elem = ELEM_F16;
    assert_false(hash128_equal(first, hash_options(&o)));
    o.loop.pixels = NULL;
    assert_false(hash128_equal(first, hash_options(&o)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(same_graph, begin, end),
        cmocka_unit_test_setup_teardown(values_count, begin, end),
        cmocka_unit_test_setup_teardown(first_numbers, begin, end),
        cmocka_unit_test_setup_teardown(nodes_count, begin, end),
        cmocka_unit_test(options_count),
        cmocka_unit_test(stages_count),
        cmocka_unit_test(pixels_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
