/* onnx_map.h - files in memory: the model, and those beside it that hold tensors.
 *
 * A file must not change while it is mapped.
 */
#ifndef MODELS_ONNX_MAP_H
#define MODELS_ONNX_MAP_H

#include "models/onnx/onnx_wire.h"

struct onnx_mapped {
    const void *at;
    size_t bytes;
    char *location; /* owned; below the folder */
};

/* The folder of a model, and what is mapped of it. */
struct onnx_folder {
    int fd;                   /* -1: there is none */
    struct onnx_mapped *file; /* owned */
    size_t files, cap, bytes; /* bytes: of all */
};

/* Maps the file at path. EMU_IO: there is none, it is no regular file, it cannot be mapped. Free
 * with onnx_unmap. */
enum emu_status onnx_map(const char *path, struct onnx_mapped *out) EMU_MUST_CHECK;
void onnx_unmap(struct onnx_mapped *m);

/* Opens the folder in which path lies. EMU_IO, EMU_NO_MEMORY. */
enum emu_status onnx_folder_open(const char *path, struct onnx_folder *out) EMU_MUST_CHECK;
/* Maps a file of the folder, each one once; *out: its bytes, until the folder is freed.
 * EMU_BAD_FILE: there is no folder, or the location leaves it ("..", "/..."). EMU_IO: as above, or
 * a link on the way. EMU_NO_MEMORY. */
enum emu_status onnx_folder_map(struct onnx_folder *d, const char *location,
                                struct wire_span *out) EMU_MUST_CHECK;
void onnx_folder_free(struct onnx_folder *d);

#endif
