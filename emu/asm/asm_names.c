/* asm_names.c - messages about names that are not known where they must be: whether the file
 * defines them further down or not at all, and what a misspelt one was meant to be.
 */
#include <stdio.h>
#include <string.h>

#include "emu/asm/asm_internal.h"
#include "emu/base/embedded.h"
#include "emu/base/nearest.h"

enum { NAME_BYTES = 48, MESSAGE_BYTES = 400 };

/* An error that is worded at the end of the file. */
struct unknown_name {
    struct unknown_name *next;
    const struct symbol *symbol;
    const char *what;
    size_t diag;
};

/* ---- what was meant ---- */

/* Names of headers are copied, since their text has no zeros. */
struct meaning {
    struct nearest near;
    char name[NAME_BYTES];
    const char *header; /* that defines just this name */
};

/* The name that a line of a header defines, or nothing. */
static struct span defined_name(const char *line, const char *end)
{
    static const char *const before[] = { "#define ", "\t.macro " };
    struct span name = span_of(line, 0);

    for (size_t i = 0; i < EMU_COUNT_OF(before); i++) {
        size_t n = strlen(before[i]);

        if ((size_t)(end - line) <= n || memcmp(line, before[i], n))
            continue;
        name.s = line + n;
        while (name.s + name.n < end && lex_is_name((unsigned char)name.s[name.n]))
            name.n++;
    }
    return name;
}

static void try_header(struct meaning *m, const struct embedded_file *f)
{
    const char *line = (const char *)f->data, *all = line + f->bytes, *end;
    char copy[NAME_BYTES];

    for (; line < all; line = end + 1) {
        struct span name;

        end = memchr(line, '\n', (size_t)(all - line));
        end = end ? end : all;
        name = defined_name(line, end);
        if (!name.n || name.n >= NAME_BYTES)
            continue;
        memcpy(copy, name.s, name.n);
        copy[name.n] = 0;
        if (name.n == m->near.n && !memcmp(name.s, m->near.word, name.n))
            m->header = f->name;
        nearest_try(&m->near, copy);
        if (m->near.best != copy)
            continue;
        memcpy(m->name, copy, name.n + 1);
        m->near.best = m->name;
    }
}

static int is_header(const char *name)
{
    size_t n = strlen(name);

    return n > 2 && !strcmp(name + n - 2, ".h");
}

static void try_symbols(struct meaning *m, const struct source *f)
{
    for (size_t i = 0; i < f->symbols.buckets; i++) {
        for (const struct named *n = f->symbols.bucket[i]; n; n = n->next) {
            if (((const struct symbol *)n)->state != SYMBOL_UNDEFINED)
                nearest_try(&m->near, n->name);
        }
    }
}

void names_meant(const struct symbol *s, char *out, size_t bytes)
{
    static const char folder[] = "include/";
    struct meaning m = { .near = { .word = s->n.name, .n = s->n.len } };
    const char *at;

    out[0] = 0;
    try_symbols(&m, s->source);
    for (const struct embedded_file *f = embedded_files; f->name; f++) {
        if (is_header(f->name))
            try_header(&m, f);
    }
    at = m.header ? strstr(m.header, folder) : NULL;
    if (m.header)
        snprintf(out, bytes, "; #include <%s> defines it", at ? at + strlen(folder) : m.header);
    else if (m.near.best)
        snprintf(out, bytes, "; did you mean '%s'?", m.near.best);
}

/* ---- names that must be known ---- */

/* A symbol of an expression that the file has not defined yet, or NULL. */
static const struct symbol *find_unknown(const struct expr_node *n)
{
    const struct symbol *s;

    switch (n->kind) {
    case NODE_SYMBOL:
        s = n->u.symbol;
        return s->state == SYMBOL_UNDEFINED && !s->numbered ? s : NULL;
    case NODE_UNARY:
        return find_unknown(n->u.left);
    case NODE_BINARY:
        s = find_unknown(n->u.left);
        return s ? s : find_unknown(n->right);
    default:
        return NULL;
    }
}

int names_unknown(struct as *as, struct loc at, const char *what, const struct expr_node *n)
{
    const struct symbol *s = find_unknown(n);
    size_t diag = as->u->diags;
    struct unknown_name *u;

    if (!s)
        return as_error(as, at, "%s must be a number that is known here", what);
    as_error(as, at, "%s must be known here, and '%s' is not defined before it", what, s->n.name);
    if (as->u->diags == diag) /* too many errors */
        return 0;
    u = unit_alloc(as->u, 1, sizeof(*u));
    if (!u)
        return 0;
    *u = (struct unknown_name){ as->unknown, s, what, diag };
    as->unknown = u;
    return 0;
}

void names_settle(struct as *as)
{
    char text[MESSAGE_BYTES], meant[MESSAGE_BYTES / 2];

    for (const struct unknown_name *n = as->unknown; n; n = n->next) {
        struct span copy;

        if (n->symbol->state == SYMBOL_UNDEFINED) {
            names_meant(n->symbol, meant, sizeof(meant));
            snprintf(text, sizeof(text), "undefined symbol '%.100s'%s", n->symbol->n.name, meant);
        } else {
            snprintf(text, sizeof(text),
                     "%s must be known here, and '%.100s' is defined only further down", n->what,
                     n->symbol->n.name);
        }
        copy = unit_copy(as->u, span_of(text, strlen(text)));
        if (copy.s)
            as->u->diag[n->diag].text = copy.s;
    }
}
