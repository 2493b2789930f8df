/* exchange_known.h - what is known of the exchanges of a run (exchange_part.h), for who looks
 * ahead.
 */
#ifndef EMU_EXCHANGE_KNOWN_H
#define EMU_EXCHANGE_KNOWN_H

#include "emu/exchange/exchange.h"

/* Fetches the part to which a tile probably comes next into the host's caches. */
void exchange_prefetch_part(struct exchange *x, uint32_t tile);
/* The address of the code that the tile probably executes next: its supervisor's, or, where the
 * code of a known part begins there, the one after it. */
uint32_t exchange_next_code(struct exchange *x, uint32_t tile, const struct tile *t);

#endif
