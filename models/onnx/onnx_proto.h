/* onnx_proto.h - protobuf messages while they are written: the counterpart of onnx_wire.h. */
#ifndef MODELS_ONNX_PROTO_H
#define MODELS_ONNX_PROTO_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "emu/base/fail.h"

/* Bytes that belong to somebody else, and where they stand. */
struct proto_loan {
    size_t at; /* before this byte of proto.at */
    const void *data;
    size_t bytes;
};

/* A message. Zero it before use; proto_free when done. After a failed allocation nothing is added
 * any more, and proto_write() says so. */
struct proto {
    uint8_t *at; /* owned: all bytes but lent ones */
    size_t bytes, cap;
    struct proto_loan *loan; /* owned, in order */
    size_t loans, loan_cap;
    uint64_t lent; /* bytes of all loans */
    int failed;
};

void proto_free(struct proto *p);
void proto_raw(struct proto *p, const void *data, size_t bytes);
void proto_varint(struct proto *p, uint64_t v);
void proto_int(struct proto *p, uint32_t field, uint64_t v);
void proto_f32(struct proto *p, uint32_t field, float v);
void proto_bytes(struct proto *p, uint32_t field, const void *data, size_t bytes);
void proto_text(struct proto *p, uint32_t field, const char *text);
/* As proto_bytes(), but the data are not copied: they must stay until the message is written. */
void proto_lend(struct proto *p, uint32_t field, const void *data, size_t bytes);
/* Ends a message that is a field of another, and frees it. */
void proto_message(struct proto *p, uint32_t field, struct proto *message);

/* Writes a message. EMU_NO_MEMORY; EMU_BAD_FILE: more than 2 GiB, which no reader takes. Whoever
 * owns f asks it for errors. */
enum emu_status proto_write(const struct proto *p, FILE *f) EMU_MUST_CHECK;

#endif
