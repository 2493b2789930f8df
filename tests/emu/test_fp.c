/* test_fp.c - f32 and f16 by edges as tables: arithmetic, order, class, integers, exact sums of
 * products; 1/sqrt over all significands in integers. Rounding against MPFR is in test_fp_mpfr.c,
 * f16 rounding in test_f16.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "emu/base/fp.h"

#define QNAN    0x7fc00000u
#define QNAN2   0xffc12345u /* a quiet NaN that is not the canonical one */
#define SNAN    0x7f800001u
#define INF     0x7f800000u
#define NINF    0xff800000u
#define ONE     0x3f800000u
#define MAXF    0x7f7fffffu
#define MINF    0x00800000u /* smallest normal */
#define SUB     0x00400000u /* a subnormal */
#define NZERO   0x80000000u
#define NEG(a)  ((a) ^ 0x80000000u)
#define HQNAN   0x7e00
#define HSNAN   0xfc01
#define ALL_RND 4

enum fp_operation { ADD, SUB_, MUL, ABSADD, DIV, MAX, MIN, ABSMAX, SQRT, OOX, OORX };

static uint32_t f32_op(enum fp_operation op, uint32_t a, uint32_t b, struct fp_env *env)
{
    switch (op) {
    case ADD:
        return fp_f32_add(a, b, env);
    case SUB_:
        return fp_f32_sub(a, b, env);
    case MUL:
        return fp_f32_mul(a, b, env);
    case ABSADD:
        return fp_f32_absadd(a, b, env);
    case DIV:
        return fp_f32_div(a, b, env);
    case MAX:
        return fp_f32_max(a, b, env);
    case MIN:
        return fp_f32_min(a, b, env);
    case ABSMAX:
        return fp_f32_absmax(a, b, env);
    case SQRT:
        return fp_f32_sqrt(a, env);
    case OOX:
        return fp_f32_oox(a, env);
    default:
        return fp_f32_oorx(a, env);
    }
}

static void test_f32_arithmetic(void **state)
{
    static const struct {
        enum fp_operation op;
        uint32_t a, b, want;
        unsigned flags;
    } t[] = {
        { ADD, ONE, ONE, .want = 0x40000000 },
        { ADD, ONE, NEG(ONE), .want = 0 },
        { ADD, NZERO, NZERO, .want = NZERO },
        { ADD, MAXF, MAXF, .want = INF, .flags = FP_OFLO },
        { ADD, MAXF, 0x73000000, .want = INF,
          .flags = FP_OFLO }, /* half a unit: the tie goes to infinity */
        { ADD, MAXF, 0x72ffffff, .want = MAXF },
        { ADD, INF, ONE, .want = INF },
        { ADD, INF, NINF, .want = QNAN, .flags = FP_INV },
        { ADD, QNAN2, ONE, .want = QNAN },
        { ADD, SNAN, ONE, .want = QNAN, .flags = FP_INV },
        { ADD, SNAN, QNAN, .want = QNAN, .flags = FP_INV },
        { ADD, SUB, SUB, .want = 0 }, /* operands are zero before they are added */
        { ADD, NEG(SUB), NEG(SUB), .want = NZERO },
        { ADD, 0x00c00000, NEG(MINF), .want = 0 }, /* a subnormal difference */
        { SUB_, MINF, 0x00c00000, .want = NZERO }, /* and a negative one */
        { SUB_, INF, INF, .want = QNAN, .flags = FP_INV },
        { SUB_, ONE, NEG(ONE), .want = 0x40000000 },
        { MUL, NZERO, ONE, .want = NZERO },
        { MUL, 0, INF, .want = QNAN, .flags = FP_INV },
        { MUL, SUB, INF, .want = QNAN, .flags = FP_INV }, /* as 0 * inf */
        { MUL, MAXF, NEG(0x40000000), .want = NINF, .flags = FP_OFLO },
        { MUL, MINF, NEG(0x3f000000), .want = NZERO },
        { MUL, MINF, 0x3f7fffff,
          .want = MINF }, /* a tie at subnormal precision: even is 2^-126, kept */
        { MUL, 0x00800001, 0x3f7fffff, .want = MINF }, /* rounds up to it */
        { MUL, MINF, 0x3f7ffffe, .want = 0 },          /* 2^-126 - 2^-149 is subnormal */
        { ABSADD, NEG(ONE), NEG(ONE), .want = 0x40000000 },
        { ABSADD, NINF, INF, .want = INF },
        { ABSADD, NZERO, NZERO, .want = 0 },
        { ABSADD, NEG(SNAN), ONE, .want = QNAN, .flags = FP_INV },
        { DIV, ONE, 0, .want = INF, .flags = FP_DIV0 },
        { DIV, ONE, NZERO, .want = NINF, .flags = FP_DIV0 },
        { DIV, NEG(ONE), SUB, .want = NINF, .flags = FP_DIV0 },
        { DIV, 0, 0, .want = QNAN, .flags = FP_INV },
        { DIV, SUB, SUB, .want = QNAN, .flags = FP_INV },
        { DIV, INF, INF, .want = QNAN, .flags = FP_INV },
        { DIV, INF, 0, .want = INF },
        { DIV, ONE, NINF, .want = NZERO },
        { DIV, MAXF, 0x3f000000, .want = INF, .flags = FP_OFLO },
        { DIV, MINF, 0x40000000, .want = 0 },
        { DIV, QNAN, 0, .want = QNAN },
        { DIV, ONE, SNAN, .want = QNAN, .flags = FP_INV },
        { DIV, ONE, 0x40400000, .want = 0x3eaaaaab },
        { SQRT, 0x40800000, .want = 0x40000000 },
        { SQRT, NZERO, .want = NZERO },
        { SQRT, NEG(SUB), .want = NZERO },
        { SQRT, NEG(ONE), .want = QNAN, .flags = FP_INV },
        { SQRT, NINF, .want = QNAN, .flags = FP_INV },
        { SQRT, INF, .want = INF },
        { SQRT, QNAN2, .want = QNAN },
        { SQRT, NEG(SNAN), .want = QNAN, .flags = FP_INV },
        { OOX, 0, .want = INF, .flags = FP_DIV0 },
        { OOX, NZERO, .want = NINF, .flags = FP_DIV0 },
        { OOX, NINF, .want = NZERO },
        { OOX, 0x7e800000, .want = MINF }, /* 1/2^126 */
        { OOX, 0x7e800001, .want = 0 },
        { OOX, MINF, .want = 0x7e800000 },
        { OORX, 0x40800000, .want = 0x3f000000 },
        { OORX, 0, .want = INF, .flags = FP_DIV0 },
        { OORX, NZERO, .want = NINF, .flags = FP_DIV0 },
        { OORX, NEG(SUB), .want = NINF, .flags = FP_DIV0 },
        { OORX, NEG(ONE), .want = QNAN, .flags = FP_INV },
        { OORX, INF, .want = 0 },
        { OORX, NINF, .want = QNAN, .flags = FP_INV },
        { OORX, QNAN, .want = QNAN },
        { OORX, SNAN, .want = QNAN, .flags = FP_INV },
        { MAX, NZERO, 0, .want = 0 },
        { MAX, 0, NZERO, .want = 0 },
        { MIN, NZERO, 0, .want = NZERO },
        { MIN, 0, NZERO, .want = NZERO },
        { MAX, ONE, QNAN, .want = ONE },
        { MAX, QNAN2, NINF, .want = NINF },
        { MIN, QNAN, SUB, .want = 0 },
        { MAX, QNAN2, QNAN2, .want = QNAN },
        { MIN, ONE, SNAN, .want = QNAN, .flags = FP_INV },
        { MAX, SNAN, QNAN, .want = QNAN, .flags = FP_INV },
        { MAX, SUB, NINF, .want = 0 },
        { MAX, NEG(ONE), NEG(MAXF), .want = NEG(ONE) },
        { MIN, NEG(ONE), NEG(MAXF), .want = NEG(MAXF) },
        { MIN, INF, MAXF, .want = MAXF },
        { ABSMAX, NEG(MAXF), ONE, .want = MAXF },
        { ABSMAX, NINF, QNAN, .want = INF },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(t); i++) {
        struct fp_env env = { .rnd = (uint8_t)(i % 4) }; /* RND does not touch f32 results */
        uint32_t got = f32_op(t[i].op, t[i].a, t[i].b, &env);

        if (got != t[i].want || env.flags != t[i].flags)
            fail_msg("row %zu: %08x flags %u", i, got, env.flags);
    }
}

static void test_f32_fma(void **state)
{
    static const struct {
        uint32_t a, b, c, want;
        unsigned flags;
    } t[] = {
        { ONE, ONE, ONE, .want = 0x40000000 },
        { 0x3f800001, 0x3f800001, NEG(0x3f800002),
          .want = 0x28800000 }, /* 2^-46: the product is not rounded */
        { MAXF, 0x40000000, NEG(MAXF), .want = MAXF },
        { MAXF, 0x40000000, 0, .want = INF, .flags = FP_OFLO },
        { MAXF, 0x40000000, NINF, .want = NINF },
        { INF, 0, ONE, .want = QNAN, .flags = FP_INV },
        { INF, 0, QNAN2, .want = QNAN }, /* an operand is a NaN already */
        { INF, 0, SNAN, .want = QNAN, .flags = FP_INV },
        { INF, ONE, NINF, .want = QNAN, .flags = FP_INV },
        { SUB, INF, ONE, .want = QNAN, .flags = FP_INV },
        { MINF, 0x3f000000, 0, .want = 0 },
        { MINF, 0x3f000000, MINF, .want = 0x00c00000 },
        { MINF, NEG(0x3f000000), MINF, .want = 0 },
        { NZERO, ONE, NZERO, .want = NZERO },
        { NZERO, ONE, 0, .want = 0 },
        { ONE, ONE, NEG(ONE), .want = 0 },
        { ONE, SUB, NEG(SUB), .want = 0 },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(t); i++) {
        struct fp_env env = { 0 };
        uint32_t got = fp_f32_fma(t[i].a, t[i].b, t[i].c, &env);

        if (got != t[i].want || env.flags != t[i].flags)
            fail_msg("row %zu: %08x flags %u", i, got, env.flags);
    }
}

static void test_clamp(void **state)
{
    static const struct {
        uint32_t a, lo, hi, want;
        unsigned flags;
    } t[] = {
        { 0x40400000, NEG(ONE), ONE, .want = ONE },
        { NEG(0x40400000), NEG(ONE), ONE, .want = NEG(ONE) },
        { SUB, NEG(ONE), ONE, .want = 0 },
        { NZERO, 0, ONE, .want = 0 },
        { QNAN2, NEG(ONE), ONE, .want = QNAN },
        { SNAN, NEG(ONE), ONE, .want = QNAN, .flags = FP_INV },
        { 0x40400000, QNAN, ONE, .want = ONE },
        { 0x40400000, NEG(ONE), QNAN, .want = 0x40400000 },
        { QNAN, NEG(ONE), SNAN, .want = QNAN, .flags = FP_INV },
        { 0, ONE, NEG(ONE), .want = NEG(ONE) }, /* hi wins */
        { INF, NINF, INF, .want = INF },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(t); i++) {
        struct fp_env env = { 0 };
        uint32_t got = fp_f32_clamp(t[i].a, t[i].lo, t[i].hi, &env);

        if (got != t[i].want || env.flags != t[i].flags)
            fail_msg("row %zu: %08x flags %u", i, got, env.flags);
    }
    struct fp_env env = { 0 };
    assert_int_equal(fp_f16_clamp(0x4200, 0xbc00, 0x3c00, &env), 0x3c00);
    assert_int_equal(fp_f16_clamp(0x8001, 0xbc00, 0x3c00, &env), 0x8001); /* not flushed */
    assert_int_equal(fp_f16_clamp(0xfe12, 0xbc00, 0x3c00, &env), HQNAN);
    assert_int_equal(fp_f16_clamp(0x4200, HQNAN, 0x3c00, &env), 0x3c00);
    assert_int_equal(env.flags, 0);
    assert_int_equal(fp_f16_clamp(HSNAN, 0xbc00, 0x3c00, &env), HQNAN);
    assert_int_equal(env.flags, FP_INV);
}

/* A row holds for the f32 and, converted, for the f16 comparisons. want: 0 equal, 1 greater, -1
 * less, 2 unordered */
static void test_compare(void **state)
{
    static const struct {
        uint32_t a, b;
        int want;
        unsigned flags;
    } t[] = {
        { ONE, ONE, .want = 0 },
        { 0, NZERO, .want = 0 },
        { NZERO, 0, .want = 0 },
        { ONE, NEG(ONE), .want = 1 },
        { NEG(ONE), NZERO, .want = -1 },
        { NINF, INF, .want = -1 },
        { INF, INF, .want = 0 },
        { QNAN, QNAN, .want = 2 },
        { QNAN, ONE, .want = 2 },
        { INF, QNAN, .want = 2 },
        { SNAN, ONE, .want = 2, .flags = FP_INV },
        { QNAN, SNAN, .want = 2, .flags = FP_INV },
        { 0x3f900000, ONE, .want = 1 },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(t); i++) {
        struct fp_env env = { 0 }, scratch = { 0 };
        uint32_t a = t[i].a, b = t[i].b;
        uint16_t ha = fp_f32_is_snan(a) ? HSNAN : fp_f16_from_f32(a, 0, &scratch);
        uint16_t hb = fp_f32_is_snan(b) ? HSNAN : fp_f16_from_f32(b, 0, &scratch);
        int w = t[i].want;
        unsigned got = 0, half = 0, want;

        want = (w == 0) | (w != 0) << 1 | (w == -1) << 2 | (w == -1 || w == 0) << 3 |
               (w == 1) << 4 | (w == 1 || w == 0) << 5;
        uint32_t m[6] = { fp_f32_cmpeq(a, b, &env), fp_f32_cmpne(a, b, &env),
                          fp_f32_cmplt(a, b, &env), fp_f32_cmple(a, b, &env),
                          fp_f32_cmpgt(a, b, &env), fp_f32_cmpge(a, b, &env) };
        assert_int_equal(env.flags, t[i].flags);
        env.flags = 0;
        uint16_t h[6] = { fp_f16_cmpeq(ha, hb, &env), fp_f16_cmpne(ha, hb, &env),
                          fp_f16_cmplt(ha, hb, &env), fp_f16_cmple(ha, hb, &env),
                          fp_f16_cmpgt(ha, hb, &env), fp_f16_cmpge(ha, hb, &env) };
        assert_int_equal(env.flags, t[i].flags);
        for (int k = 0; k < 6; k++) {
            assert_true(m[k] == 0 || m[k] == 0xffffffff);
            assert_true(h[k] == 0 || h[k] == 0xffff);
            got |= (m[k] & 1) << k;
            half |= (h[k] & 1u) << k;
        }
        if (got != want || half != want)
            fail_msg("row %zu: f32 %02x f16 %02x want %02x", i, got, half, want);
    }
    struct fp_env env = { 0 };
    assert_int_equal(fp_f32_order(SUB, 0, &env), 0); /* f32 subnormals are zero, f16 ones are not */
    assert_int_equal(fp_f16_order(1, 0, &env), 1);
    assert_int_equal(fp_f16_order(0x8001, 0, &env), -1);
}

static void test_class(void **state)
{
    static const struct {
        uint32_t f32;
        uint16_t f16;
        int want;
    } t[] = {
        { SNAN, HSNAN, 1 },
        { 0xffbfffff, 0x7dff, 1 },
        { QNAN, HQNAN, 2 },
        { QNAN2, 0xffff, 2 },
        { NINF, 0xfc00, 3 },
        { NEG(MAXF), 0xfbff, 4 },
        { NEG(MINF), 0x8400, 4 },
        { NZERO, 0x8000, 5 },
        { 0x807fffff, 0x83ff, 6 },
        { 0x80000001, 0x8001, 6 },
        { 1, 1, 7 },
        { 0x007fffff, 0x03ff, 7 },
        { 0, 0, 8 },
        { MINF, 0x0400, 9 },
        { MAXF, 0x7bff, 9 },
        { INF, 0x7c00, 10 },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(t); i++) {
        assert_int_equal(fp_f32_class(t[i].f32), t[i].want);
        assert_int_equal(fp_f16_class(t[i].f16), t[i].want);
    }
}

static void test_f32_int(void **state)
{
    static const struct {
        uint32_t a, want[ALL_RND]; /* nearest, up, down, zero */
    } t[] = {
        { 0x3f000000, { 0, ONE, 0, 0 } },                                   /* 0.5 */
        { 0xbf000000, { NZERO, NZERO, NEG(ONE), NZERO } },                  /* -0.5 */
        { 0x3fc00000, { 0x40000000, 0x40000000, ONE, ONE } },               /* 1.5 */
        { 0x40200000, { 0x40000000, 0x40400000, 0x40000000, 0x40000000 } }, /* 2.5 */
        { 0x00800000, { 0, ONE, 0, 0 } },                                   /* smallest normal */
        { 0x80800000, { NZERO, NZERO, NEG(ONE), NZERO } },
        { SUB, { 0, 0, 0, 0 } }, /* flushed before rounding */
        { NEG(SUB), { NZERO, NZERO, NZERO, NZERO } },
        { 0x4affffff, { 0x4b000000, 0x4b000000, 0x4afffffe, 0x4afffffe } }, /* 2^23 - 0.5 */
        { 0x4b000001, { 0x4b000001, 0x4b000001, 0x4b000001, 0x4b000001 } },
        { 0xff7fffff, { 0xff7fffff, 0xff7fffff, 0xff7fffff, 0xff7fffff } },
        { INF, { INF, INF, INF, INF } },
        { NZERO, { NZERO, NZERO, NZERO, NZERO } },
        { QNAN2, { QNAN, QNAN, QNAN, QNAN } },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(t); i++)
        for (unsigned mode = 0; mode < 8; mode++) {
            struct fp_env env = { .rnd = 3 }; /* f32int has its own mode */
            uint32_t got = fp_f32_int(t[i].a, mode, &env);

            if (got != t[i].want[mode < ALL_RND ? mode : 0] || env.flags)
                fail_msg("row %zu mode %u: %08x", i, mode, got);
        }
    struct fp_env env = { 0 };
    assert_int_equal(fp_f32_int(SNAN, 0, &env), QNAN);
    assert_int_equal(env.flags, FP_INV);
}

static void test_to_integer(void **state)
{
    static const struct {
        uint32_t a;
        uint32_t i[ALL_RND], u[ALL_RND];
        unsigned iflags, uflags; /* bit m: INV expected in mode m */
    } t[] = {
        { 0x3f000000, .i = { 0, 1, 0, 0 }, .u = { 0, 1, 0, 0 } },
        { 0xbf000000, .i = { 0, 0, 0xffffffff, 0 }, .u = { 0, 0, 0, 0 }, .uflags = 4 },
        { 0x3fc00000, .i = { 2, 2, 1, 1 }, .u = { 2, 2, 1, 1 } },
        { 0x40200000, .i = { 2, 3, 2, 2 }, .u = { 2, 3, 2, 2 } },
        { 0xc0200000, .i = { -2u, -2u, -3u, -2u }, .u = { 0, 0, 0, 0 }, .uflags = 15 },
        { SUB, .i = { 0, 0, 0, 0 }, .u = { 0, 0, 0, 0 } },
        { MINF, .i = { 0, 1, 0, 0 }, .u = { 0, 1, 0, 0 } },
        { 0x4effffff, .i = { 0x7fffff80, 0x7fffff80, 0x7fffff80, 0x7fffff80 },
          .u = { 0x7fffff80, 0x7fffff80, 0x7fffff80, 0x7fffff80 } },
        { 0x4f000000, .i = { 0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff },
          .u = { 1u << 31, 1u << 31, 1u << 31, 1u << 31 }, .iflags = 15 },
        { 0xcf000000, .i = { 1u << 31, 1u << 31, 1u << 31, 1u << 31 }, .u = { 0, 0, 0, 0 },
          .uflags = 15 },
        { 0xcf000001, .i = { 1u << 31, 1u << 31, 1u << 31, 1u << 31 }, .u = { 0, 0, 0, 0 },
          .iflags = 15, .uflags = 15 },
        { 0x4f7fffff, .i = { 0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff },
          .u = { 0xffffff00, 0xffffff00, 0xffffff00, 0xffffff00 }, .iflags = 15 },
        { 0x4f800000, .i = { 0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff },
          .u = { -1u, -1u, -1u, -1u }, .iflags = 15, .uflags = 15 },
        { MAXF, .i = { 0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff },
          .u = { -1u, -1u, -1u, -1u }, .iflags = 15, .uflags = 15 },
        { NINF, .i = { 1u << 31, 1u << 31, 1u << 31, 1u << 31 }, .u = { 0, 0, 0, 0 }, .iflags = 15,
          .uflags = 15 },
        { QNAN, .i = { 0, 0, 0, 0 }, .u = { 0, 0, 0, 0 }, .iflags = 15, .uflags = 15 },
        { NEG(SNAN), .i = { 0, 0, 0, 0 }, .u = { 0, 0, 0, 0 }, .iflags = 15, .uflags = 15 },
        { NZERO, .i = { 0, 0, 0, 0 }, .u = { 0, 0, 0, 0 } },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(t); i++)
        for (unsigned m = 0; m < ALL_RND; m++) {
            struct fp_env ei = { .rnd = (uint8_t)m }, eu = { .rnd = (uint8_t)m };
            uint32_t si = fp_f32_to_i32(t[i].a, &ei), ui = fp_f32_to_u32(t[i].a, &eu);

            if (si != t[i].i[m] || ui != t[i].u[m] || ei.flags != (t[i].iflags >> m & 1) ||
                eu.flags != (t[i].uflags >> m & 1))
                fail_msg("row %zu mode %u: %08x %08x flags %u %u", i, m, si, ui, ei.flags,
                         eu.flags);
        }
}

static void test_from_integer(void **state)
{
    static const struct {
        uint32_t i;
        uint32_t s[ALL_RND], u[ALL_RND];
    } t[] = {
        { 0, { 0, 0, 0, 0 }, { 0, 0, 0, 0 } },
        { 1, { ONE, ONE, ONE, ONE }, { ONE, ONE, ONE, ONE } },
        { 0x01000001,
          { 0x4b800000, 0x4b800001, 0x4b800000, 0x4b800000 },
          { 0x4b800000, 0x4b800001, 0x4b800000, 0x4b800000 } },
        { 0x01000003,
          { 0x4b800002, 0x4b800002, 0x4b800001, 0x4b800001 },
          { 0x4b800002, 0x4b800002, 0x4b800001, 0x4b800001 } },
        { 0x7fffffff,
          { 0x4f000000, 0x4f000000, 0x4effffff, 0x4effffff },
          { 0x4f000000, 0x4f000000, 0x4effffff, 0x4effffff } },
        { 0x80000000,
          { 0xcf000000, 0xcf000000, 0xcf000000, 0xcf000000 },
          { 0x4f000000, 0x4f000000, 0x4f000000, 0x4f000000 } },
        { 0x80000001,
          { 0xcf000000, 0xceffffff, 0xcf000000, 0xceffffff },
          { 0x4f000000, 0x4f000001, 0x4f000000, 0x4f000000 } },
        { 0xffffffff,
          { NEG(ONE), NEG(ONE), NEG(ONE), NEG(ONE) },
          { 0x4f800000, 0x4f800000, 0x4f7fffff, 0x4f7fffff } },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(t); i++)
        for (unsigned m = 0; m < ALL_RND; m++) {
            struct fp_env env = { .rnd = (uint8_t)m, .stochastic = 1, .random = ~0ull };
            uint32_t s = fp_f32_from_i32(t[i].i, &env), u = fp_f32_from_u32(t[i].i, &env);

            if (s != t[i].s[m] || u != t[i].u[m])
                fail_msg("row %zu mode %u: %08x %08x", i, m, s, u);
        }
}

static void test_sufromui(void **state)
{
    struct fp_env env = { 0 };

    (void)state;
    assert_int_equal(fp_f32_sufromui(0), 0xbf000000);          /* -0.5 + 2^-33 */
    assert_int_equal(fp_f32_sufromui(0x7fffffff), 0xaf000000); /* -2^-33 */
    assert_int_equal(fp_f32_sufromui(0x80000000), 0x2f000000);
    assert_int_equal(fp_f32_sufromui(0xffffffff), 0x3f000000);
    assert_int_equal(fp_f32_sufromui(0x80800000), 0x3b000000); /* 2^24 + 1: a tie, to even */
    assert_int_equal(fp_f32_sufromui(0x80800001), 0x3b000002);
    for (uint32_t k = 0; k < 200000; k++) {
        uint32_t u = k * 2654435761u;

        /* The exact value in f64, and the host's conversion of it. */
        assert_int_equal(fp_f32_sufromui(u), fp_bits((float)((2.0 * u + 1 - 0x1p32) * 0x1p-33)));
    }
    assert_int_equal(fp_f16_sufromui(0, 0, &env), 0xb800);
    assert_int_equal(fp_f16_sufromui(0x7fff, 0, &env), 0x8080); /* -2^-17 */
    for (unsigned m = 0; m < 5; m++)
        for (uint32_t u = 0; u < 0x10000; u++) {
            struct fp_env e = { .rnd = (uint8_t)(m & 3), .stochastic = m == 4, .random = u * 7 };

            assert_true(fp_f16_abs(fp_f16_sufromui((uint16_t)u, 0, &e)) >= 0x80);
            assert_int_equal(e.flags, 0);
            if (m == 0)
                assert_int_equal(fp_f16_sufromui((uint16_t)u, 0, &e) ^ 0x8000,
                                 fp_f16_sufromui((uint16_t)~u, 0, &e));
        }
}

/* 1/sqrt of all significands of two binades, the proof of fp_f32_oorx(). With x = X 2^-23 in [1, 4)
 * and the result R 2^-24, R of 24 bits, nearest means (2R-1)^2 X < 2^73 < (2R+1)^2 X; at R = 2^23
 * the lower neighbour is half as far. */
static void test_oorx_all(void **state)
{
    (void)state;
    for (uint32_t f = 0x3f800001; f < 0x40800000; f++) {
        struct fp_env env = { 0 };
        uint32_t r = fp_f32_oorx(f, &env);
        uint64_t x = (uint64_t)((f & 0x7fffff) | 0x800000) << (f >= 0x40000000);
        uint64_t m = (r & 0x7fffff) | 0x800000;
        unsigned __int128 one = (unsigned __int128)1 << 73;

        if (r == 0x3f000000) /* 1/2: only the upper bound is a question */
            assert_true((unsigned __int128)(2 * m + 1) * (2 * m + 1) * x > one);
        else if (r == 0x3f800000) /* 1: the middle below it is 1 - 2^-25 */
            assert_true((unsigned __int128)x * ((1ull << 25) - 1) * ((1ull << 25) - 1) < one);
        else if ((r & 0x7f800000) != 0x3f000000 ||
                 (unsigned __int128)(2 * m - 1) * (2 * m - 1) * x >= one ||
                 (unsigned __int128)(2 * m + 1) * (2 * m + 1) * x <= one)
            fail_msg("1/sqrt(%08x) = %08x", f, r);
    }
    /* Every other binade behaves as one of the two: the smallest and the largest. */
    struct fp_env env = { 0 };
    for (uint32_t f = 0x00800000; f < 0x01800000; f += 1237) {
        uint32_t scaled = fp_f32_oorx(f + 126 * 0x00800000u, &env);

        assert_int_equal(fp_f32_oorx(f, &env), scaled + 63 * 0x00800000u);
        assert_int_equal(fp_f32_oorx(f + 252 * 0x00800000u, &env), scaled - 63 * 0x00800000u);
    }
    assert_int_equal(env.flags, 0);
}

static void test_dot(void **state)
{
    static const struct {
        uint32_t acc;
        int n;
        uint16_t x[4], w[4];
        uint32_t want;
        unsigned flags;
    } t[] = {
        { 0, .n = 4, .x = { 0x3c00, 0x3c00, 0x3c00, 0x3c00 },
          .w = { 0x3c00, 0x4000, 0x4200, 0x4400 }, .want = 0x41200000 },
        { ONE, .n = 1, .x = { 1 }, .w = { 1 }, .want = ONE }, /* 1 + 2^-48 */
        { ONE, .n = 1, .x = { 0x8001 }, .w = { 1 }, .want = ONE },
        { ONE, .n = 2, .x = { 0x0c00, 1 }, .w = { 0x0c00, 1 },
          .want = 0x3f800001 }, /* 1 + 2^-24 + 2^-48 */
        { ONE, .n = 2, .x = { 0x0c00, 0x8001 }, .w = { 0x0c00, 1 }, .want = ONE },
        { ONE, .n = 1, .x = { 0x0c00 }, .w = { 0x0c00 }, .want = ONE }, /* the tie */
        { 0x3f800001, .n = 1, .x = { 0x0c00 }, .w = { 0x0c00 }, .want = 0x3f800002 },
        { 0x7f000000, .n = 1, .x = { 0xfbff }, .w = { 0x7bff },
          .want = 0x7f000000 }, /* 2^127 - 65504^2 */
        { MAXF, .n = 4, .x = { 0x7bff, 0x7bff, 0x7bff, 0x7bff },
          .w = { 0x7bff, 0x7bff, 0x7bff, 0x7bff }, .want = MAXF },
        { NEG(ONE), .n = 2, .x = { 0x3c00, 1 }, .w = { 0x3c00, 1 },
          .want = 0x27800000 },                                                  /* 2^-48 is left */
        { 0x27800001, .n = 1, .x = { 0x8001 }, .w = { 1 }, .want = 0x1c000000 }, /* 2^-71 is left */
        { 0x1b800000, .n = 1, .x = { 1 }, .w = { 1 },
          .want = 0x27800000 }, /* 2^-48 + 2^-72, a tie */
        { 0x1b800001, .n = 1, .x = { 1 }, .w = { 1 }, .want = 0x27800001 }, /* and 2^-95 more */
        { 0x9b000000, .n = 1, .x = { 1 }, .w = { 1 },
          .want = 0x27800000 }, /* 2^-48 - 2^-73, a tie */
        { 0x9b000001, .n = 1, .x = { 1 }, .w = { 1 }, .want = 0x277fffff }, /* and 2^-96 less */
        { MINF, .want = MINF },
        { MINF, .n = 1, .x = { 1 }, .w = { 1 }, .want = 0x27800000 },
        { MINF, .n = 2, .x = { 1, 0x8001 }, .w = { 1, 1 },
          .want = MINF }, /* products cancel: acc untouched */
        { SUB, .n = 1, .want = 0 },
        { NEG(SUB), .n = 1, .x = { 0x8000 }, .want = NZERO },
        { NZERO, .n = 4, .x = { 0x8000, 0, 0x8000, 0 }, .w = { 0, 0x8000, 1, 0xbc00 },
          .want = NZERO },
        { NZERO, .n = 1, .w = { 0x3c00 }, .want = 0 },
        { 0, .n = 1, .x = { 0x8000 }, .want = 0 },
        { NZERO, .n = 2, .x = { 0xbc00, 0x3c00 }, .w = { 0x3c00, 0x3c00 }, .want = 0 },
        { INF, .n = 1, .x = { 0xfbff }, .w = { 0x7bff }, .want = INF },
        { INF, .n = 1, .x = { 0xfc00 }, .w = { 0x3c00 }, .want = QNAN, .flags = FP_INV },
        { ONE, .n = 2, .x = { 0x7c00, 0x7c00 }, .w = { 0x3c00, 0xbc00 }, .want = QNAN,
          .flags = FP_INV },
        { ONE, .n = 2, .x = { 0x7c00, 0x7c00 }, .w = { 0x0001, 0x3c00 }, .want = INF },
        { ONE, .n = 1, .x = { 0xfc00 }, .w = { 0x7c00 }, .want = NINF },
        { ONE, .n = 1, .w = { 0x7c00 }, .want = QNAN, .flags = FP_INV },
        { QNAN2, .n = 1, .w = { 0x7c00 }, .want = QNAN },
        { ONE, .n = 2, .x = { 0x7fff, 0 }, .w = { 0, 0 }, .want = QNAN },
        { ONE, .n = 2, .x = { 0, 0 }, .w = { 0, HSNAN }, .want = QNAN, .flags = FP_INV },
        { SNAN, .n = 1, .want = QNAN, .flags = FP_INV },
    };
    struct fp_env env = { 0 };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(t); i++) {
        uint32_t got;

        env = (struct fp_env){ .rnd = 3, .stochastic = 1, .random = ~0ull };
        got = fp_f32_add_exact_f16_products(t[i].acc, t[i].x, t[i].w, t[i].n, &env);
        if (got != t[i].want || env.flags != t[i].flags)
            fail_msg("row %zu: %08x flags %u", i, got, env.flags);
    }
    env.flags = 0;
    assert_int_equal(fp_f32_sum_exact_f16(0x7bff, 0x0001, &env), 0x477fe000);
    assert_int_equal(fp_f32_sum_exact_f16(0x8000, 0x8000, &env), NZERO);
    assert_int_equal(fp_f32_sum_exact_f16(0x8000, 0, &env), 0);
    assert_int_equal(fp_f32_sum_exact_f16(1, 1, &env), 0x34000000);
    assert_int_equal(fp_f32_sum_exact_f16(0x7c00, 0x8001, &env), INF);
    assert_int_equal(env.flags, 0);
    assert_int_equal(fp_f32_sum_exact_f16(0x7c00, 0xfc00, &env), QNAN);
    assert_int_equal(env.flags, FP_INV);
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f32_arithmetic),
        cmocka_unit_test(test_f32_fma),
        cmocka_unit_test(test_clamp),
        cmocka_unit_test(test_compare),
        cmocka_unit_test(test_class),
        cmocka_unit_test(test_f32_int),
        cmocka_unit_test(test_to_integer),
        cmocka_unit_test(test_from_integer),
        cmocka_unit_test(test_sufromui),
        cmocka_unit_test(test_oorx_all),
        cmocka_unit_test(test_dot),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
