/* asm_lex.c - splits characters into words: blanks, comments, ends of statements, names, strings,
 * line markers of cpp.
 *
 * There is no token stream: text after macro substitution has no meaning before its statement is
 * known, so each parser reads what it expects at the cursor of the top frame.
 */
#include <string.h>

#include "emu/asm/asm_internal.h"

int lex_is_name_start(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' || c == '$';
}

int lex_is_name(int c)
{
    return lex_is_name_start(c) || (c >= '0' && c <= '9');
}

int lex_peek(const struct as *as)
{
    const struct frame *f = as->top;

    return f->p < f->end ? (unsigned char)*f->p : -1;
}

static int peek_second(const struct as *as)
{
    const struct frame *f = as->top;

    return f->end - f->p > 1 ? (unsigned char)f->p[1] : -1;
}

struct loc lex_loc(const struct as *as, const char *p)
{
    const struct frame *f = as->top;
    uint32_t column = p >= f->line_start ? (uint32_t)(p - f->line_start) + 1 : 1;

    return (struct loc){ f->file, f->line, column };
}

struct loc lex_here(const struct as *as)
{
    return lex_loc(as, as->top->p);
}

/* At the start of a line: `# 12 "file.S" 1` sets the position of the next line. */
static void line_marker(struct as *as)
{
    struct frame *f = as->top;
    const char *p = f->p, *name, *line_end;
    uint32_t line = 0;

    if (f->end - p < 6 || p[0] != '#' || p[1] != ' ' || p[2] < '0' || p[2] > '9')
        return;
    line_end = memchr(p, '\n', (size_t)(f->end - p));
    if (!line_end)
        line_end = f->end;
    for (p += 2; p < line_end && *p >= '0' && *p <= '9'; p++)
        line = line * 10 + (uint32_t)(*p - '0');
    if (line_end - p < 3 || p[0] != ' ' || p[1] != '"')
        return;
    name = p + 2;
    p = memchr(name, '"', (size_t)(line_end - name));
    if (!p)
        return;
    f->file = unit_file_name(as->u, name, (size_t)(p - name));
    f->line = line - (line_end < f->end);
    f->p = line_end;
}

void lex_line_start(struct as *as)
{
    if (as->markers)
        line_marker(as);
}

void lex_newline(struct as *as)
{
    struct frame *f = as->top;

    f->p++;
    f->line++;
    f->line_start = f->p;
    lex_line_start(as);
}

static void skip_block_comment(struct as *as)
{
    struct frame *f = as->top;
    struct loc at = lex_here(as);

    for (f->p += 2; f->p < f->end; f->p++) {
        if (*f->p == '\n') {
            f->line++;
            f->line_start = f->p + 1;
        } else if (*f->p == '*' && peek_second(as) == '/') {
            f->p += 2;
            return;
        }
    }
    as_error(as, at, "unterminated comment");
}

void lex_blank(struct as *as)
{
    for (;;) {
        int c = lex_peek(as);

        if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v')
            as->top->p++;
        else if (c == '/' && peek_second(as) == '*')
            skip_block_comment(as);
        else
            return;
    }
}

static int at_line_comment(const struct as *as)
{
    int c = lex_peek(as);

    return c == '#' || (c == '/' && peek_second(as) == '/');
}

void lex_skip_line_comment(struct as *as)
{
    struct frame *f = as->top;
    const char *end;

    if (!at_line_comment(as))
        return;
    end = memchr(f->p, '\n', (size_t)(f->end - f->p));
    f->p = end ? end : f->end;
}

int lex_at_end(struct as *as)
{
    int c;

    lex_blank(as);
    c = lex_peek(as);
    return c < 0 || c == '\n' || c == ';' || (c == '}' && as->bundle.open) || at_line_comment(as);
}

int lex_accept(struct as *as, char c)
{
    lex_blank(as);
    if (lex_peek(as) != (unsigned char)c)
        return 0;
    as->top->p++;
    return 1;
}

/* What stands at the cursor, for messages: a word, or one character. */
static struct span found(struct as *as)
{
    struct frame *f = as->top;
    const char *p = f->p;

    while (p < f->end && lex_is_name(*p))
        p++;
    if (p == f->p && p < f->end)
        p++;
    return span_of(f->p, (size_t)(p - f->p));
}

static int expected(struct as *as, const char *what, const char *where)
{
    struct loc at;
    struct span s;

    if (lex_at_end(as))
        return as_error(as, lex_here(as), "expected %s%s", what, where);
    at = lex_here(as);
    s = found(as);
    return as_error(as, at, "expected %s%s, found '%.*s'", what, where, (int)s.n, s.s);
}

int lex_expect(struct as *as, char c, const char *where)
{
    char what[] = { '\'', c, '\'', 0 };

    return lex_accept(as, c) ? 1 : expected(as, what, where);
}

int lex_expect_end(struct as *as)
{
    return lex_at_end(as) ? 1 : expected(as, "the end of the statement", "");
}

/* Steps over a string without looking at its escapes; it ends at the closing quote or before the
 * end of the line. */
static void skip_string(struct as *as)
{
    struct frame *f = as->top;

    for (f->p++; f->p < f->end && *f->p != '\n'; f->p++) {
        if (*f->p == '"') {
            f->p++;
            return;
        }
        if (*f->p == '\\' && peek_second(as) >= 0 && peek_second(as) != '\n')
            f->p++;
    }
}

void lex_skip_statement(struct as *as)
{
    while (!lex_at_end(as)) {
        if (lex_peek(as) == '"')
            skip_string(as);
        else
            as->top->p++;
    }
}

struct span lex_statement_text(struct as *as)
{
    const char *start;

    lex_blank(as);
    start = as->top->p;
    lex_skip_statement(as);
    return span_trim(span_of(start, (size_t)(as->top->p - start)));
}

struct span lex_word(struct as *as)
{
    struct frame *f = as->top;
    const char *start = f->p;

    while (f->p < f->end && lex_is_name((unsigned char)*f->p))
        f->p++;
    return span_of(start, (size_t)(f->p - start));
}

int lex_name(struct as *as, struct span *out)
{
    lex_blank(as);
    if (lex_is_name_start(lex_peek(as))) {
        *out = lex_word(as);
        return 1;
    }
    if (lex_peek(as) == '"') {
        const char *start = as->top->p;
        size_t n;

        skip_string(as);
        n = (size_t)(as->top->p - start);
        if (n > 2 && start[n - 1] == '"') {
            *out = span_of(start + 1, n - 2);
            return 1;
        }
        return as_error(as, lex_loc(as, start), "empty or unterminated name in quotes");
    }
    return expected(as, "a name", "");
}

static int hex_digit(int c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One character of a string; *p stands after a backslash. */
static char unescape(const char **p, const char *end)
{
    static const char from[] = "nrtbfva", to[] = "\n\r\t\b\f\v\a";
    const char *known = strchr(from, **p);
    unsigned v = 0;
    int n = 0;

    if (**p >= '0' && **p <= '7') {
        for (; n < 3 && *p < end && **p >= '0' && **p <= '7'; n++)
            v = v * 8 + (unsigned)(*(*p)++ - '0');
        return (char)v;
    }
    if (**p == 'x' && end - *p > 1 && hex_digit((unsigned char)(*p)[1]) >= 0) {
        for (++*p; n < 2 && *p < end && hex_digit((unsigned char)**p) >= 0; n++)
            v = v * 16 + (unsigned)hex_digit((unsigned char)*(*p)++);
        return (char)v;
    }
    v = known && **p ? (unsigned char)to[known - from] : (unsigned char)**p;
    ++*p;
    return (char)v;
}

int lex_string(struct as *as, char **out, size_t *len)
{
    const char *start, *p, *end;

    lex_blank(as);
    if (lex_peek(as) != '"')
        return expected(as, "a string", "");
    start = as->top->p;
    skip_string(as);
    end = as->top->p;
    if (end - start < 2 || end[-1] != '"')
        return as_error(as, lex_loc(as, start), "unterminated string");
    end--;
    *len = 0;
    *out = unit_alloc(as->u, (size_t)(end - start), 1);
    if (!*out)
        return 0;
    for (p = start + 1; p < end;) {
        if (*p == '\\' && end - p > 1) {
            p++;
            (*out)[(*len)++] = unescape(&p, end);
        } else {
            (*out)[(*len)++] = *p++;
        }
    }
    return 1;
}
