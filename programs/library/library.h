/* library.h - the kernels of this library, for ss_graph_new(). */
#ifndef PROGRAMS_LIBRARY_H
#define PROGRAMS_LIBRARY_H

#include "emu/base/api.h"
#include "programs/compiler/compiler.h"

SUPERSTEP_API_BEGIN

/* Finds the kernels of all families by name, names those of the family `copy` that copy on a tile,
 * and links the code of the kernels that a program uses. */
extern const struct codelet_library ss_kernel_library;

SUPERSTEP_API_END

#endif
