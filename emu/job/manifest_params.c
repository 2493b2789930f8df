/* manifest_params.c - numbers of a manifest that a user may change, "parameters": {"WORDS":
 * {"value": 8, "low": 1, "high": 100, "text": "words of a shift"}}.
 *
 * They are put into the JSON tree before the rest of it is read: into expressions by their names,
 * into what is a number ("count": "2 * WORDS"), and into sets of tiles ("0-{PRODUCERS - 1}"). The
 * assembler knows them as symbols.
 */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/name_text.h"
#include "emu/job/manifest_internal.h"

enum { MAX_PARAMETERS = 16, MAX_VARIABLES = MAX_PARAMETERS + 2, TEXT_BYTES = 1000 };

/* `tiles`, `chips`, and the parameters that are known so far. */
struct known_params {
    struct expr_variable at[MAX_VARIABLES];
    size_t count;
};

static struct known_params known_of(const struct manifest *m)
{
    struct known_params k = { .at = { { "tiles", m->arch.tiles }, { "chips", m->arch.chips } },
                              .count = 2 };

    for (size_t i = 0; i < m->parameters; i++)
        k.at[k.count++] = (struct expr_variable){ m->parameter[i].name, m->parameter[i].value };
    return k;
}

/* ---- reading ---- */

/* An integer, or an expression of tiles and the parameters before. */
static enum emu_status read_number(const struct json_reader *r, const struct json_path *at,
                                   const json_t *obj, const char *key, int64_t *out)
{
    const struct known_params k = known_of(manifest_of(r));
    struct json_path here = { at, key, 0 };
    const json_t *v = json_object_get(obj, key);
    const char *why = "";

    if (json_is_integer(v)) {
        *out = json_integer_value(v);
        return EMU_OK;
    }
    if (json_is_string(v) && expr_evaluate(json_string_value(v), k.at, k.count, out, &why))
        return EMU_OK;
    return json_wrong(r, &here, v,
                      "expected a number, or an expression of tiles, chips and the parameters "
                      "before%s%s",
                      *why ? ": " : "", why);
}

static const char *given_value(const struct manifest_options *o, const char *name)
{
    const char *last = NULL;
    size_t n = strlen(name);

    for (size_t i = 0; i < o->defines; i++) {
        if (!strncmp(o->define[i], name, n) && o->define[i][n] == '=')
            last = o->define[i] + n + 1;
    }
    return last;
}

static enum emu_status take_given(const char *text, struct manifest_parameter *p)
{
    char *end;
    long long v = strtoll(text, &end, 0);

    if (end == text || *end || v < p->low || v > p->high)
        return FAIL(USAGE, "%s: '%s' is not a number from %" PRId64 " to %" PRId64 " (%s)", p->name,
                    text, p->low, p->high, p->text);
    p->value = v;
    p->is_given = 1;
    return EMU_OK;
}

static enum emu_status read_parameter(const struct json_reader *r, const struct json_path *at,
                                      const char *name, const json_t *v)
{
    static const char *const keys[] = { "value", "low", "high", "text", NULL };
    const struct manifest_reading *reading = r->ctx;
    struct manifest *m = reading->m;
    struct manifest_parameter *p = &m->parameter[m->parameters];
    const char *given = given_value(reading->o, name);

    p->name = name;
    p->text = "";
    TRY(json_refuse_unknown(r, at, v, keys, NULL));
    TRY(read_number(r, at, v, "value", &p->value));
    TRY(read_number(r, at, v, "low", &p->low));
    TRY(read_number(r, at, v, "high", &p->high));
    TRY(json_optional_string(r, at, v, "text", &p->text));
    if (p->value < p->low || p->value > p->high)
        return json_wrong(r, at, NULL, "expected a value from %" PRId64 " to %" PRId64, p->low,
                          p->high);
    if (given)
        TRY(take_given(given, p));
    m->parameters++;
    return EMU_OK;
}

/* What was given must be there. */
static enum emu_status refuse_others(const struct manifest *m, const struct manifest_options *o)
{
    char list[TEXT_BYTES / 2] = "";
    size_t n = 0;

    for (size_t i = 0; i < m->parameters && n < sizeof(list); i++)
        n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "",
                              m->parameter[i].name);
    for (size_t i = 0; i < o->defines; i++) {
        size_t length = strcspn(o->define[i], "="), k = 0;

        while (k < m->parameters && (strlen(m->parameter[k].name) != length ||
                                     strncmp(m->parameter[k].name, o->define[i], length)))
            k++;
        if (!o->define[i][length])
            return FAIL(USAGE, "-D %s: expected NAME=VALUE", o->define[i]);
        if (k == m->parameters)
            return FAIL(USAGE, "-D %s: %s has no parameter of that name%s%s", o->define[i], m->path,
                        n ? "; it has " : "", list);
    }
    return EMU_OK;
}

/* ---- putting them in ---- */

static int in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Parameters by name become their values in brackets. */
static void replace_names(const struct known_params *k, const char *text, FILE *f)
{
    while (*text) {
        size_t length = 0, i = 1;

        while (in_name(text[length]))
            length++;
        while (i < k->count &&
               (strlen(k->at[i].name) != length || strncmp(k->at[i].name, text, length)))
            i++;
        if (length && i < k->count)
            fprintf(f, "(%" PRId64 ")", k->at[i].value);
        else
            fwrite(text, 1, length ? length : 1, f);
        text += length ? length : 1;
    }
}

/* The expression of n characters. */
static int value_of(const struct known_params *k, const char *text, size_t n, int64_t *out,
                    const char **why)
{
    char *part = emu_strndup(text, n);
    int good = part && expr_evaluate(part, k->at, k->count, out, why);

    ss_free(part);
    return good;
}

/* What stands in braces becomes its value. */
static enum emu_status replace_braces(const struct json_reader *r, const struct json_path *at,
                                      const struct known_params *k, const char *text, FILE *f)
{
    for (; *text; text++) {
        const char *end = strchr(text, '}'), *why = "";
        int64_t value;

        if (*text != '{') {
            fputc(*text, f);
            continue;
        }
        if (!end || !value_of(k, text + 1, (size_t)(end - text - 1), &value, &why))
            return json_wrong(r, at, NULL, "expected an expression in braces: %s", why);
        fprintf(f, "%" PRId64, value);
        text = end;
    }
    return EMU_OK;
}

static int is_number_key(const char *key)
{
    static const char *const keys[] = { "count", "bytes", "depth", "runs", "from", NULL };
    size_t i = 0;

    while (keys[i] && strcmp(keys[i], key))
        i++;
    return keys[i] != NULL;
}

static enum emu_status replace_in(const struct json_reader *r, const struct json_path *at,
                                  const char *key, json_t *v)
{
    const struct known_params k = known_of(manifest_of(r));
    int names = name_ends_with(key, "_per_tile") || name_ends_with(key, "_sequence");
    enum emu_status s = EMU_OK;
    char *out = NULL;
    size_t bytes;
    FILE *f;

    if (!names && (strcmp(key, "tiles") || !strchr(json_string_value(v), '{')))
        return EMU_OK;
    f = open_memstream(&out, &bytes);
    if (!f)
        return FAIL(NO_MEMORY, "a manifest");
    if (names)
        replace_names(&k, json_string_value(v), f);
    else
        s = replace_braces(r, at, &k, json_string_value(v), f);
    if ((fclose(f) || (s == EMU_OK && json_string_set(v, out))) && s == EMU_OK)
        s = FAIL(NO_MEMORY, "a manifest");
    free(out); /* allocated by open_memstream() */
    return s;
}

static enum emu_status number_in(const struct json_reader *r, const struct json_path *at,
                                 json_t *obj, const char *key)
{
    int64_t value;

    TRY(read_number(r, at, obj, key, &value));
    return json_object_set_new(obj, key, json_integer(value)) ? FAIL(NO_MEMORY, "a manifest")
                                                              : EMU_OK;
}

static enum emu_status resolve(const struct json_reader *r, const struct json_path *at, json_t *v)
{
    const char *key;
    json_t *child;
    void *next;
    size_t i;

    json_array_foreach(v, i, child)
    {
        struct json_path here = { at, NULL, i };

        TRY(resolve(r, &here, child));
    }
    json_object_foreach_safe(v, next, key, child)
    {
        struct json_path here = { at, key, 0 };

        if (!strcmp(key, "parameters") || !strcmp(key, "asm") || !strcmp(key, "defines"))
            continue;
        if (json_is_string(child) && is_number_key(key))
            TRY(number_in(r, at, v, key));
        else if (json_is_string(child))
            TRY(replace_in(r, &here, key, child));
        else if (json_is_array(child) || json_is_object(child))
            TRY(resolve(r, &here, child));
    }
    return EMU_OK;
}

enum emu_status manifest_resolve_parameters(const struct json_reader *r)
{
    const struct manifest_reading *reading = r->ctx;
    struct manifest *m = reading->m;
    struct json_path at = { NULL, "parameters", 0 };
    json_t *list = json_object_get(m->root, "parameters"), *v;
    const char *name;

    if (list && (!json_is_object(list) || json_object_size(list) > MAX_PARAMETERS))
        return json_wrong(r, &at, NULL, "expected an object of at most %d parameters",
                          MAX_PARAMETERS);
    m->parameter = emu_alloc(MAX_PARAMETERS, sizeof(*m->parameter));
    if (!m->parameter)
        return FAIL(NO_MEMORY, "parameters");
    json_object_foreach(list, name, v)
    {
        struct json_path here = { &at, name, 0 };

        TRY(read_parameter(r, &here, name, v));
    }
    TRY(refuse_others(m, reading->o));
    return resolve(r, NULL, m->root);
}

int manifest_own_parameters(const struct manifest *m)
{
    for (size_t i = 0; i < m->parameters; i++) {
        if (m->parameter[i].is_given)
            return 0;
    }
    return 1;
}

json_t *manifest_parameters_json(const struct manifest *m)
{
    json_t *o = json_object();

    for (size_t i = 0; o && i < m->parameters; i++) {
        if (!json_object_set_new(o, m->parameter[i].name, json_integer(m->parameter[i].value)))
            continue;
        json_decref(o);
        return NULL;
    }
    return o;
}
