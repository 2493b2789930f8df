/* test_exec_acc.c - the accumulator instructions: sums and products against exact MPFR sums rounded
 * once, the chains as queues, the transposition by what it is for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "emu/base/random.h"
#include "emu/arch/arch.h"
#include "emu/exec/exec_rows.h"
#include "tests/fixtures/amp_oracle.h"

enum { LANE = 3, TIMES = 3000 };

static struct tile t;
static uint8_t mem[1 << 20];
static struct oracle o;
static uint64_t seed;

static int setup(void **state)
{
    (void)state;
    oracle_init(&o);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    oracle_clear(&o);
    return 0;
}

static int start(void **state)
{
    (void)state;
    assert_int_equal(tile_init(&t, ss_arch_preset("mk2"), 0, mem), EMU_OK);
    seed = 1;
    return 0;
}

static int stop(void **state)
{
    (void)state;
    tile_free(&t);
    return 0;
}

/* The even accumulators 0 .. 7 of set 0 by unit. */
static uint32_t even(unsigned m)
{
    return tile_acc(&t, LANE, 2 * m);
}

static void draw_accumulators(unsigned lo, unsigned hi)
{
    for (unsigned n = 0; n < TILE_ACC; n++)
        tile_set_acc(&t, LANE, n, oracle_single(&seed, lo, hi));
}

static uint16_t half_at(unsigned reg, unsigned i)
{
    return (uint16_t)(t.a[reg + i / 2][LANE] >> 16 * (i % 2));
}

static void draw_halves(unsigned reg, unsigned words)
{
    for (unsigned k = 0; k < words; k++) {
        uint32_t lo = oracle_half(&seed, 0, 30);

        t.a[reg + k][LANE] = lo | (uint32_t)oracle_half(&seed, 0, 30) << 16;
    }
}

static void draw_singles(unsigned reg, unsigned words, unsigned lo, unsigned hi)
{
    for (unsigned k = 0; k < words; k++)
        t.a[reg + k][LANE] = oracle_single(&seed, lo, hi);
}

static void issue(exec_fn *fn, int immediate)
{
    const struct insn in = { .d = 8, .a = 0, .b = 4, .i = immediate };

    assert_int_equal(fn(&t, LANE, &in), FAULT_NONE);
}

/* ---- sums ---- */

enum acc_kind { PLAIN, ABSOLUTE, SQUARE };

/* E(i) += term of x, where x is lane i of $a0.. */
static void check_sums(exec_fn *fn, unsigned lanes, int half, enum acc_kind kind)
{
    for (int times = 0; times < TIMES; times++) {
        uint32_t want[8];

        draw_accumulators(half ? 90 : 0, half ? 160 : 190);
        if (half)
            draw_halves(0, lanes / 2);
        else
            draw_singles(0, lanes, 0, 190);
        for (unsigned i = 0; i < lanes; i++) {
            double x =
                half ? oracle_f16(half_at(0, i)) : oracle_f32_of_bits(oracle_flush(t.a[i][LANE]));

            oracle_begin(&o, even(i));
            oracle_add(&o, kind == ABSOLUTE ? fabs(x) : x, kind == SQUARE ? x : 1);
            want[i] = oracle_end(&o);
        }
        issue(fn, 0);
        for (unsigned i = 0; i < lanes; i++)
            assert_int_equal(even(i), want[i]);
    }
}

static void test_sums(void **state)
{
    (void)state;
    check_sums(exec_f32v4acc, 4, 0, PLAIN);
    check_sums(exec_f32v4absacc, 4, 0, ABSOLUTE);
    check_sums(exec_f32v4sqacc, 4, 0, SQUARE);
    check_sums(exec_f16v4acc, 4, 1, PLAIN);
    check_sums(exec_f16v4absacc, 4, 1, ABSOLUTE);
    check_sums(exec_f16v8acc, 8, 1, PLAIN);
    check_sums(exec_f16v8absacc, 8, 1, ABSOLUTE);
    check_sums(exec_f16v8sqacc, 8, 1, SQUARE);
}

/* Nothing but the named accumulators changes, and nothing but the destination registers. */
static void test_untouched(void **state)
{
    static const struct {
        exec_fn *fn;
        unsigned accumulators, words; /* E(0) .. and $a8.. that may change */
    } row[] = {
        { exec_f32v4acc, 4, 0 },    { exec_f32v4absacc, 4, 0 }, { exec_f32v4sqacc, 4, 0 },
        { exec_f16v4acc, 4, 0 },    { exec_f16v4absacc, 4, 0 }, { exec_f16v8acc, 8, 0 },
        { exec_f16v8absacc, 8, 0 }, { exec_f16v8sqacc, 8, 0 },  { exec_f16v2cmac, 1, 0 },
        { exec_f16v4cmac, 2, 0 },   { exec_f32mac, 1, 0 },      { exec_f32v2mac, 2, 0 },
        { exec_f32v2axpy, 2, 2 },   { exec_f32v2aop, 4, 0 },    { exec_f16v4mix, 4, 2 },
        { exec_f16v4gacc, 0, 2 },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(row); i++) {
        static struct tile before;

        draw_accumulators(120, 130);
        draw_halves(0, 14);
        before = t;
        issue(row[i].fn, 0);
        for (unsigned n = 0; n < TILE_ACC; n++)
            if (n % 2 || n / 2 >= row[i].accumulators)
                assert_int_equal(tile_acc(&t, LANE, n), tile_acc(&before, LANE, n));
        for (unsigned reg = 0; reg < 16; reg++)
            if (reg < 8 || reg >= 8 + row[i].words)
                assert_int_equal(t.a[reg][LANE], before.a[reg][LANE]);
        for (unsigned lane = 0; lane < TILE_WORKERS; lane++)
            if (lane != LANE)
                assert_memory_equal(t.acc[lane], before.acc[lane], sizeof(t.acc[lane]));
    }
}

/* ---- products ---- */

static void check_cmac(exec_fn *fn, unsigned words)
{
    for (int times = 0; times < TIMES; times++) {
        uint32_t want[2];

        draw_accumulators(90, 160);
        draw_halves(0, 2);
        draw_halves(4, 2);
        for (unsigned k = 0; k < words; k++) {
            oracle_begin(&o, even(k));
            for (unsigned i = 2 * k; i < 2 * k + 2; i++)
                oracle_add(&o, oracle_f16(half_at(0, i)), oracle_f16(half_at(4, i)));
            want[k] = oracle_end(&o);
        }
        issue(fn, 0);
        for (unsigned k = 0; k < words; k++)
            assert_int_equal(even(k), want[k]);
    }
}

static void test_cmac(void **state)
{
    (void)state;
    check_cmac(exec_f16v2cmac, 1);
    check_cmac(exec_f16v4cmac, 2);
}

/* E(k) = c + x * y, where the operands are given by accumulator number. */
struct acc_product {
    exec_fn *fn;
    unsigned accumulators;
    int axpy; /* x = $TAS, c = B */
    unsigned x[4], y[4];
};

static void check_products(const struct acc_product *p)
{
    for (int times = 0; times < TIMES; times++) {
        uint32_t want[4], old[2] = { 0, 0 };

        draw_accumulators(0, 190);
        draw_singles(0, 2, 0, 190);
        draw_singles(4, 2, 0, 190);
        t.tas[LANE] = oracle_single(&seed, 0, 190);
        for (unsigned k = 0; k < p->accumulators; k++) {
            oracle_begin(&o, p->axpy ? t.a[4 + k][LANE] : even(k));
            if (p->axpy)
                oracle_add_f32(&o, t.tas[LANE], t.a[k][LANE]);
            else
                oracle_add_f32(&o, t.a[p->x[k]][LANE], t.a[4 + p->y[k]][LANE]);
            want[k] = oracle_end(&o);
        }
        old[0] = even(0);
        old[1] = even(1);
        issue(p->fn, times % 16);
        for (unsigned k = 0; k < p->accumulators; k++)
            assert_int_equal(even(k), want[k]);
        if (p->axpy)
            for (unsigned k = 0; k < 2; k++)
                assert_int_equal(t.a[8 + k][LANE], old[k]);
    }
}

static void test_products(void **state)
{
    static const struct acc_product row[] = {
        { exec_f32mac, .accumulators = 1 },
        { exec_f32v2mac, .accumulators = 2, .x = { 0, 1 }, .y = { 0, 1 } },
        { exec_f32v2axpy, .accumulators = 2, .axpy = 1 },
        { exec_f32v2aop, .accumulators = 4, .x = { 0, 1, 0, 1 }, .y = { 0, 0, 1, 1 } },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(row); i++)
        check_products(&row[i]);
}

/* mix hands out the previous sums as f16; gacc too, and leaves them. */
static void test_mix(void **state)
{
    (void)state;
    for (int times = 0; times < TIMES; times++) {
        uint32_t want[4];
        uint16_t out[4], twice[4],
            scale[2] = { oracle_half(&seed, 0, 30), oracle_half(&seed, 0, 30) };

        draw_accumulators(100, 127 + 14);
        draw_halves(0, 2);
        draw_halves(4, 2);
        memcpy(&t.tas[LANE], scale, 4);
        for (unsigned i = 0; i < 4; i++) {
            out[i] = oracle_to_f16(&o, even(i));
            oracle_begin(&o, 0x80000000);
            oracle_add(&o, oracle_f16(scale[0]), oracle_f16(half_at(0, i)));
            oracle_add(&o, oracle_f16(scale[1]), oracle_f16(half_at(4, i)));
            want[i] = oracle_end(&o);
            twice[i] = oracle_to_f16(&o, want[i]);
        }
        issue(exec_f16v4mix, 0);
        for (unsigned i = 0; i < 4; i++) {
            assert_int_equal(even(i), want[i]);
            assert_int_equal(half_at(8, i), out[i]);
        }
        issue(exec_f16v4gacc, 0);
        for (unsigned i = 0; i < 4; i++) {
            assert_int_equal(even(i), want[i]);
            assert_int_equal(half_at(8, i), twice[i]);
        }
    }
}

/* Four f16 results draw once; lane i takes bits 16i .. 16i + 12. */
static void test_stochastic(void **state)
{
    (void)state;
    t.fp_ctl[LANE] = FP_CTL_ESR;
    for (int times = 0; times < TIMES; times++) {
        struct prng copy = t.prng[LANE];
        uint64_t random = prng_next(&copy);
        uint16_t want[4];

        draw_accumulators(times % 2 ? 0 : 100, 127 + 14);
        for (unsigned i = 0; i < 4; i++)
            want[i] = oracle_to_f16_stochastic(even(i), random >> 16 * i & 0x1fff);
        issue(exec_f16v4gacc, 0);
        for (unsigned i = 0; i < 4; i++)
            assert_int_equal(half_at(8, i), want[i]);
        assert_memory_equal(&copy, &t.prng[LANE], sizeof(copy));
        issue(exec_f32v2gina, 0);
        issue(exec_f16v8acc, 0);
        assert_memory_equal(&copy, &t.prng[LANE], sizeof(copy));
    }
}

/* ---- chains ---- */

/* Each chain is a queue of four pairs; the four chains do not touch each other. Any bits pass. */
static void test_gina(void **state)
{
    uint32_t queue[4][8];

    (void)state;
    for (unsigned c = 0; c < 4; c++) {
        for (unsigned m = 0; m < 8; m++) {
            queue[c][m] = (uint32_t)random_next(&seed);
            tile_set_acc(&t, LANE, 16 * (c / 2) + 2 * m + c % 2, queue[c][m]);
        }
    }
    for (int times = 0; times < TIMES; times++) {
        unsigned c = random_below(&seed, 4);

        for (unsigned k = 0; k < 2; k++)
            t.a[k][LANE] = (uint32_t)random_next(&seed);
        issue(exec_f32v2gina, (int)c);
        assert_int_equal(t.a[8][LANE], queue[c][0]);
        assert_int_equal(t.a[9][LANE], queue[c][1]);
        memmove(queue[c], queue[c] + 2, 6 * sizeof(queue[c][0]));
        queue[c][6] = t.a[0][LANE];
        queue[c][7] = t.a[1][LANE];
        for (unsigned k = 0; k < 4; k++)
            for (unsigned m = 0; m < 8; m++)
                assert_int_equal(tile_acc(&t, LANE, 16 * (k / 2) + 2 * m + k % 2), queue[k][m]);
    }
    assert_int_equal(t.fp_sts[LANE], 0);
}

/* f16 that go in come out four instructions later; in between they are f32. */
static void test_gina_f16(void **state)
{
    uint32_t entered[TIMES];

    (void)state;
    for (int times = 0; times < TIMES; times++) {
        draw_halves(0, 1);
        entered[times] = t.a[0][LANE];
        issue(exec_f16v2gina, 3);
        if (times >= 4)
            assert_int_equal(t.a[8][LANE], entered[times - 4]);
        assert_int_equal(tile_acc(&t, LANE, 16 + 2 * 6 + 1),
                         oracle_bits_of_f32((float)oracle_f16(half_at(0, 0))));
    }
}

/* istacc twice, stacc twice, and the istacc of the next block hand out the transposed 4x4 matrix of
 * the 16-bit patterns. */
static void test_transpose(void **state)
{
    uint16_t block[2][4][4]; /* [old or new][row][column] */

    (void)state;
    for (int times = 0; times < TIMES; times++) {
        for (unsigned r = 0; r < 4; r++)
            for (unsigned c = 0; c < 4; c++)
                block[times % 2][r][c] = (uint16_t)random_next(&seed);
        for (unsigned p = 0; p < 2; p++) {
            memcpy(t.mem, block[times % 2][2 * p], 16);
            for (unsigned k = 0; k < 2; k++) {
                memcpy(&t.a[k][LANE], t.mem + 4 * k, 4);
                memcpy(&t.a[4 + k][LANE], t.mem + 8 + 4 * k, 4);
            }
            issue(exec_f16v4istacc, (int)p);
            for (unsigned r = 0; times && r < 4; r++)
                assert_int_equal(half_at(8, r), block[(times + 1) % 2][r][2 + p]);
        }
        for (unsigned p = 0; p < 2; p++) {
            issue(exec_f16v4stacc, (int)p);
            for (unsigned r = 0; r < 4; r++)
                assert_int_equal(half_at(8, r), block[times % 2][r][p]);
        }
    }
    assert_int_equal(t.fp_sts[LANE], 0);
}

/* ---- exceptions ---- */

static void test_exceptions(void **state)
{
    static const struct {
        exec_fn *fn;
        uint32_t a, b, acc, tas, flags;
    } row[] = {
        { exec_f32v4acc, .a = 0x7f7fffff, .acc = 0x7f7fffff, .flags = FP_OFLO },
        { exec_f32v4acc, .a = 0x7f800000, .acc = 0xff800000, .flags = FP_INV },
        { exec_f32v4acc, .a = 0x7fc00000 },
        { exec_f32v4acc, .a = 0x7f812345, .flags = FP_INV },
        { exec_f32v4sqacc, .a = 0x7f000000, .flags = FP_OFLO },
        { exec_f16v8acc, .a = 0x00007d00, .flags = FP_INV },
        { exec_f16v8sqacc, .a = 0x00007c00, .acc = 0xff800000, .flags = FP_INV },
        { exec_f16v2cmac, .a = 0x00007c00, .flags = FP_INV },
        { exec_f32mac, .a = 0x7f000000, .b = 0x7f000000, .flags = FP_OFLO },
        { exec_f32v2axpy, .a = 0x7f800000, .flags = FP_INV },
        { exec_f16v4mix, .acc = 0x47800000, .flags = FP_OFLO },
        { exec_f16v4mix, .a = 0x7c00, .b = 0x7c00, .tas = 0xbc003c00, .flags = FP_INV },
        { exec_f16v4gacc, .acc = 0x7f812345, .flags = FP_INV },
        { exec_f16v4gacc, .acc = 0x7f800000 },
        { exec_f16v2gina, .a = 0x7d00, .flags = FP_INV },
        { exec_f16v2gina, .acc = 0xc7800000, .flags = FP_OFLO },
        { exec_f32v2gina, .a = 0x7f812345, .acc = 0x7f812345 },
        { exec_f32v2aop, .a = 0x7f7fffff, .b = 0x7f7fffff, .flags = FP_OFLO },
    };
    const struct insn in = { .d = 8, .a = 0, .b = 4 };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(row); i++) {
        static struct tile before;

        memset(t.a, 0, sizeof(t.a));
        memset(t.acc, 0, sizeof(t.acc));
        tile_set_acc(&t, LANE, 0, row[i].acc);
        t.a[0][LANE] = row[i].a;
        t.a[4][LANE] = row[i].b;
        t.tas[LANE] = row[i].tas;
        t.fp_sts[LANE] = 0;
        t.fp_ctl[LANE] = FP_INV | FP_OFLO | FP_DIV0;
        before = t;
        assert_int_equal(row[i].fn(&t, LANE, &in), row[i].flags ? FAULT_FP : FAULT_NONE);
        if (row[i].flags) {
            assert_memory_equal(before.a, t.a, sizeof(t.a));
            assert_memory_equal(before.acc, t.acc, sizeof(t.acc));
        }
        memcpy(t.a, before.a, sizeof(t.a));
        memcpy(t.acc, before.acc, sizeof(t.acc));
        t.fp_ctl[LANE] = 0;
        t.fp_sts[LANE] = 0;
        assert_int_equal(row[i].fn(&t, LANE, &in), FAULT_NONE);
        assert_int_equal(t.fp_sts[LANE], row[i].flags);
    }
}

static void test_refusals(void **state)
{
    static const struct {
        exec_fn *fn;
        int mk1, mk2; /* the first immediate that is refused */
    } row[] = {
        { exec_f32v2gina, 2, 4 },
        { exec_f16v2gina, 2, 4 },
        { exec_f16v4stacc, 2, 2 },
        { exec_f16v4istacc, 2, 2 },
    };

    (void)state;
    for (int machine = 0; machine < 2; machine++) {
        t.arch = ss_arch_preset(machine ? "mk2" : "mk1");
        for (size_t i = 0; i < EMU_COUNT_OF(row); i++) {
            for (int n = -1; n < 6; n++) {
                const struct insn in = { .d = 8, .a = 0, .b = 4, .i = n };
                int good = n >= 0 && n < (machine ? row[i].mk2 : row[i].mk1);

                assert_int_equal(row[i].fn(&t, LANE, &in), good ? FAULT_NONE : FAULT_INVALID_INSTR);
            }
        }
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_sums),      TEST(test_untouched),  TEST(test_cmac),     TEST(test_products),
        TEST(test_mix),       TEST(test_stochastic), TEST(test_gina),     TEST(test_gina_f16),
        TEST(test_transpose), TEST(test_exceptions), TEST(test_refusals),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
