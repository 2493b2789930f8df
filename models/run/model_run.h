/* model_run.h - `superstep run` and `superstep compile` of a network by name or an ONNX file:
 * graph, parameters, inputs, compilation, execution, answer.
 */
#ifndef MODELS_MODEL_RUN_H
#define MODELS_MODEL_RUN_H

#include "emu/cli/request.h"

/* Runs or compiles what q->what names. Returns the exit code. */
int model_run(const struct request *q);

#endif
