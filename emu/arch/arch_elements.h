/* arch_elements.h - which memory element holds an address. */
#ifndef EMU_ARCH_ELEMENTS_H
#define EMU_ARCH_ELEMENTS_H

#include "emu/arch/arch_numbers.h"

/* Memory element that holds a byte address, or -1 outside the memory (docs/machine.md 2).
 *
 * Elements are numbered by address / element_bytes in region 0. Region 1 alternates its elements
 * word by word: the parity of the 64-bit word selects one of the pair. */
static inline int arch_element_of(const struct arch *a, uint32_t addr)
{
    uint32_t off = addr - a->mem_base; /* wraps below the base */
    unsigned shift = (unsigned)__builtin_ctz(a->element_bytes);
    uint32_t first;

    if (off >= a->mem_bytes)
        return -1;
    if (off < a->region0_bytes)
        return (int)(addr >> shift);
    first = (a->mem_base + a->region0_bytes) >> shift;
    off -= a->region0_bytes;
    return (int)(first + 2 * (off >> (shift + 1)) + (addr / arch_element_word_bytes(a)) % 2);
}

/* The same for what may not meet in one cycle of an exchange: with clash_elements 2 the two
 * elements of an interleaved pair count as the first of them. */
static inline int arch_clash_element(const struct arch *a, uint32_t addr)
{
    int element = arch_element_of(a, addr);

    if (arch_clash_elements(a) == 1 || addr - a->mem_base < a->region0_bytes)
        return element;
    return element - (int)((addr / arch_element_word_bytes(a)) % arch_clash_elements(a));
}

#endif
