/* file_kind.h - what a file is that was taken for another: by its first bytes. */
#ifndef MODELS_FILE_KIND_H
#define MODELS_FILE_KIND_H

#include <stddef.h>

/* What is known by its first bytes and holds no ONNX model, and what to do with it: "a PyTorch
 * checkpoint: export it with torch.onnx.export()". weights: 1: tensors are wanted, not a network.
 * NULL: nothing that is known. */
const char *file_kind(const void *data, size_t bytes, int weights);

#endif
