/* fuzz_asm.c - libFuzzer entry for the assembler: any text must assemble or give errors, and what
 * assembles must survive the disassembler and the unit file.
 *
 *   clang -I. -D_GNU_SOURCE -std=gnu11 -g -O1 -march=x86-64-v3 -ffp-contract=off
 * -fsanitize=fuzzer,address,undefined \ tests/fuzz/fuzz_asm.c emu/{asm,isa,arch,base}/[a-z]*.c
 * -ljansson -lm -o build/fuzz_asm
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/asm/asm.h"
#include "emu/base/alloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Assembles and links; NULL if the text has errors. */
static struct asm_unit *assemble(const char *name, const char *text, size_t len)
{
    struct arch small = *ss_arch_preset("toy4"); /* little memory, so that no input takes long */
    const struct asm_options options = {
        .arch = &small, .raw = 1, .no_files = 1, .expansion_bytes = 1 << 16
    };
    const struct asm_layout layout = { .allow_undefined = 1 };
    struct asm_unit *u;

    small.mem_bytes = 4096;
    small.region0_bytes = 3072;
    if (asm_unit_new(&options, &u) != EMU_OK)
        return NULL;
    if (asm_unit_add_text(u, name, text, len) == EMU_OK && asm_unit_link(u, &layout) == EMU_OK)
        return u;
    EMU_ASSERT(asm_diag_count(u) > 0);
    asm_unit_free(u);
    return NULL;
}

static char *to_text(const struct asm_image *image,
                     enum emu_status (*print)(const struct asm_image *, FILE *))
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);

    EMU_ASSERT(f && print(image, f) == EMU_OK);
    fclose(f);
    return text;
}

/* Same sections, byte for byte. */
static void check_same(const struct asm_image *a, const struct asm_image *b)
{
    EMU_ASSERT(a->section_count == b->section_count);
    for (size_t i = 0; i < a->section_count; i++) {
        const struct asm_section *s = &a->section[i], *t = &b->section[i];

        EMU_ASSERT(s->addr == t->addr && s->size == t->size && s->flags == t->flags);
        EMU_ASSERT(!memcmp(s->bytes, t->bytes, s->size));
    }
}

static void check_queries(const struct asm_image *image)
{
    uint32_t offset;

    for (size_t i = 0; i < image->section_count; i++) {
        const struct asm_section *s = &image->section[i];

        EMU_ASSERT(asm_section_of(image, s->addr) == s);
        EMU_ASSERT(asm_line_of(image, s->addr));
        asm_symbolize(image, s->addr + s->size - 1, &offset);
    }
    for (size_t i = 0; i < image->symbol_count; i++)
        EMU_ASSERT(asm_symbol_find(image, image->symbol[i].name));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct asm_unit *u = assemble("fuzz.S", (const char *)data, size), *again;
    struct asm_image image;
    char *text;

    if (u) {
        check_queries(asm_unit_image(u));
        text = to_text(asm_unit_image(u), asm_disassemble);
        again = assemble("again.S", text, strlen(text));
        if (!again)
            fprintf(stderr, "%s\n%s\n", ss_error(), text);
        EMU_ASSERT(again);
        check_same(asm_unit_image(u), asm_unit_image(again));
        asm_unit_free(again);
        free(text);
        text = to_text(asm_unit_image(u), asm_image_write);
        EMU_ASSERT(asm_image_read_text("fuzz.unit", text, strlen(text), &image) == EMU_OK);
        check_same(asm_unit_image(u), &image);
        asm_image_free(&image);
        free(text);
        asm_unit_free(u);
    } else if (asm_image_read_text("fuzz.unit", (const char *)data, size, &image) == EMU_OK) {
        free(to_text(&image, asm_disassemble));
        asm_image_free(&image);
    }
    EMU_ASSERT(!alloc_live());
    return 0;
}
