/* test_weights.c - which parameters networks have, seeded values, files with either family of
 * names, what is wrong in a file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "emu/base/alloc.h"
#include "emu/base/hash.h"
#include "models/weights/names.h"
#include "models/weights/safetensors.h"

static struct net *make(const char *name, const char *norm)
{
    struct net_options o = { .norm = norm, .classes = 10, .resolution = 32 };
    struct net *n;

    if (net_new(name, &o, &n) != EMU_OK)
        fail_msg("%s", ss_error());
    return n;
}

static struct weights *seeded(const struct net *n, uint64_t seed)
{
    struct weights *w;

    if (weights_new(n, &w) != EMU_OK)
        fail_msg("%s", ss_error());
    weights_seed(w, n, seed);
    return w;
}

/* Trainable parameters are those that net_params() counts; each is found where it belongs. */
static void parameters(void **state)
{
    (void)state;
    for (unsigned i = 0; net_name(i); i += 4) {
        struct net *n = make(net_name(i), i % 8 ? "group" : NULL);
        struct weights *w = seeded(n, 1);
        uint64_t trainable = 0;

        for (uint32_t k = 0; k < w->params; k++) {
            const struct param *p = &w->param[k];
            uint64_t elements = 1;

            for (unsigned d = 0; d < p->rank; d++)
                elements *= p->shape[d];
            assert_int_equal(elements, p->elements);
            assert_ptr_equal(weights_find(w, n, n->param[k].layer, strrchr(p->name, '.') + 1), p);
            if (!strstr(p->name, ".running_"))
                trainable += elements;
        }
        assert_int_equal(trainable, net_params(n));
        assert_null(weights_find(w, n, "picture", "weight"));
        assert_null(weights_find(w, n, "stem", "bias"));
        weights_free(w);
        net_free(n);
    }
    assert_int_equal(alloc_live(), 0);
}

/* The same seed gives the same values whatever the resolution; another seed other values. */
static void seeds(void **state)
{
    struct net *n = make("efficientnet-b0", NULL);
    struct weights *a = seeded(n, 5), *b = seeded(n, 5), *c = seeded(n, 6);
    const struct param *p = weights_find(a, n, "head", "weight");
    double sum = 0, squares = 0;

    (void)state;
    for (uint32_t i = 0; i < a->params; i++)
        assert_memory_equal(a->param[i].data, b->param[i].data, a->param[i].elements * 4);
    assert_memory_not_equal(a->data, c->data, 4096);
    for (uint64_t i = 0; i < p->elements; i++) {
        sum += p->data[i];
        squares += (double)p->data[i] * p->data[i];
    }
    /* variance 2 / 1280; 409,600 values */
    assert_true(fabs(sum / (double)p->elements) < 3e-4);
    assert_true(fabs(squares / (double)p->elements * 1280 / 2 - 1) < 0.01);
    assert_true(weights_find(a, n, "stem.norm", "running_var")->data[3] == 1);
    assert_true(fabs(weights_find(a, n, "stem.norm", "weight")->data[3] - 1) < 0.6);
    /* fixed for good: files written by one version are made again by the next */
    assert_int_equal(hash64(p->data, p->elements * 4), 0xf9c514b1c378829c);
    weights_free(a);
    weights_free(b);
    weights_free(c);
    net_free(n);
}

static double mean_of(const struct param *p)
{
    double sum = 0;

    for (uint64_t i = 0; i < p->elements; i++)
        sum += p->data[i];
    return sum / (double)p->elements;
}

static void assert_mean(const struct net *n, const struct weights *w, const char *layer,
                        const char *suffix, double want)
{
    double got = mean_of(weights_find(w, n, layer, suffix));

    if (fabs(got - want) > 0.1 * fabs(want))
        fail_msg("%s.%s: mean %g, expected %g", layer, suffix, got, want);
}

/* What keeps activations in range (weights.h): branches are faint, gates fall with the field. */
static void tamed(void **state)
{
    struct net *n = make("efficientnet-b4", NULL), *r = make("resnet-50", NULL);
    struct weights *a = seeded(n, 1), *b = seeded(r, 1);
    const struct param *shift = weights_find(b, r, "block3b.conv.norm", "bias");
    double squares = 0;

    (void)state;
    assert_mean(n, a, "block4b.expand.norm", "weight", 1);
    assert_mean(n, a, "block4b.project.norm", "weight", 0.3);
    assert_mean(n, a, "block4a.project.norm", "weight", 1); /* nothing goes past it */
    assert_mean(n, a, "block4b.se.fc1", "weight", 10.0 / 672);
    assert_mean(n, a, "block4b.se.fc2", "weight", -0.6 / 28);
    assert_mean(n, a, "block4b.se.fc2", "bias", 1);
    assert_mean(r, b, "block3b.expand.norm", "weight", 0.3);
    assert_mean(r, b, "block3a.expand.norm", "weight", 0.3);
    assert_mean(r, b, "block3a.shortcut.norm", "weight", 1);
    for (uint64_t i = 0; i < shift->elements; i++)
        squares += (double)shift->data[i] * shift->data[i];
    assert_true(fabs(sqrt(squares / (double)shift->elements) - 1) < 0.15);
    weights_free(a);
    weights_free(b);
    net_free(n);
    net_free(r);
}

/* The first parameter of a layer. */
static uint32_t param_of(const struct net *n, const char *layer)
{
    for (uint32_t i = 0; i < n->params; i++) {
        if (!strcmp(n->param[i].layer, layer))
            return i;
    }
    fail_msg("no parameter of %s", layer);
    return 0;
}

/* Names as in the published files. */
static void known_names(void **state)
{
    static const struct {
        const char *layer, *suffix, *torchvision, *timm;
    } known[] = {
        { "stem", "weight", "features.0.0.weight", "conv_stem.weight" },
        { "stem.norm", "running_var", "features.0.1.running_var", "bn1.running_var" },
        { "block1a.dw", "weight", "features.1.0.block.0.0.weight", "blocks.0.0.conv_dw.weight" },
        { "block1a.dw.norm", "bias", "features.1.0.block.0.1.bias", "blocks.0.0.bn1.bias" },
        { "block1a.se.fc1", "bias", "features.1.0.block.1.fc1.bias",
          "blocks.0.0.se.conv_reduce.bias" },
        { "block1b.project", "weight", "features.1.1.block.2.0.weight",
          "blocks.0.1.conv_pw.weight" },
        { "block1b.project.norm", "weight", "features.1.1.block.2.1.weight",
          "blocks.0.1.bn2.weight" },
        { "block6h.expand", "weight", "features.6.7.block.0.0.weight",
          "blocks.5.7.conv_pw.weight" },
        { "block6h.expand.norm", "running_mean", "features.6.7.block.0.1.running_mean",
          "blocks.5.7.bn1.running_mean" },
        { "block6h.dw", "weight", "features.6.7.block.1.0.weight", "blocks.5.7.conv_dw.weight" },
        { "block6h.dw.norm", "weight", "features.6.7.block.1.1.weight", "blocks.5.7.bn2.weight" },
        { "block6h.se.fc2", "weight", "features.6.7.block.2.fc2.weight",
          "blocks.5.7.se.conv_expand.weight" },
        { "block6h.project", "weight", "features.6.7.block.3.0.weight",
          "blocks.5.7.conv_pwl.weight" },
        { "block6h.project.norm", "bias", "features.6.7.block.3.1.bias", "blocks.5.7.bn3.bias" },
        { "head", "weight", "features.8.0.weight", "conv_head.weight" },
        { "head.norm", "bias", "features.8.1.bias", "bn2.bias" },
        { "fc", "weight", "classifier.1.weight", "classifier.weight" },
    };
    struct net *n = make("efficientnet-b4", NULL), *r = make("resnet-50", NULL);
    char name[96];

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(known); i++) {
        uint32_t l = param_of(n, known[i].layer);

        names_make(n, NAMES_TORCHVISION, l, known[i].suffix, name);
        assert_string_equal(name, known[i].torchvision);
        names_make(n, NAMES_TIMM, l, known[i].suffix, name);
        assert_string_equal(name, known[i].timm);
    }
    names_make(r, NAMES_TIMM, param_of(r, "block4a.shortcut.norm"), "weight", name);
    assert_string_equal(name, "layer4.0.downsample.1.weight");
    names_make(r, NAMES_TORCHVISION, param_of(r, "stem.norm"), "weight", name);
    assert_string_equal(name, "bn1.weight");
    net_free(n);
    net_free(r);
}

static void written_is_read(void **state)
{
    struct net *n = make("efficientnet-b0", NULL);
    struct weights *a = seeded(n, 3), *b = seeded(n, 4);
    char path[] = "/tmp/test_weights_XXXXXX";

    (void)state;
    close(mkstemp(path));
    assert_int_equal(weights_write(a, n, path), EMU_OK);
    assert_int_equal(weights_read(b, n, path, NULL), EMU_OK);
    unlink(path);
    assert_string_equal(b->names, "torchvision");
    for (uint32_t i = 0; i < a->params; i++)
        assert_memory_equal(a->param[i].data, b->param[i].data, a->param[i].elements * 4);
    assert_int_equal(weights_read(b, n, path, NULL), EMU_IO);
    assert_int_equal(weights_read(b, n, "/tmp", NULL), EMU_IO);
    weights_free(a);
    weights_free(b);
    net_free(n);
}

/* ---- files with faults ---- */

enum damage { NONE, MISSING, UNEXPECTED, MISSHAPEN, INTEGER, NOT_FINITE, NEGATIVE, COUNTERS };

/* A file with some names and one fault, F32; the list and status that it gives. */
static enum emu_status read_with(enum name_scheme scheme, enum damage damage, char list[2000],
                                 struct weights *to, const struct net *n)
{
    struct weights *w = seeded(n, 9);
    struct safetensor *t = emu_alloc(w->params + 2, sizeof(*t));
    char(*name)[96] = emu_alloc(w->params + 2, sizeof(*name)), path[] = "/tmp/test_weights_XXXXXX";
    FILE *f = fmemopen(list, 2000, "w");
    enum emu_status s;
    size_t tensors = 0;

    for (uint32_t i = 0; i < w->params; i++) {
        const struct param *p = &w->param[i];

        if (damage == MISSING && i == 7)
            continue;
        names_make(n, scheme, i, n->param[i].suffix, name[tensors]);
        t[tensors] = (struct safetensor){ name[tensors], SAFETENSORS_F32, p->rank, { 0 },
                                          p->elements,   p->elements * 4, p->data };
        for (unsigned d = 0; d < p->rank; d++)
            t[tensors].shape[d] = p->shape[d];
        tensors++;
    }
    if (damage == UNEXPECTED || damage == COUNTERS) {
        snprintf(name[tensors], 96, "%s", "extra.weight");
        if (damage == COUNTERS)
            names_make(n, scheme, param_of(n, "stem.norm"), "num_batches_tracked", name[tensors]);
        t[tensors] = (struct safetensor){ name[tensors], SAFETENSORS_I64, 0, { 0 }, 1, 8, w->data };
        tensors++;
    }
    if (damage == MISSHAPEN) {
        t[0].shape[0] /= 2;
        t[0].shape[1] *= 2;
    }
    if (damage == INTEGER)
        t[0].type = SAFETENSORS_I32;
    if (damage == NOT_FINITE)
        w->param[0].data[5] = INFINITY;
    if (damage == NEGATIVE)
        weights_find(w, n, "stem.norm", "running_var")->data[1] = -1;
    close(mkstemp(path));
    assert_int_equal(safetensors_write(t, tensors, path), EMU_OK);
    s = weights_read(to, n, path, f);
    fclose(f);
    unlink(path);
    ss_free(t);
    ss_free(name);
    weights_free(w);
    return s;
}

static void faults_are_listed(void **state)
{
    static const struct {
        enum damage damage;
        const char *list, *message; /* torchvision's names */
    } want[] = {
        { MISSING, "missing features.1.0.block.0.1.bias [32]\n", "1 tensors missing" },
        { UNEXPECTED, "unexpected extra.weight [] I64\n", "1 unexpected" },
        { MISSHAPEN,
          "misshapen features.0.0.weight: expected [32, 3, 3, 3], the file has [16, 6, 3, 3] F32\n",
          "1 misshapen" },
        { INTEGER,
          "unfit features.0.0.weight: expected F32, F16 or BF16, the file has [32, 3, 3, 3] I32\n",
          "1 with unfit values" },
        { NOT_FINITE, "unfit features.0.0.weight: has a value that is not finite\n",
          "1 with unfit values" },
        { NEGATIVE, "unfit features.0.1.running_var: has a variance below zero\n",
          "1 with unfit values" },
    };
    struct net *n = make("efficientnet-b0", NULL);
    struct weights *w = seeded(n, 1), *same = seeded(n, 1);
    char list[2000];

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(want); i++) {
        memset(list, 0, sizeof(list));
        assert_int_equal(read_with(NAMES_TORCHVISION, want[i].damage, list, w, n), EMU_BAD_FILE);
        assert_string_equal(list, want[i].list);
        assert_non_null(strstr(ss_error(), want[i].message));
        assert_memory_equal(w->data, same->data, 4096);
    }
    weights_free(w);
    weights_free(same);
    net_free(n);
}

/* A file of another network: the message says whose it is, the list stops at some point. */
static void others_are_named(void **state)
{
    struct net *n = make("efficientnet-b1", NULL), *from = make("efficientnet-b0", NULL);
    struct weights *w = seeded(n, 1), *file = seeded(from, 9);
    char list[4000] = "", path[] = "/tmp/test_weights_XXXXXX";
    FILE *f = fmemopen(list, sizeof(list), "w");
    unsigned lines = 0;

    (void)state;
    close(mkstemp(path));
    assert_int_equal(weights_write(file, from, path), EMU_OK);
    assert_int_equal(weights_read(w, n, path, f), EMU_BAD_FILE);
    fclose(f);
    unlink(path);
    assert_non_null(strstr(ss_error(), "these are weights of efficientnet-b0, not of "
                                       "efficientnet-b1"));
    for (const char *at = list; (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(lines, WEIGHTS_LISTED + 1);
    assert_non_null(strstr(list, "\nand "));
    weights_free(w);
    weights_free(file);
    net_free(n);
    net_free(from);
}

static void either_family(void **state)
{
    static const char *const name[] = { "efficientnet-b0", "efficientnet-b1-g16" };

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct net *n = make(name[i], NULL);
        struct weights *w = seeded(n, 1), *want = seeded(n, 9);
        char list[2000] = "";

        assert_int_equal(read_with(NAMES_TIMM, NONE, list, w, n), EMU_OK);
        assert_string_equal(w->names, "timm");
        for (uint32_t k = 0; k < w->params; k++)
            assert_memory_equal(w->param[k].data, want->param[k].data, w->param[k].elements * 4);
        assert_int_equal(read_with(NAMES_TORCHVISION, NONE, list, w, n), EMU_OK);
        assert_string_equal(w->names, "torchvision");
        assert_int_equal(read_with(NAMES_TIMM, MISSING, list, w, n), EMU_BAD_FILE);
        assert_non_null(strstr(list, i ? "missing blocks.0.0.se.conv_reduce.bias"
                                       : "missing blocks.0.0.bn1.bias"));
        /* torch's counters are no parameters, but only where there is a batch norm */
        assert_int_equal(read_with(NAMES_TIMM, COUNTERS, list, w, n), i ? EMU_BAD_FILE : EMU_OK);
        weights_free(w);
        weights_free(want);
        net_free(n);
    }
}

/* The graph of the network, of any size, reads them. */
static void attached(void **state)
{
    struct net *n = make("efficientnet-b0", NULL), *small;
    struct weights *w = seeded(n, 1);

    (void)state;
    assert_int_equal(net_resized(n, 24, 3, &small), EMU_OK);
    weights_attach(w, small);
    for (uint32_t i = 0; i < w->params; i++) {
        assert_string_equal(small->graph->value[small->param[i].value].name, w->param[i].name);
        assert_ptr_equal(small->graph->value[small->param[i].value].data, w->param[i].data);
    }
    weights_free(w);
    net_free(n);
    net_free(small);
}

static void out_of_memory(void **state)
{
    struct net *n = make("efficientnet-b0", NULL);
    long live = alloc_live();
    struct weights *w;
    long k = 0;

    (void)state;
    for (;; k++) {
        alloc_test_fail_at(k);
        if (weights_new(n, &w) == EMU_OK)
            break;
        assert_null(w);
        assert_int_equal(alloc_live(), live);
    }
    alloc_test_fail_at(-1);
    weights_free(w);
    weights_free(NULL);
    assert_int_equal(k, 3);
    net_free(n);
    assert_int_equal(alloc_live(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters),
        cmocka_unit_test(seeds),
        cmocka_unit_test(tamed),
        cmocka_unit_test(known_names),
        cmocka_unit_test(written_is_read),
        cmocka_unit_test(faults_are_listed),
        cmocka_unit_test(others_are_named),
        cmocka_unit_test(either_family),
        cmocka_unit_test(attached),
        cmocka_unit_test(out_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
