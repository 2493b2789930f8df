/* execute_meter.c - supersteps of sync group 0 as progress (execute_meter.h). */
#include "emu/cli/execute_meter.h"

void execute_meter_begin(struct progress_meter *m, const struct request *q, uint64_t supersteps)
{
    progress_meter_begin(m, request_progress(q), "execute", "supersteps", supersteps);
}

void execute_meter_watch(void *ctx, const struct machine_superstep *s)
{
    if (!s->group)
        progress_meter_add(ctx, 1);
}
