/* test_weights_graph.c - networks by name: the same numbers after passes, spelt in operators of
 * version 17, and written as ONNX and read again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "models/onnx/onnx.h"
#include "models/pass/op_pass.h"
#include "models/weights/calibrate.h"

struct network {
    struct net *net;
    struct weights *weights;
    struct op_tensor picture, scores; /* what the network is given, and makes of it */
};

static struct network network_new(const char *name, const struct net_options *o)
{
    struct network w;
    float *x = emu_alloc(3ull * o->batch * o->resolution * o->resolution, sizeof(*x));

    assert_non_null(x);
    assert_int_equal(net_new(name, o, &w.net), EMU_OK);
    assert_int_equal(weights_new(w.net, &w.weights), EMU_OK);
    weights_seed(w.weights, w.net, 7);
    weights_attach(w.weights, w.net);
    synthetic_pictures(o->resolution, 3, o->batch, x);
    assert_int_equal(op_tensor_new(&w.net->graph->value[w.net->graph->input[0]].shape, &w.picture),
                     EMU_OK);
    for (size_t k = 0; k < op_shape_count(&w.picture.shape); k++)
        w.picture.f[k] = (double)x[k];
    assert_int_equal(op_graph_run(w.net->graph, &w.picture, 0, &w.scores), EMU_OK);
    ss_free(x);
    return w;
}

static void network_free(struct network *w)
{
    op_tensor_free(&w->picture);
    op_tensor_free(&w->scores);
    weights_free(w->weights);
    net_free(w->net);
}

/* The scores of a graph against those of the network as it was built. */
static void compare(const struct network *w, const struct op_graph *g, double bound)
{
    struct op_tensor y;

    assert_int_equal(g->inputs, 1);
    assert_int_equal(g->outputs, 1);
    assert_string_equal(g->value[g->output[0]].name, "scores");
    assert_int_equal(op_graph_run(g, &w->picture, 0, &y), EMU_OK);
    assert_true(op_shape_equal(&y.shape, &w->scores.shape));
    for (uint32_t k = 0; k < op_shape_count(&y.shape); k++)
        assert_true(fabs(y.f[k] - w->scores.f[k]) <= bound);
    op_tensor_free(&y);
}

static uint32_t count_of(const struct op_graph *g, enum op_code op)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < g->nodes; i++)
        n += op_node_is(&g->node[i], op);
    return n;
}

/* Each parameter is a value of the graph under its own name. */
static void names(const struct network *w, const struct op_graph *g)
{
    for (uint32_t k = 0; k < w->weights->params; k++) {
        uint32_t v = op_value_find(g, w->weights->param[k].name);

        assert_int_not_equal(v, OP_NONE);
        assert_int_equal(g->value[v].kind, OP_PARAM);
    }
}

/* As a file and back; what it was spelt in is recognised again. */
static void compare_written(const struct network *w, uint32_t swishes, uint32_t group_norms)
{
    const struct op_graph *g = w->net->graph;
    struct onnx_model *m;
    char *file = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&file, &bytes);

    assert_non_null(f);
    assert_int_equal(onnx_write(g, f), EMU_OK);
    assert_int_equal(fclose(f), 0);
    if (onnx_read_bytes(file, bytes, "network", NULL, &m) != EMU_OK)
        fail_msg("%s", ss_error());
    assert_int_equal(m->graph->nodes_wrong, 0);
    assert_int_equal(m->graph->nodes, g->nodes);
    compare(w, m->graph, 1e-9);
    assert_int_equal(pass_all(m->graph), EMU_OK);
    compare(w, m->graph, 1e-5); /* folded weights are rounded to f32 */
    assert_int_equal(count_of(m->graph, OP_Swish), swishes);
    assert_int_equal(count_of(m->graph, OP_GroupNormalization), group_norms);
    onnx_model_free(m);
    free(file);
}

static void same(const char *name, const struct net_options *o)
{
    struct network w = network_new(name, o);
    struct op_graph *g = w.net->graph;
    uint32_t swishes = count_of(g, OP_Swish), group_norms = count_of(g, OP_GroupNormalization);

    names(&w, g);
    if (pass_spell(g) != EMU_OK)
        fail_msg("%s: %s", name, ss_error());
    assert_int_equal(count_of(g, OP_Swish) + count_of(g, OP_GroupNormalization), 0);
    compare(&w, g, 1e-9);
    compare_written(&w, swishes, group_norms);
    network_free(&w);
}

static void batch_norms(void **state)
{
    (void)state;
    same("efficientnet-b0", &(struct net_options){ .batch = 2, .resolution = 33, .classes = 10 });
    same("efficientnet-b0",
         &(struct net_options){ .batch = 1, .resolution = 32, .classes = 10, .torch_padding = 1 });
}

static void group_norms(void **state)
{
    (void)state;
    same("efficientnet-b0-g16",
         &(struct net_options){ .batch = 2, .resolution = 32, .classes = 10 });
}

static void max_pool(void **state)
{
    (void)state;
    same("resnet-50", &(struct net_options){ .batch = 1, .resolution = 45, .classes = 10 });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batch_norms),
        cmocka_unit_test(group_norms),
        cmocka_unit_test(max_pool),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
