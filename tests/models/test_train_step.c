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
#include "models/train/train_source.h"

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
        fail_msg("%s", ss_error());
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

/* ---- Dropout of files ---- */

/* Two layers with a Dropout in training mode between them, and more of it behind. attr: of both. */
static void with_dropouts(int trained, const struct op_named_attr *attr, uint32_t attrs)
{
    const struct op_shape in = { OP_TYPE_F32, 2, { BATCH, 8 } };
    const struct op_shape number = { .type = OP_TYPE_F32 };
    const struct op_shape truth = { .type = OP_TYPE_BOOL };
    struct op_tensor t;
    uint32_t x, ratio, mode;
    int64_t yes = 1;

    assert_int_equal(op_graph_new("dropouts", &graph), EMU_OK);
    graph->parameters_change = trained;
    assert_int_equal(op_value_new(graph, "x", OP_INPUT, &in, &x), EMU_OK);
    assert_int_equal(op_graph_input(graph, x), EMU_OK);
    assert_int_equal(op_tensor_new(&number, &t), EMU_OK);
    t.f[0] = 0.25;
    assert_int_equal(op_constant_new(graph, &number, t.f, &ratio), EMU_OK);
    op_tensor_free(&t);
    assert_int_equal(op_constant_new(graph, &truth, &yes, &mode), EMU_OK);
    for (unsigned k = 0; k < 2; k++) {
        const uint32_t drop[] = { NODE("MatMul", x, PARAMETER(k ? "b" : "a", 0, 0.5, 8, 8)), ratio,
                                  mode };

        x = node("Dropout", drop, 3, attr, attrs);
    }
    assert_int_equal(op_graph_output(graph, NODE("MatMul", x, PARAMETER("c", 0, 0.5, 8, CLASSES))),
                     EMU_OK);
}

static unsigned count_nodes(enum op_code op, int64_t *operation)
{
    unsigned found = 0;

    for (uint32_t i = 0; i < graph->nodes; i++) {
        struct op_call c = op_attrs_of(graph, &graph->node[i]);

        if (!op_node_is(&graph->node[i], op))
            continue;
        if (operation) {
            assert_true(fabs(op_float(&c, "keep") - 0.75) < 1e-6);
            operation[found] = op_int(&c, "operation");
        }
        found++;
    }
    return found;
}

/* In a step they are masks, with the file's ratio and seed; evaluated, nothing; and they outlive
 * what takes the identity out. */
static void dropouts_of_files(void **state)
{
    const struct op_named_attr seeded = { "seed", { .kind = OP_ATTR_INT, .i = 42 } };
    struct train_optimiser o;
    struct train_step t;
    int64_t operation[2];

    (void)state;
    assert_int_equal(train_optimiser_of("sgd", &o), EMU_OK);
    for (uint32_t attrs = 0; attrs < 2; attrs++) {
        with_dropouts(1, &seeded, attrs);
        assert_int_equal(graph->problems, 0);
        assert_int_equal(op_graph_tidy(graph), EMU_OK);
        assert_int_equal(count_nodes(OP_Dropout, NULL), 2);
        assert_int_equal(train_step_make(graph, &o, &t), EMU_OK);
        assert_int_not_equal(t.masks, OP_NONE);
        assert_int_equal(count_nodes(OP_Dropout, NULL), 0);
        assert_int_equal(count_nodes(OP_DropoutMask, operation), 2);
        assert_int_equal(operation[0] == operation[1], attrs); /* equal seeds */
        op_graph_free(graph);
    }
    with_dropouts(1, NULL, 0);
    assert_int_equal(train_eval_make(graph, &t), EMU_OK);
    assert_int_equal(count_nodes(OP_DropoutMask, NULL), 0);
    op_graph_free(graph);
    with_dropouts(1, NULL, 0);
    graph->parameters_change = 0; /* a graph that is not trained */
    for (uint32_t i = 0; i < graph->nodes; i++) {
        const struct op_node *n = &graph->node[i];
        const struct op_named_attr attr[] = {
            { "ratio", { .kind = OP_ATTR_FLOAT, .f = 0.25 } },
            { "training_mode", { .kind = OP_ATTR_INT, .i = 1 } },
        };
        const struct op_request r = {
            .op = "Dropout", .in = n->in, .ins = 1, .outs = 1, .attr = attr, .attrs = 2
        };
        uint32_t out;

        if (!op_node_is(n, OP_Dropout))
            continue;
        if (op_node(graph, &r, &out) == EMU_OK)
            assert_int_equal(graph->problems, 1);
        assert_non_null(strstr(ss_error(), "training mode drops at random"));
        break;
    }
    op_graph_free(graph);
}

/* ---- weights to begin with ---- */

/* Their moments, and that nothing is beyond two deviations of what is drawn; a network of the kind
 * takes them unless told otherwise. */
static void weights_are_drawn(void **state)
{
    static const struct {
        enum train_init init;
        double most, fourth; /* in deviations; of what is drawn */
    } kinds[] = { { INIT_NORMAL, 6, 2.9 }, { INIT_TRUNCATED, 2 / 0.8858528530718432, 2.3456 } };
    const struct net_options o = { .batch = 1 };
    struct train_source s = { .net = NULL };

    (void)state;
    assert_int_equal(net_new("efficientnet-b0-g16", &o, &s.net), EMU_OK);
    assert_int_equal(weights_new(s.net, &s.weights), EMU_OK);
    for (unsigned k = 0; k < EMU_COUNT_OF(kinds); k++) {
        double sum[5] = { 0 }, most = 0;

        train_source_seed(&s, 7, kinds[k].init);
        for (uint32_t i = 0; i < s.weights->params; i++) {
            const struct param *p = &s.weights->param[i];
            double fan = p->rank == 4 ? (double)p->shape[0] * p->shape[2] * p->shape[3] /
                                            s.net->param[i].groups
                                      : 0;

            for (uint64_t n = 0; p->rank == 4 && n < p->elements; n++) {
                double x = p->data[n] / sqrt(2 / fan);

                for (unsigned m = 0; m < EMU_COUNT_OF(sum); m++)
                    sum[m] += pow(x, m);
                most = fmax(most, fabs(x));
            }
        }
        assert_true(sum[0] > 3e6); /* numbers */
        assert_true(fabs(sum[1] / sum[0]) < 4 / sqrt(sum[0]));
        assert_true(fabs(sum[2] / sum[0] - 1) < 6 / sqrt(sum[0]));
        assert_true(fabs(sum[4] / sum[0] - kinds[k].fourth) < 40 / sqrt(sum[0]));
        assert_true(most <= kinds[k].most + 1e-6);
        assert_true(most > 0.99 * (k ? kinds[k].most : 4.5));
    }
    weights_free(s.weights);
    net_free(s.net);
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
    assert_non_null(strstr(ss_error(), "expected [4][classes]"));
    op_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_and_outputs), cmocka_unit_test(every_method_learns),
        cmocka_unit_test(running_statistics), cmocka_unit_test(dropouts_of_files),
        cmocka_unit_test(weights_are_drawn),  cmocka_unit_test(refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
