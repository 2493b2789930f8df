/* matmul_plan.c - tries all cuts of a matrix product over tiles.
 *
 * A tile computes k' = k/sk terms of the sums of m' = m/sm rows and n' = n/sn columns. The m' x k'
 * block of the left operand is divided among the sn tiles that need it, the k' x n' block of the
 * right one among its sm tiles; each tile gathers the rest. If the sums are cut, each of the sk
 * tiles with partial results of one block adds up 1/sk of it. */
#include <string.h>

#include "programs/library/layout/plan_cost.h"

enum { BLOCK = 16, F16_BYTES = 2 };

/* The largest part of a cut. */
struct shard {
    uint64_t m, nb, kb; /* rows, blocks of 16 columns, blocks of 16 of the sum */
};

static uint64_t left_bytes(const struct shard *s)
{
    return s->m * s->kb * BLOCK * F16_BYTES;
}

static uint64_t right_bytes(const struct shard *s)
{
    return s->nb * BLOCK * s->kb * BLOCK * F16_BYTES;
}

static uint64_t out_bytes(const struct shard *s)
{
    return s->m * s->nb * BLOCK * F16_BYTES;
}

/* Words that a tile receives to gather a block of so many bytes, of which every tile of the group
 * has a part: in turn one tile sends and all others listen. */
static uint64_t gather_words(uint64_t bytes, uint32_t group)
{
    return group > 1 ? ceil_div(bytes, 4) : 0;
}

static uint64_t own_bytes(uint64_t bytes, uint32_t group)
{
    return group > 1 ? (bytes / group + 7) / 8 * 8 : 0;
}

static void cost_reduce(const struct arch *a, const struct shard *s, struct matmul_plan *p)
{
    uint64_t elements = ceil_div(out_bytes(s) / F16_BYTES, p->sk);
    uint64_t words = ceil_div(elements * F16_BYTES, 4) * (p->sk - 1);

    p->cost.exchange_partials = words + p->exchange_latency;
    p->cost.sync += a->sync_chip_cycles;
    p->cost.rearrange += plan_copy_cycles(a, (elements * F16_BYTES + 7) / 8 * 8);
    p->cost.reduce = KERNEL_CYCLES(reduce, KERNEL_ROW(reduce_sum_f16_f16), a,
                                   .partials = (uint32_t)(elements * p->sk),
                                   .out = (uint32_t)elements, .p = p->sk);
    p->cost.tile_bytes += elements * F16_BYTES * p->sk;
}

static void cost(const struct arch *a, struct matmul_plan *p)
{
    const struct shard largest = { ceil_div(p->m, p->sm), ceil_div(p->n / BLOCK, p->sn),
                                   ceil_div(p->k / BLOCK, p->sk) };
    const struct shard *s = &largest;
    uint64_t words = gather_words(left_bytes(s), p->sn) + gather_words(right_bytes(s), p->sm);

    memset(&p->cost, 0, sizeof(p->cost));
    if (words) {
        p->cost.exchange_in = words + p->exchange_latency;
        p->cost.sync = a->sync_chip_cycles;
    }
    p->cost.rearrange = plan_copy_cycles(a, own_bytes(left_bytes(s), p->sn)) +
                        plan_copy_cycles(a, own_bytes(right_bytes(s), p->sm));
    p->cost.compute =
        KERNEL_CYCLES(matmul, KERNEL_ROW(matmul_f16), a, .in = (uint32_t)(s->m * s->kb * BLOCK),
                      .weights = (uint32_t)(s->nb * s->kb * BLOCK * BLOCK),
                      .out = (uint32_t)(s->nb * s->m * BLOCK), .kb = (uint32_t)s->kb,
                      .nb = (uint32_t)s->nb, .f = (uint32_t)s->m);
    p->cost.tile_bytes = left_bytes(s) + right_bytes(s) + out_bytes(s);
    if (p->sk > 1)
        cost_reduce(a, s, p);
    p->cost.total = p->cost.exchange_in + p->cost.compute + p->cost.exchange_partials +
                    p->cost.reduce + p->cost.sync + p->cost.rearrange;
}

void ss_plan_matmul_cost(const struct arch *a, struct matmul_plan *p)
{
    if (!a)
        return;
    p->exchange_latency = plan_exchange_latency(a);
    cost(a, p);
}

/* Whether p is better than *best: it fits and is faster, or neither fits and it needs less. */
static int is_better(const struct matmul_plan *p, const struct matmul_plan *best, uint64_t memory)
{
    int fits = p->cost.tile_bytes <= memory, best_fits = best->cost.tile_bytes <= memory;

    if (!best->sm)
        return 1;
    if (fits != best_fits)
        return fits;
    return fits ? p->cost.total < best->cost.total : p->cost.tile_bytes < best->cost.tile_bytes;
}

static void try_cut(const struct arch *a, struct matmul_plan p, uint64_t memory,
                    struct matmul_plan *best)
{
    cost(a, &p);
    if (is_better(&p, best, memory))
        *best = p;
}

static int is_large(uint64_t rows, uint64_t columns)
{
    return rows * columns > UINT32_MAX;
}

enum emu_status ss_plan_matmul_check(const struct arch *a, const struct matmul_plan *p)
{
    if (!a)
        return FAIL(BAD_MACHINE,
                    "there is no machine: arch is NULL, which ss_arch_preset() gives for "
                    "a name that it does not know");
    if (!p->m || !p->n || !p->k || p->n % BLOCK || p->k % BLOCK)
        return FAIL(USAGE,
                    "a matrix product with m %u, n %u, k %u: expected sizes above 0, n and k "
                    "multiples of %d",
                    p->m, p->n, p->k, BLOCK);
    if (is_large(p->m, p->k) || is_large(p->k, p->n) || is_large(p->m, p->n))
        return FAIL(USAGE,
                    "a matrix product with m %u, n %u, k %u: expected fewer than 2^32 elements in "
                    "each matrix",
                    p->m, p->n, p->k);
    if (!p->tiles || (uint64_t)p->first_tile + p->tiles > a->tiles)
        return FAIL(USAGE, "a matrix product on %u tiles from %u on: the chip has %u", p->tiles,
                    p->first_tile, a->tiles);
    if (!p->sm || !p->sn || !p->sk || p->sm > p->m || p->sn > p->n / BLOCK || p->sk > p->k / BLOCK)
        return FAIL(USAGE,
                    "m %u, n %u, k %u of a matrix product in %u x %u x %u parts: expected at least "
                    "one row or block of %d in each",
                    p->m, p->n, p->k, p->sm, p->sn, p->sk, BLOCK);
    if ((uint64_t)p->sm * p->sn > p->tiles || (uint64_t)p->sm * p->sn * p->sk > p->tiles)
        return FAIL(USAGE, "%u x %u x %u parts of a matrix product on %u tiles", p->sm, p->sn,
                    p->sk, p->tiles);
    return EMU_OK;
}

enum emu_status ss_plan_matmul(const struct arch *a, uint32_t m, uint32_t n, uint32_t k,
                               uint32_t first_tile, uint32_t tiles, uint64_t memory_bytes,
                               struct matmul_plan *out)
{
    struct matmul_plan p = { .m = m, .n = n, .k = k, .sm = 1, .sn = 1, .sk = 1 };

    memset(out, 0, sizeof(*out));
    p.first_tile = first_tile;
    p.tiles = tiles;
    TRY(ss_plan_matmul_check(a, &p));
    p.exchange_latency = plan_exchange_latency(a);
    for (p.sk = 1; p.sk <= k / BLOCK && p.sk <= tiles; p.sk++) {
        for (p.sn = 1; p.sn <= n / BLOCK && p.sk * p.sn <= tiles; p.sn++) {
            for (p.sm = 1; p.sm <= m && p.sk * p.sn * p.sm <= tiles; p.sm++)
                try_cut(a, p, memory_bytes, out);
        }
    }
    return EMU_OK;
}
