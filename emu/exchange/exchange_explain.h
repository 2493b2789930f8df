/* exchange_explain.h - what a message says beyond the fault itself, from what the other tile sent.
 */
#ifndef EMU_EXCHANGE_EXPLAIN_H
#define EMU_EXCHANGE_EXPLAIN_H

#include "emu/exchange/exchange.h"

/* Writes at which event of its sender the word leaves that was expected or came too much, and when
 * that tile sends: "; what arrives at event 14 leaves tile 0 at its event 4; it sends at events 0
 * to 3". Writes "" for faults of another kind. Call it before the next exchange_begin(). Returns
 * the length as snprintf does. */
int exchange_fault_explain(const struct exchange *x, const struct exchange_fault *f, char *out,
                           size_t bytes);

#endif
