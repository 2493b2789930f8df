/* onnx_fields.c - fields of ONNX's messages by the table. */
#include "models/onnx/onnx_fields.h"

enum onnx_field_kind { KIND_NONE, KIND_INT, KIND_INTS, KIND_F32, KIND_F32S, KIND_F64S, KIND_BYTES };

enum { NUMBERS = 32 }; /* all are below */

static const struct {
    const char *name;
    enum onnx_field_kind kind;
} table[ONNX_MESSAGES][NUMBERS] = {
#define ONNX_FIELD(message, name, number, kind) [ONNX_##message][number] = { #name, KIND_##kind },
#include "models/onnx/onnx_fields.def"
#undef ONNX_FIELD
};

static int fits(enum onnx_field_kind kind, const struct wire_field *f)
{
    size_t n = wire_length(f->bytes);

    switch (kind) {
    case KIND_INT:
        return f->type == WIRE_VARINT;
    case KIND_INTS:
        return f->type == WIRE_VARINT ||
               (f->type == WIRE_BYTES && (!n || !(f->bytes.end[-1] & 0x80)));
    case KIND_F32:
        return f->type == WIRE_32;
    case KIND_F32S:
        return f->type == WIRE_32 || (f->type == WIRE_BYTES && n % 4 == 0);
    case KIND_F64S:
        return f->type == WIRE_64 || (f->type == WIRE_BYTES && n % 8 == 0);
    default:
        return f->type == WIRE_BYTES;
    }
}

enum emu_status onnx_next(struct wire_source *src, enum onnx_message message, struct wire_span *s,
                          struct wire_field *f)
{
    for (;;) {
        size_t at = (size_t)(s->at - src->all.at);

        TRY(wire_next(src, s, f));
        if (!f->number)
            return EMU_OK;
        if (f->number >= NUMBERS || !table[message][f->number].name) {
            src->skipped = 1;
            continue;
        }
        if (!fits(table[message][f->number].kind, f))
            return FAIL(BAD_FILE, "byte %zu: field %u (%s) has another type than ONNX gives it", at,
                        f->number, table[message][f->number].name);
        return EMU_OK;
    }
}
