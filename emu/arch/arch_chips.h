/* arch_chips.h - how many chips a system has: for the many who want no other number of a machine
 * (arch_numbers.h has them all). */
#ifndef EMU_ARCH_CHIPS_H
#define EMU_ARCH_CHIPS_H

#include "emu/arch/arch.h"

uint32_t arch_chip_count(const struct arch *a);
void arch_set_chip_count(struct arch *a, uint32_t chips);

#endif
