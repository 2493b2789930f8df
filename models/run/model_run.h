/* model_run.h - `superstep run NETWORK` and `superstep compile NETWORK`: parameters, pictures,
 * graph, compilation, execution, answer.
 */
#ifndef MODELS_MODEL_RUN_H
#define MODELS_MODEL_RUN_H

#include "emu/cli/request.h"

/* Runs or compiles the network q->what. Returns the exit code. */
int model_run(const struct request *q);

#endif
