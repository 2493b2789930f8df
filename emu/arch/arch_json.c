/* arch_json.c - reads and writes machine files, which are JSON.
 *
 * jansson gives line and column of syntax errors and duplicate keys. Where jansson accepts a value
 * that we refuse, the position reported is that of the key: keys come back in file order, so key
 * number i of the object is key number i of the text.
 */
#include "emu/arch/arch_private.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "emu/base/alloc.h"

enum { FILE_BYTES_MAX = 1 << 20 };

/* A text being read. */
struct arch_source {
    const char *text, *file;
    size_t bytes;
};

struct position {
    unsigned line, column; /* from 1 */
};

/* Position of key number `index` of the outermost object. The text is known to be valid JSON. */
static struct position key_position(const struct arch_source *src, size_t index)
{
    struct position here = { 1, 1 }, start = { 1, 1 };
    int in_string = 0, depth = 0, expects_key = 0;
    size_t seen = 0;

    for (size_t i = 0; i < src->bytes; i++, here.column++) {
        char c = src->text[i];

        if (((unsigned char)c & 0xc0) == 0x80)
            here.column--; /* columns count characters, as jansson does */
        if (c == '\n') {
            here.line++;
            here.column = 0;
        } else if (in_string) {
            if (c == '\\') {
                i++;
                here.column++;
            } else if (c == '"') {
                in_string = 0;
            }
        } else if (c == '"') {
            in_string = 1;
            if (depth == 1 && expects_key) {
                start = here;
                expects_key = 0;
                if (seen++ == index)
                    return start;
            }
        } else if (c == '{' || c == '[') {
            depth++;
            expects_key = depth == 1;
        } else if (c == '}' || c == ']') {
            depth--;
        } else if (c == ',' && depth == 1) {
            expects_key = 1;
        }
    }
    return start;
}

/* Number of a key in file order, or 0 (the first one) when it is not in the file. */
static size_t key_index(json_t *root, const char *name, int *found)
{
    size_t index = 0;
    const char *key;
    json_t *value;

    *found = 0;
    json_object_foreach(root, key, value)
    {
        if (strcmp(key, name) == 0) {
            *found = 1;
            return index;
        }
        index++;
    }
    return 0;
}

/* FAIL with "file:line:column: " of key number index in front. */
EMU_PRINTF(3, 4)
static enum emu_status refuse(const struct arch_source *src, size_t index, const char *fmt, ...)
{
    struct position at = key_position(src, index);
    char why[800];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(why, sizeof(why), fmt, ap);
    va_end(ap);
    return FAIL(BAD_MACHINE, "%.150s:%u:%u: %s", src->file, at.line, at.column, why);
}

static const char *json_kind(const json_t *v)
{
    switch (json_typeof(v)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
        return "an integer";
    case JSON_REAL:
        return "a fraction";
    case JSON_TRUE:
    case JSON_FALSE:
        return "a truth value";
    case JSON_NULL:
        break;
    }
    return "null";
}

/* The value as the file has it, for messages. */
static void describe(const json_t *v, char *out, size_t bytes)
{
    if (json_is_integer(v))
        snprintf(out, bytes, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
    else if (json_is_string(v))
        snprintf(out, bytes, "\"%.60s\"", json_string_value(v));
    else
        snprintf(out, bytes, "%s", json_kind(v));
}

static int store_json(struct arch *a, size_t field, const json_t *v)
{
    enum arch_type type = arch_field_at(field)->type;
    uint64_t number;

    if (type == ARCH_TYPE_text || type == ARCH_TYPE_kind)
        return json_is_string(v)
                   ? arch_field_store_text(a, field, json_string_value(v), json_string_length(v))
                   : -1;
    if (json_is_integer(v) && json_integer_value(v) >= 0)
        return arch_field_store_number(a, field, (uint64_t)json_integer_value(v));
    /* JSON has no hexadecimal numbers: "0x4c000" stands for one. */
    if (json_is_string(v) && strncmp(json_string_value(v), "0x", 2) == 0 &&
        arch_parse_number(json_string_value(v), json_string_length(v), &number) == 0)
        return arch_field_store_number(a, field, number);
    return -1;
}

static enum emu_status read_field(const struct arch_source *src, json_t *root, const char *key,
                                  const json_t *value, struct arch *a)
{
    const struct arch_field *f = arch_field_find(key);
    char hint[ARCH_TEXT_MAX + 32], expected[160], got[80];
    int found;

    if (!f) {
        arch_suggest(key, hint, sizeof(hint));
        return refuse(src, key_index(root, key, &found), "unknown field '%.80s'%s", key, hint);
    }
    if (store_json(a, (size_t)(f - arch_field_at(0)), value) == 0)
        return EMU_OK;
    arch_field_expected((size_t)(f - arch_field_at(0)), expected, sizeof(expected));
    describe(value, got, sizeof(got));
    return refuse(src, key_index(root, key, &found), "%s: expected %s, got %s", key, expected, got);
}

static void list_presets(char *out, size_t bytes)
{
    size_t at = 0;

    out[0] = '\0';
    for (size_t i = 0; i < arch_preset_count() && at < bytes; i++)
        at += (size_t)snprintf(out + at, bytes - at, "%s%s", i ? ", " : "", arch_preset_name(i));
}

static enum emu_status read_base(const struct arch_source *src, json_t *root, struct arch *a)
{
    const json_t *base = json_object_get(root, "base");
    const struct arch *preset = json_is_string(base) ? arch_preset(json_string_value(base)) : NULL;
    char names[160], got[80];
    size_t index;
    int found;

    if (preset) {
        *a = *preset;
        return EMU_OK;
    }
    list_presets(names, sizeof(names));
    index = key_index(root, "base", &found);
    if (!found)
        return refuse(src, index, "base: missing, expected one of %s", names);
    describe(base, got, sizeof(got));
    return refuse(src, index, "base: expected one of %s, got %s", names, got);
}

/* Blames the key that is in the file: a base cannot be wrong by itself. */
static enum emu_status check_combination(const struct arch_source *src, json_t *root,
                                         const struct arch *a)
{
    struct arch_problem p;
    size_t index;
    int found;

    if (!arch_find_problem(a, &p))
        return EMU_OK;
    index = key_index(root, arch_field_at(p.field)->name, &found);
    if (!found)
        index = key_index(root, arch_field_at(p.other)->name, &found);
    return refuse(src, index, "%s: %s", arch_field_at(p.field)->name, p.why);
}

static enum emu_status read_object(const struct arch_source *src, json_t *root, struct arch *out)
{
    /* These move rows and sources, so they go first: explicit values of those prevail. */
    static const char *const early[] = { "exchange_kind", "tiles" };
    struct arch a;
    const char *key;
    json_t *value;

    if (!json_is_object(root))
        return FAIL(BAD_MACHINE, "%.150s:1:1: expected an object, got %s", src->file,
                    json_kind(root));
    TRY(read_base(src, root, &a));
    for (size_t i = 0; i < EMU_COUNT_OF(early); i++)
        if ((value = json_object_get(root, early[i])))
            TRY(read_field(src, root, early[i], value, &a));
    json_object_foreach(root, key, value)
    {
        if (strcmp(key, "base") == 0 || strcmp(key, early[0]) == 0 || strcmp(key, early[1]) == 0)
            continue;
        TRY(read_field(src, root, key, value, &a));
    }
    TRY(check_combination(src, root, &a));
    *out = a;
    return EMU_OK;
}

enum emu_status arch_load_text(const char *text, size_t n, const char *file, struct arch *out)
{
    struct arch_source src = { text, file, n };
    enum emu_status s;
    json_error_t error;
    json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);

    if (!root && json_error_code(&error) == json_error_out_of_memory)
        return FAIL(NO_MEMORY, "%.150s: reading %zu bytes", file, n);
    if (!root)
        return FAIL(BAD_MACHINE, "%.150s:%d:%d: %s", file, error.line, error.column, error.text);
    s = read_object(&src, root, out);
    json_decref(root);
    return s;
}

enum emu_status arch_load_file(const char *path, struct arch *out)
{
    char *text = emu_alloc(FILE_BYTES_MAX + 1, 1);
    enum emu_status s;
    size_t n;
    FILE *f;

    if (!text)
        return FAIL(NO_MEMORY, "%.200s: %d bytes to read it", path, FILE_BYTES_MAX);
    f = fopen(path, "rb");
    if (!f) {
        emu_free(text);
        return FAIL(IO, "%.200s: %s", path, strerror(errno));
    }
    n = fread(text, 1, FILE_BYTES_MAX + 1, f);
    if (ferror(f))
        s = FAIL(IO, "%.200s: %s", path, strerror(errno));
    else if (n > FILE_BYTES_MAX)
        s = FAIL(BAD_MACHINE, "%.200s:1:1: larger than %d bytes", path, FILE_BYTES_MAX);
    else
        s = arch_load_text(text, n, path, out);
    fclose(f);
    emu_free(text);
    return s;
}

enum emu_status arch_from_name_or_file(const char *name_or_path, struct arch *out)
{
    const struct arch *preset = arch_preset(name_or_path);
    char names[160];
    FILE *f;

    if (preset) {
        *out = *preset;
        return EMU_OK;
    }
    f = fopen(name_or_path, "rb");
    if (!f && errno == ENOENT) {
        list_presets(names, sizeof(names));
        return FAIL(IO, "'%.200s' is neither a built-in machine (%s) nor a file", name_or_path,
                    names);
    }
    if (f)
        fclose(f);
    return arch_load_file(name_or_path, out);
}

static int append(json_t *root, const struct arch *a, size_t i)
{
    const struct arch_field *f = arch_field_at(i);
    char text[ARCH_TEXT_MAX];

    if (f->type == ARCH_TYPE_u32 || f->type == ARCH_TYPE_u64)
        return json_object_set_new(root, f->name,
                                   json_integer((json_int_t)arch_field_number(a, i)));
    arch_field_text(a, i, text, sizeof(text));
    return json_object_set_new(root, f->name, json_string(text));
}

char *arch_to_json(const struct arch *a)
{
    json_t *root = json_object();
    char *dumped = NULL, *text = NULL;
    int bad = !root || json_object_set_new(root, "base", json_string(a->base));

    for (size_t i = 0; i < ARCH_FIELD_COUNT && !bad; i++)
        bad = append(root, a, i);
    if (!bad)
        dumped = json_dumps(root, JSON_INDENT(2));
    if (dumped)
        text = emu_strdup(dumped);
    free(dumped);
    json_decref(root);
    return text;
}
