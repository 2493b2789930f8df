/* host_view.h - which tensors the host may reach before and after a run. */
#ifndef PROGRAMS_HOST_VIEW_H
#define PROGRAMS_HOST_VIEW_H

#include "programs/compiler/graph/graph.h"

/* EMU_OK when all variables of t are there outside a run: kept, initialised, inputs if the host
 * wants to write, or else constant. Else EMU_USAGE, which names the variable. */
enum emu_status graph_host_view(const struct graph *g, struct tensor t, int write) EMU_MUST_CHECK;

#endif
