/* tile_range.h - ranges of bytes: whether they lie in tile memory, and in which pages.
 *
 * Offsets are counted from mem_base; an address below it wraps to an offset beyond the end.
 */
#ifndef EMU_TILE_RANGE_H
#define EMU_TILE_RANGE_H

#include "emu/tile/tile.h"

/* Whether bytes from an offset on lie in memory; a range of 0 bytes may begin at its end. */
static inline int tile_has(const struct tile *t, uint32_t off, uint32_t bytes)
{
    return off <= t->mem_bytes && bytes <= t->mem_bytes - off;
}

/* Pages of 2^page_bits bytes (CODE_PAGE_BITS, DIRTY_PAGE_BITS) that hold bytes, the last perhaps
 * not full. */
static inline uint32_t tile_pages(uint32_t bytes, unsigned page_bits)
{
    return (uint32_t)(((uint64_t)bytes + (1u << page_bits) - 1) >> page_bits);
}

/* How many of the bytes lie in a page. */
static inline uint32_t tile_page_bytes(uint32_t bytes, unsigned page_bits, uint32_t page)
{
    uint32_t left = bytes - (page << page_bits);

    return left < 1u << page_bits ? left : 1u << page_bits;
}

#endif
