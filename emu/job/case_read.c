/* case_read.c - what a case says beyond a manifest with one program: how its codelet is entered,
 * the vertex state, registers, and what registers and counters must be afterwards.
 *
 * Everything is checked that can be checked without an assembler: types, ranges, register names.
 */
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/job/manifest_internal.h"
#include "emu/tile/tile.h"

enum { DEFAULT_STACK = 1024, DEFAULT_SCRATCH = 512, MAX_STACK = 1 << 24 };

static struct tile_case *case_of(const struct json_reader *r)
{
    return manifest_of(r)->tile_case;
}

static const json_t *root_value(const struct json_reader *r, const char *key)
{
    return json_object_get(manifest_of(r)->root, key);
}

/* ---- state ---- */

/* Grows the state by the words of one entry; every entry is aligned to its elements, as fields of a
 * C struct are. */
static enum emu_status append_state(struct manifest_data *init, const struct case_data *entry)
{
    struct case_data *state = &init->data;
    uint32_t align = case_type_bytes(entry->type);
    uint32_t start = (state->bytes + align - 1) / align * align;
    uint32_t end = start + entry->bytes;
    uint8_t *data = emu_realloc(state->data, end + 4, 1);

    if (!data)
        return FAIL(NO_MEMORY, "the state of a case");
    state->data = data;
    memset(data + state->bytes, 0, end + 4 - state->bytes);
    if (entry->bytes)
        memcpy(data + start, entry->data, entry->bytes);
    for (size_t i = 0; i < entry->reloc_count; i++) {
        TRY(emu_grow((void **)&state->reloc, state->reloc_count, &state->reloc_cap,
                     sizeof(state->reloc[0])));
        state->reloc[state->reloc_count] = entry->reloc[i];
        state->reloc[state->reloc_count++].offset += start;
    }
    state->count = state->bytes = init->elements = end;
    return EMU_OK;
}

static enum emu_status read_state_entry(const struct json_reader *r, const struct json_path *at,
                                        const json_t *v)
{
    struct case_data entry = { .type = CASE_U32 };
    enum emu_status s;
    int is_signed = json_is_integer(v) && json_integer_value(v) < 0;

    if (json_is_object(v)) {
        if (json_object_size(v) != 1)
            return json_wrong(r, at, v, "expected an object with one typed array");
        s = manifest_read_typed(r, at, v, &entry);
        if (s == EMU_OK && entry.type == CASE_BYTES)
            s = json_wrong(r, at, v, "expected values, not a size");
    } else if (json_is_array(v)) {
        s = json_wrong(r, at, v, "expected a word or an object such as {\"u16\": [1, 2]}");
    } else {
        s = case_read_data(r, at, v, is_signed ? CASE_I32 : CASE_U32, &entry);
    }
    if (s == EMU_OK)
        s = append_state(&case_of(r)->state.init, &entry);
    case_data_free(&entry);
    return s;
}

/* ---- registers ---- */

typedef enum emu_status name_fn(const struct json_reader *r, const struct json_path *at,
                                const char *name, uint8_t lane, int to_write,
                                struct case_register *out);

/* Without a prefix a register belongs to the contexts that the case runs. */
static uint8_t default_lane(const struct tile_case *c)
{
    return c->as == CASE_WORKER ? 0 : c->as == CASE_SUPERVISOR ? LANE_SUPER : CASE_LANE_RUNNING;
}

/* {"m2": 5, "w3.a0": "0x3f800000"}: appends to list, which has room. */
static enum emu_status read_registers(const struct json_reader *r, const char *key, int to_write,
                                      name_fn *read_name, struct case_register *list, size_t *count)
{
    const struct json_path at = { NULL, key, 0 };
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)root_value(r, key), name, value)
    {
        struct json_path here = { &at, name, 0 };
        struct case_register *reg = &list[(*count)++];

        TRY(read_name(r, &here, name, default_lane(case_of(r)), to_write, reg));
        TRY(case_read_word(r, &here, value, &reg->value.data));
        reg->value.elements = reg->value.data.count;
        if (reg->value.data.bytes != 4)
            return json_wrong(r, &here, value, "expected one 32-bit word");
    }
    return EMU_OK;
}

/* Room for the registers of two objects, and `more`. */
static enum emu_status new_registers(const struct json_reader *r, const char *const key[2],
                                     size_t more, struct case_register **out)
{
    size_t n = more + 1;

    for (unsigned i = 0; i < 2; i++) {
        struct json_path at = { NULL, key[i], 0 };
        const json_t *v = root_value(r, key[i]);

        if (v && (!json_is_object(v) || json_object_size(v) > JSON_LIST_MAX))
            return json_wrong(r, &at, v, "expected an object {\"name\": value}");
        n += json_object_size(v);
    }
    *out = emu_alloc(n, sizeof(**out));
    return *out ? EMU_OK : FAIL(NO_MEMORY, "%zu registers", n);
}

static enum emu_status read_weights(const struct json_reader *r)
{
    struct json_path at = { NULL, "weights", 0 };
    const json_t *v = root_value(r, "weights");
    struct case_data *w = &case_of(r)->weights;

    if (!v)
        return EMU_OK;
    if (!json_is_object(v) || json_object_size(v) != 1)
        return json_wrong(r, &at, v, "expected an object with one typed array");
    TRY(manifest_read_typed(r, &at, v, w));
    if (w->bytes > TILE_WEIGHTS * 8 || w->reloc_count || w->type == CASE_BYTES)
        return json_wrong(r, &at, NULL, "expected at most %d bytes of numbers", TILE_WEIGHTS * 8);
    return EMU_OK;
}

/* ---- how it is entered ---- */

static enum emu_status read_as(const struct json_reader *r)
{
    static const char *const names[] = { "worker", "workers", "supervisor" };
    struct json_path at = { NULL, "as", 0 };
    const json_t *v = root_value(r, "as");

    for (unsigned i = 0; i < EMU_COUNT_OF(names); i++) {
        if (json_is_string(v) && !strcmp(json_string_value(v), names[i])) {
            case_of(r)->as = (enum case_as)i;
            return EMU_OK;
        }
    }
    return json_wrong(r, &at, v, "expected \"worker\", \"workers\" or \"supervisor\"");
}

static const char *const expect[2] = { "expect_registers", "expect_csr" };

enum emu_status case_read_start(const struct json_reader *r)
{
    static const char *const set[2] = { "registers", "csr" };
    struct json_path state_at = { NULL, "state", 0 };
    size_t expects = json_array_size(root_value(r, "expect"));
    const json_t *root = manifest_of(r)->root;
    struct tile_case *c = case_of(r);

    *c = (struct tile_case){ .state = { .place = { .name = "state" },
                                        .init = { .data = { .type = CASE_U8 } } },
                             .stack_bytes = DEFAULT_STACK,
                             .scratch_bytes = DEFAULT_SCRATCH };
    TRY(read_as(r));
    TRY(json_optional_u32(r, NULL, root, "stack_bytes", 0, MAX_STACK, &c->stack_bytes));
    TRY(json_optional_u32(r, NULL, root, "scratch_bytes", 0, MAX_STACK, &c->scratch_bytes));
    TRY(json_read_list(r, &state_at, root_value(r, "state"), read_state_entry));
    TRY(new_registers(r, set, 0, &c->set));
    TRY(new_registers(r, expect, expects, &c->expect_register));
    TRY(read_registers(r, set[0], 1, case_read_register_name, c->set, &c->set_count));
    TRY(read_registers(r, set[1], 1, case_read_csr_name, c->set, &c->set_count));
    return read_weights(r);
}

/* ---- expectations ---- */

enum emu_status case_read_expect_register(const struct json_reader *r, const struct json_path *at,
                                          const json_t *v)
{
    struct json_path reg_at = { at, "register", 0 };
    struct tile_case *c = case_of(r);
    struct case_register *reg = &c->expect_register[c->expect_register_count++];
    struct case_data *d = &reg->value.data;
    const char *name = NULL;

    TRY(json_optional_bound(r, at, v, "tolerance", &reg->tolerance));
    TRY(json_optional_bound(r, at, v, "relative", &reg->relative));
    TRY(json_read_string(r, &reg_at, json_object_get(v, "register"), &name));
    TRY(case_read_register_name(r, &reg_at, name, default_lane(c), 0, reg));
    if (json_object_get(v, "name") || json_object_get(v, "from"))
        return json_wrong(r, at, NULL, "expected a register or a memory, not both");
    TRY(manifest_read_typed(r, at, v, d));
    reg->value.elements = d->count;
    if (!d->bytes || d->bytes % 4 ||
        reg->number + d->bytes / 4 > (reg->file == 'c' ? TILE_ACC : 16u))
        return json_wrong(r, at, NULL, "expected whole registers of the file");
    return EMU_OK;
}

static enum emu_status read_slots(const struct json_reader *r)
{
    struct json_path at = { NULL, "expect_slots", 0 };
    const json_t *v = root_value(r, "expect_slots");
    struct tile_case *c = case_of(r);
    unsigned running = c->as == CASE_WORKER ? 1 : c->as == CASE_WORKERS ? TILE_WORKERS : 0;

    if (v && json_is_array(v) && json_array_size(v) == TILE_WORKERS) {
        for (unsigned w = 0; w < TILE_WORKERS; w++) {
            struct json_path here = { &at, NULL, w };

            TRY(json_read_range(r, &here, json_array_get(v, w), &c->expect_slots[w]));
        }
        return EMU_OK;
    }
    if (v && !running)
        return json_wrong(r, &at, v, "expected a list of %d numbers, one for each worker",
                          TILE_WORKERS);
    for (unsigned w = 0; w < running; w++)
        TRY(json_read_range(r, &at, v, &c->expect_slots[w]));
    return EMU_OK;
}

enum emu_status case_read_expectations(const struct json_reader *r)
{
    struct json_path at = { NULL, "expect_instructions", 0 };
    struct tile_case *c = case_of(r);
    size_t *n = &c->expect_register_count;

    TRY(read_registers(r, expect[0], 0, case_read_register_name, c->expect_register, n));
    TRY(read_registers(r, expect[1], 0, case_read_csr_name, c->expect_register, n));
    TRY(json_read_range(r, &at, root_value(r, "expect_instructions"), &c->expect_instructions));
    return read_slots(r);
}
