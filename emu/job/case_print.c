/* case_print.c - the answer of `superstep tile --json`: one JSON object, one key or one memory per
 * line.
 *
 * Memories are printed in the notation of case files, so that an answer can be pasted into
 * "expect".
 */
#include "emu/job/case_run.h"

#include "emu/base/json_text.h"
#include "emu/isa/csr_names.h"
#include "emu/job/differences.h"
#include "emu/isa/isa.h"
#include "emu/tile/tile_check.h"

/* Nine digits bring every f32 back exactly. */
enum { JSON_FLAGS = JSON_COMPACT | JSON_ENCODE_ANY | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9) };
enum { MAX_PADDING = 16 };

/* A NULL shows up here, too: there was no memory for it. */
static int put(json_t *o, const char *key, json_t *v)
{
    return json_object_set_new(o, key, v) == 0;
}

static int put_number(json_t *o, const char *key, uint64_t v)
{
    return put(o, key, json_integer((json_int_t)v));
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
json_t *case_fault_detail(const struct case_run *r)
{
    const struct fault_record *x = &r->tile.fault;
    const char *detail = x->detail ? x->detail : "";
    int left = x->kind == FAULT_INVALID_INSTR && x->lane != LANE_SUPER;
    uint32_t at = left ? run_past(r, x->pc) : 0, offset;
    const struct asm_symbol *s = at ? asm_symbolize(r->image, at, &offset) : NULL;
    const struct asm_line *l = at ? asm_line_of(r->image, at) : NULL;

    if (!s)
        return json_text(detail);
    return json_sprintf("%s: ran past the end of %s (%s:%u): exitz missing?", detail, s->name,
                        l->file, l->line);
}

static json_t *fault_json(const struct case_run *r)
{
    const struct fault_record *x = &r->tile.fault;
    json_t *v = json_pack("{s:s, s:o, s:s, s:o, s:o, s:o, s:I}", "name", fault_name(x->kind),
                          "detail", case_fault_detail(r), "context", case_lane_name(x->lane), "pc",
                          hex_json(x->pc), "symbol", symbol_json(r, x->pc), "source",
                          source_json(r, x->pc), "cycle", (json_int_t)x->cycle);

    if (v && (x->addr || x->kind == FAULT_INVALID_ADDR || x->kind == FAULT_CONFLICT))
        put(v, "address", hex_json(x->addr));
    if (v && x->kind == FAULT_CONFLICT)
        put(v, "address2", hex_json(x->addr2));
    return v;
}

static json_t *memory_json(const struct case_run *r, const struct manifest_memory *m)
{
    struct case_data now = { .type = m->init.data.type, .count = m->init.elements };
    json_t *list = json_array();

    now.data = r->mem + (m->place.address - r->arch->mem_base);
    if (now.type == CASE_BYTES)
        now.type = CASE_U8;
    for (uint32_t k = 0; list && k < now.count; k++) {
        if (!json_array_append_new(list, case_element_json(now.type, case_element_bits(&now, k))))
            continue;
        json_decref(list);
        list = NULL;
    }
    return list ? json_pack("{s:s, s:o, s:o}", "name", m->place.name, "address",
                            hex_json(m->place.address), case_type_name(now.type), list)
                : NULL;
}

static json_t *memories_json(const struct case_run *r)
{
    json_t *list = json_array();
    int ok = list != NULL;

    for (size_t i = 0; ok && i < r->p->memories; i++)
        ok = !json_array_append_new(list, memory_json(r, &r->p->memory[i]));
    if (ok)
        return list;
    json_decref(list);
    return NULL;
}

static int put_file(struct case_run *r, json_t *o, unsigned lane, const char *name, char file,
                    unsigned count)
{
    char key[16];
    int ok = 1;

    for (unsigned k = 0; k < count; k++) {
        snprintf(key, sizeof(key), "%s%u", name, k);
        ok = ok && put(o, key, case_word_json(case_register_get(r, lane, file, k)));
    }
    return ok;
}

/* {"m0": ..., "a0": ...} of one context; accumulators only where one is not zero. */
static int put_registers(struct case_run *r, json_t *o, unsigned lane)
{
    int any = 0;

    if (lane == LANE_SUPER)
        return put_file(r, o, lane, "m", 'm', 16);
    for (unsigned k = 0; k < TILE_ACC; k++)
        any |= tile_acc(&r->tile, lane, k) != 0;
    return put_file(r, o, lane, "m", 'm', 16) && put_file(r, o, lane, "a", 'a', 16) &&
           put_file(r, o, lane, "acc", 'c', any ? TILE_ACC : 0);
}

/* The CSRs a program can have changed, worth a look after every run. */
static int put_csrs(struct case_run *r, json_t *o, unsigned lane)
{
    static const struct {
        char space;
        uint8_t index;
        const char *name;
    } csr[] = {
        { 'U', CSR_U_FP_STS, "FP_STS" },     { 'U', CSR_U_FP_CTL, "FP_CTL" },
        { 'U', CSR_U_TAS, "TAS" },           { 'U', CSR_U_PRNG_0_0, "PRNG_0_0" },
        { 'U', CSR_U_PRNG_0_1, "PRNG_0_1" }, { 'U', CSR_U_PRNG_1_0, "PRNG_1_0" },
        { 'U', CSR_U_PRNG_1_1, "PRNG_1_1" }, { 'W', CSR_W_REPEAT_COUNT, "REPEAT_COUNT" },
        { 'S', CSR_S_SSR, "SSR" },           { 'S', CSR_S_FP_ICTL, "FP_ICTL" },
        { 'S', CSR_S_CCCSLOAD, "CCCSLOAD" },
    };
    int ok = 1;

    for (size_t k = 0; k < EMU_COUNT_OF(csr); k++) {
        if ((csr[k].space == 'S') == (lane == LANE_SUPER))
            ok = ok && put(o, csr[k].name,
                           case_word_json(case_register_get(r, lane, csr[k].space, csr[k].index)));
    }
    return ok;
}

static int context_ran(const struct case_run *r, unsigned lane, int with_super)
{
    if (lane == LANE_SUPER)
        return with_super || r->as == CASE_SUPERVISOR;
    return r->barrel.issued[lane] ||
           (r->tile.fault.kind != FAULT_NONE && r->tile.fault.lane == lane);
}

/* One object per context that ran, keyed by its name. */
static json_t *contexts_json(struct case_run *r,
                             int (*put_one)(struct case_run *, json_t *, unsigned), int with_super)
{
    json_t *all = json_object();
    int ok = all != NULL;

    for (unsigned lane = 0; ok && lane <= LANE_SUPER; lane++) {
        json_t *one;

        if (!context_ran(r, lane, with_super))
            continue;
        one = json_object();
        ok = put(all, case_lane_name(lane), one) && put_one(r, one, lane);
    }
    if (ok)
        return all;
    json_decref(all);
    return NULL;
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
        put(v, "address2", hex_json(x->addr2));
    if (v && x->other <= LANE_SUPER)
        put(v, "other", json_string(case_lane_name(x->other)));
    else if (v && x->other == TILE_CHECK_GUARD)
        put(v, "other", json_string("code"));
    return v;
}

static int put_checks(const struct case_run *r, json_t *o)
{
    size_t n = tile_check_count(&r->tile);
    json_t *list = json_array();
    int ok = put(o, "check", list);

    for (size_t i = 0; ok && i < n; i++)
        ok = !json_array_append_new(list, check_report_json(r, tile_check_report(&r->tile, i)));
    return ok && put_number(o, "check_dropped", tile_check_dropped(&r->tile));
}

static int put_counts(const struct case_run *r, json_t *o)
{
    static const char *const as_names[] = { "worker", "workers", "supervisor" };
    json_t *slots = json_array(), *instructions = json_array();

    for (unsigned w = 0; w < TILE_WORKERS; w++) {
        json_array_append_new(slots, json_integer((json_int_t)r->barrel.issued[w]));
        json_array_append_new(instructions, json_integer((json_int_t)case_instructions(r, (int)w)));
    }
    return put(o, "machine", json_string(r->arch->name)) &
           put(o, "as", json_string(as_names[r->as])) & put_number(o, "cycles", r->cycles) &
           put(o, "slots", slots) & put(o, "worker_instructions", instructions) &
           put_number(o, "supervisor_instructions", case_instructions(r, LANE_SUPER)) &
           put_number(o, "instructions", case_instructions(r, -1));
}

const char *case_status_name(enum case_status s)
{
    static const char *const names[] = { "pass", "fail", "fault", "timeout", "check" };

    return names[s];
}

static int put_all(struct case_run *r, const json_t *differences, uint64_t total, json_t *o)
{
    return put(o, "status", json_string(case_status_name(case_verdict(r, total)))) &&
           put_counts(r, o) &&
           (r->tile.fault.kind == FAULT_NONE || put(o, "fault", fault_json(r))) &&
           json_object_set(o, "differences", (json_t *)(uintptr_t)differences) == 0 &&
           put_number(o, "differences_total", total) && put(o, "memory", memories_json(r)) &&
           put(o, "registers", contexts_json(r, put_registers, 0)) &&
           put(o, "csr", contexts_json(r, put_csrs, 1)) && (!r->options.check || put_checks(r, o));
}

/* ---- text ---- */

static int is_container(const json_t *v)
{
    return json_is_object(v) || json_is_array(v);
}

/* A list of objects, or an object of objects, with one entry per line; else on this line. */
static int print_value(const json_t *v, FILE *f)
{
    const char *lead = "\n    ", *key;
    int is_list = json_is_array(v), ok = 1;
    json_t *child = json_object_iter_value(json_object_iter((json_t *)(uintptr_t)v));

    if (!is_container(is_list ? json_array_get(v, 0) : child))
        return json_dumpf(v, f, JSON_FLAGS) == 0;
    fprintf(f, is_list ? "[" : "{");
    for (size_t i = 0; is_list && i < json_array_size(v); i++, lead = ",\n    ") {
        fprintf(f, "%s", lead);
        ok &= json_dumpf(json_array_get(v, i), f, JSON_FLAGS) == 0;
    }
    json_object_foreach((json_t *)(uintptr_t)v, key, child)
    {
        fprintf(f, "%s\"%s\": ", lead, key);
        ok &= json_dumpf(child, f, JSON_FLAGS) == 0;
        lead = ",\n    ";
    }
    fprintf(f, is_list ? "\n  ]" : "\n  }");
    return ok;
}

enum emu_status case_print(struct case_run *r, const json_t *differences, uint64_t total, FILE *f)
{
    json_t *answer = json_object(), *v;
    int ok = answer && put_all(r, differences, total, answer), printed = 1;
    const char *lead = "{\n  ", *key;

    json_object_foreach(ok ? answer : NULL, key, v)
    {
        fprintf(f, "%s\"%s\": ", lead, key);
        printed &= print_value(v, f);
        lead = ",\n  ";
    }
    json_decref(answer);
    if (!ok)
        return FAIL(NO_MEMORY, "the answer");
    fprintf(f, "\n}\n");
    return !printed || ferror(f) || fflush(f) ? FAIL(IO, "cannot write the answer") : EMU_OK;
}
