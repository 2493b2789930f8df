/* pod_state.h - the state of a system between two runs, for those who go back. */
#ifndef EMU_POD_STATE_H
#define EMU_POD_STATE_H

#include "emu/bsp/machine_state.h"
#include "emu/pod/pod.h"

/* machine_save() and machine_restore() for all chips, with the words that are under way between
 * them. */
void pod_save(const struct pod *p, struct byte_store *out);
enum emu_status pod_restore(struct pod *p, struct byte_store *from) EMU_MUST_CHECK;

#endif
