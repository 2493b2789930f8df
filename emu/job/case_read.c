/* case_read.c - the JSON tree of a case file to struct tile_case.
 *
 * Everything is checked that can be checked without a machine or an assembler: keys, types, ranges,
 * register names.
 */
#include "emu/job/case.h"

#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/job/case_value.h"
#include "emu/tile/tile.h"

enum { DEFAULT_MAX_CYCLES = 100000000, DEFAULT_STACK = 1024, DEFAULT_SCRATCH = 512 };
enum { MAX_STACK = 1 << 24 };

/* ---- state, registers ---- */

/* Grows the state by the words of one entry; every entry is aligned to its elements, as fields of a
 * C struct are. */
static enum emu_status append_state(struct case_data *state, const struct case_data *entry)
{
    uint32_t align = case_type_bytes(entry->type);
    uint32_t start = (state->bytes + align - 1) / align * align;
    uint32_t end = start + entry->bytes, padded = (end + 3) / 4 * 4;
    uint8_t *data = emu_realloc(state->data, padded + 4, 1);

    if (!data)
        return FAIL(NO_MEMORY, "the state of a case");
    state->data = data;
    memset(data + state->bytes, 0, padded + 4 - state->bytes);
    if (entry->bytes)
        memcpy(data + start, entry->data, entry->bytes);
    for (size_t i = 0; i < entry->reloc_count; i++) {
        TRY(emu_grow((void **)&state->reloc, state->reloc_count, &state->reloc_cap,
                     sizeof(state->reloc[0])));
        state->reloc[state->reloc_count] = entry->reloc[i];
        state->reloc[state->reloc_count++].offset += start;
    }
    state->bytes = end;
    return EMU_OK;
}

static enum emu_status read_state_entry(const struct json_reader *r, const struct json_path *at,
                                        const json_t *v)
{
    struct case_data entry = { .type = CASE_U32 };
    struct tile_case *c = r->ctx;
    enum emu_status s;
    int is_signed = json_is_integer(v) && json_integer_value(v) < 0;

    if (json_is_object(v)) {
        if (json_object_size(v) != 1)
            return json_wrong(r, at, v, "expected an object with one typed array");
        s = case_read_typed(r, at, v, &entry);
        if (s == EMU_OK && entry.type == CASE_BYTES)
            s = json_wrong(r, at, v, "expected values, not a size");
    } else if (json_is_array(v)) {
        s = json_wrong(r, at, v, "expected a word or an object such as {\"u16\": [1, 2]}");
    } else {
        s = case_read_data(r, at, v, is_signed ? CASE_I32 : CASE_U32, &entry);
    }
    if (s == EMU_OK)
        s = append_state(&c->state, &entry);
    case_data_free(&entry);
    return s;
}

typedef enum emu_status name_fn(const struct json_reader *r, const struct json_path *at,
                                const char *name, int to_write, struct case_register *out);

/* {"m2": 5, "w3.a0": "0x3f800000"}: appends to list, which has room. */
static enum emu_status read_registers(const struct json_reader *r, const struct json_path *at,
                                      const json_t *v, int to_write, name_fn *read_name,
                                      struct case_register *list, size_t *count)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)v, key, value)
    {
        struct json_path here = { at, key, 0 };
        struct case_register *reg = &list[(*count)++];

        TRY(read_name(r, &here, key, to_write, reg));
        TRY(case_read_word(r, &here, value, &reg->value));
        if (reg->value.bytes != 4)
            return json_wrong(r, &here, value, "expected one 32-bit word");
    }
    return EMU_OK;
}

static enum emu_status need_object(const struct json_reader *r, const char *key, const json_t *v,
                                   size_t *n)
{
    struct json_path at = { NULL, key, 0 };

    if (v && (!json_is_object(v) || json_object_size(v) > JSON_LIST_MAX))
        return json_wrong(r, &at, v, "expected an object {\"name\": value}");
    *n += json_object_size(v);
    return EMU_OK;
}

static enum emu_status read_initial(const struct json_reader *r, const json_t *root)
{
    struct json_path reg_at = { NULL, "registers", 0 }, csr_at = { NULL, "csr", 0 };
    struct json_path weights_at = { NULL, "weights", 0 };
    const json_t *regs = json_object_get(root, "registers"), *csrs = json_object_get(root, "csr");
    const json_t *weights = json_object_get(root, "weights");
    struct tile_case *c = r->ctx;
    size_t n = 1;

    TRY(need_object(r, "registers", regs, &n));
    TRY(need_object(r, "csr", csrs, &n));
    c->set = emu_alloc(n, sizeof(c->set[0]));
    if (!c->set)
        return FAIL(NO_MEMORY, "%zu registers", n);
    if (regs)
        TRY(read_registers(r, &reg_at, regs, 1, case_read_register_name, c->set, &c->set_count));
    if (csrs)
        TRY(read_registers(r, &csr_at, csrs, 1, case_read_csr_name, c->set, &c->set_count));
    if (!weights)
        return EMU_OK;
    if (!json_is_object(weights) || json_object_size(weights) != 1)
        return json_wrong(r, &weights_at, weights, "expected an object with one typed array");
    TRY(case_read_typed(r, &weights_at, weights, &c->weights));
    if (c->weights.bytes > TILE_WEIGHTS * 8 || c->weights.reloc_count)
        return json_wrong(r, &weights_at, NULL, "expected at most %d bytes of numbers",
                          TILE_WEIGHTS * 8);
    return EMU_OK;
}

/* ---- expectations ---- */

static enum emu_status read_expect_register(const struct json_reader *r, const struct json_path *at,
                                            const json_t *v)
{
    struct json_path reg_at = { at, "register", 0 };
    struct tile_case *c = r->ctx;
    struct case_register *reg = &c->expect_register[c->expect_register_count++];
    const char *name = NULL;

    TRY(json_optional_bound(r, at, v, "tolerance", &reg->tolerance));
    TRY(json_optional_bound(r, at, v, "relative", &reg->relative));
    TRY(json_read_string(r, &reg_at, json_object_get(v, "register"), &name));
    TRY(case_read_register_name(r, &reg_at, name, 0, reg));
    if (json_object_get(v, "name") || json_object_get(v, "from"))
        return json_wrong(r, at, NULL, "expected a register or a memory, not both");
    TRY(case_read_typed(r, at, v, &reg->value));
    if (!reg->value.bytes || reg->value.bytes % 4 ||
        reg->number + reg->value.bytes / 4 > (reg->file == 'c' ? TILE_ACC : 16u))
        return json_wrong(r, at, NULL, "expected whole registers of the file");
    return EMU_OK;
}

/* {"name": "x", "f16": [...], "from": 4, "tolerance": 0, "relative": 0}, or "register" in place of
 * "name". */
static enum emu_status read_expect(const struct json_reader *r, const struct json_path *at,
                                   const json_t *v)
{
    static const char *const keys[] = { "name", "register", "from", "tolerance", "relative",
                                        "f16",  "f32",      "u32",  "i32",       "u16",
                                        "i16",  "u8",       "i8",   "note",      NULL };
    struct json_path name_at = { at, "name", 0 };
    struct tile_case *c = r->ctx;
    struct case_memory_expect *e;
    const char *name = NULL;

    TRY(json_refuse_unknown(r, at, v, keys, NULL));
    if (json_object_get(v, "register"))
        return read_expect_register(r, at, v);
    e = &c->expect[c->expect_count++];
    TRY(json_optional_bound(r, at, v, "tolerance", &e->tolerance));
    TRY(json_optional_bound(r, at, v, "relative", &e->relative));
    TRY(json_read_string(r, &name_at, json_object_get(v, "name"), &name));
    while (e->memory < c->program.memories && strcmp(c->program.memory[e->memory].place.name, name))
        e->memory++;
    if (e->memory == c->program.memories)
        return json_wrong(r, &name_at, json_object_get(v, "name"), "expected the name of a memory");
    TRY(json_optional_u32(r, at, v, "from", 0, INT32_MAX, &e->from));
    TRY(case_read_typed(r, at, v, &e->value));
    if ((uint64_t)e->from * case_type_bytes(e->value.type) + e->value.bytes >
        manifest_data_bytes(&c->program.memory[e->memory].init))
        return json_wrong(r, at, NULL, "expected at most the %u bytes of \"%s\"",
                          manifest_data_bytes(&c->program.memory[e->memory].init), name);
    return EMU_OK;
}

static enum emu_status read_slots(const struct json_reader *r, const struct json_path *at,
                                  const json_t *v)
{
    struct tile_case *c = r->ctx;
    unsigned running = c->as == CASE_WORKER ? 1 : c->as == CASE_WORKERS ? TILE_WORKERS : 0;

    if (json_is_array(v) && json_array_size(v) == TILE_WORKERS) {
        for (unsigned w = 0; w < TILE_WORKERS; w++) {
            struct json_path here = { at, NULL, w };

            TRY(json_read_range(r, &here, json_array_get(v, w), &c->expect_slots[w]));
        }
        return EMU_OK;
    }
    if (!running)
        return json_wrong(r, at, v, "expected a list of %d numbers, one for each worker",
                          TILE_WORKERS);
    for (unsigned w = 0; w < running; w++)
        TRY(json_read_range(r, at, v, &c->expect_slots[w]));
    return EMU_OK;
}

static enum emu_status read_fault(const struct json_reader *r, const struct json_path *at,
                                  const json_t *v)
{
    struct tile_case *c = r->ctx;

    return v ? case_read_fault(r, at, v, &c->expect_fault) : EMU_OK;
}

static enum emu_status read_expectations(const struct json_reader *r, const json_t *root)
{
    struct json_path expect_at = { NULL, "expect", 0 }, reg_at = { NULL, "expect_registers", 0 };
    struct json_path csr_at = { NULL, "expect_csr", 0 }, slots_at = { NULL, "expect_slots", 0 };
    struct json_path cycles_at = { NULL, "expect_cycles", 0 };
    struct json_path insns_at = { NULL, "expect_instructions", 0 };
    struct json_path fault_at = { NULL, "expect_fault", 0 };
    const json_t *list = json_object_get(root, "expect"), *v;
    const json_t *regs = json_object_get(root, "expect_registers");
    const json_t *csrs = json_object_get(root, "expect_csr");
    struct tile_case *c = r->ctx;
    size_t n = json_array_size(list) + 1;

    if (n > JSON_LIST_MAX)
        return json_wrong(r, &expect_at, NULL, "expected at most %d entries", JSON_LIST_MAX);
    c->expect = emu_alloc(n, sizeof(c->expect[0]));
    TRY(need_object(r, "expect_registers", regs, &n));
    TRY(need_object(r, "expect_csr", csrs, &n));
    c->expect_register = emu_alloc(n, sizeof(c->expect_register[0]));
    if (!c->expect || !c->expect_register)
        return FAIL(NO_MEMORY, "%zu expectations", n);
    TRY(json_read_list(r, &expect_at, list, read_expect));
    if (regs)
        TRY(read_registers(r, &reg_at, regs, 0, case_read_register_name, c->expect_register,
                           &c->expect_register_count));
    if (csrs)
        TRY(read_registers(r, &csr_at, csrs, 0, case_read_csr_name, c->expect_register,
                           &c->expect_register_count));
    v = json_object_get(root, "expect_cycles");
    TRY(json_read_range(r, &cycles_at, v, &c->expect_cycles));
    v = json_object_get(root, "expect_instructions");
    TRY(json_read_range(r, &insns_at, v, &c->expect_instructions));
    if ((v = json_object_get(root, "expect_slots")))
        TRY(read_slots(r, &slots_at, v));
    return read_fault(r, &fault_at, json_object_get(root, "expect_fault"));
}

/* ---- the whole ---- */

static enum emu_status read_as(const struct json_reader *r, const json_t *v)
{
    static const char *const names[] = { "worker", "workers", "supervisor" };
    struct json_path at = { NULL, "as", 0 };

    for (unsigned i = 0; i < EMU_COUNT_OF(names); i++) {
        if (json_is_string(v) && !strcmp(json_string_value(v), names[i])) {
            ((struct tile_case *)r->ctx)->as = (enum case_as)i;
            return EMU_OK;
        }
    }
    return json_wrong(r, &at, v, "expected \"worker\", \"workers\" or \"supervisor\"");
}

/* The program, as a manifest has it for the list of tiles [0]. */
static enum emu_status read_program(const struct json_reader *r, const json_t *root)
{
    struct json_path include_at = { NULL, "include", 0 };
    const json_t *include = json_object_get(root, "include");
    struct tile_case *c = r->ctx;

    c->program.tiles.tile = emu_alloc(1, sizeof(*c->program.tiles.tile));
    if (!c->program.tiles.tile)
        return FAIL(NO_MEMORY, "a set of tiles");
    c->program.tiles.count = 1;
    TRY(program_read_code(r, NULL, root, &c->program));
    if (include)
        TRY(json_read_strings(r, &include_at, include, &c->include, &c->include_count));
    return json_optional_string(r, NULL, root, "machine", &c->machine);
}

static enum emu_status read_limits(const struct json_reader *r, const json_t *root)
{
    struct tile_case *c = r->ctx;

    TRY(json_optional_u64(r, NULL, root, "max_cycles", 1, INT64_MAX, &c->max_cycles));
    TRY(json_optional_u32(r, NULL, root, "stack_bytes", 0, MAX_STACK, &c->stack_bytes));
    return json_optional_u32(r, NULL, root, "scratch_bytes", 0, MAX_STACK, &c->scratch_bytes);
}

static enum emu_status read_root(const struct json_reader *r, const json_t *root)
{
    static const char *const keys[] = {
        "source",       "asm",
        "include",      "defines",
        "machine",      "entry",
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
    struct json_path state_at = { NULL, "state", 0 };
    struct json_path note_at = { NULL, "note", 0 };
    struct tile_case *c = r->ctx;

    if (json_object_get(root, "programs"))
        return json_wrong(r, NULL, NULL,
                          "expected a case of one tile; this is a manifest: superstep run FILE");
    TRY(json_refuse_unknown(r, NULL, root, keys, NULL));
    if (json_object_get(root, "note") && !json_is_string(json_object_get(root, "note")))
        return json_wrong(r, &note_at, json_object_get(root, "note"), "expected a string");
    TRY(read_program(r, root));
    TRY(read_as(r, json_object_get(root, "as")));
    TRY(read_limits(r, root));
    TRY(program_read_memory(r, NULL, root, NULL, &c->program));
    TRY(json_read_list(r, &state_at, json_object_get(root, "state"), read_state_entry));
    TRY(read_initial(r, root));
    return read_expectations(r, root);
}

/* Takes over root. */
static enum emu_status read_tree(json_t *root, const char *name, struct tile_case **out)
{
    struct tile_case *c = emu_alloc(1, sizeof(*c));
    enum emu_status s;

    if (!c) {
        json_decref(root);
        return FAIL(NO_MEMORY, "%s", name);
    }
    c->root = root;
    c->state.type = CASE_U32;
    c->expect_fault = -1;
    c->max_cycles = DEFAULT_MAX_CYCLES;
    c->stack_bytes = DEFAULT_STACK;
    c->scratch_bytes = DEFAULT_SCRATCH;
    c->path = emu_strdup(name);
    s = c->path ? read_root(&(struct json_reader){ name, c }, root) : FAIL(NO_MEMORY, "%s", name);
    if (s == EMU_OK)
        *out = c;
    else
        case_free(c);
    return s;
}

enum emu_status case_read(const char *path, struct tile_case **out)
{
    enum emu_status s;
    size_t bytes;
    char *text;

    *out = NULL;
    s = json_read_file(path, &text, &bytes);
    if (s == EMU_OK)
        s = case_read_text(text, bytes, path, out);
    emu_free(text);
    return s;
}

enum emu_status case_read_text(const char *text, size_t bytes, const char *name,
                               struct tile_case **out)
{
    json_t *root;

    *out = NULL;
    TRY(json_read_text(text, bytes, name, &root));
    return read_tree(root, name, out);
}

void case_free(struct tile_case *c)
{
    if (!c)
        return;
    program_free(&c->program);
    for (size_t i = 0; i < c->set_count; i++)
        case_data_free(&c->set[i].value);
    for (size_t i = 0; i < c->expect_count; i++)
        case_data_free(&c->expect[i].value);
    for (size_t i = 0; i < c->expect_register_count; i++)
        case_data_free(&c->expect_register[i].value);
    case_data_free(&c->state);
    case_data_free(&c->weights);
    emu_free(c->set);
    emu_free(c->expect);
    emu_free(c->expect_register);
    emu_free((void *)c->include);
    emu_free(c->path);
    json_decref(c->root);
    emu_free(c);
}
