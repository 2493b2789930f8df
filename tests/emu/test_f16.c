/* test_f16.c - f16: every value through f32 and back, conversions against the host's F16C,
 * arithmetic edges, stochastic rounding over all random bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "emu/base/fp.h"

#define QNAN    0x7fc00000u
#define QNAN2   0xffc12345u /* a quiet NaN that is not the canonical one */
#define SNAN    0x7f800001u
#define HQNAN   0x7e00
#define HSNAN   0xfc01
#define ALL_RND 4

/* Every f16 through f32 and back, in every rounding mode; the host's F16C as an independent reader.
 */
static void test_f16_round_trip(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x10000; h++) {
        for (unsigned m = 0; m < 5; m++) {
            struct fp_env env = { .rnd = (uint8_t)(m & 3), .stochastic = m == 4, .random = ~0ull };
            uint32_t f = fp_f16_to_f32((uint16_t)h, &env);
            bool nan = fp_f16_is_nan((uint16_t)h);

            assert_int_equal(env.flags, fp_f16_is_snan((uint16_t)h) ? FP_INV : 0);
            assert_int_equal(f, nan ? QNAN : fp_bits(_cvtsh_ss((uint16_t)h)));
            env.flags = 0;
            assert_int_equal(fp_f16_from_f32(f, m & 3, &env), nan ? HQNAN : h);
            assert_int_equal(fp_f16_from_f64(fp_f16_value((uint16_t)h), 0, &env), nan ? HQNAN : h);
            assert_int_equal(env.flags, 0);
            if (!nan && !fp_f16_is_inf((uint16_t)h))
                assert_true((double)fp_f16_fixed((uint16_t)h) ==
                            fp_f16_value((uint16_t)h) * 0x1p24);
        }
    }
}

/* A stride through all f32, and the neighbours of every f16 and of every middle of two, in the four
 * modes, against F16C. */
static void check_narrowing(uint32_t f)
{
    __m128 v = _mm_set_ss(fp_float(fp_f32_flush(f)));
    int want[ALL_RND] = { _mm_cvtsi128_si32(_mm_cvtps_ph(v, 0)),
                          _mm_cvtsi128_si32(_mm_cvtps_ph(v, 2)),
                          _mm_cvtsi128_si32(_mm_cvtps_ph(v, 1)),
                          _mm_cvtsi128_si32(_mm_cvtps_ph(v, 3)) };
    /* Rounded away with unbounded exponent, magnitudes above 65504 overflow, toward zero only from
     * 65536. */
    uint32_t limit[ALL_RND] = { 0x477ff000, 0x477fe001, 0x477fe001, 0x47800000 };

    if (fp_f32_is_nan(f))
        return;
    if (f & 0x80000000)
        limit[FP_RND_UP] = 0x47800000;
    else
        limit[FP_RND_DOWN] = 0x47800000;
    for (unsigned m = 0; m < ALL_RND; m++) {
        struct fp_env env = { .rnd = (uint8_t)m };
        bool over = fp_f32_abs(f) >= limit[m] && !fp_f32_is_inf(f);
        uint32_t h = over ? 0x7bff | (f >> 16 & 0x8000) : (uint32_t)want[m] & 0xffff;

        if (fp_f16_from_f32(f, 0, &env) != h || env.flags != (over ? FP_OFLO : 0))
            fail_msg("f32 %08x mode %u: want %04x", f, m, h);
        env.nanoo = 1;
        if (fp_f16_from_f32(f, 0, &env) != (over ? HQNAN : h))
            fail_msg("f32 %08x mode %u with NANOO", f, m);
    }
}

static void test_f16_narrowing(void **state)
{
    (void)state;
    for (uint64_t f = 0; f < 0x100000000ull; f += 4099)
        check_narrowing((uint32_t)f);
    for (uint32_t h = 0; h < 0x7c00; h++) {
        float lo = (float)fp_f16_value((uint16_t)h);
        float hi = h == 0x7bff ? 65536.0f : (float)fp_f16_value((uint16_t)(h + 1));
        uint32_t middle = fp_bits((lo + hi) * 0.5f);

        for (int d = -1; d <= 1; d++)
            for (uint32_t s = 0; s <= 0x80000000; s += 0x80000000) {
                if (h || d >= 0)
                    check_narrowing((fp_bits(lo) + (uint32_t)d) | s);
                check_narrowing((middle + (uint32_t)d) | s);
                if (s)
                    break;
            }
    }
    struct fp_env env = { .nanoo = 1 };
    assert_int_equal(fp_f16_from_f32(0xff800000, 0, &env), 0xfc00);
    assert_int_equal(fp_f16_from_f32(QNAN2, 0, &env), HQNAN);
    assert_int_equal(fp_f16_from_f64(-0.0, 0, &env), 0x8000);
    assert_int_equal(env.flags, 0);
    assert_int_equal(fp_f16_from_f32(SNAN, 0, &env), HQNAN);
    assert_int_equal(env.flags, FP_INV);
    env = (struct fp_env){ .rnd = FP_RND_UP };
    assert_int_equal(fp_f16_from_f32(1, 0, &env), 0);         /* flushed before rounding */
    assert_int_equal(fp_f16_from_f64(0x1p-1074, 0, &env), 1); /* not an f32 */
    assert_int_equal(fp_f16_from_f64(0x1p-1022, 0, &env), 1);
    env.rnd = 7;
    assert_int_equal(fp_f16_from_f32(0x3f801001, 0, &env), 0x3c01); /* unknown code: nearest even */
    assert_int_equal(fp_f16_from_f32(0x3f801000, 0, &env), 0x3c00);
}

enum hop { HADD, HSUB, HMUL, HABSADD, HMAX, HMIN, HABSMAX };

static uint16_t f16_op(enum hop op, uint16_t a, uint16_t b, struct fp_env *env)
{
    switch (op) {
    case HADD:
        return fp_f16_add(a, b, 0, env);
    case HSUB:
        return fp_f16_sub(a, b, 0, env);
    case HMUL:
        return fp_f16_mul(a, b, 0, env);
    case HABSADD:
        return fp_f16_absadd(a, b, 0, env);
    case HMAX:
        return fp_f16_max(a, b, env);
    case HMIN:
        return fp_f16_min(a, b, env);
    default:
        return fp_f16_absmax(a, b, env);
    }
}

static void test_f16_arithmetic(void **state)
{
    static const struct {
        enum hop op;
        uint16_t a, b, want, nanoo;
        unsigned flags;
    } t[] = {
        { HADD, 0x3c00, 0x3c00, .want = 0x4000, .nanoo = 0x4000 },
        { HADD, 1, 1, .want = 2, .nanoo = 2 },
        { HADD, 0x0400, 0x8001, .want = 0x03ff, .nanoo = 0x03ff },
        { HADD, 0x3c00, 0xbc00, .want = 0, .nanoo = 0 },
        { HADD, 0x8000, 0x8000, .want = 0x8000, .nanoo = 0x8000 },
        { HADD, 0x7bff, 0x7bff, .want = 0x7bff, .nanoo = HQNAN, .flags = FP_OFLO },
        { HADD, 0xfbff, 0xcc00, .want = 0xfbff, .nanoo = HQNAN,
          .flags = FP_OFLO }, /* -65504 - 16: a tie, and over */
        { HADD, 0x7bff, 0x4bff, .want = 0x7bff, .nanoo = 0x7bff },
        { HADD, 0x7c00, 0xfbff, .want = 0x7c00, .nanoo = 0x7c00 },
        { HADD, 0x7c00, 0xfc00, .want = HQNAN, .nanoo = HQNAN, .flags = FP_INV },
        { HADD, 0x7c00, 0x7fff, .want = HQNAN, .nanoo = HQNAN },
        { HADD, HSNAN, HQNAN, .want = HQNAN, .nanoo = HQNAN, .flags = FP_INV },
        { HSUB, 0x7c00, 0x7c00, .want = HQNAN, .nanoo = HQNAN, .flags = FP_INV },
        { HSUB, 0xfbff, 0x7bff, .want = 0xfbff, .nanoo = HQNAN, .flags = FP_OFLO },
        { HMUL, 0x8000, 0x0000, .want = 0x8000, .nanoo = 0x8000 },
        { HMUL, 0x0400, 0x3800, .want = 0x0200, .nanoo = 0x0200 },
        { HMUL, 1, 0x3800, .want = 0, .nanoo = 0 }, /* half of the smallest: a tie, to zero */
        { HMUL, 0x8001, 0x3801, .want = 0x8001, .nanoo = 0x8001 }, /* a little more than half */
        { HMUL, 0x8001, 1, .want = 0x8000, .nanoo = 0x8000 },
        { HMUL, 0x7c00, 0x8000, .want = HQNAN, .nanoo = HQNAN, .flags = FP_INV },
        { HMUL, 0xfc00, 0x0001, .want = 0xfc00, .nanoo = 0xfc00 },
        { HMUL, 0x5c00, 0xdc00, .want = 0xfbff, .nanoo = HQNAN, .flags = FP_OFLO }, /* 256 * -256 */
        { HABSADD, 0xbc00, 0xbc00, .want = 0x4000, .nanoo = 0x4000 },
        { HABSADD, 0xfc00, 0x7c00, .want = 0x7c00, .nanoo = 0x7c00 },
        { HMAX, 0x8000, 0, .want = 0, .nanoo = 0 },
        { HMIN, 0, 0x8000, .want = 0x8000, .nanoo = 0x8000 },
        { HMAX, 0xffff, 0x8001, .want = 0x8001, .nanoo = 0x8001 },
        { HMIN, 0x3c00, 0xffff, .want = 0x3c00, .nanoo = 0x3c00 },
        { HMAX, 0x7fff, 0xffff, .want = HQNAN, .nanoo = HQNAN },
        { HMIN, HSNAN, 0x3c00, .want = HQNAN, .nanoo = HQNAN, .flags = FP_INV },
        { HMAX, 0x8002, 0x8001, .want = 0x8001, .nanoo = 0x8001 },
        { HABSMAX, 0xc000, 0x3c00, .want = 0x4000, .nanoo = 0x4000 },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(t); i++)
        for (uint8_t nanoo = 0; nanoo < 2; nanoo++) {
            struct fp_env env = { .nanoo = nanoo };
            uint16_t got = f16_op(t[i].op, t[i].a, t[i].b, &env);

            if (got != (nanoo ? t[i].nanoo : t[i].want) || env.flags != t[i].flags)
                fail_msg("row %zu: %04x flags %u", i, got, env.flags);
        }
    assert_int_equal(fp_f16_lo(0x12345678), 0x5678);
    assert_int_equal(fp_f16_hi(0x12345678), 0x1234);
    assert_int_equal(fp_f16_pack(0x5678, 0x9234), 0x92345678);
}

/* value lies fraction/2^13 (after the cut) of the way from f16 below to above: of the 8192 random
 * values exactly that many go up. */
static void test_stochastic(void **state)
{
    static const struct {
        double value;
        uint16_t below, above;
        int fraction;
        unsigned flags_above;
    } t[] = {
        { 1.0, 0x3c00, 0x3c01, .fraction = 0 },
        { 1.0 + 0x1p-11, 0x3c00, 0x3c01, .fraction = 4096 },
        { 1.0 + 0x1p-23, 0x3c00, 0x3c01, .fraction = 1 },
        { 1.0 + 0x1p-24, 0x3c00, 0x3c01, .fraction = 1 }, /* cut, but not zero */
        { 1.0 + 0x1p-22 + 0x1p-24, 0x3c00, 0x3c01,
          .fraction = 3 }, /* 2 and a little: the last bit is set */
        { 1.0 + 0x1p-23 + 0x1p-24, 0x3c00, 0x3c01,
          .fraction = 1 }, /* 1 and a little: it is set already */
        { 2.0 - 0x1p-23, 0x3fff, 0x4000, .fraction = 8191 },
        { 2.0 - 0x1p-40, 0x3fff, 0x4000, .fraction = 8191 },
        { 3.0e-5, 0x01f7, 0x01f8, .fraction = 2593 }, /* subnormal: the unit is 2^-24 */
        { 0x1p-25, 0x0000, 0x0001, .fraction = 4096 },
        { 0x1.8p-24, 0x0001, 0x0002, .fraction = 4096 },
        { 0x1.ap-34, 0x0000, 0x0001, .fraction = 13 },
        { 0x1.4p-35, 0x0000, 0x0001, .fraction = 5 },
        { 0x1.4p-36, 0x0000, 0x0001, .fraction = 3 },
        { 0x1p-36, 0x0000, 0x0001, .fraction = 2 },
        { 0x1p-37, 0x0000, 0x0001, .fraction = 1 },
        { 0x1p-1074, 0x0000, 0x0001, .fraction = 1 },
        { 0x1p-48, 0x0000, 0x0001, .fraction = 1 },
        { 0x1p-100, 0x0000, 0x0001, .fraction = 1 },
        { 0x1p-14 - 0x1p-26, 0x03ff, 0x0400, .fraction = 6144 }, /* up to the smallest normal */
        { 65504.0 + 8, 0x7bff, 0x7bff, .fraction = 2048, .flags_above = FP_OFLO },
        { 65504.0, 0x7bff, 0x7bff, .flags_above = FP_OFLO },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(t); i++)
        for (int sign = 0; sign < 2; sign++) {
            int up = 0, overflow = 0;
            double sum = 0;

            for (unsigned r = 0; r < 8192; r++) {
                unsigned lane = r & 3;
                struct fp_env env = { .stochastic = 1, .rnd = (uint8_t)(r % 5) };
                uint16_t h;

                /* noise in all bits but the 13 of this lane */
                env.random = (0x9e3779b97f4a7c15u * (r + 1) & ~(0x1fffull << 16 * lane)) |
                             (uint64_t)r << 16 * lane;
                h = fp_f16_from_f64(sign ? -t[i].value : t[i].value, lane, &env);
                assert_int_equal(h >> 15, sign);
                h &= 0x7fff;
                assert_true(h == t[i].below || h == t[i].above);
                overflow += env.flags == FP_OFLO;
                up += h != t[i].below;
                sum += fp_f16_value(h);
                if (!t[i].flags_above) /* monotone in r: the largest r go up */
                    assert_int_equal(h == t[i].above, r + (unsigned)t[i].fraction >= 8192);
            }
            if ((t[i].flags_above ? overflow : up) != t[i].fraction)
                fail_msg("row %zu: %d up, %d overflowed", i, up, overflow);
            if (!t[i].flags_above) {
                double q = fp_f16_value(t[i].above) - fp_f16_value(t[i].below);

                /* The mean is the value, up to what the cut changed. */
                assert_true(sum / 8192 - t[i].value <= q / 8192 &&
                            t[i].value - sum / 8192 <= q / 8192);
            }
        }
    /* From f32 the 13 bits of a normal result are all there are: the mean is exact. */
    for (uint32_t f = 0x3f800000; f < 0x3f802000; f += 97) {
        int64_t sum = 0;

        for (unsigned r = 0; r < 8192; r++) {
            struct fp_env env = { .stochastic = 1, .random = r };

            sum += fp_f16_from_f32(f, 0, &env) - 0x3c00;
        }
        assert_int_equal(sum, f - 0x3f800000);
    }
    /* Operations pass their lane on: only the lane with r = 0x1fff goes up. */
    struct fp_env env = { .stochastic = 1, .random = 0x1fffull << 32 };
    for (unsigned lane = 0; lane < 4; lane++) {
        uint16_t bump = lane == 2;

        assert_int_equal(fp_f16_add(0x3c00, 0x0001, lane, &env), 0x3c00 + bump);
        assert_int_equal(fp_f16_sub(0x3c00, 0x8001, lane, &env), 0x3c00 + bump);
        assert_int_equal(fp_f16_mul(0x3c01, 0x3c01, lane, &env), 0x3c02 + bump);
        assert_int_equal(fp_f16_absadd(0xbc00, 0x0001, lane, &env), 0x3c00 + bump);
        assert_int_equal(fp_f16_from_f32(0x3f800001, lane, &env), 0x3c00 + bump);
        assert_int_equal(fp_f16_sufromui(0xffff, lane, &env), 0x37ff + bump);
    }
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f16_round_trip),
        cmocka_unit_test(test_f16_narrowing),
        cmocka_unit_test(test_f16_arithmetic),
        cmocka_unit_test(test_stochastic),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
