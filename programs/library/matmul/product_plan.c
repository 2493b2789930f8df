/* product_plan.c - tries all cuts of a batched product of matrices over tiles.
 *
 * A tile fetches its parts of both operands, multiplies, and adds up its share of the partial sums
 * of the tiles that have other terms of the same sums. */
#include "programs/library/matmul/product.h"

#include <string.h>

#include "programs/library/layout/plan_cost.h"

enum { BLOCK_WORDS = PRODUCT_BLOCK_BYTES / 4, MEMORY_SHARE = 4 };

/* The largest part of a cut. */
struct product_part {
    uint64_t batch, m, nb, kb;
};

struct product_search {
    const struct arch *a;
    uint64_t latency; /* of an exchange */
    uint32_t tiles;
    uint64_t memory;
    struct product_plan *best;
};

/* Steps of the matrix unit for a position of a block. */
static uint64_t block_steps(enum elem e)
{
    return e == ELEM_F16 ? 4 : 8;
}

static uint64_t multiply_cycles(const struct arch *a, enum elem e, const struct product_part *s)
{
    uint32_t block = product_block(e);
    const struct codelet *kernel = e == ELEM_F16 ? KERNEL_ROW(matmul_f16) : KERNEL_ROW(matmul_f32);

    return s->batch * KERNEL_CYCLES(matmul, kernel, a, .in = (uint32_t)(s->m * s->kb * block),
                                    .weights = (uint32_t)(s->nb * s->kb * block * block),
                                    .out = (uint32_t)(s->nb * s->m * block), .kb = (uint32_t)s->kb,
                                    .nb = (uint32_t)s->nb, .f = (uint32_t)s->m);
}

static uint64_t add_cycles(const struct arch *a, enum elem e, uint64_t elements, uint32_t partials)
{
    const struct codelet *kernel =
        e == ELEM_F16 ? KERNEL_ROW(reduce_sum_f16_f16) : KERNEL_ROW(reduce_sum_f32_f32);

    return KERNEL_CYCLES(reduce, kernel, a, .partials = (uint32_t)(elements * partials),
                         .out = (uint32_t)elements, .p = partials);
}

static void cost_partials(const struct product_search *w, const struct product_part *s,
                          struct product_plan *p)
{
    uint64_t rows = ceil_div(s->nb * s->m, p->sk);

    p->cost.exchange_partials = s->batch * rows * BLOCK_WORDS * (p->sk - 1) + w->latency;
    p->cost.sync += w->a->sync_chip_cycles;
    p->cost.reduce =
        s->batch * add_cycles(w->a, p->shape.elem, rows * product_block(p->shape.elem), p->sk);
    p->cost.tile_bytes += s->batch * rows * PRODUCT_BLOCK_BYTES * p->sk;
}

/* Memory and exchange: what is quick to compute. */
static void cost_data(const struct product_search *w, const struct product_part *s,
                      struct product_plan *p)
{
    uint64_t left = s->batch * s->m * s->kb;
    uint64_t right = s->batch * s->nb * s->kb * product_block(p->shape.elem);

    p->cost = (struct plan_cost){ 0 };
    p->cost.exchange_in = (left + right) * BLOCK_WORDS + w->latency;
    p->cost.sync = w->a->sync_chip_cycles;
    p->cost.tile_bytes = (left + right + s->batch * s->m * s->nb) * PRODUCT_BLOCK_BYTES;
    if (p->sk > 1)
        cost_partials(w, s, p);
    p->cost.total = p->cost.exchange_in + p->cost.exchange_partials + p->cost.reduce + p->cost.sync;
}

/* Whether p is better than the best so far: it fits and is faster, or neither fits and it needs
 * less. */
static int is_better(const struct product_search *w, const struct product_plan *p)
{
    const struct plan_cost *best = &w->best->cost;
    int fits = p->cost.tile_bytes <= w->memory, best_fits = best->tile_bytes <= w->memory;

    if (!w->best->sb)
        return 1;
    if (fits != best_fits)
        return fits;
    return fits ? p->cost.total < best->total : p->cost.tile_bytes < best->tile_bytes;
}

static void try_cut(const struct product_search *w, struct product_plan p)
{
    const struct product_part s = { ceil_div(p.shape.batch, p.sb), ceil_div(p.shape.m, p.sm),
                                    ceil_div(p.nb, p.sn), ceil_div(p.kb, p.sk) };
    struct product_plan least = p;

    cost_data(w, &s, &p);
    least.cost = p.cost;
    least.cost.total += s.batch * s.m * s.nb * s.kb * block_steps(p.shape.elem);
    if (!is_better(w, &least))
        return;
    p.cost.compute = multiply_cycles(w->a, p.shape.elem, &s);
    p.cost.total += p.cost.compute;
    if (is_better(w, &p))
        *w->best = p;
}

static void try_cuts(const struct product_search *w, struct product_plan p)
{
    uint64_t t = w->tiles;

    for (p.sb = 1; p.sb <= t && p.sb != UINT32_MAX; p.sb = next_cut(p.shape.batch, p.sb)) {
        for (p.sk = 1; p.sk != UINT32_MAX && (uint64_t)p.sk * p.sb <= t;
             p.sk = next_cut(p.kb, p.sk)) {
            uint64_t parts = (uint64_t)p.sk * p.sb;

            for (p.sn = 1; p.sn != UINT32_MAX && p.sn * parts <= t; p.sn = next_cut(p.nb, p.sn)) {
                for (p.sm = 1; p.sm <= p.shape.m && p.sm * p.sn * parts <= t;
                     p.sm = next_cut(p.shape.m, p.sm))
                    try_cut(w, p);
            }
        }
    }
}

static int is_large(uint64_t batch, uint64_t rows, uint64_t columns)
{
    return batch * rows > UINT32_MAX / columns;
}

enum emu_status plan_product(const struct arch *a, const struct product_shape *s, uint32_t tiles,
                             struct product_plan *out)
{
    struct product_plan p = { .shape = *s,
                              .nb = product_blocks(s->elem, s->n),
                              .kb = product_blocks(s->elem, s->k) };
    struct product_search w = { a, plan_exchange_latency(a), tiles, a->mem_bytes / MEMORY_SHARE,
                                out };
    uint64_t n = (uint64_t)p.nb * product_block(s->elem),
             k = (uint64_t)p.kb * product_block(s->elem);

    memset(out, 0, sizeof(*out));
    if (is_large(s->batch, s->m, k) || is_large(s->batch, s->m, n) || is_large(s->batch, k, n))
        return FAIL(
            USAGE,
            "%u matrix products with m %u, n %u, k %u: expected fewer than 2^32 elements in "
            "each operand and the result",
            s->batch, s->m, s->n, s->k);
    try_cuts(&w, p);
    return EMU_OK;
}
