/* case_compare.c - what a run left behind against what the case expects; every difference as one
 * JSON object. */
#include "emu/job/case_run.h"

#include <math.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/fp.h"
#include "emu/job/case_value.h"
#include "emu/tile/tile_check.h"

struct differ {
    struct case_run *r;
    json_t *list;
    uint64_t total;
};

static enum emu_status no_memory(void)
{
    return FAIL(NO_MEMORY, "the list of differences");
}

/* Takes over want and got. */
static enum emu_status differ_add(struct differ *d, const char *what, json_t *want, json_t *got)
{
    json_t *entry;

    if (d->total++ >= CASE_MAX_DIFFERENCES) {
        json_decref(want);
        json_decref(got);
        return EMU_OK;
    }
    if (!want || !got) {
        json_decref(want);
        json_decref(got);
        return no_memory();
    }
    entry = json_pack("{s:s, s:o, s:o}", "what", what, "expected", want, "got", got);
    if (!entry || json_array_append_new(d->list, entry))
        return no_memory();
    return EMU_OK;
}

json_t *case_element_json(enum case_type t, uint32_t bits)
{
    char text[16];
    double v;

    if (!case_type_is_float(t))
        return json_integer((json_int_t)case_bits_value(t, bits));
    v = case_bits_value(t, bits);
    if (!isnan(v) && !isinf(v))
        return json_real(v);
    if (isinf(v))
        return json_string(v < 0 ? "-inf" : "inf");
    if (bits == (t == CASE_F16 ? FP_F16_NAN : FP_F32_NAN))
        return json_string("nan");
    snprintf(text, sizeof(text), "0x%x", bits);
    return json_string(text);
}

json_t *case_word_json(uint32_t v)
{
    return json_sprintf("0x%08x", v);
}

int case_elements_agree(enum case_type t, uint32_t want, uint32_t got, double tolerance,
                        double relative)
{
    double w, g;

    if (want == got)
        return 1;
    if (tolerance == 0 && relative == 0)
        return 0;
    w = case_bits_value(t, want);
    g = case_bits_value(t, got);
    if (isnan(w) || isnan(g))
        return isnan(w) && isnan(g);
    return w == g || (!isinf(w) && fabs(g - w) <= tolerance + relative * fabs(w));
}

/* Compares the elements of want, resolved, with raw bytes. name[from + i] appears in the report. */
static enum emu_status compare_elements(struct differ *d, const char *name, uint32_t from,
                                        const struct case_data *want, const uint8_t *got,
                                        double tolerance, double relative)
{
    struct case_data w = *want, g = *want;
    uint8_t *resolved = emu_alloc(want->bytes + 4, 1);
    enum emu_status s;

    if (!resolved)
        return no_memory();
    s = case_resolve(d->r, want, name, resolved);
    w.data = resolved;
    g.data = (uint8_t *)(uintptr_t)got; /* only read */
    for (uint32_t i = 0; s == EMU_OK && i < want->count; i++) {
        uint32_t a = case_element_bits(&w, i), b = case_element_bits(&g, i);
        char what[300];

        if (case_elements_agree(w.type, a, b, tolerance, relative))
            continue;
        snprintf(what, sizeof(what), "%.256s[%u]", name, from + i);
        s = differ_add(d, what, case_element_json(w.type, a), case_element_json(w.type, b));
    }
    emu_free(resolved);
    return s;
}

static enum emu_status compare_memories(struct differ *d)
{
    const struct tile_case *c = d->r->c;

    for (size_t i = 0; i < c->expect_count; i++) {
        const struct case_memory_expect *e = &c->expect[i];
        uint32_t at = d->r->memory_at[e->memory] + e->from * case_type_bytes(e->value.type);

        TRY(compare_elements(d, c->memory[e->memory].place.name, e->from, &e->value,
                             d->r->mem + (at - d->r->arch.mem_base), e->tolerance, e->relative));
    }
    return EMU_OK;
}

/* Consecutive registers of one lane. Untyped expectations (u32, i32) are reported in hexadecimal,
 * as registers are printed. */
static enum emu_status compare_register(struct differ *d, const struct case_register *e,
                                        unsigned lane)
{
    uint32_t count = e->value.bytes / 4, got[64], want[64];
    char name[300];

    EMU_ASSERT(count <= EMU_COUNT_OF(got));
    for (uint32_t i = 0; i < count; i++)
        got[i] = case_register_get(d->r, lane, e->file, e->number + i);
    if (e->lane == CASE_LANE_RUNNING)
        snprintf(name, sizeof(name), "%s.%.200s", case_lane_name(lane), e->name);
    else
        snprintf(name, sizeof(name), "%.200s", e->name);
    if (count > 1 || case_type_is_float(e->value.type) || case_type_bytes(e->value.type) != 4)
        return compare_elements(d, name, 0, &e->value, (const uint8_t *)got, e->tolerance,
                                e->relative);
    TRY(case_resolve(d->r, &e->value, name, (uint8_t *)want));
    if (case_elements_agree(e->value.type, want[0], got[0], e->tolerance, e->relative))
        return EMU_OK;
    return differ_add(d, name, case_word_json(want[0]), case_word_json(got[0]));
}

static enum emu_status compare_registers(struct differ *d)
{
    const struct tile_case *c = d->r->c;

    for (size_t i = 0; i < c->expect_register_count; i++) {
        const struct case_register *e = &c->expect_register[i];
        int all = e->lane == CASE_LANE_RUNNING;

        for (unsigned lane = all ? 0 : e->lane; lane <= (all ? TILE_WORKERS - 1u : e->lane); lane++)
            TRY(compare_register(d, e, lane));
    }
    return EMU_OK;
}

static enum emu_status compare_range(struct differ *d, const char *what,
                                     const struct json_range *range, uint64_t got)
{
    json_t *want;

    if (!range->is_set || (got >= range->low && got <= range->high))
        return EMU_OK;
    want = range->low == range->high
               ? json_integer((json_int_t)range->low)
               : json_pack("[I, I]", (json_int_t)range->low, (json_int_t)range->high);
    return differ_add(d, what, want, json_integer((json_int_t)got));
}

static enum emu_status compare_counts(struct differ *d)
{
    const struct case_run *r = d->r;

    TRY(compare_range(d, "cycles", &r->c->expect_cycles, r->cycles));
    TRY(compare_range(d, "instructions", &r->c->expect_instructions, case_instructions(r, -1)));
    for (unsigned w = 0; w < TILE_WORKERS; w++) {
        char what[32];

        snprintf(what, sizeof(what), "slots[%u]", w);
        TRY(compare_range(d, what, &r->c->expect_slots[w], r->barrel.issued[w]));
    }
    return EMU_OK;
}

static enum emu_status compare_fault(struct differ *d)
{
    int want = d->r->c->expect_fault, got = (int)d->r->tile.fault.kind;

    if (want < 0 || want == got)
        return EMU_OK;
    return differ_add(d, "fault", json_string(fault_name((enum fault)want)),
                      json_string(fault_name((enum fault)got)));
}

enum emu_status case_compare(struct case_run *r, json_t **differences, uint64_t *total)
{
    struct differ d = { .r = r, .list = json_array() };
    enum emu_status s = d.list ? compare_fault(&d) : no_memory();

    if (s == EMU_OK)
        s = compare_memories(&d);
    if (s == EMU_OK)
        s = compare_registers(&d);
    if (s == EMU_OK)
        s = compare_counts(&d);
    if (s != EMU_OK) {
        json_decref(d.list);
        d.list = NULL;
    }
    *differences = d.list;
    *total = d.total;
    return s;
}

/* CONFLICT does not count: it is a fault, and whether that was expected is another question. */
static int has_reports(const struct case_run *r)
{
    size_t n = r->options.check ? tile_check_count(&r->tile) : 0;

    for (size_t i = 0; i < n; i++) {
        if (tile_check_report(&r->tile, i)->kind != TILE_CHECK_CONFLICT)
            return 1;
    }
    return 0;
}

enum case_status case_verdict(const struct case_run *r, uint64_t differences)
{
    if (r->stop == BARREL_LIMIT)
        return CASE_TIMEOUT;
    if (r->stop == BARREL_FAULT && r->c->expect_fault < 0)
        return CASE_FAULT;
    if (differences)
        return CASE_FAIL;
    return has_reports(r) ? CASE_CHECK : CASE_PASS;
}
