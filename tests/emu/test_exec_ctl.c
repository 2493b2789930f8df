/* test_exec_ctl.c - branches, repeat, exit, launch, sync, traps, CSR moves, weight loads, exchange
 * port, and bundles: both halves read before either writes. */
#include "tests/fixtures/tile_fixture.h"

#include "emu/exec/exec_rows.h"
#include "emu/isa/csr_names.h"
#include "emu/isa/insn_ops.h"
#include "emu/tile/exchange_port.h"

static struct tile t;

static int setup(void **state)
{
    (void)state;
    zero_tile_new(&t, ss_arch_preset("toy4"), 0);
    for (uint32_t k = 0; k < t.mem_bytes; k++)
        t.mem[k] = (uint8_t)(k * 7 + (k >> 8));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    zero_tile_free(&t);
    return 0;
}

static void forget_fault(void)
{
    memset(&t.fault, 0, sizeof(t.fault));
    t.state[LANE_SUPER] = CONTEXT_ACTIVE;
}

static void test_branches(void **state)
{
    static const struct {
        exec_fn *fn;
        uint32_t a;
        int taken;
        uint32_t after;
    } row[] = {
        { exec_bri, .taken = 1 },
        { exec_brz, .taken = 1 },
        { exec_brz, .a = 1, .taken = 0, .after = 1 },
        { exec_brnz, .taken = 0 },
        { exec_brnz, .a = 0x80000000, .taken = 1, .after = 0x80000000 },
        { exec_brneg, .a = 0x80000000, .taken = 1, .after = 0x80000000 },
        { exec_brneg, .a = 0x7fffffff, .taken = 0, .after = 0x7fffffff },
        { exec_brneg, .taken = 0 },
        { exec_brpos, .taken = 1 },
        { exec_brpos, .a = 0x7fffffff, .taken = 1, .after = 0x7fffffff },
        { exec_brpos, .a = 0xffffffff, .taken = 0, .after = 0xffffffff },
        { exec_brnzdec, .taken = 0 },
        { exec_brnzdec, .a = 1, .taken = 1 },
        { exec_brnzdec, .a = 0xffffffff, .taken = 1, .after = 0xfffffffe },
    };

    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(row); k++) {
        struct insn in = { .a = 3, .x = 3, .i = 0x54320 };

        t.m[3][2] = row[k].a;
        t.npc[2] = 0x50008;
        assert_int_equal(row[k].fn(&t, 2, &in), FAULT_NONE);
        assert_int_equal(t.npc[2], row[k].taken ? 0x54320 : 0x50008);
        assert_int_equal(t.m[3][2], row[k].after);
    }
}

static void test_br_and_call(void **state)
{
    struct insn br = { .a = 10 }, call = { .d = 10, .i = 0x3ffffc };

    (void)state;
    t.m[10][LANE_SUPER] = 0x12344;
    assert_int_equal(exec_br(&t, LANE_SUPER, &br), FAULT_NONE);
    assert_int_equal(t.npc[LANE_SUPER], 0x12344);
    t.npc[LANE_SUPER] = 0x50004;
    assert_int_equal(exec_call(&t, LANE_SUPER, &call), FAULT_NONE);
    assert_int_equal(t.m[10][LANE_SUPER], 0x50004);
    assert_int_equal(t.npc[LANE_SUPER], 0x1ffffc); /* bit 19 of the word address is ignored */
}

static void test_repeat(void **state)
{
    struct insn r = { .a = 1, .i = 2 }, i = { .i = 4095, .j = 255 };

    (void)state;
    t.npc[0] = 0x50008;
    t.m[1][0] = 0x10003; /* 16 bits count */
    assert_int_equal(exec_rpt_r(&t, 0, &r), FAULT_NONE);
    assert_int_equal(t.rpt_count[0], 3);
    assert_int_equal(t.rpt_first[0], 0x50008);
    assert_int_equal(t.rpt_end[0], 0x50008 + 24);
    assert_int_equal(t.npc[0], 0x50008);

    t.m[1][0] = 0x10000;
    assert_int_equal(exec_rpt_r(&t, 0, &r), FAULT_NONE);
    assert_int_equal(t.rpt_count[0], 0);
    assert_int_equal(t.npc[0], 0x50008 + 24);

    t.npc[0] = 0x50010;
    assert_int_equal(exec_rpt_i(&t, 0, &i), FAULT_NONE);
    assert_int_equal(t.rpt_count[0], 4095);
    assert_int_equal(t.rpt_end[0], 0x50010 + 256 * 8);

    t.npc[0] = 0x50004;
    assert_int_equal(exec_rpt_i(&t, 0, &i), FAULT_INVALID_PC);
    assert_int_equal(t.fault.addr, 0x50004);
}

static void test_exit(void **state)
{
    static const struct {
        exec_fn *fn;
        uint32_t a;
        int status;
    } row[] = {
        { exec_exitz, 0, 1 },   { exec_exitz, 5, 0 },
        { exec_exitnz, 0, 0 },  { exec_exitnz, 5, 1 },
        { exec_exitneg, 0, 0 }, { exec_exitneg, 0x80000000, 1 },
        { exec_exitpos, 0, 1 }, { exec_exitpos, 0x80000000, 0 },
    };
    struct insn in = { .a = 1 };

    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(row); k++)
        for (unsigned lc = 0; lc < 2; lc++) {
            t.ssr = lc | SSR_GC;
            t.state[4] = CONTEXT_ACTIVE;
            t.exited = 1;
            t.m[1][4] = row[k].a;
            assert_int_equal(row[k].fn(&t, 4, &in), FAULT_NONE);
            assert_int_equal(t.state[4], CONTEXT_INACTIVE);
            assert_int_equal(t.exited, 0x11);
            assert_int_equal(t.ssr, (lc && row[k].status ? SSR_LC : 0) | SSR_GC);
        }
}

static void test_run(void **state)
{
    const struct insn in = { .a = 1, .b = 2, .i = 3 };
    uint32_t entry = t.mem_base + 0x100;

    (void)state;
    t.m[1][LANE_SUPER] = entry;
    t.m[2][LANE_SUPER] = 0x2000; /* relative to memory */
    t.state[0] = t.state[2] = CONTEXT_ACTIVE;
    assert_int_equal(exec_run(&t, LANE_SUPER, &in), FAULT_NONE);
    assert_int_equal(t.launched, 2);
    assert_int_equal(t.pc[1], entry);
    assert_int_equal(tile_m(&t, 1, 13), t.mem_base + 0x200c);
    assert_int_equal(exec_run(&t, LANE_SUPER, &in), FAULT_NONE);
    assert_int_equal(t.launched, 0xa);
    for (unsigned w = 4; w < TILE_WORKERS; w++)
        assert_int_equal(exec_run(&t, LANE_SUPER, &in), FAULT_NONE);
    assert_int_equal(exec_run(&t, LANE_SUPER, &in), FAULT_INVALID_OP);
}

static void test_runall(void **state)
{
    const struct insn in = { .a = 1, .b = 2, .i = 5 };
    uint32_t entry = t.mem_base + 0x104;

    (void)state;
    t.m[1][LANE_SUPER] = entry;
    t.m[2][LANE_SUPER] = t.mem_base + 0x1000;
    assert_int_equal(exec_runall(&t, LANE_SUPER, &in), FAULT_NONE);
    assert_int_equal(t.launched, 0x3f);
    for (unsigned w = 0; w < TILE_WORKERS; w++) {
        assert_int_equal(t.pc[w], entry);
        assert_int_equal(tile_m(&t, w, 13), t.mem_base + 0x1000 + 20 * w);
    }
    t.state[3] = CONTEXT_INACTIVE;
    assert_int_equal(exec_runall(&t, LANE_SUPER, &in), FAULT_INVALID_OP);
    assert_int_equal(t.ssr, SSR_RAERR);
    assert_int_equal(t.state[3], CONTEXT_INACTIVE);
}

static void test_launch_faults(void **state)
{
    const struct {
        uint32_t entry, base;
        enum fault want;
    } bad[] = {
        { t.mem_base + 2, t.mem_base, FAULT_INVALID_PC },
        { t.mem_base - 4, t.mem_base, FAULT_INVALID_PC },
        { t.mem_base + t.region0_bytes, t.mem_base, FAULT_INVALID_PC },
        { t.mem_base, t.mem_base + 1, FAULT_INVALID_ADDR },
    };
    const struct insn in = { .a = 1, .b = 2 };

    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(bad); k++) {
        t.m[1][LANE_SUPER] = bad[k].entry;
        t.m[2][LANE_SUPER] = bad[k].base;
        assert_int_equal(exec_run(&t, LANE_SUPER, &in), bad[k].want);
        assert_int_equal(exec_runall(&t, LANE_SUPER, &in), bad[k].want);
        assert_int_equal(t.fault.kind, bad[k].want);
        assert_int_equal(t.launched, 0);
        forget_fault();
    }
    t.m[1][LANE_SUPER] = t.mem_base + t.region0_bytes - 4;
    t.m[2][LANE_SUPER] = t.mem_base;
    assert_int_equal(exec_run(&t, LANE_SUPER, &in), FAULT_NONE);
}

static void test_sync_and_trap(void **state)
{
    struct insn in = { .i = SYNC_LOCAL };

    (void)state;
    assert_int_equal(t.sync_zone, -1);
    assert_int_equal(exec_sync(&t, LANE_SUPER, &in), FAULT_NONE);
    assert_int_equal(t.sync_zone, SYNC_LOCAL);
    for (in.i = 0; in.i < 16; in.i++) {
        enum fault want = in.i == 0 ? FAULT_PBRK0 : in.i == 15 ? FAULT_PBRK1 : FAULT_INVALID_INSTR;

        assert_int_equal(exec_trap(&t, 1, &in), want);
        assert_int_equal(t.fault.kind, want);
        forget_fault();
    }
}

static void test_csr_moves(void **state)
{
    struct insn in = { .d = 4, .a = 5, .i = CSR_W_WSR };

    (void)state;
    assert_int_equal(exec_get(&t, 3, &in), FAULT_NONE);
    assert_int_equal(t.m[4][3], 3);
    in.i = CSR_S_FP_ICTL;
    t.m[5][LANE_SUPER] = FP_CTL_ESR;
    assert_int_equal(exec_put(&t, LANE_SUPER, &in), FAULT_NONE);
    assert_int_equal(t.fp_ictl, FP_CTL_ESR);
    assert_int_equal(exec_get(&t, LANE_SUPER, &in), FAULT_NONE);
    assert_int_equal(t.m[4][LANE_SUPER], FP_CTL_ESR);
    in.i = CSR_U_TAS;
    t.a[5][2] = 0x3f800000;
    assert_int_equal(exec_uput(&t, 2, &in), FAULT_NONE);
    assert_int_equal(exec_uget(&t, 2, &in), FAULT_NONE);
    assert_int_equal(t.a[4][2], 0x3f800000);
}

static void test_weights(void **state)
{
    uint32_t r1 = t.mem_base + t.region0_bytes;
    struct insn in = { .i = 62 };
    uint64_t mem[2];

    (void)state;
    assert_int_equal(tile_read(&t, r1, mem, 16), 1);
    t.cccsload = r1;
    assert_int_equal(exec_ld128putcs(&t, LANE_SUPER, &in), FAULT_NONE);
    assert_true(t.weight[62] == mem[0] && t.weight[63] == mem[1]);
    assert_int_equal(t.cccsload, r1 + 16);
    assert_int_equal(t.weight_generation, 1);
    in.i = 5;
    t.cccsload = r1 + 8;
    assert_int_equal(exec_ld64putcs(&t, LANE_SUPER, &in), FAULT_NONE);
    assert_true(t.weight[5] == mem[1]);
    assert_int_equal(t.cccsload, r1 + 16);
    assert_int_equal(t.weight_generation, 2);

    assert_int_equal(exec_ld128putcs(&t, LANE_SUPER, &in), FAULT_INVALID_OP); /* odd entry */
    forget_fault();
    in.i = 64;
    assert_int_equal(exec_ld64putcs(&t, LANE_SUPER, &in), FAULT_INVALID_OP);
    forget_fault();
    assert_int_equal(exec_ld128putcs(&t, LANE_SUPER, &in), FAULT_INVALID_OP);
    forget_fault();
    in.i = 0;
    t.cccsload = t.mem_base; /* region 0 */
    assert_int_equal(exec_ld128putcs(&t, LANE_SUPER, &in), FAULT_INVALID_ADDR);
    assert_int_equal(t.cccsload, t.mem_base);
    forget_fault();
    assert_int_equal(exec_ld64putcs(&t, LANE_SUPER, &in), FAULT_NONE);
    t.cccsload = t.mem_base + 4;
    assert_int_equal(exec_ld64putcs(&t, LANE_SUPER, &in), FAULT_INVALID_ADDR);
    assert_int_equal(t.weight_generation, 3);
}

struct counting_port {
    struct exchange_port port; /* first */
    const struct insn *last;
};

static enum fault count_issue(struct exchange_port *p, struct tile *tile, const struct insn *in)
{
    ((struct counting_port *)p)->last = in;
    return tile == &t ? FAULT_NONE : FAULT_EXERR;
}

static void test_exchange_port(void **state)
{
    static exec_fn *const fn[] = { exec_send,  exec_sendoff,  exec_sendpic,   exec_sendpicp,
                                   exec_delay, exec_delaypic, exec_delayxpic, exec_sans };
    struct counting_port port = { { .issue = count_issue }, NULL };
    struct insn in = { .i = 1 };

    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(fn); k++) {
        t.exchange = NULL;
        assert_int_equal(fn[k](&t, LANE_SUPER, &in), FAULT_EXERR);
        assert_non_null(strstr(t.fault.detail, "no exchange fabric"));
        forget_fault();
        t.exchange = &port.port;
        port.last = NULL;
        assert_int_equal(fn[k](&t, LANE_SUPER, &in), FAULT_NONE);
        assert_ptr_equal(port.last, &in);
    }
}

static struct insn make(enum insn_op op, unsigned d, unsigned a, unsigned b, int32_t i)
{
    return (struct insn){ .op = (uint16_t)op,
                          .d = (uint8_t)d,
                          .a = (uint8_t)a,
                          .b = (uint8_t)b,
                          .s = (uint8_t)d,
                          .i = i };
}

static void test_bundle(void **state)
{
    struct insn store = make(INSN_st32_ai, 1, 1, 15, 0), load = make(INSN_ld32_ai, 2, 1, 15, 0);
    struct insn swap = make(INSN_roll16_a, 1, 2, 2, 0), move = make(INSN_atom, 4, 1, 0, 0);
    uint32_t v;

    (void)state;
    t.m[1][0] = t.mem_base;
    t.a[1][0] = 0x11112222;
    t.a[2][0] = 0x33334444;
    assert_int_equal(exec_bundle(&t, 0, &store, &swap), FAULT_NONE);
    assert_int_equal(tile_load32(&t, 0, t.mem_base, &v), FAULT_NONE);
    assert_int_equal(v, 0x11112222); /* the value before the swap */
    assert_int_equal(t.a[1][0], 0x44443333);

    t.a[1][0] = 0;
    assert_int_equal(exec_bundle(&t, 0, &load, &swap), FAULT_NONE);
    assert_int_equal(t.a[2][0], 0x11112222); /* loaded */
    assert_int_equal(t.a[1][0], 0x44443333); /* from the old $a2 */

    assert_int_equal(exec_bundle(&t, 0, &move, &swap), FAULT_NONE);
    assert_int_equal(t.m[4][0], 0x44443333);
    assert_int_equal(t.a[1][0], 0x22221111);
}

static void test_bundle_faults(void **state)
{
    struct insn bad_load = make(INSN_ld32_ai, 2, 15, 15, 0), swap = make(INSN_roll16_a, 1, 2, 2, 0);
    struct insn load = make(INSN_ld32_ai, 1, 1, 15, 0), illegal = make(INSN_ILLEGAL, 0, 0, 0, 0);
    struct insn zero_load = make(INSN_ld64_ai, 14, 1, 15, 0),
                zero_or = make(INSN_or_a, 15, 1, 1, 0);
    struct tile before;

    (void)state;
    t.m[1][0] = t.mem_base;
    t.a[1][0] = 0x11112222;
    t.a[2][0] = 0x33334444;
    assert_int_equal(exec_bundle(&t, 0, &bad_load, &swap), FAULT_INVALID_ADDR);
    assert_int_equal(t.a[1][0], 0x44443333); /* the other half completes */
    forget_fault();

    before = t;
    assert_int_equal(exec_bundle(&t, 0, &load, &swap), FAULT_INVALID_OP);
    assert_memory_equal(t.a, before.a, sizeof(t.a));
    forget_fault();
    assert_int_equal(exec_bundle(&t, 0, &illegal, &swap), FAULT_INVALID_INSTR);
    forget_fault();
    assert_int_equal(exec_bundle(&t, 0, &load, &illegal), FAULT_INVALID_INSTR);
    assert_memory_equal(t.a, before.a, sizeof(t.a));
    forget_fault();
    assert_int_equal(exec_bundle(&t, 0, &zero_load, &zero_or), FAULT_NONE); /* both discard */
}

static void test_table(void **state)
{
    (void)state;
    for (unsigned op = 0; op < INSN_COUNT; op++)
        assert_true(exec_table[op] != NULL);
    assert_true(exec_table[INSN_add_m] == exec_add_m && exec_table[INSN_sans] == exec_sans);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_branches),      TEST(test_br_and_call),   TEST(test_repeat),
        TEST(test_exit),          TEST(test_run),           TEST(test_runall),
        TEST(test_launch_faults), TEST(test_sync_and_trap), TEST(test_csr_moves),
        TEST(test_weights),       TEST(test_exchange_port), TEST(test_bundle),
        TEST(test_bundle_faults), TEST(test_table),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
