/* case_text.c - the answer of `superstep tile` for people: how it ended, and what the run has
 * changed.
 */
#include "emu/job/case_run.h"

#include <inttypes.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/fp.h"
#include "emu/isa/isa.h"
#include "emu/tile/tile_check.h"

enum {
    FILES = 2,
    REGISTERS = 16,
    LANES = LANE_SUPER + 1,
    LINE_COLUMNS = 100,
    MAX_ELEMENTS = 64,
    MAX_LINES = 20
};

struct case_before {
    uint32_t reg[LANES][FILES][REGISTERS];
    uint8_t *mem; /* owned */
};

static const char files[FILES] = { 'm', 'a' };

/* The supervisor has no second file. */
static unsigned file_count(unsigned lane)
{
    return lane == LANE_SUPER ? 1 : FILES;
}

enum emu_status case_before_new(struct case_run *r, struct case_before **out)
{
    struct case_before *b = *out = emu_alloc(1, sizeof(*b));

    if (b)
        b->mem = emu_alloc(r->arch->mem_bytes, 1);
    if (!b || !b->mem) {
        case_before_free(b);
        *out = NULL;
        return FAIL(NO_MEMORY, "a copy of a tile");
    }
    memcpy(b->mem, r->mem, r->arch->mem_bytes);
    for (unsigned lane = 0; lane < LANES; lane++) {
        for (unsigned f = 0; f < file_count(lane); f++) {
            for (unsigned k = 0; k < REGISTERS; k++)
                b->reg[lane][f][k] = case_register_get(r, lane, files[f], k);
        }
    }
    return EMU_OK;
}

void case_before_free(struct case_before *b)
{
    if (!b)
        return;
    ss_free(b->mem);
    ss_free(b);
}

/* "asm:4", with what stands before it; nothing where no line is known. */
static void print_source(const struct case_run *r, uint32_t pc, FILE *f)
{
    const struct asm_line *l = asm_line_of(r->image, pc);

    if (l)
        fprintf(f, ", %s:%u", l->file, l->line);
}

/* ---- how it ended ---- */

static void print_counts(struct case_run *r, FILE *f)
{
    static const char *const as[] = { "worker 0", "six workers", "the supervisor" };
    uint64_t most = 0;

    for (unsigned w = 0; w < TILE_WORKERS; w++)
        most = r->barrel.issued[w] > most ? r->barrel.issued[w] : most;
    fprintf(f, "%s, as %s: %" PRIu64 " cycles, %" PRIu64 " instructions", r->arch->name, as[r->as],
            r->cycles, case_instructions(r, -1));
    if (most)
        fprintf(f, "; the busiest worker has %" PRIu64 " issue slots of 6 cycles", most);
    fprintf(f, "\n");
}

static void print_fault(const struct case_run *r, FILE *f)
{
    const struct fault_record *x = &r->tile.fault;
    json_t *detail;

    if (x->kind == FAULT_NONE)
        return;
    detail = case_fault_detail(r);
    fprintf(f, "%s: %s\n  in %s at 0x%" PRIx32, fault_name(x->kind),
            detail ? json_string_value(detail) : "", case_lane_name(x->lane), x->pc);
    print_source(r, x->pc, f);
    if (x->addr || x->kind == FAULT_INVALID_ADDR)
        fprintf(f, ", address 0x%" PRIx32, x->addr);
    fprintf(f, ", cycle %" PRIu64 "\n", x->cycle);
    json_decref(detail);
}

static void print_differences(const json_t *list, uint64_t total, FILE *f)
{
    json_t *d;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)list, i, d)
    {
        if (i == MAX_LINES)
            break;
        fprintf(f, "%s: expected ", json_string_value(json_object_get(d, "what")));
        json_dumpf(json_object_get(d, "expected"), f, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
        fprintf(f, ", found ");
        json_dumpf(json_object_get(d, "got"), f, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
        fprintf(f, "\n");
    }
    if (total > MAX_LINES)
        fprintf(f, "and %" PRIu64 " more\n", total - MAX_LINES);
}

static void print_checks(const struct case_run *r, FILE *f)
{
    size_t n = r->options.check ? tile_check_count(&r->tile) : 0;

    for (size_t i = 0; i < n && i < MAX_LINES; i++) {
        const struct tile_check_report *x = tile_check_report(&r->tile, i);

        fprintf(f, "%s: %s\n  in %s at 0x%" PRIx32, tile_check_name(x->kind),
                tile_check_text(x->kind), case_lane_name(x->lane), x->pc);
        print_source(r, x->pc, f);
        fprintf(f, ", address 0x%" PRIx32 ", %u bytes", x->addr, x->bytes);
        if (x->other <= LANE_SUPER)
            fprintf(f, ", and %s", case_lane_name(x->other));
        fprintf(f, ", %" PRIu64 " times\n", (uint64_t)x->count);
    }
    if (n > MAX_LINES)
        fprintf(f, "and %zu reports more\n", n - MAX_LINES);
}

/* ---- what changed ---- */

static int looks_like_f32(uint32_t bits)
{
    uint32_t exponent = bits >> 23 & 0xff;

    return exponent > 127 - 40 && exponent < 127 + 40;
}

/* Returns the columns used. */
static int print_register(const char *lead, char file, unsigned k, uint32_t bits, FILE *f)
{
    int n = fprintf(f, "%s%c%u 0x%08" PRIx32, lead, file, k, bits);

    if (file == 'a' || (looks_like_f32(bits) && bits >> 24 >= 0x30))
        return n + fprintf(f, " (%.7g)", (double)fp_float(bits));
    return bits < 10 ? n : n + fprintf(f, " (%" PRIu32 ")", bits);
}

static int print_lane(struct case_run *r, const struct case_before *b, unsigned lane, FILE *f)
{
    int column = 0;

    for (unsigned x = 0; x < file_count(lane); x++) {
        for (unsigned k = 0; k < REGISTERS; k++) {
            uint32_t now = case_register_get(r, lane, files[x], k);

            if (now == b->reg[lane][x][k])
                continue;
            if (column > LINE_COLUMNS - 24)
                column = fprintf(f, "\n    ") - 1;
            else if (!column)
                column = fprintf(f, "  %-2s", case_lane_name(lane));
            column += print_register("  ", files[x], k, now, f);
        }
    }
    if (column)
        fprintf(f, "\n");
    return column != 0;
}

static void print_registers(struct case_run *r, const struct case_before *b, FILE *f)
{
    int any = 0;

    fprintf(f, "Registers that changed:\n");
    for (unsigned lane = 0; lane < LANES; lane++)
        any |= print_lane(r, b, lane, f);
    if (!any)
        fprintf(f, "  none\n");
}

static void print_element(enum case_type type, uint32_t bits, FILE *f)
{
    if (case_type_is_float(type))
        fprintf(f, " %.7g", case_bits_value(type, bits));
    else
        fprintf(f, " %.0f", case_bits_value(type, bits));
}

/* From the first element that changed to the last. */
static int print_memory(struct case_run *r, const struct case_before *b,
                        const struct manifest_memory *m, FILE *f)
{
    uint32_t at = m->place.address - r->arch->mem_base, first = UINT32_MAX, last = 0, changed = 0;
    struct case_data now = { .type = m->init.data.type, .count = m->init.elements }, old;

    if (now.type == CASE_BYTES && m->init.data.bytes % 4 == 0 && at % 4 == 0) {
        now.type = CASE_U32; /* what room is for is not said: words */
        now.count = m->init.data.bytes / 4;
    } else if (now.type == CASE_BYTES) {
        now.type = CASE_U8;
        now.count = m->init.data.bytes;
    }
    old = now;
    now.data = r->mem + at;
    old.data = b->mem + at;
    for (uint32_t k = 0; k < now.count; k++) {
        if (case_element_bits(&now, k) == case_element_bits(&old, k))
            continue;
        first = k < first ? k : first;
        last = k;
        changed++;
    }
    if (!changed)
        return 0;
    fprintf(f, "  %s, %s, %u of %u changed, from [%u] on:", m->place.name, case_type_name(now.type),
            changed, now.count, first);
    for (uint32_t k = first; k <= last && k < first + MAX_ELEMENTS; k++) {
        uint32_t bits = case_element_bits(&now, k);

        print_element(now.type, bits, f);
        if (m->init.data.type == CASE_BYTES && now.type == CASE_U32 && looks_like_f32(bits))
            fprintf(f, " (f32 %.7g)", (double)fp_float(bits));
    }
    fprintf(f, last - first >= MAX_ELEMENTS ? " ...\n" : "\n");
    return 1;
}

static void print_memories(struct case_run *r, const struct case_before *b, FILE *f)
{
    int any = 0;

    fprintf(f, "Memory that changed:\n");
    for (size_t i = 0; i < r->p->memories; i++)
        any |= print_memory(r, b, &r->p->memory[i], f);
    if (!any)
        fprintf(f, "  none\n");
}

enum emu_status case_print_text(struct case_run *r, const struct case_before *before,
                                const json_t *differences, uint64_t total, FILE *f)
{
    fprintf(f, "status %s\n", case_status_name(case_verdict(r, total)));
    print_counts(r, f);
    print_fault(r, f);
    print_differences(differences, total, f);
    print_checks(r, f);
    print_registers(r, before, f);
    print_memories(r, before, f);
    fprintf(f, "More: --json (all registers and memories)\n");
    return ferror(f) || fflush(f) ? FAIL(IO, "cannot write the answer") : EMU_OK;
}
