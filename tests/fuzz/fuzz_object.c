/* fuzz_object.c - any bytes as a relocatable object: refused with a message, or an object all of
 * whose sections link for a machine, or give an error that names what is wrong. What was linked
 * stays within its sections.
 */
#include <string.h>

#include "emu/asm/asm_object.h"
#include "emu/base/alloc.h"

enum { ROOTS_MAX = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_image(const struct asm_image *image)
{
    uint32_t offset, sum = 0;

    for (size_t i = 0; i < image->section_count; i++) {
        const struct asm_section *s = &image->section[i];

        for (uint32_t k = 0; k < s->size; k++)
            sum += s->bytes[k];
        for (size_t k = 0; k < s->line_count; k++)
            EMU_ASSERT(strlen(s->lines[k].file) + 1 != 0);
        if (s->size)
            asm_symbolize(image, s->addr + s->size - 1, &offset);
    }
    for (size_t i = 0; i < image->symbol_count; i++)
        EMU_ASSERT(asm_symbol_find(image, image->symbol[i].name));
    EMU_ASSERT(sum + 1 != 0);
}

static void link_first_sections(const struct asm_object *o)
{
    const char *root[ROOTS_MAX];
    struct object_request q = { .arch = arch_preset("toy4"), .prefix = "", .root = root };
    struct asm_image image;
    enum emu_status s;

    q.addr = q.arch->mem_base;
    for (; q.roots < o->sections && q.roots < ROOTS_MAX; q.roots++)
        root[q.roots] = o->strings + o->section[q.roots].name;
    s = asm_object_link(o, &q, &image);
    if (s == EMU_OK) {
        check_image(&image);
        asm_image_free(&image);
    } else {
        EMU_ASSERT(s == EMU_BAD_ASM && *emu_error());
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *aligned = emu_alloc(size + 1, 1);
    struct asm_object o;
    enum emu_status s;

    EMU_ASSERT(aligned);
    memcpy(aligned, data, size);
    s = asm_object_read(aligned, size, &o);
    if (s == EMU_OK)
        link_first_sections(&o);
    else
        EMU_ASSERT(s == EMU_BAD_FILE && *emu_error());
    emu_free(aligned);
    EMU_ASSERT(!alloc_live());
    return 0;
}
