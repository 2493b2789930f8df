/* asm_needed.c - which sections of a unit are linked: all, or what some symbols need. */
#include <stdio.h>
#include <string.h>

#include "emu/asm/asm_internal.h"
#include "emu/base/alloc.h"

static const char codelet_prefix[] = "__runCodelet_";

const char *entry_label(const char *name, char *text)
{
    int n = snprintf(text, ENTRY_BYTES, "%s%s", codelet_prefix, name);

    return n < ENTRY_BYTES ? text : NULL;
}

static void take(struct asm_unit *u, struct section *s)
{
    if (s->taken || !s->size)
        return;
    s->taken = 1;
    u->order[u->ordered++] = s;
}

/* What an expression refers to. One that is too deep is refused when it is evaluated. */
static void need(struct asm_unit *u, const struct expr_node *n, unsigned depth)
{
    struct symbol *s;

    if (depth > MAX_NODE_DEPTH)
        return;
    switch (n->kind) {
    case NODE_NUMBER:
        return;
    case NODE_PLACE:
        take(u, n->u.section);
        return;
    case NODE_SYMBOL:
        s = n->u.symbol;
        if (s->needed)
            return;
        s->needed = 1;
        s = s->resolved ? s->resolved : s;
        if (s->state == SYMBOL_LABEL)
            take(u, s->section);
        else if (s->state == SYMBOL_VARIABLE)
            need(u, s->value, depth + 1);
        return;
    default:
        need(u, n->u.left, depth + 1);
        if (n->right)
            need(u, n->right, depth + 1);
        return;
    }
}

static void need_of_section(struct asm_unit *u, const struct section *s)
{
    for (size_t i = 0; i < s->fixups; i++) {
        const struct fixup *f = &s->fixup[i];

        if (f->expr)
            need(u, f->expr, 0);
        for (unsigned k = 0; f->insn && k < f->insn->count; k++) {
            if (f->insn->operand[k].expr)
                need(u, f->insn->operand[k].expr, 0);
        }
    }
}

/* A label that a root names. */
static struct symbol *find_label(struct asm_unit *u, const char *name)
{
    struct global *g = NULL;

    if (name)
        g = (struct global *)table_find(&u->globals, span_of(name, strlen(name)));
    return g && g->symbol->state == SYMBOL_LABEL ? g->symbol : NULL;
}

static int take_root(struct asm_unit *u, const char *name)
{
    char text[ENTRY_BYTES];
    struct symbol *s = find_label(u, name);

    s = s ? s : find_label(u, entry_label(name, text));
    if (!s)
        return unit_diag(u, ASM_ERROR, (struct loc){ NULL, 0, 0 }, "no global label '%s' or '%s%s'",
                         name, codelet_prefix, name);
    take(u, s->section);
    return 1;
}

static void forget(struct asm_unit *u)
{
    u->ordered = 0;
    for (struct section *s = u->section; s; s = s->next)
        s->taken = 0;
    for (struct source *f = u->source; f; f = f->next) {
        for (size_t i = 0; i < f->symbols.buckets; i++) {
            for (struct named *n = f->symbols.bucket[i]; n; n = n->next)
                ((struct symbol *)n)->needed = 0;
        }
    }
}

int needed_sections(struct asm_unit *u, const struct asm_layout *layout)
{
    size_t n = 1;

    forget(u);
    for (const struct section *s = u->section; s; s = s->next)
        n++;
    ss_free(u->order);
    u->order = emu_alloc(n, sizeof(struct section *));
    if (!u->order)
        return unit_no_memory(u);
    for (size_t i = 0; i < layout->roots; i++) {
        if (!take_root(u, layout->root[i]))
            return 0;
    }
    for (struct section *s = u->section; s && !layout->root; s = s->next) {
        if (!s->common || !s->common->resolved) /* else there is a better definition */
            take(u, s);
    }
    for (size_t i = 0; i < u->ordered; i++)
        need_of_section(u, u->order[i]);
    return 1;
}

const struct asm_symbol *asm_entry_find(const struct asm_image *image, const char *name)
{
    char text[ENTRY_BYTES];
    const char *label = entry_label(name, text);
    const struct asm_symbol *plain = asm_symbol_find(image, name),
                            *vertex = label ? asm_symbol_find(image, label) : NULL;

    /* The name may also be that of a local function beside the vertex, or of a number. */
    return vertex && !(plain && plain->global && plain->section) ? vertex : plain;
}
