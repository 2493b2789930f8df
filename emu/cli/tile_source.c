/* tile_source.c - finds where a source begins, and in which of the two sets of instructions. */
#include "emu/cli/tile_source.h"

#include <jansson.h>
#include <string.h>

#include "emu/asm/asm.h"
#include "emu/base/alloc.h"
#include "emu/base/json_read.h"
#include "emu/base/json_text.h"

enum { NAME_MAX_BYTES = 256 };

struct beginning {
    char label[NAME_MAX_BYTES];
    uint32_t line; /* of its first instruction, from 1; 0: unknown */
};

/* The label with the lowest address among those of code. */
static void find_beginning(const struct asm_image *im, const char *path, struct beginning *out)
{
    const struct asm_line *line;

    for (size_t i = 0; i < im->symbol_count; i++) {
        const struct asm_symbol *s = &im->symbol[i];

        if (!s->section || !(s->section->flags & ASM_EXEC) || strlen(s->name) >= NAME_MAX_BYTES)
            continue;
        line = asm_line_of(im, (uint32_t)s->value);
        strcpy(out->label, s->name);
        out->line = line && !strcmp(line->file, path) ? line->line : 0;
        return;
    }
}

static enum emu_status assemble(const struct arch *a, const char *path, int raw,
                                struct beginning *out)
{
    const struct asm_options o = { .arch = a, .raw = raw };
    const struct asm_layout layout = { .allow_undefined = 1 };
    struct asm_unit *u;
    enum emu_status s;

    TRY(asm_unit_new(&o, &u));
    s = asm_unit_add_file(u, path);
    if (s == EMU_OK)
        s = asm_unit_link(u, &layout);
    if (s == EMU_OK)
        find_beginning(asm_unit_image(u), path, out);
    asm_unit_free(u);
    return s == EMU_BAD_ASM ? EMU_OK : s;
}

/* Whether the last of the two directives before a line is that of the supervisor. */
static int is_supervisor(const char *text, uint32_t line)
{
    static const char supervisor[] = ".supervisor", worker[] = ".worker";
    int is = 0;

    for (uint32_t i = 1; text && (i < line || !line); i++) {
        const char *at = text + strspn(text, " \t");

        if (!strncmp(at, supervisor, sizeof(supervisor) - 1))
            is = 1;
        else if (!strncmp(at, worker, sizeof(worker) - 1))
            is = 0;
        text = strchr(text, '\n');
        text = text ? text + 1 : NULL;
    }
    return is;
}

enum emu_status tile_source_case(const struct arch *a, const char *path, int raw, char **text)
{
    struct beginning b = { .label = "main" };
    const char *slash = strrchr(path, '/');
    char *source;
    size_t bytes;
    enum emu_status s = json_read_file(path, &source, &bytes);
    json_t *o;

    *text = NULL;
    if (s == EMU_OK)
        s = assemble(a, path, raw, &b);
    if (s == EMU_OK) {
        o = json_pack("{s:o, s:s, s:s}", "source", json_text(slash ? slash + 1 : path), "entry",
                      b.label, "as", is_supervisor(source, b.line) ? "supervisor" : "worker");
        *text = o ? json_dumps(o, 0) : NULL;
        json_decref(o);
        s = *text ? EMU_OK : FAIL(NO_MEMORY, "%s", path);
    }
    ss_free(source);
    return s;
}
