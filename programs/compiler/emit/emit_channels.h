/* emit_channels.h - what an image says of channels between chips, and whom syncs join. */
#ifndef PROGRAMS_EMIT_CHANNELS_H
#define PROGRAMS_EMIT_CHANNELS_H

#include "programs/compiler/lower/lowered.h"

/* Adds channels and zones of the chips of a replica, whose tiles the image has. Errors: those of
 * the image; EMU_BAD_MACHINE for a machine whose host sync is in a zone of chips. */
enum emu_status emit_channels(const struct lowered *const *l, unsigned chips,
                              struct image *im) EMU_MUST_CHECK;

#endif
