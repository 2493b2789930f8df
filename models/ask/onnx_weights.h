/* onnx_weights.h - numbers for the parameters of an ONNX file from a safetensors file that has the
 * names of its initializers.
 */
#ifndef MODELS_ONNX_WEIGHTS_H
#define MODELS_ONNX_WEIGHTS_H

#include "models/onnx/onnx.h"
#include "models/onnx/onnx_map.h"
#include "models/weights/safetensors.h"

struct onnx_weights {
    const char *path; /* borrowed; NULL: there is no file */
    struct onnx_mapped file;
    struct safetensors tensors;
    uint8_t *used; /* owned; by tensor */
    void **made;   /* owned; numbers that had to be converted */
    size_t mades, made_cap;
    uint32_t taken; /* initializers that have their numbers from here */
};

/* Opens a file; NULL: none, and nothing else fails. It must not change while a model has numbers of
 * it. Errors: EMU_IO, EMU_BAD_FILE, EMU_NO_MEMORY. Free with onnx_weights_free, also on failure. */
enum emu_status onnx_weights_open(const char *path, struct onnx_weights *out) EMU_MUST_CHECK;
void onnx_weights_free(struct onnx_weights *w); /* all zeros allowed */

/* onnx_options.replace; ctx: a struct onnx_weights. EMU_BAD_FILE: a tensor of another shape, or of
 * no type of floats for a parameter of floats. */
enum emu_status onnx_weights_replace(void *ctx, const char *name, const struct op_shape *s,
                                     const void **data) EMU_MUST_CHECK;
/* After the model was read: EMU_BAD_FILE names a tensor that is no initializer of it. torch's
 * counters of batches are none, and are passed over. */
enum emu_status onnx_weights_check(const struct onnx_weights *w) EMU_MUST_CHECK;

#endif
