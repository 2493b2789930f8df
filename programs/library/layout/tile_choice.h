/* tile_choice.h - tiles for the parts of a small layer: spread over the chip, one part each as long
 * as there are tiles, away from the data that a part reads. What lies on its own tile is copied
 * there in a call of its own, which takes longer than the rest of the exchange; what comes from
 * elsewhere comes to its place.
 */
#ifndef PROGRAMS_TILE_CHOICE_H
#define PROGRAMS_TILE_CHOICE_H

#include "programs/library/layout/network.h"

struct tile_choice {
    uint32_t tiles, step, at; /* at: where the next part goes if it can */
    uint8_t *taken;           /* owned; by tile */
};

/* parts: how many there will be; from another tile on for every layer. EMU_NO_MEMORY. */
enum emu_status tile_choice_new(struct nn *nn, uint32_t parts,
                                struct tile_choice *out) EMU_MUST_CHECK;
void tile_choice_free(struct tile_choice *s);

/* Whether a tile has what the part would read. */
typedef int tile_choice_avoid(const void *ctx, uint32_t tile);

/* The tile of the next part; avoid: NULL: all are welcome. One that is to be avoided only if no
 * other is free, one that has a part only if none is free at all. */
uint32_t tile_choice_take(struct tile_choice *s, tile_choice_avoid *avoid, const void *ctx);

#endif
