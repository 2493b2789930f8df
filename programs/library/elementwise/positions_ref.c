/* positions_ref.c - codelets on [blocks][f][16] f16 with operands [blocks][16], which are bias_*,
 * scale_f16 and scale_shift_*: meaning, and the cycles of positions.inc, bias.S and
 * scale_shift.S. */
#include "programs/library/elementwise/positions_ref.h"

enum { PACE_SLOTS = 4 }; /* of PACE */

typedef uint16_t operation_f16(uint16_t x, uint16_t operand, struct fp_env *env);

static uint16_t add(uint16_t x, uint16_t b, struct fp_env *env)
{
    return fp_f16_add(x, b, 0, env);
}

static uint16_t add_relu(uint16_t x, uint16_t b, struct fp_env *env)
{
    return fp_f16_max(add(x, b, env), 0, env);
}

static uint16_t add_sigmoid(uint16_t x, uint16_t b, struct fp_env *env)
{
    return fp_f16_sigm(add(x, b, env), 0, env);
}

static uint16_t mul(uint16_t x, uint16_t s, struct fp_env *env)
{
    return fp_f16_mul(x, s, 0, env);
}

/* Swish of a + b as f16v4mix and f16v2tanh compute it, from h = (a + b) / 2. */
static uint16_t sum_swish(uint16_t a, uint16_t b, struct fp_env *env)
{
    static const uint16_t half[2] = { 0x3800, 0x3800 };
    const uint16_t ab[2] = { a, b };
    uint16_t h = fp_f16_from_f32(fp_f32_sum_exact_f16_products(ab, half, 2, env), 0, env);

    return fp_f16_add(fp_f16_mul(h, fp_f16_tanh(h, 0, env), 0, env), h, 0, env);
}

_Static_assert((int)scale__scale == bias__bias && (int)scale__blocks == bias__blocks &&
                   (int)scale__f == bias__f,
               "a scale stands where a bias does");

static void each_channel(const struct codelet_call *call, operation_f16 *op)
{
    const uint16_t *operand = call->arg[bias__bias].data;
    uint16_t *x = call->arg[bias__x].data;
    struct fp_env env = { 0 };

    for (uint32_t b = 0; b < call->arg[bias__blocks].value; b++, operand += 16) {
        for (uint32_t p = 0; p < call->arg[bias__f].value; p++, x += 16) {
            for (unsigned c = 0; c < 16; c++)
                x[c] = op(x[c], operand[c], &env);
        }
    }
}

/* ---- time ---- */

struct positions positions_of(const struct arch *a, uint64_t blocks, uint64_t f, unsigned w)
{
    uint64_t first = w * blocks * f / a->workers, end = (w + 1) * blocks * f / a->workers;
    struct positions p = { .count = end - first };

    if (!p.count)
        return p;
    p.blocks = (end - 1) / f - first / f + 1;
    return p;
}

struct bias_shape {
    const struct arch *arch;
    uint64_t blocks, f;
    enum activation_f16 act;
};

static uint64_t bias_slots(const void *shape, unsigned w)
{
    const struct bias_shape *s = shape;
    struct positions p = positions_of(s->arch, s->blocks, s->f, w);
    uint64_t sigm = s->arch->slots_f16sigm, tanh = s->arch->slots_f16tanh;

    if (!p.count)
        return POSITIONS_NONE_SLOTS + 1;
    switch (s->act) {
    case ACTIVATION_NONE:
        return POSITIONS_SLOTS + PACE_SLOTS + 3 + (p.blocks - 1) * 6 + 4 + p.count * 4 + 1;
    case ACTIVATION_RELU:
        return POSITIONS_SLOTS + PACE_SLOTS + p.blocks * 5 + p.count * 8 + 1;
    case ACTIVATION_SWISH:
        return POSITIONS_SLOTS + 3 + p.blocks * 9 + p.count * 4 * (2 * tanh + 3) + 1;
    default:
        return POSITIONS_SLOTS + 5 + p.blocks * 6 + p.count * 4 * (2 * sigm + 1) + 1;
    }
}

static uint64_t bias_cycles(const struct codelet_call *call, enum activation_f16 act)
{
    struct bias_shape s = { call->arch, call->arg[bias__blocks].value, call->arg[bias__f].value,
                            act };

    return codelet_workers_cycles(call->arch, bias_slots, &s);
}

#define BIAS(name, op, act)                                                                        \
    void name##_ref(const struct codelet_call *call)                                               \
    {                                                                                              \
        each_channel(call, op);                                                                    \
    }                                                                                              \
    uint64_t name##_cycles(const struct codelet_call *call)                                        \
    {                                                                                              \
        return bias_cycles(call, ACTIVATION_##act);                                                \
    }

BIAS(bias_f16, add, NONE)
BIAS(bias_relu_f16, add_relu, RELU)
BIAS(bias_swish_f16, sum_swish, SWISH)
BIAS(bias_sigmoid_f16, add_sigmoid, SIGMOID)
BIAS(scale_f16, mul, NONE)

/* ---- scale_shift ---- */

static void scale_shift(const struct codelet_call *call, operation_f16 *sum)
{
    const uint16_t *scale = call->arg[scale_shift__scale].data,
                   *shift = call->arg[scale_shift__shift].data;
    uint64_t f = call->arg[scale_shift__f].value, n = call->arg[scale_shift__blocks].value * f * 16;
    uint16_t *x = call->arg[scale_shift__x].data;
    struct fp_env env = { 0 };

    for (uint64_t i = 0; i < n; i++) {
        uint64_t channel = i / (f * 16) * 16 + i % 16;
        uint16_t product = fp_f16_mul(x[i], scale[channel], 0, &env);

        x[i] = sum(product, shift[channel], &env);
    }
}

static uint64_t scale_shift_slots(const void *shape, unsigned w)
{
    const struct bias_shape *s = shape;
    struct positions p = positions_of(s->arch, s->blocks, s->f, w);

    if (!p.count)
        return POSITIONS_NONE_SLOTS + 1;
    if (s->act == ACTIVATION_SWISH)
        return POSITIONS_SLOTS + 4 + p.blocks * 11 +
               p.count * 4 * (2 * (uint64_t)s->arch->slots_f16tanh + 4) + 1;
    return POSITIONS_SLOTS + 1 + PACE_SLOTS + p.blocks * 6 + p.count * 4 * 3 + 1;
}

static uint64_t scale_shift_cycles(const struct codelet_call *call, enum activation_f16 act)
{
    struct bias_shape s = { call->arch, call->arg[scale_shift__blocks].value,
                            call->arg[scale_shift__f].value, act };

    return codelet_workers_cycles(call->arch, scale_shift_slots, &s);
}

#define SCALE_SHIFT(name, sum, act)                                                                \
    void name##_ref(const struct codelet_call *call)                                               \
    {                                                                                              \
        scale_shift(call, sum);                                                                    \
    }                                                                                              \
    uint64_t name##_cycles(const struct codelet_call *call)                                        \
    {                                                                                              \
        return scale_shift_cycles(call, ACTIVATION_##act);                                         \
    }

SCALE_SHIFT(scale_shift_f16, add, NONE)
SCALE_SHIFT(scale_shift_relu_f16, add_relu, RELU)
SCALE_SHIFT(scale_shift_swish_f16, sum_swish, SWISH)
