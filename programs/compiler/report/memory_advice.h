/* memory_advice.h - what a program that does not fit would need, and what would help. */
#ifndef PROGRAMS_MEMORY_ADVICE_H
#define PROGRAMS_MEMORY_ADVICE_H

#include "programs/compiler/report/memory_report.h"

/* Sentences for a user, the most useful first. */
struct advice {
    VEC(char *) line; /* owned, entries too */
};

/* Tiles that do not fit, sorted: the greatest need first, then by number. */
struct over_tile {
    uint32_t tile; /* index in used_tile */
    uint64_t need_bytes, code_need;
    uint64_t long_code; /* code_need where that alone is too much, else 0 */
};

/* a->over entries, owned by the caller (ss_free); NULL when out of memory. */
struct over_tile *shortage_tiles(const struct memory_report *a);

/* What would help, from what fills the tiles at their worst moment. Empty when everything fits.
 * EMU_NO_MEMORY only. Free with advice_free, also on failure. */
enum emu_status shortage_advice(const struct memory_report *a, struct advice *out) EMU_MUST_CHECK;
void advice_free(struct advice *v);

/* Writes which tiles do not fit, and what each would need, as a table. */
enum emu_status shortage_print_tiles(const struct memory_report *a, FILE *f) EMU_MUST_CHECK;

#endif
