/* execute_meter.h - how far a run is, told on stderr at the end of its supersteps. */
#ifndef EMU_EXECUTE_METER_H
#define EMU_EXECUTE_METER_H

#include "emu/base/progress_meter.h"
#include "emu/bsp/machine_superstep.h"
#include "emu/cli/request.h"

/* The stage "execute" of a request begins; nothing is printed with --quiet. supersteps: of sync
 * group 0; 0: nobody knows. End it with progress_meter_end(). */
void execute_meter_begin(struct progress_meter *m, const struct request *q, uint64_t supersteps);
/* For `watch` of a run or a session: ctx is a struct progress_meter. */
void execute_meter_watch(void *ctx, const struct machine_superstep *s);

#endif
