/* binary_ref.c - add, sub, mul, max, min, comparisons of tensors, with a scalar, with a vector of
 * channels, in place; slopes in f16, axpy: meaning. Rounding is to nearest even.
 */
#include "programs/library/elementwise/elementwise_ref.h"

enum { F16_ONE = 0x3c00 };

typedef uint16_t binary_f16(uint16_t a, uint16_t b, struct fp_env *env);
typedef uint32_t binary_f32(uint32_t a, uint32_t b, struct fp_env *env);

static uint16_t add_f16(uint16_t a, uint16_t b, struct fp_env *env)
{
    return fp_f16_add(a, b, 0, env);
}

static uint32_t add_f32(uint32_t a, uint32_t b, struct fp_env *env)
{
    return fp_f32_add(a, b, env);
}

static uint16_t sub_f16(uint16_t a, uint16_t b, struct fp_env *env)
{
    return fp_f16_sub(a, b, 0, env);
}

static uint32_t sub_f32(uint32_t a, uint32_t b, struct fp_env *env)
{
    return fp_f32_sub(a, b, env);
}

static uint16_t mul_f16(uint16_t a, uint16_t b, struct fp_env *env)
{
    return fp_f16_mul(a, b, 0, env);
}

static uint32_t mul_f32(uint32_t a, uint32_t b, struct fp_env *env)
{
    return fp_f32_mul(a, b, env);
}

static uint16_t max_f16(uint16_t a, uint16_t b, struct fp_env *env)
{
    return fp_f16_max(a, b, env);
}

static uint32_t max_f32(uint32_t a, uint32_t b, struct fp_env *env)
{
    return fp_f32_max(a, b, env);
}

static uint16_t min_f16(uint16_t a, uint16_t b, struct fp_env *env)
{
    return fp_f16_min(a, b, env);
}

static uint32_t min_f32(uint32_t a, uint32_t b, struct fp_env *env)
{
    return fp_f32_min(a, b, env);
}

/* 1 where a condition holds. */
#define COMPARE(name, how)                                                                         \
    static uint16_t name##_f16(uint16_t a, uint16_t b, struct fp_env *env)                         \
    {                                                                                              \
        return fp_f16_##how(a, b, env) & F16_ONE;                                                  \
    }                                                                                              \
    static uint32_t name##_f32(uint32_t a, uint32_t b, struct fp_env *env)                         \
    {                                                                                              \
        return fp_f32_##how(a, b, env) & FP_F32_ONE;                                               \
    }

COMPARE(less, cmplt)
COMPARE(less_or_equal, cmple)
COMPARE(equal, cmpeq)

static uint16_t leaky_relu_f16(uint16_t a, uint16_t b, struct fp_env *env)
{
    return fp_f16_max(fp_f16_mul(a, b, 0, env), a, env);
}

static uint32_t leaky_relu_f32(uint32_t a, uint32_t b, struct fp_env *env)
{
    return fp_f32_max(fp_f32_mul(a, b, env), a, env);
}

static uint16_t relu_slope_f16(uint16_t a, uint16_t b, struct fp_env *env)
{
    return fp_f16_cmplt(0, a, env) & b;
}

static uint16_t swish_slope_f16(uint16_t a, uint16_t b, struct fp_env *env)
{
    uint16_t s = fp_f16_sigm(a, 0, env), t = fp_f16_mul(fp_f16_sub(F16_ONE, s, 0, env), a, 0, env);

    return fp_f16_mul(fp_f16_mul(s, fp_f16_add(F16_ONE, t, 0, env), 0, env), b, 0, env);
}

/* The second operand first. */
#define SWAPPED(name)                                                                              \
    static uint16_t scalar_##name##_f16(uint16_t a, uint16_t b, struct fp_env *env)                \
    {                                                                                              \
        return name##_f16(b, a, env);                                                              \
    }                                                                                              \
    static uint32_t scalar_##name##_f32(uint32_t a, uint32_t b, struct fp_env *env)                \
    {                                                                                              \
        return name##_f32(b, a, env);                                                              \
    }

SWAPPED(sub)
SWAPPED(less)
SWAPPED(less_or_equal)

/* out[i] = f(a[i], b[i modulo period]). */
static void each_f16(uint16_t *out, const uint16_t *a, const uint16_t *b, uint32_t n,
                     uint32_t period, binary_f16 *f)
{
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < n; i++)
        out[i] = f(a[i], b[i % period], &env);
}

static void each_f32(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t n,
                     uint32_t period, binary_f32 *f)
{
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < n; i++)
        out[i] = f(a[i], b[i % period], &env);
}

/* A codelet on operands of one shape; one with a scalar, which is in both halves of its word if it
 * is f16: the meaning reads the low one. */
#define WHOLE(op, type)                                                                            \
    void op##_##type##_ref(const struct codelet_call *call)                                        \
    {                                                                                              \
        uint32_t n = call->arg[binary__n].value;                                                   \
                                                                                                   \
        each_##type(call->arg[binary__out].data, call->arg[binary__a].data,                        \
                    call->arg[binary__b].data, n, n ? n : 1, op##_##type);                         \
    }                                                                                              \
    ELEMENTWISE_CYCLES(op##_##type)

#define SCALAR(name, op, type, word)                                                               \
    void name##_##type##_ref(const struct codelet_call *call)                                      \
    {                                                                                              \
        word b = (word)call->arg[scalar__b].value;                                                 \
                                                                                                   \
        each_##type(call->arg[scalar__out].data, call->arg[scalar__a].data, &b,                    \
                    call->arg[scalar__n].value, 1, op##_##type);                                   \
    }                                                                                              \
    ELEMENTWISE_CYCLES(name##_##type)

/* The four codelets of an operation on a type. */
#define BINARY(op, type, word)                                                                     \
    WHOLE(op, type)                                                                                \
    SCALAR(op##_scalar, op, type, word)                                                            \
    void op##_inplace_##type##_ref(const struct codelet_call *call)                                \
    {                                                                                              \
        uint32_t n = call->arg[inplace__n].value;                                                  \
                                                                                                   \
        each_##type(call->arg[inplace__a].data, call->arg[inplace__a].data,                        \
                    call->arg[inplace__b].data, n, n ? n : 1, op##_##type);                        \
    }                                                                                              \
    void op##_channel_##type##_ref(const struct codelet_call *call)                                \
    {                                                                                              \
        uint32_t c = call->arg[channel__c].value;                                                  \
                                                                                                   \
        each_##type(call->arg[channel__out].data, call->arg[channel__a].data,                      \
                    call->arg[channel__b].data, call->arg[channel__n].value, c ? c : 1,            \
                    op##_##type);                                                                  \
    }                                                                                              \
    ELEMENTWISE_CYCLES(op##_inplace_##type)                                                        \
    ELEMENTWISE_CYCLES(op##_channel_##type)

BINARY(add, f16, uint16_t)
BINARY(add, f32, uint32_t)
BINARY(sub, f16, uint16_t)
BINARY(sub, f32, uint32_t)
BINARY(mul, f16, uint16_t)
BINARY(mul, f32, uint32_t)
BINARY(max, f16, uint16_t)
BINARY(max, f32, uint32_t)
BINARY(min, f16, uint16_t)
BINARY(min, f32, uint32_t)

#define COMPARISON(op)                                                                             \
    WHOLE(op, f16)                                                                                 \
    WHOLE(op, f32)                                                                                 \
    SCALAR(op##_scalar, op, f16, uint16_t)                                                         \
    SCALAR(op##_scalar, op, f32, uint32_t)

COMPARISON(less)
COMPARISON(less_or_equal)
COMPARISON(equal)

WHOLE(relu_slope, f16)
WHOLE(swish_slope, f16)

#define WITH_SCALAR(name)                                                                          \
    SCALAR(name, name, f16, uint16_t)                                                              \
    SCALAR(name, name, f32, uint32_t)

WITH_SCALAR(scalar_sub)
WITH_SCALAR(scalar_less)
WITH_SCALAR(scalar_less_or_equal)
WITH_SCALAR(leaky_relu)

/* ---- axpy ---- */

void axpy_f16_ref(const struct codelet_call *call)
{
    const uint16_t scale[2] = { 0x3c00, (uint16_t)call->arg[axpy__a].value };
    const uint16_t *x = call->arg[axpy__x].data;
    uint16_t *y = call->arg[axpy__y].data;
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < call->arg[axpy__n].value; i++) {
        const uint16_t yx[2] = { y[i], x[i] };

        y[i] = fp_f16_from_f32(fp_f32_sum_exact_f16_products(yx, scale, 2, &env), 0, &env);
    }
}

void axpy_f32_ref(const struct codelet_call *call)
{
    const uint32_t *x = call->arg[axpy__x].data;
    uint32_t *y = call->arg[axpy__y].data;
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < call->arg[axpy__n].value; i++)
        y[i] = fp_f32_fma(call->arg[axpy__a].value, x[i], y[i], &env);
}

ELEMENTWISE_CYCLES(axpy_f16)
ELEMENTWISE_CYCLES(axpy_f32)
