/* programs.h - all that you need to write a program of your own, and all that models/ may include
 * of programs/ without saying so: graphs and the compiler, the library of kernels and operations,
 * machines that run the result, named programs.
 */
#ifndef PROGRAMS_H
#define PROGRAMS_H

#include "programs/cli/named_program.h"
#include "programs/compiler/compiler.h"
#include "programs/library/library.h"
#include "programs/library/ops.h"
#include "programs/library/ops_gradient.h"
#include "programs/library/ops_nn.h"
#include "programs/library/ops_pieces.h"
#include "programs/library/ops_random.h"
#include "programs/library/prefetch/prefetch.h"
#include "programs/session/session.h"

#endif
