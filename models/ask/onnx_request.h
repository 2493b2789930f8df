/* onnx_request.h - the ONNX file of a request. */
#ifndef MODELS_ONNX_REQUEST_H
#define MODELS_ONNX_REQUEST_H

#include "emu/cli/request.h"
#include "models/onnx/onnx.h"
#include "models/ask/onnx_weights.h"

/* Whether a path ends in .onnx. */
int onnx_is_named(const char *path);
/* Whether a file with this path and these first n bytes is an ONNX model. */
int onnx_is_file(const char *path, const char *head, size_t n);
/* Whether what was named is to be read as an ONNX file: its name ends so, or there is such a file
 * and no network has that name. */
int onnx_is_meant(const char *what);

/* EMU_USAGE: an option that is for networks by name, whose shape and weights a file has settled. */
enum emu_status onnx_request_check(const struct request *q) EMU_MUST_CHECK;

/* Reads q->what with --batch, --dim and --outputs; trained: as in struct onnx_options. Errors:
 * those of onnx_read_file(); EMU_USAGE for a --dim that is no NAME=N, and for a
 * --batch that is another than the file's own; those of --weights. Free with
 * onnx_model_free, then w with onnx_weights_free, also on failure. */
enum emu_status onnx_request_read(const struct request *q, int trained, struct onnx_weights *w,
                                  struct onnx_model **out) EMU_MUST_CHECK;

#endif
