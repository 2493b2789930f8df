/* superstep.h - what a program outside this tree includes, in C or C++: <superstep.h>, as
 * pkg-config finds it.
 *
 * Graphs of tensors, the compiler, sessions (programs.h), whole operations (library/ops.h,
 * ops_nn.h), machines (arch.h). Only names that these headers declare can be linked.
 */
#ifndef SUPERSTEP_H
#define SUPERSTEP_H

/* The headers are C11; these two words of it have another spelling in C++. */
#ifdef __cplusplus
#define _Alignas(bytes) alignas(bytes)
#define _Noreturn [[noreturn]]
extern "C" {
#endif

#include "programs/programs.h"

#ifdef __cplusplus
}
#undef _Alignas
#undef _Noreturn
#endif

#endif
