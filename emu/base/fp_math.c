/* fp_math.c - the transcendental functions: special operands, and the one correct rounding.
 *
 * A fast double whose error is known decides almost every rounding: if both ends of its error
 * interval round alike, so does the true value (Ziv's test). Otherwise a double-double decides.
 * Apart from results that are short exactly (2^integer, log2 of a power of two, operands 0 and 1)
 * the true value is transcendental or irrational, so it is never a midpoint. No f32 or f16 operand
 * brings it as near to a midpoint as the error of the double-double, as the exhaustive tests show.
 */
#include "emu/base/fp_math.h"

#include "emu/base/fp_math_core.h"

/* Room for FP_FAST_ERROR in units of the last place of a double: an ulp is at least 2^-53 of it. */
#define FAST_ERROR_ULPS 16

/* Values beyond every rounding to f16 and to f32: they overflow, or lie between 0 and the smallest
 * step that any rounding mode can see. */
#define HUGE_RESULT 0x1p200
#define TINY_RESULT 0x1p-200

/* 1 - 2^-53 stands for all values between the largest f16 below 1 and 1 that are nearer to 1; tanh
 * takes them beyond 20, sigm beyond 40. Odd, as from dd_round_odd(). */
#define ALMOST_ONE 0x1.fffffffffffffp-1

static uint32_t f32_nan(uint32_t x, struct fp_env *env)
{
    if (fp_f32_is_snan(x))
        env->flags |= FP_INV;
    return FP_F32_NAN;
}

static uint16_t f16_nan(uint16_t x, struct fp_env *env)
{
    if (fp_f16_is_snan(x))
        env->flags |= FP_INV;
    return FP_F16_NAN;
}

/* The f32 nearest to a function of x; subnormals become zero. Inlined, so that both calls are
 * direct. */
static inline __attribute__((always_inline)) uint32_t f32_nearest(double x, double (*fast)(double),
                                                                  struct dd (*slow)(double))
{
    double y = fast(x);
    float below = (float)(y - y * FP_FAST_ERROR), above = (float)(y + y * FP_FAST_ERROR);

    if (EMU_UNLIKELY(below != above))
        below = (float)dd_round_odd(slow(x));
    return fp_f32_flush(fp_bits(below));
}

/* A double that fp_f16_from_f64() rounds as it would round the function of x, in every mode: they
 * see at most 25 leading bits and whether anything follows. So the fast value will do unless a
 * value of 27 bits lies in its error interval. */
static inline __attribute__((always_inline)) double f16_exact(double x, double (*fast)(double),
                                                              struct dd (*slow)(double))
{
    double y = fast(x);
    uint64_t low_mask = ((uint64_t)1 << (53 - 27)) - 1;
    uint64_t from_below = (fp_f64_bits(y) + FAST_ERROR_ULPS) & low_mask;

    return EMU_LIKELY(from_below > 2 * FAST_ERROR_ULPS) ? y : dd_round_odd(slow(x));
}

static inline __attribute__((always_inline)) uint32_t
f32_power(uint32_t x, struct fp_env *env, double (*fast)(double), struct dd (*slow)(double))
{
    double v = fp_float(x);
    uint32_t r;

    if (fp_f32_is_nan(x))
        return f32_nan(x, env);
    if (fp_f32_is_inf(x))
        return x & FP_F32_SIGN ? 0 : FP_F32_INF;
    if (!fp_f32_flush(fp_f32_abs(x)))
        return FP_F32_ONE;
    if (v < -150)
        return 0;
    r = v < 128 ? f32_nearest(v, fast, slow) : FP_F32_INF;
    if (r == FP_F32_INF)
        env->flags |= FP_OFLO;
    return r;
}

uint32_t fp_f32_exp(uint32_t x, struct fp_env *env)
{
    return f32_power(x, env, fp_exp_fast, fp_exp_dd);
}

uint32_t fp_f32_exp2(uint32_t x, struct fp_env *env)
{
    return f32_power(x, env, fp_exp2_fast, fp_exp2_dd);
}

static inline __attribute__((always_inline)) uint32_t
f32_logarithm(uint32_t x, struct fp_env *env, double (*fast)(double), struct dd (*slow)(double))
{
    if (fp_f32_is_nan(x))
        return f32_nan(x, env);
    x = fp_f32_flush(x);
    if (!fp_f32_abs(x)) {
        env->flags |= FP_DIV0;
        return FP_F32_SIGN | FP_F32_INF;
    }
    if (x & FP_F32_SIGN) {
        env->flags |= FP_INV;
        return FP_F32_NAN;
    }
    return fp_f32_is_inf(x) ? x : f32_nearest(fp_float(x), fast, slow);
}

uint32_t fp_f32_ln(uint32_t x, struct fp_env *env)
{
    return f32_logarithm(x, env, fp_ln_fast, fp_ln_dd);
}

uint32_t fp_f32_log2(uint32_t x, struct fp_env *env)
{
    return f32_logarithm(x, env, fp_log2_fast, fp_log2_dd);
}

uint32_t fp_f32_tanh(uint32_t x, struct fp_env *env)
{
    if (fp_f32_is_nan(x))
        return f32_nan(x, env);
    x = fp_f32_flush(x);
    if (!fp_f32_abs(x))
        return x;
    if (fp_f32_abs(x) > fp_bits(30)) /* 1 - tanh x < 2^-25, for infinity too */
        return (x & FP_F32_SIGN) | FP_F32_ONE;
    return f32_nearest(fp_float(x), fp_tanh_fast, fp_tanh_dd);
}

uint32_t fp_f32_sigm(uint32_t x, struct fp_env *env)
{
    double v = fp_float(x);

    if (fp_f32_is_nan(x))
        return f32_nan(x, env);
    if (!fp_f32_flush(fp_f32_abs(x)))
        return fp_bits(0.5f);
    if (v > 150)
        return FP_F32_ONE;
    return v < -150 ? 0 : f32_nearest(v, fp_sigm_fast, fp_sigm_dd);
}

static inline __attribute__((always_inline)) uint16_t f16_power(uint16_t x, unsigned lane,
                                                                struct fp_env *env,
                                                                double (*fast)(double),
                                                                struct dd (*slow)(double))
{
    double v = fp_f16_value(x), y;

    if (fp_f16_is_nan(x))
        return f16_nan(x, env);
    if (fp_f16_is_inf(x))
        return x & FP_F16_SIGN ? 0 : FP_F16_INF;
    if (v > 150)
        y = HUGE_RESULT;
    else if (v < -150)
        y = TINY_RESULT;
    else
        y = v == 0 ? 1 : f16_exact(v, fast, slow);
    return fp_f16_from_f64(y, lane, env);
}

uint16_t fp_f16_exp(uint16_t x, unsigned lane, struct fp_env *env)
{
    return f16_power(x, lane, env, fp_exp_fast, fp_exp_dd);
}

uint16_t fp_f16_exp2(uint16_t x, unsigned lane, struct fp_env *env)
{
    return f16_power(x, lane, env, fp_exp2_fast, fp_exp2_dd);
}

static inline __attribute__((always_inline)) uint16_t f16_logarithm(uint16_t x, unsigned lane,
                                                                    struct fp_env *env,
                                                                    double (*fast)(double),
                                                                    struct dd (*slow)(double))
{
    if (fp_f16_is_nan(x))
        return f16_nan(x, env);
    if (!fp_f16_abs(x)) {
        env->flags |= FP_DIV0;
        return FP_F16_SIGN | FP_F16_INF;
    }
    if (x & FP_F16_SIGN) {
        env->flags |= FP_INV;
        return FP_F16_NAN;
    }
    if (fp_f16_is_inf(x))
        return x;
    return fp_f16_from_f64(f16_exact(fp_f16_value(x), fast, slow), lane, env);
}

uint16_t fp_f16_ln(uint16_t x, unsigned lane, struct fp_env *env)
{
    return f16_logarithm(x, lane, env, fp_ln_fast, fp_ln_dd);
}

uint16_t fp_f16_log2(uint16_t x, unsigned lane, struct fp_env *env)
{
    return f16_logarithm(x, lane, env, fp_log2_fast, fp_log2_dd);
}

uint16_t fp_f16_tanh(uint16_t x, unsigned lane, struct fp_env *env)
{
    double v = fp_f16_value(x), y;

    if (fp_f16_is_nan(x))
        return f16_nan(x, env);
    if (!fp_f16_abs(x))
        return x;
    if (fp_f16_is_inf(x))
        return fp_f16_from_f64(x & FP_F16_SIGN ? -1 : 1, lane, env);
    if (v > 20 || v < -20)
        y = v > 0 ? ALMOST_ONE : -ALMOST_ONE;
    else
        y = f16_exact(v, fp_tanh_fast, fp_tanh_dd);
    return fp_f16_from_f64(y, lane, env);
}

uint16_t fp_f16_sigm(uint16_t x, unsigned lane, struct fp_env *env)
{
    double v = fp_f16_value(x), y;

    if (fp_f16_is_nan(x))
        return f16_nan(x, env);
    if (fp_f16_is_inf(x))
        y = x & FP_F16_SIGN ? 0 : 1;
    else if (v > 40)
        y = ALMOST_ONE;
    else if (v < -150)
        y = TINY_RESULT;
    else
        y = v == 0 ? 0.5 : f16_exact(v, fp_sigm_fast, fp_sigm_dd);
    return fp_f16_from_f64(y, lane, env);
}
