/* codelet_map.c - what the assembler knows of the codelets, in the words of an image. */
#include "programs/compiler/emit/codelet_map.h"

#include <stdlib.h>
#include <string.h>

/* Sources of the project keep their path within it; of other sources only the file name counts. So
 * an image does not depend on where it was made. */
static const char *short_path(const char *file)
{
    static const char folder[] = "programs/";
    const char *slash = strrchr(file, '/');

    return !strncmp(file, folder, strlen(folder)) || !slash ? file : slash + 1;
}

/* The codelet of a section: .text.NAME. */
static enum emu_status owner_of(struct image *im, const char *section, uint32_t *id)
{
    const char *dot = strrchr(section, '.');

    return image_string(im, dot ? dot + 1 : section, id);
}

static int by_range(const void *x, const void *y)
{
    const struct image_range *a = x, *b = y;

    return (a->addr > b->addr) - (a->addr < b->addr);
}

/* A range extends to the next one: the bytes between are padding for the next one's alignment. */
static enum emu_status add_ranges(const struct codelet_code *c, struct image *im, uint32_t category,
                                  uint32_t end, struct codelet_map *m)
{
    const struct asm_image *a = c->image;

    m->range = emu_alloc(a->section_count + 1, sizeof(*m->range));
    if (!m->range)
        return FAIL(NO_MEMORY, "the map of the codelets");
    for (size_t i = 0; i < a->section_count; i++) {
        const struct asm_section *s = &a->section[i];
        struct image_range *r = &m->range[m->ranges];

        if (!s->size)
            continue;
        *r = (struct image_range){ .addr = s->addr, .category = category };
        TRY(owner_of(im, s->name, &r->owner));
        m->ranges++;
    }
    qsort(m->range, m->ranges, sizeof(*m->range), by_range);
    for (size_t i = 0; i < m->ranges; i++)
        m->range[i].bytes = (i + 1 < m->ranges ? m->range[i + 1].addr : end) - m->range[i].addr;
    return EMU_OK;
}

static enum emu_status add_symbols(const struct codelet_code *c, struct image *im,
                                   struct codelet_map *m)
{
    const struct asm_image *a = c->image;

    m->symbol = emu_alloc(a->symbol_count + 1, sizeof(*m->symbol));
    if (!m->symbol)
        return FAIL(NO_MEMORY, "the symbols of the codelets");
    for (size_t i = 0; i < a->symbol_count; i++) { /* by value already */
        const struct asm_symbol *s = &a->symbol[i];
        struct image_symbol *out = &m->symbol[m->symbols];

        if (!s->section || !*s->name)
            continue;
        *out = (struct image_symbol){ .addr = (uint32_t)s->value, .bytes = s->size };
        TRY(image_string(im, s->name, &out->name));
        m->symbols++;
    }
    return EMU_OK;
}

static enum emu_status add_section_lines(const struct asm_section *s, struct image *im,
                                         struct image_line *line, size_t *lines)
{
    for (size_t i = 0; i < s->line_count; i++) {
        struct image_line *l = &line[*lines];

        *l = (struct image_line){ .addr = s->addr + s->lines[i].offset, .line = s->lines[i].line };
        if (*lines && l->addr <= l[-1].addr)
            continue;
        TRY(image_string(im, short_path(s->lines[i].file), &l->file));
        ++*lines;
    }
    return EMU_OK;
}

static enum emu_status add_lines(const struct codelet_code *c, struct image *im,
                                 struct codelet_map *m)
{
    const struct asm_image *a = c->image;
    struct image_line *line;
    size_t lines = 0, room = 1;
    enum emu_status s = EMU_OK;

    for (size_t i = 0; i < a->section_count; i++)
        room += a->section[i].line_count;
    line = emu_alloc(room, sizeof(*line));
    if (!line)
        return FAIL(NO_MEMORY, "the lines of the codelets");
    for (size_t i = 0; i < a->section_count && s == EMU_OK; i++)
        s = add_section_lines(&a->section[i], im, line, &lines);
    line[lines++] = (struct image_line){ .addr = c->addr + c->bytes };
    if (s == EMU_OK)
        s = image_lines(im, line, lines, &m->lines);
    ss_free(line);
    return s;
}

enum emu_status codelet_map_init(const struct codelet_code *c, struct image *im, uint32_t category,
                                 uint32_t end, struct codelet_map *out)
{
    memset(out, 0, sizeof(*out));
    if (!c->bytes)
        return EMU_OK;
    out->segment = (struct image_segment){ .addr = c->addr, .bytes = c->bytes };
    TRY(image_blob(im, c->code, c->bytes, &out->segment.blob));
    TRY(add_ranges(c, im, category, end, out));
    TRY(add_symbols(c, im, out));
    return add_lines(c, im, out);
}

void codelet_map_free(struct codelet_map *m)
{
    ss_free(m->range);
    ss_free(m->symbol);
    memset(m, 0, sizeof(*m));
}
