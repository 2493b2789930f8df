/* programs.h - all that models/ may include of this floor, and what a program of one's own needs:
 * graphs and the compiler, the library of kernels and operations, machines that run the result,
 * programs with a name.
 */
#ifndef PROGRAMS_H
#define PROGRAMS_H

#include "programs/cli/named_program.h"
#include "programs/compiler/compiler.h"
#include "programs/compiler/report/count_text.h"
#include "programs/library/layout/plan.h"
#include "programs/library/library.h"
#include "programs/library/ops.h"
#include "programs/library/ops_nn.h"
#include "programs/library/prefetch/prefetch.h"
#include "programs/session/session.h"

#endif
