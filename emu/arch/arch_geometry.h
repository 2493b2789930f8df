/* arch_geometry.h - where things of a chip lie: physical tiles, ways of the exchange. */
#ifndef EMU_ARCH_GEOMETRY_H
#define EMU_ARCH_GEOMETRY_H

#include "emu/arch/arch.h"

/* Exchange geometry (arch_exchange.c). Logical tiles are what programs number, physical ids what
 * the mux selects. A physical id is below arch_physical_count(); a logical tile below a->tiles.
 * Anything else is a bug of the caller (EMU_ASSERT). */
uint32_t arch_physical_count(const struct arch *a);
uint32_t arch_tile_physical(const struct arch *a, uint32_t logical);
int arch_tile_logical(const struct arch *a,
                      uint32_t physical); /* -1: no such tile, also for any larger id */

/* T(s, d): a word sent at the sender's event e reaches the receiver's mux at the receiver's event e
 * + T. Events; may be < 0. */
int arch_exchange_delay(const struct arch *a, uint32_t s_physical, uint32_t d_physical);

/* One end of the ways through the exchange: what delay and direction between two tiles are made
 * of, for those who need many of them. */
struct arch_exchange_end {
    int32_t from[2], to;      /* parts of T: of the sender, to its own half or the other; of the
                                 receiver */
    int32_t way_from, way_to; /* their sum is the signed way, whose size is a part of T */
    uint8_t half, flat;       /* flat: either direction reaches everybody */
};

struct arch_exchange_end arch_exchange_end_of(const struct arch *a, uint32_t physical);

static inline int arch_exchange_delay_between(const struct arch_exchange_end *s,
                                              const struct arch_exchange_end *d)
{
    int way = s->way_from + d->way_to;

    return s->from[s->half != d->half] + d->to + (way < 0 ? -way : way);
}

static inline unsigned arch_exchange_direction_between(const struct arch_exchange_end *s,
                                                       const struct arch_exchange_end *d)
{
    return s->flat ? 3 : s->way_from + d->way_to < 1 ? 2 : 1;
}

/* Smallest and largest T over all pairs of the machine's tiles, a tile with itself included.
 * O(tiles). */
void arch_exchange_delay_span(const struct arch *a, int *min, int *max);

/* Bits of a send's ctl that reach d from s: 1 or 2 by the direction of travel; 3 (either) on a
 * flat exchange. */
unsigned arch_exchange_direction(const struct arch *a, uint32_t s_physical, uint32_t d_physical);

/* Events from the receiver's mux to its incoming pointer. */
unsigned arch_pic_lag(const struct arch *a, uint32_t d_physical);

#endif
