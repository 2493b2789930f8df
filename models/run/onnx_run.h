/* onnx_run.h - `run FILE.onnx` and `compile FILE.onnx`: from the file to the answer. */
#ifndef MODELS_ONNX_RUN_H
#define MODELS_ONNX_RUN_H

#include "emu/cli/request.h"

/* Returns the exit code. */
int onnx_run(const struct request *q);

#endif
