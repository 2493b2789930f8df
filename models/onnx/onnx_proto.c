/* onnx_proto.c - writes protobuf's wire format. */
#include "models/onnx/onnx_proto.h"

#include <string.h>

#include "emu/base/alloc.h"
#include "models/onnx/onnx_wire.h"

void proto_free(struct proto *p)
{
    ss_free(p->at);
    ss_free(p->loan);
    *p = (struct proto){ .at = NULL };
}

/* Makes room for more bytes. 0: there is none. */
static int reserve(struct proto *p, size_t bytes)
{
    size_t cap = 2 * p->cap + bytes + 256;
    void *at;

    if (p->failed || p->cap - p->bytes >= bytes)
        return !p->failed;
    at = emu_realloc(p->at, cap, 1);
    p->failed = !at;
    if (!at)
        return 0;
    p->at = at;
    p->cap = cap;
    return 1;
}

void proto_raw(struct proto *p, const void *data, size_t bytes)
{
    if (!bytes || !reserve(p, bytes))
        return;
    memcpy(p->at + p->bytes, data, bytes);
    p->bytes += bytes;
}

void proto_varint(struct proto *p, uint64_t v)
{
    uint8_t byte[10];
    size_t n = 0;

    do {
        byte[n++] = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
        v >>= 7;
    } while (v);
    proto_raw(p, byte, n);
}

static void tag(struct proto *p, uint32_t field, enum wire_type type)
{
    proto_varint(p, (uint64_t)field << 3 | type);
}

void proto_int(struct proto *p, uint32_t field, uint64_t v)
{
    tag(p, field, WIRE_VARINT);
    proto_varint(p, v);
}

void proto_f32(struct proto *p, uint32_t field, float v)
{
    tag(p, field, WIRE_32);
    proto_raw(p, &v, sizeof(v));
}

void proto_bytes(struct proto *p, uint32_t field, const void *data, size_t bytes)
{
    tag(p, field, WIRE_BYTES);
    proto_varint(p, bytes);
    proto_raw(p, data, bytes);
}

void proto_text(struct proto *p, uint32_t field, const char *text)
{
    proto_bytes(p, field, text, strlen(text));
}

static void lend(struct proto *p, struct proto_loan l)
{
    if (p->failed ||
        emu_grow((void **)&p->loan, p->loans, &p->loan_cap, sizeof(*p->loan)) != EMU_OK) {
        p->failed = 1;
        return;
    }
    p->loan[p->loans++] = l;
    p->lent += l.bytes;
}

void proto_lend(struct proto *p, uint32_t field, const void *data, size_t bytes)
{
    tag(p, field, WIRE_BYTES);
    proto_varint(p, bytes);
    lend(p, (struct proto_loan){ p->bytes, data, bytes });
}

void proto_message(struct proto *p, uint32_t field, struct proto *message)
{
    tag(p, field, WIRE_BYTES);
    proto_varint(p, message->bytes + message->lent);
    for (size_t k = 0; k < message->loans; k++) {
        struct proto_loan l = message->loan[k];

        l.at += p->bytes;
        lend(p, l);
    }
    proto_raw(p, message->at, message->bytes);
    p->failed |= message->failed;
    proto_free(message);
}

enum emu_status proto_write(const struct proto *p, FILE *f)
{
    size_t done = 0;

    if (p->failed)
        return FAIL(NO_MEMORY, "a message");
    if (p->bytes + p->lent > INT32_MAX)
        return FAIL(BAD_FILE, "%.1f GB are more than the 2 GiB that such a file may have",
                    (double)(p->bytes + p->lent) / 1e9);
    for (size_t k = 0; k < p->loans; k++) {
        fwrite(p->at + done, 1, p->loan[k].at - done, f);
        fwrite(p->loan[k].data, 1, p->loan[k].bytes, f);
        done = p->loan[k].at;
    }
    if (p->bytes > done)
        fwrite(p->at + done, 1, p->bytes - done, f);
    return EMU_OK;
}
