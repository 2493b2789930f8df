/* function_ref.c - div, pow, slopes, erf, gelu of f32, sign, sin, cos: meaning, step by step as in
 * function.S. f16 is made of f32 and back.
 */
#include "programs/library/elementwise/elementwise_ref.h"

typedef uint32_t function1(uint32_t x, struct fp_env *env);
typedef uint32_t function2(uint32_t x, uint32_t y, struct fp_env *env);

/* ---- of two numbers ---- */

static uint32_t div_pair(uint32_t x, uint32_t y, struct fp_env *env)
{
    return fp_f32_div(x, y, env);
}

static uint32_t pow_pair(uint32_t x, uint32_t y, struct fp_env *env)
{
    uint32_t log = fp_f32_log2(fp_f32_absmax(x, x, env), env);
    uint32_t power = fp_f32_exp2(fp_f32_mul(log, y, env), env);
    uint32_t negative = fp_f32_cmplt(x, 0, env), half, none;

    power |= fp_f32_cmpne(fp_f32_int(y, FP_RND_NEAREST, env), y, env) & negative;
    half = fp_f32_int(fp_f32_mul(fp_bits(0.5f), y, env), FP_RND_NEAREST, env);
    power |= fp_f32_cmpne(fp_f32_add(half, half, env), y, env) & negative & FP_F32_SIGN;
    none = fp_f32_cmpeq(y, 0, env);
    return (power & ~none) | (none & FP_F32_ONE);
}

static uint32_t relu_slope_pair(uint32_t x, uint32_t dy, struct fp_env *env)
{
    return fp_f32_cmplt(0, x, env) & dy;
}

static uint32_t sigmoid_slope_pair(uint32_t y, uint32_t dy, struct fp_env *env)
{
    return fp_f32_mul(fp_f32_sub(y, fp_f32_mul(y, y, env), env), dy, env);
}

static uint32_t tanh_slope_pair(uint32_t y, uint32_t dy, struct fp_env *env)
{
    return fp_f32_sub(dy, fp_f32_mul(fp_f32_mul(y, y, env), dy, env), env);
}

static uint32_t swish_slope_pair(uint32_t x, uint32_t dy, struct fp_env *env)
{
    uint32_t s = fp_f32_sigm(x, env), t = fp_f32_sub(x, fp_f32_mul(x, s, env), env);

    return fp_f32_mul(fp_f32_add(s, fp_f32_mul(t, s, env), env), dy, env);
}

/* ---- of one number ---- */

/* c[0] + c[1] u + ... + c[degree] u^degree. */
static uint32_t horner(const float *c, unsigned degree, uint32_t u, struct fp_env *env)
{
    uint32_t sum = fp_bits(c[degree]);

    for (unsigned k = degree; k-- > 0;)
        sum = fp_f32_add(fp_bits(c[k]), fp_f32_mul(sum, u, env), env);
    return sum;
}

static uint32_t erf_pair(uint32_t x, struct fp_env *env)
{
    static const float c[] = { 1.1283786296844482f,      0.10277942568063736f,
                               -0.00021549250232055783f, -0.0006013773963786662f,
                               8.177063864422962e-05f,   -4.9072777983383276e-06f,
                               1.1053025872342914e-07f };
    uint32_t sum = horner(c, 6, fp_f32_mul(x, x, env), env);

    return fp_f32_tanh(fp_f32_mul(sum, x, env), env);
}

static uint32_t gelu_pair(uint32_t x, struct fp_env *env)
{
    static const float c[] = { 1.5957682865073521f,     0.07267602666124928f,
                               -7.618810270240929e-05f, -0.00010630951003759541f,
                               7.227571374790215e-06f,  -2.16873078508509e-07f,
                               2.4423968048563298e-09f };
    uint32_t sum = horner(c, 6, fp_f32_mul(x, x, env), env);

    return fp_f32_mul(fp_f32_sigm(fp_f32_mul(sum, x, env), env), x, env);
}

static uint32_t sign_pair(uint32_t x, struct fp_env *env)
{
    const uint32_t low = fp_bits(-1.0f), high = FP_F32_ONE;

    x = fp_f32_mul(fp_bits(0x1p126f), fp_f32_clamp(x, low, high, env), env);
    return fp_f32_clamp(x, low, high, env);
}

/* x less the nearest multiple of 2 pi. */
static uint32_t turn(uint32_t x, struct fp_env *env)
{
    static const float part[] = { 6.28125f, 0.0019350051879882812f, 3.0199159795074593e-07f };
    uint32_t turns =
        fp_f32_int(fp_f32_mul(fp_bits(0.15915494309189535f), x, env), FP_RND_NEAREST, env);

    for (unsigned k = 0; k < 3; k++)
        x = fp_f32_sub(x, fp_f32_mul(fp_bits(part[k]), turns, env), env);
    return x;
}

static uint32_t sin_pair(uint32_t x, struct fp_env *env)
{
    static const float c[] = { 0.999999641580043f,     -0.16666555544084277f,
                               0.008332403017417169f,  -0.00019808366026906826f,
                               2.699224636761223e-06f, -2.0337171840331435e-08f };

    x = turn(x, env);
    return fp_f32_mul(horner(c, 5, fp_f32_mul(x, x, env), env), x, env);
}

static uint32_t cos_pair(uint32_t x, struct fp_env *env)
{
    static const float c[] = { 0.9999999881955328f,     -0.4999998835542127f,
                               0.04166647904867595f,    -0.0013887753850723775f,
                               2.4768799761428064e-05f, -2.706827635734414e-07f,
                               1.7205457329534068e-09f };

    x = turn(x, env);
    return horner(c, 6, fp_f32_mul(x, x, env), env);
}

/* ---- codelets ---- */

static void unary_f32(const struct codelet_call *call, function1 *f)
{
    const uint32_t *x = call->arg[unary__x].data;
    uint32_t *y = call->arg[unary__y].data;
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < call->arg[unary__n].value; i++)
        y[i] = f(x[i], &env);
}

static void unary_f16(const struct codelet_call *call, function1 *f)
{
    const uint16_t *x = call->arg[unary__x].data;
    uint16_t *y = call->arg[unary__y].data;
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < call->arg[unary__n].value; i++)
        y[i] = fp_f16_from_f32(f(fp_f16_to_f32(x[i], &env), &env), 0, &env);
}

/* out[i] = f(a[i modulo pa], b[i modulo pb]). */
static void binary_f32(uint32_t *out, uint32_t n, const uint32_t *a, uint32_t pa, const uint32_t *b,
                       uint32_t pb, function2 *f)
{
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < n; i++)
        out[i] = f(a[i % pa], b[i % pb], &env);
}

static void binary_f16(uint16_t *out, uint32_t n, const uint16_t *a, uint32_t pa, const uint16_t *b,
                       uint32_t pb, function2 *f)
{
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < n; i++) {
        uint32_t x = fp_f16_to_f32(a[i % pa], &env), y = fp_f16_to_f32(b[i % pb], &env);

        out[i] = fp_f16_from_f32(f(x, y, &env), 0, &env);
    }
}

#define ONE_OPERAND(name, type)                                                                    \
    void name##_##type##_ref(const struct codelet_call *call)                                      \
    {                                                                                              \
        unary_##type(call, name##_pair);                                                           \
    }                                                                                              \
    ELEMENTWISE_CYCLES(name##_##type)

#define TWO_LISTS(name, type)                                                                      \
    void name##_##type##_ref(const struct codelet_call *call)                                      \
    {                                                                                              \
        uint32_t n = call->arg[binary__n].value;                                                   \
                                                                                                   \
        binary_##type(call->arg[binary__out].data, n, call->arg[binary__a].data, n + !n,           \
                      call->arg[binary__b].data, n + !n, name##_pair);                             \
    }                                                                                              \
    ELEMENTWISE_CYCLES(name##_##type)

#define TWO_OPERANDS(name, type, word)                                                             \
    TWO_LISTS(name, type)                                                                          \
    void name##_scalar_##type##_ref(const struct codelet_call *call)                               \
    {                                                                                              \
        uint32_t n = call->arg[scalar__n].value;                                                   \
        word b = (word)call->arg[scalar__b].value;                                                 \
                                                                                                   \
        binary_##type(call->arg[scalar__out].data, n, call->arg[scalar__a].data, n + !n, &b, 1,    \
                      name##_pair);                                                                \
    }                                                                                              \
    void scalar_##name##_##type##_ref(const struct codelet_call *call)                             \
    {                                                                                              \
        uint32_t n = call->arg[scalar__n].value;                                                   \
        word b = (word)call->arg[scalar__b].value;                                                 \
                                                                                                   \
        binary_##type(call->arg[scalar__out].data, n, &b, 1, call->arg[scalar__a].data, n + !n,    \
                      name##_pair);                                                                \
    }                                                                                              \
    ELEMENTWISE_CYCLES(name##_scalar_##type)                                                       \
    ELEMENTWISE_CYCLES(scalar_##name##_##type)

TWO_OPERANDS(div, f16, uint16_t)
TWO_OPERANDS(div, f32, uint32_t)
TWO_OPERANDS(pow, f16, uint16_t)
TWO_OPERANDS(pow, f32, uint32_t)
TWO_LISTS(relu_slope, f32)
TWO_LISTS(sigmoid_slope, f16)
TWO_LISTS(sigmoid_slope, f32)
TWO_LISTS(tanh_slope, f16)
TWO_LISTS(tanh_slope, f32)
TWO_LISTS(swish_slope, f32)
ONE_OPERAND(erf, f16)
ONE_OPERAND(erf, f32)
ONE_OPERAND(gelu, f32)
ONE_OPERAND(sign, f16)
ONE_OPERAND(sign, f32)
ONE_OPERAND(sin, f16)
ONE_OPERAND(sin, f32)
ONE_OPERAND(cos, f16)
ONE_OPERAND(cos, f32)
