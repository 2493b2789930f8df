/* run_profile.h - a run as a profile (emu/profile/profile_store.h). */
#ifndef EMU_RUN_PROFILE_H
#define EMU_RUN_PROFILE_H

#include "emu/job/run_image.h"
#include "emu/profile/profile_store.h"

/* Adds everything that a run knows: its end, machine, memory, supersteps, streams, faults. The run
 * was recorded. layer: as in struct profile_chip. EMU_NO_MEMORY. */
enum emu_status run_profile(struct profile *p, struct run *r, const uint32_t *layer,
                            size_t layers) EMU_MUST_CHECK;

#endif
