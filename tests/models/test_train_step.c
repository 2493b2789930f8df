/* test_train_step.c - steps of training made of networks: what becomes of parameters, statistics
 * and outputs; that the reference learns; what cannot be trained.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "emu/base/random.h"
#include "models/operators/op_update.h"
#include "models/operators/operators.h"
#include "models/train/train_reference.h"

enum { BATCH = 6, SIDE = 6, CLASSES = 3, CHANNELS = 4 };

static struct op_graph *graph;
static uint64_t seed;

static double drawn(void)
{
    return (double)((int64_t)(random_next(&seed) >> 40) - (1 << 23)) * 0x1p-23;
}

/* A parameter with numbers of a size, around `middle`. */
static uint32_t parameter(const char *name, double middle, double size, unsigned rank,
                          const uint32_t *dim)
{
    struct op_shape s = { .type = OP_TYPE_F32, .rank = rank };
    struct op_tensor t;
    uint32_t v;
    void *data;

    memcpy(s.dim, dim, rank * sizeof(*dim));
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
#define PARAMETER(name, middle, size, ...)                                                         \
    parameter(name, middle, size, sizeof((uint32_t[]){ __VA_ARGS__ }) / 4,                         \
              (const uint32_t[]){ __VA_ARGS__ })

static uint32_t node(const char *op, const uint32_t *in, uint32_t ins,
                     const struct op_named_attr *attr, uint32_t attrs)
{
    const struct op_request r = {
        .op = op, .in = in, .ins = ins, .outs = 1, .attr = attr, .attrs = attrs
    };
    uint32_t out;

    assert_int_equal(op_node(graph, &r, &out), EMU_OK);
    if (graph->problems)
        fail_msg("%s: %s", op, graph->problem[0].why);
    return out;
}
#define NODE(op, ...)                                                                              \
    node(op, (const uint32_t[]){ __VA_ARGS__ }, sizeof((uint32_t[]){ __VA_ARGS__ }) / 4, NULL, 0)

/* Conv, batch norm, Relu, MaxPool, mean, dense layer, Softmax. */
static void small_network(void)
{
    const struct op_shape pictures = { OP_TYPE_F32, 4, { BATCH, 1, SIDE, SIDE } };
    static const int64_t pads[] = { 1, 1, 1, 1 }, two[] = { 2, 2 };
    const struct op_named_attr padded = { "pads",
                                          { .kind = OP_ATTR_INTS, .count = 4, .ints = pads } };
    const struct op_named_attr pool[] = {
        { "kernel_shape", { .kind = OP_ATTR_INTS, .count = 2, .ints = two } },
        { "strides", { .kind = OP_ATTR_INTS, .count = 2, .ints = two } },
    };
    uint32_t x, in[5];

    seed = 3;
    assert_int_equal(op_graph_new("small", &graph), EMU_OK);
    assert_int_equal(op_value_new(graph, "pictures", OP_INPUT, &pictures, &x), EMU_OK);
    assert_int_equal(op_graph_input(graph, x), EMU_OK);
    in[0] = x;
    in[1] = PARAMETER("conv.weight", 0, 0.5, CHANNELS, 1, 3, 3);
    x = node("Conv", in, 2, &padded, 1);
    in[0] = x;
    in[1] = PARAMETER("bn.weight", 1, 0.1, CHANNELS);
    in[2] = PARAMETER("bn.bias", 0, 0.1, CHANNELS);
    in[3] = PARAMETER("bn.running_mean", 0, 0, CHANNELS);
    in[4] = PARAMETER("bn.running_var", 1, 0, CHANNELS);
    x = NODE("Relu", node("BatchNormalization", in, 5, NULL, 0));
    x = node("MaxPool", &x, 1, pool, EMU_COUNT_OF(pool));
    x = NODE("Flatten", NODE("GlobalAveragePool", x));
    x = NODE("Gemm", x, PARAMETER("fc.weight", 0, 0.5, CHANNELS, CLASSES),
             PARAMETER("fc.bias", 0, 0.1, CLASSES));
    assert_int_equal(op_graph_output(graph, NODE("Softmax", x)), EMU_OK);
}

/* Pictures with a stripe along one of three directions, which is the class. */
static void draw(struct op_tensor *data, struct op_tensor *targets)
{
    for (uint32_t n = 0; n < BATCH; n++) {
        uint32_t class = n % CLASSES, at = (uint32_t)(random_next(&seed) % SIDE);

        for (uint32_t k = 0; k < SIDE * SIDE; k++) {
            uint32_t y = k / SIDE, x = k % SIDE;
            int on = class == 0 ? y == at : class == 1 ? x == at : (x + y) % SIDE == at;

            data->f[n * SIDE * SIDE + k] = on + 0.1 * drawn();
        }
        for (uint32_t c = 0; c < CLASSES; c++)
            targets->f[n * CLASSES + c] = c == class ? 0.9 : 0.05;
    }
}

static void made(const char *method, struct train_step *step)
{
    struct train_optimiser o;

    small_network();
    assert_int_equal(train_optimiser_of(method, &o), EMU_OK);
    o.eta *= 200; /* small parameters move little at the usual one */
    if (train_step_make(graph, &o, step) != EMU_OK)
        fail_msg("%s", emu_error());
}

static uint32_t count_states(const char *part)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < graph->inputs; k++) {
        const struct op_value *v = &graph->value[graph->input[k]];

        n += v->kind == OP_STATE && strstr(v->name, part) != NULL;
    }
    return n;
}

static void states_and_outputs(void **state)
{
    struct train_step t;

    (void)state;
    made("rmsprop", &t);
    assert_int_equal(count_states(""), 7 + 2 * 5); /* statistics are not trained */
    assert_int_equal(count_states(".square"), 5);
    assert_int_equal(graph->updates, count_states(""));
    assert_int_equal(graph->outputs, 2 + 2 + graph->updates); /* loss, scores, sums */
    for (uint32_t i = 0; i < graph->nodes; i++)
        assert_string_not_equal(graph->node[i].row->name, "Softmax_0");
    for (uint32_t u = 0; u < graph->updates; u++) {
        const struct op_value *to = &graph->value[graph->update[u].state];

        assert_int_equal(to->kind, OP_STATE);
        assert_non_null(to->data);
    }
    op_graph_free(graph);
}

/* Trains for some steps; returns the mean loss of the first and of the last ten. */
static void train(const char *method, double rate, unsigned steps, double out[2])
{
    struct train_reference r;
    struct train_step t;
    struct op_tensor data, targets;
    double loss;

    made(method, &t);
    assert_int_equal(train_reference_new(graph, &t, &r), EMU_OK);
    assert_int_equal(op_tensor_new(&graph->value[t.data].shape, &data), EMU_OK);
    assert_int_equal(op_tensor_new(&graph->value[t.targets].shape, &targets), EMU_OK);
    out[0] = out[1] = 0;
    for (unsigned k = 0; k < steps; k++) {
        draw(&data, &targets);
        assert_int_equal(train_reference_step(&r, &data, &targets, rate, &loss, NULL), EMU_OK);
        out[0] += k < 10 ? loss / 10 : 0;
        out[1] += k + 10 >= steps ? loss / 10 : 0;
    }
    op_tensor_free(&data);
    op_tensor_free(&targets);
    train_reference_free(&r);
    op_graph_free(graph);
}

static void every_method_learns(void **state)
{
    static const struct {
        const char *method;
        double rate;
    } row[] = { { "sgd", 0.05 }, { "rmsprop", 0.01 }, { "lars", 0.1 }, { "adamw", 0.02 } };
    double loss[2];

    (void)state;
    for (unsigned k = 0; k < EMU_COUNT_OF(row); k++) {
        train(row[k].method, row[k].rate, 150, loss);
        if (!(loss[0] > 0.9 && loss[1] < 0.7))
            fail_msg("%s: loss from %g to %g", row[k].method, loss[0], loss[1]);
    }
}

/* Running statistics take a tenth of the batch's. */
static void running_statistics(void **state)
{
    struct train_reference r;
    struct train_step t;
    struct op_tensor data, targets;
    double loss;
    uint32_t mean;

    (void)state;
    made("sgd", &t);
    assert_int_equal(train_reference_new(graph, &t, &r), EMU_OK);
    assert_int_equal(op_tensor_new(&graph->value[t.data].shape, &data), EMU_OK);
    assert_int_equal(op_tensor_new(&graph->value[t.targets].shape, &targets), EMU_OK);
    draw(&data, &targets);
    mean = op_value_find(graph, "bn.running_mean");
    assert_int_equal(train_reference_step(&r, &data, &targets, 0, &loss, NULL), EMU_OK);
    {
        double first = train_reference_state(&r, mean)->f[0], second;

        assert_true(fabs(first) > 1e-4);
        assert_int_equal(train_reference_step(&r, &data, &targets, 0, &loss, NULL), EMU_OK);
        second = train_reference_state(&r, mean)->f[0];
        assert_true(fabs(second - 1.9 * first) < 1e-7); /* 0.9 x 0.1 + 0.1 */
    }
    op_tensor_free(&data);
    op_tensor_free(&targets);
    train_reference_free(&r);
    op_graph_free(graph);
}

static void refused(void **state)
{
    const struct op_shape one = { OP_TYPE_F32, 1, { 4 } };
    struct train_optimiser o;
    struct train_step t;
    uint32_t x;

    (void)state;
    assert_int_equal(train_optimiser_of("adam", &o), EMU_USAGE);
    assert_int_equal(train_optimiser_of("sgd", &o), EMU_OK);
    assert_int_equal(op_graph_new("list", &graph), EMU_OK);
    assert_int_equal(op_value_new(graph, "x", OP_INPUT, &one, &x), EMU_OK);
    assert_int_equal(op_graph_input(graph, x), EMU_OK);
    assert_int_equal(op_graph_output(graph, NODE("Relu", x)), EMU_OK);
    assert_int_equal(train_step_make(graph, &o, &t), EMU_USAGE);
    assert_non_null(strstr(emu_error(), "expected [4][classes]"));
    op_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_and_outputs),
        cmocka_unit_test(every_method_learns),
        cmocka_unit_test(running_statistics),
        cmocka_unit_test(refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
