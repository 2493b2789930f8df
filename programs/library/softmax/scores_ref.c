/* scores_ref.c - softmax_max_f16, softmax_exp_f16, softmax_scale_f32: meaning and cycles. */
#include "emu/arch/arch_numbers.h"
#include "programs/library/kernel/codelet_ref.h"

enum { VECTOR = 4 };

/* ---- the largest ---- */

void softmax_max_f16_ref(const struct codelet_call *call)
{
    const uint16_t *x = call->arg[softmax_max__x].data;
    struct fp_env env = { 0 };
    uint16_t lane[VECTOR];

    for (unsigned k = 0; k < VECTOR; k++) {
        lane[k] = x[k]; /* the maximum with itself: a signalling NaN becomes quiet */
        for (uint32_t i = k; i < call->arg[softmax_max__n].value; i += VECTOR)
            lane[k] = fp_f16_max(lane[k], x[i], &env);
    }
    lane[0] = fp_f16_max(lane[0], lane[2], &env);
    lane[1] = fp_f16_max(lane[1], lane[3], &env);
    *(uint32_t *)call->arg[softmax_max__out].data =
        fp_f16_to_f32(fp_f16_max(lane[0], lane[1], &env), &env);
}

uint64_t softmax_max_f16_cycles(const struct codelet_call *call)
{
    return codelet_multi_cycles(call->arch, call->arg[softmax_max__n].value / VECTOR + 16);
}

/* ---- exponentials ---- */

static uint32_t largest(const uint32_t *max, uint32_t n, struct fp_env *env)
{
    uint32_t lane[2] = { max[0], max[1] };

    for (uint32_t i = 0; i < n; i++)
        lane[i % 2] = fp_f32_max(lane[i % 2], max[i], env);
    return fp_f32_max(lane[0], lane[1], env);
}

void softmax_exp_f16_ref(const struct codelet_call *call)
{
    const uint16_t *x = call->arg[softmax_exp__x].data;
    uint32_t *y = call->arg[softmax_exp__y].data, *sum = call->arg[softmax_exp__sum].data;
    struct fp_env env = { 0 };
    uint32_t max =
        largest(call->arg[softmax_exp__max].data, call->arg[softmax_exp__maxima].value, &env);

    for (unsigned w = 0; w < call->arch->workers; w++) {
        uint32_t own[2] = { 0, 0 };

        for (uint32_t i = w * VECTOR; i < call->arg[softmax_exp__n].value;
             i += call->arch->workers * VECTOR) {
            for (uint32_t k = i; k < i + VECTOR; k++) {
                y[k] = fp_f32_exp(fp_f32_sub(fp_f16_to_f32(x[k], &env), max, &env), &env);
                own[k % 2] = fp_f32_add(own[k % 2], y[k], &env);
            }
        }
        sum[w] = fp_f32_add(own[0], own[1], &env);
    }
}

static uint64_t exp_slots(const void *shape, unsigned w)
{
    const struct codelet_call *call = shape;
    uint64_t vectors = codelet_share(call->arch, call->arg[softmax_exp__n].value / VECTOR, w);

    return 15 + call->arg[softmax_exp__maxima].value / 2 - 1 +
           (vectors ? 6 + vectors * (3 + 2 * (3 + 2 * (uint64_t)arch_slots_f32exp(call->arch)))
                    : 0) +
           3;
}

uint64_t softmax_exp_f16_cycles(const struct codelet_call *call)
{
    return codelet_workers_cycles(call->arch, exp_slots, call);
}

/* ---- quotients ---- */

static uint32_t total(const uint32_t *sums, uint32_t n, struct fp_env *env)
{
    uint32_t lane[VECTOR] = { 0 };

    for (uint32_t i = 0; i < n / VECTOR * VECTOR; i++)
        lane[i % VECTOR] = fp_f32_add(lane[i % VECTOR], sums[i], env);
    for (unsigned k = 0; k < 2; k++) {
        lane[k] = fp_f32_add(lane[k], lane[k + 2], env);
        if (n % VECTOR)
            lane[k] = fp_f32_add(lane[k], sums[n - 2 + k], env);
    }
    return fp_f32_add(lane[0], lane[1], env);
}

void softmax_scale_f32_ref(const struct codelet_call *call)
{
    const uint32_t *x = call->arg[softmax_scale__x].data;
    uint32_t *y = call->arg[softmax_scale__y].data;
    struct fp_env env = { 0 };
    uint32_t scale = fp_f32_oox(
        total(call->arg[softmax_scale__sums].data, call->arg[softmax_scale__parts].value, &env),
        &env);

    for (uint32_t i = 0; i < call->arg[softmax_scale__n].value; i++)
        y[i] = fp_f32_mul(scale, x[i], &env);
}

static uint64_t scale_slots(const void *shape, unsigned w)
{
    const struct codelet_call *call = shape;
    uint64_t vectors = codelet_share(call->arch, call->arg[softmax_scale__n].value / VECTOR, w);
    uint64_t sums = call->arg[softmax_scale__parts].value;

    if (!vectors)
        return 8 + 1;
    return 17 + (sums / VECTOR - 1) + 3 + (sums % VECTOR ? 2 : 1) + 1 +
           (uint64_t)arch_slots_f32oox(call->arch) + vectors * 6 + 1;
}

uint64_t softmax_scale_f32_cycles(const struct codelet_call *call)
{
    return codelet_workers_cycles(call->arch, scale_slots, call);
}
