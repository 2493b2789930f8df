/* safetensors.h - files of named tensors: 8 bytes of header length, a JSON header, the data.
 *
 * Source: the README of safetensors, "Format". The reader checks everything: that names differ and
 * have no control characters, that every tensor has exactly the bytes of its shape and type, and
 * that tensors lie one after the other and fill the data.
 */
#ifndef MODELS_SAFETENSORS_H
#define MODELS_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "programs/programs.h"

struct output_file;

enum { SAFETENSORS_MAX_RANK = 8, SAFETENSORS_MAX_HEADER = 100 << 20 };

/* The types of elements, by their names in files. */
enum safetensors_type {
#define SAFETENSORS_TYPE(name, bytes) SAFETENSORS_##name,
#include "models/weights/safetensors.def"
#undef SAFETENSORS_TYPE
    SAFETENSORS_TYPES
};
const char *safetensors_type_name(enum safetensors_type t); /* "BF16" */

struct safetensor {
    const char *name; /* borrowed; after reading, from the header */
    enum safetensors_type type;
    unsigned rank;
    uint64_t shape[SAFETENSORS_MAX_RANK], elements, bytes;
    const void *data; /* borrowed, at any alignment, little endian */
};

struct safetensors {
    struct safetensor *tensor; /* owned; in the order of their data */
    size_t tensors;
    void *header; /* owned */
};

/* Reads the header. The tensors point into data, which must outlive them. name is for messages.
 * Errors: EMU_BAD_FILE, EMU_NO_MEMORY; then *out is empty. Free with safetensors_free. */
enum emu_status safetensors_open(const void *data, size_t bytes, const char *name,
                                 struct safetensors *out) EMU_MUST_CHECK;
void safetensors_free(struct safetensors *f);

/* Whether t is F32, F16 or BF16: the types that safetensors_to_f32() takes. */
int safetensors_is_real(const struct safetensor *t);
/* Converts the elements to f32, exactly. out: t->elements values. */
void safetensors_to_f32(const struct safetensor *t, float *out);

/* Shape and type as text: "[48, 3, 3, 3] F32". */
void safetensors_text(const struct safetensor *t, char out[200]);

/* Writes tensors in the given order; `bytes` and `elements` must agree with shape and type. The
 * file appears whole or not at all: it is written under another name and then renamed. Errors:
 * EMU_IO, EMU_NO_MEMORY. */
enum emu_status safetensors_write(const struct safetensor *t, size_t tensors,
                                  const char *path) EMU_MUST_CHECK;
/* The same into an output that was opened before; the caller commits it. */
enum emu_status safetensors_write_to(const struct safetensor *t, size_t tensors,
                                     const struct output_file *out) EMU_MUST_CHECK;

#endif
