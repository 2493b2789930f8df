/* case_print.c - the answer of `superstep tile`: one JSON object, one key or one memory per line.
 *
 * Memories are printed in the notation of case files, so that an answer can be pasted into
 * "expect".
 */
#include "emu/job/case_run.h"

#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/job/differences.h"
#include "emu/isa/isa.h"
#include "emu/tile/tile_check.h"

/* Nine digits bring every f32 back exactly. */
enum { JSON_FLAGS = JSON_COMPACT | JSON_ENCODE_ANY | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9) };
enum { MAX_PADDING = 16 };

/* Prints a value and drops it. Fails when v is NULL. */
static enum emu_status print_value(FILE *f, const char *lead, json_t *v)
{
    char *text = v ? json_dumps(v, JSON_FLAGS) : NULL;

    json_decref(v);
    if (!text)
        return FAIL(NO_MEMORY, "the answer");
    fprintf(f, "%s%s", lead, text);
    free(text); /* allocated by jansson */
    return EMU_OK;
}

static enum emu_status print_key(FILE *f, const char *key, json_t *v)
{
    char lead[64];

    snprintf(lead, sizeof(lead), ",\n  \"%s\": ", key);
    return print_value(f, lead, v);
}

static json_t *hex_json(uint32_t v)
{
    return json_sprintf("0x%x", v);
}

/* "name+0x8", or NULL where no symbol precedes the address. */
static json_t *symbol_json(const struct case_run *r, uint32_t pc)
{
    uint32_t offset = 0;
    const struct asm_symbol *s = asm_symbolize(r->image, pc, &offset);

    if (!s)
        return pc >= r->stub_at && pc < r->stop_pc ? json_string("stub") : json_null();
    return json_sprintf(offset ? "%s+0x%x" : "%s", s->name, offset);
}

static json_t *source_json(const struct case_run *r, uint32_t pc)
{
    const struct asm_line *l = asm_line_of(r->image, pc);

    return l ? json_sprintf("%s:%u", l->file, l->line) : json_null();
}

/* The address of the last instruction before pc, which no code of the case holds; 0 if that is not
 * so. Up to MAX_PADDING bytes may lie between. */
static uint32_t run_past(const struct case_run *r, uint32_t pc)
{
    if (asm_section_of(r->image, pc))
        return 0;
    for (uint32_t at = pc - 4; pc - at <= MAX_PADDING; at -= 4) {
        if (asm_section_of(r->image, at))
            return asm_line_of(r->image, at) ? at : 0;
    }
    return 0;
}

/* What the fault says; of a worker that has left its code also where. */
static json_t *detail_json(const struct case_run *r)
{
    const struct fault_record *x = &r->tile.fault;
    const char *detail = x->detail ? x->detail : "";
    int left = x->kind == FAULT_INVALID_INSTR && x->lane != LANE_SUPER;
    uint32_t at = left ? run_past(r, x->pc) : 0, offset;
    const struct asm_symbol *s = at ? asm_symbolize(r->image, at, &offset) : NULL;
    const struct asm_line *l = at ? asm_line_of(r->image, at) : NULL;

    if (!s)
        return json_string(detail);
    return json_sprintf("%s: ran past the end of %s (%s:%u): exitz missing?", detail, s->name,
                        l->file, l->line);
}

static enum emu_status print_fault(const struct case_run *r, FILE *f)
{
    const struct fault_record *x = &r->tile.fault;
    json_t *v = json_pack("{s:s, s:o, s:s, s:o, s:o, s:o, s:I}", "name", fault_name(x->kind),
                          "detail", detail_json(r), "context", case_lane_name(x->lane), "pc",
                          hex_json(x->pc), "symbol", symbol_json(r, x->pc), "source",
                          source_json(r, x->pc), "cycle", (json_int_t)x->cycle);

    if (v && (x->addr || x->kind == FAULT_INVALID_ADDR || x->kind == FAULT_CONFLICT))
        json_object_set_new(v, "address", hex_json(x->addr));
    if (v && x->kind == FAULT_CONFLICT)
        json_object_set_new(v, "address2", hex_json(x->addr2));
    return print_key(f, "fault", v);
}

static json_t *memory_json(const struct case_run *r, size_t i)
{
    const struct manifest_memory *m = &r->c->program.memory[i];
    struct case_data now = { .type = m->init.data.type, .count = m->init.elements };
    json_t *list = json_array();

    now.data = r->mem + (r->memory_at[i] - r->arch.mem_base);
    if (now.type == CASE_BYTES)
        now.type = CASE_U8;
    for (uint32_t k = 0; list && k < now.count; k++) {
        if (!json_array_append_new(list, case_element_json(now.type, case_element_bits(&now, k))))
            continue;
        json_decref(list);
        list = NULL;
    }
    return list ? json_pack("{s:s, s:o, s:o}", "name", m->place.name, "address",
                            hex_json(r->memory_at[i]), case_type_name(now.type), list)
                : NULL;
}

static enum emu_status print_memories(const struct case_run *r, FILE *f)
{
    fprintf(f, ",\n  \"memory\": [");
    for (size_t i = 0; i < r->c->program.memories; i++)
        TRY(print_value(f, i ? ",\n    " : "\n    ", memory_json(r, i)));
    fprintf(f, r->c->program.memories ? "\n  ]" : "]");
    return EMU_OK;
}

/* {"m0": ..., "a0": ...} of one context; accumulators only where one is not zero. */
static json_t *registers_json(struct case_run *r, unsigned lane)
{
    json_t *v = json_object();
    char name[8];
    int any = 0;

    for (unsigned k = 0; v && k < 16; k++) {
        snprintf(name, sizeof(name), "m%u", k);
        json_object_set_new(v, name, case_word_json(case_register_get(r, lane, 'm', k)));
    }
    if (lane == LANE_SUPER)
        return v;
    for (unsigned k = 0; v && k < 16; k++) {
        snprintf(name, sizeof(name), "a%u", k);
        json_object_set_new(v, name, case_word_json(case_register_get(r, lane, 'a', k)));
    }
    for (unsigned k = 0; k < TILE_ACC; k++)
        any |= tile_acc(&r->tile, lane, k) != 0;
    for (unsigned k = 0; v && any && k < TILE_ACC; k++) {
        snprintf(name, sizeof(name), "acc%u", k);
        json_object_set_new(v, name, case_word_json(tile_acc(&r->tile, lane, k)));
    }
    return v;
}

/* The CSRs a program can have changed, worth a look after every run. */
static json_t *csrs_json(struct case_run *r, unsigned lane)
{
    static const struct {
        char space;
        uint8_t index;
        const char *name;
    } worker[] = {
        { 'U', CSR_U_FP_STS, "FP_STS" },     { 'U', CSR_U_FP_CTL, "FP_CTL" },
        { 'U', CSR_U_TAS, "TAS" },           { 'U', CSR_U_PRNG_0_0, "PRNG_0_0" },
        { 'U', CSR_U_PRNG_0_1, "PRNG_0_1" }, { 'U', CSR_U_PRNG_1_0, "PRNG_1_0" },
        { 'U', CSR_U_PRNG_1_1, "PRNG_1_1" }, { 'W', CSR_W_REPEAT_COUNT, "REPEAT_COUNT" },
    }, super[] = {
        { 'S', CSR_S_SSR, "SSR" },
        { 'S', CSR_S_FP_ICTL, "FP_ICTL" },
        { 'S', CSR_S_CCCSLOAD, "CCCSLOAD" },
    };
    size_t n = lane == LANE_SUPER ? EMU_COUNT_OF(super) : EMU_COUNT_OF(worker);
    json_t *v = json_object();

    for (size_t k = 0; v && k < n; k++) {
        char space = lane == LANE_SUPER ? super[k].space : worker[k].space;
        uint8_t index = lane == LANE_SUPER ? super[k].index : worker[k].index;

        json_object_set_new(v, lane == LANE_SUPER ? super[k].name : worker[k].name,
                            case_word_json(case_register_get(r, lane, space, index)));
    }
    return v;
}

static int context_ran(const struct case_run *r, unsigned lane, int with_super)
{
    if (lane == LANE_SUPER)
        return with_super || r->as == CASE_SUPERVISOR;
    return r->barrel.issued[lane] ||
           (r->tile.fault.kind != FAULT_NONE && r->tile.fault.lane == lane);
}

/* One object per context that ran, keyed by its name. */
static enum emu_status print_contexts(struct case_run *r, FILE *f, const char *key,
                                      json_t *(*one)(struct case_run *, unsigned), int with_super)
{
    const char *lead = "\n    ";

    fprintf(f, ",\n  \"%s\": {", key);
    for (unsigned lane = 0; lane <= LANE_SUPER; lane++) {
        char text[32];

        if (!context_ran(r, lane, with_super))
            continue;
        snprintf(text, sizeof(text), "%s\"%s\": ", lead, case_lane_name(lane));
        TRY(print_value(f, text, one(r, lane)));
        lead = ",\n    ";
    }
    fprintf(f, lead[0] == ',' ? "\n  }" : "}");
    return EMU_OK;
}

static json_t *check_report_json(const struct case_run *r, const struct tile_check_report *x)
{
    json_t *v = json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:I, s:I, s:I}", "kind",
                          tile_check_name(x->kind), "text", tile_check_text(x->kind), "context",
                          case_lane_name(x->lane), "pc", hex_json(x->pc), "symbol",
                          symbol_json(r, x->pc), "source", source_json(r, x->pc), "address",
                          hex_json(x->addr), "bytes", (json_int_t)x->bytes, "cycle",
                          (json_int_t)x->cycle, "count", (json_int_t)x->count);

    if (v && x->kind == TILE_CHECK_CONFLICT)
        json_object_set_new(v, "address2", hex_json(x->addr2));
    if (v && x->other <= LANE_SUPER)
        json_object_set_new(v, "other", json_string(case_lane_name(x->other)));
    else if (v && x->other == TILE_CHECK_GUARD)
        json_object_set_new(v, "other", json_string("code"));
    return v;
}

static enum emu_status print_check(const struct case_run *r, FILE *f)
{
    size_t n = tile_check_count(&r->tile);

    fprintf(f, ",\n  \"check\": [");
    for (size_t i = 0; i < n; i++)
        TRY(print_value(f, i ? ",\n    " : "\n    ",
                        check_report_json(r, tile_check_report(&r->tile, i))));
    fprintf(f, n ? "\n  ]" : "]");
    return print_key(f, "check_dropped", json_integer((json_int_t)tile_check_dropped(&r->tile)));
}

static enum emu_status print_differences(FILE *f, const json_t *list, uint64_t total)
{
    fprintf(f, ",\n  \"differences\": [");
    for (size_t i = 0; i < json_array_size(list); i++)
        TRY(print_value(f, i ? ",\n    " : "\n    ", json_incref(json_array_get(list, i))));
    fprintf(f, json_array_size(list) ? "\n  ]" : "]");
    return print_key(f, "differences_total", json_integer((json_int_t)total));
}

static enum emu_status print_counts(const struct case_run *r, FILE *f)
{
    static const char *const as_names[] = { "worker", "workers", "supervisor" };
    json_t *slots = json_array(), *instructions = json_array();

    for (unsigned w = 0; w < TILE_WORKERS; w++) {
        json_array_append_new(slots, json_integer((json_int_t)r->barrel.issued[w]));
        json_array_append_new(instructions, json_integer((json_int_t)case_instructions(r, (int)w)));
    }
    TRY(print_key(f, "machine", json_string(r->arch.name)));
    TRY(print_key(f, "as", json_string(as_names[r->as])));
    TRY(print_key(f, "cycles", json_integer((json_int_t)r->cycles)));
    TRY(print_key(f, "slots", slots));
    TRY(print_key(f, "worker_instructions", instructions));
    TRY(print_key(f, "supervisor_instructions",
                  json_integer((json_int_t)case_instructions(r, LANE_SUPER))));
    return print_key(f, "instructions", json_integer((json_int_t)case_instructions(r, -1)));
}

enum emu_status case_print(struct case_run *r, const json_t *differences, uint64_t total, FILE *f)
{
    static const char *const names[] = { "pass", "fail", "fault", "timeout", "check" };

    fprintf(f, "{\n  \"status\": \"%s\"", names[case_verdict(r, total)]);
    TRY(print_counts(r, f));
    if (r->tile.fault.kind != FAULT_NONE)
        TRY(print_fault(r, f));
    TRY(print_differences(f, differences, total));
    TRY(print_memories(r, f));
    TRY(print_contexts(r, f, "registers", registers_json, 0));
    TRY(print_contexts(r, f, "csr", csrs_json, 1));
    if (r->options.check)
        TRY(print_check(r, f));
    fprintf(f, "\n}\n");
    return ferror(f) || fflush(f) ? FAIL(IO, "cannot write the answer") : EMU_OK;
}
