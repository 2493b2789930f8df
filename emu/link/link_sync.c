/* link_sync.c - what a sync of several chips costs. */
#include "emu/arch/arch_numbers.h"
#include "emu/link/link.h"

enum { RUNG_CHIPS = 2, THERE_AND_BACK = 2 };

uint64_t link_sync_cycles(const struct arch *a, uint32_t chips)
{
    uint32_t near = arch_sync_chips_near(a);
    uint64_t cycles = arch_sync_chips_cycles(a), rungs;

    if (chips <= near)
        return cycles;
    rungs = (chips - near + RUNG_CHIPS - 1) / RUNG_CHIPS;
    if (arch_rail(a) == ARCH_RAIL_TORUS)
        rungs = (rungs + 1) / 2;
    return cycles + rungs * THERE_AND_BACK * ss_arch_cycles_from_ns(a, arch_sync_hop_ns(a));
}
