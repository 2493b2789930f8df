/* manifest_build.c - from a manifest to an image: places memories, assembles for every tile,
 * collects what a tile holds.
 *
 * Code begins at the start of the memory and may take code_bytes; memories of region 0 lie after
 * that, all others in region 1. A memory has one address on all tiles of its program.
 */
#include <inttypes.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/job/case_place.h"
#include "emu/job/manifest_internal.h"

enum { TILES_AT_ONCE = 32 };

/* ---- placing ---- */

static enum emu_status place_program(const struct manifest *m, struct manifest_program *p)
{
    struct case_layout l = { .arch = &m->arch };
    enum emu_status s = case_layout_fix(&l, m->arch.mem_base, p->code_bytes, "the room for code");

    if (s == EMU_OK)
        s = program_place(p, &l);
    case_layout_free(&l);
    if (s == EMU_BAD_FILE)
        return FAIL(BAD_FILE, "%s: programs[%zu]: %s", m->path, (size_t)(p - m->program),
                    ss_error());
    return s;
}

/* ---- one tile ---- */

/* What is collected for a tile before it enters the image. */
struct manifest_parts {
    const struct manifest *m;
    const struct manifest_program *p;
    struct image *im;
    const struct asm_image *unit;
    uint32_t chip;
    size_t index;                  /* of the tile in the program */
    struct image_segment *segment; /* owned; room for all */
    struct image_range *range;
    struct image_symbol *symbol;
    struct image_line *line;
    size_t segments, ranges, symbols, lines;
};

static void parts_free(struct manifest_parts *t)
{
    ss_free(t->segment);
    ss_free(t->range);
    ss_free(t->symbol);
    ss_free(t->line);
}

static enum emu_status parts_new(struct manifest_parts *t)
{
    size_t pieces = t->unit->section_count + t->p->memories + 1, lines = 1;

    for (size_t i = 0; i < t->unit->section_count; i++)
        lines += t->unit->section[i].line_count + 1;
    t->segment = emu_alloc(pieces, sizeof(*t->segment));
    t->range = emu_alloc(pieces, sizeof(*t->range));
    t->symbol = emu_alloc(t->unit->symbol_count + t->p->memories + 1, sizeof(*t->symbol));
    t->line = emu_alloc(lines, sizeof(*t->line));
    if (!t->segment || !t->range || !t->symbol || !t->line)
        return FAIL(NO_MEMORY, "the parts of a tile");
    return EMU_OK;
}

static enum emu_status add_range(struct manifest_parts *t, uint32_t addr, uint32_t bytes,
                                 const char *category, const char *owner)
{
    struct image_range *r = &t->range[t->ranges];

    if (!bytes)
        return EMU_OK;
    r->addr = addr;
    r->bytes = bytes;
    TRY(image_string(t->im, category, &r->category));
    TRY(image_string(t->im, owner, &r->owner));
    t->ranges++;
    return EMU_OK;
}

static enum emu_status add_segment(struct manifest_parts *t, uint32_t addr, const void *data,
                                   uint32_t bytes)
{
    struct image_segment *s = &t->segment[t->segments];

    if (!bytes)
        return EMU_OK;
    s->addr = addr;
    s->bytes = bytes;
    TRY(image_blob(t->im, data, bytes, &s->blob));
    t->segments++;
    return EMU_OK;
}

static enum emu_status add_sections(struct manifest_parts *t)
{
    const struct manifest_program *p = t->p;
    uint32_t end = t->m->arch.mem_base + p->code_bytes;

    for (size_t i = 0; i < t->unit->section_count; i++) {
        const struct asm_section *s = &t->unit->section[i];

        if (s->size && s->addr + s->size > end)
            return FAIL(BAD_FILE,
                        "%s: programs[%zu]: section %s of tile %" PRIu32 " ends at 0x%" PRIx32
                        ", but \"code_bytes\" leaves room up to 0x%" PRIx32,
                        t->m->path, (size_t)(p - t->m->program), s->name, p->tiles.tile[t->index],
                        s->addr + s->size, end);
        TRY(add_range(t, s->addr, s->size, s->flags & ASM_EXEC ? "code" : "data", s->name));
        TRY(add_segment(t, s->addr, s->bytes, s->size));
        for (size_t k = 0; k < s->line_count; k++) {
            struct image_line *l = &t->line[t->lines];

            l->addr = s->addr + s->lines[k].offset;
            l->line = s->lines[k].line;
            TRY(image_string(t->im, s->lines[k].file, &l->file));
            t->lines += k + 1 == s->line_count || s->lines[k + 1].offset > s->lines[k].offset;
        }
        if (s->line_count && s->size) {
            t->line[t->lines].addr = s->addr + s->size; /* nothing is known after it */
            t->line[t->lines].file = t->line[t->lines].line = 0;
            t->lines++;
        }
    }
    return EMU_OK;
}

static enum emu_status add_memory(struct manifest_parts *t, const struct manifest_memory *mem)
{
    uint32_t bytes = manifest_data_bytes(&mem->init);
    const struct data_place place = { .arch = &t->m->arch,
                                      .chip = t->chip,
                                      .tile = t->p->tiles.tile[t->index],
                                      .index = (uint32_t)t->index,
                                      .count = (uint32_t)t->p->tiles.count };
    enum emu_status s;
    char what[64];
    uint8_t *data;

    TRY(add_range(t, mem->place.address, bytes, "memory", mem->place.name));
    if (mem->init.data.type == CASE_BYTES)
        return EMU_OK; /* nobody has written it: the checking mode shall see that */
    data = emu_alloc(bytes + 1, 1);
    if (!data)
        return FAIL(NO_MEMORY, "%u bytes of %s", bytes, mem->place.name);
    snprintf(what, sizeof(what), "programs[%zu].memory[%zu]", (size_t)(t->p - t->m->program),
             (size_t)(mem - t->p->memory));
    s = program_fill_values(t->p, t->unit, &mem->init, &place, t->m->path, what, data);
    if (s == EMU_OK)
        s = add_segment(t, mem->place.address, data, bytes);
    ss_free(data);
    return s;
}

static enum emu_status add_symbols(struct manifest_parts *t)
{
    for (size_t i = 0; i < t->unit->symbol_count; i++) {
        const struct asm_symbol *y = &t->unit->symbol[i];
        struct image_symbol *s = &t->symbol[t->symbols];

        if (!y->section)
            continue;
        s->addr = (uint32_t)y->value;
        s->bytes = y->size;
        TRY(image_string(t->im, y->name, &s->name));
        t->symbols++;
    }
    for (size_t i = 0; i < t->p->memories; i++) {
        struct image_symbol *s = &t->symbol[t->symbols++];

        s->addr = t->p->memory[i].place.address;
        s->bytes = manifest_data_bytes(&t->p->memory[i].init);
        TRY(image_string(t->im, t->p->memory[i].place.name, &s->name));
    }
    return EMU_OK;
}

static int by_range(const void *x, const void *y)
{
    const struct image_range *a = x, *b = y;

    return a->addr < b->addr ? -1 : a->addr > b->addr;
}

static int by_symbol(const void *x, const void *y)
{
    const struct image_symbol *a = x, *b = y;

    if (a->addr != b->addr)
        return a->addr < b->addr ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

static int by_line(const void *x, const void *y)
{
    const struct image_line *a = x, *b = y;

    if (a->addr != b->addr)
        return a->addr < b->addr ? -1 : 1;
    return a->file < b->file ? -1 : a->file > b->file; /* an end before what begins there */
}

/* Of two entries for one address the one that names a file counts. */
static size_t unique_lines(struct image_line *l, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        if (kept && l[kept - 1].addr == l[i].addr)
            kept--;
        l[kept++] = l[i];
    }
    return kept;
}

static enum emu_status entry_of(const struct manifest_parts *t, uint32_t *entry)
{
    const struct asm_symbol *s = asm_entry_find(t->unit, t->p->entry);

    if ((!s || !s->section) && t->p->sources)
        return FAIL(BAD_FILE, "%s: no label %s: the program begins there (%s: programs[%zu].entry)",
                    t->p->source[0], t->p->entry, t->m->path, (size_t)(t->p - t->m->program));
    if (!s || !s->section)
        return FAIL(BAD_FILE, "%s: programs[%zu].entry: no label \"%s\" in the sources", t->m->path,
                    (size_t)(t->p - t->m->program), t->p->entry);
    *entry = (uint32_t)s->value;
    return EMU_OK;
}

static enum emu_status collect(struct manifest_parts *t)
{
    struct image_tile tile = { .chip = t->chip,
                               .tile = t->p->tiles.tile[t->index],
                               .group = t->p->group };

    TRY(parts_new(t));
    TRY(entry_of(t, &tile.entry));
    TRY(add_sections(t));
    for (size_t i = 0; i < t->p->memories; i++)
        TRY(add_memory(t, &t->p->memory[i]));
    TRY(add_symbols(t));
    qsort(t->range, t->ranges, sizeof(*t->range), by_range);
    qsort(t->symbol, t->symbols, sizeof(*t->symbol), by_symbol);
    qsort(t->line, t->lines, sizeof(*t->line), by_line);
    t->lines = unique_lines(t->line, t->lines);
    TRY(image_map(t->im, t->range, t->ranges, &tile.map));
    TRY(image_symbols(t->im, t->symbol, t->symbols, &tile.symbols));
    TRY(image_lines(t->im, t->line, t->lines, &tile.lines));
    return image_add_tile(t->im, &tile, t->segment, t->segments);
}

static enum emu_status add_tile(const struct program_text *text, uint32_t chip, size_t index,
                                const struct asm_unit *u, struct image *im)
{
    struct manifest_parts t = { .m = text->m,
                                .p = text->p,
                                .im = im,
                                .unit = asm_unit_image(u),
                                .chip = chip,
                                .index = index };
    enum emu_status s = collect(&t);

    parts_free(&t);
    return s;
}

/* ---- all tiles ---- */

/* Assembles for the tiles first .. first + n - 1 of a chip, in parallel, and adds them to the image
 * in order. */
static enum emu_status add_tiles(const struct program_text *text, uint32_t chip, size_t first,
                                 size_t n, int threads, FILE *messages, struct image *im)
{
    struct asm_unit *unit[TILES_AT_ONCE] = { NULL };
    enum emu_status status[TILES_AT_ONCE], s = EMU_OK;

#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) if (n > 1)
    for (size_t i = 0; i < n; i++)
        status[i] = program_assemble(text, chip, first + i, &unit[i]);
    for (size_t i = 0; i < n && s == EMU_OK; i++) {
        if (status[i] != EMU_OK) { /* again on this thread, whose message counts */
            asm_unit_free(unit[i]);
            s = program_assemble(text, chip, first + i, &unit[i]);
        }
        if (unit[i] && (s != EMU_OK || first + i == 0)) /* warnings of one tile are enough */
            asm_diag_print(unit[i], messages);
        if (s == EMU_BAD_ASM)
            s = FAIL(BAD_ASM, "for tile %" PRIu32 ": %s", text->p->tiles.tile[first + i],
                     ss_error());
        if (s == EMU_OK)
            s = add_tile(text, chip, first + i, unit[i], im);
    }
    for (size_t i = 0; i < n; i++)
        asm_unit_free(unit[i]);
    return s;
}

/* One assembly for all tiles of so many chips of the list, from place `first` on. */
static enum emu_status add_tiles_alike(const struct program_text *text, size_t first, size_t chips,
                                       FILE *messages, struct image *im)
{
    const struct tile_list *of = &text->p->chips;
    struct asm_unit *u;
    enum emu_status s = program_assemble(text, of->tile[first], 0, &u);

    if (u && !first)
        asm_diag_print(u, messages);
    for (size_t c = first; c < first + chips; c++) {
        for (size_t i = 0; i < text->p->tiles.count && s == EMU_OK; i++)
            s = add_tile(text, of->tile[c], i, u, im);
    }
    asm_unit_free(u);
    return s;
}

/* An assembly for each tile of a chip. */
static enum emu_status add_tiles_apart(const struct program_text *text, uint32_t chip, int threads,
                                       FILE *messages, struct image *im)
{
    size_t all = text->p->tiles.count;

    for (size_t i = 0; i < all; i += TILES_AT_ONCE) {
        size_t n = all - i < TILES_AT_ONCE ? all - i : TILES_AT_ONCE;

        TRY(add_tiles(text, chip, i, n, threads, messages, im));
    }
    return EMU_OK;
}

static enum emu_status add_assemblies(const struct program_text *text, int threads, FILE *messages,
                                      struct image *im)
{
    const struct tile_list *of = &text->p->chips;

    if (!text->per_tile && !text->per_chip)
        return add_tiles_alike(text, 0, of->count, messages, im);
    for (size_t c = 0; c < of->count; c++)
        TRY(text->per_tile ? add_tiles_apart(text, of->tile[c], threads, messages, im)
                           : add_tiles_alike(text, c, 1, messages, im));
    return EMU_OK;
}

static enum emu_status add_program(const struct manifest *m, const struct manifest_program *p,
                                   int threads, FILE *messages, struct image *im)
{
    struct program_text text;
    enum emu_status s = program_preprocess(m, p, messages, &text);

    if (s == EMU_OK)
        s = add_assemblies(&text, threads, messages, im);
    program_text_free(&text);
    return s;
}

static enum emu_status add_stream(const struct manifest_stream *s, struct image *im)
{
    struct image_stream out = {
        .chip = s->chip, .id = s->id, .direction = s->direction, .depth = s->depth
    };

    out.bytes = s->direction == STREAM_TO_TILES && !s->file ? manifest_data_bytes(&s->data) : 0;
    TRY(image_string(im, s->name, &out.name));
    return image_add_stream(im, &out);
}

/* Of programs for a system, which may have one chip: every sync of several chips has a zone. */
static enum emu_status set_zones(struct image *im)
{
    static const enum sync_scope scope[SYNC_ZONES] = {
        [3] = SCOPE_GROUP, [4] = SCOPE_CHIP, [5] = SCOPE_REPLICA, [6] = SCOPE_POD, [7] = SCOPE_HOST
    };

    for (unsigned z = 0; z < SYNC_ZONES; z++) {
        if (scope[z] != SCOPE_RESERVED)
            TRY(image_set_zone(im, z, scope[z]));
    }
    return EMU_OK;
}

enum emu_status ss_manifest_build(struct manifest *m, unsigned threads, FILE *messages,
                                  struct image **out)
{
    int cores = omp_get_num_procs(),
        n = threads && threads < (unsigned)cores ? (int)threads : cores;
    struct image *im;
    enum emu_status s = EMU_OK;

    *out = NULL;
    if (!m)
        return FAIL(BAD_FILE, "there is no manifest: ss_manifest_read() has failed");
    if (m->tile_case)
        return FAIL(BAD_FILE,
                    "%s: expected a manifest; this is a case of one tile: superstep tile FILE",
                    m->path);
    TRY(image_new(&m->arch, &im));
    if (m->of_chips)
        s = set_zones(im);
    for (size_t i = 0; i < m->programs && s == EMU_OK; i++) {
        s = place_program(m, &m->program[i]);
        if (s == EMU_OK)
            s = add_program(m, &m->program[i], n, messages, im);
    }
    for (size_t i = 0; i < m->streams && s == EMU_OK; i++)
        s = add_stream(&m->stream[i], im);
    if (s != EMU_OK) {
        ss_image_free(im);
        return s;
    }
    *out = im;
    return EMU_OK;
}
