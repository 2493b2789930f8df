/* test_fp8.c - 8-bit floating point against plain references: the value of every byte, every f16
 * rounded by looking at all bytes, sums of products with MPFR; and the matrix unit against the one
 * for f16, where the values are f16, too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <mpfr.h>

#include "emu/base/fp8.h"
#include "emu/base/random.h"
#include "emu/exec/exec_rows.h"
#include "emu/isa/csr_names.h"
#include "emu/isa/insn_ops.h"
#include "tests/fixtures/tile_fixture.h"

static uint64_t rng = 1;

static uint32_t rnd(uint32_t below)
{
    return random_below(&rng, below);
}

static uint64_t bits64(void)
{
    return (uint64_t)rnd(1u << 31) << 40 ^ (uint64_t)rnd(1u << 31) << 20 ^ rnd(1u << 31);
}

/* ---- values ---- */

/* The value of a byte that is not NaN, from the definition. */
static double value_of(unsigned q, enum fp8_format format)
{
    int fraction = format == FP8_F143 ? 3 : 2, bias = format == FP8_F143 ? 8 : 16;
    int e = (int)(q & 0x7f) >> fraction, m = (int)q & ((1 << fraction) - 1);
    double v = e ? ldexp((1 << fraction) + m, e - bias - fraction) : ldexp(m, 1 - bias - fraction);

    return q & 0x80 ? -v : v;
}

static void test_values(void **state)
{
    (void)state;
    assert_true(value_of(0x01, FP8_F143) == 0x1p-10 && value_of(0x7f, FP8_F143) == 240);
    assert_true(value_of(0x01, FP8_F152) == 0x1p-17 && value_of(0x7f, FP8_F152) == 57344);
    assert_true(value_of(0x58, FP8_F143) == 8 && value_of(0x56, FP8_F143) == 7);
    for (int format = 0; format < 2; format++) {
        for (unsigned q = 0; q < 256; q++) {
            struct fp_env env = { .flags = 0 };
            uint16_t h = fp8_to_f16((uint8_t)q, (enum fp8_format)format, 0, 0, &env);

            assert_int_equal(env.flags, 0);
            if (q == FP8_NAN) {
                assert_int_equal(h, FP_F16_NAN);
                continue;
            }
            assert_true(fp_f16_value(h) == value_of(q, (enum fp8_format)format));
            assert_true(ldexp((double)fp8_fixed((uint8_t)q, (enum fp8_format)format), -17) ==
                        value_of(q, (enum fp8_format)format));
            assert_int_equal(fp8_from_f16(h, (enum fp8_format)format, 0, 0, &env), q);
            assert_int_equal(env.flags, 0);
        }
    }
}

/* ---- rounding ---- */

/* The byte for a finite value, by looking at all: n is the byte at or below its magnitude, 128 what
 * comes after the largest number. */
static unsigned reference(double v, enum fp8_format format, unsigned mode, bool nanoo,
                          uint8_t *flags)
{
    double magnitude = fabs(v), below, above;
    unsigned sign = v < 0 ? 0x80 : 0, n = 0;
    bool up;

    while (n < 127 && value_of(n + 1, format) <= magnitude)
        n++;
    below = value_of(n, format);
    above = n < 127 ? value_of(n + 1, format) : 2 * below - value_of(126, format);
    up = mode == FP_RND_NEAREST
             ? magnitude - below > above - magnitude ||
                   (magnitude - below == above - magnitude && n % 2)
             : magnitude > below && ((mode == FP_RND_UP && !sign) || (mode == FP_RND_DOWN && sign));
    n += up || magnitude >= above;
    *flags = n > 127 ? FP_OFLO : 0;
    if (n > 127)
        return nanoo ? FP8_NAN : sign | 127;
    return n ? sign | n : 0;
}

static void test_rounding(void **state)
{
    static const int scales[] = { -32, -17, -9, -1, 0, 1, 8, 31 };

    (void)state;
    for (unsigned k = 0; k < 2 * EMU_COUNT_OF(scales); k++) {
        enum fp8_format format = (enum fp8_format)(k % 2);
        int scale = scales[k / 2];

        for (uint32_t h = 0; h < 65536; h++) {
            struct fp_env env = { .rnd = (uint8_t)(h % 4 + k / 8) % 4, .nanoo = h / 64 % 2 };
            unsigned lane = h % 8, got, want;
            uint8_t flags;

            got = fp8_from_f16((uint16_t)h, format, scale, lane, &env);
            if (fp_f16_abs((uint16_t)h) >= FP_F16_INF) {
                flags = fp_f16_is_inf((uint16_t)h) || fp_f16_is_snan((uint16_t)h) ? FP_INV : 0;
                want = FP8_NAN;
            } else {
                want = reference(ldexp(fp_f16_value((uint16_t)h), scale), format, env.rnd,
                                 env.nanoo, &flags);
            }
            if (got != want || env.flags != flags)
                fail_msg("0x%04x * 2^%d, format %d, mode %d: 0x%02x %d, expected 0x%02x %d", h,
                         scale, format, env.rnd, got, env.flags, want, flags);
        }
    }
}

/* Of the 256 random numbers of a lane, as many round up as the value is 256ths above the byte below
 * it; what is exact never changes. */
static void test_stochastic(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 4000; n++) {
        uint16_t h = (uint16_t)rnd(0x7c00);
        enum fp8_format format = (enum fp8_format)rnd(2);
        int scale = (int)rnd(12) - 6;
        double v = ldexp(fp_f16_value(h), scale), below, above;
        struct fp_env down = { .rnd = FP_RND_ZERO };
        unsigned q = fp8_from_f16(h, format, scale, 0, &down), lane = rnd(8), count = 0;

        if (q == 127)
            continue;
        below = value_of(q, format);
        above = value_of(q + 1, format);
        for (unsigned r = 0; r < 256; r++) {
            struct fp_env env = { .stochastic = 1,
                                  .random = (bits64() & ~(UINT64_C(0xff) << 8 * lane)) |
                                            (uint64_t)r << 8 * lane };
            unsigned got = fp8_from_f16(h, format, scale, lane, &env);

            assert_true(got == q || got == q + 1);
            count += got != q;
        }
        /* a rest below a 256th still counts as one bit of the cut, and adds nothing */
        assert_int_equal(count, (unsigned)floor((v - below) / (above - below) * 256) |
                                    (unsigned)(fmod((v - below) / (above - below) * 256, 1) != 0));
    }
}

static void test_widening_rounds_as_f16(void **state)
{
    struct fp_env env = { .nanoo = 1 }, clip = { .nanoo = 0 }, up = { .rnd = FP_RND_UP };

    (void)state;
    assert_int_equal(fp8_to_f16(0x7f, FP8_F152, 1, 0, &env), FP_F16_NAN);
    assert_int_equal(env.flags, FP_OFLO);
    assert_int_equal(fp8_to_f16(0xff, FP8_F152, 1, 0, &clip), 0xfbff);
    assert_int_equal(clip.flags, FP_OFLO);
    assert_int_equal(fp8_to_f16(0x03, FP8_F152, -9, 0, &up), 1); /* 3 * 2^-26 */
    assert_int_equal(fp8_to_f16(0x00, FP8_F143, 31, 0, &env), 0);
}

/* ---- sums of products ---- */

static uint32_t exact_sum(uint32_t acc, uint64_t x, enum fp8_format xf, uint64_t w,
                          enum fp8_format wf, int scale)
{
    mpfr_t sum, term;
    float f;

    mpfr_inits2(500, sum, term, (mpfr_ptr)0);
    mpfr_set_d(sum, (double)fp_float(fp_f32_flush(acc)), MPFR_RNDN);
    for (int i = 0; i < 8; i++) {
        double p = value_of(x >> 8 * i & 255, xf) * value_of(w >> 8 * i & 255, wf);

        mpfr_set_d(term, p, MPFR_RNDN);
        mpfr_mul_2si(term, term, scale, MPFR_RNDN);
        mpfr_add(sum, sum, term, MPFR_RNDN);
    }
    f = mpfr_get_flt(sum, MPFR_RNDN);
    if (mpfr_zero_p(sum))
        f = 0;
    mpfr_clears(sum, term, (mpfr_ptr)0);
    return fp_bits(f);
}

/* Bytes without NaN; some of them small, so that products cancel or vanish. */
static uint64_t factors(void)
{
    uint64_t v = 0;
    unsigned mask = rnd(3) ? 0xff : 0x8f;

    for (int i = 0; i < 8; i++) {
        unsigned q = rnd(4) ? rnd(256) & mask : 0;

        v |= (uint64_t)(q == FP8_NAN ? 0 : q) << 8 * i;
    }
    return v;
}

static void test_products(void **state)
{
    struct fp_env env = { .flags = 0 };

    (void)state;
    for (unsigned n = 0; n < 200000; n++) {
        enum fp8_format xf = (enum fp8_format)rnd(2), wf = (enum fp8_format)rnd(2);
        uint64_t x = factors(), w = factors();
        int scale = rnd(2) ? (int)rnd(64) - 32 : (int)rnd(5) - 2;
        struct fp8_vector xv = fp8_vector_of(x, xf), wv = fp8_vector_of(w, wf);
        uint32_t acc = rnd(2) << 31 | rnd(4) << 21 | (rnd(255) << 23) | rnd(1u << 21), want;

        if (!rnd(3)) /* what nearly cancels the products */
            acc = exact_sum(0, x, xf, w, wf, scale) ^ FP_F32_SIGN ^ (rnd(2) ? 0 : 1u << rnd(12));
        if (!rnd(8))
            acc &= FP_F32_SIGN;
        want = exact_sum(acc, x, xf, w, wf, scale);
        if ((want & FP_F32_INF) == FP_F32_INF || !fp_f32_abs(want)) {
            want &= FP_F32_INF; /* the largest acc; and the sign of a zero */
            assert_int_equal(fp8_add_exact_products(acc, &xv, &wv, scale, &env) & FP_F32_INF, want);
            continue;
        }
        if (fp8_add_exact_products(acc, &xv, &wv, scale, &env) != want)
            fail_msg("0x%08x + 2^%d 0x%llx * 0x%llx: 0x%08x, expected 0x%08x", acc, scale,
                     (unsigned long long)x, (unsigned long long)w,
                     fp8_add_exact_products(acc, &xv, &wv, scale, &env), want);
    }
    assert_int_equal(env.flags, 0);
}

static void test_special_products(void **state)
{
    const struct fp8_vector one = fp8_vector_of(0x4040404040404040, FP8_F143);
    const struct fp8_vector nan = fp8_vector_of(0x4040404040408040, FP8_F143);
    const struct fp8_vector zero = fp8_vector_of(0, FP8_F143);
    struct fp_env env = { .flags = 0 };

    (void)state;
    assert_int_equal(fp8_add_exact_products(0, &nan, &zero, 0, &env), FP_F32_NAN);
    assert_int_equal(fp8_add_exact_products(0, &zero, &nan, 0, &env), FP_F32_NAN);
    assert_int_equal(fp8_add_exact_products(0xff800000, &one, &one, 0, &env), 0xff800000);
    assert_int_equal(fp8_add_exact_products(0x7fc12345, &one, &one, 0, &env), FP_F32_NAN);
    assert_int_equal(fp8_add_exact_products(FP_F32_SIGN, &one, &zero, 0, &env), 0);
    assert_int_equal(fp8_add_exact_products(1, &zero, &zero, 0, &env), 0);
    assert_int_equal(env.flags, 0);
    assert_int_equal(fp8_add_exact_products(0x7fa00000, &one, &one, 0, &env), FP_F32_NAN);
    assert_int_equal(env.flags, FP_INV);
}

/* ---- the matrix unit ---- */

/* Four of the eight bytes in each place are 0, the others are f16, too: then both instructions
 * compute the same, whatever the phases, with a scale of 1. */
static void test_amp_as_f16(void **state)
{
    struct tile wide, narrow;

    (void)state;
    zero_tile_new(&wide, ss_arch_preset("c600"), 0);
    zero_tile_new(&narrow, ss_arch_preset("c600"), 0);
    for (unsigned n = 0; n < 3000; n++) {
        struct insn f16 = {
            .op = INSN_f16v4hihov4amp, .d = 0, .a = 2, .b = 4, .i = (int32_t)rnd(7)
        };
        struct insn f8 = f16;
        uint32_t nfmt = rnd(4);

        f8.op = INSN_f8v8hihov4amp;
        tile_csr_put(&narrow, 0, 'U', CSR_U_FP_NFMT, nfmt);
        for (unsigned entry = 0; entry <= TILE_WEIGHTS; entry++) { /* the last one is x */
            enum fp8_format format = (enum fp8_format)(nfmt >> (entry == TILE_WEIGHTS ? 1 : 0) & 1);
            uint64_t bytes = 0, halves = 0;

            for (unsigned i = 0; i < 4; i++) {
                struct fp_env env = { .flags = 0 };
                uint8_t q = (uint8_t)rnd(256);

                if (q == FP8_NAN && entry < TILE_WEIGHTS && entry % 2)
                    q = 0;
                bytes |= (uint64_t)q << 8 * i;
                halves |= (uint64_t)fp8_to_f16(q, format, 0, 0, &env) << 16 * i;
            }
            if (entry < TILE_WEIGHTS) {
                narrow.weight[entry] = bytes << (entry % 2 ? 32 : 0);
                wide.weight[entry] = entry % 2 ? 0 : halves;
            } else {
                for (unsigned k = 0; k < 2; k++) {
                    tile_set_a(&narrow, 0, 2 + k, k ? 0 : (uint32_t)bytes);
                    tile_set_a(&wide, 0, 2 + k, (uint32_t)(halves >> 32 * k));
                }
            }
        }
        for (unsigned k = 0; k < 2; k++) {
            uint32_t partial = rnd(0x7c00) | rnd(0x7c00) << 16 | rnd(2) << 31;

            tile_set_a(&narrow, 0, 4 + k, partial);
            tile_set_a(&wide, 0, 4 + k, partial);
        }
        if (n % 16 == 0) { /* a NaN stays in the chains for ever */
            memset(narrow.acc, 0, sizeof(narrow.acc));
            memset(wide.acc, 0, sizeof(wide.acc));
        }
        assert_int_equal(exec_f8v8hihov4amp(&narrow, 0, &f8), FAULT_NONE);
        assert_int_equal(exec_f16v4hihov4amp(&wide, 0, &f16), FAULT_NONE);
        assert_memory_equal(narrow.a, wide.a, 2 * sizeof(wide.a[0]));
        for (unsigned k = 0; k < TILE_ACC; k++) /* but for the sign of zero */
            assert_int_equal(narrow.acc[0][k] == FP_F32_SIGN ? 0 : narrow.acc[0][k],
                             wide.acc[0][k] == FP_F32_SIGN ? 0 : wide.acc[0][k]);
        memcpy(wide.acc, narrow.acc, sizeof(wide.acc));
    }
    tile_free(&wide);
    ss_free(wide.mem);
    zero_tile_free(&narrow);
}

/* Formats and scale come from the supervisor's registers at a launch; a worker may change its own.
 */
static void test_launch(void **state)
{
    const struct insn widen = { .op = INSN_f8v2tof16, .d = 0, .a = 1 };
    struct tile t;

    (void)state;
    zero_tile_new(&t, ss_arch_preset("c600"), 0);
    tile_csr_put(&t, LANE_SUPER, 'S', CSR_S_FP_INFMT, 2);
    tile_csr_put(&t, LANE_SUPER, 'S', CSR_S_FP_ISCL, 0xffffffff); /* -1 */
    tile_launch(&t, 3, t.mem_base, t.mem_base);
    tile_set_a(&t, 3, 1, 0x4840);
    assert_int_equal(exec_f8v2tof16(&t, 3, &widen), FAULT_NONE);
    assert_int_equal(tile_a(&t, 3, 0), 0x3c003800); /* 1, 0.5 */
    tile_csr_put(&t, 3, 'U', CSR_U_FP_NFMT, 1);
    tile_csr_put(&t, 3, 'U', CSR_U_FP_SCL, 2);
    assert_int_equal(exec_f8v2tof16(&t, 3, &widen), FAULT_NONE);
    assert_int_equal(tile_a(&t, 3, 0), 0x4c004400);              /* F152: 4 * 4, 1 * 4 */
    assert_int_equal(tile_csr_get(&t, 3, 'U', CSR_U_FP_SCL), 0); /* only written */
    zero_tile_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),     cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_stochastic), cmocka_unit_test(test_widening_rounds_as_f16),
        cmocka_unit_test(test_products),   cmocka_unit_test(test_special_products),
        cmocka_unit_test(test_amp_as_f16), cmocka_unit_test(test_launch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
