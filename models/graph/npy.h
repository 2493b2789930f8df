/* npy.h - arrays of numbers as numpy's .npy files, versions 1 to 3. */
#ifndef MODELS_NPY_H
#define MODELS_NPY_H

#include <stdio.h>

#include "models/graph/op_tensor.h"

/* Reads an array of f16, f32, f64, an integer type or bool, little-endian, in C or Fortran order.
 * name: for messages. Errors: EMU_BAD_FILE, EMU_NO_MEMORY. Free with op_tensor_free. */
enum emu_status npy_read(const void *data, size_t bytes, const char *name,
                         struct op_tensor *out) EMU_MUST_CHECK;
/* Writes an array in C order; whoever owns f asks it for errors. EMU_BAD_FILE: of a type that these
 * files do not have; EMU_NO_MEMORY. */
enum emu_status npy_write(const struct op_tensor *t, FILE *f) EMU_MUST_CHECK;

#endif
