/* manifest_read.c - the JSON tree of a manifest to struct manifest.
 *
 * Everything is checked that can be checked without an assembler. Unknown keys are refused, because
 * a misspelt "expect_cylces" would otherwise pass every time.
 */
#include <inttypes.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/json_line.h"
#include "emu/bsp/machine.h"
#include "emu/exchange/host_header.h"
#include "emu/job/manifest_internal.h"
#include "emu/tile/tile.h"
#include "emu/tile/tile_check.h"

enum { MAX_DEPTH_TRANSFERS = 1 << 16, CHIPS_MAX = 4096 };

/* When a run stops that does not end. */
enum { CASE_MAX_CYCLES = 100000000, MACHINE_MAX_CYCLES = 1000000000 };

static const struct manifest_options *options_of(const struct json_reader *r)
{
    const struct manifest_reading *reading = r->ctx;

    return reading->o;
}

/* Allocates one zeroed entry for each of a list, and reads them. *out is NULL when there is no
 * list. */
static enum emu_status read_list(const struct json_reader *r, const struct json_path *at,
                                 const json_t *v, size_t entry_bytes, void **out,
                                 json_read_fn *read_one)
{
    if (v && json_array_size(v) <= JSON_LIST_MAX) {
        *out = emu_alloc(json_array_size(v) + 1, entry_bytes);
        if (!*out)
            return FAIL(NO_MEMORY, "%zu entries of a manifest", json_array_size(v));
    }
    return json_read_list(r, at, v, read_one);
}

/* ---- programs ---- */

static struct manifest_program *last_program(const struct json_reader *r)
{
    return &manifest_of(r)->program[manifest_of(r)->programs - 1];
}

/* The place in a list of the first number that is in the other one, too; its end, if there is none.
 */
static enum emu_status first_common(const struct tile_list *l, const struct tile_list *other,
                                    uint32_t all, size_t *at)
{
    uint8_t *taken = emu_alloc(all, 1);

    if (!taken)
        return FAIL(NO_MEMORY, "a set of tiles");
    for (size_t k = 0; k < other->count; k++)
        taken[other->tile[k]] = 1;
    *at = 0;
    while (*at < l->count && !taken[l->tile[*at]])
        ++*at;
    ss_free(taken);
    return EMU_OK;
}

/* No tile can run two programs. */
static enum emu_status check_tiles_free(const struct json_reader *r, const struct json_path *at)
{
    const struct manifest_program *p = last_program(r);
    const struct arch *a = &manifest_of(r)->arch;

    for (const struct manifest_program *q = manifest_of(r)->program; q < p; q++) {
        size_t chip = 0, tile = 0;

        TRY(first_common(&p->chips, &q->chips, a->chips, &chip));
        if (chip == p->chips.count)
            continue;
        TRY(first_common(&p->tiles, &q->tiles, a->tiles, &tile));
        if (tile < p->tiles.count)
            return json_wrong(r, at, NULL, "expected tiles that have no program yet, got tile %u",
                              p->tiles.tile[tile]);
    }
    return EMU_OK;
}

static enum emu_status only_one(struct tile_list *out)
{
    out->tile = emu_alloc(1, sizeof(*out->tile));
    out->count = 1;
    return out->tile ? EMU_OK : FAIL(NO_MEMORY, "a set of tiles");
}

/* "chips" of a part of a manifest: all of them, if it does not say which. */
static enum emu_status read_chips(const struct json_reader *r, const struct json_path *at,
                                  const json_t *obj, struct tile_list *out)
{
    struct json_path here = { at, "chips", 0 };
    const json_t *v = json_object_get(obj, "chips");
    const struct manifest *m = manifest_of(r);
    json_t *all;
    enum emu_status s;

    if (!m->of_chips)
        return v ? json_wrong(r, &here, NULL, "expected this only where the manifest has \"chips\"")
                 : only_one(out);
    if (v)
        return chip_list_read(r, &here, v, &m->arch, out);
    all = json_string("all");
    s = all ? chip_list_read(r, &here, all, &m->arch, out) : FAIL(NO_MEMORY, "a set of chips");
    json_decref(all);
    return s;
}

static enum emu_status read_program(const struct json_reader *r, const struct json_path *at,
                                    const json_t *v)
{
    static const char *const keys[] = { "source",     "asm",   "entry",   "tiles",
                                        "group",      "chips", "defines", "memory",
                                        "code_bytes", "note",  NULL };
    static const char *const taken[] = { "TILE",     "PHYSICAL", "TILES", "INDEX", "COUNT",
                                         "MEM_BASE", "MEM_END",  "CHIP",  "CHIPS", NULL };
    struct json_path tiles_at = { at, "tiles", 0 };
    struct manifest_program *p = &manifest_of(r)->program[manifest_of(r)->programs++];

    *p = (struct manifest_program){ .entry = "main",
                                    .code_bytes = manifest_of(r)->arch.region0_bytes / 2 };
    TRY(json_refuse_unknown(r, at, v, keys, NULL));
    TRY(program_read_code(r, at, v, p));
    TRY(json_optional_u32(r, at, v, "group", 0, MACHINE_MAX_GROUPS - 1, &p->group));
    TRY(json_optional_u32(r, at, v, "code_bytes", 4, manifest_of(r)->arch.region0_bytes,
                          &p->code_bytes));
    TRY(tile_list_read(r, &tiles_at, json_object_get(v, "tiles"), &manifest_of(r)->arch,
                       &p->tiles));
    TRY(read_chips(r, at, v, &p->chips));
    TRY(check_tiles_free(r, &tiles_at));
    return program_read_memory(r, at, v, taken, p);
}

/* The one program of a case stands at the root. */
static enum emu_status read_case(const struct json_reader *r)
{
    struct manifest *m = manifest_of(r);

    m->program = emu_alloc(1, sizeof(*m->program));
    m->tile_case = emu_alloc(1, sizeof(*m->tile_case));
    if (!m->program || !m->tile_case)
        return FAIL(NO_MEMORY, "a case");
    m->programs = 1;
    TRY(only_one(&m->program->chips));
    TRY(only_one(&m->program->tiles));
    TRY(program_read_code(r, NULL, m->root, m->program));
    TRY(program_read_memory(r, NULL, m->root, NULL, m->program));
    return case_read_start(r);
}

/* ---- streams ---- */

static enum emu_status read_stream_data(const struct json_reader *r, const struct json_path *at,
                                        const json_t *v, struct manifest_stream *s)
{
    struct json_path expect_at = { at, "expect", 0 };
    const json_t *expect = json_object_get(v, "expect"), *repeat = json_object_get(v, "repeat");
    static const char *const expect_keys[] = { "count", NULL };

    if (repeat && !json_is_boolean(repeat))
        return json_wrong(r, at, NULL, "expected true or false for \"repeat\"");
    s->repeat = json_is_true(repeat);
    TRY(json_optional_string(r, at, v, "file", &s->file));
    if (s->direction == STREAM_TO_HOST) {
        if (repeat)
            return json_wrong(r, at, NULL, "expected \"repeat\" only for a stream to the tiles");
        if (!expect)
            return EMU_OK;
        TRY(json_refuse_unknown(r, &expect_at, expect, expect_keys, manifest_data_key));
        if (s->file)
            return json_wrong(r, at, NULL, "expected \"file\" or \"expect\", not both");
        return manifest_read_data(r, &expect_at, expect, NULL, &s->expect);
    }
    if (expect)
        return json_wrong(r, &expect_at, NULL, "expected this only for a stream to the host");
    if (s->file)
        return EMU_OK;
    TRY(manifest_read_data(r, at, v, NULL, &s->data));
    if (s->data.data.reloc_count)
        return json_wrong(r, at, NULL, "expected numbers: the host knows no addresses of tiles");
    return EMU_OK;
}

static enum emu_status read_stream(const struct json_reader *r, const struct json_path *at,
                                   const json_t *v)
{
    static const char *const keys[] = { "id",   "name",   "direction", "depth", "repeat", "chip",
                                        "file", "expect", "note",      "count", "bytes",  NULL };
    struct json_path id_at = { at, "id", 0 }, direction_at = { at, "direction", 0 };
    struct manifest *m = manifest_of(r);
    struct manifest_stream *s = &m->stream[m->streams++];
    const char *direction = "";

    *s = (struct manifest_stream){ .name = "", .depth = 1 };
    TRY(json_refuse_unknown(r, at, v, keys, manifest_data_key));
    if (!json_object_get(v, "id"))
        return json_wrong(r, &id_at, NULL, "expected a number: the stream in transfer headers");
    TRY(json_optional_u32(r, at, v, "id", 0, HOST_HEADER_STREAMS - 1, &s->id));
    TRY(json_optional_u32(r, at, v, "chip", 0, m->arch.chips - 1, &s->chip));
    for (const struct manifest_stream *q = m->stream; q < s; q++) {
        if (q->id == s->id && q->chip == s->chip)
            return json_wrong(r, &id_at, NULL, "expected a number not used before, got %u", s->id);
    }
    TRY(json_read_string(r, &direction_at, json_object_get(v, "direction"), &direction));
    if (strcmp(direction, "to_tiles") && strcmp(direction, "to_host"))
        return json_wrong(r, &direction_at, json_object_get(v, "direction"),
                          "expected \"to_tiles\" or \"to_host\"");
    s->direction = strcmp(direction, "to_host") ? STREAM_TO_TILES : STREAM_TO_HOST;
    TRY(json_optional_string(r, at, v, "name", &s->name));
    TRY(json_optional_u32(r, at, v, "depth", 1, MAX_DEPTH_TRANSFERS, &s->depth));
    return read_stream_data(r, at, v, s);
}

/* ---- expectations ---- */

/* What a case expects of a memory is checked at once: there is one tile. */
static enum emu_status check_case_expect(const struct json_reader *r, const struct json_path *at,
                                         const struct manifest_expect *e)
{
    const struct manifest_memory *mem = manifest_find_memory(manifest_of(r)->program, e->name);
    struct json_path name_at = { at, "name", 0 };
    uint32_t bytes = mem ? manifest_data_bytes(&mem->init) : 0;

    if (!mem)
        return json_wrong(r, &name_at, NULL, "expected the name of a memory, got \"%s\"", e->name);
    if ((uint64_t)e->from * case_type_bytes(e->value.data.type) + manifest_data_bytes(&e->value) >
        bytes)
        return json_wrong(r, at, NULL, "expected at most the %u bytes of \"%s\"", bytes, e->name);
    return EMU_OK;
}

static enum emu_status check_expect(const struct json_reader *r, const struct json_path *at,
                                    const struct manifest_expect *e)
{
    struct json_path tiles_at = { at, "tiles", 0 };

    if (e->value.data.reloc_count)
        return json_wrong(r, at, NULL, "expected numbers, not addresses");
    for (size_t i = 0; i < e->chips.count * e->tiles.count; i++) {
        uint32_t chip = e->chips.tile[i / e->tiles.count], tile = e->tiles.tile[i % e->tiles.count];

        if (!manifest_program_of(manifest_of(r), chip, tile))
            return json_wrong(r, &tiles_at, NULL, "expected tiles that run a program, got tile %u",
                              tile);
    }
    return EMU_OK;
}

static enum emu_status read_expect(const struct json_reader *r, const struct json_path *at,
                                   const json_t *v)
{
    static const char *const keys[] = { "chips",    "tiles", "name", "from", "tolerance",
                                        "relative", "count", "note", NULL };
    static const char *const case_keys[] = { "register", "name",  "from", "tolerance",
                                             "relative", "count", "note", NULL };
    struct json_path tiles_at = { at, "tiles", 0 }, name_at = { at, "name", 0 };
    struct manifest *m = manifest_of(r);
    struct manifest_expect *e;

    TRY(json_refuse_unknown(r, at, v, m->tile_case ? case_keys : keys, manifest_data_key));
    if (m->tile_case && json_object_get(v, "register"))
        return case_read_expect_register(r, at, v);
    e = &m->expect[m->expects++];
    TRY(m->tile_case ? only_one(&e->chips) : read_chips(r, at, v, &e->chips));
    TRY(m->tile_case
            ? only_one(&e->tiles)
            : tile_list_read(r, &tiles_at, json_object_get(v, "tiles"), &m->arch, &e->tiles));
    TRY(json_read_string(r, &name_at, json_object_get(v, "name"), &e->name));
    TRY(json_optional_u32(r, at, v, "from", 0, INT32_MAX, &e->from));
    TRY(json_optional_bound(r, at, v, "tolerance", &e->tolerance));
    TRY(json_optional_bound(r, at, v, "relative", &e->relative));
    TRY(manifest_read_data(r, at, v, &e->tiles, &e->value));
    return m->tile_case ? check_case_expect(r, at, e) : check_expect(r, at, e);
}

static enum emu_status read_fault_number(const struct json_reader *r, const struct json_path *at,
                                         const json_t *obj, const char *key, int64_t *out)
{
    struct json_path here = { at, key, 0 };
    uint64_t n = 0;

    *out = -1;
    if (!json_object_get(obj, key))
        return EMU_OK;
    TRY(json_read_integer(r, &here, json_object_get(obj, key), 0, INT64_MAX, &n));
    *out = (int64_t)n;
    return EMU_OK;
}

static int known_exchange_fault(const char *name)
{
    for (int k = EXCHANGE_FAULT_NONE + 1; k < EXCHANGE_FAULT_KINDS; k++) {
        if (!strcmp(name, exchange_fault_name((enum exchange_fault_kind)k)))
            return 1;
    }
    return 0;
}

static enum emu_status read_fault_name(const struct json_reader *r, const struct json_path *at,
                                       const json_t *v, const char **out)
{
    *out = json_is_string(v) ? json_string_value(v) : "";
    for (int f = FAULT_NONE + 1; f < FAULT_COUNT; f++) {
        if (!strcmp(*out, fault_name((enum fault)f)))
            return EMU_OK;
    }
    return json_wrong(r, at, v, "expected the name of a fault, such as \"CONFLICT\"");
}

/* "CONFLICT", or of a whole machine {"name": "EXERR", "exchange": "SILENT", "tile": 3, "superstep":
 * 1}, of a system with a "chip". */
static enum emu_status read_fault(const struct json_reader *r, const json_t *v)
{
    static const char *const keys[] = { "name", "exchange", "chip", "tile", "superstep", NULL };
    struct json_path at = { NULL, "expect_fault", 0 }, name_at = { &at, "name", 0 };
    struct json_path exchange_at = { &at, "exchange", 0 };
    struct manifest_fault *f = &manifest_of(r)->expect_fault;

    *f = (struct manifest_fault){ .name = "", .chip = -1, .tile = -1, .superstep = -1 };
    if (!v)
        return EMU_OK;
    f->is_set = 1;
    if (json_is_string(v) || manifest_of(r)->tile_case)
        return read_fault_name(r, &at, v, &f->name);
    TRY(json_refuse_unknown(r, &at, v, keys, NULL));
    TRY(read_fault_name(r, &name_at, json_object_get(v, "name"), &f->name));
    TRY(json_optional_string(r, &at, v, "exchange", &f->exchange));
    if (f->exchange && !known_exchange_fault(f->exchange))
        return json_wrong(r, &exchange_at, NULL,
                          "expected the name of an exchange fault, such as "
                          "\"SILENT\"");
    TRY(read_fault_number(r, &at, v, "chip", &f->chip));
    TRY(read_fault_number(r, &at, v, "tile", &f->tile));
    return read_fault_number(r, &at, v, "superstep", &f->superstep);
}

/* "RACE", or "UNHEARD": what the checking mode must find. */
static enum emu_status read_expected_check(const struct json_reader *r, const json_t *root)
{
    struct json_path at = { NULL, "expect_check", 0 };
    struct manifest *m = manifest_of(r);

    TRY(json_optional_string(r, NULL, root, "expect_check", &m->expect_check));
    if (!m->expect_check || !strcmp(m->expect_check, "UNHEARD"))
        return EMU_OK;
    for (int k = 0; k < TILE_CHECK_KINDS; k++) {
        if (!strcmp(m->expect_check, tile_check_name((enum tile_check_kind)k)))
            return EMU_OK;
    }
    return json_wrong(r, &at, NULL, "expected UNHEARD or a report of the checking mode: RACE");
}

static enum emu_status read_expectations(const struct json_reader *r, const json_t *root)
{
    struct json_path at = { NULL, "expect", 0 }, digest_at = { NULL, "expect_digest", 0 };
    struct json_path cycles_at = { NULL, "expect_cycles", 0 };
    struct json_path steps_at = { NULL, "expect_supersteps", 0 };
    struct manifest *m = manifest_of(r);

    TRY(read_list(r, &at, json_object_get(root, "expect"), sizeof(*m->expect), (void **)&m->expect,
                  read_expect));
    TRY(json_read_range(r, &cycles_at, json_object_get(root, "expect_cycles"), &m->expect_cycles));
    TRY(json_read_range(r, &steps_at, json_object_get(root, "expect_supersteps"),
                        &m->expect_supersteps));
    TRY(read_fault(r, json_object_get(root, "expect_fault")));
    if (m->tile_case)
        return case_read_expectations(r);
    TRY(read_expected_check(r, root));
    TRY(json_optional_string(r, NULL, root, "expect_digest", &m->expect_digest));
    if (m->expect_digest &&
        (strlen(m->expect_digest) != 32 || strspn(m->expect_digest, "0123456789abcdef") != 32))
        return json_wrong(r, &digest_at, NULL, "expected 32 lower-case hexadecimal digits");
    return EMU_OK;
}

/* ---- the machine ---- */

static enum emu_status set_field(const struct json_reader *r, const struct json_path *at,
                                 const char *field, const json_t *v)
{
    char text[ARCH_TEXT_MAX + 80];

    if (json_is_integer(v))
        snprintf(text, sizeof(text), "%.64s=%lld", field, (long long)json_integer_value(v));
    else if (json_is_string(v))
        snprintf(text, sizeof(text), "%.64s=%.64s", field, json_string_value(v));
    else
        return json_wrong(r, at, v, "expected a number or a string");
    if (ss_arch_set(&manifest_of(r)->arch, text) == EMU_OK)
        return EMU_OK;
    return json_wrong(r, at, NULL, "expected a field of the machine and its value: %s", ss_error());
}

/* How many chips the system has. */
static enum emu_status set_chips(const struct json_reader *r, const json_t *root)
{
    struct json_path at = { NULL, "chips", 0 };
    struct manifest *m = manifest_of(r);
    uint64_t chips = 0;

    m->of_chips = json_object_get(root, "chips") != NULL;
    if (m->of_chips) {
        TRY(json_read_integer(r, &at, json_object_get(root, "chips"), 1, CHIPS_MAX, &chips));
        m->arch.chips = (uint32_t)chips;
    }
    for (size_t i = 0; i < options_of(r)->sets; i++)
        TRY(ss_arch_set(&m->arch, options_of(r)->set[i]));
    if (options_of(r)->chips)
        m->arch.chips = options_of(r)->chips;
    TRY(ss_arch_check(&m->arch));
    if (!m->of_chips && m->arch.chips > 1)
        return FAIL(
            BAD_FILE,
            "%s: chips %u: expected a program for several chips, a manifest with \"chips\"; "
            "this one is for one",
            r->file, m->arch.chips);
    return EMU_OK;
}

static enum emu_status read_machine(const struct json_reader *r, const json_t *root)
{
    struct json_path at = { NULL, "machine", 0 }, set_at = { NULL, "set", 0 };
    const char *name = options_of(r)->machine ? options_of(r)->machine : "mk2", *key;
    const json_t *set = json_object_get(root, "set");
    struct manifest *m = manifest_of(r);
    char *path = NULL;
    json_t *value;
    enum emu_status s;

    if (!options_of(r)->machine)
        TRY(json_optional_string(r, NULL, root, "machine", &name));
    if (ss_arch_preset(name)) {
        m->arch = *ss_arch_preset(name);
    } else if (options_of(r)->no_files) {
        return json_wrong(r, &at, NULL, "expected a built-in machine, got \"%.60s\"", name);
    } else {
        path = options_of(r)->machine ? emu_strdup(name) : manifest_path(m, name);
        if (!path)
            return FAIL(NO_MEMORY, "a path");
        s = ss_arch_from_name_or_file(path, &m->arch);
        ss_free(path);
        TRY(s);
    }
    if (set && !json_is_object(set))
        return json_wrong(r, &set_at, set, "expected an object {\"field\": value}");
    json_object_foreach((json_t *)(uintptr_t)set, key, value)
    {
        struct json_path here = { &set_at, key, 0 };

        TRY(set_field(r, &here, key, value));
    }
    return set_chips(r, root);
}

/* "needs_tiles", "needs_chips": what a program that was written for some machines says before it is
 * assembled for another. what: "tiles", of which there are so many. */
static enum emu_status check_need(const struct json_reader *r, const json_t *root, const char *key,
                                  const char *what, uint32_t have)
{
    struct json_path at = { NULL, key, 0 };
    struct json_range need = { .is_set = 0 };
    const char *name = manifest_of(r)->arch.name;

    TRY(json_read_range(r, &at, json_object_get(root, key), &need));
    if (!need.is_set || (have >= need.low && have <= need.high))
        return EMU_OK;
    if (need.low == need.high)
        return FAIL(BAD_FILE, "%s: this program needs a machine with %" PRIu64 " %s, %s has %u",
                    r->file, need.low, what, name, have);
    return FAIL(BAD_FILE, "%s: this program needs a machine with at %s %" PRIu64 " %s, %s has %u",
                r->file, have < need.low ? "least" : "most", have < need.low ? need.low : need.high,
                what, name, have);
}

static enum emu_status check_needs(const struct json_reader *r, const json_t *root)
{
    const struct arch *a = &manifest_of(r)->arch;

    TRY(check_need(r, root, "needs_tiles", "tiles", a->tiles));
    return check_need(r, root, "needs_chips", "chips", a->chips);
}

/* ---- the whole ---- */

/* The file's own directory comes first. */
static enum emu_status read_includes(const struct json_reader *r)
{
    struct json_path at = { NULL, "include", 0 };
    struct manifest *m = manifest_of(r);
    const json_t *v = json_object_get(m->root, "include");
    const char **path = NULL;
    size_t n = 0;
    enum emu_status s = v ? json_read_strings(r, &at, v, &path, &n) : EMU_OK;

    if (s == EMU_OK && !(m->include = emu_alloc(n + 1, sizeof(*m->include))))
        s = FAIL(NO_MEMORY, "%zu paths", n);
    for (size_t i = 0; i < n + 1 && s == EMU_OK; i++) {
        m->include[i] = manifest_path(m, i ? path[i - 1] : ".");
        m->includes += m->include[i] != NULL;
        s = m->include[i] ? EMU_OK : FAIL(NO_MEMORY, "a path");
    }
    ss_free((void *)path);
    return s;
}

static enum emu_status refuse_unknown(const struct json_reader *r, const json_t *root)
{
    static const char *const manifest[] = { "machine",
                                            "set",
                                            "chips",
                                            "needs_chips",
                                            "include",
                                            "needs_tiles",
                                            "programs",
                                            "streams",
                                            "runs",
                                            "max_cycles",
                                            "expect",
                                            "expect_cycles",
                                            "expect_fault",
                                            "expect_digest",
                                            "expect_supersteps",
                                            "note",
                                            "parameters",
                                            "expect_check",
                                            NULL };
    /* no "programs": what its program has, and how that is entered */
    static const char *const tile_case[] = {
        "source",       "asm",
        "include",      "defines",
        "machine",      "set",
        "needs_tiles",  "entry",
        "as",           "memory",
        "state",        "registers",
        "csr",          "weights",
        "expect",       "expect_registers",
        "expect_csr",   "expect_cycles",
        "expect_slots", "expect_instructions",
        "expect_fault", "max_cycles",
        "stack_bytes",  "scratch_bytes",
        "note",         NULL,
    };

    if (json_object_get(root, "base") && !json_object_get(root, "programs"))
        return json_wrong(r, NULL, NULL,
                          "expected a manifest; this is a machine: superstep run WHAT --machine "
                          "FILE");
    return json_refuse_unknown(r, NULL, root, manifest_is_case(root) ? tile_case : manifest, NULL);
}

/* A system waits for all its chips. */
static enum emu_status check_chips(const struct json_reader *r, const struct json_path *at)
{
    const struct manifest *m = manifest_of(r);
    uint32_t chips = m->arch.chips;
    uint8_t *used = emu_alloc(chips, 1);
    enum emu_status s = used ? EMU_OK : FAIL(NO_MEMORY, "a set of chips");

    for (size_t i = 0; used && i < m->programs; i++) {
        for (size_t k = 0; k < m->program[i].chips.count; k++)
            used[m->program[i].chips.tile[k]] = 1;
    }
    for (uint32_t c = 0; c < chips && s == EMU_OK; c++) {
        if (!used[c])
            s = json_wrong(r, at, NULL,
                           "expected a program on each of %u chips, got none on chip %u", chips, c);
    }
    ss_free(used);
    return s;
}

static enum emu_status read_programs(const struct json_reader *r, const json_t *root)
{
    struct json_path programs_at = { NULL, "programs", 0 }, streams_at = { NULL, "streams", 0 };
    const json_t *programs = json_object_get(root, "programs");
    struct manifest *m = manifest_of(r);

    if (!json_array_size(programs))
        return json_wrong(r, &programs_at, NULL, "expected a list of at least one program");
    TRY(read_list(r, &programs_at, programs, sizeof(*m->program), (void **)&m->program,
                  read_program));
    TRY(check_chips(r, &programs_at));
    TRY(read_list(r, &streams_at, json_object_get(root, "streams"), sizeof(*m->stream),
                  (void **)&m->stream, read_stream));
    return json_optional_u64(r, NULL, root, "runs", 0, INT32_MAX, &m->runs);
}

static enum emu_status read_all(const struct json_reader *r)
{
    struct json_path note_at = { NULL, "note", 0 };
    struct manifest *m = manifest_of(r);
    const json_t *root = m->root, *note = json_object_get(root, "note");

    TRY(refuse_unknown(r, root));
    if (note && !json_is_string(note))
        return json_wrong(r, &note_at, note, "expected a string");
    TRY(read_machine(r, root));
    TRY(check_needs(r, root));
    TRY(manifest_resolve_parameters(r));
    TRY(read_includes(r));
    TRY(manifest_is_case(root) ? read_case(r) : read_programs(r, root));
    m->max_cycles = m->tile_case ? CASE_MAX_CYCLES : MACHINE_MAX_CYCLES;
    TRY(json_optional_u64(r, NULL, root, "max_cycles", 1, INT64_MAX, &m->max_cycles));
    return read_expectations(r, root);
}

static char *directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return emu_strndup(path, slash ? (size_t)(slash - path) + 1 : 0);
}

/* Takes the tree over. */
static enum emu_status read_tree(json_t *root, const char *name, const struct manifest_options *o,
                                 struct manifest **out)
{
    static const struct manifest_options plain;
    struct manifest_reading reading = { emu_alloc(1, sizeof(*reading.m)), o ? o : &plain };
    const struct json_reader r = { name, &reading };
    struct manifest *m = reading.m;
    enum emu_status s;

    if (!m) {
        json_decref(root);
        return FAIL(NO_MEMORY, "a manifest");
    }
    m->root = root;
    m->raw = reading.o->raw;
    m->path = emu_strdup(name);
    m->directory = directory_of(name);
    s = m->path && m->directory ? read_all(&r) : FAIL(NO_MEMORY, "a manifest");
    if (s == EMU_OK)
        *out = m;
    else
        ss_manifest_free(m);
    return s;
}

/* Where the assembly of each entry of "programs" stands in the text of the manifest. */
static void find_lines(struct manifest *m, const char *text, size_t bytes)
{
    for (size_t i = 0; i < m->programs; i++) {
        const struct json_step step[] = { { "programs", 0 }, { NULL, i }, { "asm", 0 } };

        if (m->program[i].text && !m->tile_case)
            m->program[i].text_line = json_line(text, bytes, step, EMU_COUNT_OF(step));
    }
}

enum emu_status ss_manifest_read_text(const char *text, size_t bytes, const char *name,
                                      const struct manifest_options *o, struct manifest **out)
{
    json_t *root;

    *out = NULL;
    if (!text || !name)
        return FAIL(BAD_FILE, "a manifest without its text or its name");
    TRY(json_read_text(text, bytes, name, &root));
    TRY(read_tree(root, name, o, out));
    find_lines(*out, text, bytes);
    return EMU_OK;
}

enum emu_status ss_manifest_read(const char *path, const struct manifest_options *o,
                                 struct manifest **out)
{
    enum emu_status s;
    size_t bytes;
    char *text;

    *out = NULL;
    if (!path)
        return FAIL(BAD_FILE, "a manifest without the name of its file");
    s = json_read_file(path, &text, &bytes);
    if (s == EMU_OK)
        s = ss_manifest_read_text(text, bytes, path, o, out);
    ss_free(text);
    return s;
}

enum emu_status manifest_for_source(const char *path, const char *text,
                                    const struct manifest_options *o, struct manifest **out)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    json_t *root = json_pack("{s:[{s:s, s:s}]}", "programs", text ? "asm" : "source",
                             text ? text : name, "tiles", "all");

    *out = NULL;
    if (root && o && o->chips && json_object_set_new(root, "chips", json_integer(o->chips))) {
        json_decref(root);
        return FAIL(NO_MEMORY, "a manifest");
    }
    if (!root)
        return FAIL(BAD_FILE, "%s:1:0: %s that is no UTF-8", path,
                    text ? "source" : "the name of a source");
    return read_tree(root, path, o, out);
}
