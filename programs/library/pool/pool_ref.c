/* pool_ref.c - pool_f16, stats_f16: meaning, and the cycles of pool.inc. The order of additions
 * depends on whether each worker takes columns or parts of the rows. */
#include "emu/arch/arch_numbers.h"
#include "programs/library/kernel/codelet_ref.h"

enum { CHANNELS = 16, COLUMN = 8 };

/* The arguments of either codelet. */
struct pool_call {
    const struct arch *arch;
    const uint16_t *x;
    uint32_t *out[2], *scratch;
    unsigned sums;
    uint64_t blocks, f, parts; /* parts: of the rows; 1: they are not cut */
};

static struct pool_call pool_of(const struct codelet_call *call, unsigned sums)
{
    const struct codelet_arg *arg = call->arg;
    struct pool_call p = { .arch = call->arch, .sums = sums };

    p.x = arg[sums == 2 ? (int)stats__x : (int)pool__x].data;
    p.out[0] = arg[sums == 2 ? (int)stats__sum : (int)pool__sum].data;
    p.out[1] = sums == 2 ? arg[stats__sumsq].data : NULL;
    p.scratch = arg[sums == 2 ? (int)stats__scratch : (int)pool__scratch].data;
    p.blocks = arg[sums == 2 ? (int)stats__blocks : (int)pool__blocks].value;
    p.f = arg[sums == 2 ? (int)stats__f : (int)pool__f].value;
    p.parts = p.f < 32 * (p.blocks + 1) ? 1 : call->arch->workers / 2;
    return p;
}

/* The sum of rows [first, end) of a channel; squares 1: of their squares. */
static uint32_t channel_sum(const uint16_t *x, uint64_t first, uint64_t end, unsigned squares,
                            struct fp_env *env)
{
    uint32_t sum = 0;

    for (uint64_t i = first; i < end; i++) {
        const uint16_t *h = x + i * CHANNELS;

        sum = squares ? fp_f32_add_exact_f16_products(sum, h, h, 1, env)
                      : fp_f32_add(sum, fp_f16_to_f32(*h, env), env);
    }
    return sum;
}

static void pool(const struct pool_call *p)
{
    struct fp_env env = { 0 };
    uint64_t n = p->blocks * CHANNELS;

    for (uint64_t i = 0; i < n * p->sums; i++) {
        uint64_t channel = i % n;
        const uint16_t *x = p->x + channel / CHANNELS * p->f * CHANNELS + channel % CHANNELS;
        uint32_t sum = 0;

        for (uint64_t k = 0; k < p->parts; k++) {
            uint64_t first = k * p->f / p->parts, end = (k + 1) * p->f / p->parts;
            uint32_t part = channel_sum(x, first, end, i >= n, &env);

            if (p->parts > 1)
                p->scratch[(i / n * p->parts + k) * n + channel] = part;
            sum = k ? fp_f32_add(sum, part, &env) : part;
        }
        p->out[i / n][channel] = sum;
    }
}

/* ---- cycles ---- */

static uint64_t columns_slots(const void *shape, unsigned w)
{
    const struct pool_call *p = shape;
    uint64_t columns = codelet_share(p->arch, p->blocks * CHANNELS / COLUMN, w);

    if (!columns)
        return 12 + 1;
    return 12 + 14 + (p->sums > 1 ? 3 : 0) + columns * (p->sums * (p->f + 7) + 1) + 1;
}

static uint64_t parts_slots(const void *shape, unsigned w)
{
    const struct pool_call *p = shape;
    uint64_t part = w / 2, rows = (part + 1) * p->f / p->parts - part * p->f / p->parts;
    uint64_t slots = 29 + (p->sums > 1 ? 3 : 0) + 2;

    if (!p->blocks)
        return slots + 1;
    return slots + 1 + p->blocks * (p->sums * (rows + 7) + 1) + 1;
}

static uint64_t add_slots(const void *shape, unsigned w)
{
    const struct pool_call *p = shape;
    uint64_t vectors = codelet_share(p->arch, p->blocks * CHANNELS / 2, w);

    if (!vectors)
        return 11 + 1;
    return 11 + 6 + (p->sums > 1 ? 4 : 0) + p->sums * (1 + vectors * (p->parts + 2)) + 1;
}

static uint64_t pool_cycles(const struct pool_call *p)
{
    const struct arch *a = p->arch;
    /* call; the second load and two results of it; the branch, or the jump and its entry; return.
     */
    uint64_t cycles =
        2 * (uint64_t)arch_sup_branch_cycles(a) + 1 + 3 * (uint64_t)arch_sup_result_cycles(a);

    if (p->parts == 1)
        return cycles + 1 + codelet_workers_cycles(a, columns_slots, p);
    return cycles + arch_sup_branch_cycles(a) + arch_sup_result_cycles(a) +
           codelet_workers_cycles(a, parts_slots, p) + codelet_workers_cycles(a, add_slots, p);
}

#define POOL(name, sums)                                                                           \
    void name##_ref(const struct codelet_call *call)                                               \
    {                                                                                              \
        struct pool_call p = pool_of(call, sums);                                                  \
                                                                                                   \
        pool(&p);                                                                                  \
    }                                                                                              \
    uint64_t name##_cycles(const struct codelet_call *call)                                        \
    {                                                                                              \
        struct pool_call p = pool_of(call, sums);                                                  \
                                                                                                   \
        return pool_cycles(&p);                                                                    \
    }

POOL(pool_f16, 1)
POOL(stats_f16, 2)
