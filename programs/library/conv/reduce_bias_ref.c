/* reduce_bias_ref.c - reduce_bias_f16 and _f32, alone, with relu and with swish: meaning, and the
 * cycles of reduce_bias_f16.inc and reduce_bias_f32.inc. A sum begins with the bias, in f32, and is
 * rounded once. */
#include "emu/arch/arch_numbers.h"
#include "programs/library/elementwise/positions_ref.h"

static uint16_t activate(uint16_t x, enum activation_f16 act, struct fp_env *env)
{
    switch (act) {
    case ACTIVATION_RELU:
        return fp_f16_max(x, 0, env);
    case ACTIVATION_SWISH:
        return fp_f16_mul(fp_f16_sigm(x, 0, env), x, 0, env);
    default:
        return x;
    }
}

static void reduce_bias(const struct codelet_call *call, enum activation_f16 act)
{
    const uint16_t *partials = call->arg[reduce_bias__partials].data,
                   *bias = call->arg[reduce_bias__bias].data;
    uint32_t n = call->arg[reduce_bias__n].value;
    uint16_t *out = call->arg[reduce_bias__out].data;
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < n; i++) {
        uint32_t sum = fp_f16_to_f32(bias[i % 16], &env);

        for (uint32_t k = 0; k < call->arg[reduce_bias__p].value; k++)
            sum = fp_f32_add(sum, fp_f16_to_f32(partials[(size_t)k * n + i], &env), &env);
        out[i] = activate(fp_f16_from_f32(sum, 0, &env), act, &env);
    }
}

struct reduce_bias_shape {
    const struct arch *arch;
    uint64_t n, p;
    enum activation_f16 act;
};

static uint64_t reduce_bias_slots(const void *shape, unsigned w)
{
    const struct reduce_bias_shape *s = shape;
    uint64_t columns = codelet_share(s->arch, s->n / 8, w), sigm = arch_slots_f16sigm(s->arch);

    if (!columns)
        return 11 + 1;
    switch (s->act) {
    case ACTIVATION_NONE:
        return 24 + columns * (s->p + 6) + 2;
    case ACTIVATION_RELU:
        return 24 + columns * (s->p + 6) + 3;
    default:
        return 24 + columns * (s->p + 6 + 4 * sigm) + 3;
    }
}

static uint64_t reduce_bias_cycles(const struct codelet_call *call, enum activation_f16 act)
{
    struct reduce_bias_shape s = { call->arch, call->arg[reduce_bias__n].value,
                                   call->arg[reduce_bias__p].value, act };

    return codelet_workers_cycles(call->arch, reduce_bias_slots, &s);
}

#define REDUCE_BIAS(name, act)                                                                     \
    void name##_ref(const struct codelet_call *call)                                               \
    {                                                                                              \
        reduce_bias(call, ACTIVATION_##act);                                                       \
    }                                                                                              \
    uint64_t name##_cycles(const struct codelet_call *call)                                        \
    {                                                                                              \
        return reduce_bias_cycles(call, ACTIVATION_##act);                                         \
    }

REDUCE_BIAS(reduce_bias_f16, NONE)
REDUCE_BIAS(reduce_bias_relu_f16, RELU)
REDUCE_BIAS(reduce_bias_swish_f16, SWISH)

/* ---- f32 partials, [p][2][n / 16][8] ---- */

static void reduce_bias_f32(const struct codelet_call *call, enum activation_f16 act)
{
    const uint32_t *partials = call->arg[reduce_bias__partials].data;
    const uint16_t *bias = call->arg[reduce_bias__bias].data;
    uint32_t n = call->arg[reduce_bias__n].value;
    uint16_t *out = call->arg[reduce_bias__out].data;
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = i % 16 / 8 * (n / 2) + i / 16 * 8 + i % 8;
        uint32_t sum = fp_f32_add(0, fp_f16_to_f32(bias[i % 16], &env), &env);

        for (uint32_t k = 0; k < call->arg[reduce_bias__p].value; k++)
            sum = fp_f32_add(sum, partials[(size_t)k * n + at], &env);
        out[i] = activate(fp_f16_from_f32(sum, 0, &env), act, &env);
    }
}

static uint64_t reduce_bias_f32_slots(const void *shape, unsigned w)
{
    const struct reduce_bias_shape *s = shape;
    uint64_t columns = codelet_share(s->arch, s->n / 8, w), sigm = arch_slots_f16sigm(s->arch);
    uint64_t column = 2 * s->p + (s->act == ACTIVATION_NONE ? 8 : 9);

    if (!columns)
        return 11 + 1;
    return 28 + columns * (column + (s->act == ACTIVATION_SWISH ? 4 * sigm : 0)) + 2;
}

static uint64_t reduce_bias_f32_cycles_of(const struct codelet_call *call, enum activation_f16 act)
{
    struct reduce_bias_shape s = { call->arch, call->arg[reduce_bias__n].value,
                                   call->arg[reduce_bias__p].value, act };

    return codelet_workers_cycles(call->arch, reduce_bias_f32_slots, &s);
}

#define REDUCE_BIAS_F32(name, act)                                                                 \
    void name##_ref(const struct codelet_call *call)                                               \
    {                                                                                              \
        reduce_bias_f32(call, ACTIVATION_##act);                                                   \
    }                                                                                              \
    uint64_t name##_cycles(const struct codelet_call *call)                                        \
    {                                                                                              \
        return reduce_bias_f32_cycles_of(call, ACTIVATION_##act);                                  \
    }

REDUCE_BIAS_F32(reduce_bias_f32, NONE)
REDUCE_BIAS_F32(reduce_bias_relu_f32, RELU)
REDUCE_BIAS_F32(reduce_bias_swish_f32, SWISH)
