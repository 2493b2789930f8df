/* codelet_sources.c - the sources of codelets after the C preprocessor, read once per machine. */
#include "programs/library/kernel/codelet_sources.h"

#include <limits.h>

/* Of one machine: the sizes of its memory are macros in the sources. */
struct machine_sources {
    struct arch arch;
    char **text; /* owned, by index in codelet_table; NULL: not read yet */
    size_t *bytes;
};

struct codelet_sources {
    VEC(struct machine_sources) machine;
};

struct codelet_sources *codelet_sources_new(void)
{
    return emu_alloc(1, sizeof(struct codelet_sources));
}

void codelet_sources_free(struct codelet_sources *s)
{
    for (size_t i = 0; s && i < s->machine.count; i++) {
        for (unsigned k = 0; k < codelet_count; k++)
            emu_free(s->machine.at[i].text[k]);
        emu_free(s->machine.at[i].text);
        emu_free(s->machine.at[i].bytes);
    }
    if (s)
        VEC_FREE(&s->machine);
    emu_free(s);
}

static enum emu_status find_machine(struct codelet_sources *s, const struct arch *arch,
                                    struct machine_sources **out)
{
    struct machine_sources m = { .arch = *arch };

    for (size_t i = 0; i < s->machine.count; i++) {
        *out = &s->machine.at[i];
        if (arch_equal(&(*out)->arch, arch))
            return EMU_OK;
    }
    m.text = emu_alloc(codelet_count + 1, sizeof(*m.text));
    m.bytes = emu_alloc(codelet_count + 1, sizeof(*m.bytes));
    if (!m.text || !m.bytes || VEC_PUSH(&s->machine, m) != EMU_OK) {
        emu_free(m.text);
        emu_free(m.bytes);
        return FAIL(NO_MEMORY, "sources of codelets");
    }
    *out = &s->machine.at[s->machine.count - 1];
    return EMU_OK;
}

static enum emu_status preprocess(const struct arch *arch, const char *path, char **text,
                                  size_t *bytes)
{
    struct asm_options o = { .arch = arch };
    struct asm_unit *u;
    enum emu_status s;

    TRY(asm_unit_new(&o, &u));
    s = asm_unit_preprocess(u, path, NULL, 0, text, bytes);
    if (s == EMU_BAD_ASM && asm_diag_count(u)) {
        const struct asm_diag *d = asm_diag_at(u, 0);

        s = FAIL(BAD_ASM, "%s:%u: %s", d->file, d->line, d->text);
    }
    asm_unit_free(u);
    return s;
}

enum emu_status codelet_sources_text(struct codelet_sources *s, const struct arch *arch,
                                     unsigned codelet, const char *path, const char **text,
                                     size_t *bytes)
{
    struct machine_sources *m;

    TRY(find_machine(s, arch, &m));
    if (!m->text[codelet])
        TRY(preprocess(arch, path, &m->text[codelet], &m->bytes[codelet]));
    *text = m->text[codelet];
    *bytes = m->bytes[codelet];
    return EMU_OK;
}
