/* onnx_wire.c - takes protobuf messages apart. */
#include "models/onnx/onnx_wire.h"

/* Every field has two bytes or more, and a whole file is gone through some four times. The constant
 * is for functions, whose bodies are read at each call. */
enum { FIELDS_PER_BYTE = 2, FIELDS_MORE = 1 << 24 };

void wire_source_init(struct wire_source *src, const void *data, size_t bytes)
{
    *src = (struct wire_source){ .all = { data, (const uint8_t *)data + bytes },
                                 .fields = (uint64_t)bytes * FIELDS_PER_BYTE + FIELDS_MORE };
}

enum emu_status wire_spend(struct wire_source *src, uint64_t fields)
{
    if (fields > src->fields)
        return FAIL(BAD_FILE, "its functions take too long to read");
    src->fields -= fields;
    return EMU_OK;
}

static size_t place(const struct wire_source *src, const uint8_t *at)
{
    return (size_t)(at - src->all.at);
}

enum emu_status wire_varint(const struct wire_source *src, struct wire_span *s, uint64_t *out)
{
    const uint8_t *begin = s->at;

    *out = 0;
    for (unsigned shift = 0; s->at < s->end; shift += 7) {
        uint8_t byte = *s->at++;

        if (shift == 63 && byte > 1)
            return FAIL(BAD_FILE, "byte %zu: a number that has more than 64 bits",
                        place(src, begin));
        *out |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return EMU_OK;
    }
    return FAIL(BAD_FILE, "byte %zu: a number that goes on behind its message", place(src, begin));
}

uint64_t wire_varints(struct wire_span s)
{
    uint64_t n = 0;

    for (; s.at < s.end; s.at++)
        n += !(*s.at & 0x80);
    return n;
}

static enum emu_status take(const struct wire_source *src, struct wire_span *message,
                            uint64_t bytes, struct wire_span *out)
{
    if (bytes > wire_length(*message))
        return FAIL(BAD_FILE, "byte %zu: a field of %llu bytes in a message that has %zu left",
                    place(src, message->at), (unsigned long long)bytes, wire_length(*message));
    *out = (struct wire_span){ message->at, message->at + bytes };
    message->at += bytes;
    return EMU_OK;
}

enum emu_status wire_next(struct wire_source *src, struct wire_span *message, struct wire_field *f)
{
    const uint8_t *begin = message->at;
    uint64_t tag, length;

    *f = (struct wire_field){ .number = 0 };
    if (message->at == message->end)
        return EMU_OK;
    TRY(wire_spend(src, 1));
    TRY(wire_varint(src, message, &tag));
    if (tag >> 3 == 0 || tag >> 32)
        return FAIL(BAD_FILE, "byte %zu: no field has the number %llu", place(src, begin),
                    (unsigned long long)(tag >> 3));
    f->number = (uint32_t)(tag >> 3);
    f->type = (enum wire_type)(tag & 7);
    switch (f->type) {
    case WIRE_VARINT:
        f->bytes.at = message->at;
        TRY(wire_varint(src, message, &f->value));
        f->bytes.end = message->at;
        return EMU_OK;
    case WIRE_64:
        return take(src, message, 8, &f->bytes);
    case WIRE_32:
        return take(src, message, 4, &f->bytes);
    case WIRE_BYTES:
        TRY(wire_varint(src, message, &length));
        return take(src, message, length, &f->bytes);
    default:
        return FAIL(BAD_FILE, "byte %zu: a field of the type %u, which ONNX does not use",
                    place(src, begin), (unsigned)f->type);
    }
}
