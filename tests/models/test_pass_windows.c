/* test_pass_windows.c - pass_spell_windows(): convolutions and pools of random shapes mean the same
 * without windows, none of them is left, and what the pass cannot spell stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "emu/base/random.h"
#include "models/pass/op_pass.h"

enum { CASES = 300, ATTRS = 6 };

/* A node with windows, drawn. */
struct drawn {
    struct op_graph *g;
    uint64_t random;
    unsigned dims;
    int64_t kernel[2], stride[2], dilation[2], pads[4];
    struct op_named_attr attr[ATTRS];
    uint32_t attrs;
};

static int64_t below(struct drawn *d, uint32_t n)
{
    return random_below(&d->random, n);
}

static void put_ints(struct drawn *d, const char *name, unsigned count, const int64_t *v)
{
    d->attr[d->attrs++] =
        (struct op_named_attr){ name, { .kind = OP_ATTR_INTS, .count = count, .ints = v } };
}

static void put_int(struct drawn *d, const char *name, int64_t v)
{
    d->attr[d->attrs++] = (struct op_named_attr){ name, { .kind = OP_ATTR_INT, .i = v } };
}

static struct op_tensor numbers(struct drawn *d, const struct op_shape *s)
{
    struct op_tensor t;

    assert_int_equal(op_tensor_new(s, &t), EMU_OK);
    for (uint64_t k = 0; k < op_shape_count(s); k++)
        t.f[k] = random_normal(&d->random);
    return t;
}

/* Weights that are constant, or an input like those of a network that is trained. */
static uint32_t value(struct drawn *d, const struct op_shape *s, int is_input)
{
    struct op_tensor t;
    uint32_t v;

    if (is_input) {
        assert_int_equal(op_value_new(d->g, NULL, OP_INPUT, s, &v), EMU_OK);
        assert_int_equal(op_graph_input(d->g, v), EMU_OK);
        return v;
    }
    t = numbers(d, s);
    assert_int_equal(op_value_constant(d->g, NULL, &t, &v), EMU_OK);
    op_tensor_free(&t);
    return v;
}

static void draw_windows(struct drawn *d)
{
    d->dims = 1 + (unsigned)below(d, 2);
    for (unsigned k = 0; k < d->dims; k++) {
        d->kernel[k] = 1 + below(d, 3);
        d->stride[k] = 1 + below(d, 3);
        d->dilation[k] = 1 + below(d, 2);
        d->pads[k] = below(d, (uint32_t)d->kernel[k]);
        d->pads[d->dims + k] = below(d, (uint32_t)d->kernel[k]);
    }
    put_ints(d, "kernel_shape", d->dims, d->kernel);
    put_ints(d, "strides", d->dims, d->stride);
    put_ints(d, "pads", 2 * d->dims, d->pads);
}

static struct op_shape field(struct drawn *d, uint32_t channels)
{
    struct op_shape s = { .type = OP_TYPE_F32, .rank = 2 + d->dims };

    s.dim[0] = 1 + (uint32_t)below(d, 2);
    s.dim[1] = channels;
    for (unsigned k = 0; k < d->dims; k++)
        s.dim[2 + k] = 6 + (uint32_t)below(d, 4);
    return s;
}

static uint32_t node(struct drawn *d, const char *op, const uint32_t *in, uint32_t ins,
                     uint32_t outs)
{
    const struct op_request r = { .op = op,
                                  .name = "windows",
                                  .in = in,
                                  .ins = ins,
                                  .outs = outs,
                                  .attr = d->attr,
                                  .attrs = d->attrs };
    uint32_t out[2];

    assert_int_equal(op_node(d->g, &r, out), EMU_OK);
    if (d->g->problems)
        fail_msg("%s: %s", op, d->g->problem[0].why);
    for (uint32_t k = 0; k < outs; k++)
        assert_int_equal(op_graph_output(d->g, out[k]), EMU_OK);
    return out[0];
}

/* Dense, grouped, or one channel a group, with several outputs each. */
static void draw_conv(struct drawn *d)
{
    uint32_t groups = 1 + (uint32_t)below(d, 3), in[3];
    uint32_t each = 1 + (uint32_t)below(d, 3), outs = 1 + (uint32_t)below(d, 3);
    struct op_shape x, w = { .type = OP_TYPE_F32 }, b = { .type = OP_TYPE_F32, .rank = 1 };
    int trained = below(d, 2) != 0, biased = below(d, 2) != 0;

    draw_windows(d);
    put_ints(d, "dilations", d->dims, d->dilation);
    put_int(d, "group", groups);
    x = field(d, groups * each);
    w.rank = x.rank;
    w.dim[0] = b.dim[0] = groups * outs;
    w.dim[1] = each;
    for (unsigned k = 0; k < d->dims; k++)
        w.dim[2 + k] = (uint32_t)d->kernel[k];
    in[0] = value(d, &x, 1);
    in[1] = value(d, &w, trained);
    in[2] = biased ? value(d, &b, trained) : OP_NONE;
    node(d, "Conv", in, 2 + (uint32_t)biased, 1);
}

/* With output padding below the stride, and groups. */
static void draw_transposed(struct drawn *d)
{
    uint32_t groups = 1 + (uint32_t)below(d, 3), in[3];
    uint32_t each = 1 + (uint32_t)below(d, 3), outs = 1 + (uint32_t)below(d, 3);
    struct op_shape x, w = { .type = OP_TYPE_F32 }, b = { .type = OP_TYPE_F32, .rank = 1 };
    int trained = below(d, 2) != 0, biased = below(d, 2) != 0;
    int64_t more[2];

    draw_windows(d);
    for (unsigned k = 0; k < d->dims; k++)
        more[k] = below(d, (uint32_t)d->stride[k]);
    put_ints(d, "dilations", d->dims, d->dilation);
    put_ints(d, "output_padding", d->dims, more);
    put_int(d, "group", groups);
    x = field(d, groups * each);
    w.rank = x.rank;
    w.dim[0] = groups * each;
    w.dim[1] = outs;
    b.dim[0] = groups * outs;
    for (unsigned k = 0; k < d->dims; k++)
        w.dim[2 + k] = (uint32_t)d->kernel[k];
    in[0] = value(d, &x, 1);
    in[1] = value(d, &w, trained);
    in[2] = biased ? value(d, &b, trained) : OP_NONE;
    node(d, "ConvTranspose", in, 2 + (uint32_t)biased, 1);
}

static void draw_pool(struct drawn *d)
{
    int largest = below(d, 2) != 0;
    struct op_shape x;
    uint32_t in;

    draw_windows(d);
    put_int(d, "ceil_mode", below(d, 2));
    if (!largest)
        put_int(d, "count_include_pad", below(d, 2));
    x = field(d, 1 + (uint32_t)below(d, 5));
    in = value(d, &x, 1);
    node(d, largest ? "MaxPool" : "AveragePool", &in, 1, 1);
}

static void draw_global(struct drawn *d)
{
    struct op_shape x;
    uint32_t in;

    d->dims = 2;
    x = field(d, 3);
    in = value(d, &x, 1);
    node(d, below(d, 2) ? "GlobalAveragePool" : "GlobalMaxPool", &in, 1, 1);
}

static int has_windows(const struct op_graph *g)
{
    for (uint32_t n = 0; n < g->nodes; n++) {
        if (strstr(g->node[n].row->name, "Conv") || strstr(g->node[n].row->name, "Pool"))
            return 1;
    }
    return 0;
}

/* Runs the graph before and after the pass on the same numbers. */
static void compare(struct drawn *d)
{
    struct op_tensor in[3], before, after;
    double largest = 0;

    for (uint32_t k = 0; k < d->g->inputs; k++)
        in[k] = numbers(d, &d->g->value[d->g->input[k]].shape);
    assert_int_equal(op_graph_run(d->g, in, 0, &before), EMU_OK);
    assert_true(has_windows(d->g));
    assert_int_equal(pass_widen(d->g, NULL), EMU_OK);
    if (pass_spell_windows(d->g) != EMU_OK)
        fail_msg("%s", ss_error());
    assert_false(has_windows(d->g));
    assert_int_equal(op_graph_run(d->g, in, 0, &after), EMU_OK);
    assert_true(op_shape_equal(&before.shape, &after.shape));
    for (uint64_t k = 0; k < op_shape_count(&before.shape); k++)
        largest = fmax(largest, fabs(before.f[k]));
    for (uint64_t k = 0; k < op_shape_count(&before.shape); k++)
        assert_true(fabs(before.f[k] - after.f[k]) <= 1e-6 * largest);
    for (uint32_t k = 0; k < d->g->inputs; k++)
        op_tensor_free(&in[k]);
    op_tensor_free(&before);
    op_tensor_free(&after);
}

static void every(void (*draw)(struct drawn *d), unsigned cases)
{
    for (unsigned seed = 0; seed < cases; seed++) {
        struct drawn d = { .random = seed };

        assert_int_equal(op_graph_new("test", &d.g), EMU_OK);
        draw(&d);
        compare(&d);
        op_graph_free(d.g);
    }
}

static void test_convolutions(void **state)
{
    (void)state;
    every(draw_conv, CASES);
}

static void test_transposed_convolutions(void **state)
{
    (void)state;
    every(draw_transposed, CASES);
}

static void test_pools(void **state)
{
    (void)state;
    every(draw_pool, CASES);
    every(draw_global, 8);
}

/* Indices of maxima, and pools of integers. */
static void test_what_stays(void **state)
{
    struct drawn d = { .dims = 2, .kernel = { 2, 2 } };
    struct op_shape x;
    uint32_t in;

    (void)state;
    assert_int_equal(op_graph_new("test", &d.g), EMU_OK);
    put_ints(&d, "kernel_shape", d.dims, d.kernel);
    x = field(&d, 2);
    in = value(&d, &x, 1);
    node(&d, "MaxPool", &in, 1, 2);
    x.type = OP_TYPE_I8;
    in = value(&d, &x, 1);
    node(&d, "MaxPool", &in, 1, 1);
    assert_int_equal(pass_widen(d.g, NULL), EMU_OK);
    assert_int_equal(pass_spell_windows(d.g), EMU_OK);
    assert_int_equal(d.g->nodes, 2);
    op_graph_free(d.g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_convolutions),
        cmocka_unit_test(test_transposed_convolutions),
        cmocka_unit_test(test_pools),
        cmocka_unit_test(test_what_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
