/* test_weights_graph.c - the networks as operator graphs: the same numbers as the reference of
 * layers, also after passes, and also written as ONNX and read again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "models/onnx/onnx.h"
#include "models/pass/op_pass.h"
#include "models/ref/ref.h"
#include "models/weights/weights_graph.h"

struct network {
    struct net *net;
    struct weights *weights;
    struct op_tensor picture; /* what both are given */
    struct ref ref;
};

static struct network network_new(const char *name, const struct net_options *o)
{
    struct network w;
    const struct op_shape s = { .type = OP_TYPE_F32,
                                .rank = 4,
                                .dim = { o->batch, 3, o->resolution, o->resolution } };
    size_t n = op_shape_count(&s);
    float *x = emu_alloc(n, sizeof(*x));

    assert_non_null(x);
    assert_int_equal(net_new(name, o, &w.net), EMU_OK);
    assert_int_equal(weights_new(w.net, &w.weights), EMU_OK);
    weights_seed(w.weights, w.net, 7);
    ref_pictures(o->resolution, 3, o->batch, x);
    assert_int_equal(ref_run(w.net, w.weights, x, 0, &w.ref), EMU_OK);
    assert_int_equal(op_tensor_new(&s, &w.picture), EMU_OK);
    for (size_t k = 0; k < n; k++)
        w.picture.f[k] = (double)x[k];
    emu_free(x);
    return w;
}

static void network_free(struct network *w)
{
    ref_free(&w->ref);
    op_tensor_free(&w->picture);
    weights_free(w->weights);
    net_free(w->net);
}

/* The graph's scores against those of the layers. */
static void compare(const struct network *w, const struct op_graph *g, double bound)
{
    const double *want = w->ref.out[w->net->layers - 1];
    struct op_tensor y;

    assert_int_equal(g->inputs, 1);
    assert_int_equal(g->outputs, 1);
    assert_string_equal(g->value[g->output[0]].name, "scores");
    assert_int_equal(op_graph_run(g, &w->picture, 0, &y), EMU_OK);
    assert_int_equal(op_shape_count(&y.shape), w->net->batch * w->net->classes);
    for (uint32_t k = 0; k < w->net->batch * w->net->classes; k++)
        assert_true(fabs(y.f[k] - want[k]) <= bound);
    op_tensor_free(&y);
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

/* As a file and back. */
static void compare_written(const struct network *w, const struct op_graph *g)
{
    struct onnx_model *m;
    char *file = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&file, &bytes);

    assert_non_null(f);
    assert_int_equal(onnx_write(g, f), EMU_OK);
    assert_int_equal(fclose(f), 0);
    if (onnx_read_bytes(file, bytes, "network", NULL, &m) != EMU_OK)
        fail_msg("%s", emu_error());
    assert_int_equal(m->graph->nodes_wrong, 0);
    assert_int_equal(m->graph->nodes, g->nodes);
    compare(w, m->graph, 1e-9);
    onnx_model_free(m);
    free(file);
}

static void same(const char *name, const struct net_options *o)
{
    struct network w = network_new(name, o);
    struct op_graph *g;

    if (weights_graph_new(w.net, w.weights, &g) != EMU_OK)
        fail_msg("%s: %s", name, emu_error());
    names(&w, g);
    compare(&w, g, 1e-9);
    assert_int_equal(op_graph_tidy(g), EMU_OK);
    compare_written(&w, g);
    assert_int_equal(pass_all(g), EMU_OK);
    compare(&w, g, 1e-5); /* folded weights are rounded to f32 */
    op_graph_free(g);
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
