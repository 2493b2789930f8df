/* plan_cost.c - the costs that all plans are made of: exchange phases and copies. */
#include "programs/library/layout/plan_cost.h"

/* If all tiles send and receive all the time, to and from changing partners, schedules have gaps: a
 * phase takes 1.16 to 1.22 events a word besides the lag (bench_schedule: irregular 32 x 8, 68 x 8,
 * 20 x 64). One gap in so many words: */
enum { FULL_LOAD_HOLES = 5 };

struct plan_port plan_port(const struct arch *a)
{
    int low, high;

    arch_exchange_delay_span(a, &low, &high);
    return (struct plan_port){ .way = high > 0 ? (uint64_t)high : 0,
                               .lag = arch_pic_lag(a, arch_tile_physical(a, a->tiles - 1)) };
}

uint64_t plan_port_cycles(const struct plan_port *p, uint64_t words, uint64_t fan_out)
{
    uint64_t events = words + words / (FULL_LOAD_HOLES * (fan_out ? fan_out : 1));

    if (!words)
        return 0;
    return (events > p->way ? events : p->way) + p->lag;
}

uint64_t plan_exchange_latency(const struct arch *a)
{
    struct plan_port p = plan_port(a);

    return p.way + p.lag;
}

uint64_t plan_exchange_cycles(const struct arch *a, uint64_t words)
{
    return words ? a->sync_chip_cycles + words + plan_exchange_latency(a) : 0;
}

uint64_t plan_copy_cycles(const struct arch *a, uint64_t bytes)
{
    uint32_t words = (uint32_t)(bytes / 4);

    return bytes ? KERNEL_CYCLES(copy, KERNEL_ROW(copy_64), a, .src = words, .dst = words) : 0;
}
