/* case_read.c - the JSON tree of a case file to struct tile_case.
 *
 * Everything is checked that can be checked without a machine or an assembler: keys, types, ranges,
 * register names. Unknown keys are refused, because a misspelt "expect_cylces" would otherwise pass
 * every time.
 */
#include "emu/case/case.h"

#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/case/case_value.h"
#include "emu/tile/tile.h"

enum { DEFAULT_MAX_CYCLES = 100000000, DEFAULT_STACK = 1024, DEFAULT_SCRATCH = 512 };
enum { MAX_LIST = 1 << 16 }; /* entries of a list of memories, registers, expectations */
enum { MAX_STACK = 1 << 24 };

typedef enum emu_status read_fn(const struct case_reader *r, const struct case_path *at,
                                const json_t *v);

static enum emu_status refuse_unknown(const struct case_reader *r, const struct case_path *at,
                                      const json_t *obj, const char *const *known)
{
    const char *key;
    json_t *value;

    if (!json_is_object(obj))
        return case_wrong(r, at, obj, "expected an object");
    json_object_foreach((json_t *)(uintptr_t)obj, key, value)
    {
        struct case_path here = { at, key, 0 };
        int found = 0;

        for (size_t i = 0; known[i]; i++)
            found |= !strcmp(known[i], key);
        if (!found)
            return case_wrong(r, &here, NULL, "expected another key: this one is unknown");
    }
    return EMU_OK;
}

/* ---- scalars ---- */

static enum emu_status read_u32(const struct case_reader *r, const struct case_path *at,
                                const json_t *v, uint32_t low, uint32_t high, uint32_t *out)
{
    uint64_t n = 0;

    TRY(case_read_integer(r, at, v, low, high, &n));
    *out = (uint32_t)n;
    return EMU_OK;
}

static enum emu_status read_bound(const struct case_reader *r, const struct case_path *at,
                                  const json_t *v, double *out)
{
    if (!json_is_number(v) || !(json_number_value(v) >= 0))
        return case_wrong(r, at, v, "expected a number that is not negative");
    *out = json_number_value(v);
    return EMU_OK;
}

/* 120, or [110, 130]. */
static enum emu_status read_range(const struct case_reader *r, const struct case_path *at,
                                  const json_t *v, struct case_range *out)
{
    out->is_set = 1;
    if (!json_is_array(v)) {
        TRY(case_read_integer(r, at, v, 0, INT64_MAX, &out->low));
        out->high = out->low;
        return EMU_OK;
    }
    if (json_array_size(v) != 2)
        return case_wrong(r, at, v, "expected one number, or a lowest and a highest");
    TRY(case_read_integer(r, at, json_array_get(v, 0), 0, INT64_MAX, &out->low));
    return case_read_integer(r, at, json_array_get(v, 1), out->low, INT64_MAX, &out->high);
}

/* A string or a list of strings, as a list. */
static enum emu_status read_strings(const struct case_reader *r, const struct case_path *at,
                                    const json_t *v, const char ***out, size_t *count)
{
    size_t n = json_is_array(v) ? json_array_size(v) : 1;

    if (n > MAX_LIST)
        return case_wrong(r, at, NULL, "expected at most %d strings", MAX_LIST);
    *out = emu_alloc(n + 1, sizeof(**out));
    if (!*out)
        return FAIL(NO_MEMORY, "%zu strings", n);
    *count = n;
    if (!json_is_array(v))
        return case_read_string(r, at, v, &(*out)[0]);
    for (size_t i = 0; i < n; i++) {
        struct case_path here = { at, NULL, i };

        TRY(case_read_string(r, &here, json_array_get(v, i), &(*out)[i]));
    }
    return EMU_OK;
}

/* {"NAME": "text" or number}, kept as "NAME=text". */
static enum emu_status read_defines(const struct case_reader *r, const struct case_path *at,
                                    const json_t *v)
{
    struct tile_case *c = r->c;
    size_t n = json_object_size(v);
    const char *key;
    json_t *value;

    if (!json_is_object(v) || n > MAX_LIST)
        return case_wrong(r, at, v, "expected an object of macros, {\"NAME\": \"value\"}");
    c->define = emu_alloc(n + 1, sizeof(c->define[0]));
    if (!c->define)
        return FAIL(NO_MEMORY, "%zu macros", n);
    json_object_foreach((json_t *)(uintptr_t)v, key, value)
    {
        struct case_path here = { at, key, 0 };
        size_t bytes = strlen(key) + json_string_length(value) + 32;
        char *text = emu_alloc(bytes, 1);

        if (!text)
            return FAIL(NO_MEMORY, "a macro");
        c->define[c->define_count++] = text;
        if (json_is_integer(value))
            snprintf(text, bytes, "%s=%lld", key, (long long)json_integer_value(value));
        else if (json_is_string(value))
            snprintf(text, bytes, "%s=%s", key, json_string_value(value));
        else
            return case_wrong(r, &here, value, "expected a string or an integer");
    }
    return EMU_OK;
}

/* ---- memory, state, registers ---- */

/* Finds the one key of obj that names an element type. */
static enum emu_status find_typed(const struct case_reader *r, const struct case_path *at,
                                  const json_t *obj, enum case_type *type, const char **key)
{
    const char *k;
    json_t *v;

    *key = NULL;
    json_object_foreach((json_t *)(uintptr_t)obj, k, v)
    {
        if (!case_type_find(k, type))
            continue;
        if (*key)
            return case_wrong(r, at, NULL, "expected one array, found \"%s\" and \"%s\"", *key, k);
        *key = k;
    }
    if (!*key)
        return case_wrong(r, at, NULL,
                          "expected an array \"f16\", \"f32\", \"u32\", \"i32\", \"u16\", \"i16\", "
                          "\"u8\" or \"i8\"");
    case_type_find(*key, type);
    return EMU_OK;
}

static enum emu_status read_typed(const struct case_reader *r, const struct case_path *at,
                                  const json_t *obj, struct case_data *out)
{
    enum case_type type = CASE_U32;
    const char *key = NULL;

    TRY(find_typed(r, at, obj, &type, &key));
    struct case_path here = { at, key, 0 };
    return case_read_data(r, &here, json_object_get(obj, key), type, out);
}

static int valid_name(const char *s)
{
    static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$";

    return s[0] && strspn(s, chars) == strlen(s) && (s[0] < '0' || s[0] > '9') && strlen(s) < 256;
}

static enum emu_status read_memory(const struct case_reader *r, const struct case_path *at,
                                   const json_t *v)
{
    static const char *const keys[] = { "name", "region", "align", "at",   "f16",
                                        "f32",  "u32",    "i32",   "u16",  "i16",
                                        "u8",   "i8",     "bytes", "note", NULL };
    struct tile_case *c = r->c;
    struct case_memory *m = &c->memory[c->memory_count++];
    struct case_path name_at = { at, "name", 0 }, align_at = { at, "align", 0 };
    struct case_path region_at = { at, "region", 0 }, fixed_at = { at, "at", 0 };
    const json_t *align, *region, *fixed;

    TRY(refuse_unknown(r, at, v, keys));
    align = json_object_get(v, "align");
    region = json_object_get(v, "region");
    fixed = json_object_get(v, "at");
    TRY(case_read_string(r, &name_at, json_object_get(v, "name"), &m->name));
    if (!valid_name(m->name))
        return case_wrong(r, &name_at, json_object_get(v, "name"),
                          "expected letters, digits, '_', '.' or '$'");
    for (size_t i = 0; i + 1 < c->memory_count; i++) {
        if (!strcmp(c->memory[i].name, m->name))
            return case_wrong(r, &name_at, NULL, "expected a name not used before, got \"%s\"",
                              m->name);
    }
    m->region = 1;
    m->align = 8;
    if (region)
        TRY(read_u32(r, &region_at, region, 0, 1, &m->region));
    if (align)
        TRY(read_u32(r, &align_at, align, 1, 1 << 20, &m->align));
    if (m->align & (m->align - 1))
        return case_wrong(r, &align_at, align, "expected a power of two");
    if (fixed) {
        m->is_fixed = 1;
        TRY(read_u32(r, &fixed_at, fixed, 0, UINT32_MAX, &m->address));
        if (region)
            return case_wrong(r, &fixed_at, NULL, "expected \"at\" or \"region\", not both");
        if (align && m->address % m->align)
            return case_wrong(r, &fixed_at, fixed, "expected a multiple of the alignment");
    }
    return read_typed(r, at, v, &m->init);
}

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

static enum emu_status read_state_entry(const struct case_reader *r, const struct case_path *at,
                                        const json_t *v)
{
    struct case_data entry = { .type = CASE_U32 };
    enum emu_status s;
    int is_signed = json_is_integer(v) && json_integer_value(v) < 0;

    if (json_is_object(v)) {
        if (json_object_size(v) != 1)
            return case_wrong(r, at, v, "expected an object with one typed array");
        s = read_typed(r, at, v, &entry);
        if (s == EMU_OK && entry.type == CASE_BYTES)
            s = case_wrong(r, at, v, "expected values, not a size");
    } else if (json_is_array(v)) {
        s = case_wrong(r, at, v, "expected a word or an object such as {\"u16\": [1, 2]}");
    } else {
        s = case_read_data(r, at, v, is_signed ? CASE_I32 : CASE_U32, &entry);
    }
    if (s == EMU_OK)
        s = append_state(&r->c->state, &entry);
    case_data_free(&entry);
    return s;
}

/* Reads a list through one function per entry. */
static enum emu_status read_list(const struct case_reader *r, const struct case_path *at,
                                 const json_t *v, read_fn *read_one)
{
    if (!json_is_array(v) || json_array_size(v) > MAX_LIST)
        return case_wrong(r, at, NULL, "expected a list of at most %d entries", MAX_LIST);
    for (size_t i = 0; i < json_array_size(v); i++) {
        struct case_path here = { at, NULL, i };

        TRY(read_one(r, &here, json_array_get(v, i)));
    }
    return EMU_OK;
}

typedef enum emu_status name_fn(const struct case_reader *r, const struct case_path *at,
                                const char *name, int to_write, struct case_register *out);

/* {"m2": 5, "w3.a0": "0x3f800000"}: appends to list, which has room. */
static enum emu_status read_registers(const struct case_reader *r, const struct case_path *at,
                                      const json_t *v, int to_write, name_fn *read_name,
                                      struct case_register *list, size_t *count)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)v, key, value)
    {
        struct case_path here = { at, key, 0 };
        struct case_register *reg = &list[(*count)++];

        TRY(read_name(r, &here, key, to_write, reg));
        TRY(case_read_word(r, &here, value, &reg->value));
        if (reg->value.bytes != 4)
            return case_wrong(r, &here, value, "expected one 32-bit word");
    }
    return EMU_OK;
}

static enum emu_status need_object(const struct case_reader *r, const char *key, const json_t *v,
                                   size_t *n)
{
    struct case_path at = { NULL, key, 0 };

    if (v && (!json_is_object(v) || json_object_size(v) > MAX_LIST))
        return case_wrong(r, &at, v, "expected an object {\"name\": value}");
    *n += json_object_size(v);
    return EMU_OK;
}

static enum emu_status read_initial(const struct case_reader *r, const json_t *root)
{
    struct case_path reg_at = { NULL, "registers", 0 }, csr_at = { NULL, "csr", 0 };
    struct case_path weights_at = { NULL, "weights", 0 };
    const json_t *regs = json_object_get(root, "registers"), *csrs = json_object_get(root, "csr");
    const json_t *weights = json_object_get(root, "weights");
    struct tile_case *c = r->c;
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
        return case_wrong(r, &weights_at, weights, "expected an object with one typed array");
    TRY(read_typed(r, &weights_at, weights, &c->weights));
    if (c->weights.bytes > TILE_WEIGHTS * 8 || c->weights.reloc_count)
        return case_wrong(r, &weights_at, NULL, "expected at most %d bytes of numbers",
                          TILE_WEIGHTS * 8);
    return EMU_OK;
}

/* ---- expectations ---- */

/* {"name": "x", "f16": [...], "from": 4, "tolerance": 0, "relative": 0}, or "register" in place of
 * "name". */
static enum emu_status read_expect(const struct case_reader *r, const struct case_path *at,
                                   const json_t *v)
{
    static const char *const keys[] = { "name", "register", "from", "tolerance", "relative",
                                        "f16",  "f32",      "u32",  "i32",       "u16",
                                        "i16",  "u8",       "i8",   "note",      NULL };
    struct case_path name_at = { at, "name", 0 }, reg_at = { at, "register", 0 };
    struct case_path tol_at = { at, "tolerance", 0 }, rel_at = { at, "relative", 0 };
    struct case_path from_at = { at, "from", 0 };
    struct tile_case *c = r->c;
    double tolerance = 0, relative = 0;
    struct case_register *reg;
    struct case_memory_expect *e;
    const char *name = NULL;

    TRY(refuse_unknown(r, at, v, keys));
    if (json_object_get(v, "tolerance"))
        TRY(read_bound(r, &tol_at, json_object_get(v, "tolerance"), &tolerance));
    if (json_object_get(v, "relative"))
        TRY(read_bound(r, &rel_at, json_object_get(v, "relative"), &relative));
    if (json_object_get(v, "register")) {
        reg = &c->expect_register[c->expect_register_count++];
        reg->tolerance = tolerance;
        reg->relative = relative;
        TRY(case_read_string(r, &reg_at, json_object_get(v, "register"), &name));
        TRY(case_read_register_name(r, &reg_at, name, 0, reg));
        if (json_object_get(v, "name") || json_object_get(v, "from"))
            return case_wrong(r, at, NULL, "expected a register or a memory, not both");
        TRY(read_typed(r, at, v, &reg->value));
        if (!reg->value.bytes || reg->value.bytes % 4 ||
            reg->number + reg->value.bytes / 4 > (reg->file == 'c' ? TILE_ACC : 16u))
            return case_wrong(r, at, NULL, "expected whole registers of the file");
        return EMU_OK;
    }
    e = &c->expect[c->expect_count++];
    e->tolerance = tolerance;
    e->relative = relative;
    TRY(case_read_string(r, &name_at, json_object_get(v, "name"), &name));
    while (e->memory < c->memory_count && strcmp(c->memory[e->memory].name, name))
        e->memory++;
    if (e->memory == c->memory_count)
        return case_wrong(r, &name_at, json_object_get(v, "name"), "expected the name of a memory");
    if (json_object_get(v, "from"))
        TRY(read_u32(r, &from_at, json_object_get(v, "from"), 0, INT32_MAX, &e->from));
    TRY(read_typed(r, at, v, &e->value));
    if ((uint64_t)e->from * case_type_bytes(e->value.type) + e->value.bytes >
        c->memory[e->memory].init.bytes)
        return case_wrong(r, at, NULL, "expected at most the %u bytes of \"%s\"",
                          c->memory[e->memory].init.bytes, name);
    return EMU_OK;
}

static enum emu_status read_slots(const struct case_reader *r, const struct case_path *at,
                                  const json_t *v)
{
    struct tile_case *c = r->c;
    unsigned running = c->as == CASE_WORKER ? 1 : c->as == CASE_WORKERS ? TILE_WORKERS : 0;

    if (json_is_array(v) && json_array_size(v) == TILE_WORKERS) {
        for (unsigned w = 0; w < TILE_WORKERS; w++) {
            struct case_path here = { at, NULL, w };

            TRY(read_range(r, &here, json_array_get(v, w), &c->expect_slots[w]));
        }
        return EMU_OK;
    }
    if (!running)
        return case_wrong(r, at, v, "expected a list of %d numbers, one for each worker",
                          TILE_WORKERS);
    for (unsigned w = 0; w < running; w++)
        TRY(read_range(r, at, v, &c->expect_slots[w]));
    return EMU_OK;
}

static enum emu_status read_fault(const struct case_reader *r, const struct case_path *at,
                                  const json_t *v)
{
    const char *name = json_is_string(v) ? json_string_value(v) : "";

    for (int f = FAULT_NONE + 1; f < FAULT_COUNT; f++) {
        if (!strcmp(name, fault_name((enum fault)f))) {
            r->c->expect_fault = f;
            return EMU_OK;
        }
    }
    return case_wrong(r, at, v, "expected the name of a fault, such as \"CONFLICT\"");
}

static enum emu_status read_expectations(const struct case_reader *r, const json_t *root)
{
    struct case_path expect_at = { NULL, "expect", 0 }, reg_at = { NULL, "expect_registers", 0 };
    struct case_path csr_at = { NULL, "expect_csr", 0 }, slots_at = { NULL, "expect_slots", 0 };
    struct case_path cycles_at = { NULL, "expect_cycles", 0 };
    struct case_path insns_at = { NULL, "expect_instructions", 0 };
    struct case_path fault_at = { NULL, "expect_fault", 0 };
    const json_t *list = json_object_get(root, "expect"), *v;
    const json_t *regs = json_object_get(root, "expect_registers");
    const json_t *csrs = json_object_get(root, "expect_csr");
    struct tile_case *c = r->c;
    size_t n = json_array_size(list) + 1;

    if (n > MAX_LIST)
        return case_wrong(r, &expect_at, NULL, "expected at most %d entries", MAX_LIST);
    c->expect = emu_alloc(n, sizeof(c->expect[0]));
    TRY(need_object(r, "expect_registers", regs, &n));
    TRY(need_object(r, "expect_csr", csrs, &n));
    c->expect_register = emu_alloc(n, sizeof(c->expect_register[0]));
    if (!c->expect || !c->expect_register)
        return FAIL(NO_MEMORY, "%zu expectations", n);
    if (list)
        TRY(read_list(r, &expect_at, list, read_expect));
    if (regs)
        TRY(read_registers(r, &reg_at, regs, 0, case_read_register_name, c->expect_register,
                           &c->expect_register_count));
    if (csrs)
        TRY(read_registers(r, &csr_at, csrs, 0, case_read_csr_name, c->expect_register,
                           &c->expect_register_count));
    if ((v = json_object_get(root, "expect_cycles")))
        TRY(read_range(r, &cycles_at, v, &c->expect_cycles));
    if ((v = json_object_get(root, "expect_instructions")))
        TRY(read_range(r, &insns_at, v, &c->expect_instructions));
    if ((v = json_object_get(root, "expect_slots")))
        TRY(read_slots(r, &slots_at, v));
    if ((v = json_object_get(root, "expect_fault")))
        TRY(read_fault(r, &fault_at, v));
    return EMU_OK;
}

/* ---- the whole ---- */

static enum emu_status read_as(const struct case_reader *r, const json_t *v)
{
    static const char *const names[] = { "worker", "workers", "supervisor" };
    struct case_path at = { NULL, "as", 0 };

    for (unsigned i = 0; i < EMU_COUNT_OF(names); i++) {
        if (json_is_string(v) && !strcmp(json_string_value(v), names[i])) {
            r->c->as = (enum case_as)i;
            return EMU_OK;
        }
    }
    return case_wrong(r, &at, v, "expected \"worker\", \"workers\" or \"supervisor\"");
}

static enum emu_status read_program(const struct case_reader *r, const json_t *root)
{
    struct case_path source_at = { NULL, "source", 0 }, asm_at = { NULL, "asm", 0 };
    struct case_path include_at = { NULL, "include", 0 }, define_at = { NULL, "defines", 0 };
    struct case_path machine_at = { NULL, "machine", 0 }, entry_at = { NULL, "entry", 0 };
    const json_t *source = json_object_get(root, "source"), *text = json_object_get(root, "asm"),
                 *v;
    struct tile_case *c = r->c;

    if (!source == !text)
        return case_wrong(r, NULL, NULL, "expected either \"source\" or \"asm\"");
    if (source)
        TRY(read_strings(r, &source_at, source, &c->source, &c->source_count));
    else
        TRY(case_read_string(r, &asm_at, text, &c->text));
    if (source && !c->source_count)
        return case_wrong(r, &source_at, NULL, "expected at least one file");
    if ((v = json_object_get(root, "include")))
        TRY(read_strings(r, &include_at, v, &c->include, &c->include_count));
    if ((v = json_object_get(root, "defines")))
        TRY(read_defines(r, &define_at, v));
    if ((v = json_object_get(root, "machine")))
        TRY(case_read_string(r, &machine_at, v, &c->machine));
    return case_read_string(r, &entry_at, json_object_get(root, "entry"), &c->entry);
}

static enum emu_status read_limits(const struct case_reader *r, const json_t *root)
{
    struct case_path cycles_at = { NULL, "max_cycles", 0 }, stack_at = { NULL, "stack_bytes", 0 };
    struct case_path scratch_at = { NULL, "scratch_bytes", 0 };
    struct tile_case *c = r->c;
    const json_t *v;

    if ((v = json_object_get(root, "max_cycles")))
        TRY(case_read_integer(r, &cycles_at, v, 1, INT64_MAX, &c->max_cycles));
    if ((v = json_object_get(root, "stack_bytes")))
        TRY(read_u32(r, &stack_at, v, 0, MAX_STACK, &c->stack_bytes));
    if ((v = json_object_get(root, "scratch_bytes")))
        TRY(read_u32(r, &scratch_at, v, 0, MAX_STACK, &c->scratch_bytes));
    return EMU_OK;
}

static enum emu_status read_root(const struct case_reader *r, const json_t *root)
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
    struct case_path memory_at = { NULL, "memory", 0 }, state_at = { NULL, "state", 0 };
    struct case_path note_at = { NULL, "note", 0 };
    const json_t *memory = json_object_get(root, "memory"), *state;
    struct tile_case *c = r->c;

    TRY(refuse_unknown(r, NULL, root, keys));
    if (json_object_get(root, "note") && !json_is_string(json_object_get(root, "note")))
        return case_wrong(r, &note_at, json_object_get(root, "note"), "expected a string");
    TRY(read_program(r, root));
    TRY(read_as(r, json_object_get(root, "as")));
    TRY(read_limits(r, root));
    if (memory) {
        c->memory = emu_alloc(json_array_size(memory) + 1, sizeof(c->memory[0]));
        if (!c->memory)
            return FAIL(NO_MEMORY, "the memories of a case");
        TRY(read_list(r, &memory_at, memory, read_memory));
    }
    if ((state = json_object_get(root, "state")))
        TRY(read_list(r, &state_at, state, read_state_entry));
    TRY(read_initial(r, root));
    return read_expectations(r, root);
}

/* Takes over root, which may be NULL after a syntax error. */
static enum emu_status read_tree(json_t *root, const json_error_t *error, const char *name,
                                 struct tile_case **out)
{
    struct tile_case *c;
    enum emu_status s;

    *out = NULL;
    if (!root && error->line < 1)
        return FAIL(IO, "%s: %s", name, error->text);
    if (!root)
        return FAIL(BAD_FILE, "%s:%d:%d: %s", name, error->line, error->column, error->text);
    c = emu_alloc(1, sizeof(*c));
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
    s = c->path ? read_root(&(struct case_reader){ name, c }, root) : FAIL(NO_MEMORY, "%s", name);
    if (s == EMU_OK)
        *out = c;
    else
        case_free(c);
    return s;
}

enum emu_status case_read(const char *path, struct tile_case **out)
{
    json_error_t error;
    json_t *root = strcmp(path, "-") ? json_load_file(path, JSON_REJECT_DUPLICATES, &error)
                                     : json_loadf(stdin, JSON_REJECT_DUPLICATES, &error);

    return read_tree(root, &error, path, out);
}

enum emu_status case_read_text(const char *text, size_t bytes, const char *name,
                               struct tile_case **out)
{
    json_error_t error;
    json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);

    if (!root && error.line < 1)
        error.line = 1; /* empty text has no line */
    return read_tree(root, &error, name, out);
}

void case_free(struct tile_case *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->memory_count; i++)
        case_data_free(&c->memory[i].init);
    for (size_t i = 0; i < c->set_count; i++)
        case_data_free(&c->set[i].value);
    for (size_t i = 0; i < c->expect_count; i++)
        case_data_free(&c->expect[i].value);
    for (size_t i = 0; i < c->expect_register_count; i++)
        case_data_free(&c->expect_register[i].value);
    case_data_free(&c->state);
    case_data_free(&c->weights);
    emu_free(c->memory);
    emu_free(c->set);
    emu_free(c->expect);
    emu_free(c->expect_register);
    emu_free((void *)c->source);
    emu_free((void *)c->include);
    for (size_t i = 0; i < c->define_count; i++)
        emu_free(c->define[i]);
    emu_free(c->define);
    emu_free(c->path);
    json_decref(c->root);
    emu_free(c);
}
