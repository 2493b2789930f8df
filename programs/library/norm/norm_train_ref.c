/* norm_train_ref.c - norm_train_f32, norm_back_sums_f32, norm_back_factors_f32, lerp_f32,
 * dot_columns_f16, norm_back_f16: meaning and cycles. */
#include "emu/arch/arch_numbers.h"
#include "programs/library/elementwise/positions_ref.h"

enum { CHANNELS = 16, PAIR_FACTORS = 6 };

/* ---- lists ---- */

void norm_train_f32_ref(const struct codelet_call *call)
{
    const struct codelet_arg *arg = call->arg;
    const uint32_t *sum = arg[norm_train__sum].data, *squares = arg[norm_train__squares].data;
    const uint32_t *gamma = arg[norm_train__gamma].data, *beta = arg[norm_train__beta].data;
    uint32_t *mean = arg[norm_train__mean].data, *variance = arg[norm_train__variance].data;
    uint32_t *rstd = arg[norm_train__rstd].data, inverse = arg[norm_train__inverse].value;
    uint16_t *scale = arg[norm_train__scale].data, *shift = arg[norm_train__shift].data;
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < arg[norm_train__n].value; i++) {
        uint32_t v;

        mean[i] = fp_f32_mul(inverse, sum[i], &env);
        v = fp_f32_mul(mean[i], mean[i], &env);
        v = fp_f32_sub(fp_f32_mul(inverse, squares[i], &env), v, &env);
        variance[i] = fp_f32_max(v, 0, &env);
        rstd[i] = fp_f32_oorx(fp_f32_add(arg[norm_train__eps].value, variance[i], &env), &env);
        scale[i] = fp_f16_from_f32(fp_f32_mul(rstd[i], gamma[i], &env), 0, &env);
        v = fp_f32_mul(mean[i], fp_f16_to_f32(scale[i], &env), &env);
        shift[i] = fp_f16_from_f32(fp_f32_sub(beta[i], v, &env), 0, &env);
    }
}

void norm_back_sums_f32_ref(const struct codelet_call *call)
{
    const struct codelet_arg *arg = call->arg;
    const uint32_t *sum = arg[norm_back_sums__sum].data, *dot = arg[norm_back_sums__dot].data;
    const uint32_t *mean = arg[norm_back_sums__mean].data, *rstd = arg[norm_back_sums__rstd].data;
    const uint32_t *gamma = arg[norm_back_sums__gamma].data;
    uint32_t *slope = arg[norm_back_sums__slope].data, *sum_g = arg[norm_back_sums__sum_g].data;
    uint32_t *dot_g = arg[norm_back_sums__dot_g].data;
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < arg[norm_back_sums__n].value; i++) {
        slope[i] = fp_f32_sub(dot[i], fp_f32_mul(sum[i], mean[i], &env), &env);
        slope[i] = fp_f32_mul(slope[i], rstd[i], &env);
        sum_g[i] = fp_f32_mul(sum[i], gamma[i], &env);
        dot_g[i] = fp_f32_mul(slope[i], gamma[i], &env);
    }
}

void norm_back_factors_f32_ref(const struct codelet_call *call)
{
    const struct codelet_arg *arg = call->arg;
    const uint32_t *sum = arg[norm_back_factors__sum_g].data;
    const uint32_t *dot = arg[norm_back_factors__dot_g].data;
    const uint32_t *mean = arg[norm_back_factors__mean].data;
    const uint32_t *rstd = arg[norm_back_factors__rstd].data;
    const uint32_t *gamma = arg[norm_back_factors__gamma].data;
    uint32_t minus = arg[norm_back_factors__minus].value;
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < arg[norm_back_factors__n].value; i++) {
        uint32_t *out = (uint32_t *)arg[norm_back_factors__factors].data +
                        (size_t)(i / 2) * PAIR_FACTORS + i % 2;
        uint32_t c = fp_f32_mul(rstd[i], fp_f32_mul(minus, sum[i], &env), &env);

        out[0] = fp_f32_mul(rstd[i], gamma[i], &env);
        out[2] = fp_f32_mul(rstd[i], fp_f32_mul(minus, dot[i], &env), &env);
        out[2] = fp_f32_mul(rstd[i], out[2], &env);
        out[4] = fp_f32_sub(c, fp_f32_mul(mean[i], out[2], &env), &env);
    }
}

void lerp_f32_ref(const struct codelet_call *call)
{
    const uint32_t *a = call->arg[lerp__a].data, *b = call->arg[lerp__b].data;
    uint32_t *out = call->arg[lerp__out].data, t = call->arg[lerp__t].value;
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < call->arg[lerp__n].value; i++)
        out[i] = fp_f32_add(a[i], fp_f32_mul(t, fp_f32_sub(b[i], a[i], &env), &env), &env);
}

/* A call on a list: n elements, `slots` before the first pair, `pair` for each. */
struct list_call {
    const struct arch *arch;
    uint64_t n, slots, pair;
};

static uint64_t list_slots(const void *shape, unsigned w)
{
    const struct list_call *s = shape;
    uint64_t pairs = codelet_share(s->arch, s->n / 2, w);

    return 11 + 1 + (pairs ? s->slots + pairs * s->pair : 0);
}

static uint64_t list_cycles(const struct codelet_call *call, unsigned n, uint64_t slots,
                            uint64_t pair)
{
    const struct list_call s = { call->arch, call->arg[n].value, slots, pair };

    return codelet_workers_cycles(call->arch, list_slots, &s);
}

uint64_t norm_train_f32_cycles(const struct codelet_call *call)
{
    uint64_t root = arch_slots_f32oorx(call->arch);

    return list_cycles(call, norm_train__n, 9 * 3 + 2, 15 + 2 * root);
}

uint64_t norm_back_sums_f32_cycles(const struct codelet_call *call)
{
    return list_cycles(call, norm_back_sums__n, 8 * 3, 9);
}

uint64_t norm_back_factors_f32_cycles(const struct codelet_call *call)
{
    return list_cycles(call, norm_back_factors__n, 5 * 3 + 4, 13);
}

uint64_t lerp_f32_cycles(const struct codelet_call *call)
{
    return list_cycles(call, lerp__n, 3 * 3 + 1, 7);
}

/* ---- fields ---- */

void dot_columns_f16_ref(const struct codelet_call *call)
{
    const struct codelet_arg *arg = call->arg;
    const uint16_t *x = arg[dot_columns__x].data, *y = arg[dot_columns__y].data;
    uint32_t *sum = arg[dot_columns__sum].data, *dot = arg[dot_columns__dot].data;
    uint64_t f = arg[dot_columns__f].value;
    struct fp_env env = { 0 };

    for (uint64_t i = 0; i < (uint64_t)arg[dot_columns__blocks].value * CHANNELS; i++) {
        sum[i] = dot[i] = 0;
        for (uint64_t k = 0; k < f; k++) {
            uint64_t at = (i / CHANNELS * f + k) * CHANNELS + i % CHANNELS;
            uint32_t v = fp_f16_to_f32(x[at], &env);

            sum[i] = fp_f32_add(sum[i], v, &env);
            dot[i] = fp_f32_fma(v, fp_f16_to_f32(y[at], &env), dot[i], &env);
        }
    }
}

static uint64_t dot_columns_slots(const void *shape, unsigned w)
{
    const struct codelet_call *call = shape;
    uint64_t pairs =
        codelet_share(call->arch, (uint64_t)call->arg[dot_columns__blocks].value * CHANNELS / 2, w);

    if (!pairs)
        return 11 + 1;
    return 11 + 9 + pairs * (14 + 4 * (uint64_t)call->arg[dot_columns__f].value) + 1;
}

uint64_t dot_columns_f16_cycles(const struct codelet_call *call)
{
    return codelet_workers_cycles(call->arch, dot_columns_slots, call);
}

void norm_back_f16_ref(const struct codelet_call *call)
{
    const struct codelet_arg *arg = call->arg;
    const uint16_t *x = arg[norm_back__x].data, *dy = arg[norm_back__dy].data;
    uint16_t *out = arg[norm_back__out].data;
    uint64_t block = (uint64_t)arg[norm_back__f].value * CHANNELS;
    struct fp_env env = { 0 };

    for (uint64_t i = 0; i < arg[norm_back__blocks].value * block; i++) {
        uint64_t channel = i / block * CHANNELS + i % CHANNELS;
        const uint32_t *factor = (const uint32_t *)arg[norm_back__factors].data +
                                 channel / 2 * PAIR_FACTORS + channel % 2;
        uint32_t v = fp_f32_fma(fp_f16_to_f32(dy[i], &env), factor[0], factor[4], &env);

        v = fp_f32_fma(fp_f16_to_f32(x[i], &env), factor[2], v, &env);
        out[i] = fp_f16_from_f32(v, 0, &env);
    }
}

static uint64_t norm_back_slots(const void *shape, unsigned w)
{
    const struct codelet_call *call = shape;
    struct positions p = positions_of(call->arch, call->arg[norm_back__blocks].value,
                                      call->arg[norm_back__f].value, w);

    if (!p.count)
        return POSITIONS_NONE_SLOTS + 1;
    return POSITIONS_SLOTS + 17 + p.blocks * 4 + p.count * (8 * 6 + 7);
}

uint64_t norm_back_f16_cycles(const struct codelet_call *call)
{
    return codelet_workers_cycles(call->arch, norm_back_slots, call);
}
