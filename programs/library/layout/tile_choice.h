/* tile_choice.h - chooses tiles for the parts of a small layer: spread over the chip, one part on a
 * tile while tiles last, and not on tiles that hold data which the part reads. Data from other
 * tiles arrives in its place; data on the same tile must be copied there, in a call that takes
 * longer than the whole exchange.
 */
#ifndef PROGRAMS_TILE_CHOICE_H
#define PROGRAMS_TILE_CHOICE_H

#include "programs/library/layout/network.h"

struct tile_choice {
    uint32_t tiles, step, at; /* at: the first tile to try for the next part */
    uint8_t *taken;           /* owned; by tile */
};

/* For so many parts. Every layer begins at another tile. EMU_NO_MEMORY. Free with
 * tile_choice_free. */
enum emu_status tile_choice_new(struct nn *nn, uint32_t parts,
                                struct tile_choice *out) EMU_MUST_CHECK;
void tile_choice_free(struct tile_choice *s);

/* Whether the tile holds data that the part reads. */
typedef int tile_choice_avoid(const void *ctx, uint32_t tile);

/* The tile for the next part: the first free one that avoid() does not name; if there is none, the
 * first free one; if none is free, one that has a part already. avoid may be NULL. */
uint32_t tile_choice_take(struct tile_choice *s, tile_choice_avoid *avoid, const void *ctx);

#endif
