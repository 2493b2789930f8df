/* json_read.c - typed values of a JSON tree. */
#include "emu/base/json_read.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "emu/base/alloc.h"
#include "emu/base/embedded.h"

enum { FILE_BYTES = 1 << 14 };

/* ---- files ---- */

enum emu_status json_read_text(const char *text, size_t bytes, const char *name, json_t **out)
{
    json_error_t error;

    *out = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    if (*out)
        return EMU_OK;
    if (json_error_code(&error) == json_error_out_of_memory)
        return FAIL(NO_MEMORY, "%s: %zu bytes", name, bytes);
    return FAIL(BAD_FILE, "%s:%d:%d: %s", name, error.line < 1 ? 1 : error.line,
                error.column < 0 ? 0 : error.column, error.text);
}

/* /dev/zero, say, which has no end; a stream in memory has no descriptor. */
static int is_device(FILE *f)
{
    struct stat st;

    return !fstat(fileno(f), &st) && S_ISCHR(st.st_mode);
}

static enum emu_status read_all(const char *path, FILE *f, char **text, size_t *bytes)
{
    int may_be_endless = is_device(f);
    size_t room = 0, got;

    errno = 0;
    do {
        if (*bytes == room) {
            char *grown = emu_realloc(*text, 2 * room + FILE_BYTES, 1);

            if (!grown)
                return FAIL(NO_MEMORY, "%s: %zu bytes", path, room);
            *text = grown;
            room = 2 * room + FILE_BYTES;
        }
        got = fread(*text + *bytes, 1, room - *bytes, f);
        *bytes += got;
        if (may_be_endless && memchr(*text + *bytes - got, 0, got))
            break; /* no text */
    } while (!feof(f) && !ferror(f));
    return ferror(f) ? FAIL(IO, "%s: %s", path, strerror(errno)) : EMU_OK;
}

enum emu_status json_read_file(const char *path, char **text, size_t *bytes)
{
    int is_input = !strcmp(path, "-");
    FILE *f = is_input ? stdin : embedded_fopen(path);
    enum emu_status s;

    *text = NULL;
    *bytes = 0;
    if (!f)
        return FAIL(IO, "%s: %s", path, strerror(errno));
    s = read_all(path, f, text, bytes);
    if (!is_input)
        fclose(f);
    return s;
}

/* ---- messages ---- */

/* Writes "memory[2].align". */
static void path_print(const struct json_path *at, char *out, size_t bytes)
{
    size_t n;

    if (!at) {
        out[0] = 0;
        return;
    }
    path_print(at->up, out, bytes);
    n = strlen(out);
    if (at->key)
        snprintf(out + n, bytes - n, "%s%.60s", n ? "." : "", at->key);
    else
        snprintf(out + n, bytes - n, "[%zu]", at->index);
}

enum emu_status json_wrong(const struct json_reader *r, const struct json_path *at,
                           const json_t *got, const char *fmt, ...)
{
    char path[300], why[400], *text = NULL;
    enum emu_status s;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(why, sizeof(why), fmt, ap);
    va_end(ap);
    path_print(at, path, sizeof(path));
    if (got)
        text = json_dumps(got, JSON_ENCODE_ANY | JSON_COMPACT);
    if (text && strlen(text) > 60)
        strcpy(text + 56, " ...");
    s = FAIL(BAD_FILE, "%s: %s%s%s%s%s", r->file, path, path[0] ? ": " : "", why,
             text ? ", got " : "", text ? text : "");
    free(text); /* allocated by jansson */
    return s;
}

enum emu_status json_read_string(const struct json_reader *r, const struct json_path *at,
                                 const json_t *v, const char **out)
{
    if (!json_is_string(v) || !json_string_value(v)[0])
        return json_wrong(r, at, v, "expected a string that is not empty");
    *out = json_string_value(v);
    return EMU_OK;
}

enum emu_status json_read_integer(const struct json_reader *r, const struct json_path *at,
                                  const json_t *v, uint64_t low, uint64_t high, uint64_t *out)
{
    int ok = json_is_integer(v) && json_integer_value(v) >= 0;
    uint64_t n = ok ? (uint64_t)json_integer_value(v) : 0;

    if (json_is_string(v) && !strncmp(json_string_value(v), "0x", 2)) {
        const char *s = json_string_value(v) + 2;

        ok = s[0] && strlen(s) <= 16 && strspn(s, "0123456789abcdefABCDEF") == strlen(s);
        n = ok ? strtoull(s, NULL, 16) : 0;
    }
    if (!ok || n < low || n > high)
        return json_wrong(r, at, v, "expected an integer from %llu to %llu",
                          (unsigned long long)low, (unsigned long long)high);
    *out = n;
    return EMU_OK;
}

enum emu_status json_refuse_unknown(const struct json_reader *r, const struct json_path *at,
                                    const json_t *obj, const char *const *known,
                                    int (*other)(const char *key))
{
    const char *key;
    json_t *value;

    if (!json_is_object(obj))
        return json_wrong(r, at, obj, "expected an object");
    json_object_foreach((json_t *)(uintptr_t)obj, key, value)
    {
        struct json_path here = { at, key, 0 };
        int found = other && other(key);

        for (size_t i = 0; known[i]; i++)
            found |= !strcmp(known[i], key);
        if (!found)
            return json_wrong(r, &here, NULL, "expected another key: this one is unknown");
    }
    return EMU_OK;
}

/* ---- what may be left out ---- */

enum emu_status json_optional_string(const struct json_reader *r, const struct json_path *at,
                                     const json_t *obj, const char *key, const char **out)
{
    struct json_path here = { at, key, 0 };
    const json_t *v = json_object_get(obj, key);

    return v ? json_read_string(r, &here, v, out) : EMU_OK;
}

enum emu_status json_optional_u64(const struct json_reader *r, const struct json_path *at,
                                  const json_t *obj, const char *key, uint64_t low, uint64_t high,
                                  uint64_t *out)
{
    struct json_path here = { at, key, 0 };
    const json_t *v = json_object_get(obj, key);

    return v ? json_read_integer(r, &here, v, low, high, out) : EMU_OK;
}

enum emu_status json_optional_u32(const struct json_reader *r, const struct json_path *at,
                                  const json_t *obj, const char *key, uint32_t low, uint32_t high,
                                  uint32_t *out)
{
    uint64_t n = *out;

    TRY(json_optional_u64(r, at, obj, key, low, high, &n));
    *out = (uint32_t)n;
    return EMU_OK;
}

enum emu_status json_optional_bound(const struct json_reader *r, const struct json_path *at,
                                    const json_t *obj, const char *key, double *out)
{
    struct json_path here = { at, key, 0 };
    const json_t *v = json_object_get(obj, key);

    if (v && (!json_is_number(v) || !(json_number_value(v) >= 0)))
        return json_wrong(r, &here, v, "expected a number that is not negative");
    if (v)
        *out = json_number_value(v);
    return EMU_OK;
}

enum emu_status json_read_range(const struct json_reader *r, const struct json_path *at,
                                const json_t *v, struct json_range *out)
{
    if (!v)
        return EMU_OK;
    out->is_set = 1;
    if (!json_is_array(v)) {
        TRY(json_read_integer(r, at, v, 0, INT64_MAX, &out->low));
        out->high = out->low;
        return EMU_OK;
    }
    if (json_array_size(v) != 2)
        return json_wrong(r, at, v, "expected one number, or a lowest and a highest");
    TRY(json_read_integer(r, at, json_array_get(v, 0), 0, INT64_MAX, &out->low));
    return json_read_integer(r, at, json_array_get(v, 1), out->low, INT64_MAX, &out->high);
}

/* ---- lists ---- */

enum emu_status json_read_list(const struct json_reader *r, const struct json_path *at,
                               const json_t *v, json_read_fn *read_one)
{
    if (!v)
        return EMU_OK;
    if (!json_is_array(v) || json_array_size(v) > JSON_LIST_MAX)
        return json_wrong(r, at, NULL, "expected a list of at most %d entries", JSON_LIST_MAX);
    for (size_t i = 0; i < json_array_size(v); i++) {
        struct json_path here = { at, NULL, i };

        TRY(read_one(r, &here, json_array_get(v, i)));
    }
    return EMU_OK;
}

enum emu_status json_read_strings(const struct json_reader *r, const struct json_path *at,
                                  const json_t *v, const char ***out, size_t *count)
{
    size_t n = json_is_array(v) ? json_array_size(v) : 1;

    if (n > JSON_LIST_MAX)
        return json_wrong(r, at, NULL, "expected at most %d strings", JSON_LIST_MAX);
    *out = emu_alloc(n + 1, sizeof(**out));
    if (!*out)
        return FAIL(NO_MEMORY, "%zu strings", n);
    *count = n;
    if (!json_is_array(v))
        return json_read_string(r, at, v, &(*out)[0]);
    for (size_t i = 0; i < n; i++) {
        struct json_path here = { at, NULL, i };

        TRY(json_read_string(r, &here, json_array_get(v, i), &(*out)[i]));
    }
    return EMU_OK;
}

static enum emu_status read_define(const struct json_reader *r, const struct json_path *at,
                                   const json_t *v, char **out)
{
    size_t bytes = strlen(at->key) + json_string_length(v) + 32;

    if (!json_is_integer(v) && !json_is_string(v))
        return json_wrong(r, at, v, "expected a string or an integer");
    *out = emu_alloc(bytes, 1);
    if (!*out)
        return FAIL(NO_MEMORY, "a macro");
    if (json_is_integer(v))
        snprintf(*out, bytes, "%s=%lld", at->key, (long long)json_integer_value(v));
    else
        snprintf(*out, bytes, "%s=%s", at->key, json_string_value(v));
    return EMU_OK;
}

enum emu_status json_read_defines(const struct json_reader *r, const struct json_path *at,
                                  const json_t *v, char ***out, size_t *count)
{
    const char *key;
    json_t *value;

    if (!v)
        return EMU_OK;
    if (!json_is_object(v) || json_object_size(v) > JSON_LIST_MAX)
        return json_wrong(r, at, v, "expected an object of macros, {\"NAME\": \"value\"}");
    *out = emu_alloc(json_object_size(v) + 1, sizeof(**out));
    if (!*out)
        return FAIL(NO_MEMORY, "%zu macros", json_object_size(v));
    json_object_foreach((json_t *)(uintptr_t)v, key, value)
    {
        struct json_path here = { at, key, 0 };

        TRY(read_define(r, &here, value, &(*out)[*count]));
        ++*count;
    }
    return EMU_OK;
}

int json_is_name(const char *s)
{
    static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$";

    return s[0] && strspn(s, chars) == strlen(s) && (s[0] < '0' || s[0] > '9') && strlen(s) < 256;
}
