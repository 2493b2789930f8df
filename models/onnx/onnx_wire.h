/* onnx_wire.h - protobuf's wire format: the fields of messages that lie in memory. Nothing is
 * copied; whatever the bytes are, nothing outside of them is read.
 *
 * Messages of errors begin with the place ("byte 17: ..."); callers put the file in front.
 */
#ifndef MODELS_ONNX_WIRE_H
#define MODELS_ONNX_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "emu/base/fail.h"

/* A part of a file: a message, a text, or packed numbers. Borrowed. */
struct wire_span {
    const uint8_t *at, *end;
};

static inline size_t wire_length(struct wire_span s)
{
    return (size_t)(s.end - s.at);
}

/* The whole, and what it may cost to read it. */
struct wire_source {
    struct wire_span all;
    uint64_t fields; /* that may still be read: a limit for what is read again and again */
    int skipped;     /* 1: there were fields that nobody knows */
};

void wire_source_init(struct wire_source *src, const void *data, size_t bytes);

enum wire_type { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

struct wire_field {
    uint32_t number; /* 0: the message ends here */
    enum wire_type type;
    struct wire_span
        bytes;      /* what is in it; of a number, too, so that one looks like a packed list */
    uint64_t value; /* of a VARINT */
};

/* Takes the next field off a message. EMU_BAD_FILE: a group, a varint of more than 64 bits, a
 * length beyond the message, or more fields than a file of its size is read in. */
enum emu_status wire_next(struct wire_source *src, struct wire_span *message,
                          struct wire_field *f) EMU_MUST_CHECK;

/* Counts other work that takes as long as reading that many fields. EMU_BAD_FILE: there are fewer
 * left. */
enum emu_status wire_spend(struct wire_source *src, uint64_t fields) EMU_MUST_CHECK;

/* Takes one number off packed ones. EMU_BAD_FILE. */
enum emu_status wire_varint(const struct wire_source *src, struct wire_span *s,
                            uint64_t *out) EMU_MUST_CHECK;
/* How many varints a span holds if they are whole. */
uint64_t wire_varints(struct wire_span s);

#endif
