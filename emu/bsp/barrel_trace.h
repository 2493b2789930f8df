/* barrel_trace.h - shows the issues of a tile to somebody who comes later than barrel_init(). */
#ifndef EMU_BARREL_TRACE_H
#define EMU_BARREL_TRACE_H

#include "emu/bsp/barrel.h"

/* Has every issue of the tile shown from now on, to nobody if trace is NULL; between two calls of
 * barrel_run(). */
void barrel_trace(struct barrel *b, struct tile *t,
                  void (*trace)(void *ctx, const struct tile *t, unsigned lane, uint64_t cycle,
                                const struct insn *main, const struct insn *aux),
                  void *ctx);

#endif
