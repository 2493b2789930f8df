/* onnx_tensor.c - reads TensorProto: raw data, data in a field of their type, data in other files.
 */
#include <string.h>

#include "models/onnx/onnx_fields.h"
#include "models/onnx/onnx_text.h"
#include "models/onnx/onnx_tensor.h"

/* What a message says before it is made sense of. */
struct tensor_message {
    uint64_t dim[OP_RANK_MAX];
    unsigned rank;
    uint64_t location;         /* 0: here, 1: another file */
    uint64_t length;           /* of EXTERNAL; UINT64_MAX: not said */
    unsigned field;            /* that has numbers; 0: none */
    uint64_t numbers;          /* in that field */
    struct wire_span packed;   /* the field's bytes if it was there once */
    uint64_t parts;            /* how often it was there */
    int raw, several, segment; /* segment: another field that is not built */
};

/* --- the message -------------------------------------------------------------------------- */

static enum emu_status read_dims(const struct wire_source *src, struct wire_span s,
                                 struct tensor_message *m)
{
    while (s.at < s.end) {
        if (m->rank == OP_RANK_MAX)
            return FAIL(BAD_FILE, "more than %d dimensions", OP_RANK_MAX);
        TRY(wire_varint(src, &s, &m->dim[m->rank++]));
    }
    return EMU_OK;
}

/* "external_data": offsets are decimal digits. */
static enum emu_status read_entry(struct wire_source *src, struct wire_span s,
                                  struct tensor_message *m, struct onnx_tensor *out)
{
    struct wire_span key = { 0 }, value = { 0 };
    struct wire_field f;

    for (;;) {
        TRY(onnx_next(src, ONNX_ENTRY, &s, &f));
        if (!f.number)
            break;
        *(f.number == ONNX_ENTRY_KEY ? &key : &value) = f.bytes;
    }
    if (onnx_text_is(key, "location"))
        out->location = value;
    else if (onnx_text_is(key, "offset"))
        TRY(onnx_text_number(value, &out->offset));
    else if (onnx_text_is(key, "length"))
        TRY(onnx_text_number(value, &m->length));
    return EMU_OK;
}

/* Notes a field of numbers, which may come in parts. */
static void note_numbers(struct tensor_message *m, const struct wire_field *f, uint64_t numbers)
{
    if (!numbers)
        return;
    m->several |= m->field && m->field != f->number;
    m->field = f->number;
    m->numbers += numbers;
    m->packed = f->bytes;
    m->parts++;
}

static enum emu_status read_field(struct wire_source *src, const struct wire_field *f,
                                  struct tensor_message *m, struct onnx_tensor *out)
{
    switch (f->number) {
    case ONNX_TENSOR_DIMS:
        return read_dims(src, f->bytes, m);
    case ONNX_TENSOR_TYPE:
        out->type_number = f->value;
        return EMU_OK;
    case ONNX_TENSOR_NAME:
        out->name = f->bytes;
        return onnx_text_check(f->bytes);
    case ONNX_TENSOR_SEGMENT:
        m->segment = 1;
        return EMU_OK;
    case ONNX_TENSOR_RAW_DATA:
        m->several |= m->raw;
        m->raw = wire_length(f->bytes) > 0; /* empty: as if it were not there */
        out->at = f->bytes;
        return EMU_OK;
    case ONNX_TENSOR_FLOAT_DATA:
        note_numbers(m, f, wire_length(f->bytes) / 4);
        return EMU_OK;
    case ONNX_TENSOR_DOUBLE_DATA:
        note_numbers(m, f, wire_length(f->bytes) / 8);
        return EMU_OK;
    case ONNX_TENSOR_INT32_DATA:
    case ONNX_TENSOR_INT64_DATA:
    case ONNX_TENSOR_UINT64_DATA:
        note_numbers(m, f, wire_varints(f->bytes));
        return EMU_OK;
    case ONNX_TENSOR_EXTERNAL_DATA:
        return read_entry(src, f->bytes, m, out);
    case ONNX_TENSOR_DATA_LOCATION:
        m->location = f->value;
        return EMU_OK;
    default: /* texts of string tensors, which are not built, and notes */
        return EMU_OK;
    }
}

/* --- what it means ------------------------------------------------------------------------ */

/* The field that has numbers of a type when they are not raw. */
static unsigned field_of(enum op_type type)
{
    switch (type) {
    case OP_TYPE_F32:
        return ONNX_TENSOR_FLOAT_DATA;
    case OP_TYPE_F64:
        return ONNX_TENSOR_DOUBLE_DATA;
    case OP_TYPE_I64:
        return ONNX_TENSOR_INT64_DATA;
    case OP_TYPE_U32:
    case OP_TYPE_U64:
        return ONNX_TENSOR_UINT64_DATA;
    default:
        return ONNX_TENSOR_INT32_DATA;
    }
}

static enum emu_status make_shape(const struct tensor_message *m, struct onnx_tensor *out)
{
    struct op_shape *s = &out->shape;

    s->type = op_type_number(out->type_number);
    s->rank = m->rank;
    for (unsigned k = 0; k < m->rank; k++) {
        if (m->dim[k] > UINT32_MAX)
            return FAIL(BAD_FILE, "dimension %u is %lld", k, (long long)m->dim[k]);
        s->dim[k] = (uint32_t)m->dim[k];
    }
    TRY(op_shape_check(s));
    out->bytes = op_shape_count(s) * op_type_bytes(s->type);
    return EMU_OK;
}

/* Whether exactly the elements are there, in one place. */
static enum emu_status find_data(const struct tensor_message *m, struct onnx_tensor *out)
{
    uint64_t n = op_shape_count(&out->shape), raw = wire_length(out->at);
    char text[OP_SHAPE_TEXT];
    int typed = m->field != 0;

    op_shape_text(&out->shape, text);
    if (m->location > 1)
        return FAIL(BAD_FILE, "its data are in place %llu, which ONNX does not have",
                    (unsigned long long)m->location);
    if (m->several || m->raw + typed + (int)m->location > 1)
        return FAIL(BAD_FILE, "%s: data in several places", text);
    if (m->location) {
        if (m->length != UINT64_MAX && m->length != out->bytes)
            return FAIL(BAD_FILE, "%s is %llu bytes, its file is said to have %llu", text,
                        (unsigned long long)out->bytes, (unsigned long long)m->length);
        out->data = ONNX_DATA_EXTERNAL;
        return onnx_text_check(out->location);
    }
    if (!typed) {
        if (raw != out->bytes)
            return FAIL(BAD_FILE, "%s is %llu bytes of data, it has %llu", text,
                        (unsigned long long)out->bytes, (unsigned long long)raw);
        out->data = ONNX_DATA_BYTES;
        return EMU_OK;
    }
    if (m->field != field_of(out->shape.type))
        return FAIL(BAD_FILE, "%s has its numbers in the field of another type", text);
    if (m->numbers != n)
        return FAIL(BAD_FILE, "%s is %llu numbers, it has %llu", text, (unsigned long long)n,
                    (unsigned long long)m->numbers);
    out->data = ONNX_DATA_TYPED;
    return EMU_OK;
}

enum emu_status onnx_tensor_parse(struct wire_source *src, struct wire_span message,
                                  struct onnx_tensor *out)
{
    struct tensor_message m = { .length = UINT64_MAX };
    struct wire_span rest = message;
    struct wire_field f;

    *out = (struct onnx_tensor){ .at = { message.end, message.end } };
    for (;;) {
        TRY(onnx_next(src, ONNX_TENSOR, &rest, &f));
        if (!f.number)
            break;
        TRY(read_field(src, &f, &m, out));
    }
    if (m.segment)
        return FAIL(BAD_FILE, "a tensor in segments is not built");
    TRY(make_shape(&m, out));
    if (op_type_kind(out->shape.type) == OP_KIND_NONE)
        return EMU_OK;
    TRY(find_data(&m, out));
    if (out->data != ONNX_DATA_TYPED)
        return EMU_OK;
    out->at = message;
    if (m.parts == 1 && (m.field == ONNX_TENSOR_FLOAT_DATA || m.field == ONNX_TENSOR_DOUBLE_DATA)) {
        out->data = ONNX_DATA_BYTES; /* packed floats are what raw data are */
        out->at = m.packed;
    }
    return EMU_OK;
}

/* --- numbers as bytes --------------------------------------------------------------------- */

/* Whether a number of a varint field fits. In int32_data, negative numbers may have 32 or 64 bits,
 * and f16 and bf16 are their bits. */
static int fits(enum op_type type, uint64_t v)
{
    int64_t i = (int64_t)v;

    switch (type) {
    case OP_TYPE_I64:
    case OP_TYPE_U64:
        return 1;
    case OP_TYPE_U32:
        return v <= UINT32_MAX;
    case OP_TYPE_BOOL:
        return v <= 1;
    case OP_TYPE_U8:
        return v <= UINT8_MAX;
    case OP_TYPE_U16:
    case OP_TYPE_F16:
    case OP_TYPE_BF16:
        return v <= UINT16_MAX;
    default:
        if (v <= UINT32_MAX)
            i = (int32_t)(uint32_t)v;
        return type == OP_TYPE_I8    ? i == (int8_t)i
               : type == OP_TYPE_I16 ? i == (int16_t)i
                                     : i == (int32_t)i;
    }
}

static enum emu_status decode_varints(const struct wire_source *src, enum op_type type,
                                      struct wire_span s, uint8_t **out)
{
    size_t bytes = op_type_bytes(type);

    while (s.at < s.end) {
        uint64_t v;

        TRY(wire_varint(src, &s, &v));
        if (!fits(type, v))
            return FAIL(BAD_FILE, "%lld is no %s", (long long)v, op_type_text(type));
        memcpy(*out, &v, bytes);
        *out += bytes;
    }
    return EMU_OK;
}

enum emu_status onnx_tensor_decode(struct wire_source *src, const struct onnx_tensor *t,
                                   uint8_t *out)
{
    unsigned number = field_of(t->shape.type);
    struct wire_span rest = t->at;
    struct wire_field f;

    EMU_ASSERT(t->data == ONNX_DATA_TYPED);
    for (;;) {
        TRY(onnx_next(src, ONNX_TENSOR, &rest, &f));
        if (!f.number)
            return EMU_OK;
        if (f.number != number)
            continue;
        if (number == ONNX_TENSOR_FLOAT_DATA || number == ONNX_TENSOR_DOUBLE_DATA) {
            memcpy(out, f.bytes.at, wire_length(f.bytes));
            out += wire_length(f.bytes);
        } else {
            TRY(decode_varints(src, t->shape.type, f.bytes, &out));
        }
    }
}

enum emu_status onnx_tensor_find(struct onnx_folder *folder, struct onnx_tensor *t)
{
    char location[ONNX_TEXT_MAX + 1];
    struct wire_span file;

    TRY(onnx_folder_map(folder, onnx_text_copy(t->location, location), &file));
    if (t->offset > wire_length(file) || t->bytes > wire_length(file) - t->offset)
        return FAIL(BAD_FILE, "its data are bytes %llu to %llu of %s, which has %zu",
                    (unsigned long long)t->offset, (unsigned long long)(t->offset + t->bytes),
                    location, wire_length(file));
    t->at = (struct wire_span){ file.at + t->offset, file.at + t->offset + t->bytes };
    return EMU_OK;
}

const char *onnx_type_why(uint64_t type_number)
{
    if (type_number == op_type_onnx_number(OP_TYPE_STRING))
        return "texts cannot be computed with";
    return type_number == 14 || type_number == 15 ? "complex numbers are not built"
                                                  : "a type that is not built";
}
