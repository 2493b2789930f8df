/* test_tile_csr.c - every control and status register: what it reads, what writing it changes;
 * launch of a worker. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "emu/base/alloc.h"
#include "emu/isa/csr_names.h"
#include "emu/isa/isa.h"
#include "emu/tile/tile.h"

static void setup(struct tile *t, uint32_t id)
{
    assert_int_equal(tile_init(t, ss_arch_preset("toy4"), id, NULL), EMU_OK);
}

/* Rows whose reading gives back what was written, as far as the mask goes. */
static uint32_t kept_bits(char space, unsigned index)
{
    if (space == 'U' && index == CSR_U_FP_CTL)
        return 0x001f0007;
    if (space == 'S' && index == CSR_S_FP_ICTL)
        return 0x001f0007;
    return UINT32_MAX;
}

static void test_read_write_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < isa_csr_count(); i++) {
        const struct csr_row *r = isa_csr_row(i);
        unsigned lane = r->space == 'S' ? LANE_SUPER : 4;
        uint32_t v = 0xfffffff5 - (uint32_t)i, before;
        struct tile t;

        setup(&t, 0x12345);
        before = tile_csr_get(&t, lane, r->space, r->index);
        tile_csr_put(&t, lane, r->space, r->index, v);
        if (r->access == 3)
            assert_int_equal(tile_csr_get(&t, lane, r->space, r->index),
                             v & kept_bits(r->space, r->index));
        else
            assert_int_equal(tile_csr_get(&t, lane, r->space, r->index), before);
        if (r->access == 2)
            assert_int_equal(before, 0);
        tile_free(&t);
    }
}

static void test_unknown_rows(void **state)
{
    static const char spaces[] = { 'W', 'U', 'S' };
    struct tile t, before;

    (void)state;
    setup(&t, 1);
    before = t;
    for (size_t s = 0; s < sizeof(spaces); s++)
        for (unsigned index = 0; index < 256; index++) {
            if (isa_csr_at(spaces[s], index))
                continue;
            tile_csr_put(&t, s == 2 ? LANE_SUPER : 0, spaces[s], index, 0x5a5a5a5a);
            assert_int_equal(tile_csr_get(&t, s == 2 ? LANE_SUPER : 0, spaces[s], index), 0);
        }
    assert_memory_equal(&t, &before, sizeof(t));
    tile_free(&t);
}

static void test_worker_reads(void **state)
{
    struct tile t;

    (void)state;
    setup(&t, 0);
    t.worker_base[3] = 0x1000;
    tile_launch(&t, 3, 0x2000, 0x3000);
    t.pc[3] = 0x2008;
    t.cycle = 0x123456789a;
    t.rpt_count[3] = 7;
    t.rpt_first[3] = 0x2010;
    t.rpt_end[3] = 0x2028;
    assert_int_equal(tile_csr_get(&t, 3, 'W', CSR_W_PC), 0x2008);
    assert_int_equal(tile_csr_get(&t, 3, 'W', CSR_W_WSR), 3);
    assert_int_equal(tile_csr_get(&t, 3, 'W', CSR_W_VERTEX_BASE), 0x3000);
    assert_int_equal(tile_csr_get(&t, 3, 'W', CSR_W_WORKER_BASE), 0x1000);
    assert_int_equal(tile_csr_get(&t, 3, 'W', CSR_W_REPEAT_COUNT), 7);
    assert_int_equal(tile_csr_get(&t, 3, 'W', CSR_W_REPEAT_FIRST), 0x2010);
    assert_int_equal(tile_csr_get(&t, 3, 'W', CSR_W_REPEAT_END), 0x2020);
    assert_int_equal(tile_csr_get(&t, 3, 'W', CSR_W_COUNT_L), 0x3456789a);
    assert_int_equal(tile_csr_get(&t, 3, 'W', CSR_W_COUNT_U), 0x12);
    tile_fault(&t, 3, FAULT_CONFLICT, 0, "test");
    assert_int_equal(tile_csr_get(&t, 3, 'W', CSR_W_WSR), 3 | 6 << 4 | 1 << 9);
    assert_int_equal(tile_csr_get(&t, 2, 'W', CSR_W_WSR), 2);
    tile_free(&t);
}

static void test_super_reads(void **state)
{
    struct tile t;

    (void)state;
    setup(&t, 3u << 16 | 1023);
    t.cycle = 0xfedcba9876;
    t.pc[LANE_SUPER] = 0x4444;
    t.ssr = SSR_GC;
    t.state[LANE_SUPER] = CONTEXT_ACTIVE;
    tile_launch(&t, 0, 0, 0);
    tile_launch(&t, 5, 0, 0);
    assert_int_equal(t.launched, 0x21);
    assert_int_equal(tile_csr_get(&t, LANE_SUPER, 'S', CSR_S_PC), 0x4444);
    assert_int_equal(tile_csr_get(&t, LANE_SUPER, 'S', CSR_S_TILE_ID), 1023);
    assert_int_equal(tile_csr_get(&t, LANE_SUPER, 'S', CSR_S_SCOUNT_L), 0xdcba9876);
    assert_int_equal(tile_csr_get(&t, LANE_SUPER, 'S', CSR_S_SCOUNT_U), 0xfe);
    assert_int_equal(tile_csr_get(&t, LANE_SUPER, 'S', CSR_S_CTXT_STS), 1 | 1 << 2 | 1 << 12);
    tile_fault(&t, LANE_SUPER, FAULT_EXERR, 0, "test");
    assert_int_equal(tile_csr_get(&t, LANE_SUPER, 'S', CSR_S_SSR), SSR_GC | 13 << 4);
    assert_int_equal(tile_csr_get(&t, LANE_SUPER, 'S', CSR_S_CTXT_STS), 3 | 1 << 2 | 1 << 12);
    tile_free(&t);
}

static void test_commands(void **state)
{
    struct tile t;
    uint32_t generation;

    (void)state;
    setup(&t, 0);
    tile_csr_put(&t, LANE_SUPER, 'S', CSR_S_CR, 2);
    assert_int_equal(t.ssr, SSR_LC);
    tile_csr_put(&t, LANE_SUPER, 'S', CSR_S_CR, 1);
    assert_int_equal(t.ssr, 0);
    tile_csr_put(&t, LANE_SUPER, 'S', CSR_S_CR, 3);
    assert_int_equal(t.ssr, SSR_LC);
    generation = t.weight_generation;
    t.weight[0] = t.weight[63] = 1;
    tile_csr_put(&t, LANE_SUPER, 'S', CSR_S_CR, 4);
    assert_true(t.weight[0] == 0 && t.weight[63] == 0);
    assert_int_not_equal(t.weight_generation, generation);

    t.fp_sts[2] = 7;
    t.acc[2][31] = t.acc[1][0] = 9;
    tile_csr_put(&t, 2, 'U', CSR_U_FP_CLR, 2);
    assert_int_equal(t.fp_sts[2], 5);
    assert_int_equal(t.acc[2][31], 9);
    tile_csr_put(&t, 2, 'U', CSR_U_FP_CLR, 8);
    assert_int_equal(t.fp_sts[2], 5);
    assert_int_equal(t.acc[2][31], 0);
    assert_int_equal(t.acc[1][0], 9); /* another worker's */
    tile_csr_put(&t, 2, 'U', CSR_U_FP_STS, 0);
    assert_int_equal(t.fp_sts[2], 5);
    tile_free(&t);
}

/* $PRNG_SEED as in docs/machine.md 6.2, the four words written out. */
static void test_prng_seed(void **state)
{
    const uint32_t v = 0x89abcdef;
    struct tile t, other;

    (void)state;
    setup(&t, 0);
    setup(&other, 1);
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
        assert_true(t.prng[lane].s0 != other.prng[lane].s0);
        assert_true(lane == 0 || t.prng[lane].s0 != t.prng[0].s0);
    }
    tile_csr_put(&t, 1, 'U', CSR_U_PRNG_SEED, v);
    assert_int_equal(tile_csr_get(&t, 1, 'U', CSR_U_PRNG_0_0), v);
    assert_int_equal(tile_csr_get(&t, 1, 'U', CSR_U_PRNG_0_1), ~v);
    assert_int_equal(tile_csr_get(&t, 1, 'U', CSR_U_PRNG_1_0), v << 13 | ~v >> 19);
    assert_int_equal(tile_csr_get(&t, 1, 'U', CSR_U_PRNG_1_1), ~v << 13 | v >> 19);
    tile_csr_put(&t, 1, 'U', CSR_U_PRNG_0_0, 1);
    tile_csr_put(&t, 1, 'U', CSR_U_PRNG_0_1, 2);
    tile_csr_put(&t, 1, 'U', CSR_U_PRNG_1_0, 3);
    tile_csr_put(&t, 1, 'U', CSR_U_PRNG_1_1, 4);
    assert_true(t.prng[1].s0 == 0x200000001 && t.prng[1].s1 == 0x400000003);
    tile_free(&t);
    tile_free(&other);
}

static void test_launch(void **state)
{
    struct tile t, before;

    (void)state;
    setup(&t, 0);
    t.fp_ictl = 0x80000;
    t.fp_sts[1] = 7;
    t.tas[1] = 0x1234;
    t.worker_base[1] = 0x5000;
    t.m[3][1] = 33;
    t.a[3][1] = 44;
    t.acc[1][7] = 55;
    t.prng[1].s0 = 66;
    before = t;
    tile_launch(&t, 1, 0x6000, 0x7004);
    assert_int_equal(t.state[1], CONTEXT_ACTIVE);
    assert_int_equal(t.launched, 2);
    assert_int_equal(t.pc[1], 0x6000);
    assert_int_equal(tile_m(&t, 1, 12), 0x5000);
    assert_int_equal(tile_m(&t, 1, 13), 0x7004);
    assert_int_equal(t.fp_ctl[1], 0x80000);
    assert_int_equal(t.fp_sts[1], 0);
    assert_int_equal(t.tas[1], 0x1234);
    assert_memory_equal(t.a, before.a, sizeof(t.a));
    assert_memory_equal(t.acc, before.acc, sizeof(t.acc));
    assert_memory_equal(t.prng, before.prng, sizeof(t.prng));
    t.m[12][1] = t.m[13][1] = 0;
    assert_memory_equal(t.m, before.m, sizeof(t.m));
    tile_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read_write_rows), cmocka_unit_test(test_unknown_rows),
        cmocka_unit_test(test_worker_reads),    cmocka_unit_test(test_super_reads),
        cmocka_unit_test(test_commands),        cmocka_unit_test(test_prng_seed),
        cmocka_unit_test(test_launch),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
