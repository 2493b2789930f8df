/* fp.c - f32 arithmetic, order and class. Host operations in round-to-nearest are IEEE; what
 * differs from IEEE (flushing, one NaN, the exceptions) is decided here from the bits of operands
 * and result. */
#include "emu/base/fp.h"

uint32_t fp_f32_settle(uint32_t r, uint32_t a, uint32_t b, uint32_t c, struct fp_env *env)
{
    if (fp_f32_is_nan(r)) {
        bool quiet = fp_f32_is_nan(a) || fp_f32_is_nan(b) || fp_f32_is_nan(c);

        if (!quiet || fp_f32_is_snan(a) || fp_f32_is_snan(b) || fp_f32_is_snan(c))
            env->flags |= FP_INV;
        return FP_F32_NAN;
    }
    if (fp_f32_is_inf(r)) {
        if (!fp_f32_is_inf(a) && !fp_f32_is_inf(b) && !fp_f32_is_inf(c))
            env->flags |= FP_OFLO;
        return r;
    }
    return fp_f32_flush(r);
}

uint32_t fp_f32_div(uint32_t a, uint32_t b, struct fp_env *env)
{
    uint32_t r;

    a = fp_f32_flush(a);
    b = fp_f32_flush(b);
    if (!fp_f32_abs(b) && fp_f32_abs(a) && fp_f32_abs(a) < FP_F32_INF) {
        env->flags |= FP_DIV0;
        return ((a ^ b) & FP_F32_SIGN) | FP_F32_INF;
    }
    /* inf / 0 is an exact infinity: settle sees the infinite operand and raises nothing. */
    r = fp_bits(fp_float(a) / fp_float(b));
    return EMU_LIKELY(fp_f32_is_normal(r)) ? r : fp_f32_settle(r, a, b, 0, env);
}

uint32_t fp_f32_oox(uint32_t a, struct fp_env *env)
{
    return fp_f32_div(FP_F32_ONE, a, env);
}

uint32_t fp_f32_sqrt(uint32_t a, struct fp_env *env)
{
    uint32_t r;

    a = fp_f32_flush(a);
    r = fp_bits(_mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(fp_float(a)))));
    return EMU_LIKELY(fp_f32_is_normal(r)) ? r : fp_f32_settle(r, a, 0, 0, env);
}

/* In the general case f64 sqrt and division err by less than 2^-51, relative, and no f32 has a
 * reciprocal root that near to the middle between two f32. Scaling a by 4 scales both steps exactly
 * by powers of two, so two binades are all there is to check: tests/emu/test_fp.c compares all
 * 2^24 of them with exact integers. */
uint32_t fp_f32_oorx(uint32_t a, struct fp_env *env)
{
    __m128d x;

    a = fp_f32_flush(a);
    if (!fp_f32_abs(a)) {
        env->flags |= FP_DIV0;
        return a | FP_F32_INF;
    }
    if (fp_f32_is_nan(a) || a & FP_F32_SIGN)
        return fp_f32_settle(FP_F32_NAN, a, 0, 0, env);
    x = _mm_set_sd(fp_float(a));
    return fp_bits((float)(1.0 / _mm_cvtsd_f64(_mm_sqrt_sd(x, x))));
}

int fp_f32_order(uint32_t a, uint32_t b, struct fp_env *env)
{
    float x = fp_float(fp_f32_flush(a)), y = fp_float(fp_f32_flush(b));

    if (fp_f32_is_nan(a) || fp_f32_is_nan(b)) {
        if (fp_f32_is_snan(a) || fp_f32_is_snan(b))
            env->flags |= FP_INV;
        return FP_UNORDERED;
    }
    return (x > y) - (x < y);
}

/* The result of max or min of operands of which at least one is NaN. */
static uint32_t f32_number_of(uint32_t a, uint32_t b, struct fp_env *env)
{
    if (fp_f32_is_snan(a) || fp_f32_is_snan(b)) {
        env->flags |= FP_INV;
        return FP_F32_NAN;
    }
    if (!fp_f32_is_nan(a))
        return a;
    return fp_f32_is_nan(b) ? FP_F32_NAN : b;
}

/* Order of the bits as sign and magnitude, which puts -0 below +0; NaN excluded. */
static bool f32_bits_below(uint32_t a, uint32_t b)
{
    int64_t x = a & FP_F32_SIGN ? -1 - (int64_t)fp_f32_abs(a) : a;
    int64_t y = b & FP_F32_SIGN ? -1 - (int64_t)fp_f32_abs(b) : b;

    return x < y;
}

uint32_t fp_f32_max(uint32_t a, uint32_t b, struct fp_env *env)
{
    a = fp_f32_flush(a);
    b = fp_f32_flush(b);
    if (EMU_UNLIKELY(fp_f32_is_nan(a) || fp_f32_is_nan(b)))
        return f32_number_of(a, b, env);
    return f32_bits_below(a, b) ? b : a;
}

uint32_t fp_f32_min(uint32_t a, uint32_t b, struct fp_env *env)
{
    a = fp_f32_flush(a);
    b = fp_f32_flush(b);
    if (EMU_UNLIKELY(fp_f32_is_nan(a) || fp_f32_is_nan(b)))
        return f32_number_of(a, b, env);
    return f32_bits_below(b, a) ? b : a;
}

uint32_t fp_f32_clamp(uint32_t a, uint32_t lo, uint32_t hi, struct fp_env *env)
{
    uint32_t r;

    if (fp_f32_is_snan(a) || fp_f32_is_snan(lo) || fp_f32_is_snan(hi)) {
        env->flags |= FP_INV;
        return FP_F32_NAN;
    }
    r = fp_f32_min(fp_f32_max(a, lo, env), hi, env);
    return fp_f32_is_nan(a) ? FP_F32_NAN : r;
}

enum fp_class fp_f32_class(uint32_t a)
{
    bool negative = a & FP_F32_SIGN;

    if (fp_f32_is_nan(a))
        return fp_f32_is_snan(a) ? FP_CLASS_SNAN : FP_CLASS_QNAN;
    if (fp_f32_is_inf(a))
        return negative ? FP_CLASS_NEG_INF : FP_CLASS_POS_INF;
    if (a & FP_F32_INF)
        return negative ? FP_CLASS_NEG_NORMAL : FP_CLASS_POS_NORMAL;
    if (fp_f32_abs(a))
        return negative ? FP_CLASS_NEG_SUBNORMAL : FP_CLASS_POS_SUBNORMAL;
    return negative ? FP_CLASS_NEG_ZERO : FP_CLASS_POS_ZERO;
}
