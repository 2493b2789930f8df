/* codelet_code.c - assembles the codelets a program uses and links them for one address. */
#include <limits.h>
#include <string.h>

#include "programs/library/kernel/codelet_sources.h"

static enum emu_status add_kept(struct asm_unit *u, const struct arch *arch, unsigned codelet,
                                const char *path, struct codelet_sources *sources)
{
    const char *text;
    size_t bytes;

    TRY(codelet_sources_text(sources, arch, codelet, path, &text, &bytes));
    return asm_unit_add_text(u, path, text, bytes);
}

static const char *const family[] = { "elementwise", "copy",    "reduce",  "matmul",
                                      "linear",      "conv",    "norm",    "pool",
                                      "softmax",     "picture", "stencil", "transpose" };

/* 1 when NAME.S stands in a family's folder: its path. */
static int find_source(const char *name, char *path, size_t size)
{
    char below[PATH_MAX];

    for (size_t i = 0; i < EMU_COUNT_OF(family); i++) {
        snprintf(below, sizeof(below), "programs/library/%s/%s.S", family[i], name);
        if (asm_home_file(below, path, size))
            return 1;
    }
    return 0;
}

static enum emu_status add_codelet(struct asm_unit *u, const struct arch *arch, unsigned codelet,
                                   struct codelet_sources *sources)
{
    char path[PATH_MAX];
    enum emu_status s;

    if (!find_source(codelet_table[codelet].name, path, sizeof(path)))
        return FAIL(IO, "%s.S: not found from the executable upwards; SUPERSTEP_HOME can say where",
                    codelet_table[codelet].name);
    s = sources ? add_kept(u, arch, codelet, path, sources) : asm_unit_add_file(u, path);
    if (s == EMU_BAD_ASM && asm_diag_count(u)) {
        const struct asm_diag *d = asm_diag_at(u, 0);

        return FAIL(BAD_ASM, "%s:%u: %s", d->file, d->line, d->text);
    }
    return s;
}

/* Where the linker's name ends up; the code has no writable parts, so all is one block. */
static enum emu_status copy_sections(const struct asm_image *image, uint32_t addr,
                                     struct codelet_code *out)
{
    uint8_t *code;

    for (size_t i = 0; i < image->section_count; i++) {
        const struct asm_section *s = &image->section[i];

        if (s->size && s->addr + s->size - addr > out->bytes)
            out->bytes = s->addr + s->size - addr;
    }
    code = emu_alloc(out->bytes ? out->bytes : 1, 1);
    if (!code)
        return FAIL(NO_MEMORY, "the code of codelets");
    for (size_t i = 0; i < image->section_count; i++) {
        const struct asm_section *s = &image->section[i];

        memcpy(code + (s->addr - addr), s->bytes, s->size);
    }
    out->code = code;
    return EMU_OK;
}

static enum emu_status find_entries(const struct asm_image *image, const uint8_t *used,
                                    struct codelet_code *out)
{
    for (unsigned i = 0; i < codelet_count; i++) {
        const struct asm_symbol *s = used[i] ? asm_symbol_find(image, codelet_table[i].name) : NULL;

        if (used[i] && !s)
            return FAIL(BAD_ASM, "%s.S: no entry point %s", codelet_table[i].name,
                        codelet_table[i].name);
        out->entry[i] = s ? (uint32_t)s->value : 0;
    }
    return EMU_OK;
}

static enum emu_status link_into(struct codelet_code *out, const struct arch *arch,
                                 const uint8_t *used, struct codelet_sources *sources)
{
    struct asm_layout layout = { .code_addr = out->addr };

    for (unsigned i = 0; i < codelet_count; i++) {
        if (used[i])
            TRY(add_codelet(out->unit, arch, i, sources));
    }
    if (asm_unit_link(out->unit, &layout) != EMU_OK) {
        const struct asm_diag *d = asm_diag_count(out->unit) ? asm_diag_at(out->unit, 0) : NULL;

        return FAIL(BAD_ASM, "%s:%u: %s", d ? d->file : "codelets", d ? d->line : 0,
                    d ? d->text : emu_error());
    }
    TRY(copy_sections(asm_unit_image(out->unit), out->addr, out));
    return find_entries(asm_unit_image(out->unit), used, out);
}

enum emu_status codelet_link(const struct arch *arch, const uint8_t *used, uint32_t addr,
                             struct codelet_code *out)
{
    return codelet_link_kept(arch, used, addr, NULL, out);
}

enum emu_status codelet_link_kept(const struct arch *arch, const uint8_t *used, uint32_t addr,
                                  struct codelet_sources *sources, struct codelet_code *out)
{
    struct asm_options o = { .arch = arch, .preprocessed = sources != NULL };
    enum emu_status s;

    memset(out, 0, sizeof(*out));
    out->addr = addr;
    out->entry = emu_alloc(codelet_count + 1, sizeof(*out->entry));
    if (!out->entry)
        return FAIL(NO_MEMORY, "the entries of codelets");
    s = asm_unit_new(&o, &out->unit);
    if (s == EMU_OK)
        s = link_into(out, arch, used, sources);
    if (s != EMU_OK)
        codelet_code_free(out);
    return s;
}

void codelet_code_free(struct codelet_code *c)
{
    asm_unit_free(c->unit);
    emu_free((void *)c->code);
    emu_free(c->entry);
    memset(c, 0, sizeof(*c));
}
