/* host_state.h - the host between two runs of its machine, for those who go back. */
#ifndef EMU_HOST_STATE_H
#define EMU_HOST_STATE_H

#include "emu/base/byte_store.h"
#include "emu/host/host.h"

/* Puts away the state of a host between two runs of its machine, and puts it back: the same host,
 * with the streams that it had. host_can_save(): whether all of them are in host memory, and none
 * is connected to calls. EMU_NO_MEMORY. */
int host_can_save(const struct host *h);
void host_save(const struct host *h, struct byte_store *out);
enum emu_status host_restore(struct host *h, struct byte_store *from) EMU_MUST_CHECK;

#endif
