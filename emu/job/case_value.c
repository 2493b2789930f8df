/* case_value.c - numbers, arrays and names of registers in manifests and cases.
 *
 * Every message names the file, the JSON path and what was expected there. Strings that are not
 * numbers become relocations: an address is known only after placing.
 */
#include "emu/job/case_value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/fp.h"
#include "emu/isa/csr_names.h"
#include "emu/isa/isa.h"
#include "emu/tile/tile.h"

enum { MAX_ELEMENTS = 1 << 24 };

static const struct {
    const char *name;
    uint8_t bytes, is_float;
    int64_t low, high;
} types[CASE_TYPE_COUNT] = {
    [CASE_F16] = { "f16", 2, 1, 0, 0 },
    [CASE_F32] = { "f32", 4, 1, 0, 0 },
    [CASE_U32] = { "u32", 4, 0, 0, UINT32_MAX },
    [CASE_I32] = { "i32", 4, 0, INT32_MIN, INT32_MAX },
    [CASE_U16] = { "u16", 2, 0, 0, UINT16_MAX },
    [CASE_I16] = { "i16", 2, 0, INT16_MIN, INT16_MAX },
    [CASE_U8] = { "u8", 1, 0, 0, UINT8_MAX },
    [CASE_I8] = { "i8", 1, 0, INT8_MIN, INT8_MAX },
    [CASE_BYTES] = { "bytes", 1, 0, 0, UINT8_MAX },
};

const char *case_type_name(enum case_type t)
{
    return types[t].name;
}

uint32_t case_type_bytes(enum case_type t)
{
    return types[t].bytes;
}

int case_type_is_float(enum case_type t)
{
    return types[t].is_float;
}

int case_type_find(const char *name, enum case_type *out)
{
    for (unsigned t = 0; t < CASE_TYPE_COUNT; t++) {
        if (!strcmp(types[t].name, name)) {
            *out = (enum case_type)t;
            return 1;
        }
    }
    return 0;
}

void case_data_free(struct case_data *d)
{
    ss_free(d->data);
    ss_free(d->reloc);
    memset(d, 0, sizeof(*d));
}

/* "0x..." that fits in the type. */
static int parse_raw_bits(const char *s, enum case_type type, uint32_t *bits)
{
    unsigned long long v;
    char *end;

    if (s[0] != '0' || (s[1] != 'x' && s[1] != 'X') || strspn(s + 2, "0123456789abcdefABCDEF") < 1)
        return 0;
    v = strtoull(s, &end, 16);
    if (*end || strlen(s) > 18 || v >> (8 * types[type].bytes))
        return 0;
    *bits = (uint32_t)v;
    return 1;
}

static int parse_float_name(const char *s, enum case_type type, uint32_t *bits)
{
    int is_f16 = type == CASE_F16;

    if (!strcmp(s, "nan"))
        *bits = is_f16 ? FP_F16_NAN : FP_F32_NAN;
    else if (!strcmp(s, "inf"))
        *bits = is_f16 ? FP_F16_INF : FP_F32_INF;
    else if (!strcmp(s, "-inf"))
        *bits = is_f16 ? FP_F16_INF | FP_F16_SIGN : FP_F32_INF | FP_F32_SIGN;
    else
        return 0;
    return 1;
}

/* "name", "name+8", "name-0x10": the length of the name, and the addend in *bits. 0 if it is none
 * of these. */
static uint32_t parse_address(const char *s, uint32_t *bits)
{
    size_t n = strcspn(s, "+-");
    unsigned long v;
    char *end;

    *bits = 0;
    if (!n || n > 4096 || (s[0] >= '0' && s[0] <= '9'))
        return 0;
    if (!s[n])
        return (uint32_t)n;
    if (s[n + 1] < '0' || s[n + 1] > '9')
        return 0;
    v = strtoul(s + n + 1, &end, 0);
    if (*end || v > UINT32_MAX)
        return 0;
    *bits = s[n] == '-' ? 0u - (uint32_t)v : (uint32_t)v;
    return (uint32_t)n;
}

static int float_bits(double v, enum case_type type, uint32_t *bits)
{
    struct fp_env env = { 0 };

    if (type == CASE_F16) {
        *bits = fp_f16_from_f64(v, 0, &env);
        return !env.flags;
    }
    if (fabs(v) > 0x1.fffffep127 && isinf((float)v))
        return 0;
    *bits = fp_bits((float)v);
    return 1;
}

static enum emu_status add_reloc(struct case_data *d, uint32_t offset, uint32_t index,
                                 const char *symbol, uint32_t len)
{
    TRY(emu_grow((void **)&d->reloc, d->reloc_count, &d->reloc_cap, sizeof(d->reloc[0])));
    d->reloc[d->reloc_count++] = (struct case_reloc){ offset, index, symbol, len };
    return EMU_OK;
}

/* One element; the data array already has room for it. */
static enum emu_status read_element(const struct json_reader *r, const struct json_path *at,
                                    const json_t *v, uint32_t index, struct case_data *d)
{
    enum case_type t = d->type;
    uint32_t offset = index * types[t].bytes, bits = 0;

    if (json_is_string(v)) {
        const char *s = json_string_value(v);
        uint32_t len = 0;

        if (!parse_raw_bits(s, t, &bits) &&
            !(types[t].is_float ? parse_float_name(s, t, &bits)
                                : types[t].bytes == 4 && (len = parse_address(s, &bits))))
            return json_wrong(r, at, v, "expected a number or a string such as %s",
                              types[t].is_float     ? "\"nan\", \"-inf\" or \"0x7e00\""
                              : types[t].bytes == 4 ? "\"0xff\" or \"symbol+8\""
                                                    : "\"0xff\"");
        if (len)
            TRY(add_reloc(d, offset, index, s, len));
    } else if (types[t].is_float && json_is_number(v)) {
        if (!float_bits(json_number_value(v), t, &bits))
            return json_wrong(r, at, v, "expected a value in the range of %s, or \"inf\"",
                              types[t].name);
    } else if (json_is_integer(v)) {
        json_int_t i = json_integer_value(v);

        if (i < types[t].low || i > types[t].high)
            return json_wrong(r, at, v, "expected a %s: %lld to %lld", types[t].name,
                              (long long)types[t].low, (long long)types[t].high);
        bits = (uint32_t)(uint64_t)i;
    } else {
        return json_wrong(r, at, v, "expected %s", types[t].is_float ? "a number" : "an integer");
    }
    for (unsigned k = 0; k < types[t].bytes; k++)
        d->data[offset + k] = (uint8_t)(bits >> 8 * k);
    return EMU_OK;
}

enum emu_status case_read_data(const struct json_reader *r, const struct json_path *at,
                               const json_t *v, enum case_type type, struct case_data *out)
{
    size_t n = json_is_array(v) ? json_array_size(v) : 1;

    out->type = type;
    if (n > MAX_ELEMENTS)
        return json_wrong(r, at, NULL, "expected at most %d elements", MAX_ELEMENTS);
    if (type == CASE_BYTES) {
        json_int_t bytes = json_integer_value(v); /* 0 for what is no integer */

        if (!json_is_integer(v) || bytes < 0 || bytes > INT32_MAX)
            return json_wrong(r, at, v, "expected a number of bytes");
        out->count = out->bytes = (uint32_t)bytes;
        return EMU_OK;
    }
    out->count = (uint32_t)n;
    out->bytes = out->count * types[type].bytes;
    out->data = emu_alloc(out->bytes ? out->bytes : 1, 1);
    if (!out->data)
        return FAIL(NO_MEMORY, "%zu elements of a case", n);
    if (!json_is_array(v))
        return read_element(r, at, v, 0, out);
    for (size_t i = 0; i < n; i++) {
        struct json_path here = { at, NULL, i };

        TRY(read_element(r, &here, json_array_get(v, i), (uint32_t)i, out));
    }
    return EMU_OK;
}

enum emu_status case_read_word(const struct json_reader *r, const struct json_path *at,
                               const json_t *v, struct case_data *out)
{
    enum case_type type;
    json_t *typed;
    const char *key;

    if (!json_is_object(v)) {
        int negative = json_is_integer(v) && json_integer_value(v) < 0;

        if (json_is_array(v))
            return json_wrong(r, at, NULL, "expected one number, not an array");
        return case_read_data(r, at, v, negative ? CASE_I32 : CASE_U32, out);
    }
    key = json_object_iter_key(json_object_iter((json_t *)(uintptr_t)v));
    if (json_object_size(v) != 1 || !case_type_find(key, &type) || type == CASE_BYTES)
        return json_wrong(r, at, v, "expected an object with one typed value, {\"f32\": 0.5}");
    typed = json_object_get(v, key);
    struct json_path here = { at, key, 0 };
    TRY(case_read_data(r, &here, typed, type, out));
    if (out->bytes % 4 || !out->bytes)
        return json_wrong(r, &here, typed, "expected whole 32-bit words");
    return EMU_OK;
}

uint32_t case_element_bits(const struct case_data *d, uint32_t i)
{
    unsigned bytes = types[d->type].bytes;
    uint32_t bits = 0;

    if (!d->data)
        return 0;
    for (unsigned k = 0; k < bytes; k++)
        bits |= (uint32_t)d->data[i * bytes + k] << 8 * k;
    return bits;
}

double case_bits_value(enum case_type t, uint32_t bits)
{
    switch (t) {
    case CASE_F16:
        return fp_f16_value((uint16_t)bits);
    case CASE_F32:
        return fp_float(bits);
    case CASE_I32:
        return (int32_t)bits;
    case CASE_I16:
        return (int16_t)bits;
    case CASE_I8:
        return (int8_t)bits;
    default:
        return bits;
    }
}

/* Takes "w3." or "s." off a name; without one *lane stays. Returns the rest, or NULL if the prefix
 * is no lane. */
static const char *lane_prefix(const char *name, uint8_t *lane)
{
    if (!strncmp(name, "s.", 2)) {
        *lane = LANE_SUPER;
        return name + 2;
    }
    if (name[0] == 'w' && name[1] >= '0' && name[1] <= '9' && name[2] == '.') {
        if (name[1] >= '0' + TILE_WORKERS)
            return NULL;
        *lane = (uint8_t)(name[1] - '0');
        return name + 3;
    }
    return name;
}

enum emu_status case_read_register_name(const struct json_reader *r, const struct json_path *at,
                                        const char *name, uint8_t lane, int to_write,
                                        struct case_register *out)
{
    const char *s = lane_prefix(name, &lane), *digits;
    unsigned long n, limit;
    char *end;

    if (!s)
        return json_wrong(r, at, NULL, "expected a worker w0 to w%d", TILE_WORKERS - 1);
    if (!strncmp(s, "acc", 3)) {
        out->file = 'c';
        digits = s + 3;
        limit = TILE_ACC - 1;
    } else {
        out->file = s[0];
        digits = s[0] ? s + 1 : s;
        limit = !to_write ? 15 : s[0] == 'm' ? 11 : 13; /* the rest is read-only */
    }
    n = strtoul(digits, &end, 10);
    if (!out->file || !strchr("mac", out->file) || digits[0] < '0' || digits[0] > '9' || *end ||
        n > limit)
        return json_wrong(
            r, at, NULL,
            "expected a register that can be %s: m0 to m%d, a0 to a%d, acc0 to acc%d, with "
            "or without a context such as \"w3.\" or \"s.\"",
            to_write ? "written" : "read", to_write ? 11 : 15, to_write ? 13 : 15, TILE_ACC - 1);
    if (lane == LANE_SUPER && out->file != 'm')
        return json_wrong(r, at, NULL, "expected a worker: the supervisor has only m registers");
    out->lane = lane;
    out->number = (uint8_t)n;
    out->name = name;
    return EMU_OK;
}

/* The register by that name in the spaces that the lane can see. has_lane: the file names the lane;
 * where it does not, a name that only one side has means that side. */
static const struct csr_row *find_csr(const char *s, int has_lane, uint8_t *lane)
{
    size_t n = strlen(s);
    const struct csr_row *worker = isa_csr_find('U', s, n), *super = isa_csr_find('S', s, n);

    if (!worker)
        worker = isa_csr_find('W', s, n);
    if (!has_lane && super && !worker)
        *lane = LANE_SUPER;
    if (!has_lane && !super && *lane == LANE_SUPER)
        *lane = CASE_LANE_RUNNING;
    return *lane == LANE_SUPER ? super : worker;
}

enum emu_status case_read_csr_name(const struct json_reader *r, const struct json_path *at,
                                   const char *name, uint8_t lane, int to_write,
                                   struct case_register *out)
{
    const char *s = lane_prefix(name, &lane);
    const struct csr_row *row;
    int has_lane = s != name;

    /* What a worker finds in $FP_CTL is what the launch copies there. */
    if (to_write && !has_lane && !strcmp(name, "FP_CTL"))
        s = "FP_ICTL";
    row = s ? find_csr(s, has_lane, &lane) : NULL;
    if (!row || !(row->access & (to_write ? 2 : 1)))
        return json_wrong(r, at, NULL, "expected a CSR that can be %s, such as FP_ICTL or w3.TAS",
                          to_write ? "written" : "read");
    if (to_write && row->space == 'U' && row->index == CSR_U_FP_CTL)
        return json_wrong(r, at, NULL,
                          "expected FP_CTL without a worker: the launch copies it from FP_ICTL");
    out->lane = lane;
    out->file = row->space;
    out->number = row->index;
    out->name = name;
    return EMU_OK;
}

enum emu_status case_read_place(const struct json_reader *r, const struct json_path *at,
                                const json_t *v, struct case_place *out)
{
    struct json_path name_at = { at, "name", 0 }, align_at = { at, "align", 0 };
    struct json_path fixed_at = { at, "at", 0 };

    *out = (struct case_place){ .region = 1, .align = 8 };
    TRY(json_read_string(r, &name_at, json_object_get(v, "name"), &out->name));
    if (!json_is_name(out->name))
        return json_wrong(r, &name_at, json_object_get(v, "name"),
                          "expected letters, digits, '_', '.' or '$'");
    TRY(json_optional_u32(r, at, v, "region", 0, 1, &out->region));
    TRY(json_optional_u32(r, at, v, "align", 1, 1 << 20, &out->align));
    if (out->align & (out->align - 1))
        return json_wrong(r, &align_at, json_object_get(v, "align"), "expected a power of two");
    TRY(json_optional_u32(r, at, v, "at", 0, UINT32_MAX, &out->address));
    out->is_fixed = json_object_get(v, "at") != NULL;
    if (out->is_fixed && json_object_get(v, "region"))
        return json_wrong(r, &fixed_at, NULL, "expected \"at\" or \"region\", not both");
    if (out->is_fixed && json_object_get(v, "align") && out->address % out->align)
        return json_wrong(r, &fixed_at, json_object_get(v, "at"),
                          "expected a multiple of the alignment");
    return EMU_OK;
}
