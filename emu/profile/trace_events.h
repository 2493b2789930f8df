/* trace_events.h - a profile as trace events, which Perfetto (ui.perfetto.dev) and chrome://tracing
 * show: docs/profile.md. A microsecond of the viewer is a cycle.
 */
#ifndef EMU_TRACE_EVENTS_H
#define EMU_TRACE_EVENTS_H

#include "emu/profile/profile_store.h"

/* Writes the JSON. tile: ascending or not; those that took no part have no row. Errors:
 * EMU_BAD_FILE, EMU_NO_MEMORY; whoever commits the file asks for errors of f. */
enum emu_status trace_events_write(struct profile *p, const uint32_t *tile, size_t tiles,
                                   FILE *f) EMU_MUST_CHECK;

#endif
