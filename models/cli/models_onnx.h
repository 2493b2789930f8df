/* models_onnx.h - `superstep models FILE.onnx`: what is in the file, after folding and fusing, and
 * what of it cannot run. */
#ifndef MODELS_MODELS_ONNX_H
#define MODELS_MODELS_ONNX_H

#include "emu/cli/request.h"

/* Whether what was named is a file of this kind and no network. */
int models_is_onnx(const struct request *q);
/* Prints it to stdout. Errors: those of onnx_read_file(); EMU_USAGE, an option that is for networks
 * by name; EMU_BAD_FILE, some nodes cannot run. */
enum emu_status models_show_onnx(const struct request *q) EMU_MUST_CHECK;

#endif
