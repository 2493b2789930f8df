/* test_train_chip.c - steps of training executed on a machine against the same steps in f64: every
 * optimiser, every kind of layer, f32 and f16. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emu/arch/arch.h"
#include "emu/base/random.h"
#include "emu/bsp/record.h"
#include "models/train/recompute.h"
#include "models/train/train_bill.h"
#include "models/train/train_chip.h"
#include "models/train/train_reference.h"
#include "models/train/train_watch.h"

enum { BATCH = 6, CLASSES = 5, STEPS = 4 };

/* Of a batch: of networks on numbers, and of those on pictures. */
static uint32_t pictures = BATCH, images = 2;

static struct op_graph *graph;
static const char *block; /* of nodes; NULL: none */
static int share_blocks;
static const char *again; /* blocks that are computed again; NULL: none */
static uint64_t seed;

static double drawn(void)
{
    return (double)((int64_t)(random_next(&seed) >> 40) - (1 << 23)) * 0x1p-23;
}

/* ---- networks ---- */

static uint32_t input(unsigned rank, const uint32_t *dim)
{
    struct op_shape s = { .type = OP_TYPE_F32, .rank = rank };
    uint32_t v;

    memcpy(s.dim, dim, rank * sizeof(*dim));
    assert_int_equal(op_value_new(graph, "data", OP_INPUT, &s, &v), EMU_OK);
    assert_int_equal(op_graph_input(graph, v), EMU_OK);
    return v;
}

/* A parameter with numbers around `middle`. */
static uint32_t parameter(double middle, double size, unsigned rank, const uint32_t *dim)
{
    struct op_shape s = { .type = OP_TYPE_F32, .rank = rank };
    char name[32];
    struct op_tensor t;
    uint32_t v;
    void *data;

    memcpy(s.dim, dim, rank * sizeof(*dim));
    snprintf(name, sizeof(name), "p%u", graph->values);
    assert_int_equal(op_value_new(graph, name, OP_PARAM, &s, &v), EMU_OK);
    assert_int_equal(op_tensor_new(&s, &t), EMU_OK);
    for (uint64_t k = 0; k < op_shape_count(&s); k++)
        t.f[k] = middle + size * drawn();
    data = op_graph_alloc(graph, op_shape_count(&s), 4);
    op_tensor_pack(&t, data);
    op_tensor_free(&t);
    graph->value[v].data = data;
    return v;
}
#define DIMS(...)                                                                                  \
    sizeof((uint32_t[]){ __VA_ARGS__ }) / 4, (const uint32_t[])                                    \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static const char *block; /* of nodes that are made */

static uint32_t node_of(const char *op, uint32_t ins, const uint32_t *in,
                        const struct op_named_attr *attr, uint32_t attrs)
{
    const struct op_request r = {
        .op = op, .block = block, .in = in, .ins = ins, .outs = 1, .attr = attr, .attrs = attrs
    };
    uint32_t out;

    assert_int_equal(op_node(graph, &r, &out), EMU_OK);
    if (graph->problems)
        fail_msg("%s: %s", op, graph->problem[0].why);
    return out;
}

static uint32_t node(const char *op, uint32_t ins, const uint32_t *in, struct op_named_attr attr)
{
    return node_of(op, ins, in, &attr, attr.attr.kind != OP_ATTR_NONE);
}
#define NO_ATTR       ((struct op_named_attr){ NULL, { .kind = OP_ATTR_NONE } })
#define NODE(op, ...) node(op, DIMS(__VA_ARGS__), NO_ATTR)
#define NODE_INT(op, name, value, ...)                                                             \
    node(op, DIMS(__VA_ARGS__), (struct op_named_attr){ name, { .kind = OP_ATTR_INT, .i = value } })

static uint32_t group_norm(uint32_t x, uint32_t channels, int64_t groups, int64_t strided)
{
    const struct op_named_attr attr[] = {
        { "num_groups", { .kind = OP_ATTR_INT, .i = groups } },
        { "strided", { .kind = OP_ATTR_INT, .i = strided } },
    };
    const uint32_t in[] = { x, parameter(1, 0.2, DIMS(channels)),
                            parameter(0, 0.2, DIMS(channels)) };

    return node_of("GroupNormalization", EMU_COUNT_OF(in), in, attr, EMU_COUNT_OF(attr));
}

static uint32_t dense(uint32_t x, uint32_t in, uint32_t out)
{
    return NODE("Gemm", x, parameter(0, 1.5 / sqrt(in), DIMS(in, out)),
                parameter(0, 0.1, DIMS(out)));
}

/* Three dense layers with an activation function each. */
static void perceptron(const char *first, const char *second)
{
    uint32_t x = NODE(first, dense(input(DIMS(pictures, 20)), 20, 40));

    x = dense(NODE(second, dense(x, 40, 24)), 24, CLASSES);
    assert_int_equal(op_graph_output(graph, NODE("Softmax", x)), EMU_OK);
}

static void relu_and_tanh(void)
{
    perceptron("Relu", "Tanh");
}

static void swish_and_gelu(void)
{
    perceptron("Swish", "Gelu");
}

/* Residual branches in blocks, for stochastic depth. */
static void blocks(void)
{
    static const char *const name[] = { "block1", "block2", "block3" };
    uint32_t x = dense(input(DIMS(pictures, 20)), 20, 24);

    for (unsigned k = 0; k < EMU_COUNT_OF(name); k++) {
        block = name[k];
        x = NODE("Add", x, dense(NODE("Tanh", dense(x, 24, 32)), 32, 24));
    }
    block = NULL;
    assert_int_equal(op_graph_output(graph, dense(NODE("Relu", x), 24, CLASSES)), EMU_OK);
}

static uint32_t batch_norm(uint32_t x, uint32_t channels)
{
    return NODE("BatchNormalization", x, parameter(1, 0.2, DIMS(channels)),
                parameter(0, 0.2, DIMS(channels)), parameter(0, 0.1, DIMS(channels)),
                parameter(1, 0.1, DIMS(channels)));
}

static void batch_norms(void)
{
    uint32_t x = batch_norm(dense(input(DIMS(pictures, 20)), 20, 24), 24);

    x = dense(NODE("Relu", x), 24, CLASSES);
    assert_int_equal(op_graph_output(graph, x), EMU_OK);
}

/* [items][channels][positions]: a mean over positions at the end. */
static void group_norms(void)
{
    uint32_t x = input(DIMS(pictures, 12, 10));

    x = NODE("Swish", group_norm(group_norm(x, 12, 3, 0), 12, 4, 1));
    x = NODE("Flatten", NODE("GlobalAveragePool", x));
    assert_int_equal(op_graph_output(graph, dense(x, 12, CLASSES)), EMU_OK);
}

/* Rows of 16, each normed, multiplied and added to themselves; the means of rows are scores. */
static void layer_norms(void)
{
    uint32_t x = input(DIMS(pictures, 7, 16)), y;

    y = NODE_INT("LayerNormalization", "axis", 2, x, parameter(1, 0.2, DIMS(16)),
                 parameter(0, 0.2, DIMS(16)));
    y = NODE("Add", NODE("MatMul", y, parameter(0, 0.4, DIMS(16, 16))),
             parameter(0, 0.1, DIMS(16)));
    x = NODE("Add", x, NODE("Gelu", y));
    x = NODE("Flatten", NODE("GlobalAveragePool", x));
    assert_int_equal(op_graph_output(graph, x), EMU_OK);
}

/* Convolutions of every kind, with what stands between them in networks: strides, groups, depthwise
 * ones, biases, norms, squeeze and excitation, a residual. */
static uint32_t conv(uint32_t x, uint32_t in, uint32_t out, uint32_t kernel, uint32_t stride,
                     uint32_t groups, int biased)
{
    const int64_t half = kernel / 2, pads[] = { half, half, half, half };
    const int64_t strides[] = { stride, stride };
    const struct op_named_attr attr[] = {
        { "pads", { .kind = OP_ATTR_INTS, .count = 4, .ints = pads } },
        { "strides", { .kind = OP_ATTR_INTS, .count = 2, .ints = strides } },
        { "group", { .kind = OP_ATTR_INT, .i = groups } },
    };
    double size = sqrt(3.0 * groups / (in * kernel * kernel));
    uint32_t v[] = { x, parameter(0, size, DIMS(out, in / groups, kernel, kernel)), OP_NONE };
    const struct op_request r = { .op = "Conv",
                                  .block = block,
                                  .in = v,
                                  .ins = biased ? 3 : 2,
                                  .outs = 1,
                                  .attr = attr,
                                  .attrs = EMU_COUNT_OF(attr) };
    uint32_t y;

    if (biased)
        v[2] = parameter(0, 0.1, DIMS(out));
    assert_int_equal(op_node(graph, &r, &y), EMU_OK);
    return y;
}

static uint32_t scores(uint32_t x, uint32_t channels)
{
    return dense(NODE("Flatten", NODE("GlobalAveragePool", x)), channels, CLASSES);
}

static void plain_convolutions(void)
{
    uint32_t x = NODE("Relu", conv(input(DIMS(images, 3, 8, 8)), 3, 20, 3, 1, 1, 1));

    x = NODE("Relu", conv(x, 20, 36, 3, 2, 1, 1));
    x = NODE("Relu", conv(x, 36, 24, 1, 1, 1, 1));
    assert_int_equal(op_graph_output(graph, scores(x, 24)), EMU_OK);
}

static void residual_block(void)
{
    uint32_t x = NODE("Relu", batch_norm(conv(input(DIMS(2, 3, 8, 8)), 3, 16, 3, 1, 1, 0), 16));
    uint32_t y = NODE("Relu", batch_norm(conv(x, 16, 32, 3, 2, 1, 0), 32));

    y = batch_norm(conv(y, 32, 32, 3, 1, 1, 0), 32);
    x = batch_norm(conv(x, 16, 32, 1, 2, 1, 0), 32);
    assert_int_equal(op_graph_output(graph, scores(NODE("Relu", NODE("Add", x, y)), 32)), EMU_OK);
}

static void inverted_block(void)
{
    uint32_t x = NODE("Swish", batch_norm(conv(input(DIMS(2, 3, 8, 8)), 3, 16, 3, 1, 1, 0), 16));
    uint32_t y = NODE("Swish", batch_norm(conv(x, 16, 48, 1, 1, 1, 0), 48)), gate;

    y = NODE("Swish", batch_norm(conv(y, 48, 48, 3, 1, 48, 0), 48));
    gate = NODE("Swish", conv(NODE("GlobalAveragePool", y), 48, 8, 1, 1, 1, 1));
    y = NODE("Mul", y, NODE("Sigmoid", conv(gate, 8, 48, 1, 1, 1, 1)));
    y = batch_norm(conv(y, 48, 16, 1, 1, 1, 0), 16);
    x = conv(NODE("Add", x, y), 16, 32, 3, 1, 2, 0);
    x = group_norm(x, 32, 4, 1);
    assert_int_equal(op_graph_output(graph, scores(NODE("Swish", x), 32)), EMU_OK);
}

/* Blocks of EfficientNet's kind; all but the first two are equal. */
static uint32_t mobile_block(uint32_t x, int group_norms)
{
    uint32_t y = x;

    for (unsigned k = 0; k < 2; k++) {
        y = k ? conv(y, 32, 32, 3, 1, 32, 0) : conv(y, 16, 32, 1, 1, 1, 0);
        y = group_norms ? group_norm(y, 32, 4, k) : batch_norm(y, 32);
        y = NODE("Swish", y);
    }
    x = NODE("Add", x, batch_norm(conv(y, 32, 16, 1, 1, 1, 0), 16));
    return x;
}

static void repeated(unsigned blocks, int group_norms)
{
    static const char *const name[] = { "a", "b", "c", "d" };
    uint32_t x = NODE("Swish", conv(input(DIMS(2, 3, 8, 8)), 3, 16, 3, 1, 1, 0));

    for (unsigned k = 0; k < blocks; k++) {
        block = name[k];
        x = mobile_block(x, group_norms);
    }
    block = NULL;
    assert_int_equal(op_graph_output(graph, scores(x, 16)), EMU_OK);
}

static void three_blocks(void)
{
    repeated(3, 0);
}

static void four_blocks_with_group_norms(void)
{
    repeated(4, 1);
}

static uint32_t pool(const char *op, uint32_t x, uint32_t kernel, uint32_t stride, uint32_t pad)
{
    const int64_t kernels[] = { kernel, kernel }, strides[] = { stride, stride };
    const int64_t pads[] = { pad, pad, pad, pad };
    const struct op_named_attr attr[] = {
        { "kernel_shape", { .kind = OP_ATTR_INTS, .count = 2, .ints = kernels } },
        { "strides", { .kind = OP_ATTR_INTS, .count = 2, .ints = strides } },
        { "pads", { .kind = OP_ATTR_INTS, .count = 4, .ints = pads } },
    };
    const struct op_request r = {
        .op = op, .in = &x, .ins = 1, .outs = 1, .attr = attr, .attrs = EMU_COUNT_OF(attr)
    };
    uint32_t y;

    assert_int_equal(op_node(graph, &r, &y), EMU_OK);
    return y;
}

static void pools(void)
{
    uint32_t x = NODE("Relu", conv(input(DIMS(2, 3, 12, 12)), 3, 16, 3, 1, 1, 1));

    x = pool("AveragePool", x, 3, 2, 1);
    x = NODE("Relu", conv(x, 16, 24, 3, 1, 1, 1));
    x = pool("MaxPool", x, 2, 2, 0);
    assert_int_equal(op_graph_output(graph, scores(NODE("Relu", conv(x, 24, 24, 1, 1, 1, 1)), 24)),
                     EMU_OK);
}

/* ---- steps ---- */

struct pair {
    struct train_chip chip;
    struct train_reference reference;
    struct op_tensor data, targets;
};

static void draw(struct pair *p)
{
    uint32_t classes = p->targets.shape.dim[1];

    for (uint64_t k = 0; k < op_shape_count(&p->data.shape); k++)
        p->data.f[k] = drawn();
    for (uint64_t k = 0; k < op_shape_count(&p->targets.shape); k++)
        p->targets.f[k] =
            k % classes == (k / classes * 7) % classes ? 1 - 0.01 * (classes - 1) : 0.01;
}

/* What a step is tried with, besides network, method and type. */
static enum lower_states states;
static struct train_dropout drop;
static uint32_t batches; /* micro batches of a step; 0: one */
static unsigned threads = 2;
static int timing; /* the engine; both keep the record of every superstep */

static void begin(struct pair *p, const struct arch *machine, void (*network)(void),
                  const char *method, enum elem real)
{
    struct train_chip_options o = train_chip_usual();
    const struct session_options so = { .threads = threads, .timing = timing, .record = 1 };
    struct train_optimiser opt;
    struct train_step step;
    uint32_t blocks;

    seed = 11;
    assert_int_equal(op_graph_new("small", &graph), EMU_OK);
    network();
    assert_int_equal(train_optimiser_of(method, &opt), EMU_OK);
    opt.decay = 0.01;
    opt.drop = drop;
    if (train_step_make(graph, &opt, &step) != EMU_OK ||
        (again && train_recompute(graph, again, &blocks) != EMU_OK))
        fail_msg("%s", emu_error());
    o.program.lower.real = real;
    o.program.lower.share_blocks = share_blocks;
    o.program.lower.states = states;
    o.batches = batches;
    assert_int_equal(op_lower_check(graph), EMU_OK);
    if (graph->problems)
        fail_msg("%s: %s", graph->problem[0].op, graph->problem[0].why);
    if (train_chip_new(machine, graph, &step, &o, &p->chip) != EMU_OK ||
        train_chip_begin(&p->chip, &so) != EMU_OK)
        fail_msg("%s", emu_error());
    assert_int_equal(train_reference_new(graph, &step, &p->reference), EMU_OK);
    assert_int_equal(op_tensor_new(&graph->value[step.data].shape, &p->data), EMU_OK);
    assert_int_equal(op_tensor_new(&graph->value[step.targets].shape, &p->targets), EMU_OK);
}

static void end(struct pair *p)
{
    train_chip_free(&p->chip);
    train_reference_free(&p->reference);
    op_tensor_free(&p->data);
    op_tensor_free(&p->targets);
    op_graph_free(graph);
    graph = NULL;
}

/* The largest difference of a state beyond what its own type has, and how far the state has moved.
 * A state in f16 is rounded before the first step, and once in each, to one of its neighbours. */
static void compare_state(struct pair *p, uint32_t value, double *error, double *moved)
{
    const double unit = train_chip_elem(&p->chip, value) == ELEM_F16 ? 0x1p-10 : 0;
    const struct op_tensor *want = train_reference_state(&p->reference, value);
    struct op_tensor is, was = { 0 };

    *error = *moved = 0;
    if (train_chip_read(&p->chip, value, &is) != EMU_OK)
        fail_msg("%s", emu_error());
    if (graph->value[value].data)
        assert_int_equal(op_value_read(graph, value, &was), EMU_OK);
    for (uint64_t k = 0; k < op_shape_count(&is.shape); k++) {
        double rounding = (STEPS + 1) * fmax(unit * fabs(want->f[k]), unit * 0x1p-14);
        double d = fmax(fabs(is.f[k] - want->f[k]) - rounding, 0);
        double m = fabs(want->f[k] - (was.f ? was.f[k] : 0));

        assert_false(isnan(is.f[k]));
        *error = d > *error ? d : *error;
        *moved = m > *moved ? m : *moved;
    }
    op_tensor_free(&is);
    op_tensor_free(&was);
}

/* Every state has moved as the reference's, up to a share of how far it moved. What moves little
 * (the shift before a norm, whose gradient is 0) is rounded as if it moved by a hundredth. */
static void steps_like_reference(const struct arch *machine, void (*network)(void),
                                 const char *method, enum elem real, double share)
{
    const double little = 0.01;
    struct pair p;

    begin(&p, machine, network, method, real);
    for (unsigned k = 0; k < STEPS; k++) {
        double is, want;

        draw(&p);
        if (train_chip_step(&p.chip, &p.data, &p.targets, 0.05, &is, NULL) != EMU_OK)
            fail_msg("%s", emu_error());
        assert_int_equal(train_reference_step(&p.reference, &p.data, &p.targets, 0.05, &want, NULL),
                         EMU_OK);
        if (fabs(is - want) > share * want)
            fail_msg("%s, step %u: loss %g, not %g", method, k, is, want);
    }
    for (uint32_t k = 0; k < graph->inputs; k++) {
        const struct op_value *v = &graph->value[graph->input[k]];
        double error, moved;

        if (v->kind != OP_STATE)
            continue;
        compare_state(&p, graph->input[k], &error, &moved);
        if (error > share * (moved + little) || moved == 0)
            fail_msg("%s: %s is off by %g after moving by %g", method, v->name, error, moved);
    }
    end(&p);
}

static void every_optimiser(void **state)
{
    static const char *const method[] = { "sgd", "rmsprop", "lars", "adamw" };

    (void)state;
    for (unsigned k = 0; k < EMU_COUNT_OF(method); k++)
        steps_like_reference(arch_preset("toy64"), relu_and_tanh, method[k], ELEM_F32, 1e-3);
}

static void layers_in_f32(void **state)
{
    (void)state;
    steps_like_reference(arch_preset("toy64"), swish_and_gelu, "sgd", ELEM_F32, 1e-3);
    steps_like_reference(arch_preset("toy64"), batch_norms, "sgd", ELEM_F32, 1e-3);
    steps_like_reference(arch_preset("toy64"), group_norms, "sgd", ELEM_F32, 1e-3);
    steps_like_reference(arch_preset("toy64"), layer_norms, "sgd", ELEM_F32, 1e-3);
}

static void layers_in_f16(void **state)
{
    (void)state;
    steps_like_reference(arch_preset("toy64"), relu_and_tanh, "sgd", ELEM_F16, 0.02);
    steps_like_reference(arch_preset("toy64"), swish_and_gelu, "sgd", ELEM_F16, 0.02);
    steps_like_reference(arch_preset("toy64"), batch_norms, "sgd", ELEM_F16, 0.02);
    steps_like_reference(arch_preset("toy64"), group_norms, "sgd", ELEM_F16, 0.02);
    steps_like_reference(arch_preset("toy64"), layer_norms, "sgd", ELEM_F16, 0.02);
}

static void convolutions(void **state)
{
    struct arch a = *arch_preset("mk2");

    (void)state;
    assert_int_equal(arch_set(&a, "tiles=64"), EMU_OK);
    steps_like_reference(&a, plain_convolutions, "sgd", ELEM_F16, 0.03);
    steps_like_reference(&a, residual_block, "sgd", ELEM_F16, 0.03);
    steps_like_reference(&a, inverted_block, "sgd", ELEM_F16, 0.03);
    /* Which number of a window is the largest may be another one in f16. */
    steps_like_reference(&a, pools, "sgd", ELEM_F16, 0.05);
}

/* All states of two chips are equal, to the bit. */
static void same_states(struct train_chip *a, struct train_chip *b)
{
    for (uint32_t k = 0; k < graph->inputs; k++) {
        const struct op_value *v = &graph->value[graph->input[k]];
        struct op_tensor x, y;

        if (v->kind != OP_STATE)
            continue;
        assert_int_equal(train_chip_read(a, graph->input[k], &x), EMU_OK);
        assert_int_equal(train_chip_read(b, graph->input[k], &y), EMU_OK);
        if (memcmp(x.f, y.f, op_shape_count(&x.shape) * sizeof(*x.f)))
            fail_msg("%s differs", v->name);
        op_tensor_free(&x);
        op_tensor_free(&y);
    }
}

/* Two steps of a network of four blocks. */
static struct op_graph *two_steps(const struct arch *a, struct pair *p, uint32_t calls,
                                  uint32_t functions)
{
    double loss;

    begin(p, a, four_blocks_with_group_norms, "sgd", ELEM_F16);
    assert_int_equal(p->chip.program.network->calls, calls);
    assert_int_equal(p->chip.program.network->functions, functions);
    for (unsigned k = 0; k < 2; k++) {
        draw(p);
        if (train_chip_step(&p->chip, &p->data, &p->targets, 0.05, &loss, NULL) != EMU_OK)
            fail_msg("%s", emu_error());
    }
    return graph;
}

/* A step whose equal blocks are functions, or whose blocks are computed again, is the same step. */
static void blocks_are_functions(void **state)
{
    struct arch a = *arch_preset("mk2");
    struct op_graph *g[3];
    struct pair p[3];

    (void)state;
    assert_int_equal(arch_set(&a, "tiles=32"), EMU_OK);
    g[0] = two_steps(&a, &p[0], 0, 0);
    share_blocks = 1;
    g[1] = two_steps(&a, &p[1], 8, 2);
    again = "b,c";
    g[2] = two_steps(&a, &p[2], 10, 2); /* forward parts and those again are one function */
    again = "all";
    steps_like_reference(&a, three_blocks, "sgd", ELEM_F16, 0.03);
    again = NULL;
    share_blocks = 0;
    for (unsigned k = 1; k < 3; k++) {
        graph = g[k];
        same_states(&p[0].chip, &p[k].chip);
    }
    for (unsigned k = 0; k < 3; k++) {
        graph = g[k];
        end(&p[k]);
    }
}

/* Names of blocks that are none. */
static void wrong_blocks(void **state)
{
    struct train_optimiser opt;
    struct train_step step;
    uint32_t blocks;

    (void)state;
    seed = 11;
    assert_int_equal(op_graph_new("small", &graph), EMU_OK);
    three_blocks();
    assert_int_equal(train_optimiser_of("sgd", &opt), EMU_OK);
    assert_int_equal(train_step_make(graph, &opt, &step), EMU_OK);
    assert_int_equal(train_recompute(graph, "a,d", &blocks), EMU_USAGE);
    assert_string_equal(emu_error(), "--recompute: the network has no block d");
    assert_int_equal(train_recompute(graph, "a,,b", &blocks), EMU_USAGE);
    op_graph_free(graph);
    graph = NULL;
}

/* ---- f16 states, steps that are skipped, masks ---- */

static void states_in_f16(void **state)
{
    /* adamw moves by the rate whatever the gradient: the sign of one that is rounding decides */
    static const char *const method[] = { "sgd", "rmsprop", "lars" };
    struct arch a = *arch_preset("mk2");

    (void)state;
    assert_int_equal(arch_set(&a, "tiles=64"), EMU_OK);
    states = STATES_F16_STOCHASTIC;
    for (unsigned k = 0; k < EMU_COUNT_OF(method); k++)
        steps_like_reference(arch_preset("toy64"), relu_and_tanh, method[k], ELEM_F16, 0.03);
    steps_like_reference(arch_preset("toy64"), batch_norms, "sgd", ELEM_F16, 0.03);
    /* Norms of few positions make much of what the rounding of weights changes. */
    steps_like_reference(&a, residual_block, "sgd", ELEM_F16, 0.2);
    states = STATES_F16_NEAREST;
    steps_like_reference(arch_preset("toy64"), relu_and_tanh, "sgd", ELEM_F16, 0.03);
    states = STATES_F32;
}

/* All states of a chip, one after another; owned by the caller. */
static double *all_states(struct pair *p, uint64_t *count)
{
    double *all = NULL;

    *count = 0;
    for (uint32_t k = 0; k < graph->inputs; k++) {
        struct op_tensor t;
        uint64_t n;

        if (graph->value[graph->input[k]].kind != OP_STATE)
            continue;
        assert_int_equal(train_chip_read(&p->chip, graph->input[k], &t), EMU_OK);
        n = op_shape_count(&t.shape);
        all = realloc(all, (*count + n) * sizeof(*all));
        memcpy(all + *count, t.f, n * sizeof(*all));
        *count += n;
        op_tensor_free(&t);
    }
    return all;
}

static void one_step(struct pair *p)
{
    double loss;

    if (train_chip_step(&p->chip, &p->data, &p->targets, 0.05, &loss, NULL) != EMU_OK)
        fail_msg("%s", emu_error());
}

/* Whether the states are those; frees `is`. */
static int has_states(struct pair *p, const double *was, uint64_t n)
{
    uint64_t count;
    double *is = all_states(p, &count);
    int same = count == n && !memcmp(is, was, n * sizeof(*is));

    free(is);
    return same;
}

/* A picture that is no number, and gradients beyond f16, change nothing and halve the loss scale.
 */
static void skip_with(enum lower_states kind)
{
    struct pair p;
    double *was, good;
    uint64_t n;

    states = kind;
    begin(&p, arch_preset("toy64"), swish_and_gelu, "adamw", ELEM_F16);
    p.chip.loss_scale.dynamic = 1;
    draw(&p);
    one_step(&p);
    assert_int_equal(p.chip.skipped, 0);
    was = all_states(&p, &n);
    good = p.data.f[5];
    p.data.f[5] = INFINITY;
    one_step(&p);
    assert_int_equal(p.chip.skipped, 1);
    assert_true(p.chip.loss_scale.now == 64);
    p.data.f[5] = good;
    for (uint64_t k = 0; k < op_shape_count(&p.data.shape); k++)
        p.data.f[k] *= 1000; /* scores are finite, gradients of the last weights are not */
    p.chip.loss_scale.now = LOSS_SCALE_MAX;
    one_step(&p);
    assert_int_equal(p.chip.skipped, 2);
    assert_true(p.chip.loss_scale.now == LOSS_SCALE_MAX / 2);
    assert_true(has_states(&p, was, n));
    draw(&p);
    p.chip.loss_scale.now = 128;
    one_step(&p);
    assert_int_equal(p.chip.skipped, 2);
    assert_false(has_states(&p, was, n));
    free(was);
    end(&p);
    states = STATES_F32;
}

static void steps_are_skipped(void **state)
{
    (void)state;
    skip_with(STATES_F32);
    skip_with(STATES_F16_STOCHASTIC);
}

/* Micro batches of a step: the pictures of a pair, cut into parts in order. */
struct parts {
    struct pair *pair;
    struct op_tensor data, targets; /* of a part */
    uint32_t at, end, told;
    int again; /* the first one, again and again */
    double loss;
};

static enum emu_status next_part(void *ctx, const struct op_tensor **data,
                                 const struct op_tensor **targets)
{
    struct parts *p = ctx;
    uint64_t n = op_shape_count(&p->data.shape), m = op_shape_count(&p->targets.shape);

    *data = p->at < p->end ? &p->data : NULL;
    *targets = &p->targets;
    if (p->at == p->end)
        return EMU_OK;
    memcpy(p->data.f, p->pair->data.f + p->at * n, n * sizeof(*p->data.f));
    memcpy(p->targets.f, p->pair->targets.f + p->at * m, m * sizeof(*p->targets.f));
    p->at += !p->again;
    return EMU_OK;
}

static enum emu_status part_done(void *ctx, double loss, const struct op_tensor *scores)
{
    struct parts *p = ctx;

    assert_int_equal(scores->shape.dim[0], p->targets.shape.dim[0]);
    p->loss += loss;
    p->told++;
    return EMU_OK;
}

static void parts_begin(struct parts *p, struct pair *of, const struct train_chip *chip,
                        uint32_t end)
{
    *p = (struct parts){ .pair = of, .end = end };
    assert_int_equal(op_tensor_new(&chip->g->value[chip->step.data].shape, &p->data), EMU_OK);
    assert_int_equal(op_tensor_new(&chip->g->value[chip->step.targets].shape, &p->targets), EMU_OK);
}

static void parts_end(struct parts *p)
{
    op_tensor_free(&p->data);
    op_tensor_free(&p->targets);
}

/* A step of all pictures of a pair in so many parts; one that ends before is none. */
static void step_in_parts(struct train_chip *chip, struct pair *of, uint32_t parts, uint32_t end,
                          double *loss)
{
    struct parts p;
    const struct train_feed feed = { &p, next_part, part_done };
    uint64_t steps = chip->steps;
    int whole;

    parts_begin(&p, of, chip, end);
    if (train_chip_update(chip, &feed, 0.05, &whole) != EMU_OK)
        fail_msg("%s", emu_error());
    assert_int_equal(whole, end == parts);
    assert_int_equal(p.told, end);
    assert_int_equal(chip->steps, steps + (end == parts));
    *loss = p.loss / parts;
    parts_end(&p);
}

/* All states that two chips have, by their names, differ by a share of their size at most. */
static void near_states(struct train_chip *a, struct train_chip *b, double share)
{
    for (uint32_t k = 0; k < a->g->inputs; k++) {
        const struct op_value *v = &a->g->value[a->g->input[k]];
        struct op_tensor x, y;

        if (v->kind != OP_STATE)
            continue;
        assert_int_equal(train_chip_read(a, a->g->input[k], &x), EMU_OK);
        assert_int_equal(train_chip_read(b, op_value_find(b->g, v->name), &y), EMU_OK);
        for (uint64_t i = 0; i < op_shape_count(&x.shape); i++) {
            if (!(fabs(x.f[i] - y.f[i]) <= share * (fabs(x.f[i]) + 0.01)))
                fail_msg("%s: %g, not %g", v->name, y.f[i], x.f[i]);
        }
        op_tensor_free(&x);
        op_tensor_free(&y);
    }
}

/* Two micro batches of 3 pictures are a step of 6; other threads change no bit, and a step that
 * ends after one of them changes nothing. */
static void micro_batches_add_up(const struct arch *a, void (*network)(void), const char *method,
                                 enum elem real, double share)
{
    enum { PARTS = 2 };
    struct pair whole, part[2];
    struct op_graph *g[3];

    begin(&whole, a, network, method, real);
    g[0] = graph;
    pictures = BATCH / PARTS;
    images = 2 / PARTS;
    batches = PARTS;
    for (unsigned k = 0; k < 2; k++) {
        threads = k ? 3 : 1;
        begin(&part[k], a, network, method, real);
        g[1 + k] = graph;
    }
    pictures = BATCH;
    images = 2;
    batches = 0;
    threads = 2;
    for (unsigned k = 0; k < STEPS; k++) {
        double want, loss[2];

        draw(&whole);
        if (train_chip_step(&whole.chip, &whole.data, &whole.targets, 0.05, &want, NULL) != EMU_OK)
            fail_msg("%s", emu_error());
        if (k % 2)
            step_in_parts(&part[1].chip, &whole, PARTS, 1, &loss[1]);
        for (unsigned i = 0; i < 2; i++)
            step_in_parts(&part[i].chip, &whole, PARTS, PARTS, &loss[i]);
        if (loss[0] != loss[1])
            fail_msg("%s, step %u: losses %g, %g with other threads; %g", method, k, loss[0],
                     loss[1], want);
        assert_true(fabs(loss[0] - want) <= share * want);
    }
    assert_int_equal(part[0].chip.skipped + part[1].chip.skipped, 0);
    graph = g[1];
    same_states(&part[0].chip, &part[1].chip);
    near_states(&whole.chip, &part[0].chip, share);
    graph = g[0];
    end(&whole);
    for (unsigned k = 0; k < 2; k++) {
        graph = g[1 + k];
        end(&part[k]);
    }
}

static void gradients_add_up(void **state)
{
    struct arch a = *arch_preset("mk2");

    (void)state;
    micro_batches_add_up(arch_preset("toy64"), relu_and_tanh, "lars", ELEM_F32, 1e-4);
    micro_batches_add_up(arch_preset("toy64"), group_norms, "adamw", ELEM_F32, 1e-3);
    /* Norms over other batches are other norms: only equal bits are asked for, of states and of
     * running statistics, whatever the threads and with a step that ended half-way. */
    micro_batches_add_up(arch_preset("toy64"), batch_norms, "sgd", ELEM_F16, INFINITY);
    assert_int_equal(arch_set(&a, "tiles=32"), EMU_OK);
    micro_batches_add_up(&a, plain_convolutions, "sgd", ELEM_F16, 0.03);
    share_blocks = 1;
    again = "all";
    micro_batches_add_up(arch_preset("toy64"), blocks, "sgd", ELEM_F16, 0.03);
    states = STATES_F16_NEAREST;
    micro_batches_add_up(arch_preset("toy64"), relu_and_tanh, "sgd", ELEM_F16, 0.03);
    states = STATES_F32;
    again = NULL;
    share_blocks = 0;
}

/* ---- cycles ---- */

/* Two records of a step are the same, superstep by superstep and tile by tile. */
static void same_record(const struct record *a, const struct record *b)
{
    assert_int_equal(record_count(a), record_count(b));
    for (size_t i = 0; i < record_count(a); i++) {
        const struct record_step *x = record_at(a, i), *y = record_at(b, i);

        assert_int_equal(x->tiles, y->tiles);
        assert_int_equal(x->release, y->release);
        assert_int_equal(x->end, y->end);
        for (uint32_t k = 0; k < x->tiles; k++) {
            uint32_t tile[2];
            struct tile_step s = record_tile_at(a, i, k, &tile[0]);
            struct tile_step t = record_tile_at(b, i, k, &tile[1]);

            assert_int_equal(tile[0], tile[1]);
            assert_memory_equal(&s, &t, sizeof(s));
        }
    }
}

/* The cycles of a step by pass add up to the step, and passes that there are have some. */
static void check_bill(const struct train_chip *t, unsigned passes)
{
    struct train_bill b;
    uint64_t sum = 0;

    assert_int_equal(train_bill_of(t, &b), EMU_OK);
    for (unsigned k = 0; k < PASSES; k++) {
        sum += b.pass[k].cycles;
        if ((b.pass[k].cycles != 0) != (passes >> k & 1))
            fail_msg("%s: %llu cycles", train_pass_name((enum train_pass)k),
                     (unsigned long long)b.pass[k].cycles);
    }
    assert_int_equal(sum, b.cycles);
    assert_int_equal(sum, session_cycles(t->session));
}

static void one_timing(const struct arch *a, void (*network)(void), const char *method,
                       uint32_t parts, unsigned passes)
{
    struct pair values, times;
    struct op_graph *g;
    double loss;

    batches = parts;
    begin(&values, a, network, method, ELEM_F16);
    g = graph;
    timing = 1;
    begin(&times, a, network, method, ELEM_F16);
    timing = 0;
    batches = 0;
    assert_int_equal(train_chip_time(&times.chip), EMU_OK);
    draw(&values);
    if (parts > 1) {
        struct parts p;
        const struct train_feed feed = { &p, next_part, part_done };
        int whole;

        parts_begin(&p, &values, &values.chip, 1);
        p.end = UINT32_MAX; /* the same pictures in every micro batch */
        p.again = 1;
        assert_int_equal(train_chip_update(&values.chip, &feed, 0.05, &whole), EMU_OK);
        parts_end(&p);
    } else {
        assert_int_equal(
            train_chip_step(&values.chip, &values.data, &values.targets, 0.05, &loss, NULL),
            EMU_OK);
    }
    same_record(session_record(values.chip.session), session_record(times.chip.session));
    check_bill(&values.chip, passes);
    check_bill(&times.chip, passes);
    end(&times);
    graph = g;
    end(&values);
}

/* The timing engine gives the cycles of a step exactly, on every tile. */
static void cycles_without_values(void **state)
{
    const unsigned usual =
        1u << PASS_FORWARD | 1u << PASS_DATA | 1u << PASS_WEIGHTS | 1u << PASS_UPDATE;
    struct arch a = *arch_preset("mk2");

    (void)state;
    assert_int_equal(arch_set(&a, "tiles=32"), EMU_OK);
    one_timing(&a, residual_block, "sgd", 0, usual);
    one_timing(arch_preset("toy64"), relu_and_tanh, "adamw", 3,
               usual | 1u << PASS_ACCUMULATE | 1u << PASS_HOST);
    share_blocks = 1;
    again = "all";
    one_timing(&a, four_blocks_with_group_norms, "lars", 2,
               usual | 1u << PASS_AGAIN | 1u << PASS_ACCUMULATE | 1u << PASS_HOST);
    again = NULL;
    share_blocks = 0;
}

/* A second program says where it began: a picture that is infinite shows in the first layer. */
static void the_layer_is_named(void **state)
{
    const struct session_options so = { .threads = 2 };
    struct train_chip_options o = train_chip_usual();
    char where[256];
    struct parts parts;
    const struct train_feed feed = { &parts, next_part, part_done };
    struct pair p;

    (void)state;
    begin(&p, arch_preset("toy64"), batch_norms, "sgd", ELEM_F16);
    draw(&p);
    one_step(&p);
    p.data.f[5] = INFINITY;
    one_step(&p);
    parts_begin(&parts, &p, &p.chip, 1);
    if (train_watch(arch_preset("toy64"), &p.chip, &o, &so, &feed, 0.05, where) != EMU_OK)
        fail_msg("%s", emu_error());
    assert_true(strstr(where, graph->node[0].name) == where);
    parts_end(&parts);
    end(&p);
}

static void masks(void **state)
{
    (void)state;
    drop = (struct train_dropout){ .dropout = 0.4, .drop_connect = 0.6 };
    steps_like_reference(arch_preset("toy64"), blocks, "sgd", ELEM_F32, 1e-3);
    steps_like_reference(arch_preset("toy64"), blocks, "sgd", ELEM_F16, 0.03);
    drop = (struct train_dropout){ .dropout = 0.25 };
    steps_like_reference(arch_preset("toy64"), relu_and_tanh, "sgd", ELEM_F16, 0.03);
    drop = (struct train_dropout){ 0 };
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_optimiser),      cmocka_unit_test(layers_in_f32),
        cmocka_unit_test(layers_in_f16),        cmocka_unit_test(convolutions),
        cmocka_unit_test(blocks_are_functions), cmocka_unit_test(wrong_blocks),
        cmocka_unit_test(states_in_f16),        cmocka_unit_test(steps_are_skipped),
        cmocka_unit_test(the_layer_is_named),   cmocka_unit_test(masks),
        cmocka_unit_test(gradients_add_up),     cmocka_unit_test(cycles_without_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
