/* asm_source.c - the main loop: statements, labels and assignments of one file. */
#include <string.h>

#include "emu/asm/asm_internal.h"

static int define_label(struct as *as, struct span name, struct loc at)
{
    if (as->bundle.open && as->bundle.count) {
        as_error(as, at, "a label cannot stand between the instructions of a bundle");
        return 1;
    }
    if (name.s[0] >= '0' && name.s[0] <= '9')
        return symbol_define_numbered(as, name, at);
    return symbol_define_label(as, name, at);
}

static int numbered_label(struct as *as, struct loc at)
{
    struct span digits = lex_word(as);

    for (size_t i = 0; i < digits.n; i++) {
        if (digits.s[i] < '0' || digits.s[i] > '9')
            return as_error(as, at, "expected a statement, found '%.*s'", (int)digits.n, digits.s);
    }
    if (digits.n > 10)
        return as_error(as, at, "label number too long");
    return lex_expect(as, ':', " after a number") && define_label(as, digits, at);
}

static int assignment(struct as *as, struct span name, struct loc at)
{
    const struct expr_node *n;

    as->top->p++;
    if (span_is(name, "."))
        return data_org(as, at, 0);
    n = expr_parse(as);
    return n && lex_expect_end(as) && symbol_assign(as, name, n, at);
}

/* A name at the start of a statement: label, assignment, macro, directive or instruction. */
static int named_statement(struct as *as, struct loc at)
{
    int quoted = lex_peek(as) == '"';
    struct frame *f = as->top;
    struct span name;
    struct macro *m;
    int known;

    if (!lex_name(as, &name))
        return 0;
    lex_blank(as);
    if (lex_peek(as) == ':') {
        f->p++;
        return define_label(as, name, at);
    }
    if (lex_peek(as) == '=' && (f->end - f->p < 2 || f->p[1] != '='))
        return assignment(as, name, at);
    if (quoted)
        return as_error(as, at, "expected ':' or '=' after a name in quotes");
    m = macro_find(as, name);
    if (m)
        return macro_invoke(as, m, at);
    if (name.s[0] != '.' || span_is(name, ".insn"))
        return insn_statement(as, name, at);
    if (!cond_directive(as, name, at, &known) || known)
        return known ? 1 : 0;
    return directive_run(as, name, at);
}

static int statement(struct as *as)
{
    struct loc at = lex_here(as);
    int c = lex_peek(as);

    if (c == '{') {
        as->top->p++;
        return insn_bundle_open(as, at);
    }
    if (c == '}') {
        as->top->p++;
        return insn_bundle_close(as, at);
    }
    if (c >= '0' && c <= '9')
        return numbered_label(as, at);
    if (lex_is_name_start(c) || c == '"')
        return named_statement(as, at);
    if (c == '\\')
        return as_error(as, at, "a macro parameter that does not exist, or is used outside");
    return as_error(as, at, "expected a statement, found '%c'", c < 32 || c > 126 ? '?' : c);
}

/* In a branch that is not taken only conditional directives count. */
static void skipped_statement(struct as *as)
{
    struct frame *f = as->top;
    const char *before = f->p;
    struct loc at = lex_here(as);
    struct span word = lex_word(as);
    int known = 0;

    lex_blank(as);
    if (word.n && lex_peek(as) == ':') {
        f->p++;
        return;
    }
    if (word.n && word.s[0] == '.')
        cond_directive(as, word, at, &known);
    lex_skip_statement(as);
    if (f->p == before)
        f->p++;
}

static void next_statement(struct as *as)
{
    struct frame *f = as->top;
    unsigned frames = as->frames;
    const char *before = f->p;

    if (cond_skipping(as)) {
        skipped_statement(as);
        return;
    }
    as->expr_depth = 0;
    if (statement(as) || as->frames != frames)
        return;
    lex_skip_statement(as);
    if (f->p == before)
        f->p++;
}

/* What is still open at the end of the file. */
static void finish(struct as *as)
{
    const struct table *t = &as->source->numbered;

    if (as->bundle.open)
        as_error(as, as->bundle.at, "no '}' for this");
    exchange_finish(as);
    for (size_t i = 0; i < t->buckets; i++) {
        for (struct named *n = t->bucket[i]; n; n = n->next) {
            const struct symbol *next = ((struct numbered *)n)->next;

            if (next)
                as_error(as, next->first_use, "no label '%s:' after this", n->name);
        }
    }
}

void source_assemble(struct as *as)
{
    as->section = section_get(as, span_of(".text", 5), ASM_ALLOC | ASM_EXEC, lex_here(as));
    lex_line_start(as);
    while (!as->stop && !as->u->no_memory) {
        int c;

        lex_blank(as);
        lex_skip_line_comment(as);
        c = lex_peek(as);
        if (c < 0) {
            if (!frame_next(as))
                break;
        } else if (c == '\n') {
            lex_newline(as);
        } else if (c == ';') {
            as->top->p++;
        } else {
            next_statement(as);
        }
    }
    if (!as->stop && !as->u->no_memory)
        finish(as);
    if (!as->stop)
        names_settle(as);
}
