/* op_tensor.c - types, shapes, and numbers as files have them and as the reference computes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "emu/base/fp.h"
#include "models/graph/op_tensor.h"

static const struct {
    const char *text;
    unsigned number, bytes;
    enum op_kind kind;
} types[] = {
    [OP_TYPE_UNKNOWN] = { "unknown", 0, 0, OP_KIND_NONE },
#define OP_TYPE(name, number, bytes, kind, text)                                                   \
    [OP_TYPE_##name] = { text, number, bytes, OP_KIND_##kind },
#include "models/graph/op_types.def"
#undef OP_TYPE
};

const char *op_type_text(enum op_type type)
{
    return types[type].text;
}

enum op_kind op_type_kind(enum op_type type)
{
    return types[type].kind;
}

size_t op_type_bytes(enum op_type type)
{
    return types[type].bytes;
}

unsigned op_type_onnx_number(enum op_type type)
{
    return types[type].number;
}

enum op_type op_type_number(uint64_t number)
{
    for (unsigned t = OP_TYPE_UNKNOWN + 1; t < OP_TYPE_COUNT; t++) {
        if (types[t].number == number)
            return (enum op_type)t;
    }
    return OP_TYPE_UNKNOWN;
}

/* --- shapes ------------------------------------------------------------------------------- */

uint64_t op_shape_span(const struct op_shape *s, unsigned begin, unsigned end)
{
    uint64_t n = 1;

    for (unsigned k = begin; k < end; k++)
        n *= s->dim[k];
    return n;
}

uint64_t op_shape_count(const struct op_shape *s)
{
    return op_shape_span(s, 0, s->rank);
}

enum emu_status op_shape_check(const struct op_shape *s)
{
    uint64_t n = 1;

    if (s->rank > OP_RANK_MAX)
        return FAIL(BAD_FILE, "%u dimensions: at most %d", s->rank, OP_RANK_MAX);
    for (unsigned k = 0; k < s->rank; k++) {
        if (s->dim[k] == 0)
            return EMU_OK; /* no elements, however large the others are */
    }
    for (unsigned k = 0; k < s->rank; k++) {
        n *= s->dim[k]; /* below 2^32 x 2^32 */
        if (n > OP_ELEMENTS_MAX)
            return FAIL(BAD_FILE, "more than 2^32 elements");
    }
    return EMU_OK;
}

int op_shape_equal(const struct op_shape *a, const struct op_shape *b)
{
    return a->rank == b->rank && !memcmp(a->dim, b->dim, a->rank * sizeof(a->dim[0]));
}

char *op_shape_text(const struct op_shape *s, char buf[OP_SHAPE_TEXT])
{
    int n = snprintf(buf, OP_SHAPE_TEXT, "%s [", op_type_text(s->type));

    for (unsigned k = 0; k < s->rank; k++)
        n += snprintf(buf + n, (size_t)(OP_SHAPE_TEXT - n), "%s%u", k ? ", " : "", s->dim[k]);
    snprintf(buf + n, (size_t)(OP_SHAPE_TEXT - n), "]");
    return buf;
}

/* --- numbers ------------------------------------------------------------------------------ */

enum emu_status op_tensor_new(const struct op_shape *s, struct op_tensor *out)
{
    uint64_t n = op_shape_count(s);

    EMU_ASSERT(op_type_kind(s->type) != OP_KIND_NONE);
    *out = (struct op_tensor){ .shape = *s };
    out->any = emu_alloc(n ? n : 1, 8);
    return out->any ? EMU_OK : FAIL(NO_MEMORY, "a tensor of %llu numbers", (unsigned long long)n);
}

void op_tensor_free(struct op_tensor *t)
{
    ss_free(t->any);
    t->any = NULL;
}

static uint16_t bf16_from_f32(float v)
{
    uint32_t b = fp_bits(v);

    return isnan(v) ? 0x7fc0 : (uint16_t)((b + 0x7fff + (b >> 16 & 1)) >> 16);
}

static double float_unpack(enum op_type type, const uint8_t *p)
{
    uint16_t h;
    float f;
    double d;

    switch (type) {
    case OP_TYPE_F64:
        memcpy(&d, p, 8);
        return d;
    case OP_TYPE_F32:
        memcpy(&f, p, 4);
        return (double)f;
    case OP_TYPE_BF16:
        memcpy(&h, p, 2);
        return (double)fp_float((uint32_t)h << 16);
    default:
        memcpy(&h, p, 2);
        return fp_f16_value(h);
    }
}

/* Too large numbers become infinite, as in files; on the chip they saturate. */
static uint16_t f16_from_f64(double v)
{
    struct fp_env env = { 0 };

    if (isnan(v))
        return FP_F16_NAN;
    if (fabs(v) >= 65520) /* half a step above the largest */
        return (uint16_t)(FP_F16_INF | (v < 0 ? FP_F16_SIGN : 0));
    return fp_f16_from_f64(v, 0, &env);
}

static void float_pack(enum op_type type, double v, uint8_t *p)
{
    float f = (float)v;
    uint16_t h;

    switch (type) {
    case OP_TYPE_F64:
        memcpy(p, &v, 8);
        break;
    case OP_TYPE_F32:
        memcpy(p, &f, 4);
        break;
    case OP_TYPE_BF16:
        h = bf16_from_f32(f);
        memcpy(p, &h, 2);
        break;
    default:
        h = f16_from_f64(v);
        memcpy(p, &h, 2);
    }
}

/* Elements of `bytes` bytes, sign extended if the type has a sign. */
static int64_t int_unpack(enum op_type type, const uint8_t *p)
{
    unsigned bytes = types[type].bytes;
    uint64_t v = 0;

    memcpy(&v, p, bytes);
    switch (type) {
    case OP_TYPE_I8:
        return (int8_t)v;
    case OP_TYPE_I16:
        return (int16_t)v;
    case OP_TYPE_I32:
        return (int32_t)v;
    case OP_TYPE_BOOL:
        return v != 0;
    default:
        return (int64_t)v;
    }
}

enum emu_status op_tensor_unpack(const struct op_shape *s, const void *data, struct op_tensor *out)
{
    const uint8_t *p = data;
    size_t bytes = types[s->type].bytes;
    uint64_t n = op_shape_count(s);

    TRY(op_tensor_new(s, out));
    if (types[s->type].kind == OP_KIND_FLOAT) {
        for (uint64_t k = 0; k < n; k++)
            out->f[k] = float_unpack(s->type, p + k * bytes);
    } else {
        for (uint64_t k = 0; k < n; k++)
            out->i[k] = int_unpack(s->type, p + k * bytes);
    }
    return EMU_OK;
}

void op_tensor_pack(const struct op_tensor *t, void *data)
{
    enum op_type type = t->shape.type;
    uint64_t n = op_shape_count(&t->shape);
    size_t bytes = types[type].bytes;
    uint8_t *p = data;

    for (uint64_t k = 0; k < n; k++) {
        if (types[type].kind == OP_KIND_FLOAT)
            float_pack(type, t->f[k], p + k * bytes);
        else
            memcpy(p + k * bytes, &t->i[k], bytes);
    }
}

void op_tensor_round(struct op_tensor *t)
{
    enum op_type type = t->shape.type;
    uint64_t n = op_shape_count(&t->shape);
    uint8_t buf[8] = { 0 };

    if (type == OP_TYPE_F64 || type == OP_TYPE_I64 || type == OP_TYPE_U64)
        return;
    for (uint64_t k = 0; k < n; k++) {
        if (types[type].kind == OP_KIND_FLOAT) {
            float_pack(type, t->f[k], buf);
            t->f[k] = float_unpack(type, buf);
        } else {
            memcpy(buf, &t->i[k], 8);
            t->i[k] = int_unpack(type, buf);
        }
    }
}
