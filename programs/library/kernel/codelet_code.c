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

static enum emu_status find_entries(const struct asm_image *image, const struct codelet *const *set,
                                    size_t n, struct codelet_code *out)
{
    for (size_t i = 0; i < n; i++) {
        const struct asm_symbol *s = asm_symbol_find(image, set[i]->name);

        if (!s)
            return FAIL(BAD_ASM, "%s.S: no entry point %s", set[i]->name, set[i]->name);
        out->entry[i] = (uint32_t)s->value;
    }
    return EMU_OK;
}

/* Adds the sources of a set to the unit, in the order of the table. row: scratch, one byte of 0 for
 * each row. */
static enum emu_status add_set(struct asm_unit *u, const struct arch *arch,
                               const struct codelet *const *set, size_t n,
                               struct codelet_sources *sources, uint8_t *row)
{
    for (size_t i = 0; i < n; i++) {
        if (codelet_find(set[i]->name) != set[i])
            return FAIL(BAD_PROGRAM, "%s is no codelet of the library", set[i]->name);
        row[set[i] - codelet_table] = 1;
    }
    for (unsigned i = 0; i < codelet_count; i++) {
        if (row[i])
            TRY(add_codelet(u, arch, i, sources));
    }
    return EMU_OK;
}

static enum emu_status link_into(struct codelet_code *out, const struct arch *arch,
                                 const struct codelet *const *set, size_t n,
                                 struct codelet_sources *sources)
{
    struct asm_layout layout = { .code_addr = out->addr };
    uint8_t *row = emu_alloc(codelet_count, 1);
    enum emu_status s;

    if (!row)
        return FAIL(NO_MEMORY, "a set of %zu codelets", n);
    s = add_set(out->unit, arch, set, n, sources, row);
    emu_free(row);
    TRY(s);
    if (asm_unit_link(out->unit, &layout) != EMU_OK) {
        const struct asm_diag *d = asm_diag_count(out->unit) ? asm_diag_at(out->unit, 0) : NULL;

        return FAIL(BAD_ASM, "%s:%u: %s", d ? d->file : "codelets", d ? d->line : 0,
                    d ? d->text : emu_error());
    }
    TRY(copy_sections(asm_unit_image(out->unit), out->addr, out));
    return find_entries(asm_unit_image(out->unit), set, n, out);
}

enum emu_status codelet_link(const struct arch *arch, const struct codelet *const *set, size_t n,
                             uint32_t addr, struct codelet_sources *sources,
                             struct codelet_code *out)
{
    struct asm_options o = { .arch = arch, .preprocessed = sources != NULL };
    enum emu_status s;

    memset(out, 0, sizeof(*out));
    out->addr = addr;
    out->entry = emu_alloc(n + 1, sizeof(*out->entry));
    if (!out->entry)
        return FAIL(NO_MEMORY, "the entries of codelets");
    s = asm_unit_new(&o, &out->unit);
    if (s == EMU_OK)
        s = link_into(out, arch, set, n, sources);
    if (s != EMU_OK)
        codelet_code_free(out);
    return s;
}
