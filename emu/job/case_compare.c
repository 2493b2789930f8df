/* case_compare.c - what a run left behind against what the case expects. */
#include "emu/job/case_run.h"

#include <string.h>

#include "emu/job/differences.h"
#include "emu/tile/tile_check.h"

static enum emu_status compare_values(const struct case_run *r, struct differences *d,
                                      const struct manifest_data *want, struct expected_elements *e)
{
    const struct data_place place = { .arch = r->arch, .count = 1 };

    return differences_values(d, want, &place, r->p, r->image, e);
}

static enum emu_status compare_memories(const struct case_run *r, struct differences *d)
{
    for (size_t i = 0; i < r->m->expects; i++) {
        const struct manifest_expect *e = &r->m->expect[i];
        uint32_t at = manifest_find_memory(r->p, e->name)->place.address;
        uint32_t from = e->from * case_type_bytes(e->value.data.type);

        TRY(compare_values(
            r, d, &e->value,
            &(struct expected_elements){ .where = e->name,
                                         .from = e->from,
                                         .got = r->mem + (at + from - r->arch->mem_base),
                                         .tolerance = e->tolerance,
                                         .relative = e->relative }));
    }
    return EMU_OK;
}

/* Consecutive registers of one lane. Untyped expectations (u32, i32) are reported in hexadecimal,
 * as registers are printed. */
static enum emu_status compare_register(struct case_run *r, struct differences *d,
                                        const struct case_register *e, unsigned lane)
{
    enum case_type type = e->value.data.type;
    uint32_t count = e->value.data.bytes / 4, got[64], want;
    char name[300];

    EMU_ASSERT(count <= EMU_COUNT_OF(got));
    for (uint32_t i = 0; i < count; i++)
        got[i] = case_register_get(r, lane, e->file, e->number + i);
    if (e->lane == CASE_LANE_RUNNING)
        snprintf(name, sizeof(name), "%s.%.200s", case_lane_name(lane), e->name);
    else
        snprintf(name, sizeof(name), "%.200s", e->name);
    if (count > 1 || case_type_is_float(type) || case_type_bytes(type) != 4)
        return compare_values(r, d, &e->value,
                              &(struct expected_elements){ .where = name,
                                                           .got = (const uint8_t *)got,
                                                           .tolerance = e->tolerance,
                                                           .relative = e->relative });
    TRY(case_values(r, &e->value, name, (uint8_t *)&want));
    if (case_elements_agree(type, want, got[0], e->tolerance, e->relative))
        return EMU_OK;
    return differences_add(d, name, case_word_json(want), case_word_json(got[0]));
}

static enum emu_status compare_registers(struct case_run *r, struct differences *d)
{
    const struct tile_case *c = r->m->tile_case;

    for (size_t i = 0; i < c->expect_register_count; i++) {
        const struct case_register *e = &c->expect_register[i];
        int all = e->lane == CASE_LANE_RUNNING;

        for (unsigned lane = all ? 0 : e->lane; lane <= (all ? TILE_WORKERS - 1u : e->lane); lane++)
            TRY(compare_register(r, d, e, lane));
    }
    return EMU_OK;
}

static enum emu_status compare_counts(const struct case_run *r, struct differences *d)
{
    const struct tile_case *c = r->m->tile_case;

    TRY(differences_range(d, "cycles", &r->m->expect_cycles, r->cycles));
    TRY(differences_range(d, "instructions", &c->expect_instructions, case_instructions(r, -1)));
    for (unsigned w = 0; w < TILE_WORKERS; w++) {
        char what[32];

        snprintf(what, sizeof(what), "slots[%u]", w);
        TRY(differences_range(d, what, &c->expect_slots[w], r->barrel.issued[w]));
    }
    return EMU_OK;
}

static enum emu_status compare_fault(const struct case_run *r, struct differences *d)
{
    const struct manifest_fault *want = &r->m->expect_fault;
    const char *got = fault_name(r->tile.fault.kind);

    if (!want->is_set || !strcmp(want->name, got))
        return EMU_OK;
    return differences_add(d, "fault", json_string(want->name), json_string(got));
}

static enum emu_status compare_all(struct case_run *r, struct differences *d)
{
    TRY(compare_fault(r, d));
    TRY(compare_memories(r, d));
    TRY(compare_registers(r, d));
    return compare_counts(r, d);
}

enum emu_status case_compare(struct case_run *r, json_t **differences, uint64_t *total)
{
    struct differences d = { .list = json_array(),
                             .listed_max = CASE_MAX_DIFFERENCES,
                             .file = r->m->path };
    enum emu_status s = d.list ? compare_all(r, &d) : FAIL(NO_MEMORY, "the list of differences");

    *differences = d.list;
    *total = d.total;
    if (s != EMU_OK) {
        json_decref(d.list);
        *differences = NULL;
    }
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
    if (r->stop == BARREL_FAULT && !r->m->expect_fault.is_set)
        return CASE_FAULT;
    if (differences)
        return CASE_FAIL;
    return has_reports(r) ? CASE_CHECK : CASE_PASS;
}
