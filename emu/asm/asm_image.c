/* asm_image.c - look-ups in a linked unit: symbols by name and by address, source lines. */
#include <stdlib.h>
#include <string.h>

#include "emu/asm/asm_internal.h"

/* By value; of symbols with one value those that say most about it come last, where asm_symbolize
 * finds them first. */
static int by_value(const void *a, const void *b)
{
    const struct asm_symbol *x = a, *y = b;
    int rank_x = 4 * (x->section != NULL) + 2 * x->global + (x->type == ASM_FUNCTION);
    int rank_y = 4 * (y->section != NULL) + 2 * y->global + (y->type == ASM_FUNCTION);

    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    if (rank_x != rank_y)
        return rank_x - rank_y;
    if (strcmp(x->name, y->name))
        return strcmp(x->name, y->name);
    return strcmp(x->file, y->file);
}

void image_order(struct asm_image *image)
{
    if (image->symbol_count)
        qsort(image->symbol, image->symbol_count, sizeof(*image->symbol), by_value);
}

const struct asm_symbol *asm_symbol_find(const struct asm_image *image, const char *name)
{
    const struct asm_symbol *local = NULL;

    for (size_t i = 0; i < image->symbol_count; i++) {
        const struct asm_symbol *s = &image->symbol[i];

        if (strcmp(s->name, name))
            continue;
        if (s->global)
            return s;
        if (!local)
            local = s;
    }
    return local;
}

const struct asm_section *asm_section_of(const struct asm_image *image, uint32_t addr)
{
    for (size_t i = 0; i < image->section_count; i++) {
        const struct asm_section *s = &image->section[i];

        if (addr - s->addr < s->size)
            return s;
    }
    return NULL;
}

const struct asm_symbol *asm_symbolize(const struct asm_image *image, uint32_t addr,
                                       uint32_t *offset)
{
    const struct asm_section *section = asm_section_of(image, addr);
    size_t low = 0, high = image->symbol_count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (image->symbol[mid].value <= (int64_t)addr)
            low = mid + 1;
        else
            high = mid;
    }
    while (section && low-- > 0) {
        const struct asm_symbol *s = &image->symbol[low];

        if (s->section == section) {
            *offset = addr - (uint32_t)s->value;
            return s;
        }
        if (s->value < section->addr)
            break;
    }
    return NULL;
}

const struct asm_line *asm_line_of(const struct asm_image *image, uint32_t addr)
{
    const struct asm_section *s = asm_section_of(image, addr);
    size_t low = 0, high = s ? s->line_count : 0;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (s->lines[mid].offset <= addr - s->addr)
            low = mid + 1;
        else
            high = mid;
    }
    return low ? &s->lines[low - 1] : NULL;
}
