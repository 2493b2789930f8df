/* Tests of fp_math.c against MPFR: f16 on all operands in all modes, f32 on samples and edges.
 *
 * SUPERSTEP_LONG=1 (or a list of function names, "exp,tanh") adds all 2^32 f32 operands, one to
 * five minutes per function and core. There a long double within 2^-54 stands for MPFR unless a
 * rounding boundary is that near, and a block whose ends agree is known to be constant, because the
 * functions are monotone.
 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <mpfr.h>

#include "emu/base/random.h"
#include "emu/base/fp_math.h"
#include "emu/base/fp_math_core.h"

/* Every function writes the true value to r, rounded toward zero by a faithful step, and returns
 * nonzero if that is inexact. */
typedef int truth_fn(mpfr_t r, const mpfr_t x);

struct math_function {
    const char *name;
    uint32_t (*f32)(uint32_t x, struct fp_env *env);
    uint16_t (*f16)(uint16_t x, unsigned lane, struct fp_env *env);
    double (*fast)(double x);
    struct dd (*slow)(double x);
    truth_fn *truth;
    long double (*host)(long double x);
    bool is_log;
    float limit; /* of |x|, for fast and slow */
};

static int truth_exp(mpfr_t r, const mpfr_t x)
{
    return mpfr_exp(r, x, MPFR_RNDZ);
}

static int truth_exp2(mpfr_t r, const mpfr_t x)
{
    return mpfr_exp2(r, x, MPFR_RNDZ);
}

static int truth_ln(mpfr_t r, const mpfr_t x)
{
    return mpfr_log(r, x, MPFR_RNDZ);
}

static int truth_log2(mpfr_t r, const mpfr_t x)
{
    return mpfr_log2(r, x, MPFR_RNDZ);
}

static int truth_tanh(mpfr_t r, const mpfr_t x)
{
    return mpfr_tanh(r, x, MPFR_RNDZ);
}

/* All steps err downwards, so 1 comes out only of infinity. */
static int truth_sigm(mpfr_t r, const mpfr_t x)
{
    int inexact;

    mpfr_neg(r, x, MPFR_RNDU);
    inexact = mpfr_exp(r, r, MPFR_RNDU);
    inexact |= mpfr_add_ui(r, r, 1, MPFR_RNDU);
    return inexact | mpfr_ui_div(r, 1, r, MPFR_RNDZ);
}

static long double host_sigm(long double x)
{
    return 1 / (1 + expl(-x));
}

static const struct math_function functions[] = {
    { "exp", fp_f32_exp, fp_f16_exp, fp_exp_fast, fp_exp_dd, truth_exp, expl, false, 150 },
    { "exp2", fp_f32_exp2, fp_f16_exp2, fp_exp2_fast, fp_exp2_dd, truth_exp2, exp2l, false, 150 },
    { "ln", fp_f32_ln, fp_f16_ln, fp_ln_fast, fp_ln_dd, truth_ln, logl, true, FLT_MAX },
    { "log2", fp_f32_log2, fp_f16_log2, fp_log2_fast, fp_log2_dd, truth_log2, log2l, true,
      FLT_MAX },
    { "tanh", fp_f32_tanh, fp_f16_tanh, fp_tanh_fast, fp_tanh_dd, truth_tanh, tanhl, false, 20 },
    { "sigm", fp_f32_sigm, fp_f16_sigm, fp_sigm_fast, fp_sigm_dd, truth_sigm, host_sigm, false,
      150 },
};

#define FUNCTION_COUNT (sizeof(functions) / sizeof(functions[0]))

/* ---- expected values ---- */

enum { TRUTH_BITS = 256 };

/* Scratch numbers of one thread. */
struct math_oracle {
    mpfr_t x, truth, rounded;
    uint64_t mpfr_calls;
};

static void oracle_init(struct math_oracle *o)
{
    mpfr_inits2(TRUTH_BITS, o->x, o->truth, (mpfr_ptr)NULL);
    mpfr_init2(o->rounded, 24);
    o->mpfr_calls = 0;
}

static void oracle_clear(struct math_oracle *o)
{
    mpfr_clears(o->x, o->truth, o->rounded, (mpfr_ptr)NULL);
    mpfr_free_cache();
}

struct expected {
    uint32_t bits;
    unsigned flags;
};

/* The two results that are infinite or NaN by definition rather than by rounding. */
static bool expected_singular(const struct math_function *f, bool nan, bool snan, bool zero,
                              bool negative, struct expected *e)
{
    if (nan || (f->is_log && negative && !zero)) {
        *e = (struct expected){ FP_F32_NAN, nan && !snan ? 0 : FP_INV };
        return true;
    }
    if (f->is_log && zero) {
        *e = (struct expected){ FP_F32_SIGN | FP_F32_INF, FP_DIV0 };
        return true;
    }
    return false;
}

/* Rounds by MPFR with the exponent range of f32, subnormals included, and then flushes those. */
static struct expected expected_f32(const struct math_function *f, uint32_t x,
                                    struct math_oracle *o)
{
    mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
    struct expected e = { 0, 0 };
    int ternary;

    x = fp_f32_flush(x) | (fp_f32_is_nan(x) ? x : 0);
    if (expected_singular(f, fp_f32_is_nan(x), fp_f32_is_nan(x) && !(x & 0x400000), !(x << 1),
                          x >> 31, &e))
        return e;
    o->mpfr_calls++;
    mpfr_set_flt(o->x, fp_float(x), MPFR_RNDN);
    f->truth(o->truth, o->x);
    ternary = mpfr_set(o->rounded, o->truth, MPFR_RNDN);
    mpfr_set_emin(-148);
    mpfr_set_emax(128);
    ternary = mpfr_check_range(o->rounded, ternary, MPFR_RNDN);
    mpfr_subnormalize(o->rounded, ternary, MPFR_RNDN);
    e.bits = fp_f32_flush(fp_bits(mpfr_get_flt(o->rounded, MPFR_RNDN)));
    mpfr_set_emin(emin);
    mpfr_set_emax(emax);
    if (fp_f32_is_inf(e.bits) && !fp_f32_is_inf(x))
        e.flags = FP_OFLO;
    return e;
}

/* As expected_f32, by long double where that is certain to agree: glibc states errors of at most a
 * few units of 2^-64, and 1024 of them are allowed here. */
static struct expected expected_f32_quick(const struct math_function *f, uint32_t x,
                                          struct math_oracle *o)
{
    uint32_t flushed = fp_f32_flush(x), low, high;
    long double y;

    if (LDBL_MANT_DIG < 64 || fp_f32_is_nan(x) || !(flushed << 1) || (f->is_log && x >> 31))
        return expected_f32(f, x, o);
    y = f->host(fp_float(flushed));
    low = fp_bits((float)(y * (1 - 0x1p-54L)));
    high = fp_bits((float)(y * (1 + 0x1p-54L)));
    if (low != high)
        return expected_f32(f, x, o);
    return (struct expected){ fp_f32_flush(low),
                              fp_f32_is_inf(low) && !fp_f32_is_inf(x) ? FP_OFLO : 0 };
}

/* What every rounding to f16 needs of a true value. */
struct f16_truth {
    bool singular, infinite, negative;
    struct expected result; /* if singular */
    int exponent;           /* of the result's binade, at least -14 */
    uint64_t units;         /* magnitude in 2^-13 of the last place, cut */
    bool sticky;            /* something was cut */
};

static struct f16_truth f16_truth_of(const struct math_function *f, uint16_t x,
                                     struct math_oracle *o)
{
    struct f16_truth t = { 0 };
    int inexact;

    t.singular = expected_singular(f, fp_f16_is_nan(x), fp_f16_is_nan(x) && !(x & 0x200),
                                   !(x & 0x7fff), x >> 15, &t.result);
    if (t.singular)
        return t;
    o->mpfr_calls++;
    mpfr_set_d(o->x, fp_f16_value(x), MPFR_RNDN);
    inexact = f->truth(o->truth, o->x);
    t.negative = mpfr_signbit(o->truth);
    t.infinite = mpfr_inf_p(o->truth);
    t.exponent = -14;
    if (t.infinite || mpfr_zero_p(o->truth))
        return t;
    if (mpfr_get_exp(o->truth) - 1 > t.exponent)
        t.exponent = mpfr_get_exp(o->truth) > 20 ? 20 : (int)mpfr_get_exp(o->truth) - 1;
    mpfr_mul_2si(o->truth, o->truth, 10 + 13 - t.exponent, MPFR_RNDZ);
    mpfr_abs(o->truth, o->truth, MPFR_RNDZ);
    t.sticky = inexact || !mpfr_integer_p(o->truth);
    t.units = mpfr_get_exp(o->truth) > 60 ? (uint64_t)1 << 60 : mpfr_get_ui(o->truth, MPFR_RNDZ);
    return t;
}

static struct expected expected_f16(const struct f16_truth *t, unsigned lane,
                                    const struct fp_env *env)
{
    uint32_t sign = t->negative ? FP_F16_SIGN : 0;
    uint64_t keep = t->units >> 13, rest = t->units & 0x1fff, bits;

    if (t->singular)
        return (struct expected){ t->result.bits == FP_F32_NAN ? FP_F16_NAN
                                                               : FP_F16_SIGN | FP_F16_INF,
                                  t->result.flags };
    if (t->infinite)
        return (struct expected){ sign | FP_F16_INF, 0 };
    if (env->stochastic)
        keep = ((t->units | t->sticky) + (env->random >> 16 * lane & 0x1fff)) >> 13;
    else if (env->rnd == 0)
        keep += rest > 0x1000 || (rest == 0x1000 && (t->sticky || (keep & 1)));
    else if (env->rnd == (t->negative ? 2 : 1))
        keep += rest || t->sticky;
    bits = (uint64_t)(t->exponent + 14) * 1024 + keep;
    if (bits < FP_F16_INF)
        return (struct expected){ sign | (uint32_t)bits, 0 };
    return (struct expected){ env->nanoo ? FP_F16_NAN : sign | FP_F16_MAX, FP_OFLO };
}

/* ---- tests ---- */

static void test_special_operands(void **state)
{
    static const struct {
        uint32_t (*f)(uint32_t x, struct fp_env *env);
        uint32_t x, want;
        unsigned flags;
    } edge[] = {
        { fp_f32_exp, 0x42b17217, .want = 0x7f7fff84 }, /* the last finite result */
        { fp_f32_exp, 0x42b17218, .want = FP_F32_INF, .flags = FP_OFLO }, /* the first overflow */
        { fp_f32_exp, 0xc2aeac4f, .want = 0x00800026 }, /* the last that is not flushed */
        { fp_f32_exp, 0xc2aeac50, .want = 0 },          /* 2^-126 less 2^-130 or so */
        { fp_f32_exp, 0xc2af0000, .want = 0 },          /* -87.5 */
        { fp_f32_exp, 0x00000001, .want = FP_F32_ONE }, /* subnormal: 0 */
        { fp_f32_exp, 0x7f800001, .want = FP_F32_NAN, .flags = FP_INV },   /* signalling */
        { fp_f32_exp, 0xffc00001, .want = FP_F32_NAN },                    /* quiet */
        { fp_f32_exp, FP_F32_INF, .want = FP_F32_INF },                    /* exact: no overflow */
        { fp_f32_exp, 0xff800000, .want = 0 },                             /* -inf */
        { fp_f32_exp2, 0x43000000, .want = FP_F32_INF, .flags = FP_OFLO }, /* 128 */
        { fp_f32_exp2, 0x42ff0000, .want = 0x7f3504f3 },                   /* 127.5 */
        { fp_f32_exp2, 0xc2fc0000, .want = 0x00800000 },                   /* -126 */
        { fp_f32_exp2, 0xc2fc0001, .want = 0 }, /* 2^-126 less 2^-145 or so */
        { fp_f32_exp2, 0xc3000000, .want = 0 }, /* -128: exact, but subnormal */
        { fp_f32_ln, 0, .want = 0xff800000, .flags = FP_DIV0 },
        { fp_f32_ln, 0x80000000, .want = 0xff800000, .flags = FP_DIV0 },
        { fp_f32_ln, 0x807fffff, .want = 0xff800000, .flags = FP_DIV0 }, /* subnormal: -0 */
        { fp_f32_ln, 0x80800000, .want = FP_F32_NAN, .flags = FP_INV },
        { fp_f32_ln, 0xff800000, .want = FP_F32_NAN, .flags = FP_INV },
        { fp_f32_ln, FP_F32_INF, .want = FP_F32_INF },
        { fp_f32_ln, FP_F32_ONE, .want = 0 },
        { fp_f32_log2, 0x00800000, .want = 0xc2fc0000 }, /* 2^-126 */
        { fp_f32_log2, FP_F32_ONE, .want = 0 },
        { fp_f32_tanh, 0x80000000, .want = 0x80000000 },
        { fp_f32_tanh, 0x80000001, .want = 0x80000000 },
        { fp_f32_tanh, 0x80800000, .want = 0x80800000 }, /* rounds up to the least normal */
        { fp_f32_tanh, 0xff800000, .want = 0xbf800000 },
        { fp_f32_sigm, 0xff800000, .want = 0 },
        { fp_f32_sigm, FP_F32_INF, .want = FP_F32_ONE },
        { fp_f32_sigm, 0x80000000, .want = 0x3f000000 },
        { fp_f32_sigm, 0x34000000, .want = 0x3f000000 }, /* 2^-23: just below a midpoint */
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(edge); i++) {
        struct fp_env env = { .rnd = FP_RND_UP, .stochastic = 1, .random = ~(uint64_t)0 };
        uint32_t got = edge[i].f(edge[i].x, &env);

        if (got != edge[i].want || env.flags != edge[i].flags)
            fail_msg("row %zu, x %08x: %08x flags %u, expected %08x flags %u", i, edge[i].x, got,
                     env.flags, edge[i].want, edge[i].flags);
    }
}

static void f16_compare(const struct math_function *f, uint16_t x, const struct f16_truth *t,
                        unsigned lane, const struct fp_env *mode)
{
    struct expected want = expected_f16(t, lane, mode);
    struct fp_env env = *mode;
    uint16_t got = f->f16(x, lane, &env);

    if (got != want.bits || env.flags != want.flags)
        fail_msg("f16 %s(%04x) rnd %u stochastic %u random %llx lane %u: %04x flags %u, "
                 "expected %04x flags %u",
                 f->name, x, env.rnd, env.stochastic, (unsigned long long)env.random, lane, got,
                 env.flags, want.bits, want.flags);
}

static void test_f16_all(void **state)
{
    static const uint64_t edge_random[] = { 0, 0x1fff1fff1fff1fff, 0x0001100010010fff };
    uint64_t seed = 0x5eed;
    struct math_oracle o;

    (void)state;
    oracle_init(&o);
    for (size_t i = 0; i < FUNCTION_COUNT; i++) {
        for (uint32_t x = 0; x < 0x10000; x++) {
            struct f16_truth t = f16_truth_of(&functions[i], (uint16_t)x, &o);

            for (uint8_t rnd = 0; rnd < 8; rnd++) {
                struct fp_env mode = { .rnd = rnd & 3, .nanoo = rnd >> 2 };

                f16_compare(&functions[i], (uint16_t)x, &t, 0, &mode);
            }
            for (unsigned k = 0; k < 3 + EMU_COUNT_OF(edge_random); k++) {
                struct fp_env mode = { .stochastic = 1, .rnd = k & 3, .nanoo = k & 1 };

                mode.random = k < EMU_COUNT_OF(edge_random) ? edge_random[k] : random_next(&seed);
                f16_compare(&functions[i], (uint16_t)x, &t, k & 3, &mode);
            }
        }
    }
    oracle_clear(&o);
}

/* Operand n of a mixture: any pattern, magnitudes where the functions bend, near 1, few bits set,
 * and small multiples of 2^-24, where sigm comes within 2^-72 of midpoints. */
static uint32_t sample_operand(uint32_t n, uint64_t *seed)
{
    uint64_t r = random_next(seed);
    uint32_t sign = (uint32_t)(r >> 63) << 31, m = (uint32_t)(r >> 32) & 0x7fffff;

    switch (n % 6) {
    case 0:
        return (uint32_t)(r >> 32);
    case 1:
    case 2:
        return sign | (uint32_t)(127 - 27 + r % 35) << 23 | m;
    case 3:
        return (FP_F32_ONE + (uint32_t)(r >> 16) % 0x20000 - 0x10000);
    case 4:
        return sign | (uint32_t)(r % 255) << 23 | (m & (m << 7) & (m << 11)) | (m & r & 1);
    default:
        return fp_bits((float)(r % 0x1000) * 0x1p-24f) | sign;
    }
}

static void f32_compare(const struct math_function *f, uint32_t x, struct expected want,
                        uint8_t rnd)
{
    struct fp_env env = { .rnd = rnd & 3, .stochastic = rnd >> 2 & 1, .random = 0x1fff };
    uint32_t got = f->f32(x, &env);

    if (got != want.bits || env.flags != want.flags)
        fail_msg("f32 %s(%08x): %08x flags %u, expected %08x flags %u", f->name, x, got, env.flags,
                 want.bits, want.flags);
}

static void test_f32_samples(void **state)
{
    /* Where a function's result reaches a limit: overflow, flushing, 1, 0.5, 1 - 2^-24. */
    static const uint32_t corner[] = { 0,          0x00800000, 0x33000000, 0x33800000, 0x34000000,
                                       0x3f800000, 0x41102cb4, 0x41100000, 0x418aa123, 0x42aeac50,
                                       0x42b17218, 0x42fc0000, 0x43000000, 0x43150000, 0x43160000,
                                       0x7f7fffff, 0x7f800000, 0x7fc00000 };
    uint64_t seed = 0xf32;
    struct math_oracle o;

    (void)state;
    oracle_init(&o);
    for (size_t i = 0; i < FUNCTION_COUNT; i++) {
        const struct math_function *f = &functions[i];

        for (size_t c = 0; c < 2 * EMU_COUNT_OF(corner); c++)
            for (uint32_t d = 0; d < 256; d++) {
                uint32_t x = (corner[c / 2] + d - 128) ^ (uint32_t)(c & 1) << 31;

                f32_compare(f, x, expected_f32(f, x, &o), (uint8_t)d);
            }
        for (uint32_t n = 0; n < 300000; n++) {
            uint32_t x = sample_operand(n, &seed);
            struct expected want = expected_f32_quick(f, x, &o);

            f32_compare(f, x, want, (uint8_t)n);
            if (n % 13 == 0) {
                struct expected sure = expected_f32(f, x, &o);

                if (sure.bits != want.bits || sure.flags != want.flags)
                    fail_msg("the quick oracle for %s(%08x) is wrong", f->name, x);
            }
        }
    }
    oracle_clear(&o);
}

/* log2 of the relative error of an approximation hi + lo. */
static double error_bits(const mpfr_t truth, double hi, double lo)
{
    mpfr_t d;
    double bits;

    mpfr_init2(d, TRUTH_BITS);
    mpfr_sub_d(d, truth, hi, MPFR_RNDN);
    mpfr_sub_d(d, d, lo, MPFR_RNDN);
    mpfr_div(d, d, truth, MPFR_RNDN);
    bits = mpfr_zero_p(d) ? -1000 : log2(fabs(mpfr_get_d(d, MPFR_RNDN)));
    mpfr_clear(d);
    return bits;
}

/* The bounds on which the rounding test rests, and the slow form on its own, which the tests of
 * results hardly ever reach. */
static void test_core_errors(void **state)
{
    uint64_t seed = 0xdd;
    struct math_oracle o;

    (void)state;
    oracle_init(&o);
    for (size_t i = 0; i < FUNCTION_COUNT; i++) {
        const struct math_function *f = &functions[i];

        for (uint32_t n = 0; n < 20000; n++) {
            uint32_t bits = sample_operand(n, &seed) & (f->is_log ? ~FP_F32_SIGN : ~0u);
            float x = fp_float(bits);
            struct dd slow;
            uint32_t rounded;

            if (!fp_f32_is_normal(bits) || fabsf(x) > f->limit || (f->is_log && x == 1))
                continue;
            mpfr_set_flt(o.x, x, MPFR_RNDN);
            f->truth(o.truth, o.x);
            slow = f->slow(x);
            if (error_bits(o.truth, f->fast(x), 0) > -50.4)
                fail_msg("%s_fast(%a) errs by 2^%f", f->name, x,
                         error_bits(o.truth, f->fast(x), 0));
            if (error_bits(o.truth, slow.hi, slow.lo) > -100)
                fail_msg("%s_dd(%a) errs by 2^%f", f->name, x,
                         error_bits(o.truth, slow.hi, slow.lo));
            rounded = fp_f32_flush(fp_bits((float)dd_round_odd(slow)));
            assert_int_equal(rounded, expected_f32(f, bits, &o).bits);
        }
    }
    oracle_clear(&o);
}

static void test_round_odd(void **state)
{
    static const struct {
        double hi, lo, want;
    } row[] = {
        { 1, 0, 1 },
        { 1, 0x1p-80, 1 + 0x1p-52 },
        { 1, -0x1p-80, 1 - 0x1p-53 },
        { -1, -0x1p-80, -1 - 0x1p-52 },
        { -1, 0x1p-80, -1 + 0x1p-53 },
        { 1 + 0x1p-52, 0x1p-80, 1 + 0x1p-52 },
        { 1 + 0x1p-52, -0x1p-80, 1 + 0x1p-52 },
        { 1 + 0x1p-51, -0x1p-80, 1 + 0x1p-52 },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(row); i++)
        assert_true(dd_round_odd((struct dd){ row[i].hi, row[i].lo }) == row[i].want);
}

/* ---- all operands ---- */

enum { BLOCK = 1 << 16 }; /* never crosses a sign, the subnormals or the infinities */

/* Counts wrong results in the block from first on; *bad is one of them. */
static uint64_t block_sweep(const struct math_function *f, uint32_t first, struct math_oracle *o,
                            uint32_t *bad)
{
    struct expected head = expected_f32(f, first, o), tail = expected_f32(f, first + BLOCK - 1, o);
    bool nans = (first & FP_F32_INF) == FP_F32_INF;
    bool constant = !nans && head.bits == tail.bits && head.flags == tail.flags;
    uint64_t wrong = 0;

    for (uint32_t x = first; x - first < BLOCK; x++) {
        struct expected want = constant ? head : expected_f32_quick(f, x, o);
        struct fp_env env = { 0 };
        uint32_t got = f->f32(x, &env);

        if (EMU_UNLIKELY(got != want.bits || env.flags != want.flags)) {
            wrong++;
            *bad = x;
        }
    }
    return wrong;
}

static bool list_has(const char *list, const char *name)
{
    for (size_t n; *list; list += n + (list[n] == ',')) {
        n = strcspn(list, ",");
        if (n == strlen(name) && !strncmp(list, name, n))
            return true;
    }
    return false;
}

static void test_f32_all(void **state)
{
    const char *wanted = getenv("SUPERSTEP_LONG");

    (void)state;
    for (size_t i = 0; i < FUNCTION_COUNT; i++) {
        const struct math_function *f = &functions[i];
        uint64_t wrong = 0, calls = 0;
        uint32_t bad = 0;

        if (strcmp(wanted, "1") && !list_has(wanted, f->name))
            continue;
#pragma omp parallel reduction(+ : wrong, calls)
        {
            struct math_oracle o;
            uint32_t bad_here = 0;

            oracle_init(&o);
#pragma omp for schedule(dynamic, 16)
            for (uint32_t b = 0; b < 0x10000; b++)
                wrong += block_sweep(f, b * BLOCK, &o, &bad_here);
            calls += o.mpfr_calls;
            oracle_clear(&o);
            if (bad_here) {
#pragma omp critical
                bad = bad_here;
            }
        }
        print_message("f32 %s: 4294967296 operands, %llu asked of MPFR, %llu wrong\n", f->name,
                      (unsigned long long)calls, (unsigned long long)wrong);
        if (wrong)
            fail_msg("%s(%08x) is one of them", f->name, bad);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_special_operands), cmocka_unit_test(test_round_odd),
        cmocka_unit_test(test_core_errors),      cmocka_unit_test(test_f16_all),
        cmocka_unit_test(test_f32_samples),
    };
    const struct CMUnitTest long_tests[] = { cmocka_unit_test(test_f32_all) };
    int failed;

    cmocka_set_message_output(CM_OUTPUT_TAP);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (getenv("SUPERSTEP_LONG"))
        failed += cmocka_run_group_tests(long_tests, NULL, NULL);
    return failed;
}
