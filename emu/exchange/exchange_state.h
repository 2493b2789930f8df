/* exchange_state.h - the fabric between two runs of its machine, for those who go back. */
#ifndef EMU_EXCHANGE_STATE_H
#define EMU_EXCHANGE_STATE_H

#include "emu/base/byte_store.h"
#include "emu/exchange/exchange.h"

/* Puts away what the tiles have logged, between two calls of machine_run(), and puts it back: the
 * same fabric, without checking mode. EMU_NO_MEMORY. */
void exchange_save(const struct exchange *x, struct byte_store *out);
enum emu_status exchange_restore(struct exchange *x, struct byte_store *from) EMU_MUST_CHECK;

#endif
