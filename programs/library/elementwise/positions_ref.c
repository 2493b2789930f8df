/* positions_ref.c - codelets on [blocks][f][16] f16 with operands [blocks][16], which are bias_*,
 * scale_f16, scale_shift_* and affine_*: meaning, and the cycles of positions.inc, bias.S and
 * scale_shift.S. */
#include "programs/library/elementwise/positions_ref.h"

#include "emu/arch/arch_numbers.h"

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
    uint32_t more; /* slots before the first position */
};

static uint64_t bias_slots(const void *shape, unsigned w)
{
    const struct bias_shape *s = shape;
    struct positions p = positions_of(s->arch, s->blocks, s->f, w);
    uint64_t sigm = arch_slots_f16sigm(s->arch), tanh = arch_slots_f16tanh(s->arch);

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
                            act, 0 };

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

/* What scale_shift_* (x is y) and affine_* have in common. */
struct scale_shift {
    const uint16_t *x, *scale, *shift;
    uint16_t *y;
    uint32_t blocks, f;
    uint32_t more; /* slots before the first position besides those of scale_shift_* */
};

#define SCALE_SHIFT_OF(call, state, to, slots)                                                     \
    {                                                                                              \
        .x = (call)->arg[state##__x].data, .scale = (call)->arg[state##__scale].data,              \
        .shift = (call)->arg[state##__shift].data, .y = (call)->arg[state##__##to].data,           \
        .blocks = (call)->arg[state##__blocks].value, .f = (call)->arg[state##__f].value,          \
        .more = (slots)                                                                            \
    }

static void scale_and_shift(const struct scale_shift *s, operation_f16 *sum)
{
    uint64_t block = (uint64_t)s->f * 16;
    struct fp_env env = { 0 };

    for (uint64_t i = 0; i < s->blocks * block; i++) {
        uint64_t channel = i / block * 16 + i % 16;
        uint16_t product = fp_f16_mul(s->x[i], s->scale[channel], 0, &env);

        s->y[i] = sum(product, s->shift[channel], &env);
    }
}

static uint64_t scale_shift_slots(const void *shape, unsigned w)
{
    const struct bias_shape *s = shape;
    struct positions p = positions_of(s->arch, s->blocks, s->f, w);

    if (!p.count)
        return POSITIONS_NONE_SLOTS + 1;
    if (s->act == ACTIVATION_SWISH)
        return POSITIONS_SLOTS + 4 + s->more + p.blocks * 11 +
               p.count * 4 * (2 * (uint64_t)arch_slots_f16tanh(s->arch) + 4) + 1;
    return POSITIONS_SLOTS + 1 + PACE_SLOTS + s->more + p.blocks * 6 + p.count * 4 * 3 + 1;
}

static uint64_t scale_shift_cycles(const struct arch *a, const struct scale_shift *s,
                                   enum activation_f16 act)
{
    struct bias_shape shape = { a, s->blocks, s->f, act, s->more };

    return codelet_workers_cycles(a, scale_shift_slots, &shape);
}

#define SCALE_SHIFT(name, state, to, slots, sum, act)                                              \
    void name##_ref(const struct codelet_call *call)                                               \
    {                                                                                              \
        const struct scale_shift s = SCALE_SHIFT_OF(call, state, to, slots);                       \
                                                                                                   \
        scale_and_shift(&s, sum);                                                                  \
    }                                                                                              \
    uint64_t name##_cycles(const struct codelet_call *call)                                        \
    {                                                                                              \
        const struct scale_shift s = SCALE_SHIFT_OF(call, state, to, slots);                       \
                                                                                                   \
        return scale_shift_cycles(call->arch, &s, ACTIVATION_##act);                               \
    }

SCALE_SHIFT(scale_shift_f16, scale_shift, x, 0, add, NONE)
SCALE_SHIFT(scale_shift_relu_f16, scale_shift, x, 0, add_relu, RELU)
SCALE_SHIFT(scale_shift_swish_f16, scale_shift, x, 0, sum_swish, SWISH)
SCALE_SHIFT(affine_f16, affine, y, 1, add, NONE)
SCALE_SHIFT(affine_relu_f16, affine, y, 1, add_relu, RELU)
SCALE_SHIFT(affine_swish_f16, affine, y, 1, sum_swish, SWISH)
