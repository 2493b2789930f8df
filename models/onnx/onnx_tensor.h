/* onnx_tensor.h - TensorProto: shape, and where the numbers are. */
#ifndef MODELS_ONNX_TENSOR_H
#define MODELS_ONNX_TENSOR_H

#include "models/graph/op_tensor.h"
#include "models/onnx/onnx_map.h"
#include "models/onnx/onnx_wire.h"

enum onnx_tensor_data {
    ONNX_DATA_NONE,     /* the type is none of op_types.def, or texts: only the shape was read */
    ONNX_DATA_BYTES,    /* as op_value.data, in the message */
    ONNX_DATA_TYPED,    /* numbers that onnx_tensor_decode() makes bytes of */
    ONNX_DATA_EXTERNAL, /* as op_value.data, in another file */
};

struct onnx_tensor {
    struct wire_span name; /* "" if it has none */
    struct op_shape shape; /* of EMU_BAD_FILE's limits; type OP_TYPE_UNKNOWN: see type_number */
    uint64_t type_number;  /* as the file has it */
    uint64_t bytes;        /* of its elements */
    enum onnx_tensor_data data;
    struct wire_span at;       /* BYTES: the elements; TYPED: the message */
    struct wire_span location; /* EXTERNAL: a path below the model's folder */
    uint64_t offset;           /* EXTERNAL: of the first byte in that file */
};

/* Reads a message. Exactly its elements are there, in one place (those of EXTERNAL when
 * onnx_tensor_find() has found them). EMU_BAD_FILE: they are not. */
enum emu_status onnx_tensor_parse(struct wire_source *src, struct wire_span message,
                                  struct onnx_tensor *out) EMU_MUST_CHECK;
/* Why one of ONNX_DATA_NONE cannot be computed with: "strings are not built". */
const char *onnx_type_why(uint64_t type_number);
/* Makes little-endian elements of TYPED data: out has t->bytes. EMU_BAD_FILE: a number does not fit
 * the type. */
enum emu_status onnx_tensor_decode(struct wire_source *src, const struct onnx_tensor *t,
                                   uint8_t *out) EMU_MUST_CHECK;
/* Sets t->at to EXTERNAL data. EMU_BAD_FILE, EMU_IO, EMU_NO_MEMORY. */
enum emu_status onnx_tensor_find(struct onnx_folder *folder, struct onnx_tensor *t) EMU_MUST_CHECK;

#endif
