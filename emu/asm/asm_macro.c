/* asm_macro.c - the stack of texts being read: macros and repeats push their expansion on top of
 * the text that called them. */
#include <string.h>

#include "emu/asm/asm_internal.h"
#include "emu/base/alloc.h"

/* ---- frames ---- */

/* The frame owns f->owned from here on, also when this fails. */
int frame_push(struct as *as, const struct frame *f)
{
    if (as->frames == MAX_FRAMES) {
        ss_free(f->owned);
        as->stop = 1;
        return as_error(as, f->called, "macros, repeats or includes are nested more than %d deep",
                        MAX_FRAMES);
    }
    as->frame[as->frames] = *f;
    as->top = &as->frame[as->frames++];
    as->top->conditions = as->conditions;
    return 1;
}

static void frame_pop(struct as *as)
{
    ss_free(as->top->owned);
    as->top->owned = NULL;
    as->top = &as->frame[--as->frames - 1];
}

/* Text of the next repetition into the top frame. 0: there is none, or it failed. */
static int repeat_next(struct as *as)
{
    struct frame *f = as->top;
    struct repeat *r = f->repeat;
    size_t n;

    if (r->next == r->values)
        return 0;
    ss_free(f->owned);
    f->owned = NULL;
    if (!args_substitute(as, r->body, &r->param, r->value ? &r->value[r->next] : NULL,
                         r->value ? 1 : 0, &f->owned, &n))
        return 0;
    r->next++;
    f->p = f->line_start = f->owned ? f->owned : "";
    f->end = f->p + n;
    f->file = r->file;
    f->line = r->line;
    return 1;
}

int frame_next(struct as *as)
{
    struct frame *f = as->top;

    cond_close(as, f->conditions);
    if (f->repeat && repeat_next(as))
        return 1;
    if (as->frames == 1)
        return 0;
    frame_pop(as);
    return 1;
}

int macro_exit(struct as *as, struct loc at)
{
    unsigned i = as->frames;

    while (i > 0 && as->frame[i - 1].kind != FRAME_MACRO)
        i--;
    if (!i)
        return as_error(as, at, ".exitm outside of a macro");
    as->conditions = as->frame[i - 1].conditions;
    while (as->frames >= i)
        frame_pop(as);
    return 1;
}

/* ---- bodies ---- */

/* One statement of a body. Returns what it does to the nesting: -1, 0 or 1. */
static int body_statement(struct as *as, const char *const open[4], const char *const close[2])
{
    struct span word = lex_word(as);

    for (int i = 0; i < 4 && open[i]; i++) {
        if (span_is(word, open[i]))
            return 1;
    }
    for (int i = 0; i < 2 && close[i]; i++) {
        if (span_is(word, close[i]))
            return -1;
    }
    return 0;
}

/* Reads up to the closing directive of a body and steps over it. */
static int body_read(struct as *as, struct loc at, const char *const open[4],
                     const char *const close[2], struct span *body, uint32_t *line)
{
    struct frame *f = as->top;
    const char *start = f->p;
    int depth = 0;

    for (*line = f->line;;) {
        const char *before;
        int change;

        lex_blank(as);
        lex_skip_line_comment(as);
        before = f->p;
        if (f->p == f->end)
            return as_error(as, at, "no %s for this", close[0]);
        if (*f->p == '\n') {
            lex_newline(as);
            continue;
        }
        change = body_statement(as, open, close);
        if (change < 0 && depth == 0) {
            *body = span_of(start, (size_t)(before - start));
            return 1;
        }
        depth += change;
        lex_skip_statement(as);
        if (f->p == before)
            f->p++;
    }
}

/* ---- macros ---- */

struct macro *macro_find(const struct as *as, struct span name)
{
    return (struct macro *)table_find(&as->macros, name);
}

int macro_define(struct as *as, struct loc at)
{
    static const char *const open[4] = { ".macro" }, *const close[2] = { ".endm", ".endmacro" };
    const char *file = as->top->file;
    struct macro scratch = { .param = NULL }, *m;
    struct span name, body;
    uint32_t line;
    int ok;

    if (!lex_name(as, &name))
        return 0;
    ok = args_params(as, &scratch);
    lex_skip_statement(as);
    if (!body_read(as, at, open, close, &body, &line) || !ok)
        return 0;
    lex_statement_text(as); /* a name may follow .endm */
    m = macro_find(as, name);
    if (m) {
        as_error(as, at, "macro '%s' is already defined", m->n.name);
        return unit_diag(as->u, ASM_NOTE, (struct loc){ m->file, m->line, 0 }, "here");
    }
    m = (struct macro *)unit_insert(as->u, &as->macros, name, sizeof(*m));
    if (!m)
        return 0;
    m->param = scratch.param;
    m->params = scratch.params;
    m->body = unit_copy(as->u, body);
    m->file = file;
    m->line = line;
    return m->body.s != NULL;
}

int macro_invoke(struct as *as, struct macro *m, struct loc at)
{
    struct span *value = emu_alloc(m->params, sizeof(*value));
    unsigned char *given = emu_alloc(m->params, 1);
    struct frame f = {
        .kind = FRAME_MACRO, .file = m->file, .line = m->line, .name = m->n.name, .called = at
    };
    struct args a = { NULL, 0 };
    size_t n = 0;
    int ok;

    if (!value || !given)
        ok = unit_no_memory(as->u);
    else
        ok = args_begin(as, &a) && args_parse(as, &a, m, value, given, at);
    if (ok) {
        as->invocations++;
        ok = args_substitute(as, m->body, m->param, value, m->params, &f.owned, &n);
        f.p = f.line_start = f.owned ? f.owned : "";
        f.end = f.p + n;
        if (ok)
            ok = frame_push(as, &f);
        else
            ss_free(f.owned);
    }
    args_end(&a);
    ss_free(value);
    ss_free(given);
    return ok;
}

/* ---- repeats ---- */

/* .irp name, value, value ... */
static int repeat_values(struct as *as, struct repeat *r)
{
    struct args a;
    size_t capacity = 0;
    struct span *value = NULL;
    int ok = args_begin(as, &a);

    while (ok && !lex_at_end(as)) {
        void *p = value;

        if (emu_grow(&p, r->values, &capacity, sizeof(*value)) != EMU_OK) {
            ok = unit_no_memory(as->u);
            break;
        }
        value = p;
        ok = args_next(as, &a, &value[r->values]);
        if (ok)
            value[r->values] = unit_copy(as->u, value[r->values]);
        r->values++;
        lex_accept(as, ',');
    }
    r->value = unit_alloc(as->u, r->values, sizeof(*value));
    if (r->value && r->values)
        memcpy(r->value, value, r->values * sizeof(*value));
    args_end(&a);
    ss_free(value);
    return ok && r->value;
}

/* .irpc name, characters */
static int repeat_characters(struct as *as, struct repeat *r)
{
    struct span s = lex_statement_text(as);

    if (s.n >= 2 && s.s[0] == '"' && s.s[s.n - 1] == '"')
        s = span_of(s.s + 1, s.n - 2);
    s = unit_copy(as->u, s);
    r->value = unit_alloc(as->u, s.n, sizeof(*r->value));
    if (!s.s || !r->value)
        return 0;
    for (r->values = 0; r->values < s.n; r->values++)
        r->value[r->values] = span_of(s.s + r->values, 1);
    return 1;
}

static int repeat_header(struct as *as, struct span directive, struct repeat *r)
{
    int64_t count;
    struct loc at;

    if (span_is(directive, ".rept")) {
        lex_blank(as);
        at = lex_here(as);
        if (!expr_parse_number(as, "the count", &count))
            return 0;
        if (count < 0)
            return as_error(as, at, "the count is negative");
        r->values = (size_t)count;
        return lex_expect_end(as);
    }
    if (!lex_name(as, &r->param.name))
        return 0;
    r->param.name = unit_copy(as->u, r->param.name);
    if (!r->param.name.s)
        return 0;
    lex_accept(as, ',');
    return span_is(directive, ".irp") ? repeat_values(as, r) : repeat_characters(as, r);
}

int macro_repeat(struct as *as, struct span directive, struct loc at)
{
    static const char *const open[4] = { ".rept", ".irp", ".irpc" }, *const close[2] = { ".endr" };
    struct repeat *r = unit_alloc(as->u, 1, sizeof(*r));
    struct span name = unit_copy(as->u, directive);
    struct frame f = { .kind = FRAME_REPEAT, .name = name.s, .called = at, .repeat = r };
    int ok;

    if (!r || !name.s)
        return 0;
    r->file = as->top->file;
    ok = repeat_header(as, directive, r);
    lex_skip_statement(as);
    if (!body_read(as, at, open, close, &r->body, &r->line) || !ok)
        return 0;
    f.file = r->file;
    f.line = r->line;
    f.p = f.end = f.line_start = "";
    return frame_push(as, &f);
}
