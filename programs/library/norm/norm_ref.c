/* norm_ref.c - norm_fold_f32, norm_params_f16: meaning and cycles. */
#include "emu/arch/arch_numbers.h"
#include "programs/library/kernel/codelet_ref.h"
#include "programs/library/norm/norm_params_ref.h"

/* ---- sums of channels to sums of groups ---- */

/* Where the channels of group g begin and end among those of the call. */
static uint32_t group_begin(const struct codelet_call *call, uint32_t g)
{
    uint32_t at = g * call->arg[norm_fold__each].value, first = call->arg[norm_fold__first].value;

    return at > first ? at - first : 0;
}

static uint32_t group_end(const struct codelet_call *call, uint32_t g)
{
    uint32_t end = (g + 1) * call->arg[norm_fold__each].value - call->arg[norm_fold__first].value;

    return end < call->arg[norm_fold__channels].value ? end : call->arg[norm_fold__channels].value;
}

void norm_fold_f32_ref(const struct codelet_call *call)
{
    uint32_t *totals = call->arg[norm_fold__totals].data;
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < call->arg[norm_fold__n].value; i++) {
        const uint32_t *x = call->arg[i % 2 ? norm_fold__sumsq : norm_fold__sum].data;

        totals[i] = 0;
        for (uint32_t c = group_begin(call, i / 2); c < group_end(call, i / 2); c++)
            totals[i] = fp_f32_add(totals[i], x[c], &env);
    }
}

static uint64_t fold_slots(const void *shape, unsigned w)
{
    const struct codelet_call *call = shape;
    uint64_t slots = 4 + (w < call->arg[norm_fold__n].value ? 1 : 2);

    for (uint32_t i = w; i < call->arg[norm_fold__n].value; i += call->arch->workers)
        slots += 17 + group_end(call, i / 2) - group_begin(call, i / 2);
    return slots + (w < call->arg[norm_fold__n].value ? 5 : 0);
}

uint64_t norm_fold_f32_cycles(const struct codelet_call *call)
{
    return codelet_workers_cycles(call->arch, fold_slots, call);
}

/* ---- scale and shift ---- */

static uint32_t group_of(const struct codelet_call *call, uint32_t channel)
{
    uint32_t g =
        (channel + call->arg[norm_params__first].value) / call->arg[norm_params__each].value;

    return g < call->arg[norm_params__groups].value ? g : call->arg[norm_params__groups].value - 1;
}

/* Mean and inverse deviation of group g. */
static void moments(const struct codelet_call *call, uint32_t g, uint32_t *mean, uint32_t *rstd)
{
    uint32_t p = call->arg[norm_params__p].value, inverse = call->arg[norm_params__inverse].value,
             sum[2] = { 0 };
    const uint32_t *x = (const uint32_t *)call->arg[norm_params__totals].data + (size_t)g * p * 2;
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < 2 * p; i++)
        sum[i % 2] = fp_f32_add(sum[i % 2], x[i], &env);
    norm_moments(sum, inverse, call->arg[norm_params__eps].value, mean, rstd);
}

void norm_params_f16_ref(const struct codelet_call *call)
{
    const uint32_t *gamma = call->arg[norm_params__gamma].data,
                   *beta = call->arg[norm_params__beta].data;
    uint16_t *scale = call->arg[norm_params__scale].data,
             *shift = call->arg[norm_params__shift].data;

    for (uint32_t c = 0; c < call->arg[norm_params__n].value; c++) {
        uint32_t mean, rstd;

        moments(call, group_of(call, c), &mean, &rstd);
        norm_scale_shift(mean, rstd, gamma[c], beta[c], &scale[c], &shift[c]);
    }
}

static uint64_t params_slots(const void *shape, unsigned w)
{
    const struct codelet_call *call = shape;
    const struct arch *a = call->arch;
    uint64_t pairs = call->arg[norm_params__n].value / 2,
             most = (pairs + a->workers - 1) / a->workers;
    uint64_t group = 8 + call->arg[norm_params__p].value + arch_slots_f32oorx(a), slots;
    uint32_t c = (uint32_t)(2 * most * w), end, g;

    if (2 * pairs <= c)
        return 14;
    end = c + 2 * (uint32_t)codelet_block(a, pairs, w);
    g = group_of(call, c);
    slots = 35 + 7 * (uint64_t)g + group;
    if (c + call->arg[norm_params__first].value >=
        call->arg[norm_params__groups].value * call->arg[norm_params__each].value)
        slots++; /* the search ends after the last group */
    for (; c < end; c += 2) {
        uint32_t now = group_of(call, c), next = group_of(call, c + 1);

        if (now != g)
            slots += 5 + group;
        slots += next == now ? 11 : 22 + group;
        g = next;
    }
    return slots + 1;
}

uint64_t norm_params_f16_cycles(const struct codelet_call *call)
{
    return codelet_workers_cycles(call->arch, params_slots, call);
}
