/* safetensors.c - reads the header of a safetensors file, checks every number of it, and turns
 * elements into f32. */
#include "emu/base/alloc.h"
#include "emu/base/fp.h"
#include "emu/base/file_kind.h"
#include "models/weights/safetensors.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    unsigned bytes;
} type_row[SAFETENSORS_TYPES] = {
#define SAFETENSORS_TYPE(name, bytes) { #name, bytes },
#include "models/weights/safetensors.def"
#undef SAFETENSORS_TYPE
};

const char *safetensors_type_name(enum safetensors_type t)
{
    return t < SAFETENSORS_TYPES ? type_row[t].name : "?";
}

/* ---- one tensor of the header ---- */

static enum emu_status read_type(const json_t *o, const char *file, struct safetensor *t)
{
    const char *text = json_string_value(json_object_get(o, "dtype"));

    for (unsigned i = 0; text && i < SAFETENSORS_TYPES; i++) {
        if (!strcmp(text, type_row[i].name)) {
            t->type = (enum safetensors_type)i;
            return EMU_OK;
        }
    }
    return FAIL(BAD_FILE,
                "%s: tensor %.80s: dtype: expected F32, F16, BF16 or another known "
                "type, got %.20s",
                file, t->name, text ? text : "none");
}

/* Also counts elements and bytes, which must not overflow. */
static enum emu_status read_shape(const json_t *o, const char *file, struct safetensor *t)
{
    const json_t *shape = json_object_get(o, "shape");

    if (!json_is_array(shape) || json_array_size(shape) > SAFETENSORS_MAX_RANK)
        return FAIL(BAD_FILE, "%s: tensor %.80s: shape: expected an array of at most %d numbers",
                    file, t->name, SAFETENSORS_MAX_RANK);
    t->rank = (unsigned)json_array_size(shape);
    t->elements = 1;
    for (unsigned i = 0; i < t->rank; i++) {
        const json_t *d = json_array_get(shape, i);

        if (!json_is_integer(d) || json_integer_value(d) < 0)
            return FAIL(BAD_FILE, "%s: tensor %.80s: shape[%u]: expected a number from 0", file,
                        t->name, i);
        t->shape[i] = (uint64_t)json_integer_value(d);
        if (__builtin_mul_overflow(t->elements, t->shape[i], &t->elements))
            return FAIL(BAD_FILE, "%s: tensor %.80s: shape: too many elements", file, t->name);
    }
    if (__builtin_mul_overflow(t->elements, (uint64_t)type_row[t->type].bytes, &t->bytes))
        return FAIL(BAD_FILE, "%s: tensor %.80s: shape: too many elements", file, t->name);
    return EMU_OK;
}

static enum emu_status read_place(const json_t *o, const char *file, const uint8_t *data,
                                  uint64_t bytes, struct safetensor *t)
{
    const json_t *place = json_object_get(o, "data_offsets");
    const json_t *b = json_array_get(place, 0), *e = json_array_get(place, 1);
    uint64_t begin, end;

    if (json_array_size(place) != 2 || !json_is_integer(b) || !json_is_integer(e) ||
        json_integer_value(b) < 0 || json_integer_value(e) < json_integer_value(b))
        return FAIL(BAD_FILE, "%s: tensor %.80s: data_offsets: expected [begin, end]", file,
                    t->name);
    begin = (uint64_t)json_integer_value(b);
    end = (uint64_t)json_integer_value(e);
    if (end > bytes)
        return FAIL(BAD_FILE,
                    "%s: tensor %.80s: ends at byte %" PRIu64 " of the data, which has %" PRIu64,
                    file, t->name, end, bytes);
    if (end - begin != t->bytes)
        return FAIL(BAD_FILE,
                    "%s: tensor %.80s: its shape needs %" PRIu64 " bytes, it has %" PRIu64, file,
                    t->name, t->bytes, end - begin);
    t->data = data + begin;
    return EMU_OK;
}

static enum emu_status read_tensor(const json_t *o, const char *file, const uint8_t *data,
                                   uint64_t bytes, struct safetensor *t)
{
    for (const char *c = t->name; *c; c++) {
        if ((uint8_t)*c < 0x20 || *c == 0x7f)
            return FAIL(BAD_FILE, "%s: header: a tensor's name has a control character", file);
    }
    if (!json_is_object(o) || json_object_size(o) != 3)
        return FAIL(BAD_FILE, "%s: tensor %.80s: expected dtype, shape and data_offsets", file,
                    t->name);
    TRY(read_type(o, file, t));
    TRY(read_shape(o, file, t));
    return read_place(o, file, data, bytes, t);
}

/* ---- the file ---- */

/* By place in the data. Of tensors at one place the empty ones come first, in the order of their
 * names. */
static int by_place(const void *a, const void *b)
{
    const struct safetensor *x = a, *y = b;
    const uint8_t *p = x->data, *q = y->data;

    if (p != q)
        return p < q ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Checks that the tensors lie one after the other and fill the data. */
static enum emu_status check_cover(const struct safetensors *f, const char *file,
                                   const uint8_t *data, uint64_t bytes)
{
    const uint8_t *at = data;

    for (size_t i = 0; i < f->tensors; i++) {
        if ((const uint8_t *)f->tensor[i].data != at)
            return FAIL(BAD_FILE, "%s: tensor %.80s: begins at byte %td of the data, expected %td",
                        file, f->tensor[i].name, (const uint8_t *)f->tensor[i].data - data,
                        at - data);
        at += f->tensor[i].bytes;
    }
    if ((uint64_t)(at - data) != bytes)
        return FAIL(BAD_FILE, "%s: %" PRIu64 " bytes after the last tensor", file,
                    bytes - (uint64_t)(at - data));
    return EMU_OK;
}

static enum emu_status read_header(json_t *root, const char *file, const uint8_t *data,
                                   uint64_t bytes, struct safetensors *out)
{
    const char *key;
    json_t *v;

    if (!json_is_object(root))
        return FAIL(BAD_FILE, "%s: header: expected an object", file);
    out->tensor = emu_alloc(json_object_size(root) + 1, sizeof(*out->tensor));
    if (!out->tensor)
        return FAIL(NO_MEMORY, "%s: %zu tensors", file, json_object_size(root));
    json_object_foreach(root, key, v)
    {
        if (!strcmp(key, "__metadata__"))
            continue;
        out->tensor[out->tensors].name = key;
        TRY(read_tensor(v, file, data, bytes, &out->tensor[out->tensors]));
        out->tensors++;
    }
    qsort(out->tensor, out->tensors, sizeof(*out->tensor), by_place);
    return check_cover(out, file, data, bytes);
}

enum emu_status safetensors_open(const void *data, size_t bytes, const char *name,
                                 struct safetensors *out)
{
    const char *kind = file_kind(data, bytes, FILE_OF_WEIGHTS);
    const uint8_t *p = data;
    uint64_t length = 0;
    json_error_t e;
    enum emu_status s;

    *out = (struct safetensors){ 0 };
    for (unsigned i = 0; i < 8 && i < bytes; i++)
        length |= (uint64_t)p[i] << 8 * i;
    if (kind)
        return FAIL(BAD_FILE, "%s: no safetensors file, but %s", name, kind);
    if (bytes < 8 || length > bytes - 8 || length > SAFETENSORS_MAX_HEADER)
        return FAIL(BAD_FILE,
                    "%s: no safetensors file: a header of %" PRIu64 " bytes in a file of %zu", name,
                    length, bytes);
    out->header = json_loadb((const char *)p + 8, (size_t)length, JSON_REJECT_DUPLICATES, &e);
    if (!out->header)
        return FAIL(BAD_FILE, "%s: header: byte %d: %s", name, e.position, e.text);
    s = read_header(out->header, name, p + 8 + length, bytes - 8 - length, out);
    if (s != EMU_OK)
        safetensors_free(out);
    return s;
}

void safetensors_free(struct safetensors *f)
{
    ss_free(f->tensor);
    json_decref(f->header);
    *f = (struct safetensors){ 0 };
}

void safetensors_text(const struct safetensor *t, char out[200])
{
    int n = snprintf(out, 200, "[");

    for (unsigned i = 0; i < t->rank; i++)
        n += snprintf(out + n, 200 - (size_t)n, "%s%" PRIu64, i ? ", " : "", t->shape[i]);
    snprintf(out + n, 200 - (size_t)n, "] %s", safetensors_type_name(t->type));
}

/* ---- elements ---- */

int safetensors_is_real(const struct safetensor *t)
{
    return t->type == SAFETENSORS_F32 || t->type == SAFETENSORS_F16 || t->type == SAFETENSORS_BF16;
}

static uint32_t half_to_bits(const uint8_t *p, enum safetensors_type type)
{
    uint16_t h = (uint16_t)(p[0] | p[1] << 8);
    struct fp_env env = { 0 };

    return type == SAFETENSORS_F16 ? fp_f16_to_f32(h, &env) : (uint32_t)h << 16;
}

void safetensors_to_f32(const struct safetensor *t, float *out)
{
    const uint8_t *p = t->data;

    EMU_ASSERT(safetensors_is_real(t));
    for (uint64_t i = 0; i < t->elements; i++) {
        uint32_t bits;

        if (t->type == SAFETENSORS_F32)
            bits = p[4 * i] | (uint32_t)p[4 * i + 1] << 8 | (uint32_t)p[4 * i + 2] << 16 |
                   (uint32_t)p[4 * i + 3] << 24;
        else
            bits = half_to_bits(p + 2 * i, t->type);
        memcpy(&out[i], &bits, sizeof(bits));
    }
}
