/* plan_cost.h - what the planners share: which cuts of a size to try, and the cost of copies. */
#ifndef PROGRAMS_PLAN_COST_H
#define PROGRAMS_PLAN_COST_H

#include "programs/library/kernel/kernel_cycles.h"
#include "programs/library/layout/plan.h"

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
