/* cmd_sweep.h - `superstep sweep`: many what-ifs of a program, as a database, a table and a page.
 */
#ifndef MODELS_CMD_SWEEP_H
#define MODELS_CMD_SWEEP_H

#include "emu/cli/request.h"

/* Executes what q->what and --vary name. Returns the exit code. */
int cmd_sweep(const struct request *q);

#endif
