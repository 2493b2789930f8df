/* test_prng.c - the generator of a worker against outputs computed elsewhere, Gaussian samples,
 * random masks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "emu/base/prng.h"

/* Outputs computed by an independent program from the published definition. */
static void test_prng(void **state)
{
    static const uint64_t want[] = {
        0x46f88bdd94e33330u, 0xe53244053136cdc3u, 0xb56baa1b5705ef1au,
        0x8ba0dfba1b75aeceu, 0x311d2409866ae381u, 0x7e5d9638240e06e8u
    };
    struct prng p;
    double mean = 0, square = 0;

    (void)state;
    prng_seed(&p, 0x12345678);
    assert_true(p.s0 == 0xedcba98712345678u && p.s1 == 0x7530e2468acf1db9u);
    for (size_t i = 0; i < EMU_COUNT_OF(want); i++)
        assert_true(prng_next(&p) == want[i]);

    for (int i = 0; i < 100000; i++) {
        struct prng q = p;
        int n = prng_grand(&p);
        uint32_t f = prng_grand_f32(&q);

        assert_true(n >= -186 && n <= 186);
        assert_true(fp_float(f) == (float)n / 32);
        assert_true(q.s0 == p.s0 && q.s1 == p.s1);
        mean += n / 32.0;
        square += n / 32.0 * (n / 32.0);
    }
    assert_true(mean / 100000 < 0.01 && mean / 100000 > -0.01);
    assert_true(square / 100000 < 1.01 &&
                square / 100000 > 0.985); /* variance 12 * 1023/12 / 1024 */
    for (int i = 0; i < 1000; i++) {
        struct prng q = p;

        assert_true(fp_f16_value(prng_grand_f16(&q)) == prng_grand(&p) / 32.0);
    }
}

static void test_rmask(void **state)
{
    uint64_t out = 0xffff800040000000u, lanes = 0x4444333322221111u;

    (void)state;
    assert_true(prng_rmask_f16v4(out, lanes, 0x10000) == lanes);
    assert_true(prng_rmask_f16v4(out, lanes, 0) == 0);
    assert_true(prng_rmask_f16v4(out, lanes, 1) == 0x1111);
    assert_true(prng_rmask_f16v4(out, lanes, 0x4000) == 0x1111);
    assert_true(prng_rmask_f16v4(out, lanes, 0x4001) == 0x22221111);
    assert_true(prng_rmask_f16v4(out, lanes, 0xffff) == 0x333322221111);
    assert_true(prng_rmask_f16v4(out, lanes, 0xfffe0000) == 0);
    assert_true(prng_rmask_f32v2(out, lanes, 0x4000) == 0x22221111);
    assert_true(prng_rmask_f32v2(out, lanes, 0x4001) == lanes);
    assert_true(prng_rmask_f32v2(out, lanes, 0) == 0);
    assert_true(prng_rmask_f32v2(out, lanes, 0x10000) == lanes);
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prng),
        cmocka_unit_test(test_rmask),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
