/* norm_four_ref.c - norm_stats4_f16, norm_params4_f16: meaning and cycles. */
#include "programs/library/kernel/codelet_ref.h"

enum { GROUPS = 4, LANES = 8, FEW = 384 /* elements: norm_four.S */ };

/* ---- sums and squares ---- */

/* Adds up vectors first, first + step, .. of n, or their squares, lane by lane. */
static void add_lanes(const uint16_t *x, uint64_t n, uint64_t first, uint64_t step, int squares,
                      uint32_t lane[LANES])
{
    struct fp_env env = { 0 };

    for (unsigned k = 0; k < LANES; k++) {
        lane[k] = 0;
        for (uint64_t v = first; v < n; v += step) {
            const uint16_t *h = &x[v * LANES + k];

            lane[k] = squares ? fp_f32_add_exact_f16_products(lane[k], h, h, 1, &env)
                              : fp_f32_add(lane[k], fp_f16_to_f32(*h, &env), &env);
        }
    }
}

void norm_stats4_f16_ref(const struct codelet_call *call)
{
    uint32_t *totals = call->arg[norm_stats4__totals].data, n = call->arg[norm_stats4__n].value;
    uint32_t *scratch = call->arg[norm_stats4__scratch].data;
    const uint16_t *x = call->arg[norm_stats4__x].data;
    uint32_t parts = n < FEW ? 1 : call->arch->workers / 2;
    struct fp_env env = { 0 };

    for (uint32_t k = 0; k < 2; k++) {
        uint32_t sum[GROUPS] = { 0 }, whole[LANES];

        for (uint32_t i = 0; i < parts; i++) {
            uint32_t *lane = parts > 1 ? &scratch[(size_t)(2 * i + k) * LANES] : whole;

            add_lanes(x, n / LANES, i, parts, (int)k, lane);
            for (uint32_t g = 0; g < LANES; g++)
                sum[g % GROUPS] = i || g >= GROUPS ? fp_f32_add(sum[g % GROUPS], lane[g], &env)
                                                   : fp_f32_add(0, lane[g], &env);
        }
        for (uint32_t g = 0; g < GROUPS; g++)
            totals[2 * g + k] = sum[g];
    }
}

static uint64_t whole_slots(const void *shape, unsigned w)
{
    const struct codelet_call *call = shape;
    uint64_t vectors = call->arg[norm_stats4__n].value / LANES;

    if (w >= 2)
        return 7 + 1;
    return 7 + 2 + w + 1 + vectors + 1 + 4 + 5 + 1;
}

static uint64_t parts_slots(const void *shape, unsigned w)
{
    const struct codelet_call *call = shape;
    uint64_t vectors = call->arg[norm_stats4__n].value / LANES, parts = call->arch->workers / 2;

    return 18 + 1 + (vectors + parts - 1 - w / 2) / parts + 1 + 5 + 1;
}

static uint64_t add_slots(const void *shape, unsigned w)
{
    const struct codelet_call *call = shape;

    return w < 2 ? 10 + call->arch->workers + 1 + 5 + 1 : 6 + 1;
}

uint64_t norm_stats4_f16_cycles(const struct codelet_call *call)
{
    const struct arch *a = call->arch;
    int few = call->arg[norm_stats4__n].value < FEW;
    /* Call, load and comparison, and return; the branch. */
    uint64_t cycles = 2 * (uint64_t)a->sup_branch_cycles + 2 * (uint64_t)a->sup_result_cycles;

    if (few)
        return cycles + a->sup_branch_cycles + codelet_workers_cycles(a, whole_slots, call);
    return cycles + 1 + codelet_workers_cycles(a, parts_slots, call) +
           codelet_workers_cycles(a, add_slots, call);
}

/* ---- scale and shift ---- */

/* Mean and inverse deviation of group g. */
static void moments(const struct codelet_call *call, uint32_t g, uint32_t *mean, uint32_t *rstd)
{
    const uint32_t *own = call->arg[norm_params4__own].data,
                   *x = call->arg[norm_params4__totals].data;
    uint32_t inverse = call->arg[norm_params4__inverse].value, sum[2], v;
    uint32_t before = call->arg[norm_params4__before].value;
    struct fp_env env = { 0 };

    for (unsigned k = 0; k < 2; k++) {
        sum[k] = 0;
        for (uint32_t i = 0; i <= before + call->arg[norm_params4__p].value; i++) {
            const uint32_t *row = i == before ? own : &x[(size_t)(i - (i > before)) * 2 * GROUPS];

            sum[k] = fp_f32_add(sum[k], row[2 * g + k], &env);
        }
    }
    *mean = fp_f32_mul(inverse, sum[0], &env);
    v = fp_f32_sub(fp_f32_mul(inverse, sum[1], &env), fp_f32_mul(*mean, *mean, &env), &env);
    v = fp_f32_add(call->arg[norm_params4__eps].value, fp_f32_max(v, 0, &env), &env);
    *rstd = fp_f32_oorx(v, &env);
}

void norm_params4_f16_ref(const struct codelet_call *call)
{
    const uint32_t *gamma = call->arg[norm_params4__gamma].data,
                   *beta = call->arg[norm_params4__beta].data;
    uint16_t *scale = call->arg[norm_params4__scale].data,
             *shift = call->arg[norm_params4__shift].data;
    struct fp_env env = { 0 };

    for (uint32_t c = 0; c < call->arg[norm_params4__n].value; c++) {
        uint32_t mean, rstd, s;

        moments(call, c % GROUPS, &mean, &rstd);
        scale[c] = fp_f16_from_f32(fp_f32_mul(rstd, gamma[c], &env), 0, &env);
        s = fp_f32_mul(mean, fp_f16_to_f32(scale[c], &env), &env);
        shift[c] = fp_f16_from_f32(fp_f32_sub(beta[c], s, &env), 0, &env);
    }
}

static uint64_t params_slots(const void *shape, unsigned w)
{
    const struct codelet_call *call = shape;
    uint64_t pairs = codelet_share(call->arch, call->arg[norm_params4__n].value / 2, w);

    if (!pairs)
        return 11 + 1;
    return 11 + 11 + (uint64_t)call->arg[norm_params4__before].value +
           call->arg[norm_params4__p].value + 12 + 2 * (uint64_t)call->arch->slots_f32oorx + 1 +
           7 * pairs + 1;
}

uint64_t norm_params4_f16_cycles(const struct codelet_call *call)
{
    return codelet_workers_cycles(call->arch, params_slots, call);
}
