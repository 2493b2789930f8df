/* linear_ref.c - linear_f16_f32, linear_*_f16, sum_bias_*_f16, sum_scale_f16: meaning, and the
 * cycles of linear.inc and sum_bias.inc. */
#include "emu/arch/arch_numbers.h"
#include "programs/library/elementwise/positions_ref.h"

static uint16_t activate(uint16_t x, enum activation_f16 act, struct fp_env *env)
{
    switch (act) {
    case ACTIVATION_RELU:
        return fp_f16_max(x, 0, env);
    case ACTIVATION_SWISH:
        return fp_f16_mul(x, fp_f16_sigm(x, 0, env), 0, env);
    case ACTIVATION_SIGMOID:
        return fp_f16_sigm(x, 0, env);
    default:
        return x;
    }
}

static uint64_t activation_slots(const struct arch *a, enum activation_f16 act, unsigned registers)
{
    switch (act) {
    case ACTIVATION_RELU:
        return 1;
    case ACTIVATION_SWISH:
        return registers * (uint64_t)arch_slots_f16sigm(a) + 1;
    case ACTIVATION_SIGMOID:
        return registers * (uint64_t)arch_slots_f16sigm(a);
    default:
        return 0;
    }
}

/* ---- rows times vectors ---- */

/* The arguments of both kinds of codelets: without a bias (NULL, unit 1), or by pairs of rows. */
struct linear {
    const struct arch *arch;
    const uint16_t *a, *x;
    const uint32_t *bias;
    void *y;
    uint64_t k, m, n, unit; /* n: elements of y */
    enum activation_f16 act;
};

static struct linear linear_of(const struct codelet_call *call, int biased, enum activation_f16 act)
{
    const struct codelet_arg *arg = call->arg;
    struct linear l = { .arch = call->arch, .unit = biased ? 2 : 1, .act = act };

    l.a = arg[biased ? (int)linear__a : (int)linear_sums__a].data;
    l.x = arg[biased ? (int)linear__x : (int)linear_sums__x].data;
    l.bias = biased ? arg[linear__bias].data : NULL;
    l.y = arg[biased ? (int)linear__y : (int)linear_sums__y].data;
    l.k = arg[biased ? (int)linear__k : (int)linear_sums__k].value;
    l.m = arg[biased ? (int)linear__m : (int)linear_sums__m].value;
    l.n = arg[biased ? (int)linear__n : (int)linear_sums__n].value;
    return l;
}

static uint32_t row_sum(const uint16_t *a, const uint16_t *x, uint64_t k, struct fp_env *env)
{
    uint32_t acc[2] = { 0, 0 };

    for (uint64_t j = 0; j < k; j += 2)
        acc[j / 2 % 2] = fp_f32_add_exact_f16_products(acc[j / 2 % 2], a + j, x + j, 2, env);
    return fp_f32_add(acc[0], acc[1], env);
}

static void linear(const struct linear *l)
{
    struct fp_env env = { 0 };

    for (uint64_t i = 0; i < l->n; i++) {
        uint64_t r = i % l->m;
        uint32_t sum = row_sum(l->a + r * l->k, l->x + i / l->m * l->k, l->k, &env);

        if (!l->bias) {
            ((uint32_t *)l->y)[i] = sum;
            continue;
        }
        sum = fp_f32_add(sum, l->bias[r], &env);
        ((uint16_t *)l->y)[i] = activate(fp_f16_from_f32(sum, 0, &env), l->act, &env);
    }
}

static uint64_t linear_slots(const void *shape, unsigned w)
{
    const struct linear *l = shape;
    uint64_t units = l->n / l->unit, rows = l->m / l->unit, vectors = l->k / 4;
    uint64_t slots = l->unit == 2 ? 28 : 23, vector = 0;
    uint64_t each =
        l->unit == 2 ? 2 * vectors + 12 + activation_slots(l->arch, l->act, 1) : vectors + 7;

    if (w >= units)
        return l->unit == 2 ? 8 + 1 : 7 + 1;
    for (uint64_t u = w; u < units; u += l->arch->workers) {
        slots += each + (u > w); /* the branch from the unit before */
        if (u / rows > vector)
            slots += (u / rows - vector) * (l->unit == 2 ? 7 : 4) + 1;
        vector = u / rows;
    }
    return slots + 1;
}

static uint64_t linear_cycles(const struct codelet_call *call, int biased, enum activation_f16 act)
{
    struct linear l = linear_of(call, biased, act);

    return codelet_workers_cycles(call->arch, linear_slots, &l);
}

void linear_f16_f32_ref(const struct codelet_call *call)
{
    struct linear l = linear_of(call, 0, ACTIVATION_NONE);

    linear(&l);
}

uint64_t linear_f16_f32_cycles(const struct codelet_call *call)
{
    return linear_cycles(call, 0, ACTIVATION_NONE);
}

#define LINEAR(name, act)                                                                          \
    void name##_ref(const struct codelet_call *call)                                               \
    {                                                                                              \
        struct linear l = linear_of(call, 1, ACTIVATION_##act);                                    \
                                                                                                   \
        linear(&l);                                                                                \
    }                                                                                              \
    uint64_t name##_cycles(const struct codelet_call *call)                                        \
    {                                                                                              \
        return linear_cycles(call, 1, ACTIVATION_##act);                                           \
    }

LINEAR(linear_f16, NONE)
LINEAR(linear_relu_f16, RELU)
LINEAR(linear_swish_f16, SWISH)
LINEAR(linear_sigmoid_f16, SIGMOID)

/* ---- sums of partial results ---- */

_Static_assert((int)sum_scale__scale == sum_bias__bias && (int)sum_scale__p == sum_bias__p,
               "a scale stands where a bias does");

static void sum_bias(const struct codelet_call *call, int scaled, enum activation_f16 act)
{
    const uint32_t *partials = call->arg[sum_bias__partials].data,
                   *bias = call->arg[sum_bias__bias].data;
    uint32_t n = call->arg[sum_bias__n].value;
    uint16_t *out = call->arg[sum_bias__out].data;
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < n; i++) {
        uint32_t sum = 0;

        for (uint32_t k = 0; k < call->arg[sum_bias__p].value; k++)
            sum = fp_f32_add(sum, partials[(size_t)k * n + i], &env);
        sum = scaled ? fp_f32_mul(call->arg[sum_bias__bias].value, sum, &env)
                     : fp_f32_add(sum, bias[i], &env);
        out[i] = activate(fp_f16_from_f32(sum, 0, &env), act, &env);
    }
}

struct sum_shape {
    const struct arch *arch;
    uint64_t n, p;
    int scaled;
    enum activation_f16 act;
};

static uint64_t sum_slots(const void *shape, unsigned w)
{
    const struct sum_shape *s = shape;
    uint64_t columns = codelet_share(s->arch, s->n / 4, w);
    uint64_t each = s->p + 9 + activation_slots(s->arch, s->act, 2);

    return columns ? (s->scaled ? 16 : 18) + columns * each + 1 : 8 + 1;
}

static uint64_t sum_cycles(const struct codelet_call *call, int scaled, enum activation_f16 act)
{
    struct sum_shape s = { call->arch, call->arg[sum_bias__n].value, call->arg[sum_bias__p].value,
                           scaled, act };

    return codelet_workers_cycles(call->arch, sum_slots, &s);
}

#define SUM(name, scaled, act)                                                                     \
    void name##_ref(const struct codelet_call *call)                                               \
    {                                                                                              \
        sum_bias(call, scaled, ACTIVATION_##act);                                                  \
    }                                                                                              \
    uint64_t name##_cycles(const struct codelet_call *call)                                        \
    {                                                                                              \
        return sum_cycles(call, scaled, ACTIVATION_##act);                                         \
    }

SUM(sum_scale_f16, 1, NONE)
SUM(sum_bias_f16, 0, NONE)
SUM(sum_bias_relu_f16, 0, RELU)
SUM(sum_bias_swish_f16, 0, SWISH)
SUM(sum_bias_sigmoid_f16, 0, SIGMOID)
