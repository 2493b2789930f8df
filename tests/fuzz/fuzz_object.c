/* fuzz_object.c - any bytes as an ELF object or an archive: refused with a message, or linked,
 * printed and written again. What was linked stays within its sections, and the object that was
 * written is one that can be read.
 */
#include <stdio.h>
#include <string.h>

#include "emu/asm/asm.h"
#include "emu/base/alloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_image(const struct asm_image *image)
{
    uint32_t offset, sum = 0, stack;

    for (size_t i = 0; i < image->section_count; i++) {
        const struct asm_section *s = &image->section[i];

        for (uint32_t k = 0; k < s->size; k++)
            sum += s->bytes[k];
        for (size_t k = 0; k < s->line_count; k++)
            EMU_ASSERT(strlen(s->lines[k].file) + 1 != 0);
        if (s->size)
            asm_symbolize(image, s->addr + s->size - 1, &offset);
    }
    for (size_t i = 0; i < image->symbol_count; i++) {
        EMU_ASSERT(asm_symbol_find(image, image->symbol[i].name));
        if (image->symbol[i].section && i < 8 &&
            asm_stack_bytes(image, &image->symbol[i], &stack) != EMU_OK)
            EMU_ASSERT(*ss_error());
    }
    EMU_ASSERT(sum + 1 != 0);
}

static enum emu_status unit_of(const uint8_t *data, size_t size, struct asm_unit **out)
{
    const struct asm_options o = { .arch = ss_arch_preset("toy4"), .raw = 1 };

    EMU_ASSERT(asm_unit_new(&o, out) == EMU_OK);
    return asm_unit_add_object(*out, "fuzz", data, size);
}

/* Links what the last global symbol needs. An entry of that name is in what was linked. */
static void check_root(struct asm_unit *u)
{
    const struct asm_image *image = asm_unit_image(u);
    char name[200] = "";
    const char *const root[] = { name };
    const struct asm_layout layout = { .allow_undefined = 1, .root = root, .roots = 1 };

    for (size_t i = 0; i < image->symbol_count; i++) {
        if (image->symbol[i].global && strlen(image->symbol[i].name) < sizeof(name))
            strcpy(name, image->symbol[i].name);
    }
    if (asm_unit_link(u, &layout) == EMU_OK) {
        const struct asm_symbol *entry = asm_entry_find(asm_unit_image(u), name);

        EMU_ASSERT(!entry || !entry->section ||
                   asm_section_of(asm_unit_image(u), entry->section->addr));
        check_image(asm_unit_image(u));
    } else {
        EMU_ASSERT(*ss_error());
    }
}

static void check_print(struct asm_unit *u)
{
    FILE *f = fopen("/dev/null", "w");

    EMU_ASSERT(f && asm_object_print(u, f) != EMU_IO);
    fclose(f);
}

static void check_write(struct asm_unit *u)
{
    struct asm_unit *again;
    uint8_t *object;
    size_t bytes;

    if (asm_unit_object(u, &object, &bytes) != EMU_OK)
        return;
    if (unit_of(object, bytes, &again) != EMU_OK)
        EMU_ASSERT(strstr(ss_error(), "larger than the memory"));
    ss_free(object);
    asm_unit_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct asm_layout layout = { .allow_undefined = 1 };
    struct asm_unit *u;

    if (unit_of(data, size, &u) == EMU_OK) {
        if (asm_unit_link(u, &layout) == EMU_OK) {
            check_image(asm_unit_image(u));
            check_root(u);
        } else {
            EMU_ASSERT(*ss_error());
        }
        check_print(u);
        check_write(u);
    } else {
        EMU_ASSERT(*ss_error());
    }
    asm_unit_free(u);
    EMU_ASSERT(!alloc_live());
    return 0;
}
