/* unary_ref.c - relu, sigmoid, swish, tanh, exp, sqrt, rsqrt in f16 and f32, and the integer
 * helpers of control flow: meaning. Rounding is to nearest even.
 */
#include "programs/library/elementwise/elementwise_ref.h"

typedef uint16_t unary_f16(uint16_t x, struct fp_env *env);
typedef uint32_t unary_f32(uint32_t x, struct fp_env *env);

static uint16_t relu_f16(uint16_t x, struct fp_env *env)
{
    return fp_f16_max(x, 0, env);
}

static uint32_t relu_f32(uint32_t x, struct fp_env *env)
{
    return fp_f32_max(x, 0, env);
}

static uint16_t sigmoid_f16(uint16_t x, struct fp_env *env)
{
    return fp_f16_sigm(x, 0, env);
}

static uint32_t sigmoid_f32(uint32_t x, struct fp_env *env)
{
    return fp_f32_sigm(x, env);
}

static uint16_t swish_f16(uint16_t x, struct fp_env *env)
{
    return fp_f16_mul(fp_f16_sigm(x, 0, env), x, 0, env);
}

static uint32_t swish_f32(uint32_t x, struct fp_env *env)
{
    return fp_f32_mul(fp_f32_sigm(x, env), x, env);
}

static uint16_t tanh_f16(uint16_t x, struct fp_env *env)
{
    return fp_f16_tanh(x, 0, env);
}

static uint32_t tanh_f32(uint32_t x, struct fp_env *env)
{
    return fp_f32_tanh(x, env);
}

static uint16_t exp_f16(uint16_t x, struct fp_env *env)
{
    return fp_f16_exp(x, 0, env);
}

static uint32_t exp_f32(uint32_t x, struct fp_env *env)
{
    return fp_f32_exp(x, env);
}

static uint16_t sqrt_f16(uint16_t x, struct fp_env *env)
{
    return fp_f16_from_f32(fp_f32_sqrt(fp_f16_to_f32(x, env), env), 0, env);
}

static uint32_t sqrt_f32(uint32_t x, struct fp_env *env)
{
    return fp_f32_sqrt(x, env);
}

static uint16_t rsqrt_f16(uint16_t x, struct fp_env *env)
{
    return fp_f16_from_f32(fp_f32_oorx(fp_f16_to_f32(x, env), env), 0, env);
}

static uint32_t rsqrt_f32(uint32_t x, struct fp_env *env)
{
    return fp_f32_oorx(x, env);
}

static void each_f16(const struct codelet_call *call, unary_f16 *f)
{
    const uint16_t *x = call->arg[unary__x].data;
    uint16_t *y = call->arg[unary__y].data;
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < call->arg[unary__n].value; i++)
        y[i] = f(x[i], &env);
}

static void each_f32(const struct codelet_call *call, unary_f32 *f)
{
    const uint32_t *x = call->arg[unary__x].data;
    uint32_t *y = call->arg[unary__y].data;
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < call->arg[unary__n].value; i++)
        y[i] = f(x[i], &env);
}

#define UNARY(name, type)                                                                          \
    void name##_##type##_ref(const struct codelet_call *call)                                      \
    {                                                                                              \
        each_##type(call, name##_##type);                                                          \
    }                                                                                              \
    ELEMENTWISE_CYCLES(name##_##type)

UNARY(relu, f16)
UNARY(relu, f32)
UNARY(sigmoid, f16)
UNARY(sigmoid, f32)
UNARY(swish, f16)
UNARY(swish, f32)
UNARY(tanh, f16)
UNARY(tanh, f32)
UNARY(exp, f16)
UNARY(exp, f32)
UNARY(sqrt, f16)
UNARY(sqrt, f32)
UNARY(rsqrt, f16)
UNARY(rsqrt, f32)

/* ---- control flow ---- */

void add_scalar_i32_ref(const struct codelet_call *call)
{
    uint32_t *x = call->arg[add_scalar_i32__x].data;

    for (uint32_t i = 0; i < call->arg[add_scalar_i32__n].value; i++)
        x[i] += call->arg[add_scalar_i32__b].value;
}

static uint64_t add_scalar_slots(const void *shape, unsigned w)
{
    const struct codelet_call *call = shape;

    return 13 + 1 + 3 * codelet_share(call->arch, call->arg[add_scalar_i32__n].value, w);
}

uint64_t add_scalar_i32_cycles(const struct codelet_call *call)
{
    return codelet_workers_cycles(call->arch, add_scalar_slots, call);
}

void less_scalar_u32_ref(const struct codelet_call *call)
{
    const uint32_t *a = call->arg[less_scalar_u32__a].data;
    uint32_t *out = call->arg[less_scalar_u32__out].data;

    out[0] = a[0] < call->arg[less_scalar_u32__b].value;
}

/* call, three results waited for (the address of a, a, the comparison), st32, br. */
uint64_t less_scalar_u32_cycles(const struct codelet_call *call)
{
    const struct arch *a = call->arch;

    return 2 * (uint64_t)a->sup_branch_cycles + 3 * (uint64_t)a->sup_result_cycles + 1;
}
