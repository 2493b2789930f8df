/* reduce_plan.c - plans the stages of a reduction over tiles: tries 1 to 4 stages with all fan-ins
 * near the roots of the number of sources.
 *
 * In a stage with fan-in f one tile could add up the n elements of f tiles: f - 1 times n
 * elements would arrive there. If n is at least f, the members of a group share the work instead,
 * and each receives f - 1 times n / f elements. */
#include <string.h>

#include "programs/library/layout/plan_cost.h"

enum { F32_BYTES = 4 };

static uint64_t stage_cost(const struct arch *a, uint64_t latency, uint32_t fan_in,
                           uint64_t elements, struct plan_cost *c)
{
    uint64_t share = elements >= fan_in ? ceil_div(elements, fan_in) : elements;
    uint64_t words = share * F32_BYTES / 4 * (fan_in - 1);
    uint64_t exchange = words + latency;
    uint64_t reduce =
        KERNEL_CYCLES(reduce, KERNEL_ROW(reduce_sum_f32_f32), a,
                      .partials = (uint32_t)(share * fan_in), .out = (uint32_t)share, .p = fan_in);

    c->exchange_partials += exchange;
    c->reduce += reduce;
    c->sync += a->sync_chip_cycles;
    c->total += exchange + reduce + a->sync_chip_cycles;
    if (share * fan_in * F32_BYTES > c->tile_bytes)
        c->tile_bytes = share * fan_in * F32_BYTES;
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
                       unsigned stages, struct reduce_plan *best)
{
    struct reduce_plan p = { .stages = stages };
    uint32_t left = sources;

    for (unsigned i = 0; i < stages; i++) {
        uint32_t f = root(left, stages - i);

        if (f == 1)
            return; /* fewer stages are enough */
        p.fan_in[i] = f;
        elements = stage_cost(a, latency, f, elements, &p.cost);
        left = ceil_div(left, f);
    }
    if (!best->stages || p.cost.total < best->cost.total)
        *best = p;
}

enum emu_status plan_reduce(const struct arch *a, uint32_t sources, uint64_t elements,
                            uint32_t tiles, struct reduce_plan *out)
{
    uint64_t latency;

    memset(out, 0, sizeof(*out));
    if (!sources || !elements || sources > tiles)
        return FAIL(USAGE, "a reduction of %u partials over %u tiles: expected 1 to %u", sources,
                    tiles, tiles);
    if (sources == 1)
        return EMU_OK;
    latency = plan_exchange_latency(a);
    for (unsigned stages = 1; stages <= PLAN_MAX_STAGES; stages++)
        try_stages(a, latency, sources, elements, stages, out);
    return EMU_OK;
}
