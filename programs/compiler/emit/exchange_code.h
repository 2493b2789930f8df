/* exchange_code.h - encodes a tile's instructions of an exchange as machine words. */
#ifndef PROGRAMS_EXCHANGE_CODE_H
#define PROGRAMS_EXCHANGE_CODE_H

#include "programs/compiler/schedule/schedule.h"

/* The byte address in tile memory of a symbolic address. */
typedef uint32_t exchange_address(void *context, struct symbolic_addr a);

/* Writes the t->bytes / 4 words of a tile of s, for code that begins at a multiple of 8.
 * $INCOMING_BASE and $OUTGOING_BASE are 0 when it runs.
 *
 * Errors: EMU_BAD_EXCHANGE: an address is not a multiple of 4 or too large for its field. */
enum emu_status exchange_encode(const struct exchange_schedule *s, const struct tile_schedule *t,
                                exchange_address *address, void *context,
                                uint32_t *word) EMU_MUST_CHECK;

#endif
