/* plan_cost.h - what the planners share: which cuts of a size to try, the cost of exchanges
 * and copies, the stages of a reduction. */
#ifndef PROGRAMS_PLAN_COST_H
#define PROGRAMS_PLAN_COST_H

#include "programs/library/kernel/kernel_cycles.h"
#include "programs/library/layout/plan.h"

/* Cycles of an exchange phase in which the busiest port carries so many words, including the sync
 * before it; with 0 words there is no phase. The number of messages costs nothing: changes of
 * pointer and source happen while words pass. */
uint64_t plan_exchange_cycles(const struct arch *a, uint64_t words);
/* Cycles of an exchange phase besides its sync and its words: the longest way from a tile to
 * another one's memory. Cost: looks at some thousand pairs of tiles; call it once for many cuts. */
uint64_t plan_exchange_latency(const struct arch *a);

/* Cost: as plan_exchange_latency(). */
struct plan_port plan_port(const struct arch *a);
/* Cycles of an exchange phase, without its sync, in which a tile receives so many words, each of
 * them sent to `fan_out` tiles at once. With a fan_out of 1 senders are as busy as receivers, and
 * the schedule has gaps, which are counted. */
uint64_t plan_port_cycles(const struct plan_port *p, uint64_t words, uint64_t fan_out);

/* The stages of a reduction: `sources` tiles have `elements` elements each, of type f16 or f32, and
 * in every stage a tile adds up what fan_in tiles have, in f32. The product of all fan-ins is at
 * least `sources`. */
enum { PLAN_MAX_STAGES = 4 };
struct reduce_plan {
    unsigned stages;
    uint32_t fan_in[PLAN_MAX_STAGES];
    struct plan_cost cost;
};
enum emu_status plan_reduce(const struct arch *a, uint32_t sources, uint64_t elements,
                            enum elem type, uint32_t tiles, struct reduce_plan *out) EMU_MUST_CHECK;
/* Cycles of the cheapest stages; 0 if there is one source. For many cuts of one plan. */
uint64_t plan_reduce_cycles(const struct arch *a, const struct plan_port *p, uint32_t sources,
                            uint64_t elements, enum elem type);
/* How many of so many elements a tile of a group of fan_in adds up: whole vectors of 16 bytes,
 * which are added up fastest, or of 8 if there are too few of those. The last tile may have fewer.
 */
uint64_t plan_reduce_share(uint64_t elements, uint64_t fan_in, enum elem type);

/* Cycles of copying so many bytes (a multiple of 8) on one tile. */
uint64_t plan_copy_cycles(const struct arch *a, uint64_t bytes);

static inline uint32_t ceil_div(uint64_t n, uint64_t d)
{
    return (uint32_t)((n + d - 1) / d);
}

/* The next larger number of parts that makes the largest part of n smaller; UINT32_MAX when there
 * is none. Numbers of parts between these would make no difference. */
static inline uint32_t next_cut(uint32_t n, uint32_t parts)
{
    uint32_t part = ceil_div(n, parts);

    return part <= 1 ? UINT32_MAX : ceil_div(n, part - 1);
}

#endif
