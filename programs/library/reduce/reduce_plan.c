/* reduce_plan.c - plans the stages of a reduction over tiles: tries 1 to 4 stages with all fan-ins
 * near the roots of the number of sources.
 *
 * In a stage with fan-in f one tile could add up the n elements of f tiles: f - 1 times n
 * elements would arrive there. The members of a group share the work instead, in whole vectors, and
 * each receives f - 1 times n / f elements. */
#include <string.h>

#include "programs/library/layout/plan_cost.h"

uint64_t plan_reduce_share(uint64_t elements, uint64_t fan_in, enum elem type)
{
    uint64_t vector = 16 / ss_elem_bytes(type), share;

    if (elements < fan_in * vector)
        vector /= 2;
    share = ceil_div(ceil_div(elements, vector), fan_in) * vector;
    return share < elements ? share : elements;
}

static uint64_t stage_cost(const struct arch *a, uint64_t latency, uint32_t fan_in,
                           uint64_t elements, enum elem type, struct plan_cost *c)
{
    uint64_t share = plan_reduce_share(elements, fan_in, type);
    uint64_t words = ceil_div(share * ss_elem_bytes(type), 4) * (fan_in - 1);
    uint64_t exchange = words + latency;
    uint64_t reduce = KERNEL_CYCLES(
        reduce, type == ELEM_F16 ? KERNEL_ROW(reduce_sum_f16_f32) : KERNEL_ROW(reduce_sum_f32_f32),
        a, .partials = (uint32_t)(share * fan_in), .out = (uint32_t)share, .p = fan_in);

    c->exchange_partials += exchange;
    c->reduce += reduce;
    c->sync += a->sync_chip_cycles;
    c->total += exchange + reduce + a->sync_chip_cycles;
    if (share * fan_in * ss_elem_bytes(type) > c->tile_bytes)
        c->tile_bytes = share * fan_in * ss_elem_bytes(type);
    return share;
}

/* The smallest f with f^stages >= n. */
static uint32_t root(uint32_t n, unsigned stages)
{
    for (uint32_t f = 1;; f++) {
        uint64_t product = 1;

        for (unsigned i = 0; i < stages && product < n; i++)
            product *= f;
        if (product >= n)
            return f;
    }
}

static void try_stages(const struct arch *a, uint64_t latency, uint32_t sources, uint64_t elements,
                       enum elem type, unsigned stages, struct reduce_plan *best)
{
    struct reduce_plan p = { .stages = stages };
    uint32_t left = sources;

    for (unsigned i = 0; i < stages; i++) {
        uint32_t f = root(left, stages - i);

        if (f == 1)
            return; /* fewer stages are enough */
        p.fan_in[i] = f;
        elements = stage_cost(a, latency, f, elements, i ? ELEM_F32 : type, &p.cost);
        left = ceil_div(left, f);
    }
    if (!best->stages || p.cost.total < best->cost.total)
        *best = p;
}

static struct reduce_plan best_stages(const struct arch *a, uint64_t latency, uint32_t sources,
                                      uint64_t elements, enum elem type)
{
    struct reduce_plan best = { 0 };

    for (unsigned stages = 1; stages <= PLAN_MAX_STAGES && sources > 1; stages++)
        try_stages(a, latency, sources, elements, type, stages, &best);
    return best;
}

uint64_t plan_reduce_cycles(const struct arch *a, const struct plan_port *p, uint32_t sources,
                            uint64_t elements, enum elem type)
{
    return best_stages(a, p->way + p->lag, sources, elements, type).cost.total;
}

enum emu_status plan_reduce(const struct arch *a, uint32_t sources, uint64_t elements,
                            enum elem type, uint32_t tiles, struct reduce_plan *out)
{
    memset(out, 0, sizeof(*out));
    if (!sources || !elements || sources > tiles)
        return FAIL(USAGE, "a reduction of %u partials over %u tiles: expected 1 to %u", sources,
                    tiles, tiles);
    if (sources > 1)
        *out = best_stages(a, plan_exchange_latency(a), sources, elements, type);
    return EMU_OK;
}
