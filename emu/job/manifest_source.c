/* manifest_source.c - the sources of a program: through the C preprocessor once, through the
 * assembler once for each tile.
 *
 * What differs between tiles are symbols, defined in front of the text: CHIP, TILE, PHYSICAL, INDEX
 * (place of the tile in the program's list). All tiles know COUNT (tiles of the program), TILES,
 * CHIPS, MEM_BASE, MEM_END and the addresses of the memories. The tile of a case knows none of
 * these: its memories are placed after its code, and may have the names of labels.
 */
#include <inttypes.h>
#include <string.h>

#include "emu/arch/arch_geometry.h"
#include "emu/base/alloc.h"
#include "emu/job/manifest_internal.h"

enum { EQU_BYTES = 48 };

/* ---- the C preprocessor ---- */

/* Whether a word stands somewhere in the text by itself. */
static int has_word(const char *text, size_t bytes, const char *word)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$";
    const char *end = text + bytes;
    size_t n = strlen(word);

    for (const char *p = text; (p = memmem(p, (size_t)(end - p), word, n)); p += n) {
        if ((p == text || !p[-1] || !strchr(letters, p[-1])) && (!p[n] || !strchr(letters, p[n])))
            return 1;
    }
    return 0;
}

static struct asm_options unit_options(const struct manifest *m, const struct manifest_program *p)
{
    return (struct asm_options){ .arch = &m->arch,
                                 .include_dirs = (const char *const *)m->include,
                                 .include_dir_count = m->includes,
                                 .defines = (const char *const *)p->define,
                                 .define_count = p->defines,
                                 .raw = m->raw,
                                 .no_files = m->raw };
}

/* What messages call a source: its path, or "x.bsp.json:6: asm", to which they add their line. */
static char *source_name(const struct program_text *t, const char *path, const char *text)
{
    size_t bytes = strlen(t->m->path) + 32;
    char *name;

    if (!text)
        return manifest_path(t->m, path);
    if (t->m->tile_case)
        return emu_strdup("asm");
    name = emu_alloc(bytes, 1);
    if (name && t->p->text_line)
        snprintf(name, bytes, "%s:%" PRIu32 ": asm", t->m->path, t->p->text_line);
    else if (name)
        snprintf(name, bytes, "%s: asm", t->m->path);
    return name;
}

static enum emu_status preprocess_one(struct program_text *t, const char *path, const char *text,
                                      FILE *messages)
{
    struct asm_options o = unit_options(t->m, t->p);
    struct asm_unit *u;
    enum emu_status s;
    size_t i = t->texts;

    t->name[i] = source_name(t, path, text);
    if (!t->name[i])
        return FAIL(NO_MEMORY, "a path");
    TRY(asm_unit_new(&o, &u));
    s = asm_unit_preprocess(u, t->name[i], text, text ? strlen(text) : 0, &t->text[i],
                            &t->bytes[i]);
    if (messages)
        asm_diag_print(u, messages);
    asm_unit_free(u);
    TRY(s);
    t->texts++;
    t->objects |= asm_is_object(t->text[i], t->bytes[i]);
    t->per_tile |= has_word(t->text[i], t->bytes[i], "TILE") ||
                   has_word(t->text[i], t->bytes[i], "PHYSICAL") ||
                   has_word(t->text[i], t->bytes[i], "INDEX");
    t->per_chip |= has_word(t->text[i], t->bytes[i], "CHIP");
    return EMU_OK;
}

enum emu_status program_preprocess(const struct manifest *m, const struct manifest_program *p,
                                   FILE *messages, struct program_text *out)
{
    size_t n = p->sources + 1;

    *out = (struct program_text){ .m = m, .p = p };
    out->text = emu_alloc(n, sizeof(*out->text));
    out->name = emu_alloc(n, sizeof(*out->name));
    out->bytes = emu_alloc(n, sizeof(*out->bytes));
    if (!out->text || !out->name || !out->bytes)
        return FAIL(NO_MEMORY, "sources of a program");
    for (size_t i = 0; i < p->sources; i++)
        TRY(preprocess_one(out, p->source[i], NULL, messages));
    return p->text ? preprocess_one(out, m->path, p->text, messages) : EMU_OK;
}

void program_text_free(struct program_text *t)
{
    for (size_t i = 0; t->p && i < t->p->sources + 1; i++) {
        if (t->text)
            ss_free(t->text[i]);
        if (t->name)
            ss_free(t->name[i]);
    }
    ss_free(t->text);
    ss_free(t->name);
    ss_free(t->bytes);
    *t = (struct program_text){ .m = NULL };
}

/* ---- the assembler ---- */

/* Global ones can be seen by objects. */
static size_t add_equ(char *out, size_t room, const char *name, uint32_t value, int global)
{
    size_t n = 0;

    if (global)
        n = (size_t)snprintf(out, room, ".globl %s\n", name);
    return n + (size_t)snprintf(out + n, room - n, ".equ %s, %" PRIu32 "\n", name, value);
}

/* The symbols of a tile, which stand in front of every text. Owned by the caller. */
static char *make_symbols(const struct program_text *t, uint32_t chip, size_t index, int global)
{
    const struct arch *a = &t->m->arch;
    const struct manifest_program *p = t->p;
    uint32_t tile = p->tiles.tile[index];
    const struct {
        const char *name;
        uint32_t value;
    } symbols[] = {
        { "CHIP", chip },
        { "CHIPS", a->chips },
        { "TILE", tile },
        { "PHYSICAL", arch_tile_physical(a, tile) },
        { "INDEX", (uint32_t)index },
        { "COUNT", (uint32_t)p->tiles.count },
        { "TILES", a->tiles },
        { "MEM_BASE", a->mem_base },
        { "MEM_END", a->mem_base + a->mem_bytes },
    };
    size_t bytes = 1, n = 0;
    char *out;

    for (size_t i = 0; i < EMU_COUNT_OF(symbols); i++)
        bytes += 2 * strlen(symbols[i].name) + EQU_BYTES;
    for (size_t i = 0; i < p->memories; i++)
        bytes += 2 * strlen(p->memory[i].place.name) + EQU_BYTES;
    for (size_t i = 0; i < t->m->parameters; i++)
        bytes += 2 * strlen(t->m->parameter[i].name) + EQU_BYTES;
    out = emu_alloc(bytes, 1);
    if (!out)
        return NULL;
    for (size_t i = 0; i < EMU_COUNT_OF(symbols); i++)
        n += add_equ(out + n, bytes - n, symbols[i].name, symbols[i].value, global);
    for (size_t i = 0; i < p->memories; i++)
        n += add_equ(out + n, bytes - n, p->memory[i].place.name, p->memory[i].place.address,
                     global);
    for (size_t i = 0; i < t->m->parameters; i++)
        n += add_equ(out + n, bytes - n, t->m->parameter[i].name,
                     (uint32_t)t->m->parameter[i].value, global);
    return out;
}

static enum emu_status assemble_text(struct asm_unit *u, const struct program_text *t, size_t i,
                                     const char *symbols)
{
    size_t n = strlen(symbols), bytes = n + t->bytes[i];
    enum emu_status s;
    char *text;

    if (asm_is_object(t->text[i], t->bytes[i]))
        return asm_unit_add_object(u, t->name[i], t->text[i], t->bytes[i]);
    text = emu_alloc(bytes + 1, 1);
    if (!text)
        return FAIL(NO_MEMORY, "a source of %zu bytes", bytes);
    memcpy(text, symbols, n);
    memcpy(text + n, t->text[i], t->bytes[i]);
    s = asm_unit_add_text(u, t->name[i], text, bytes);
    ss_free(text);
    return s;
}

/* Objects find the symbols of the tile by their names. */
static enum emu_status add_symbols(struct asm_unit *u, const struct program_text *t, uint32_t chip,
                                   size_t index)
{
    char *symbols = make_symbols(t, chip, index, 1);
    enum emu_status s = symbols
                            ? asm_unit_add_text(u, "symbols of the tile", symbols, strlen(symbols))
                            : FAIL(NO_MEMORY, "symbols of a tile");

    ss_free(symbols);
    return s;
}

enum emu_status program_assemble(const struct program_text *t, uint32_t chip, size_t index,
                                 struct asm_unit **out)
{
    struct asm_options o = unit_options(t->m, t->p);
    char *symbols = t->m->tile_case ? emu_strdup("") : make_symbols(t, chip, index, 0);
    enum emu_status s = EMU_OK;

    *out = NULL;
    if (!symbols)
        return FAIL(NO_MEMORY, "symbols of a tile");
    o.preprocessed = !o.raw;
    s = asm_unit_new(&o, out);
    for (size_t i = 0; i < t->texts && s == EMU_OK; i++)
        s = assemble_text(*out, t, i, symbols);
    if (t->objects && !t->m->tile_case && s == EMU_OK)
        s = add_symbols(*out, t, chip, index);
    ss_free(symbols);
    return s == EMU_OK ? asm_unit_link(*out, NULL) : s;
}
