/* manifest_read.c - the JSON tree of a manifest to struct manifest.
 *
 * Everything is checked that can be checked without an assembler. Unknown keys are refused, because
 * a misspelt "expect_cylces" would otherwise pass every time.
 */
#include <errno.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/embedded.h"
#include "emu/base/json_line.h"
#include "emu/bsp/machine.h"
#include "emu/exchange/host_header.h"
#include "emu/run/manifest.h"
#include "emu/tile/tile.h"

enum {
    MAX_LIST = 1 << 16,
    MAX_DEPTH_TRANSFERS = 1 << 16,
    MAX_ALIGN = 1 << 20,
    FILE_BYTES = 1 << 14
};

#define DEFAULT_MAX_CYCLES ((uint64_t)1000000000)

struct reader {
    struct case_reader base; /* first: the functions of case files take it */
    struct manifest *m;
    const struct manifest_options *o;
};

typedef enum emu_status read_fn(const struct reader *r, const struct case_path *at,
                                const json_t *v);

#define WRONG(r, at, got, ...) case_wrong(&(r)->base, at, got, __VA_ARGS__)

/* ---- scalars and lists ---- */

static enum emu_status refuse_unknown(const struct reader *r, const struct case_path *at,
                                      const json_t *obj, const char *const *known)
{
    static const char *const types[] = { "f16", "f32", "u32", "i32", "u16", "i16", "u8", "i8" };
    const char *key;
    json_t *value;

    if (!json_is_object(obj))
        return WRONG(r, at, obj, "expected an object");
    json_object_foreach((json_t *)(uintptr_t)obj, key, value)
    {
        struct case_path here = { at, key, 0 };
        int found = 0, typed = 0;

        for (size_t i = 0; known[i]; i++) {
            found |= !strcmp(known[i], key);
            typed |= !strcmp(known[i], "<typed>");
        }
        for (size_t i = 0; typed && i < EMU_COUNT_OF(types); i++) {
            size_t n = strlen(types[i]);

            found |= !strncmp(key, types[i], n) &&
                     (!key[n] || !strcmp(key + n, "_per_tile") || !strcmp(key + n, "_sequence"));
        }
        if (!found)
            return WRONG(r, &here, NULL, "expected another key: this one is unknown");
    }
    return EMU_OK;
}

/* A key of obj, if it is there; *out keeps its value otherwise. */
static enum emu_status read_optional_u32(const struct reader *r, const struct case_path *at,
                                         const json_t *obj, const char *key, uint32_t low,
                                         uint32_t high, uint32_t *out)
{
    struct case_path here = { at, key, 0 };
    const json_t *v = json_object_get(obj, key);
    uint64_t n = *out;

    if (v)
        TRY(case_read_integer(&r->base, &here, v, low, high, &n));
    *out = (uint32_t)n;
    return EMU_OK;
}

static enum emu_status read_optional_string(const struct reader *r, const struct case_path *at,
                                            const json_t *obj, const char *key, const char **out)
{
    struct case_path here = { at, key, 0 };
    const json_t *v = json_object_get(obj, key);

    return v ? case_read_string(&r->base, &here, v, out) : EMU_OK;
}

/* 120, or [110, 130]. */
static enum emu_status read_range(const struct reader *r, const char *key, const json_t *v,
                                  struct case_range *out)
{
    struct case_path at = { NULL, key, 0 };

    if (!v)
        return EMU_OK;
    out->is_set = 1;
    if (!json_is_array(v)) {
        TRY(case_read_integer(&r->base, &at, v, 0, INT64_MAX, &out->low));
        out->high = out->low;
        return EMU_OK;
    }
    if (json_array_size(v) != 2)
        return WRONG(r, &at, v, "expected one number, or a lowest and a highest");
    TRY(case_read_integer(&r->base, &at, json_array_get(v, 0), 0, INT64_MAX, &out->low));
    return case_read_integer(&r->base, &at, json_array_get(v, 1), out->low, INT64_MAX, &out->high);
}

/* Allocates one zeroed entry for each of a list, and reads them. *out is NULL when there is no
 * list. */
static enum emu_status read_list(const struct reader *r, const struct case_path *at,
                                 const json_t *v, size_t entry_bytes, void **out, read_fn *read_one)
{
    if (!v)
        return EMU_OK;
    if (!json_is_array(v) || json_array_size(v) > MAX_LIST)
        return WRONG(r, at, NULL, "expected a list of at most %d entries", MAX_LIST);
    *out = emu_alloc(json_array_size(v) + 1, entry_bytes);
    if (!*out)
        return FAIL(NO_MEMORY, "%zu entries of a manifest", json_array_size(v));
    for (size_t i = 0; i < json_array_size(v); i++) {
        struct case_path here = { at, NULL, i };

        TRY(read_one(r, &here, json_array_get(v, i)));
    }
    return EMU_OK;
}

static int valid_name(const char *s)
{
    static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$";

    return s[0] && strspn(s, chars) == strlen(s) && (s[0] < '0' || s[0] > '9') && strlen(s) < 256;
}

/* ---- programs ---- */

static struct manifest_program *last_program(const struct reader *r)
{
    return &r->m->program[r->m->programs - 1];
}

static enum emu_status check_memory_name(const struct reader *r, const struct case_path *at,
                                         const struct manifest_memory *m)
{
    static const char *const taken[] = { "TILE",  "PHYSICAL", "TILES",   "INDEX",
                                         "COUNT", "MEM_BASE", "MEM_END", NULL };
    const struct manifest_program *p = last_program(r);
    struct case_path here = { at, "name", 0 };
    int used = 0;

    if (!valid_name(m->name))
        return WRONG(r, &here, NULL, "expected letters, digits, '_', '.' or '$', got \"%.60s\"",
                     m->name);
    for (size_t i = 0; taken[i]; i++)
        used |= !strcmp(taken[i], m->name);
    for (size_t i = 0; i + 1 < p->memories; i++)
        used |= !strcmp(p->memory[i].name, m->name);
    if (used)
        return WRONG(r, &here, NULL, "expected a name not used before, got \"%s\"", m->name);
    return EMU_OK;
}

static enum emu_status read_memory(const struct reader *r, const struct case_path *at,
                                   const json_t *v)
{
    static const char *const keys[] = { "name",  "region", "align",   "at", "bytes",
                                        "count", "note",   "<typed>", NULL };
    struct manifest_program *p = last_program(r);
    struct manifest_memory *m = &p->memory[p->memories++];
    struct case_path name_at = { at, "name", 0 }, align_at = { at, "align", 0 };

    *m = (struct manifest_memory){ .region = 1, .align = 8 };
    TRY(refuse_unknown(r, at, v, keys));
    TRY(case_read_string(&r->base, &name_at, json_object_get(v, "name"), &m->name));
    TRY(check_memory_name(r, at, m));
    TRY(read_optional_u32(r, at, v, "region", 0, 1, &m->region));
    TRY(read_optional_u32(r, at, v, "align", 1, MAX_ALIGN, &m->align));
    if (m->align & (m->align - 1))
        return WRONG(r, &align_at, NULL, "expected a power of two");
    if (json_object_get(v, "at")) {
        m->is_fixed = 1;
        TRY(read_optional_u32(r, at, v, "at", 0, UINT32_MAX, &m->address));
        if (json_object_get(v, "region"))
            return WRONG(r, at, NULL, "expected \"at\" or \"region\", not both");
    }
    return manifest_read_data(&r->base, at, v, &p->tiles, &m->init);
}

/* A string or a list of strings. */
static enum emu_status read_sources(const struct reader *r, const struct case_path *at,
                                    const json_t *v)
{
    struct manifest_program *p = last_program(r);
    size_t n = json_is_array(v) ? json_array_size(v) : 1;

    if (!n || n > MAX_LIST)
        return WRONG(r, at, NULL, "expected 1 to %d files", MAX_LIST);
    p->source = emu_alloc(n, sizeof(*p->source));
    if (!p->source)
        return FAIL(NO_MEMORY, "%zu sources", n);
    for (size_t i = 0; i < n; i++) {
        struct case_path here = { at, NULL, i };

        TRY(json_is_array(v)
                ? case_read_string(&r->base, &here, json_array_get(v, i), &p->source[i])
                : case_read_string(&r->base, at, v, &p->source[i]));
        p->sources++;
    }
    return EMU_OK;
}

/* {"NAME": "text" or number}, kept as "NAME=text". */
static enum emu_status read_defines(const struct reader *r, const struct case_path *at,
                                    const json_t *v)
{
    struct manifest_program *p = last_program(r);
    const char *key;
    json_t *value;

    if (!v)
        return EMU_OK;
    if (!json_is_object(v) || json_object_size(v) > MAX_LIST)
        return WRONG(r, at, v, "expected an object of macros, {\"NAME\": \"value\"}");
    p->define = emu_alloc(json_object_size(v) + 1, sizeof(*p->define));
    if (!p->define)
        return FAIL(NO_MEMORY, "macros of a program");
    json_object_foreach((json_t *)(uintptr_t)v, key, value)
    {
        struct case_path here = { at, key, 0 };
        size_t bytes = strlen(key) + json_string_length(value) + 32;
        char *text;

        if (!json_is_integer(value) && !json_is_string(value))
            return WRONG(r, &here, value, "expected a string or an integer");
        text = emu_alloc(bytes, 1);
        if (!text)
            return FAIL(NO_MEMORY, "a macro");
        p->define[p->defines++] = text;
        if (json_is_integer(value))
            snprintf(text, bytes, "%s=%lld", key, (long long)json_integer_value(value));
        else
            snprintf(text, bytes, "%s=%s", key, json_string_value(value));
    }
    return EMU_OK;
}

/* No tile can run two programs. */
static enum emu_status check_tiles_free(const struct reader *r, const struct case_path *at)
{
    const struct manifest_program *p = last_program(r);

    for (const struct manifest_program *q = r->m->program; q < p; q++) {
        uint8_t *taken = emu_alloc(r->m->arch.tiles, 1);
        size_t i = 0;

        if (!taken)
            return FAIL(NO_MEMORY, "a set of tiles");
        for (size_t k = 0; k < q->tiles.count; k++)
            taken[q->tiles.tile[k]] = 1;
        while (i < p->tiles.count && !taken[p->tiles.tile[i]])
            i++;
        emu_free(taken);
        if (i < p->tiles.count)
            return WRONG(r, at, NULL, "expected tiles that have no program yet, got tile %u",
                         p->tiles.tile[i]);
    }
    return EMU_OK;
}

static enum emu_status read_program(const struct reader *r, const struct case_path *at,
                                    const json_t *v)
{
    static const char *const keys[] = { "source",  "asm",    "entry",      "tiles", "group",
                                        "defines", "memory", "code_bytes", "note",  NULL };
    struct case_path source_at = { at, "source", 0 }, tiles_at = { at, "tiles", 0 };
    struct case_path defines_at = { at, "defines", 0 }, memory_at = { at, "memory", 0 };
    struct manifest_program *p = &r->m->program[r->m->programs++];
    const json_t *source;

    *p = (struct manifest_program){ .entry = "main", .code_bytes = r->m->arch.region0_bytes / 2 };
    TRY(refuse_unknown(r, at, v, keys));
    source = json_object_get(v, "source");
    if (!source == !json_object_get(v, "asm"))
        return WRONG(r, at, NULL, "expected either \"source\" or \"asm\"");
    if (source)
        TRY(read_sources(r, &source_at, source));
    TRY(read_optional_string(r, at, v, "asm", &p->text));
    TRY(read_optional_string(r, at, v, "entry", &p->entry));
    TRY(read_optional_u32(r, at, v, "group", 0, MACHINE_MAX_GROUPS - 1, &p->group));
    TRY(read_optional_u32(r, at, v, "code_bytes", 4, r->m->arch.region0_bytes, &p->code_bytes));
    TRY(tile_list_read(&r->base, &tiles_at, json_object_get(v, "tiles"), &r->m->arch, &p->tiles));
    TRY(check_tiles_free(r, &tiles_at));
    TRY(read_defines(r, &defines_at, json_object_get(v, "defines")));
    return read_list(r, &memory_at, json_object_get(v, "memory"), sizeof(*p->memory),
                     (void **)&p->memory, read_memory);
}

/* ---- streams ---- */

static enum emu_status read_stream_data(const struct reader *r, const struct case_path *at,
                                        const json_t *v, struct manifest_stream *s)
{
    struct case_path expect_at = { at, "expect", 0 };
    const json_t *expect = json_object_get(v, "expect"), *repeat = json_object_get(v, "repeat");
    static const char *const expect_keys[] = { "count", "<typed>", NULL };

    if (repeat && !json_is_boolean(repeat))
        return WRONG(r, at, NULL, "expected true or false for \"repeat\"");
    s->repeat = json_is_true(repeat);
    TRY(read_optional_string(r, at, v, "file", &s->file));
    if (s->direction == STREAM_TO_HOST) {
        if (repeat)
            return WRONG(r, at, NULL, "expected \"repeat\" only for a stream to the tiles");
        if (!expect)
            return EMU_OK;
        TRY(refuse_unknown(r, &expect_at, expect, expect_keys));
        if (s->file)
            return WRONG(r, at, NULL, "expected \"file\" or \"expect\", not both");
        return manifest_read_data(&r->base, &expect_at, expect, NULL, &s->expect);
    }
    if (expect)
        return WRONG(r, &expect_at, NULL, "expected this only for a stream to the host");
    if (s->file)
        return EMU_OK;
    TRY(manifest_read_data(&r->base, at, v, NULL, &s->data));
    if (s->data.data.reloc_count)
        return WRONG(r, at, NULL, "expected numbers: the host knows no addresses of tiles");
    return EMU_OK;
}

static enum emu_status read_stream(const struct reader *r, const struct case_path *at,
                                   const json_t *v)
{
    static const char *const keys[] = { "id",     "name", "direction", "depth",   "repeat", "file",
                                        "expect", "note", "count",     "<typed>", "bytes",  NULL };
    struct case_path id_at = { at, "id", 0 }, direction_at = { at, "direction", 0 };
    struct manifest *m = r->m;
    struct manifest_stream *s = &m->stream[m->streams++];
    const char *direction = "";

    *s = (struct manifest_stream){ .name = "", .depth = 1 };
    TRY(refuse_unknown(r, at, v, keys));
    if (!json_object_get(v, "id"))
        return WRONG(r, &id_at, NULL, "expected a number: the stream in transfer headers");
    TRY(read_optional_u32(r, at, v, "id", 0, HOST_HEADER_STREAMS - 1, &s->id));
    for (const struct manifest_stream *q = m->stream; q < s; q++) {
        if (q->id == s->id)
            return WRONG(r, &id_at, NULL, "expected a number not used before, got %u", s->id);
    }
    TRY(case_read_string(&r->base, &direction_at, json_object_get(v, "direction"), &direction));
    if (strcmp(direction, "to_tiles") && strcmp(direction, "to_host"))
        return WRONG(r, &direction_at, json_object_get(v, "direction"),
                     "expected \"to_tiles\" or \"to_host\"");
    s->direction = strcmp(direction, "to_host") ? STREAM_TO_TILES : STREAM_TO_HOST;
    TRY(read_optional_string(r, at, v, "name", &s->name));
    TRY(read_optional_u32(r, at, v, "depth", 1, MAX_DEPTH_TRANSFERS, &s->depth));
    return read_stream_data(r, at, v, s);
}

/* ---- expectations ---- */

static enum emu_status read_bound(const struct reader *r, const struct case_path *at,
                                  const json_t *obj, const char *key, double *out)
{
    struct case_path here = { at, key, 0 };
    const json_t *v = json_object_get(obj, key);

    if (v && (!json_is_number(v) || !(json_number_value(v) >= 0)))
        return WRONG(r, &here, v, "expected a number that is not negative");
    if (v)
        *out = json_number_value(v);
    return EMU_OK;
}

static enum emu_status read_expect(const struct reader *r, const struct case_path *at,
                                   const json_t *v)
{
    static const char *const keys[] = { "tiles", "name", "from",    "tolerance", "relative",
                                        "count", "note", "<typed>", NULL };
    struct case_path tiles_at = { at, "tiles", 0 }, name_at = { at, "name", 0 };
    struct manifest_expect *e = &r->m->expect[r->m->expects++];

    TRY(refuse_unknown(r, at, v, keys));
    TRY(tile_list_read(&r->base, &tiles_at, json_object_get(v, "tiles"), &r->m->arch, &e->tiles));
    TRY(case_read_string(&r->base, &name_at, json_object_get(v, "name"), &e->name));
    TRY(read_optional_u32(r, at, v, "from", 0, INT32_MAX, &e->from));
    TRY(read_bound(r, at, v, "tolerance", &e->tolerance));
    TRY(read_bound(r, at, v, "relative", &e->relative));
    TRY(manifest_read_data(&r->base, at, v, &e->tiles, &e->value));
    if (e->value.data.reloc_count)
        return WRONG(r, at, NULL, "expected numbers, not addresses");
    for (size_t i = 0; i < e->tiles.count; i++) {
        if (!manifest_program_of(r->m, e->tiles.tile[i]))
            return WRONG(r, &tiles_at, NULL, "expected tiles that run a program, got tile %u",
                         e->tiles.tile[i]);
    }
    return EMU_OK;
}

static enum emu_status read_fault_number(const struct reader *r, const struct case_path *at,
                                         const json_t *obj, const char *key, int64_t *out)
{
    struct case_path here = { at, key, 0 };
    uint64_t n = 0;

    *out = -1;
    if (!json_object_get(obj, key))
        return EMU_OK;
    TRY(case_read_integer(&r->base, &here, json_object_get(obj, key), 0, INT64_MAX, &n));
    *out = (int64_t)n;
    return EMU_OK;
}

static int known_fault(const char *name)
{
    for (int f = FAULT_NONE + 1; f < FAULT_COUNT; f++) {
        if (!strcmp(name, fault_name((enum fault)f)))
            return 1;
    }
    return 0;
}

static int known_exchange_fault(const char *name)
{
    for (int k = EXCHANGE_FAULT_NONE + 1; k < EXCHANGE_FAULT_KINDS; k++) {
        if (!strcmp(name, exchange_fault_name((enum exchange_fault_kind)k)))
            return 1;
    }
    return 0;
}

/* "CONFLICT", or {"name": "EXERR", "exchange": "SILENT", "tile": 3, "superstep": 1} */
static enum emu_status read_fault(const struct reader *r, const json_t *v)
{
    static const char *const keys[] = { "name", "exchange", "tile", "superstep", NULL };
    struct case_path at = { NULL, "expect_fault", 0 }, name_at = { &at, "name", 0 };
    struct case_path exchange_at = { &at, "exchange", 0 };
    struct manifest_fault *f = &r->m->expect_fault;

    *f = (struct manifest_fault){ .name = "", .tile = -1, .superstep = -1 };
    if (!v)
        return EMU_OK;
    f->is_set = 1;
    if (json_is_string(v)) {
        f->name = json_string_value(v);
        if (!known_fault(f->name))
            return WRONG(r, &at, v, "expected the name of a fault, such as \"CONFLICT\"");
        return EMU_OK;
    }
    TRY(refuse_unknown(r, &at, v, keys));
    TRY(case_read_string(&r->base, &name_at, json_object_get(v, "name"), &f->name));
    if (!known_fault(f->name))
        return WRONG(r, &name_at, NULL, "expected the name of a fault, such as \"CONFLICT\"");
    TRY(read_optional_string(r, &at, v, "exchange", &f->exchange));
    if (f->exchange && !known_exchange_fault(f->exchange))
        return WRONG(r, &exchange_at, NULL,
                     "expected the name of an exchange fault, such as "
                     "\"SILENT\"");
    TRY(read_fault_number(r, &at, v, "tile", &f->tile));
    return read_fault_number(r, &at, v, "superstep", &f->superstep);
}

static enum emu_status read_expectations(const struct reader *r, const json_t *root)
{
    struct case_path at = { NULL, "expect", 0 }, digest_at = { NULL, "expect_digest", 0 };
    struct manifest *m = r->m;

    TRY(read_list(r, &at, json_object_get(root, "expect"), sizeof(*m->expect), (void **)&m->expect,
                  read_expect));
    TRY(read_range(r, "expect_cycles", json_object_get(root, "expect_cycles"), &m->expect_cycles));
    TRY(read_range(r, "expect_supersteps", json_object_get(root, "expect_supersteps"),
                   &m->expect_supersteps));
    TRY(read_fault(r, json_object_get(root, "expect_fault")));
    TRY(read_optional_string(r, NULL, root, "expect_digest", &m->expect_digest));
    if (m->expect_digest &&
        (strlen(m->expect_digest) != 32 || strspn(m->expect_digest, "0123456789abcdef") != 32))
        return WRONG(r, &digest_at, NULL, "expected 32 lower-case hexadecimal digits");
    return EMU_OK;
}

/* ---- the machine ---- */

static enum emu_status set_field(const struct reader *r, const struct case_path *at,
                                 const char *field, const json_t *v)
{
    char text[ARCH_TEXT_MAX + 80];

    if (json_is_integer(v))
        snprintf(text, sizeof(text), "%.64s=%lld", field, (long long)json_integer_value(v));
    else if (json_is_string(v))
        snprintf(text, sizeof(text), "%.64s=%.64s", field, json_string_value(v));
    else
        return WRONG(r, at, v, "expected a number or a string");
    if (arch_set(&r->m->arch, text) == EMU_OK)
        return EMU_OK;
    return WRONG(r, at, NULL, "expected a field of the machine and its value: %s", emu_error());
}

static enum emu_status read_machine(const struct reader *r, const json_t *root)
{
    struct case_path at = { NULL, "machine", 0 }, set_at = { NULL, "set", 0 };
    const char *name = r->o->machine ? r->o->machine : "mk2", *key;
    const json_t *set = json_object_get(root, "set");
    struct manifest *m = r->m;
    char *path = NULL;
    json_t *value;
    enum emu_status s;

    if (!r->o->machine)
        TRY(read_optional_string(r, NULL, root, "machine", &name));
    if (arch_preset(name)) {
        m->arch = *arch_preset(name);
    } else if (r->o->no_files) {
        return WRONG(r, &at, NULL, "expected a built-in machine, got \"%.60s\"", name);
    } else {
        path = r->o->machine ? emu_strdup(name) : manifest_path(m, name);
        if (!path)
            return FAIL(NO_MEMORY, "a path");
        s = arch_from_name_or_file(path, &m->arch);
        emu_free(path);
        TRY(s);
    }
    if (set && !json_is_object(set))
        return WRONG(r, &set_at, set, "expected an object {\"field\": value}");
    json_object_foreach((json_t *)(uintptr_t)set, key, value)
    {
        struct case_path here = { &set_at, key, 0 };

        TRY(set_field(r, &here, key, value));
    }
    for (size_t i = 0; i < r->o->sets; i++)
        TRY(arch_set(&m->arch, r->o->set[i]));
    return arch_check(&m->arch);
}

/* ---- the whole ---- */

static enum emu_status read_include(const struct reader *r, const struct case_path *at,
                                    const json_t *v)
{
    struct manifest *m = r->m;
    const char *path = NULL;

    TRY(case_read_string(&r->base, at, v, &path));
    m->include[m->includes] = manifest_path(m, path);
    if (!m->include[m->includes])
        return FAIL(NO_MEMORY, "a path");
    m->includes++;
    return EMU_OK;
}

static enum emu_status read_all(const struct reader *r)
{
    static const char *const keys[] = { "machine",           "set",     "include",
                                        "programs",          "streams", "runs",
                                        "max_cycles",        "expect",  "expect_cycles",
                                        "expect_fault",      "note",    "expect_digest",
                                        "expect_supersteps", NULL };
    struct case_path include_at = { NULL, "include", 0 }, programs_at = { NULL, "programs", 0 };
    struct case_path streams_at = { NULL, "streams", 0 }, runs_at = { NULL, "runs", 0 };
    struct case_path cycles_at = { NULL, "max_cycles", 0 };
    struct manifest *m = r->m;
    const json_t *root = m->root, *v;

    TRY(refuse_unknown(r, NULL, root, keys));
    TRY(read_optional_string(r, NULL, root, "note", &m->note));
    TRY(read_machine(r, root));
    TRY(read_list(r, &include_at, json_object_get(root, "include"), sizeof(*m->include),
                  (void **)&m->include, read_include));
    if (!json_array_size(json_object_get(root, "programs")))
        return WRONG(r, &programs_at, NULL, "expected a list of at least one program");
    TRY(read_list(r, &programs_at, json_object_get(root, "programs"), sizeof(*m->program),
                  (void **)&m->program, read_program));
    TRY(read_list(r, &streams_at, json_object_get(root, "streams"), sizeof(*m->stream),
                  (void **)&m->stream, read_stream));
    m->max_cycles = DEFAULT_MAX_CYCLES;
    if ((v = json_object_get(root, "runs")))
        TRY(case_read_integer(&r->base, &runs_at, v, 0, INT32_MAX, &m->runs));
    if ((v = json_object_get(root, "max_cycles")))
        TRY(case_read_integer(&r->base, &cycles_at, v, 1, INT64_MAX, &m->max_cycles));
    return read_expectations(r, root);
}

static char *directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return emu_strndup(path, slash ? (size_t)(slash - path) + 1 : 0);
}

/* Takes the tree over. */
static enum emu_status read_tree(json_t *root, const json_error_t *error, const char *name,
                                 const struct manifest_options *o, struct manifest **out)
{
    struct reader r = { .base = { .file = name }, .o = o };
    enum emu_status s;

    *out = NULL;
    if (!root)
        return FAIL(BAD_FILE, "%s:%d:%d: %s", name, error->line < 1 ? 1 : error->line,
                    error->column < 0 ? 0 : error->column, error->text);
    r.m = emu_alloc(1, sizeof(*r.m));
    if (!r.m) {
        json_decref(root);
        return FAIL(NO_MEMORY, "a manifest");
    }
    r.m->root = root;
    r.m->path = emu_strdup(name);
    r.m->directory = directory_of(name);
    s = r.m->path && r.m->directory ? read_all(&r) : FAIL(NO_MEMORY, "a manifest");
    if (s != EMU_OK) {
        manifest_free(r.m);
        return s;
    }
    *out = r.m;
    return EMU_OK;
}

/* Where the assembly of each program stands in the text of the manifest. */
static void find_lines(struct manifest *m, const char *text, size_t bytes)
{
    for (size_t i = 0; i < m->programs; i++) {
        const struct json_step step[] = { { "programs", 0 }, { NULL, i }, { "asm", 0 } };

        if (m->program[i].text)
            m->program[i].text_line = json_line(text, bytes, step, EMU_COUNT_OF(step));
    }
}

enum emu_status manifest_read_text(const char *text, size_t bytes, const char *name,
                                   const struct manifest_options *o, struct manifest **out)
{
    json_error_t error;
    json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);

    TRY(read_tree(root, &error, name, o, out));
    find_lines(*out, text, bytes);
    return EMU_OK;
}

/* All of a file that may be a pipe. *text is owned by the caller, also on failure. */
static enum emu_status read_file(const char *path, FILE *f, char **text, size_t *bytes)
{
    size_t room = 0;

    *text = NULL;
    *bytes = 0;
    errno = 0;
    do {
        if (*bytes == room) {
            char *grown = emu_realloc(*text, 2 * room + FILE_BYTES, 1);

            if (!grown)
                return FAIL(NO_MEMORY, "%s: %zu bytes", path, room);
            *text = grown;
            room = 2 * room + FILE_BYTES;
        }
        *bytes += fread(*text + *bytes, 1, room - *bytes, f);
    } while (!feof(f) && !ferror(f));
    return ferror(f) ? FAIL(IO, "%s: %s", path, strerror(errno)) : EMU_OK;
}

enum emu_status manifest_read(const char *path, const struct manifest_options *o,
                              struct manifest **out)
{
    FILE *f = embedded_fopen(path);
    enum emu_status s;
    size_t bytes;
    char *text;

    *out = NULL;
    if (!f)
        return FAIL(IO, "%s: %s", path, strerror(errno));
    s = read_file(path, f, &text, &bytes);
    fclose(f);
    if (s == EMU_OK)
        s = manifest_read_text(text, bytes, path, o, out);
    emu_free(text);
    return s;
}

enum emu_status manifest_for_source(const char *path, const char *text,
                                    const struct manifest_options *o, struct manifest **out)
{
    const char *slash = strrchr(path, '/');
    json_error_t error = { .line = 1 };
    json_t *root = json_pack("{s:[{s:s, s:s}]}", "programs", text ? "asm" : "source",
                             text    ? text
                             : slash ? slash + 1
                                     : path,
                             "tiles", "all");

    if (!root)
        snprintf(error.text, sizeof(error.text), "%s that is no UTF-8",
                 text ? "source" : "the name of a source");
    return read_tree(root, &error, path, o, out);
}
