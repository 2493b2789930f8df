/* test_net_check.c - networks outside the table: what cannot be lowered, or not on a machine, is
 * refused by name before there are parameters; a first layer of stride 1 and pooling without a
 * border agree with the reference.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/fp.h"
#include "emu/emu.h"
#include "models/build/net_check.h"
#include "models/net/net_build.h"
#include "models/ref/ref.h"
#include "models/run/compare_layers.h"

enum { SIDE = 13, CLASSES = 10, BATCH = 2 };

static void must(enum emu_status s)
{
    if (s != EMU_OK)
        fail_msg("%s", emu_error());
}

static struct net_builder begin(struct net *n)
{
    struct net_builder b = { .net = n, .norm = NORM_BATCH, .batch_eps = 1e-5, .torch_padding = 1 };

    memset(n, 0, sizeof(*n));
    snprintf(n->name, sizeof(n->name), "small");
    n->batch = BATCH;
    n->resolution = SIDE;
    n->classes = CLASSES;
    build_block(&b, "input", "");
    return b;
}

static uint32_t conv_norm(struct net_builder *b, uint32_t x, const char *name, uint32_t out_c,
                          uint32_t groups)
{
    build_block(b, name, name);
    x = build_conv(b, x, "", ".conv", (struct build_kernels){ out_c, 3, 1, groups });
    x = build_norm(b, x, ".norm", ".norm");
    return build_unary(b, LAYER_RELU, x, ".act");
}

/* As VGG begins and ends: 13 x 13 pictures become 6 x 6, then 3 x 3. */
static void build_vgg(struct net *n)
{
    struct net_builder b = begin(n);
    uint32_t x = build_input(&b, 3, SIDE);

    x = conv_norm(&b, x, "first", 40, 1);
    x = build_maxpool(&b, x, "pool1", 2, 2, 0);
    x = conv_norm(&b, x, "groups", 40, 2);
    x = build_maxpool(&b, x, "pool2", 2, 2, 0);
    x = build_unary(&b, LAYER_AVGPOOL, x, "avgpool");
    x = build_linear(&b, x, "fc", "fc", CLASSES, 2);
    build_unary(&b, LAYER_SOFTMAX, x, "softmax");
    must(b.status);
}

static void test_shapes(void **state)
{
    struct net n;

    (void)state;
    build_vgg(&n);
    assert_int_equal(n.layer[net_find(&n, "first")].out_h, SIDE);
    assert_int_equal(n.layer[net_find(&n, "pool1")].out_h, 6);
    assert_int_equal(n.layer[net_find(&n, "pool2")].out_w, 3);
    emu_free(n.layer);
}

/* ---- refused ---- */

static void refuses(const struct arch *a, const struct net *n, const char *text)
{
    assert_int_equal(net_check(a, n), EMU_USAGE);
    if (!strstr(emu_error(), text))
        fail_msg("'%s' does not say '%s'", emu_error(), text);
}

static void test_refused(void **state)
{
    const struct arch *mk2 = arch_preset("mk2");
    struct net_builder b;
    struct net n;
    uint32_t x;

    (void)state;
    b = begin(&n);
    x = build_input(&b, 3, SIDE);
    x = build_unary(&b, LAYER_RELU, x, "lonely");
    refuses(mk2, &n, "layer lonely (relu): an activation that follows nothing");
    emu_free(n.layer);

    b = begin(&n);
    x = build_input(&b, 3, SIDE);
    x = build_maxpool(&b, x, "pool", 2, 2, 0);
    build_norm(&b, x, "norm", "norm");
    refuses(mk2, &n, "layer norm (norm): a batch norm that follows no convolution");
    emu_free(n.layer);
}

/* A depthwise kernel of 7 x 7, which no sliding kernel does. */
static void test_wide(void **state)
{
    struct net_builder b;
    struct net n;
    uint32_t x;

    (void)state;
    b = begin(&n);
    x = build_input(&b, 16, SIDE);
    build_conv(&b, x, "wide", "wide", (struct build_kernels){ 16, 7, 1, 16 });
    must(net_check(arch_preset("toy4"), &n));
    emu_free(n.layer);
}

static void test_machine(void **state)
{
    struct net n;

    (void)state;
    build_vgg(&n);
    must(net_check(arch_preset("mk2"), &n));
    must(net_check(arch_preset("toy4"), &n));
    refuses(arch_preset("mk1"), &n,
            "layer first: kernel conv_window_f16: its instruction f16v4hihov4amp needs the "
            "instruction set ipu2, and machine mk1 has ipu1");
    emu_free(n.layer);
}

/* ---- against the reference ---- */

static void write_pictures(struct session *s, const struct net_graph *ng)
{
    size_t pixels = (size_t)SIDE * SIDE, values = 3 * pixels;
    float *picture = emu_alloc(BATCH * values, sizeof(*picture));
    uint16_t *input = emu_alloc(BATCH * 4 * pixels, sizeof(*input));
    struct fp_env nearest = { 0 };

    ref_pictures(SIDE, 5, BATCH, picture);
    for (size_t i = 0; i < BATCH * values; i++)
        input[(i / values * pixels + i % pixels) * 4 + i % values / pixels] =
            fp_f16_from_f64((double)picture[i], 0, &nearest);
    must(session_write(s, ng->picture.t, input));
    emu_free(picture);
    emu_free(input);
}

static void test_layers_agree(void **state)
{
    struct net_graph_options o = { 0 };
    struct layer_comparison sum = { 0 };
    struct arch a = *arch_preset("mk2");
    struct compiled *compiled;
    struct session *session;
    struct weights *w;
    struct net_graph *ng;
    struct graph *g;
    struct net n;
    char *text;
    size_t bytes;

    (void)state;
    must(arch_set(&a, "tiles=64"));
    build_vgg(&n);
    o.keep_end = n.layers;
    must(weights_new(&n, &w));
    weights_seed(w, &n, 3);
    must(weights_calibrate(w, &n, 2));
    must(graph_new(&a, &kernel_library, &g));
    must(net_graph_build(g, &n, w, &o, &ng));
    must(graph_compile(g, NULL, &compiled));
    must(session_new(compiled, NULL, &session));
    write_pictures(session, ng);
    must(session_run(session));
    sum.f = open_memstream(&text, &bytes);
    must(compare_layers(ng, w, session, 0, n.layers, &sum));
    fclose(sum.f);
    if (sum.broken)
        fail_msg("%s\n%s", sum.first, text);
    assert_int_equal(sum.compared, 7);
    free(text);
    session_free(session);
    compiled_free(compiled);
    net_graph_free(ng);
    graph_free(g);
    weights_free(w);
    emu_free(n.layer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),       cmocka_unit_test(test_refused),
        cmocka_unit_test(test_wide),         cmocka_unit_test(test_machine),
        cmocka_unit_test(test_layers_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
