/* elf_print.c - objects as they are before they are linked: sections with words, what waits for the
 * linker beside them, and symbols. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "emu/asm/asm_internal.h"
#include "emu/asm/elf_reloc.h"
#include "emu/base/alloc.h"

/* One file of a unit. */
struct printer {
    FILE *f;
    const struct symbol **label; /* by section and place; owned */
    size_t labels, next;         /* next: the first that is not yet printed */
    const struct fixup **fixup;  /* of one section, by place; owned */
    size_t fixups, next_fixup;
};

static int by_place(const void *a, const void *b)
{
    const struct symbol *x = *(const struct symbol *const *)a,
                        *y = *(const struct symbol *const *)b;

    if (x->section != y->section)
        return x->section->image_index < y->section->image_index ? -1 : 1;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return strcmp(x->n.name, y->n.name);
}

static int by_offset(const void *a, const void *b)
{
    const struct fixup *x = *(const struct fixup *const *)a, *y = *(const struct fixup *const *)b;

    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return (x > y) - (x < y);
}

/* ---- sections ---- */

static void print_labels(struct printer *p, const struct section *s, uint32_t at)
{
    while (p->next < p->labels && p->label[p->next]->section == s &&
           p->label[p->next]->offset <= at)
        fprintf(p->f, "%s:\n", p->label[p->next++]->n.name);
}

/* The relocations below an offset: each is a comment, the first on the line of the words. */
static void print_fixups(struct printer *p, uint32_t end)
{
    char target[200];

    for (; p->next_fixup < p->fixups && p->fixup[p->next_fixup]->offset < end; p->next_fixup++) {
        const struct fixup *f = p->fixup[p->next_fixup];

        fixup_target(f->expr, target, sizeof(target));
        fprintf(p->f, "  # +0x%" PRIx32 " %s %s", f->offset, f->reloc->name, target);
    }
    putc('\n', p->f);
}

/* How far a line of data reaches: not over a label. */
static uint32_t line_end(const struct printer *p, const struct section *s, uint32_t at)
{
    enum { BYTES_PER_LINE = 16 };
    uint32_t end =
        (uint32_t)s->size - at < BYTES_PER_LINE ? (uint32_t)s->size : at + BYTES_PER_LINE;

    if (p->next < p->labels && p->label[p->next]->section == s && p->label[p->next]->offset < end)
        end = p->label[p->next]->offset;
    return end;
}

static void print_bytes(struct printer *p, const struct section *s, uint32_t at)
{
    while (at < s->size) {
        uint32_t end;

        print_labels(p, s, at);
        end = line_end(p, s, at);
        fprintf(p->f, "  %05" PRIx32 " ", at);
        for (; at < end; at++)
            fprintf(p->f, " %02x", s->bytes[at]);
        print_fixups(p, end);
    }
}

static void print_code(struct printer *p, const struct section *s)
{
    const struct asm_section view = { .size = (uint32_t)s->size, .bytes = s->bytes };
    uint32_t at = 0;

    while (s->size - at >= ISA_WORD_BYTES) {
        char text[400], words[20] = "";
        unsigned bytes = asm_print_item(&view, at, NULL, text, sizeof(text));

        print_labels(p, s, at);
        for (unsigned i = 0; i < bytes; i += ISA_WORD_BYTES) {
            uint32_t word;

            memcpy(&word, s->bytes + at + i, sizeof(word));
            snprintf(words + strlen(words), sizeof(words) - strlen(words), "%08" PRIx32 " ", word);
        }
        fprintf(p->f, "  %05" PRIx32 "  %-18s %s", at, words, text);
        at += bytes;
        print_fixups(p, at);
    }
    print_bytes(p, s, at);
}

static int sort_fixups(struct printer *p, const struct section *s)
{
    p->fixups = p->next_fixup = 0;
    p->fixup = emu_alloc(s->fixups + 1, sizeof(struct fixup *));
    if (!p->fixup)
        return 0;
    for (size_t i = 0; i < s->fixups; i++)
        p->fixup[p->fixups++] = &s->fixup[i];
    qsort(p->fixup, p->fixups, sizeof(struct fixup *), by_offset);
    return 1;
}

static int print_section(struct printer *p, const struct section *s)
{
    fprintf(p->f, "\n# section %s, \"a%s%s\", %zu bytes, alignment %" PRIu32 "%s\n", s->n.name,
            s->flags & ASM_WRITE ? "w" : "", s->flags & ASM_EXEC ? "x" : "", s->size, s->align,
            s->nobits ? ", zeros" : "");
    if (!sort_fixups(p, s))
        return 0;
    if (s->flags & ASM_EXEC)
        print_code(p, s);
    else if (!s->nobits)
        print_bytes(p, s, 0);
    print_labels(p, s, UINT32_MAX);
    ss_free(p->fixup);
    return 1;
}

/* ---- symbols ---- */

static void print_symbol(FILE *f, const struct symbol *s)
{
    struct value size = s->size ? expr_eval(s->size, 0) : (struct value){ VALUE_NUMBER, 0, 0, 0 };

    fprintf(f, "#   %s %s%s: ",
            s->weak     ? "weak"
            : s->global ? "global"
                        : "local",
            s->type == ASM_FUNCTION ? "function "
            : s->type == ASM_OBJECT ? "object "
                                    : "",
            s->n.name);
    if (s->state == SYMBOL_UNDEFINED)
        fprintf(f, "undefined");
    else if (s->state == SYMBOL_LABEL)
        fprintf(f, "%s+0x%" PRIx32, s->section->n.name, s->offset);
    else
        fprintf(f, "0x%" PRIx64, (uint64_t)expr_eval(s->value, 0).number);
    if (size.number)
        fprintf(f, ", %" PRId64 " bytes", size.number);
    if (s->stack_bytes)
        fprintf(f, ", stack %" PRIu32, s->stack_bytes);
    putc('\n', f);
}

static void print_symbols(FILE *f, const struct source *source)
{
    if (source->symbols.count)
        fprintf(f, "\n# symbols\n");
    for (size_t i = 0; i < source->symbols.buckets; i++) {
        for (const struct named *n = source->symbols.bucket[i]; n; n = n->next)
            print_symbol(f, (const struct symbol *)n);
    }
}

/* ---- files ---- */

static int sort_labels(struct printer *p, const struct source *source)
{
    p->label = emu_alloc(source->symbols.count + 1, sizeof(struct symbol *));
    if (!p->label)
        return 0;
    for (size_t i = 0; i < source->symbols.buckets; i++) {
        for (const struct named *n = source->symbols.bucket[i]; n; n = n->next) {
            const struct symbol *s = (const struct symbol *)n;

            if (s->state == SYMBOL_LABEL)
                p->label[p->labels++] = s;
        }
    }
    qsort(p->label, p->labels, sizeof(struct symbol *), by_place);
    return 1;
}

static int print_source(struct asm_unit *u, const struct source *source, FILE *f)
{
    struct printer p = { .f = f };
    int ok = sort_labels(&p, source);

    if (ok)
        fprintf(f, "# object %s\n", source->name);
    for (struct section *s = u->section; ok && s; s = s->next) {
        if (s->source == source)
            ok = print_section(&p, s);
    }
    if (ok)
        print_symbols(f, source);
    ss_free(p.label);
    return ok || unit_no_memory(u);
}

enum emu_status asm_object_print(struct asm_unit *u, FILE *f)
{
    size_t sections = 0;

    archive_pull_all(u);
    TRY(unit_status(u));
    for (struct section *s = u->section; s; s = s->next)
        s->image_index = sections++;
    for (const struct source *s = u->source; s; s = s->next)
        print_source(u, s, f);
    TRY(unit_status(u));
    if (fflush(f) || ferror(f))
        return FAIL(IO, "writing: %s", strerror(errno));
    return EMU_OK;
}
