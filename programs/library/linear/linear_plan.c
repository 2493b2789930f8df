/* linear_plan.c - searches cuts of fully connected layers, all that make the largest part smaller,
 * and stages of sums, all fan-ins near the roots of the number of partial results.
 *
 * Every tile is charged for its whole input. The parts of a layer are small, and half of the time
 * goes into syncs, latencies and launches; so a cut that shortens a step rarely pays for another
 * step.
 */
#include "programs/library/linear/linear_plan.h"

#include <string.h>

#include "programs/library/layout/plan_cost.h"

enum { F16_WORD = 2, SUM_COLUMNS = 4 };

/* The search. */
struct linear_search {
    const struct arch *a;
    struct linear_shape s;
    uint32_t tiles;
    uint64_t latency;
    struct linear_plan best;
};

/* Cycles of a part of the multiplication, with or without a bias. */
static uint64_t multiply_cycles(const struct linear_search *f, int biased, uint64_t rows,
                                uint64_t in)
{
    uint32_t a = (uint32_t)(rows * in), x = (uint32_t)(f->s.n * in), y = (uint32_t)(f->s.n * rows);
    uint32_t k = (uint32_t)in, m = (uint32_t)rows;

    return biased ? KERNEL_CYCLES(linear, f->s.whole, f->a, .a = a, .x = x, .y = y, .k = k, .m = m)
                  : KERNEL_CYCLES(linear_sums, KERNEL_ROW(linear_f16_f32), f->a, .a = a, .x = x,
                                  .y = y, .k = k, .m = m);
}

/* Cycles of adding up p partial results of n elements: by a reduce codelet, or by one that adds a
 * bias or multiplies by a scale. */
static uint64_t sum_cycles(const struct arch *a, const struct codelet *codelet, uint64_t p,
                           uint64_t n)
{
    uint32_t all = (uint32_t)(p * n), out = (uint32_t)n, terms = (uint32_t)p;

    switch (codelet_state(codelet)) {
    case STATE_reduce:
        return KERNEL_CYCLES(reduce, codelet, a, .partials = all, .out = out, .p = terms);
    case STATE_sum_scale:
        return KERNEL_CYCLES(sum_scale, codelet, a, .partials = all, .out = out, .p = terms);
    default:
        return KERNEL_CYCLES(sum_bias, codelet, a, .partials = all, .out = out, .p = terms);
    }
}

/* Plans the second step, which a plan with cut rows needs: finds the best number of columns. */
static void plan_columns(const struct linear_search *f, struct linear_plan *p)
{
    uint32_t vectors = f->s.out / SUM_COLUMNS;
    uint64_t best = UINT64_MAX;

    for (uint32_t cut = 1; cut <= vectors; cut = next_cut(vectors, cut)) {
        uint64_t columns = ceil_div(vectors, cut) * SUM_COLUMNS, words = p->cut_in * columns;
        uint64_t reduce = sum_cycles(f->a, f->s.sum, p->cut_in, columns);

        if (cut > 1 && (uint64_t)cut * f->s.n > f->tiles)
            break;
        if (words + reduce >= best)
            continue;
        best = words + reduce;
        p->columns = (uint32_t)columns;
        p->cost.exchange_partials = words + f->latency;
        p->cost.reduce = reduce;
        p->cost.tile_bytes = words * sizeof(float);
    }
    p->cost.sync = f->a->sync_chip_cycles;
}

/* Adds the multiplication to `second`, the plan of the step after it. */
static void try_cut(struct linear_search *f, const struct linear_plan *second, uint32_t cut_out)
{
    struct linear_plan p = *second;
    uint64_t rows = (uint64_t)ceil_div(f->s.out / LINEAR_ROWS, cut_out) * LINEAR_ROWS;
    uint64_t in = (uint64_t)ceil_div(f->s.in / LINEAR_IN, p.cut_in) * LINEAR_IN;
    uint64_t bytes = f->s.n * (in * sizeof(uint16_t) + rows * sizeof(float));

    p.cut_out = cut_out;
    p.cost.exchange_in = f->s.n * in / F16_WORD + f->latency;
    p.cost.sync += f->a->sync_chip_cycles;
    p.cost.total = p.cost.exchange_in + p.cost.exchange_partials + p.cost.reduce + p.cost.sync;
    /* The products alone, four a cycle, would take too long already. */
    if (p.cost.total + f->s.n * rows * in / LINEAR_IN >= f->best.cost.total)
        return;
    p.cost.compute = multiply_cycles(f, !p.columns, rows, in);
    p.cost.total += p.cost.compute;
    p.cost.tile_bytes = bytes > p.cost.tile_bytes ? bytes : p.cost.tile_bytes;
    if (p.cost.total < f->best.cost.total)
        f->best = p;
}

enum emu_status plan_linear(const struct arch *a, const struct linear_shape *s, uint32_t tiles,
                            struct linear_plan *out)
{
    struct linear_search f = { .a = a, .s = *s, .tiles = tiles };
    uint32_t pairs = s->out / LINEAR_ROWS, quads = s->in / LINEAR_IN;

    memset(out, 0, sizeof(*out));
    if (!s->n || !pairs || !quads || !tiles)
        return FAIL(USAGE,
                    "a fully connected layer of %u to %u channels for %u pictures on %u tiles",
                    s->in, s->out, s->n, tiles);
    f.latency = plan_exchange_latency(a);
    f.best.cost.total = UINT64_MAX;
    for (uint32_t cut_in = 1; cut_in <= quads && cut_in <= tiles;
         cut_in = next_cut(quads, cut_in)) {
        struct linear_plan second = { .shape = *s, .cut_in = cut_in };

        if (cut_in > 1)
            plan_columns(&f, &second);
        for (uint32_t cut = 1; cut <= pairs && (uint64_t)cut * cut_in <= tiles;
             cut = next_cut(pairs, cut))
            try_cut(&f, &second, cut);
    }
    *out = f.best;
    return EMU_OK;
}

/* ---- sums ---- */

/* Adds a stage with fan-in f for `groups` sums: finds the best number of columns. */
static void add_stage(const struct arch *a, uint64_t latency, const struct codelet *codelet,
                      uint32_t f, uint32_t groups, struct sums_plan *p)
{
    uint64_t best = UINT64_MAX;

    for (uint32_t columns = SUMS_COLUMNS; columns >= SUM_COLUMNS; columns /= 2) {
        uint64_t reduce = sum_cycles(a, codelet, f, columns);

        if (columns < SUMS_COLUMNS && (uint64_t)groups * (SUMS_COLUMNS / columns) > a->tiles)
            break;
        if (f * columns + reduce >= best)
            continue;
        best = f * columns + reduce;
        p->columns[p->stages] = columns;
    }
    p->fan_in[p->stages++] = f;
    p->cost.sync += a->sync_chip_cycles;
    p->cost.exchange_partials += latency;
    p->cost.total += a->sync_chip_cycles + latency + best;
}

/* The smallest f with f^stages >= p. */
static uint32_t root(uint32_t p, unsigned stages)
{
    for (uint32_t f = 1;; f++) {
        uint64_t product = 1;

        for (unsigned i = 0; i < stages && product < p; i++)
            product *= f;
        if (product >= p)
            return f;
    }
}

void plan_sums(const struct arch *a, uint32_t p, uint32_t groups, struct sums_plan *out)
{
    uint64_t latency = plan_exchange_latency(a);

    memset(out, 0, sizeof(*out));
    for (unsigned stages = 1; stages <= SUMS_MAX_STAGES; stages++) {
        struct sums_plan plan = { 0 };
        uint32_t left = p;

        for (unsigned i = 0; i < stages; i++) {
            uint32_t f = root(left, stages - i);

            left = ceil_div(left, f);
            add_stage(a, latency,
                      i + 1 < stages ? KERNEL_ROW(reduce_sum_f32_f32) : KERNEL_ROW(sum_scale_f16),
                      f, groups * left, &plan);
        }
        if (!out->stages || plan.cost.total < out->cost.total)
            *out = plan;
    }
}
