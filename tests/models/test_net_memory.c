/* test_net_memory.c - the memory of a tile shared out between parameters that stay and what layers
 * need for a time: activations that are needed later, budgets and caps, and how far the estimate is
 * from what the compiled program needs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "emu/base/fail.h"
#include "emu/emu.h"
#include "models/build/net_program.h"

static void must(enum emu_status s)
{
    if (s == EMU_OK)
        return;
    fprintf(stderr, "%s\n", emu_error());
    abort();
}

static struct arch machine(uint32_t tiles, uint32_t mem_bytes)
{
    struct arch a = *arch_preset("mk2");
    char set[64];

    snprintf(set, sizeof(set), "tiles=%u", tiles);
    must(arch_set(&a, set));
    if (mem_bytes) {
        snprintf(set, sizeof(set), "mem_bytes=%u", mem_bytes);
        must(arch_set(&a, set));
    }
    return a;
}

static struct net *network(const char *name, uint32_t resolution, uint32_t batch)
{
    const struct net_options o = { .resolution = resolution, .batch = batch };
    struct net *n;

    must(net_new(name, &o, &n));
    return n;
}

/* ---- activations ---- */

static uint64_t live_at(const struct net *n, const uint64_t *live, const char *layer)
{
    uint32_t i = net_find(n, layer);

    assert_int_not_equal(i, LAYER_NONE);
    return live[i];
}

/* B0 at 32 x 32, by hand. */
static void test_live(void **state)
{
    enum { N = 2 };
    static const struct {
        const char *layer;
        uint32_t bytes;
    } want[] = {
        { "stem", N * 32 * 32 * 4 * 2 },                        /* the picture */
        { "block1a.dw", N * 16 * 16 * 32 * 2 },                 /* stem */
        { "block1a.se.fc1", N * (16 * 16 * 32 + 32 + 16) * 2 }, /* dw, pool, own */
        { "block1a.se.scale", N * (16 * 16 * 32 + 32) * 2 },    /* in place; factors */
        { "block1a.project", N * 16 * 16 * 32 * 2 },
        { "block2b.expand", N * 8 * 8 * 32 * 2 },     /* 24 channels take 32 */
        { "block2b.dw", N * 8 * 8 * (32 + 144) * 2 }, /* residual, expand */
        { "block2b.project", N * 8 * 8 * (32 + 144) * 2 },
        { "head", N * 1 * 1 * 320 * 2 },
    };
    struct net *n = network("efficientnet-b0", 32, N);
    uint64_t *live = calloc(n->layers, sizeof(*live));

    (void)state;
    must(net_live_bytes(n, 0, 0, live));
    for (size_t i = 0; i < EMU_COUNT_OF(want); i++)
        assert_int_equal(live_at(n, live, want[i].layer), want[i].bytes);
    free(live);
    net_free(n);
}

/* Results that the host wants stay, and what is made in place of them is stored elsewhere. */
static void test_kept(void **state)
{
    struct net *n = network("efficientnet-b0", 32, 1);
    uint32_t all = n->layers, dw = net_find(n, "block1a.dw"),
             scale = net_find(n, "block1a.se.scale");
    uint64_t *live = calloc(all, sizeof(*live)), *kept = calloc(all, sizeof(*kept));

    (void)state;
    must(net_live_bytes(n, 0, 0, live));
    must(net_live_bytes(n, dw, dw + 1, kept));
    /* The layer and its input, which is dead later otherwise. */
    assert_int_equal(kept[all - 1] - live[all - 1], 2 * 16 * 16 * 32 * 2);
    /* The factors' product has a place of its own now. */
    assert_int_equal(kept[scale] - live[scale], 2 * 16 * 16 * 32 * 2);
    free(live);
    free(kept);
    net_free(n);
}

/* ---- budgets ---- */

static void check_plans(const struct arch *a, const struct net *n, const struct conv_plans *p)
{
    uint64_t resident = 0, cycles = 0;
    uint32_t fetched = 0, convs = 0;

    for (uint32_t i = 0; i < n->layers; i++) {
        const struct conv_plan *q = &p->plan[i];

        assert_int_equal(n->layer[i].op == LAYER_CONV, q->cut_n != 0);
        resident += q->resident_bytes;
        cycles += q->cost.total;
        fetched += q->fetched != 0;
        convs += q->cut_n != 0;
        assert_true((uint64_t)q->cut_n * q->cut_h * q->cut_w * q->cut_out * q->cut_in <= a->tiles);
    }
    assert_int_equal(p->resident_bytes, resident);
    assert_int_equal(p->cycles, cycles);
    assert_int_equal(p->fetched, fetched);
    assert_int_equal(p->convs, convs);
    assert_true(!p->fits || p->peak_bytes <= a->mem_bytes);
}

/* The less memory for parameters, the more cycles it takes, and in the end some are fetched. */
static void test_budget(void **state)
{
    static const double part[] = { 0.5, 0.2, 0.1, 0.05, 0.025, 0.0125 };
    struct arch a = machine(256, 0);
    struct net *n = network("efficientnet-b0", 64, 1);
    struct conv_plans p, last = { .plan = NULL };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(part); i++) {
        struct net_graph_options o = { .parameter_proportion = part[i] };

        must(net_plans_choose(&a, a.tiles, n, &o, &p));
        check_plans(&a, n, &p);
        if (p.fits)
            assert_true((double)p.resident_bytes <= part[i] * a.mem_bytes);
        if (i) {
            assert_true(p.resident_bytes <= last.resident_bytes);
            assert_true(p.cycles >= last.cycles);
        }
        conv_plans_free(&last);
        last = p;
    }
    assert_true(last.fetched > 0);
    conv_plans_free(&last);
    net_free(n);
}

/* The same network on less and less memory, until it is not enough. */
static void test_memory(void **state)
{
    struct net *n = network("efficientnet-b0", 96, 2);
    const struct net_graph_options o = { 0 };
    uint64_t cycles = 0;
    int fits = 1;

    (void)state;
    for (uint32_t elements = 39; elements > 15; elements -= 4) {
        struct arch a = machine(128, elements * 16384);
        struct conv_plans p;

        must(net_plans_choose(&a, a.tiles, n, &o, &p));
        check_plans(&a, n, &p);
        assert_true(fits || !p.fits);
        assert_true(!p.fits || p.cycles >= cycles);
        fits = p.fits;
        cycles = p.cycles;
        conv_plans_free(&p);
    }
    assert_true(cycles > 0);
    net_free(n);
}

static void test_reserve(void **state)
{
    struct arch a = machine(128, 0);
    struct net *n = network("efficientnet-b0", 96, 2);
    struct net_graph_options o = { 0 };
    struct conv_plans p, less;

    (void)state;
    must(net_plans_choose(&a, a.tiles, n, &o, &p));
    o.reserve_bytes = a.mem_bytes / 2;
    must(net_plans_choose(&a, a.tiles, n, &o, &less));
    assert_true(p.fits && less.fits);
    assert_true(less.resident_bytes < p.resident_bytes);
    conv_plans_free(&less);
    conv_plans_free(&p);
    net_free(n);
}

/* Fetched parameters are temporaries: with too little room for these they would have to stay. */
static void test_cap(void **state)
{
    static const double part[] = { 0.03, 0.015, 0.01, 0.007, 0.005 };
    struct arch a = machine(128, 0);
    struct net *n = network("efficientnet-b0", 32, 1);

    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(part); k++) {
        struct net_graph_options o = { .memory_proportion = part[k], .parameter_proportion = 0.16 };
        struct conv_plans p;

        must(net_plans_choose(&a, a.tiles, n, &o, &p));
        assert_int_equal(p.fits, part[k] > 0.006);
        for (uint32_t i = 0; i < n->layers && p.fits; i++)
            assert_true((double)p.plan[i].cost.tile_bytes <= part[k] * a.mem_bytes);
        conv_plans_free(&p);
    }
    net_free(n);
}

/* ---- the estimate ---- */

/* Compiled, the program needs about what was expected, in any case not more. */
static void test_estimate(void **state)
{
    struct arch a = machine(128, 0);
    struct net *n = network("efficientnet-b0", 64, 1);
    const struct net_graph_options o = { .parameter_proportion = 0.16 };
    struct compile_options co = { .threads = 1 };
    struct net_graph *ng;
    struct compiled *c;
    struct weights *w;
    struct graph *g;
    uint64_t need;

    (void)state;
    must(weights_new(n, &w));
    weights_seed(w, n, 1);
    must(graph_new(&a, &kernel_library, &g));
    must(net_graph_build(g, n, w, &o, &ng));
    must(graph_compile(g, &co, &c));
    assert_true(compiled_fits(c));
    need = compiled_need_bytes(c);
    assert_true(need <= ng->plans.peak_bytes);
    assert_true(need >= ng->plans.peak_bytes / 2);
    compiled_free(c);
    net_graph_free(ng);
    graph_free(g);
    weights_free(w);
    net_free(n);
}

/* A machine so small that the estimate is too low: planned again, the program fits. */
static void test_again(void **state)
{
    struct arch a = machine(64, 400 * 1024);
    struct net *n = network("efficientnet-b0", 96, 2);
    struct net_program_options o = { .compile.threads = 1 };
    struct net_program p;
    struct weights *w;
    const char *again;
    char *text;
    size_t bytes;

    (void)state;
    must(weights_new(n, &w));
    weights_seed(w, n, 1);
    o.compile.progress = open_memstream(&text, &bytes);
    assert_non_null(o.compile.progress);
    must(net_program_new(&a, n, w, &o, &p));
    fclose(o.compile.progress);
    again = strstr(text, "planned for less\n");
    assert_non_null(again);
    assert_null(strstr(again + 1, "planned for less\n"));
    assert_non_null(strstr(text, "OUT OF MEMORY"));
    assert_true(compiled_fits(p.compiled));
    net_program_free(&p);
    free(text);
    weights_free(w);
    net_free(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_live),     cmocka_unit_test(test_kept),
        cmocka_unit_test(test_budget),   cmocka_unit_test(test_memory),
        cmocka_unit_test(test_cap),      cmocka_unit_test(test_reserve),
        cmocka_unit_test(test_estimate), cmocka_unit_test(test_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
