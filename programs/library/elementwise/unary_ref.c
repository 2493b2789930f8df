/* unary_ref.c - functions of one number in f16 and f32, also with two scalars; select; the integer
 * helpers of control flow: meaning. Rounding is to nearest even.
 */
#include "emu/arch/arch_numbers.h"
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

static uint16_t abs_f16(uint16_t x, struct fp_env *env)
{
    return fp_f16_absmax(x, x, env);
}

static uint32_t abs_f32(uint32_t x, struct fp_env *env)
{
    return fp_f32_absmax(x, x, env);
}

static uint16_t log_f16(uint16_t x, struct fp_env *env)
{
    return fp_f16_ln(x, 0, env);
}

static uint32_t log_f32(uint32_t x, struct fp_env *env)
{
    return fp_f32_ln(x, env);
}

static uint16_t reciprocal_f16(uint16_t x, struct fp_env *env)
{
    return fp_f16_from_f32(fp_f32_oox(fp_f16_to_f32(x, env), env), 0, env);
}

static uint16_t floor_f16(uint16_t x, struct fp_env *env)
{
    return fp_f16_from_f32(fp_f32_int(fp_f16_to_f32(x, env), FP_RND_DOWN, env), 0, env);
}

static uint32_t floor_f32(uint32_t x, struct fp_env *env)
{
    return fp_f32_int(x, FP_RND_DOWN, env);
}

static uint16_t ceil_f16(uint16_t x, struct fp_env *env)
{
    return fp_f16_from_f32(fp_f32_int(fp_f16_to_f32(x, env), FP_RND_UP, env), 0, env);
}

static uint32_t ceil_f32(uint32_t x, struct fp_env *env)
{
    return fp_f32_int(x, FP_RND_UP, env);
}

static uint16_t round_f16(uint16_t x, struct fp_env *env)
{
    return fp_f16_from_f32(fp_f32_int(fp_f16_to_f32(x, env), FP_RND_NEAREST, env), 0, env);
}

static uint32_t round_f32(uint32_t x, struct fp_env *env)
{
    return fp_f32_int(x, FP_RND_NEAREST, env);
}

/* 3 and 6 in f16, 1/6 as the sum of two f16. */
static uint16_t hard_swish_f16(uint16_t x, struct fp_env *env)
{
    static const uint16_t sixth[2] = { 0x3155, 0x02ab };
    uint16_t t = fp_f16_clamp(fp_f16_add(0x4200, x, 0, env), 0, 0x4600, env);
    const uint16_t tt[2] = { t, t };

    t = fp_f16_from_f32(fp_f32_sum_exact_f16_products(tt, sixth, 2, env), 0, env);
    return fp_f16_mul(t, x, 0, env);
}

/* c1 and c0, c2 and 25 of unary.S. */
static uint16_t gelu_f16(uint16_t x, struct fp_env *env)
{
    uint16_t u = fp_f16_clamp(fp_f16_mul(x, x, 0, env), 0x912d, 0x4e40, env);
    uint16_t t = fp_f16_add(0x2cb6, fp_f16_mul(0x912d, u, 0, env), 0, env);

    t = fp_f16_add(0x3e62, fp_f16_mul(t, u, 0, env), 0, env);
    return fp_f16_mul(fp_f16_sigm(fp_f16_mul(t, x, 0, env), 0, env), x, 0, env);
}

static uint32_t hard_swish_f32(uint32_t x, struct fp_env *env)
{
    uint32_t t = fp_f32_clamp(fp_f32_add(fp_bits(3.0f), x, env), 0, fp_bits(6.0f), env);

    return fp_f32_mul(fp_f32_mul(fp_bits(1 / 6.0f), t, env), x, env);
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
UNARY(abs, f16)
UNARY(abs, f32)
UNARY(log, f16)
UNARY(log, f32)
UNARY(reciprocal, f16)
UNARY(floor, f16)
UNARY(floor, f32)
UNARY(ceil, f16)
UNARY(ceil, f32)
UNARY(round, f16)
UNARY(round, f32)
UNARY(hard_swish, f16)
UNARY(gelu, f16)
UNARY(hard_swish, f32)

/* ---- with two scalars; f16 are in both halves of their words ---- */

static uint16_t clamp_f16(uint16_t x, uint16_t p, uint16_t q, struct fp_env *env)
{
    return fp_f16_clamp(x, p, q, env);
}

static uint32_t clamp_f32(uint32_t x, uint32_t p, uint32_t q, struct fp_env *env)
{
    return fp_f32_clamp(x, p, q, env);
}

static uint16_t hard_sigmoid_f16(uint16_t x, uint16_t p, uint16_t q, struct fp_env *env)
{
    return fp_f16_clamp(fp_f16_add(q, fp_f16_mul(p, x, 0, env), 0, env), 0, 0x3c00, env);
}

static uint32_t hard_sigmoid_f32(uint32_t x, uint32_t p, uint32_t q, struct fp_env *env)
{
    return fp_f32_clamp(fp_f32_add(q, fp_f32_mul(p, x, env), env), 0, FP_F32_ONE, env);
}

#define SCALARS(name, type, word)                                                                  \
    void name##_##type##_ref(const struct codelet_call *call)                                      \
    {                                                                                              \
        const word *x = call->arg[scalars__x].data;                                                \
        word *y = call->arg[scalars__y].data;                                                      \
        word p = (word)call->arg[scalars__p].value, q = (word)call->arg[scalars__q].value;         \
        struct fp_env env = { 0 };                                                                 \
                                                                                                   \
        for (uint32_t i = 0; i < call->arg[scalars__n].value; i++)                                 \
            y[i] = name##_##type(x[i], p, q, &env);                                                \
    }                                                                                              \
    ELEMENTWISE_CYCLES(name##_##type)

SCALARS(clamp, f16, uint16_t)
SCALARS(clamp, f32, uint32_t)
SCALARS(hard_sigmoid, f16, uint16_t)
SCALARS(hard_sigmoid, f32, uint32_t)

/* ---- select: which of two, bit by bit ---- */

#define SELECT(type, word)                                                                         \
    void select_##type##_ref(const struct codelet_call *call)                                      \
    {                                                                                              \
        const word *cond = call->arg[select__cond].data;                                           \
        const word *a = call->arg[select__a].data, *b = call->arg[select__b].data;                 \
        word *out = call->arg[select__out].data;                                                   \
        struct fp_env env = { 0 };                                                                 \
                                                                                                   \
        for (uint32_t i = 0; i < call->arg[select__n].value; i++)                                  \
            out[i] = fp_##type##_cmpne(cond[i], 0, &env) ? a[i] : b[i];                            \
    }                                                                                              \
    ELEMENTWISE_CYCLES(select_##type)

SELECT(f16, uint16_t)
SELECT(f32, uint32_t)

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

    return 2 * (uint64_t)arch_sup_branch_cycles(a) + 3 * (uint64_t)arch_sup_result_cycles(a) + 1;
}
