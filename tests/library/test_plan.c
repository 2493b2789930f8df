/* test_plan.c - plans: every cut can be carried out, the search finds the cheapest by its own costs
 * and keeps to the memory it is given, and what it predicts is what the machine takes.
 */
#include "emu/base/random.h"
#include "programs/library/layout/plan.h"
#include "programs/library/layout/plan_cost.h"
#include "tests/fixtures/ops_fixture.h"

enum { BLOCK = 16 };

struct problem {
    uint32_t m, n, k, tiles;
};

static const struct problem problems[] = {
    { .m = 1, .n = 16, .k = 16, .tiles = 1 },    { .m = 1, .n = 16, .k = 16, .tiles = 64 },
    { .m = 7, .n = 48, .k = 80, .tiles = 5 },    { .m = 64, .n = 64, .k = 64, .tiles = 64 },
    { .m = 33, .n = 16, .k = 480, .tiles = 9 },  { .m = 500, .n = 32, .k = 16, .tiles = 30 },
    { .m = 3, .n = 1600, .k = 16, .tiles = 64 }, { .m = 128, .n = 128, .k = 128, .tiles = 17 },
};

static struct matmul_plan plan_of(const struct arch *a, const struct problem *q, uint64_t memory)
{
    struct matmul_plan p;

    OPS_OK(ss_plan_matmul(a, q->m, q->n, q->k, a->tiles - q->tiles, q->tiles, memory, &p));
    OPS_OK(ss_plan_matmul_check(a, &p));
    return p;
}

/* Whether a cut costs less than the best so far, which is replaced. Cuts that fit in memory win
 * over those that do not; of those that do not, the smallest. */
static void prefer(const struct matmul_plan *p, uint64_t memory, struct matmul_plan *best)
{
    int fits = p->cost.tile_bytes <= memory, best_fits = best->cost.tile_bytes <= memory;
    uint64_t x = fits ? p->cost.total : p->cost.tile_bytes;
    uint64_t y = best_fits ? best->cost.total : best->cost.tile_bytes;

    if (!best->sm || fits > best_fits || (fits == best_fits && x < y))
        *best = *p;
}

/* All cuts into any number of parts. */
static struct matmul_plan by_force(const struct arch *a, const struct problem *q, uint64_t memory)
{
    struct matmul_plan best = { 0 };

    for (uint32_t sm = 1; sm <= q->m && sm <= q->tiles; sm++) {
        for (uint32_t sn = 1; sn <= q->n / BLOCK && sm * sn <= q->tiles; sn++) {
            for (uint32_t sk = 1; sk <= q->k / BLOCK && sm * sn * sk <= q->tiles; sk++) {
                struct matmul_plan p = { .m = q->m,
                                         .n = q->n,
                                         .k = q->k,
                                         .sm = sm,
                                         .sn = sn,
                                         .sk = sk,
                                         .first_tile = a->tiles - q->tiles,
                                         .tiles = q->tiles };

                OPS_OK(ss_plan_matmul_check(a, &p));
                ss_plan_matmul_cost(a, &p);
                prefer(&p, memory, &best);
            }
        }
    }
    return best;
}

static void check_cheapest(const struct arch *a, const struct problem *q)
{
    struct matmul_plan p = plan_of(a, q, UINT64_MAX), best = by_force(a, q, UINT64_MAX);

    assert_int_equal(p.cost.total, best.cost.total);
    assert_true(p.cost.total < 1000000);
}

static void test_cheapest(void **state)
{
    const struct arch *a = ss_arch_preset("toy64");
    uint64_t seed = 1;

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(problems); i++)
        check_cheapest(a, &problems[i]);
    for (int i = 0; i < 200; i++) {
        struct problem q = { 1 + random_below(&seed, 300), BLOCK * (1 + random_below(&seed, 40)),
                             BLOCK * (1 + random_below(&seed, 40)), 1 + random_below(&seed, 64) };

        check_cheapest(a, &q);
    }
}

/* From less than any cut needs to what the fastest needs. */
static void test_memory_cap(void **state)
{
    const struct arch *a = ss_arch_preset("toy64");

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(problems); i++) {
        const struct problem *q = &problems[i];
        uint64_t least = by_force(a, q, 0).cost.tile_bytes;
        uint64_t most = plan_of(a, q, UINT64_MAX).cost.tile_bytes;

        for (uint64_t memory = least - 1; memory <= most + 1; memory += (most - least) / 7 + 1) {
            struct matmul_plan p = plan_of(a, q, memory), best = by_force(a, q, memory);

            assert_true(memory < least || p.cost.tile_bytes <= memory);
            assert_int_equal(p.cost.tile_bytes <= memory, best.cost.tile_bytes <= memory);
            if (memory < least)
                assert_int_equal(p.cost.tile_bytes, least);
            else
                assert_int_equal(p.cost.total, best.cost.total);
        }
    }
}

static void test_refused(void **state)
{
    static const struct {
        struct matmul_plan p;
        const char *says;
    } bad[] = {
        { { .m = 0, .n = 16, .k = 16, .sm = 1, .sn = 1, .sk = 1, .tiles = 1 },
          "m 0|sizes above 0" },
        { { .m = 1, .n = 24, .k = 16, .sm = 1, .sn = 1, .sk = 1, .tiles = 1 },
          "n 24|multiples of 16" },
        { { .m = 1, .n = 16, .k = 17, .sm = 1, .sn = 1, .sk = 1, .tiles = 1 },
          "k 17|multiples of 16" },
        { { .m = 65536, .n = 65536, .k = 16, .sm = 1, .sn = 1, .sk = 1, .tiles = 1 },
          "fewer than 2^32 elements" },
        { { .m = 1, .n = 16, .k = 16, .sm = 1, .sn = 1, .sk = 1, .tiles = 65 },
          "65 tiles from 0 on|the chip has 64" },
        { { .m = 1,
            .n = 16,
            .k = 16,
            .sm = 1,
            .sn = 1,
            .sk = 1,
            .first_tile = UINT32_MAX,
            .tiles = 2 },
          "2 tiles from 4294967295 on" },
        { { .m = 1, .n = 16, .k = 16, .sm = 1, .sn = 1, .sk = 1, .tiles = 0 }, "0 tiles" },
        { { .m = 3, .n = 16, .k = 16, .sm = 4, .sn = 1, .sk = 1, .tiles = 8 },
          "m 3|4 x 1 x 1 parts" },
        { { .m = 3, .n = 32, .k = 16, .sm = 1, .sn = 3, .sk = 1, .tiles = 8 },
          "n 32|1 x 3 x 1 parts" },
        { { .m = 3, .n = 16, .k = 32, .sm = 1, .sn = 1, .sk = 3, .tiles = 8 },
          "k 32|1 x 1 x 3 parts" },
        { { .m = 3, .n = 16, .k = 32, .sm = 1, .sn = 0, .sk = 1, .tiles = 8 }, "1 x 0 x 1 parts" },
        { { .m = 9, .n = 64, .k = 64, .sm = 3, .sn = 2, .sk = 2, .tiles = 8 },
          "3 x 2 x 2 parts|on 8 tiles" },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(bad); i++) {
        assert_int_equal(ss_plan_matmul_check(ss_arch_preset("toy64"), &bad[i].p), EMU_USAGE);
        error_says(bad[i].says);
    }
}

/* Stages of a reduction reach all sources, are at least 2 wide, and cost no more than one stage. */
static void test_reduce(void **state)
{
    static const uint32_t sources[] = { 2, 3, 4, 5, 16, 17, 63, 64, 300, 1471, 1472 };
    static const uint64_t elements[] = { 1, 2, 7, 100, 5000 };
    const struct arch *a = ss_arch_preset("mk2");
    struct reduce_plan p;

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(sources) * EMU_COUNT_OF(elements); i++) {
        uint32_t n = sources[i % EMU_COUNT_OF(sources)];
        uint64_t e = elements[i / EMU_COUNT_OF(sources)], reach = 1;

        OPS_OK(plan_reduce(a, n, e, ELEM_F32, a->tiles, &p));
        assert_in_range(p.stages, 1, PLAN_MAX_STAGES);
        for (unsigned k = 0; k < p.stages; k++) {
            assert_true(p.fan_in[k] >= 2);
            reach *= p.fan_in[k];
        }
        assert_true(reach >= n);
        assert_int_equal(p.cost.total, p.cost.exchange_partials + p.cost.reduce + p.cost.sync);
        assert_true(p.cost.exchange_partials < 100000000 && p.cost.tile_bytes > 0);
        if (n > 1000 && e == 1)
            assert_true(p.stages > 1);
    }
    OPS_OK(plan_reduce(a, 1, 1, ELEM_F32, a->tiles, &p));
    assert_int_equal(p.stages, 0);
    assert_int_equal(plan_reduce(a, 0, 1, ELEM_F32, 4, &p), EMU_USAGE);
    assert_int_equal(plan_reduce(a, 5, 1, ELEM_F32, 4, &p), EMU_USAGE);
    assert_int_equal(plan_reduce(a, 4, 0, ELEM_F32, 4, &p), EMU_USAGE);
}

/* Predicted and executed cycles, on all tiles of mk2. tests/long/lab_full.sh has larger ones. */
static void test_predicted(void **state)
{
    static const struct problem sizes[] = { { .m = 256, .n = 256, .k = 256 },
                                            { .m = 2000, .n = 512, .k = 64 } };
    const struct arch *a = ss_arch_preset("mk2");

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(sizes); i++) {
        const struct problem *q = &sizes[i];
        struct matmul_operand x, y;
        struct matmul_plan p;
        struct ops_fixture r;
        double off;

        ops_fixture_new(&r, "mk2", 0);
        OPS_OK(ss_plan_matmul(a, q->m, q->n, q->k, 0, a->tiles, a->mem_bytes / 2, &p));
        x = ss_op_matmul_left(r.g, &p, "a");
        y = ss_op_matmul_right(r.g, &p, "b");
        ss_graph_keep(r.g, x.matrix);
        ss_graph_keep(r.g, y.matrix);
        ops_output(&r, ss_op_matmul(r.g, r.seq, &p, x, y, "c"));
        ops_run(&r);
        off = (double)p.cost.total / (double)r.cycles - 1;
        print_message("%u x %u x %u: predicted %d, executed %d cycles\n", q->m, q->n, q->k,
                      (int)p.cost.total, (int)r.cycles);
        assert_true(fabs(off) < 0.15);
        ops_fixture_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cheapest),  cmocka_unit_test(test_memory_cap),
        cmocka_unit_test(test_refused),   cmocka_unit_test(test_reduce),
        cmocka_unit_test(test_predicted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
