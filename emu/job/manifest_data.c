/* manifest_data.c - typed values: one array for all tiles, or what differs from tile to tile. */
#include <inttypes.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/fp.h"
#include "emu/isa/insn_ops.h"
#include "emu/job/manifest.h"

enum { MAX_ELEMENTS = 1 << 24, EXPR_VARIABLES = 7 };

enum data_form { FORM_PLAIN, FORM_PER_TILE, FORM_SEQUENCE };

static const char *const suffixes[] = { "", "_per_tile", "_sequence" };

void manifest_data_free(struct manifest_data *d)
{
    case_data_free(&d->data);
    *d = (struct manifest_data){ .expr = NULL };
}

uint32_t manifest_data_bytes(const struct manifest_data *d)
{
    if (d->data.type == CASE_BYTES)
        return d->data.bytes;
    return d->elements * case_type_bytes(d->data.type);
}

/* Whether a key names a typed value: a type and one of the suffixes. */
static int typed_key(const char *key, enum case_type *type, enum data_form *form)
{
    char name[16];

    for (unsigned f = 0; f < EMU_COUNT_OF(suffixes); f++) {
        size_t n = strlen(key), tail = strlen(suffixes[f]);

        if (n < tail || n - tail >= sizeof(name) || strcmp(key + n - tail, suffixes[f]))
            continue;
        memcpy(name, key, n - tail);
        name[n - tail] = 0;
        if (!case_type_find(name, type) || (f && *type == CASE_BYTES))
            continue;
        *form = (enum data_form)f;
        return 1;
    }
    return 0;
}

int manifest_data_key(const char *key)
{
    enum case_type type;
    enum data_form form;

    return typed_key(key, &type, &form) && type != CASE_BYTES;
}

static enum emu_status find_typed(const struct json_reader *r, const struct json_path *at,
                                  const json_t *obj, enum case_type *type, enum data_form *form,
                                  const char **key)
{
    enum case_type t;
    enum data_form f;
    const char *k;
    json_t *v;

    *key = NULL;
    json_object_foreach((json_t *)(uintptr_t)obj, k, v)
    {
        if (!typed_key(k, &t, &f))
            continue;
        if (*key)
            return json_wrong(r, at, NULL, "expected one array, found \"%s\" and \"%s\"", *key, k);
        *key = k;
        *type = t;
        *form = f;
    }
    if (*key)
        return EMU_OK;
    return json_wrong(r, at, NULL,
                      "expected an array such as \"u32\", \"f32\" or \"f16\", or "
                      "\"u32_per_tile\"");
}

/* ---- expressions ---- */

static enum emu_status evaluate(const char *expr, const struct data_place *p, uint32_t i,
                                int64_t *out, const char **why)
{
    const struct expr_variable v[EXPR_VARIABLES] = {
        { "i", i },
        { "tile", p->tile },
        { "index", p->index },
        { "count", p->count },
        { "tiles", p->arch ? p->arch->tiles : 0 },
        { "chip", p->chip },
        { "chips", p->arch ? p->arch->chips : 0 },
    };

    return expr_evaluate(expr, v, EXPR_VARIABLES, out, why) ? EMU_OK : EMU_BAD_FILE;
}

static int integer_fits(enum case_type t, int64_t v)
{
    unsigned bits = 8 * case_type_bytes(t);
    int is_signed = t == CASE_I32 || t == CASE_I16 || t == CASE_I8;

    if (is_signed)
        return v >= -(INT64_C(1) << (bits - 1)) && v < INT64_C(1) << (bits - 1);
    return v >= 0 && v < INT64_C(1) << bits;
}

/* Bits of an integer in a type; 0 if it does not fit. Floats round to nearest even. */
static int bits_of(enum case_type t, int64_t v, uint32_t *bits)
{
    struct fp_env env = { 0 };

    if (t == CASE_F16) {
        *bits = fp_f16_from_f64((double)v, 0, &env);
        return !env.flags;
    }
    if (t == CASE_F32) {
        *bits = fp_bits((float)v);
        return 1;
    }
    *bits = (uint32_t)(uint64_t)v;
    return integer_fits(t, v);
}

static enum emu_status fill_expr(const struct manifest_data *d, const struct data_place *p,
                                 uint8_t *out)
{
    uint32_t size = case_type_bytes(d->data.type);

    for (uint32_t i = 0; i < d->elements; i++) {
        const char *why = NULL;
        uint32_t bits = 0;
        int64_t v;

        if (evaluate(d->expr, p, i, &v, &why) != EMU_OK)
            return FAIL(BAD_FILE, "\"%.80s\" for tile %" PRIu32 ", element %" PRIu32 ": %s",
                        d->expr, p->tile, i, why);
        if (!bits_of(d->data.type, v, &bits))
            return FAIL(BAD_FILE,
                        "\"%.80s\" for tile %" PRIu32 ", element %" PRIu32 ": %" PRId64
                        " does not fit %s",
                        d->expr, p->tile, i, v, case_type_name(d->data.type));
        for (uint32_t k = 0; k < size; k++)
            out[i * size + k] = (uint8_t)(bits >> 8 * k);
    }
    return EMU_OK;
}

enum emu_status manifest_data_fill(const struct manifest_data *d, const struct data_place *p,
                                   uint8_t *out)
{
    uint32_t bytes = manifest_data_bytes(d);
    size_t from = d->per_tile_count ? (size_t)p->index * bytes : 0;

    if (d->expr)
        return fill_expr(d, p, out);
    if (d->data.data)
        memcpy(out, d->data.data + from, bytes);
    else
        memset(out, 0, bytes);
    return EMU_OK;
}

/* ---- reading ---- */

static enum emu_status read_count(const struct json_reader *r, const struct json_path *at,
                                  const json_t *obj, uint32_t *out)
{
    struct json_path here = { at, "count", 0 };
    const json_t *v = json_object_get(obj, "count");

    *out = 1;
    if (!v)
        return EMU_OK;
    if (!json_is_integer(v) || json_integer_value(v) < 1 || json_integer_value(v) > MAX_ELEMENTS)
        return json_wrong(r, &here, v, "expected an integer from 1 to %d", MAX_ELEMENTS);
    *out = (uint32_t)json_integer_value(v);
    return EMU_OK;
}

/* The expression is tried once, so that a mistake is found before any tile needs it. */
static enum emu_status read_expr(const struct json_reader *r, const struct json_path *at,
                                 const json_t *v, struct manifest_data *out)
{
    const struct data_place probe = { .count = 1 };
    const char *why = NULL;
    int64_t value;

    out->expr = json_string_value(v);
    if (evaluate(out->expr, &probe, 0, &value, &why) != EMU_OK && strcmp(why, "division by zero"))
        return json_wrong(
            r, at, v, "expected an expression of tile, tiles, chip, chips, index, count and i: %s",
            why);
    return EMU_OK;
}

/* [[1, 2], [3, 4]]: one list for each tile, all of the same length. */
static enum emu_status read_lists(const struct json_reader *r, const struct json_path *at,
                                  const json_t *v, const struct tile_list *tiles,
                                  struct manifest_data *out)
{
    enum case_type type = out->data.type;
    uint32_t bytes = 0;

    if (!json_is_array(v) || json_array_size(v) != tiles->count)
        return json_wrong(r, at, NULL,
                          "expected an expression, or a list with one entry for each of the %zu "
                          "tiles",
                          tiles->count);
    for (size_t k = 0; k < tiles->count; k++) {
        struct json_path here = { at, NULL, k };
        struct case_data one = { .type = type };
        enum emu_status s = case_read_data(r, &here, json_array_get(v, k), type, &one);

        if (s == EMU_OK && one.reloc_count)
            s = json_wrong(r, &here, NULL, "expected numbers: addresses cannot differ by tile");
        if (s == EMU_OK && k && one.count != out->per_tile_count)
            s = json_wrong(r, &here, NULL, "expected %u elements, as for the first tile",
                           out->per_tile_count);
        if (s == EMU_OK && !k) {
            bytes = one.bytes;
            out->per_tile_count = out->elements = one.count;
            if ((uint64_t)bytes * tiles->count > UINT32_MAX || !bytes)
                s = json_wrong(r, &here, NULL, "expected some elements, and below 4 GiB in all");
            else if (!(out->data.data = emu_alloc(tiles->count, bytes)))
                s = FAIL(NO_MEMORY, "values of %zu tiles", tiles->count);
        }
        if (s == EMU_OK)
            memcpy(out->data.data + k * bytes, one.data, bytes);
        case_data_free(&one);
        TRY(s);
    }
    out->data.count = (uint32_t)tiles->count * out->per_tile_count;
    out->data.bytes = (uint32_t)tiles->count * bytes;
    return EMU_OK;
}

enum emu_status manifest_read_typed(const struct json_reader *r, const struct json_path *at,
                                    const json_t *obj, struct case_data *out)
{
    enum data_form form = FORM_PLAIN;
    const char *key = NULL;

    TRY(find_typed(r, at, obj, &out->type, &form, &key));
    struct json_path here = { at, key, 0 };
    if (form != FORM_PLAIN)
        return json_wrong(r, &here, NULL, "expected \"%s\" here", case_type_name(out->type));
    return case_read_data(r, &here, json_object_get(obj, key), out->type, out);
}

enum emu_status manifest_read_data(const struct json_reader *r, const struct json_path *at,
                                   const json_t *obj, const struct tile_list *tiles,
                                   struct manifest_data *out)
{
    enum case_type type = CASE_U32;
    enum data_form form = FORM_PLAIN;
    const char *key = NULL;
    const json_t *v;

    TRY(find_typed(r, at, obj, &type, &form, &key));
    struct json_path here = { at, key, 0 };
    v = json_object_get(obj, key);
    out->data.type = type;
    if (form == FORM_PLAIN && json_object_get(obj, "count"))
        return json_wrong(r, at, NULL,
                          "expected \"count\" only where the values are an expression");
    if (form == FORM_PLAIN) {
        TRY(case_read_data(r, &here, v, type, &out->data));
        out->elements = out->data.count;
        return EMU_OK;
    }
    if ((form == FORM_PER_TILE) != (tiles != NULL))
        return json_wrong(r, &here, NULL, "expected \"%s%s\" here", case_type_name(type),
                          tiles ? "_per_tile" : "_sequence");
    if (json_is_string(v)) {
        TRY(read_count(r, at, obj, &out->elements));
        return read_expr(r, &here, v, out);
    }
    if (json_object_get(obj, "count"))
        return json_wrong(r, at, NULL,
                          "expected \"count\" only where the values are an expression");
    if (!tiles)
        return json_wrong(r, &here, v, "expected an expression of i");
    return read_lists(r, &here, v, tiles, out);
}
