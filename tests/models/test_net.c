/* test_net.c - networks against the published layer tables, row by row, and against the known
 * numbers of parameters; padding; what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emu/base/alloc.h"
#include "models/net/net.h"

struct row {
    const char *name, *block, *op;
    uint32_t in_side, in_c, out_side, out_c, kernel, stride, groups;
    uint64_t macs, weights, extra;
};

#define ROW(...) { __VA_ARGS__ },
static const struct row b4[] = {
#include "tests/models/effnet_b4_rows.def"
};
static const struct row b4_g16[] = {
#include "tests/models/effnet_b4_g16_rows.def"
};
#undef ROW

static struct net *make(const char *name, struct net_options o)
{
    struct net *n;

    if (net_new(name, &o, &n) != EMU_OK)
        fail_msg("%s", ss_error());
    return n;
}

/* ---- nodes as rows ---- */

static const struct op_shape *shape_of(const struct net *n, uint32_t value)
{
    return &n->graph->value[value].shape;
}

static const struct op_node *node_of(const struct net *n, const char *name)
{
    for (uint32_t i = 0; i < n->graph->nodes; i++) {
        if (!strcmp(n->graph->node[i].name, name))
            return &n->graph->node[i];
    }
    fail_msg("no node %s", name);
    return NULL;
}

/* Element k of a list of an attribute; what the operator takes without it: otherwise. */
static uint32_t attr_of(const struct net *n, const struct op_node *node, const char *name,
                        unsigned k, uint32_t otherwise)
{
    const struct op_call c = op_attrs_of(n->graph, node);
    const int64_t *list;

    if (!op_knows(&c, name) || !op_has(&c, name))
        return otherwise;
    op_ints(&c, name, &list);
    return (uint32_t)list[k];
}

static const struct {
    enum op_code op;
    const char *published;
} op_names[] = {
    { OP_Conv, "conv" },
    { OP_BatchNormalization, "norm" },
    { OP_GroupNormalization, "norm" },
    { OP_Swish, "swish" },
    { OP_GlobalAveragePool, "pool" },
    { OP_Gemm, "fc" },
    { OP_Sigmoid, "sigmoid" },
    { OP_Mul, "scale" },
    { OP_Add, "add" },
    { OP_Softmax, "softmax" },
};

/* Squeeze and excitation is published as fully connected layers. */
static const char *published_op(const struct net *n, const struct op_node *node)
{
    if (op_node_is(node, OP_Conv) && node->ins > 2 &&
        op_shape_span(shape_of(n, node->out[0]), 2, 4) == 1)
        return "fc";
    for (size_t i = 0; i < EMU_COUNT_OF(op_names); i++) {
        if (op_node_is(node, op_names[i].op))
            return op_names[i].published;
    }
    return "?";
}

/* The published tables count biases and parameters of norms apart from weights; statistics are
 * none. */
static void count_params(const struct net *n, const struct op_node *node, uint64_t *weights,
                         uint64_t *extra)
{
    int norm = !strcmp(published_op(n, node), "norm");

    *weights = *extra = 0;
    for (uint32_t k = 1; k < node->ins && k < 3; k++) {
        if (n->graph->value[node->in[k]].kind == OP_PARAM)
            *(norm || k == 2 ? extra : weights) += op_shape_count(shape_of(n, node->in[k]));
    }
}

static uint32_t side_of(const struct op_shape *s)
{
    return s->rank == 4 ? s->dim[2] : 1;
}

static const char *row_difference(const struct net *n, const struct op_node *node,
                                  const struct row *r)
{
    const struct op_call c = op_attrs_of(n->graph, node);
    const struct op_shape *x = shape_of(n, node->in[0]), *y = shape_of(n, node->out[0]);
    int conv = op_node_is(node, OP_Conv);
    uint32_t kernel = conv ? shape_of(n, node->in[1])->dim[2] : 1;
    uint32_t groups = conv ? (uint32_t)op_int(&c, "group") : 1;
    uint64_t weights, extra;

    count_params(n, node, &weights, &extra);
    return strcmp(node->name, r->name)                                             ? "name"
           : strcmp(node->block, r->block)                                         ? "block"
           : strcmp(published_op(n, node), r->op)                                  ? "op"
           : side_of(x) != r->in_side                                              ? "input side"
           : side_of(y) != r->out_side                                             ? "output side"
           : x->dim[1] != r->in_c || y->dim[1] != r->out_c                         ? "channels"
           : kernel != r->kernel || attr_of(n, node, "strides", 0, 1) != r->stride ? "window"
           : groups != r->groups                                                   ? "groups"
           : op_node_macs(n->graph, node) != r->macs                               ? "multiply-adds"
           : weights != r->weights                                                 ? "weights"
           : extra != r->extra ? "bias or norm parameters"
                               : NULL;
}

/* NULL, or what differs first. The tables do not have the Flatten before the classifier. */
static const char *table_difference(const struct net *n, const struct row *r, size_t rows)
{
    size_t row = 0;

    for (uint32_t i = 0; i < n->graph->nodes; i++) {
        const char *d;

        if (op_node_is(&n->graph->node[i], OP_Flatten))
            continue;
        d = row < rows ? row_difference(n, &n->graph->node[i], &r[row]) : "number of nodes";
        if (d) {
            print_message("row %zu (%s): %s\n", row, n->graph->node[i].name, d);
            return d;
        }
        row++;
    }
    return row == rows ? NULL : "number of nodes";
}

static void published_tables(void **state)
{
    struct net *n = make("efficientnet-b4", (struct net_options){ 0 });

    (void)state;
    assert_int_equal(EMU_COUNT_OF(b4), 476);
    assert_null(table_difference(n, b4, EMU_COUNT_OF(b4)));
    assert_int_equal(net_params(n), 19341616);
    assert_int_equal(op_graph_macs(n->graph), 4393771024);
    assert_string_equal(table_difference(n, b4_g16, EMU_COUNT_OF(b4_g16)), "groups");
    n->graph->value[n->graph->node[200].out[0]].shape.dim[1]++;
    assert_string_equal(table_difference(n, b4, EMU_COUNT_OF(b4)), "channels");
    net_free(n);
    n = make("efficientnet-b4-g16", (struct net_options){ 0 });
    assert_int_equal(EMU_COUNT_OF(b4_g16), 476);
    assert_null(table_difference(n, b4_g16, EMU_COUNT_OF(b4_g16)));
    assert_int_equal(net_params(n), 19328168);
    assert_int_equal(op_graph_macs(n->graph), 6183172704);
    net_free(n);
}

static void known_parameter_counts(void **state)
{
    static const struct {
        const char *name;
        uint64_t params; /* as torchvision counts them */
    } known[] = {
        { "efficientnet-b0", 5288548 },  { "efficientnet-b1", 7794184 },
        { "efficientnet-b2", 9109994 },  { "efficientnet-b3", 12233232 },
        { "efficientnet-b4", 19341616 }, { "efficientnet-b5", 30389784 },
        { "efficientnet-b6", 43040704 }, { "efficientnet-b7", 66347960 },
        { "resnet-50", 25557032 },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(known); i++) {
        struct net *n = make(known[i].name, (struct net_options){ 0 });

        if (net_params(n) != known[i].params)
            fail_msg("%s: %llu parameters", n->name, (unsigned long long)net_params(n));
        net_free(n);
    }
}

/* The graph is whole, names of nodes differ, every parameter has a reader that is called as its
 * layer, and the scores have the classes. */
static void check_structure(const struct net *n)
{
    const struct op_graph *g = n->graph;

    assert_int_equal(op_graph_check(g), EMU_OK);
    assert_int_equal(g->problems, 0);
    for (uint32_t i = 0; i < g->nodes; i++)
        assert_ptr_equal(node_of(n, g->node[i].name), &g->node[i]);
    for (uint32_t i = 0; i < n->params; i++) {
        const struct net_param *p = &n->param[i];
        const struct op_node *node = node_of(n, p->layer);
        int read = 0;

        assert_int_equal(g->value[p->value].kind, OP_PARAM);
        assert_int_equal(g->value[p->value].readers, 1);
        assert_non_null(strstr(g->value[p->value].name, p->suffix));
        for (uint32_t k = 0; k < node->ins; k++)
            read += node->in[k] == p->value;
        assert_int_equal(read, 1);
    }
    assert_int_equal(g->outputs, 1);
    assert_int_equal(shape_of(n, g->output[0])->dim[1], n->classes);
    assert_int_equal(shape_of(n, g->output[0])->dim[0], n->batch);
}

static void every_network_in_every_way(void **state)
{
    static const uint32_t side[] = { 0, NET_SIDE_MIN, 33, 511 };
    unsigned i;

    (void)state;
    for (i = 0; net_name(i); i++) {
        for (unsigned way = 0; way < 16; way++) {
            struct net *n = make(net_name(i), (struct net_options){
                                                  .resolution = side[way % 4],
                                                  .classes = way % 3 ? 7 : 0,
                                                  .batch = way,
                                                  .torch_padding = way / 4 % 2,
                                                  .norm = way / 8 ? "group" : NULL,
                                              });

            check_structure(n);
            assert_int_equal(n->batch, way ? way : 1);
            net_free(n);
        }
        assert_non_null(net_text(i));
    }
    assert_true(i > 0);
    assert_null(net_text(i));
    assert_int_equal(alloc_live(), 0);
}

/* SAME on an even field with stride 2 pads after only; torch pads both sides. Sizes agree. */
static void paddings(void **state)
{
    struct net *same = make("efficientnet-b4", (struct net_options){ 0 });
    struct net *torch = make("efficientnet-b4", (struct net_options){ .torch_padding = 1 });
    static const struct {
        const char *layer;
        uint32_t before, after, torch;
    } want[] = {
        /* 380 -> 190, 3x3 stride 2 */
        { "stem", .before = 0, .after = 1, .torch = 1 },
        /* stride 1 */
        { "block1a.dw", .before = 1, .after = 1, .torch = 1 },
        /* 95 -> 48, 5x5 stride 2: 47 * 2 + 5 - 95 = 4 */
        { "block3a.dw", .before = 2, .after = 2, .torch = 2 },
        /* 24 -> 12, 5x5 stride 2: 11 * 2 + 5 - 24 = 3 */
        { "block6a.dw", .before = 1, .after = 2, .torch = 2 },
        { "head", .before = 0, .after = 0, .torch = 0 },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(want); i++) {
        const struct op_node *s = node_of(same, want[i].layer), *t = node_of(torch, want[i].layer);

        for (unsigned k = 0; k < 4; k++) {
            assert_int_equal(attr_of(same, s, "pads", k, 0),
                             k < 2 ? want[i].before : want[i].after);
            assert_int_equal(attr_of(torch, t, "pads", k, 0), want[i].torch);
        }
    }
    for (uint32_t i = 0; i < same->graph->nodes; i++)
        assert_true(op_shape_equal(shape_of(same, same->graph->node[i].out[0]),
                                   shape_of(torch, torch->graph->node[i].out[0])));
    {
        const struct op_call s = op_attrs_of(same->graph, node_of(same, "stem.norm"));
        const struct op_call t = op_attrs_of(torch->graph, node_of(torch, "stem.norm"));

        assert_true(op_float(&s, "epsilon") == 1e-3 && op_float(&t, "epsilon") == 1e-5);
    }
    net_free(same);
    net_free(torch);
}

static void resnet_shapes(void **state)
{
    struct net *n = make("resnet-50", (struct net_options){ 0 });
    const struct op_node *stem = node_of(n, "stem"), *pool = node_of(n, "stem.pool");
    const struct op_node *conv = node_of(n, "block2a.conv"), *last = node_of(n, "block4c.act");

    (void)state;
    assert_int_equal(attr_of(n, stem, "pads", 0, 0), 3);
    assert_int_equal(shape_of(n, stem->out[0])->dim[2], 112);
    assert_int_equal(shape_of(n, pool->out[0])->dim[2], 56);
    assert_int_equal(attr_of(n, pool, "pads", 1, 0), 1);
    assert_int_equal(attr_of(n, conv, "strides", 0, 1), 2);
    assert_string_equal(n->graph->value[conv->in[1]].name, "layer2.0.conv2.weight");
    assert_int_equal(shape_of(n, last->out[0])->dim[1], 2048);
    assert_int_equal(shape_of(n, last->out[0])->dim[2], 7);
    assert_int_equal(op_graph_macs(n->graph) / 1000000, 4089);
    net_free(n);
}

static void refused(void **state)
{
    static const struct net_options bad[] = {
        { .resolution = NET_SIDE_MIN - 1 },
        { .resolution = NET_SIDE_MAX + 1 },
        { .batch = NET_BATCH_MAX + 1 },
        { .classes = NET_CLASSES_MAX + 1 },
        { .norm = "layer" },
    };
    struct net *n;

    (void)state;
    assert_int_equal(net_new("efficientnet-b8", NULL, &n), EMU_USAGE);
    assert_null(n);
    assert_non_null(strstr(ss_error(), "did you mean 'efficientnet-b"));
    assert_non_null(strstr(ss_error(), "superstep models lists them"));
    for (size_t i = 0; i < EMU_COUNT_OF(bad); i++) {
        assert_int_equal(net_new("efficientnet-b0", &bad[i], &n), EMU_USAGE);
        assert_null(n);
    }
    assert_int_equal(alloc_live(), 0);
}

static void out_of_memory(void **state)
{
    struct net *n;
    long k = 0;

    (void)state;
    for (;; k++) {
        alloc_test_fail_at(k);
        if (net_new("efficientnet-b4", NULL, &n) == EMU_OK)
            break;
        assert_null(n);
        assert_int_equal(alloc_live(), 0);
    }
    alloc_test_fail_at(-1);
    net_free(n);
    net_free(NULL);
    assert_true(k > 2);
    assert_int_equal(alloc_live(), 0);
}

/* One line for each node, a heading and a total. */
static void printed(void **state)
{
    struct net *n = make("efficientnet-b4", (struct net_options){ 0 });
    char *text = NULL;
    size_t bytes = 0;
    uint32_t lines = 0;
    FILE *f = open_memstream(&text, &bytes);

    (void)state;
    assert_non_null(f);
    net_print(n, f);
    fclose(f);
    for (size_t i = 0; i < bytes; i++)
        lines += text[i] == '\n';
    assert_int_equal(lines, n->graph->nodes + 2);
    assert_non_null(strstr(text, "strides=[2, 2]"));
    assert_non_null(strstr(text, "19341616 parameters, 4393.8 M multiply-adds"));
    free(text);
    net_free(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_tables),
        cmocka_unit_test(known_parameter_counts),
        cmocka_unit_test(every_network_in_every_way),
        cmocka_unit_test(paddings),
        cmocka_unit_test(resnet_shapes),
        cmocka_unit_test(refused),
        cmocka_unit_test(out_of_memory),
        cmocka_unit_test(printed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
