/* norm_strided_ref.c - norm_fold_strided_f32, norm_params_strided_f16: meaning and cycles. */
#include "emu/arch/arch_numbers.h"
#include "programs/library/kernel/codelet_ref.h"
#include "programs/library/norm/norm_params_ref.h"

/* ---- sums of channels to sums of groups ---- */

/* The first channel of the group of total i. */
static uint32_t first_channel(const struct codelet_call *call, uint32_t i)
{
    uint32_t groups = call->arg[norm_fold_strided__groups].value;

    return (i / 2 + groups - call->arg[norm_fold_strided__first].value) % groups;
}

static uint32_t channels_of(const struct codelet_call *call, uint32_t i)
{
    return call->arg[norm_fold_strided__rows].value +
           (first_channel(call, i) < call->arg[norm_fold_strided__rest].value);
}

void norm_fold_strided_f32_ref(const struct codelet_call *call)
{
    uint32_t *totals = call->arg[norm_fold_strided__totals].data;
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < call->arg[norm_fold_strided__n].value; i++) {
        const uint32_t *x =
            call->arg[i % 2 ? norm_fold_strided__sumsq : norm_fold_strided__sum].data;

        totals[i] = 0;
        for (uint32_t k = 0; k < channels_of(call, i); k++)
            totals[i] = fp_f32_add(
                totals[i],
                x[first_channel(call, i) + (size_t)k * call->arg[norm_fold_strided__groups].value],
                &env);
    }
}

static uint64_t fold_slots(const void *shape, unsigned w)
{
    const struct codelet_call *call = shape;
    uint32_t n = call->arg[norm_fold_strided__n].value;
    uint64_t slots = w < n ? 10 : 5;

    for (uint32_t i = w; i < n; i += call->arch->workers)
        slots += 17 + channels_of(call, i);
    return slots + 1;
}

uint64_t norm_fold_strided_f32_cycles(const struct codelet_call *call)
{
    return codelet_workers_cycles(call->arch, fold_slots, call);
}

/* ---- scale and shift ---- */

/* Mean and inverse deviation of group g. */
static void moments(const struct codelet_call *call, uint32_t g, uint32_t *mean, uint32_t *rstd)
{
    uint32_t groups = call->arg[norm_params_strided__groups].value;
    uint32_t inverse = call->arg[norm_params_strided__inverse].value, sum[2] = { 0 };
    const uint32_t *x = call->arg[norm_params_strided__totals].data;
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < call->arg[norm_params_strided__p].value; i++) {
        for (unsigned k = 0; k < 2; k++)
            sum[k] = fp_f32_add(sum[k], x[((size_t)i * groups + g) * 2 + k], &env);
    }
    norm_moments(sum, inverse, call->arg[norm_params_strided__eps].value, mean, rstd);
}

static uint32_t group_of(const struct codelet_call *call, uint32_t channel)
{
    return (channel + call->arg[norm_params_strided__first].value) %
           call->arg[norm_params_strided__groups].value;
}

void norm_params_strided_f16_ref(const struct codelet_call *call)
{
    const uint32_t *gamma = call->arg[norm_params_strided__gamma].data,
                   *beta = call->arg[norm_params_strided__beta].data;
    uint16_t *scale = call->arg[norm_params_strided__scale].data,
             *shift = call->arg[norm_params_strided__shift].data;

    for (uint32_t c = 0; c < call->arg[norm_params_strided__n].value; c++) {
        uint32_t mean, rstd;

        moments(call, group_of(call, c), &mean, &rstd);
        norm_scale_shift(mean, rstd, gamma[c], beta[c], &scale[c], &shift[c]);
    }
}

static uint64_t params_slots(const void *shape, unsigned w)
{
    const struct codelet_call *call = shape;
    const struct arch *a = call->arch;
    uint32_t pairs = call->arg[norm_params_strided__n].value / 2,
             groups = call->arg[norm_params_strided__groups].value, have = UINT32_MAX;
    uint64_t statistics = 10 + call->arg[norm_params_strided__p].value + arch_slots_f32oorx(a);
    uint64_t slots = 11;
    uint32_t g = 2 * w + call->arg[norm_params_strided__first].value;

    if (w >= pairs)
        return slots + 1;
    slots += 17;
    for (uint32_t k = w; k < pairs; k += a->workers, g += 2 * a->workers) {
        slots += 2 + 4 * (uint64_t)(g / groups);
        g %= groups;
        slots += 2 + (g == have ? 0 : 4 + 2 * statistics) + 9;
        have = g;
    }
    return slots + 1;
}

uint64_t norm_params_strided_f16_cycles(const struct codelet_call *call)
{
    return codelet_workers_cycles(call->arch, params_slots, call);
}
