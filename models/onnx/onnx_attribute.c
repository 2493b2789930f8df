/* onnx_attribute.c - AttributeProto: its kind, said or seen, and its value. */
#include <string.h>

#include "models/onnx/onnx_reader.h"

/* AttributeProto.AttributeType. */
enum attribute_type {
    TYPE_UNDEFINED,
    TYPE_FLOAT,
    TYPE_INT,
    TYPE_STRING,
    TYPE_TENSOR,
    TYPE_GRAPH,
    TYPE_FLOATS,
    TYPE_INTS,
    TYPE_STRINGS,
    TYPE_TENSORS,
    TYPE_GRAPHS,
    TYPE_SPARSE,
    TYPE_SPARSES,
    TYPE_TP,
    TYPE_TPS,
    TYPES
};

static const struct {
    const char *text;
    uint32_t field; /* that has its value */
} types[TYPES] = {
    [TYPE_UNDEFINED] = { "nothing", 0 },
    [TYPE_FLOAT] = { "a float", ONNX_ATTRIBUTE_F },
    [TYPE_INT] = { "an integer", ONNX_ATTRIBUTE_I },
    [TYPE_STRING] = { "a string", ONNX_ATTRIBUTE_S },
    [TYPE_TENSOR] = { "a tensor", ONNX_ATTRIBUTE_T },
    [TYPE_GRAPH] = { "a graph", ONNX_ATTRIBUTE_G },
    [TYPE_FLOATS] = { "floats", ONNX_ATTRIBUTE_FLOATS },
    [TYPE_INTS] = { "integers", ONNX_ATTRIBUTE_INTS },
    [TYPE_STRINGS] = { "strings", ONNX_ATTRIBUTE_STRINGS },
    [TYPE_TENSORS] = { "tensors", ONNX_ATTRIBUTE_TENSORS },
    [TYPE_GRAPHS] = { "graphs", ONNX_ATTRIBUTE_GRAPHS },
    [TYPE_SPARSE] = { "a sparse tensor", ONNX_ATTRIBUTE_SPARSE },
    [TYPE_SPARSES] = { "sparse tensors", ONNX_ATTRIBUTE_SPARSES },
    [TYPE_TP] = { "a type", ONNX_ATTRIBUTE_TP },
    [TYPE_TPS] = { "types", ONNX_ATTRIBUTE_TPS },
};

struct attribute {
    struct wire_span message, name, ref;
    enum attribute_type type;
    uint64_t count;         /* of numbers in FLOATS, INTS, of texts in STRINGS */
    uint64_t bytes;         /* of texts in STRING, STRINGS */
    uint64_t i;             /* INT */
    struct wire_span value; /* FLOAT, STRING, TENSOR */
};

/* --- the message -------------------------------------------------------------------------- */

static enum attribute_type type_of_field(uint32_t field)
{
    unsigned t = TYPES - 1;

    while (t && types[t].field != field)
        t--;
    return (enum attribute_type)t;
}

/* Notes a field that has a value, or a part of it. */
static enum emu_status note_value(const struct wire_field *f, enum attribute_type *seen,
                                  struct attribute *a)
{
    enum attribute_type type = type_of_field(f->number);

    if (*seen && *seen != type)
        return FAIL(BAD_FILE, "it is %s and %s", types[*seen].text, types[type].text);
    if (*seen == TYPE_TENSOR || *seen == TYPE_GRAPH)
        return FAIL(BAD_FILE, "it is %s twice", types[type].text);
    *seen = type;
    a->value = f->bytes;
    a->i = f->value;
    a->bytes += wire_length(f->bytes);
    if (type == TYPE_INTS)
        a->count += wire_varints(f->bytes);
    else if (type == TYPE_FLOATS)
        a->count += wire_length(f->bytes) / 4;
    else
        a->count++;
    return EMU_OK;
}

static enum emu_status read_fields(struct onnx_reader *r, struct attribute *a, uint64_t *said,
                                   enum attribute_type *seen)
{
    struct wire_span rest = a->message;
    struct wire_field f;

    for (;;) {
        TRY(onnx_next(&r->source, ONNX_ATTRIBUTE, &rest, &f));
        switch (f.number) {
        case 0:
            return EMU_OK;
        case ONNX_ATTRIBUTE_NAME:
            a->name = f.bytes;
            TRY(onnx_text_check(f.bytes));
            break;
        case ONNX_ATTRIBUTE_REF:
            a->ref = f.bytes;
            TRY(onnx_text_check(f.bytes));
            break;
        case ONNX_ATTRIBUTE_TYPE:
            *said = f.value;
            break;
        case ONNX_ATTRIBUTE_DOC:
            break;
        default:
            TRY(note_value(&f, seen, a));
        }
    }
}

/* The type is that of the value; files of the first version do not say it, and a default (0, an
 * empty list) may have been left out. */
static enum emu_status read_attribute(struct onnx_reader *r, struct wire_span message,
                                      struct attribute *a)
{
    enum attribute_type seen = TYPE_UNDEFINED;
    uint64_t said = TYPE_UNDEFINED;

    *a = (struct attribute){ .message = message,
                             .name = { message.at, message.at },
                             .ref = { message.at, message.at },
                             .value = { message.at, message.at } };
    TRY(read_fields(r, a, &said, &seen));
    if (!wire_length(a->name))
        return FAIL(BAD_FILE, "an attribute without a name");
    if (said >= TYPES)
        return FAIL(BAD_FILE, "attribute %.*s: ONNX has no type %llu", ONNX_SHOWN(a->name),
                    (unsigned long long)said);
    if (said && seen && said != seen)
        return FAIL(BAD_FILE, "attribute %.*s is said to be %s and is %s", ONNX_SHOWN(a->name),
                    types[said].text, types[seen].text);
    a->type = seen ? seen : (enum attribute_type)said;
    if (!a->type && !wire_length(a->ref))
        return FAIL(BAD_FILE, "attribute %.*s has no value", ONNX_SHOWN(a->name));
    if (seen && wire_length(a->ref))
        return FAIL(BAD_FILE, "attribute %.*s has a value and names another", ONNX_SHOWN(a->name));
    return EMU_OK;
}

enum emu_status onnx_argument_read(struct onnx_reader *r, const struct onnx_call *call,
                                   struct wire_span message, struct onnx_argument *out)
{
    struct attribute a;

    TRY(read_attribute(r, message, &a));
    *out = (struct onnx_argument){ a.name, message };
    if (!wire_length(a.ref))
        return EMU_OK;
    if (!call->function)
        return FAIL(BAD_FILE, "attribute %.*s names one of a function, and is in none",
                    ONNX_SHOWN(a.name));
    out->message = (struct wire_span){ NULL, NULL };
    for (uint32_t k = 0; k < call->arguments; k++) {
        if (onnx_text_same(call->argument[k].name, a.ref))
            out->message = call->argument[k].message;
    }
    return EMU_OK;
}

/* --- the value ---------------------------------------------------------------------------- */

static const char *keep_text(struct onnx_reader *r, struct wire_span s)
{
    char *text = onnx_scratch(r, wire_length(s) + 1, 1);

    if (text && wire_length(s))
        memcpy(text, s.at, wire_length(s));
    return text;
}

/* Sets the reason why op_node() does not take a text. Returns 1 if it does. */
static int text_fits(struct wire_span s, const char *name, char why[ONNX_WHY])
{
    if (onnx_text_check(s) == EMU_OK)
        return 1;
    snprintf(why, ONNX_WHY, "attribute %.60s: %s", name, ss_error());
    return 0;
}

/* Each text ends with one of the zeros that the memory is full of. */
static enum emu_status make_texts(struct onnx_reader *r, const struct attribute *a,
                                  struct op_named_attr *out, char why[ONNX_WHY])
{
    struct wire_span rest = a->message;
    struct wire_field f;
    const char **list;
    char *to;

    if (a->count > UINT32_MAX)
        return FAIL(BAD_FILE, "%llu strings", (unsigned long long)a->count);
    TRY(onnx_keep(r, a->count * (1 + sizeof(*list))));
    list = onnx_scratch(r, a->count, sizeof(*list));
    to = onnx_scratch(r, a->bytes + a->count, 1);
    if (!list || !to)
        return FAIL(NO_MEMORY, "an attribute");
    out->attr = (struct op_attr){ .kind = OP_ATTR_STRINGS, .count = (uint32_t)a->count };
    out->attr.texts = list;
    for (uint64_t k = 0; k < a->count;) {
        TRY(onnx_next(&r->source, ONNX_ATTRIBUTE, &rest, &f));
        if (f.number != ONNX_ATTRIBUTE_STRINGS)
            continue;
        if (!text_fits(f.bytes, out->name, why))
            return EMU_OK;
        memcpy(to, f.bytes.at, wire_length(f.bytes));
        list[k++] = to;
        to += wire_length(f.bytes) + 1;
    }
    return EMU_OK;
}

static enum emu_status make_text(struct onnx_reader *r, const struct attribute *a,
                                 struct op_named_attr *out, char why[ONNX_WHY])
{
    if (!text_fits(a->value, out->name, why))
        return EMU_OK;
    out->attr = (struct op_attr){ .kind = OP_ATTR_STRING, .s = keep_text(r, a->value) };
    return out->attr.s ? EMU_OK : FAIL(NO_MEMORY, "an attribute");
}

static enum emu_status make_list(struct onnx_reader *r, const struct attribute *a,
                                 struct op_attr *out)
{
    struct wire_span rest = a->message;
    struct wire_field f;
    uint32_t n = 0;
    union {
        int64_t *i;
        double *f;
        void *any;
    } list;

    if (a->count > UINT32_MAX)
        return FAIL(BAD_FILE, "%llu numbers", (unsigned long long)a->count);
    TRY(onnx_keep(r, a->count * 8));
    list.any = onnx_scratch(r, a->count, 8);
    if (!list.any)
        return FAIL(NO_MEMORY, "an attribute of %llu numbers", (unsigned long long)a->count);
    for (;;) {
        TRY(onnx_next(&r->source, ONNX_ATTRIBUTE, &rest, &f));
        if (!f.number)
            break;
        if (f.number != types[a->type].field)
            continue;
        while (f.bytes.at < f.bytes.end) {
            if (a->type == TYPE_INTS) {
                TRY(wire_varint(&r->source, &f.bytes, (uint64_t *)&list.i[n++]));
            } else {
                float v;

                memcpy(&v, f.bytes.at, sizeof(v));
                f.bytes.at += sizeof(v);
                list.f[n++] = (double)v;
            }
        }
    }
    *out = (struct op_attr){ .count = n };
    out->kind = a->type == TYPE_INTS ? OP_ATTR_INTS : OP_ATTR_FLOATS;
    out->ints = list.i; /* or floats: one place */
    return EMU_OK;
}

static enum emu_status make_tensor(struct onnx_reader *r, const struct attribute *a,
                                   struct op_named_attr *out, char why[ONNX_WHY])
{
    struct onnx_tensor t;

    TRY(onnx_tensor_parse(&r->source, a->value, &t));
    if (t.data == ONNX_DATA_NONE) {
        snprintf(why, ONNX_WHY, "attribute %.60s: %s", out->name, onnx_type_why(t.type_number));
        return EMU_OK;
    }
    out->attr = (struct op_attr){ .kind = OP_ATTR_TENSOR };
    return onnx_constant_make(r, NULL, OP_CONST, &t, &out->attr.value);
}

static enum emu_status make_value(struct onnx_reader *r, const struct attribute *a,
                                  struct op_named_attr *out, char why[ONNX_WHY])
{
    float f = 0;

    switch (a->type) {
    case TYPE_FLOAT:
        memcpy(&f, a->value.at, wire_length(a->value));
        out->attr = (struct op_attr){ .kind = OP_ATTR_FLOAT, .f = (double)f };
        return EMU_OK;
    case TYPE_INT:
        out->attr = (struct op_attr){ .kind = OP_ATTR_INT, .i = (int64_t)a->i };
        return EMU_OK;
    case TYPE_STRING:
        return make_text(r, a, out, why);
    case TYPE_STRINGS:
        return make_texts(r, a, out, why);
    case TYPE_INTS:
    case TYPE_FLOATS:
        return make_list(r, a, &out->attr);
    case TYPE_TENSOR:
        return make_tensor(r, a, out, why);
    case TYPE_GRAPH:
    case TYPE_GRAPHS:
        snprintf(why, ONNX_WHY, "a graph inside a node is not built");
        return EMU_OK;
    default:
        snprintf(why, ONNX_WHY, "attribute %.60s is %s, which is not built", out->name,
                 types[a->type].text);
        return EMU_OK;
    }
}

enum emu_status onnx_attribute_make(struct onnx_reader *r, const struct onnx_argument *given,
                                    struct op_named_attr *out, char why[ONNX_WHY])
{
    struct attribute a;
    enum emu_status s;

    TRY(read_attribute(r, given->message, &a));
    out->name = keep_text(r, given->name);
    if (!out->name)
        return FAIL(NO_MEMORY, "an attribute");
    TRY(onnx_keep(r, a.bytes));
    s = make_value(r, &a, out, why);
    if (s == EMU_BAD_FILE || s == EMU_IO)
        s = ss_fail(s, "attribute %.60s: %s", out->name, ss_error());
    return s;
}
