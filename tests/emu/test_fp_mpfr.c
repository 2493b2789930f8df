/* test_fp_mpfr.c - emu/base/fp.h against MPFR: f16 arithmetic and conversions in all rounding modes
 * and stochastically, f32 arithmetic, integers, exact sums of f16 products. Every expectation is an
 * exact (or, for quotients and roots, a directly rounded) MPFR result rounded once; nothing of fp.h
 * but its bit functions is used to make it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <mpfr.h>

#include "emu/base/random.h"
#include "emu/base/fp.h"

enum { WIDE = 640 }; /* bits: from 2^128 down to 2^-149 * 2^-149 and some */

static mpfr_t va, vb, vc, exact, term, r24, r11, scaled;
static mpfr_exp_t wide_emin, wide_emax;

static const mpfr_rnd_t mpfr_mode[4] = { MPFR_RNDN, MPFR_RNDU, MPFR_RNDD, MPFR_RNDZ };

static int setup(void **state)
{
    (void)state;
    wide_emin = mpfr_get_emin();
    wide_emax = mpfr_get_emax();
    mpfr_inits2(WIDE, va, vb, vc, exact, term, scaled, (mpfr_ptr)0);
    mpfr_init2(r24, 24);
    mpfr_init2(r11, 11);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    mpfr_clears(va, vb, vc, exact, term, scaled, r24, r11, (mpfr_ptr)0);
    mpfr_free_cache();
    return 0;
}

/* PRNG outputs, half of them with all lanes near 0x1fff, where even the smallest fraction goes up.
 */
static uint64_t next_extreme(uint64_t *s)
{
    uint64_t x = random_next(s);

    return x >> 63 ? x | 0x1ff81ff81ff81ff8u : x;
}

static bool h_nan(uint32_t h)
{
    return (h & 0x7fff) > 0x7c00;
}

static bool h_snan(uint32_t h)
{
    return h_nan(h) && !(h & 0x200);
}

static bool f_nan(uint32_t f)
{
    return (f & 0x7fffffff) > 0x7f800000;
}

static bool f_snan(uint32_t f)
{
    return f_nan(f) && !(f & 0x400000);
}

/* ---- formats into MPFR ---- */

static void set_f16(mpfr_t v, uint32_t h)
{
    int e = h >> 10 & 31, m = h & 0x3ff;

    if (e == 31 && m)
        mpfr_set_nan(v);
    else if (e == 31)
        mpfr_set_inf(v, 1);
    else if (e || m)
        mpfr_set_si_2exp(v, e ? m + 1024 : m, (e ? e : 1) - 25, MPFR_RNDN);
    else
        mpfr_set_zero(v, 1);
    mpfr_setsign(v, v, h & 0x8000, MPFR_RNDN);
}

/* Subnormals are read as zero. */
static void set_f32(mpfr_t v, uint32_t f)
{
    int e = f >> 23 & 255, m = f & 0x7fffff;

    if (e == 255 && m)
        mpfr_set_nan(v);
    else if (e == 255)
        mpfr_set_inf(v, 1);
    else if (e)
        mpfr_set_si_2exp(v, m + 0x800000, e - 150, MPFR_RNDN);
    else
        mpfr_set_zero(v, 1);
    mpfr_setsign(v, v, f >> 31, MPFR_RNDN);
}

/* ---- MPFR into formats ---- */

/* The bits of an f16 that v is exactly, |v| at most 65504. */
static uint32_t f16_bits(mpfr_t v)
{
    uint32_t sign = mpfr_signbit(v) ? 0x8000 : 0;
    mpfr_exp_t e;
    long m;

    if (mpfr_zero_p(v))
        return sign;
    e = mpfr_get_exp(v) - 1;
    mpfr_mul_2si(scaled, v, e < -14 ? 24 : 10 - e, MPFR_RNDN);
    m = mpfr_get_si(scaled, MPFR_RNDZ);
    m = m < 0 ? -m : m;
    return sign | (e < -14 ? (uint32_t)m : (uint32_t)((e + 15) << 10) + (uint32_t)m - 1024);
}

/* What fp_f16_from_f64() must give for the exact v, not NaN. */
static uint32_t want_f16(mpfr_t v, unsigned lane, const struct fp_env *env, unsigned *flags)
{
    uint32_t sign = mpfr_signbit(v) ? 0x8000 : 0;

    if (mpfr_inf_p(v))
        return sign | 0x7c00;
    if (mpfr_zero_p(v))
        return sign;
    if (env->stochastic) {
        mpfr_exp_t e = mpfr_get_exp(v) - 1;
        mpfr_exp_t q = (e < -14 ? -14 : e) - 10;
        uint64_t n;

        mpfr_mul_2si(scaled, v, 13 - q, MPFR_RNDN);
        mpfr_abs(scaled, scaled, MPFR_RNDN);
        n = mpfr_get_uj(scaled, MPFR_RNDZ);
        if (!mpfr_integer_p(scaled))
            n |= 1;
        n += env->random >> 16 * lane & 0x1fff;
        mpfr_set_uj_2exp(r11, n >> 13, q, MPFR_RNDN);
        mpfr_setsign(r11, r11, sign != 0, MPFR_RNDN);
    } else {
        mpfr_rnd_t mode = mpfr_mode[env->rnd];
        int t = mpfr_set(r11, v, mode);

        mpfr_set_emin(-23);
        t = mpfr_check_range(r11, t, mode);
        mpfr_subnormalize(r11, t, mode);
        mpfr_set_emin(wide_emin);
    }
    if (mpfr_cmp_d(r11, 65504) <= 0 && mpfr_cmp_d(r11, -65504) >= 0)
        return f16_bits(r11);
    *flags |= FP_OFLO;
    return env->nanoo ? 0x7e00 : sign | 0x7bff;
}

/* v rounded to f32, nearest even, with the ternary value of v itself; flushed. flags gets OFLO if a
 * finite v overflows. */
static uint32_t want_f32(mpfr_t v, unsigned *flags)
{
    uint32_t sign = mpfr_signbit(v) ? 0x80000000 : 0;
    mpfr_exp_t e;
    long m;
    int t;

    if (mpfr_nan_p(v))
        return 0x7fc00000;
    if (mpfr_inf_p(v))
        return sign | 0x7f800000;
    t = mpfr_set(r24, v, MPFR_RNDN);
    mpfr_set_emin(-148);
    mpfr_set_emax(128);
    t = mpfr_check_range(r24, t, MPFR_RNDN);
    mpfr_subnormalize(r24, t, MPFR_RNDN);
    mpfr_set_emin(wide_emin);
    mpfr_set_emax(wide_emax);
    if (mpfr_inf_p(r24)) {
        *flags |= FP_OFLO;
        return sign | 0x7f800000;
    }
    if (mpfr_zero_p(r24) || (e = mpfr_get_exp(r24) - 1) < -126)
        return sign;
    mpfr_mul_2si(scaled, r24, 23 - e, MPFR_RNDN);
    m = mpfr_get_si(scaled, MPFR_RNDZ);
    m = m < 0 ? -m : m;
    return sign | ((uint32_t)((e + 127) << 23) + (uint32_t)m - 0x800000);
}

/* ---- f16 ---- */

static const uint16_t special16[] = {
    0,      1,      2,      3,      0x1ff,  0x200,  0x3ff,  0x400,  0x401,  0x7ff,
    0x800,  0x0c00, 0x1000, 0x1400, 0x2bff, 0x37ff, 0x3800, 0x3801, 0x3bff, 0x3c00,
    0x3c01, 0x3fff, 0x4000, 0x4bff, 0x4c00, 0x4fff, 0x5bff, 0x5c00, 0x6800, 0x7800,
    0x7bfe, 0x7bff, 0x7c00, 0x7c01, 0x7dff, 0x7e00, 0x7fff,
};

enum { F16_OPS = 4 };

static void check_f16_op(int op, uint16_t a, uint16_t b, unsigned lane, struct fp_env env)
{
    unsigned flags = 0;
    uint32_t want, got;

    env.flags = 0;
    set_f16(va, a);
    set_f16(vb, b);
    if (op == 3) {
        mpfr_abs(va, va, MPFR_RNDN);
        mpfr_abs(vb, vb, MPFR_RNDN);
    }
    switch (op) {
    case 1:
        mpfr_sub(exact, va, vb, MPFR_RNDN);
        got = fp_f16_sub(a, b, lane, &env);
        break;
    case 2:
        mpfr_mul(exact, va, vb, MPFR_RNDN);
        got = fp_f16_mul(a, b, lane, &env);
        break;
    default:
        mpfr_add(exact, va, vb, MPFR_RNDN);
        got = op == 0 ? fp_f16_add(a, b, lane, &env) : fp_f16_absadd(a, b, lane, &env);
    }
    if (mpfr_nan_p(exact)) {
        want = 0x7e00;
        flags = (!h_nan(a) && !h_nan(b)) || h_snan(a) || h_snan(b) ? FP_INV : 0;
    } else {
        want = want_f16(exact, lane, &env, &flags);
    }
    if (got != want || env.flags != flags)
        fail_msg("op %d %04x %04x rnd %u esr %u nanoo %u random %012llx: got %04x/%u want %04x/%u",
                 op, a, b, env.rnd, env.stochastic, env.nanoo, (unsigned long long)env.random, got,
                 env.flags, want, flags);
}

static void test_f16_special(void **state)
{
    uint64_t seed = 1;

    (void)state;
    for (size_t i = 0; i < 2 * EMU_COUNT_OF(special16); i++)
        for (size_t j = 0; j < 2 * EMU_COUNT_OF(special16); j++)
            for (int op = 0; op < F16_OPS; op++)
                for (unsigned mode = 0; mode < 10; mode++) {
                    struct fp_env env = { .rnd = mode % 5 & 3,
                                          .stochastic = mode % 5 == 4,
                                          .nanoo = mode >= 5,
                                          .random = next_extreme(&seed) };

                    check_f16_op(op, special16[i / 2] | (i & 1) << 15,
                                 special16[j / 2] | (j & 1) << 15, mode & 3, env);
                }
}

/* Each triple is two operands and an environment; half of the pairs have near exponents, so that
 * sums cancel. */
static void test_f16_random(void **state)
{
    uint64_t seed = 2;

    (void)state;
    for (int i = 0; i < 1200000; i++) {
        uint64_t x = random_next(&seed);
        uint16_t a = (uint16_t)x, b = (uint16_t)(x >> 16);
        struct fp_env env = { .rnd = x >> 32 & 3,
                              .stochastic = (x >> 34 & 3) == 0,
                              .nanoo = x >> 36 & 1,
                              .random = next_extreme(&seed) };

        if (x >> 37 & 1)
            b = (uint16_t)(a + (b & 0xfff) - 0x800) ^ (x >> 38 & 0x8000);
        check_f16_op(i & 3, a, b, x >> 60 & 3, env);
    }
}

static void check_narrow(uint32_t f, unsigned lane, struct fp_env env)
{
    unsigned flags = f_snan(f) ? FP_INV : 0;
    uint32_t want = 0x7e00, got;

    env.flags = 0;
    set_f32(exact, f);
    if (!mpfr_nan_p(exact))
        want = want_f16(exact, lane, &env, &flags);
    got = fp_f16_from_f32(f, lane, &env);
    if (got != want || env.flags != flags)
        fail_msg("f32 %08x rnd %u esr %u: got %04x/%u want %04x/%u", f, env.rnd, env.stochastic,
                 got, env.flags, want, flags);
}

static void test_f16_from_f32(void **state)
{
    uint64_t seed = 3;

    (void)state;
    for (int i = 0; i < 1000000; i++) {
        uint64_t x = random_next(&seed);
        uint32_t f = (uint32_t)x;
        struct fp_env env = { .rnd = x >> 32 & 3,
                              .stochastic = (x >> 34 & 3) == 0,
                              .nanoo = x >> 36 & 1,
                              .random = next_extreme(&seed) };

        if (x >> 37 & 3) /* most of them where f16 has values: 2^-40 to 2^18 */
            f = (f & 0x807fffff) | (uint32_t)(87 + (x >> 40) % 59) << 23;
        check_narrow(f, x >> 60 & 3, env);
    }
}

/* Exact f64 as operations make them: 53 significant bits around the f16 range. */
static void test_f16_from_f64(void **state)
{
    uint64_t seed = 4;

    (void)state;
    for (int i = 0; i < 500000; i++) {
        uint64_t x = random_next(&seed), y = random_next(&seed);
        struct fp_env env = { .rnd = x & 3,
                              .stochastic = (x >> 2 & 3) == 0,
                              .nanoo = x >> 4 & 1,
                              .random = next_extreme(&seed) };
        uint64_t e = 1023 - 75 + (x >> 5 & 0x7f) % 95;
        double v;
        unsigned flags = 0;
        uint32_t want, got;

        if (x >> 20 & 1) /* few bits: ties and exact values */
            y &= 0xfffff00000000000u | (uint64_t)1 << (x >> 21 & 63);
        v = fp_f64((y & 0x800fffffffffffffu) | e << 52);
        mpfr_set_d(exact, v, MPFR_RNDN);
        want = want_f16(exact, i & 3, &env, &flags);
        got = fp_f16_from_f64(v, i & 3, &env);
        if (got != want || env.flags != flags)
            fail_msg("f64 %a rnd %u esr %u: got %04x want %04x", v, env.rnd, env.stochastic, got,
                     want);
    }
}

/* ---- f32 ---- */

static const uint32_t special32[] = {
    0,          1,          0x00400000, 0x007fffff, 0x00800000, 0x00800001, 0x00ffffff, 0x01000000,
    0x0c000000, 0x1f800000, 0x20000001, 0x33800000, 0x33800001, 0x34000000, 0x3effffff, 0x3f000000,
    0x3f000001, 0x3f7ffffe, 0x3f7fffff, 0x3f800000, 0x3f800001, 0x3fffffff, 0x40000000, 0x40400000,
    0x4b000001, 0x5f3504f3, 0x5f3504f4, 0x73000000, 0x7e800000, 0x7e800001, 0x7effffff, 0x7f000000,
    0x7f7ffffe, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fbfffff, 0x7fc00000, 0x7fffffff,
};

enum { F32_OPS = 9 };

/* Computes exact := the operation, exactly where that is possible, else correctly rounded to WIDE
 * bits (no f32 quotient or root is that near to a middle of two f32 unless it is one). */
static void f32_exact(int op)
{
    switch (op) {
    case 0:
        mpfr_add(exact, va, vb, MPFR_RNDN);
        break;
    case 1:
        mpfr_sub(exact, va, vb, MPFR_RNDN);
        break;
    case 2:
        mpfr_mul(exact, va, vb, MPFR_RNDN);
        break;
    case 3:
        mpfr_fma(exact, va, vb, vc, MPFR_RNDN);
        break;
    case 4:
        mpfr_abs(va, va, MPFR_RNDN);
        mpfr_abs(vb, vb, MPFR_RNDN);
        mpfr_add(exact, va, vb, MPFR_RNDN);
        break;
    case 5:
        mpfr_div(exact, va, vb, MPFR_RNDN);
        break;
    case 6:
        mpfr_sqrt(exact, va, MPFR_RNDN);
        break;
    case 7:
        mpfr_ui_div(exact, 1, va, MPFR_RNDN);
        break;
    default:
        mpfr_rec_sqrt(exact, va, MPFR_RNDN);
        if (mpfr_zero_p(va))
            mpfr_setsign(exact, exact, mpfr_signbit(va), MPFR_RNDN);
    }
}

static uint32_t f32_got(int op, uint32_t a, uint32_t b, uint32_t c, struct fp_env *env)
{
    switch (op) {
    case 0:
        return fp_f32_add(a, b, env);
    case 1:
        return fp_f32_sub(a, b, env);
    case 2:
        return fp_f32_mul(a, b, env);
    case 3:
        return fp_f32_fma(a, b, c, env);
    case 4:
        return fp_f32_absadd(a, b, env);
    case 5:
        return fp_f32_div(a, b, env);
    case 6:
        return fp_f32_sqrt(a, env);
    case 7:
        return fp_f32_oox(a, env);
    default:
        return fp_f32_oorx(a, env);
    }
}

static void check_f32_op(int op, uint32_t a, uint32_t b, uint32_t c)
{
    struct fp_env env = { .rnd = a & 3, .stochastic = 1, .random = ~0ull };
    bool two = op != 6 && op != 7 && op != 8, three = op == 3;
    bool nan = f_nan(a) || (two && f_nan(b)) || (three && f_nan(c));
    bool signalling = f_snan(a) || (two && f_snan(b)) || (three && f_snan(c));
    unsigned flags = 0;
    uint32_t want, got;

    set_f32(va, a);
    set_f32(vb, b);
    set_f32(vc, c);
    mpfr_clear_divby0();
    f32_exact(op);
    want = want_f32(exact, &flags);
    if (mpfr_divby0_p())
        flags = FP_DIV0;
    if (signalling || (!nan && mpfr_nan_p(exact)))
        flags = FP_INV;
    got = f32_got(op, a, b, c, &env);
    if (got != want || env.flags != flags)
        fail_msg("op %d %08x %08x %08x: got %08x/%u want %08x/%u", op, a, b, c, got, env.flags,
                 want, flags);
}

static void test_f32_special(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * EMU_COUNT_OF(special32); i++)
        for (size_t j = 0; j < 2 * EMU_COUNT_OF(special32); j++) {
            uint32_t a = special32[i / 2] | (uint32_t)(i & 1) << 31;
            uint32_t b = special32[j / 2] | (uint32_t)(j & 1) << 31;

            for (int op = 0; op < F32_OPS; op++)
                if (op != 3)
                    check_f32_op(op, a, b, 0);
            for (size_t k = 0; k < 2 * EMU_COUNT_OF(special32); k++)
                check_f32_op(3, a, b, special32[k / 2] | (uint32_t)(k & 1) << 31);
        }
}

static void test_f32_random(void **state)
{
    uint64_t seed = 5;

    (void)state;
    for (int i = 0; i < 1500000; i++) {
        uint64_t x = random_next(&seed), y = random_next(&seed);
        uint32_t a = (uint32_t)x, b = (uint32_t)(x >> 32), c = (uint32_t)y;
        unsigned shape = y >> 32 & 7;

        if (shape == 0) { /* near in exponent: sums cancel */
            b = (a & 0x7f800000) + ((b & 0x01ffffff) - 0x01000000) + (b & 0x80000000);
        } else if (shape == 1) { /* products near 2^-126, quotients near 2^-126 and 2^128 */
            b = (b & 0x807fffff) | ((uint32_t)(127 + 1 - (a >> 23 & 255) + (y >> 40 & 3)) & 255)
                                       << 23;
        } else if (shape == 2) { /* c near the product */
            c = (c & 0x80000fff) | (fp_bits(fp_float(a) * fp_float(b)) & 0x7ffff000);
        } else if (shape == 3) { /* few bits: ties */
            a &= 0xfff80000;
            b &= 0xfff00000;
            c &= 0xffff0000;
        }
        check_f32_op(i % F32_OPS, a, b, c);
    }
}

static void test_f32_integers(void **state)
{
    uint64_t seed = 6;

    (void)state;
    for (int i = 0; i < 400000; i++) {
        uint64_t x = random_next(&seed);
        uint32_t f = (uint32_t)x, u = (uint32_t)(x >> 32) >> (i % 32), want;
        struct fp_env env = { .rnd = x >> 40 & 3 };
        mpfr_rnd_t mode = mpfr_mode[env.rnd];
        unsigned flags = 0, none = 0;
        int fits;

        if (i & 1) /* 2^-2 to 2^33 */
            f = (f & 0x807fffff) | (uint32_t)(125 + (x >> 50) % 36) << 23;
        if (f_nan(f))
            continue;
        set_f32(va, f);
        mpfr_rint(exact, va, mode);
        assert_int_equal(fp_f32_int(f, env.rnd, &env), want_f32(exact, &none));
        assert_int_equal(env.flags, 0);

        fits = mpfr_fits_sint_p(exact, MPFR_RNDN);
        want = fits                  ? (uint32_t)mpfr_get_si(exact, MPFR_RNDN)
               : mpfr_signbit(exact) ? 1u << 31
                                     : 0x7fffffff;
        flags = fits ? 0 : FP_INV;
        assert_int_equal(fp_f32_to_i32(f, &env), want);
        assert_int_equal(env.flags, flags);

        env.flags = 0;
        fits = mpfr_zero_p(exact) || mpfr_fits_uint_p(exact, MPFR_RNDN);
        want = fits                  ? (uint32_t)mpfr_get_ui(exact, MPFR_RNDN)
               : mpfr_signbit(exact) ? 0
                                     : 0xffffffff;
        flags = fits ? 0 : FP_INV;
        assert_int_equal(fp_f32_to_u32(f, &env), want);
        assert_int_equal(env.flags, flags);

        mpfr_set_ui(exact, u, MPFR_RNDN);
        mpfr_set(r24, exact, mode);
        mpfr_set(exact, r24, MPFR_RNDN);
        assert_int_equal(fp_f32_from_u32(u, &env), want_f32(exact, &none));
        mpfr_set_si(exact, (int32_t)u, MPFR_RNDN);
        mpfr_set(r24, exact, mode);
        mpfr_set(exact, r24, MPFR_RNDN);
        assert_int_equal(fp_f32_from_i32(u, &env), want_f32(exact, &none));
        assert_int_equal(none, 0);
    }
}

/* ---- exact sums of products ---- */

static void check_dot(uint32_t acc, const uint16_t *x, const uint16_t *w, int n)
{
    struct fp_env env = { .rnd = acc & 3 };
    bool nan = f_nan(acc), signalling = f_snan(acc), minus = acc >> 31;
    unsigned flags = 0;
    uint32_t want, got;

    set_f32(exact, acc);
    for (int i = 0; i < n; i++) {
        nan |= h_nan(x[i]) || h_nan(w[i]);
        signalling |= h_snan(x[i]) || h_snan(w[i]);
        minus &= (x[i] ^ w[i]) >> 15;
        set_f16(va, x[i]);
        set_f16(vb, w[i]);
        if (mpfr_mul(term, va, vb, MPFR_RNDN) || mpfr_add(exact, exact, term, MPFR_RNDN))
            fail_msg("%d bits are too few", WIDE);
    }
    if (mpfr_zero_p(exact))
        mpfr_set_zero(exact, minus ? -1 : 1);
    want = want_f32(exact, &flags);
    if (signalling || (!nan && mpfr_nan_p(exact)))
        flags = FP_INV;
    got = fp_f32_add_exact_f16_products(acc, x, w, n, &env);
    if (got != want || env.flags != flags)
        fail_msg(
            "acc %08x n %d x %04x %04x %04x %04x w %04x %04x %04x %04x: got %08x/%u want %08x/%u",
            acc, n, x[0], x[1], x[2], x[3], w[0], w[1], w[2], w[3], got, env.flags, want, flags);
}

/* An accumulator that makes the sum hard: near its negative, or such that the sum is at or next to
 * a middle of two f32. */
static uint32_t hard_acc(uint64_t x, const uint16_t *xs, const uint16_t *ws, int n)
{
    unsigned none = 0;
    uint32_t s;

    mpfr_set_zero(exact, 1);
    for (int i = 0; i < n; i++) {
        set_f16(va, xs[i]);
        set_f16(vb, ws[i]);
        mpfr_fma(exact, va, vb, exact, MPFR_RNDN);
    }
    s = want_f32(exact, &none);
    if (x & 1) /* cancels, all but a few last places */
        return (s ^ 0x80000000) + (x >> 8 & 7) - 3;
    if (x & 4) { /* 22..28 binades below: decides at the last place of the sum, or a tie of the
                    products */
        s = (s & 0x7f800000) - (uint32_t)(22 + (x >> 8 & 7) % 7) * 0x00800000 + (x >> 12 & 1);
        return s >> 31 ? (uint32_t)x : s | (uint32_t)(x >> 40 & 1) << 31;
    }
    /* 1, 0 or few low bits; 22..28 binades above the sum */
    s = (s & 0x7f800000) + (uint32_t)(22 + (x >> 8 & 7) % 7) * 0x00800000 +
        (x & 2 ? (uint32_t)(x >> 12 & 1) : (uint32_t)(x >> 12 & 0x7fffff));
    return (s < 0x7f800000 ? s : 0x3f800000) | (uint32_t)(x >> 40 & 1) << 31;
}

static void test_dot_random(void **state)
{
    uint64_t seed = 7;

    (void)state;
    for (int i = 0; i < 1000000; i++) {
        uint64_t x = random_next(&seed), y = random_next(&seed), z = random_next(&seed);
        uint32_t acc = (uint32_t)x;
        uint16_t xs[4], ws[4];
        int n = i & 1 ? 4 : (int)(x >> 33) % 5;

        for (int k = 0; k < 4; k++) {
            xs[k] = (uint16_t)(y >> 16 * k);
            ws[k] = (uint16_t)(z >> 16 * k);
            if (x >> 60) { /* mostly finite */
                xs[k] &= (xs[k] & 0x7c00) == 0x7c00 ? 0xbfff : 0xffff;
                ws[k] &= (ws[k] & 0x7c00) == 0x7c00 ? 0xbfff : 0xffff;
            }
            if ((x >> 36 & 7) == 1) /* few bits: ties */
                xs[k] &= 0xff00, ws[k] &= 0xfe00;
            if ((x >> 36 & 7) == 2) /* small and large mixed */
                ws[k] = (ws[k] & 0x83ff) | (k & 1 ? 0x0400 : 0x7800);
        }
        if ((x >> 36 & 7) == 3 && n == 4) { /* products cancel but for one */
            xs[1] = xs[0];
            ws[1] = ws[0] ^ 0x8000;
            xs[2] = xs[3] ^ (x >> 50 & 1);
            ws[2] = ws[3] ^ 0x8000;
        }
        if ((x >> 40 & 3) == 0) /* where products are */
            acc = (acc & 0x807fffff) | (uint32_t)(127 - 60 + (x >> 42 & 127) % 100) << 23;
        else if ((x >> 40 & 3) != 1)
            acc = hard_acc(x >> 10, xs, ws, n);
        check_dot(acc, xs, ws, n);
    }
}

/* All special accumulators with all pairs of special products. */
static void test_dot_special(void **state)
{
    static const uint16_t pick[] = { 0,      0x8000, 1,      0x8001, 0x3c00, 0xbc00,
                                     0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x7c01 };

    (void)state;
    for (size_t i = 0; i < 2 * EMU_COUNT_OF(special32); i++)
        for (size_t j = 0; j < 12 * 12; j++)
            for (size_t k = 0; k < 12; k++) {
                const uint16_t x[4] = { pick[j / 12], pick[k], 0, 0 };
                const uint16_t w[4] = { pick[j % 12], 0x3c00, 0, 0 };

                check_dot(special32[i / 2] | (uint32_t)(i & 1) << 31, x, w, 2);
            }
}

static void test_sum_f16(void **state)
{
    uint64_t seed = 8;

    (void)state;
    for (int i = 0; i < 200000; i++) {
        uint64_t x = random_next(&seed);
        uint16_t a = (uint16_t)x, b = (uint16_t)(x >> 16);
        struct fp_env env = { 0 };
        unsigned flags = 0;
        uint32_t want;

        set_f16(va, a);
        set_f16(vb, b);
        mpfr_add(exact, va, vb, MPFR_RNDN);
        want = want_f32(exact, &flags);
        if (h_snan(a) || h_snan(b) || (!h_nan(a) && !h_nan(b) && mpfr_nan_p(exact)))
            flags = FP_INV;
        assert_int_equal(fp_f32_sum_exact_f16(a, b, &env), want);
        assert_int_equal(env.flags, flags);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f16_special),  cmocka_unit_test(test_f16_random),
        cmocka_unit_test(test_f16_from_f32), cmocka_unit_test(test_f16_from_f64),
        cmocka_unit_test(test_f32_special),  cmocka_unit_test(test_f32_random),
        cmocka_unit_test(test_f32_integers), cmocka_unit_test(test_dot_random),
        cmocka_unit_test(test_dot_special),  cmocka_unit_test(test_sum_f16),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
