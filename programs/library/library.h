/* library.h - the kernels of this library, for graph_new(). */
#ifndef PROGRAMS_LIBRARY_H
#define PROGRAMS_LIBRARY_H

#include "programs/compiler/compiler.h"

/* Finds the kernels of all families by name, names those of the family `copy` that copy on a tile,
 * and links the code of the kernels that a program uses. */
extern const struct codelet_library kernel_library;

#endif
