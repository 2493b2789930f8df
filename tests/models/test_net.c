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
        fail_msg("%s", emu_error());
    return n;
}

/* The published tables count a bias and a norm's parameters apart from weights. */
static uint64_t extra_params(const struct layer *l)
{
    return l->op == LAYER_NORM ? layer_params(l) : l->bias ? l->out_c : 0;
}

static const char *row_difference(const struct layer *l, const struct row *r)
{
    return strcmp(l->name, r->name)                             ? "name"
           : strcmp(l->block, r->block)                         ? "block"
           : strcmp(layer_op_name(l->op), r->op)                ? "op"
           : l->in_h != r->in_side || l->in_w != r->in_side     ? "input side"
           : l->out_h != r->out_side || l->out_w != r->out_side ? "output side"
           : l->in_c != r->in_c || l->out_c != r->out_c         ? "channels"
           : l->kernel != r->kernel || l->stride != r->stride   ? "window"
           : l->groups != r->groups                             ? "groups"
           : layer_macs(l) != r->macs                           ? "multiply-adds"
           : layer_params(l) - extra_params(l) != r->weights    ? "weights"
           : extra_params(l) != r->extra                        ? "bias or norm parameters"
                                                                : NULL;
}

/* NULL, or what differs first. Layer 0 of a network is the picture, which the tables do not have.
 */
static const char *table_difference(const struct net *n, const struct row *r, size_t rows)
{
    if (n->layers != rows + 1 || n->layer[0].op != LAYER_INPUT)
        return "number of layers";
    for (size_t i = 0; i < rows; i++) {
        const char *d = row_difference(&n->layer[i + 1], &r[i]);

        if (d) {
            print_message("row %zu (%s): %s\n", i, r[i].name, d);
            return d;
        }
    }
    return NULL;
}

static void published_tables(void **state)
{
    struct net *n = make("efficientnet-b4", (struct net_options){ 0 });

    (void)state;
    assert_int_equal(EMU_COUNT_OF(b4), 476);
    assert_null(table_difference(n, b4, EMU_COUNT_OF(b4)));
    assert_int_equal(net_params(n), 19341616);
    assert_int_equal(net_macs(n), 4393771024);
    assert_string_equal(table_difference(n, b4_g16, EMU_COUNT_OF(b4_g16)), "groups");
    n->layer[200].out_c++;
    assert_string_equal(table_difference(n, b4, EMU_COUNT_OF(b4)), "channels");
    net_free(n);
    n = make("efficientnet-b4-g16", (struct net_options){ 0 });
    assert_int_equal(EMU_COUNT_OF(b4_g16), 476);
    assert_null(table_difference(n, b4_g16, EMU_COUNT_OF(b4_g16)));
    assert_int_equal(net_params(n), 19328168);
    assert_int_equal(net_macs(n), 6183172704);
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

/* Inputs are earlier layers of the right shape, channels divide into groups, names differ. */
static void check_structure(const struct net *n)
{
    for (uint32_t i = 0; i < n->layers; i++) {
        const struct layer *l = &n->layer[i];

        for (int k = 0; k < 2; k++) {
            const struct layer *p = l->input[k] == LAYER_NONE ? NULL : &n->layer[l->input[k]];

            assert_true(!p || l->input[k] < i);
            assert_int_equal(!p, l->op == LAYER_INPUT ||
                                     (k && l->op != LAYER_ADD && l->op != LAYER_SCALE));
            if (p && (k == 0 || l->op == LAYER_ADD)) {
                assert_int_equal(p->out_c, l->in_c);
                assert_int_equal(p->out_h, l->in_h);
                assert_int_equal(p->out_w, l->in_w);
            }
        }
        assert_true(l->out_c && l->out_h && l->out_w && l->in_c % l->groups == 0);
        if (l->op == LAYER_NORM && l->norm == NORM_GROUP)
            assert_true(l->norm_groups && l->in_c % l->norm_groups == 0);
        assert_int_equal(net_find(n, l->name), i);
    }
    assert_int_equal(n->layer[n->layers - 1].op, LAYER_SOFTMAX);
    assert_int_equal(n->layer[n->layers - 1].out_c, n->classes);
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

static const struct padding *pad_of(const struct net *n, const char *layer)
{
    uint32_t i = net_find(n, layer);

    assert_true(i != LAYER_NONE);
    return &n->layer[i].pad;
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
        const struct padding *s = pad_of(same, want[i].layer), *t = pad_of(torch, want[i].layer);

        assert_int_equal(s->before_h, want[i].before);
        assert_int_equal(s->after_h, want[i].after);
        assert_int_equal(s->before_w, want[i].before);
        assert_int_equal(s->after_w, want[i].after);
        assert_int_equal(t->before_h, want[i].torch);
        assert_int_equal(t->after_w, want[i].torch);
    }
    for (uint32_t i = 0; i < same->layers; i++)
        assert_int_equal(same->layer[i].out_h, torch->layer[i].out_h);
    assert_true(same->layer[2].eps == 1e-3 && torch->layer[2].eps == 1e-5);
    net_free(same);
    net_free(torch);
}

static void resnet_shapes(void **state)
{
    struct net *n = make("resnet-50", (struct net_options){ 0 });
    const struct layer *pool = &n->layer[net_find(n, "stem.pool")];
    const struct layer *conv = &n->layer[net_find(n, "block2a.conv")];
    const struct layer *last = &n->layer[net_find(n, "block4c.act")];

    (void)state;
    assert_int_equal(n->layer[1].pad.before_h, 3);
    assert_int_equal(n->layer[1].out_h, 112);
    assert_int_equal(pool->out_h, 56);
    assert_int_equal(pool->pad.before_w, 1);
    assert_int_equal(conv->stride, 2);
    assert_string_equal(conv->param, "layer2.0.conv2");
    assert_int_equal(last->out_c, 2048);
    assert_int_equal(last->out_h, 7);
    assert_int_equal(net_macs(n) / 1000000, 4089);
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
    assert_non_null(strstr(emu_error(), "efficientnet-b4-g16"));
    assert_non_null(strstr(emu_error(), "resnet-50"));
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

/* One line for each layer, a heading and a total. */
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
    assert_int_equal(lines, n->layers + 2);
    assert_non_null(strstr(text, "5x5/2 g192"));
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
