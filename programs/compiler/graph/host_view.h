/* host_view.h - which tensors the host may write before a run and read after it. */
#ifndef PROGRAMS_HOST_VIEW_H
#define PROGRAMS_HOST_VIEW_H

#include "programs/compiler/graph/graph.h"

/* Checks that the host may write t before a run (write not 0) or read it after one: all variables
 * of t must keep their memory outside a run, because they were declared as kept or initialised;
 * inputs may be written, too, and constants may be read. Else EMU_USAGE, which names the variable.
 */
enum emu_status graph_host_view(const struct graph *g, struct tensor t, int write) EMU_MUST_CHECK;

#endif
