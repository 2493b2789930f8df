/* arch_json.c - reads and writes machine files, which are JSON. */
#include "emu/arch/arch_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/json_read.h"

static int store_json(struct arch *a, size_t field, const json_t *v)
{
    enum arch_type type = ss_arch_field_at(field)->type;
    uint64_t number;

    if (arch_type_is_written(type))
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

/* Fields of before, which nothing ever read: files that have them are read without. */
static int is_former(const char *key)
{
    static const char *const name[] = { "links", "links_total_mbytes_per_s",
                                        "neighbour_mbytes_per_s" };

    for (size_t k = 0; k < EMU_COUNT_OF(name); k++) {
        if (!strcmp(key, name[k]))
            return 1;
    }
    return 0;
}

static enum emu_status read_field(const struct json_reader *r, const char *key, const json_t *value)
{
    const struct json_path at = { NULL, key, 0 };
    const struct arch_field *f = ss_arch_field_find(key);
    char hint[ARCH_TEXT_MAX + 32], expected[160];

    if (!f && is_former(key))
        return EMU_OK;
    if (!f) {
        arch_suggest(key, hint, sizeof(hint));
        return json_wrong(r, NULL, NULL, "unknown field '%.80s'%s", key, hint);
    }
    if (store_json(r->ctx, (size_t)(f - ss_arch_field_at(0)), value) == 0)
        return EMU_OK;
    arch_field_expected((size_t)(f - ss_arch_field_at(0)), expected, sizeof(expected));
    return json_wrong(r, &at, value, "expected %s", expected);
}

static void list_presets(char *out, size_t bytes)
{
    size_t at = 0;

    out[0] = '\0';
    for (size_t i = 0; i < ss_arch_preset_count() && at < bytes; i++)
        at += (size_t)snprintf(out + at, bytes - at, "%s%s", i ? ", " : "", ss_arch_preset_name(i));
}

static enum emu_status read_base(const struct json_reader *r, const json_t *root)
{
    const struct json_path at = { NULL, "base", 0 };
    const json_t *base = json_object_get(root, "base");
    const struct arch *preset =
        json_is_string(base) ? ss_arch_preset(json_string_value(base)) : NULL;
    char names[160];

    if (preset) {
        *(struct arch *)r->ctx = *preset;
        return EMU_OK;
    }
    list_presets(names, sizeof(names));
    return json_wrong(r, &at, base, "expected one of %s", names);
}

static enum emu_status check_combination(const struct json_reader *r)
{
    struct arch_problem p;

    if (!arch_find_problem(r->ctx, &p))
        return EMU_OK;
    const struct json_path at = { NULL, ss_arch_field_at(p.field)->name, 0 };
    return json_wrong(r, &at, NULL, "%s", p.why);
}

static enum emu_status read_object(const struct json_reader *r, const json_t *root)
{
    /* These move rows and sources, so they go first: explicit values of those prevail. */
    static const char *const early[] = { "exchange_kind", "tiles" };
    const char *key;
    json_t *value;

    if (!json_is_object(root))
        return json_wrong(r, NULL, root, "expected an object");
    TRY(read_base(r, root));
    for (size_t i = 0; i < EMU_COUNT_OF(early); i++)
        if ((value = json_object_get(root, early[i])))
            TRY(read_field(r, early[i], value));
    json_object_foreach((json_t *)(uintptr_t)root, key, value)
    {
        if (strcmp(key, "base") == 0 || strcmp(key, early[0]) == 0 || strcmp(key, early[1]) == 0)
            continue;
        TRY(read_field(r, key, value));
    }
    return check_combination(r);
}

enum emu_status ss_arch_load_text(const char *text, size_t n, const char *file, struct arch *out)
{
    struct arch a;
    const struct json_reader r = { file, &a };
    enum emu_status s;
    json_t *root;

    TRY(json_read_text(text, n, file, &root));
    s = read_object(&r, root);
    json_decref(root);
    if (s == EMU_OK)
        *out = a;
    return s;
}

enum emu_status ss_arch_load_file(const char *path, struct arch *out)
{
    char *text;
    size_t n;
    enum emu_status s = json_read_file(path, &text, &n);

    if (s == EMU_OK)
        s = ss_arch_load_text(text, n, path, out);
    ss_free(text);
    return s;
}

enum emu_status ss_arch_from_name_or_file(const char *name_or_path, struct arch *out)
{
    const struct arch *preset = ss_arch_preset(name_or_path);
    char names[160];
    FILE *f;

    if (!name_or_path)
        return FAIL(BAD_MACHINE, "a machine without a name: name_or_path is NULL");
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
    return ss_arch_load_file(name_or_path, out);
}

static int append(json_t *root, const struct arch *a, size_t i)
{
    const struct arch_field *f = ss_arch_field_at(i);
    char text[ARCH_TEXT_MAX];

    if (f->type == ARCH_TYPE_u32 || f->type == ARCH_TYPE_u64)
        return json_object_set_new(root, f->name,
                                   json_integer((json_int_t)ss_arch_field_number(a, i)));
    ss_arch_field_text(a, i, text, sizeof(text));
    return json_object_set_new(root, f->name, json_string(text));
}

char *ss_arch_to_json(const struct arch *a)
{
    json_t *root = a ? json_object() : NULL;
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

json_t *ss_arch_changes(const struct arch *a)
{
    json_t *list = a ? json_array() : NULL;
    char value[ARCH_TEXT_MAX];
    int bad = !list;

    for (size_t i = 0; i < ARCH_FIELD_COUNT && !bad; i++) {
        if (i == ARCH_FIELD_name || !arch_field_changed(a, i))
            continue;
        ss_arch_field_text(a, i, value, sizeof(value));
        bad = json_array_append_new(list, json_sprintf("%s=%s", ss_arch_field_at(i)->name, value));
    }
    if (!bad)
        return list;
    json_decref(list);
    return NULL;
}
