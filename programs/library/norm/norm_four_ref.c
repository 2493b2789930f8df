/* norm_four_ref.c - norm_stats4_f16, norm_params4_f16, norm_train4_f16: meaning and cycles. */
#include "emu/arch/arch_numbers.h"
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
    uint64_t cycles =
        2 * (uint64_t)arch_sup_branch_cycles(a) + 2 * (uint64_t)arch_sup_result_cycles(a);

    if (few)
        return cycles + arch_sup_branch_cycles(a) + codelet_workers_cycles(a, whole_slots, call);
    return cycles + 1 + codelet_workers_cycles(a, parts_slots, call) +
           codelet_workers_cycles(a, add_slots, call);
}

/* ---- scale and shift ---- */

/* The arguments of either codelet; mean, rstd: NULL if they are not kept. */
struct params4 {
    const uint32_t *own, *totals, *gamma, *beta;
    uint16_t *scale, *shift;
    uint32_t *mean, *rstd, inverse, eps, before, p, n;
};

#define PARAMS4_OF(call, state, means, rstds)                                                      \
    {                                                                                              \
        .own = (call)->arg[state##__own].data, .totals = (call)->arg[state##__totals].data,        \
        .gamma = (call)->arg[state##__gamma].data, .beta = (call)->arg[state##__beta].data,        \
        .scale = (call)->arg[state##__scale].data, .shift = (call)->arg[state##__shift].data,      \
        .mean = (means), .rstd = (rstds), .inverse = (call)->arg[state##__inverse].value,          \
        .eps = (call)->arg[state##__eps].value, .before = (call)->arg[state##__before].value,      \
        .p = (call)->arg[state##__p].value, .n = (call)->arg[state##__n].value                     \
    }

/* Mean and inverse deviation of group g. */
static void moments(const struct params4 *m, uint32_t g, uint32_t *mean, uint32_t *rstd)
{
    uint32_t sum[2] = { 0 }, v;
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i <= m->before + m->p; i++) {
        const uint32_t *row =
            i == m->before ? m->own : &m->totals[(size_t)(i - (i > m->before)) * 2 * GROUPS];

        for (unsigned k = 0; k < 2; k++)
            sum[k] = fp_f32_add(sum[k], row[2 * g + k], &env);
    }
    *mean = fp_f32_mul(m->inverse, sum[0], &env);
    v = fp_f32_sub(fp_f32_mul(m->inverse, sum[1], &env), fp_f32_mul(*mean, *mean, &env), &env);
    v = fp_f32_add(m->eps, fp_f32_max(v, 0, &env), &env);
    *rstd = fp_f32_oorx(v, &env);
}

static void params4(const struct params4 *m)
{
    struct fp_env env = { 0 };

    for (uint32_t c = 0; c < m->n; c++) {
        uint32_t mean, rstd, s;

        moments(m, c % GROUPS, &mean, &rstd);
        m->scale[c] = fp_f16_from_f32(fp_f32_mul(rstd, m->gamma[c], &env), 0, &env);
        s = fp_f32_mul(mean, fp_f16_to_f32(m->scale[c], &env), &env);
        m->shift[c] = fp_f16_from_f32(fp_f32_sub(m->beta[c], s, &env), 0, &env);
        if (m->mean) {
            m->mean[c] = mean;
            m->rstd[c] = rstd;
        }
    }
}

void norm_params4_f16_ref(const struct codelet_call *call)
{
    const struct params4 m = PARAMS4_OF(call, norm_params4, NULL, NULL);

    params4(&m);
}

void norm_train4_f16_ref(const struct codelet_call *call)
{
    const struct params4 m = PARAMS4_OF(call, norm_train4, call->arg[norm_train4__mean].data,
                                        call->arg[norm_train4__rstd].data);

    params4(&m);
}

struct params4_shape {
    const struct arch *arch;
    uint64_t n, rows;
    unsigned more; /* slots before the first pair */
};

static uint64_t params_slots(const void *shape, unsigned w)
{
    const struct params4_shape *s = shape;
    uint64_t pairs = codelet_share(s->arch, s->n / 2, w);

    if (!pairs)
        return 11 + 1;
    return 11 + 11 + s->rows + 12 + 2 * (uint64_t)arch_slots_f32oorx(s->arch) + s->more + 1 +
           7 * pairs + 1;
}

static uint64_t params4_cycles(const struct arch *a, const struct params4 *m, unsigned more)
{
    const struct params4_shape s = { a, m->n, (uint64_t)m->before + m->p, more };

    return codelet_workers_cycles(a, params_slots, &s);
}

uint64_t norm_params4_f16_cycles(const struct codelet_call *call)
{
    const struct params4 m = PARAMS4_OF(call, norm_params4, NULL, NULL);

    return params4_cycles(call->arch, &m, 0);
}

uint64_t norm_train4_f16_cycles(const struct codelet_call *call)
{
    const struct params4 m = PARAMS4_OF(call, norm_train4, NULL, NULL);

    return params4_cycles(call->arch, &m, 5);
}
