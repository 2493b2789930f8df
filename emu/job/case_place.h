/* case_place.h - where things lie in the memory of one tile: ranges that do not overlap, first fit.
 */
#ifndef EMU_CASE_PLACE_H
#define EMU_CASE_PLACE_H

#include "emu/arch/arch.h"
#include "emu/base/fail.h"

struct case_range_used {
    uint32_t low, high; /* [low, high) */
    const char *what;   /* borrowed, for messages */
};

/* Used ranges in ascending order. Zero but for arch is an empty layout. */
struct case_layout {
    const struct arch *arch;      /* borrowed */
    struct case_range_used *used; /* owned */
    size_t count, cap;
};

enum case_where { CASE_REGION0, CASE_REGION1, CASE_REGION1_OR_0, CASE_REGION0_OR_1 };

/* Takes [address, address + bytes). what names the thing in messages and is borrowed.
 * Errors EMU_BAD_FILE when it leaves the memory or overlaps something, EMU_NO_MEMORY. */
enum emu_status case_layout_fix(struct case_layout *l, uint32_t address, uint32_t bytes,
                                const char *what) EMU_MUST_CHECK;

/* Takes the first free range of the region that is large enough; align is a power of two. Empty
 * things take no room. Errors EMU_BAD_FILE when there is none, EMU_NO_MEMORY. Linear in the ranges
 * used. */
enum emu_status case_layout_fit(struct case_layout *l, enum case_where where, uint32_t bytes,
                                uint32_t align, const char *what, uint32_t *address) EMU_MUST_CHECK;

void case_layout_free(struct case_layout *l);

#endif
