/* test_plans.c - plans of all convolutions of a network: budgets of memory, the estimate against a
 * compiled program, and machines that lack an instruction. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "emu/base/fail.h"
#include "emu/emu.h"
#include "models/lower/op_program.h"
#include "models/net/net_build.h"
#include "models/pass/op_pass.h"
#include "models/weights/weights.h"

static void must(enum emu_status s)
{
    if (s == EMU_OK)
        return;
    fprintf(stderr, "%s\n", ss_error());
    abort();
}

static struct arch machine(uint32_t tiles, uint32_t mem_bytes)
{
    struct arch a = *ss_arch_preset("mk2");
    char set[64];

    snprintf(set, sizeof(set), "tiles=%u", tiles);
    must(ss_arch_set(&a, set));
    if (mem_bytes) {
        snprintf(set, sizeof(set), "mem_bytes=%u", mem_bytes);
        must(ss_arch_set(&a, set));
    }
    return a;
}

/* A network that is ready to be lowered. */
struct ready {
    struct net *n;
    struct weights *w;
};

static struct ready network(const char *name, uint32_t resolution, uint32_t batch)
{
    const struct net_options o = { .resolution = resolution, .batch = batch };
    struct ready r;

    must(net_new(name, &o, &r.n));
    must(weights_new(r.n, &r.w));
    weights_seed(r.w, r.n, 1);
    weights_attach(r.w, r.n);
    must(pass_all(r.n->graph));
    return r;
}

static void ready_free(struct ready *r)
{
    net_free(r->n);
    weights_free(r->w);
}

/* Its plans; free with conv_plans_free. */
static struct conv_plans plans_of(const struct arch *a, const struct ready *r,
                                  const struct lower_options *o)
{
    struct lowered_network *l;
    struct conv_plans p;
    struct graph *g;

    must(ss_graph_new(a, &ss_kernel_library, &g));
    must(op_lower(g, r->n->graph, o, &l));
    p = l->plans;
    l->plans = (struct conv_plans){ .plan = NULL };
    op_lower_free(l);
    ss_graph_free(g);
    return p;
}

/* ---- budgets ---- */

static void check_plans(const struct arch *a, const struct conv_plans *p)
{
    uint64_t resident = 0, cycles = 0;
    uint32_t fetched = 0;

    for (uint32_t i = 0; i < p->convs; i++) {
        const struct conv_plan *q = &p->plan[i];

        resident += q->resident_bytes;
        cycles += q->cost.total;
        fetched += q->fetched != 0;
        assert_true(q->cut_n != 0);
        assert_true((uint64_t)q->cut_n * q->cut_h * q->cut_w * q->cut_out * q->cut_in <= a->tiles);
    }
    assert_int_equal(p->resident_bytes, resident);
    assert_int_equal(p->cycles, cycles);
    assert_int_equal(p->fetched, fetched);
    assert_true(!p->fits || p->peak_bytes <= a->mem_bytes);
}

/* The less memory for parameters, the more cycles it takes, and in the end some are fetched. */
static void test_budget(void **state)
{
    static const double part[] = { 0.5, 0.2, 0.1, 0.05, 0.025, 0.0125 };
    struct arch a = machine(256, 0);
    struct ready n = network("efficientnet-b0", 64, 1);
    struct conv_plans p, last = { .plan = NULL };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(part); i++) {
        struct lower_options o = { .real = ELEM_F16, .parameter_proportion = part[i] };

        p = plans_of(&a, &n, &o);
        check_plans(&a, &p);
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
    ready_free(&n);
}

/* The same network on less and less memory, until it is not enough. */
static void test_memory(void **state)
{
    struct ready n = network("efficientnet-b0", 96, 2);
    const struct lower_options o = { .real = ELEM_F16 };
    uint64_t cycles = 0;
    int fits = 1;

    (void)state;
    for (uint32_t elements = 39; elements > 15; elements -= 4) {
        struct arch a = machine(128, elements * 16384);
        struct conv_plans p;

        p = plans_of(&a, &n, &o);
        check_plans(&a, &p);
        assert_true(fits || !p.fits);
        assert_true(!p.fits || p.cycles >= cycles);
        fits = p.fits;
        cycles = p.cycles;
        conv_plans_free(&p);
    }
    assert_true(cycles > 0);
    ready_free(&n);
}

/* What the machine has no room for gets plans that need least: never more than those of a larger
 * machine, and no more parameters stay than the caller lets. */
static void test_least(void **state)
{
    struct ready n = network("efficientnet-b0", 64, 4);
    struct lower_options o = { .real = ELEM_F16 };
    struct arch small = machine(16, 0), large = machine(16, 0);
    struct conv_plans least, others, capped;

    (void)state;
    large.mem_bytes *= 8; /* only planned for */
    least = plans_of(&small, &n, &o);
    assert_false(least.fits);
    check_plans(&small, &least);
    for (unsigned k = 0; k < 8; k++) {
        o.parameter_proportion = k / 16.0;
        others = plans_of(&large, &n, &o);
        assert_true(least.peak_bytes <= others.peak_bytes);
        conv_plans_free(&others);
    }
    o.parameter_proportion = 1e-6; /* less than can be had: the fewest that may stay */
    others = plans_of(&small, &n, &o);
    o.parameter_proportion = 1.01 * (double)others.resident_bytes / small.mem_bytes;
    capped = plans_of(&small, &n, &o);
    assert_false(others.fits || capped.fits);
    assert_true((double)capped.resident_bytes <= o.parameter_proportion * small.mem_bytes);
    assert_in_range(capped.peak_bytes, least.peak_bytes, others.peak_bytes);
    conv_plans_free(&capped);
    conv_plans_free(&others);
    conv_plans_free(&least);
    ready_free(&n);
}

static void test_reserve(void **state)
{
    struct arch a = machine(128, 0);
    struct ready n = network("efficientnet-b0", 96, 2);
    struct lower_options o = { .real = ELEM_F16 };
    struct conv_plans p, less;

    (void)state;
    p = plans_of(&a, &n, &o);
    o.reserve_bytes = a.mem_bytes / 16 * 9;
    less = plans_of(&a, &n, &o);
    assert_true(p.fits && less.fits);
    assert_true(less.resident_bytes < p.resident_bytes);
    conv_plans_free(&less);
    conv_plans_free(&p);
    ready_free(&n);
}

/* Fetched parameters are temporaries: with too little room for these they would have to stay. */
static void test_cap(void **state)
{
    static const double part[] = { 0.03, 0.015, 0.01, 0.005, 0.002 };
    struct arch a = machine(128, 0);
    struct ready n = network("efficientnet-b0", 32, 1);

    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(part); k++) {
        struct lower_options o = { .real = ELEM_F16,
                                   .memory_proportion = part[k],
                                   .parameter_proportion = 0.16 };
        struct conv_plans p;

        p = plans_of(&a, &n, &o);
        assert_int_equal(p.fits, part[k] > 0.004);
        for (uint32_t i = 0; i < p.convs && p.fits; i++)
            assert_true((double)p.plan[i].cost.tile_bytes <= part[k] * a.mem_bytes);
        conv_plans_free(&p);
    }
    ready_free(&n);
}

/* ---- the estimate ---- */

/* A network of one layer for pictures, whose parameters have no numbers yet. */
static struct net *first_layer(uint32_t resolution, uint32_t batch, struct build_kernels kernels)
{
    struct net *n = emu_alloc(1, sizeof(*n));
    struct net_builder b = { .net = n, .batch_eps = 1e-3 };

    n->batch = batch;
    n->resolution = resolution;
    must(op_graph_new("small", &n->graph));
    build_block(&b, "first", "first");
    build_conv(&b, build_picture(&b), "", "", kernels);
    must(b.status);
    return n;
}

/* Compiled, the program needs about what was expected, in any case not more. */
static void test_estimate(void **state)
{
    struct arch a = machine(128, 0);
    struct ready n = network("efficientnet-b0", 64, 1);
    const struct op_program_options o = {
        .lower = { .real = ELEM_F16, .parameter_proportion = 0.16 }, .compile.threads = 1
    };
    struct op_program p;
    uint64_t need;

    (void)state;
    must(op_program_new(&a, n.n->graph, &o, &p));
    assert_true(ss_compiled_fits(p.compiled));
    need = ss_compiled_need_bytes(p.compiled);
    assert_true(need <= p.network->plans.peak_bytes);
    assert_true(need >= p.network->plans.peak_bytes / 2);
    op_program_free(&p);
    ready_free(&n);
}

/* What a first layer gathers at each position, as ResNet's does of 7 x 7 pixels, is expected: it is
 * more than all else. */
static void test_first_layer(void **state)
{
    struct arch a = machine(16, 0);
    struct ready r = { .n = first_layer(112, 4, (struct build_kernels){ 16, 7, 2, 1 }) };
    const struct op_program_options o = { .lower.real = ELEM_F16, .compile.threads = 1 };
    const struct conv_plan *plan;
    struct op_program p;

    (void)state;
    must(weights_new(r.n, &r.w));
    weights_seed(r.w, r.n, 1);
    weights_attach(r.w, r.n);
    must(op_program_new(&a, r.n->graph, &o, &p));
    plan = &p.network->plans.plan[0];
    assert_int_equal(plan->method, CONV_FIRST);
    assert_in_range(p.need_bytes, p.network->plans.peak_bytes / 2, p.network->plans.peak_bytes);
    assert_true(plan->cost.tile_bytes > p.need_bytes / 2);
    op_program_free(&p);
    ready_free(&r);
}

/* A machine so small that the estimate is too low: planned again, the program fits. */
static void test_again(void **state)
{
    struct arch a = machine(64, 400 * 1024);
    struct ready n = network("efficientnet-b0", 96, 2);
    struct op_program_options o = { .lower.real = ELEM_F16, .compile.threads = 1 };
    struct op_program p;
    const char *again;
    char *text;
    size_t bytes;

    (void)state;
    o.compile.progress = open_memstream(&text, &bytes);
    assert_non_null(o.compile.progress);
    must(op_program_new(&a, n.n->graph, &o, &p));
    fclose(o.compile.progress);
    again = strstr(text, "planned for less\n");
    assert_non_null(again);
    assert_null(strstr(again + 1, "planned for less\n"));
    assert_non_null(strstr(text, "OUT OF MEMORY"));
    assert_true(ss_compiled_fits(p.compiled));
    op_program_free(&p);
    free(text);
    ready_free(&n);
}

/* Nothing fits: what is reported is the attempt that needs least, compiled to the end, and about as
 * much memory is enough. An outlook says the same without compiling to the end. */
static void test_nothing_fits(void **state)
{
    struct arch a = machine(64, 0);
    struct ready n = network("efficientnet-b0", 96, 2);
    struct op_program_options o = { .lower.real = ELEM_F16, .compile.threads = 1 };
    uint64_t need, outlook;
    struct op_program p;
    char set[32];

    (void)state;
    must(ss_arch_set(&a, "sram=224K"));
    must(op_program_new(&a, n.n->graph, &o, &p));
    assert_false(ss_compiled_fits(p.compiled) || compiled_given_up(p.compiled));
    need = p.need_bytes;
    assert_int_equal(need, ss_compiled_need_bytes(p.compiled));
    op_program_free(&p);
    o.outlook = 1;
    must(op_program_new(&a, n.n->graph, &o, &p));
    outlook = p.need_bytes;
    op_program_free(&p);
    assert_in_range(outlook, need - need / 20, need + need / 20);
    snprintf(set, sizeof(set), "sram=%uK", (unsigned)(need + need / 20) / 16384 * 16);
    assert_string_not_equal(set, "sram=224K");
    must(ss_arch_set(&a, set));
    must(op_program_new(&a, n.n->graph, &o, &p));
    assert_true(ss_compiled_fits(p.compiled));
    op_program_free(&p);
    ready_free(&n);
}

/* A machine without an instruction that a kernel needs is refused by node and instruction. */
static void test_machine(void **state)
{
    struct net *n = first_layer(32, 1, (struct build_kernels){ 16, 3, 1, 1 }); /* as VGG's */

    (void)state;
    must(op_lower_check_machine(ss_arch_preset("mk2"), n->graph));
    must(op_lower_check_machine(ss_arch_preset("toy4"), n->graph));
    assert_int_equal(op_lower_check_machine(ss_arch_preset("mk1"), n->graph), EMU_USAGE);
    assert_string_equal(ss_error(),
                        "node first: kernel conv_window_f16: its instruction f16v4hihov4amp needs "
                        "the instruction set ipu2, and machine mk1 has ipu1");
    net_free(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_budget),       cmocka_unit_test(test_memory),
        cmocka_unit_test(test_cap),          cmocka_unit_test(test_reserve),
        cmocka_unit_test(test_machine),      cmocka_unit_test(test_estimate),
        cmocka_unit_test(test_again),        cmocka_unit_test(test_least),
        cmocka_unit_test(test_nothing_fits), cmocka_unit_test(test_first_layer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
