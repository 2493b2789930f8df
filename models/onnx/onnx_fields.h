/* onnx_fields.h - numbers and kinds of the fields of ONNX's messages (onnx_fields.def). */
#ifndef MODELS_ONNX_FIELDS_H
#define MODELS_ONNX_FIELDS_H

#include "models/onnx/onnx_wire.h"

/* ONNX_NODE_INPUT: the number of a field in its message. */
enum onnx_field_number {
#define ONNX_FIELD(message, name, number, kind) ONNX_##message##_##name = number,
#include "models/onnx/onnx_fields.def"
#undef ONNX_FIELD
};

enum onnx_message {
    ONNX_MODEL,
    ONNX_OPSET,
    ONNX_GRAPH,
    ONNX_NODE,
    ONNX_ATTRIBUTE,
    ONNX_TENSOR,
    ONNX_ENTRY,
    ONNX_VALUE_INFO,
    ONNX_TYPE,
    ONNX_ARRAY,
    ONNX_SHAPE,
    ONNX_DIM,
    ONNX_FUNCTION,
    ONNX_MESSAGES
};

/* Takes the next field of the table off a message; f->number 0: there is none. Its type is one of
 * its kind; of a list, f->bytes are whole numbers of 32 or 64 bits, or varints. Others are skipped.
 * EMU_BAD_FILE. */
enum emu_status onnx_next(struct wire_source *src, enum onnx_message message, struct wire_span *s,
                          struct wire_field *f) EMU_MUST_CHECK;

#endif
