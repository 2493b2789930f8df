/* plan.h - how operations are cut over tiles. All cuts are tried, and closed formulas give the cost
 * of each.
 *
 * Costs are cycles: compute by the codelets' own formulas, exchange as the words
 * through the busiest port plus the latency of a phase, syncs from struct arch. Nothing is fitted
 * to a problem. Tests compare predictions with executed cycles.
 */
#ifndef PROGRAMS_PLAN_H
#define PROGRAMS_PLAN_H

#include <stdint.h>

#include "emu/base/api.h"
#include "emu/base/status.h"

SUPERSTEP_API_BEGIN

struct arch;

/* Predicted cycles of the phases of an operation. */
struct plan_cost {
    uint64_t exchange_in, compute, exchange_partials, reduce, sync, rearrange, total;
    uint64_t tile_bytes; /* temporary memory on the tile that needs most */
};

/* c [m][n] = a [m][k] b [k][n], f16. Every tile computes k/sk terms of the sums of m/sm rows and
 * n/sn columns; n and k are cut between blocks of 16. */
struct matmul_plan {
    uint32_t m, n, k;
    uint32_t sm, sn, sk;
    uint32_t first_tile, tiles; /* it may use tiles [first_tile, first_tile + tiles) */
    uint64_t exchange_latency;  /* plan_exchange_latency() */
    struct plan_cost cost;
};

/* Checks that a plan can be carried out: sizes are above 0, n and k are multiples of 16, matrices
 * have fewer than 2^32 elements, no part is empty, and the chip has all the tiles. Else EMU_USAGE.
 */
enum emu_status ss_plan_matmul_check(const struct arch *a,
                                     const struct matmul_plan *p) EMU_MUST_CHECK;

/* Predicted cycles and memory of a legal plan, from its sizes and cuts, into p->cost. */
void ss_plan_matmul_cost(const struct arch *a, struct matmul_plan *p);

/* The cheapest plan on at most `tiles` tiles that takes at most memory_bytes of temporary memory on
 * a tile; if there is none, the plan that takes least. Errors: EMU_USAGE for sizes and tiles that
 * ss_plan_matmul_check() refuses. */
enum emu_status ss_plan_matmul(const struct arch *a, uint32_t m, uint32_t n, uint32_t k,
                               uint32_t first_tile, uint32_t tiles, uint64_t memory_bytes,
                               struct matmul_plan *out) EMU_MUST_CHECK;

/* What all exchange phases of a machine have in common. */
struct plan_port {
    uint64_t way; /* events of the longest way from a tile to a mux */
    uint64_t lag; /* from there to memory, at most */
};

SUPERSTEP_API_END

#endif
