/* place_wish.h - which objects of a tile should lie in different memory elements: words may arrive
 * in one of them while the tile sends from the other (docs/exchange.md 4). Private to this folder.
 *
 * A wish costs no memory that is needed: the placement drops it where there is no room.
 */
#ifndef PROGRAMS_PLACE_WISH_H
#define PROGRAMS_PLACE_WISH_H

#include "programs/compiler/lower/lowered.h"

struct place_wishes {
    VEC(struct object_pair) pair; /* owned; a < b, ascending, each once */
    uint8_t *receives;            /* owned; by object: words arrive in it, so not beside code */
};

/* Reads the exchanges of l. Free *w in any case. The only error is EMU_NO_MEMORY. */
enum emu_status place_wishes_init(struct place_wishes *w, const struct lowered *l) EMU_MUST_CHECK;
void place_wishes_free(struct place_wishes *w);

#endif
