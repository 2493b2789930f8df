/* asm_args.c - parameters and arguments of macros, and their substitution in a body.
 *
 * Arguments are separated by commas or blanks. Text in parentheses or quotes is one argument;
 * quotes are dropped. A blank next to an operator does not separate, so that `a + b` is one
 * argument, and neither does one next to a colon, where cpp puts blanks into `$a0:1`.
 */
#include <stdio.h>
#include <string.h>

#include "emu/asm/asm_internal.h"
#include "emu/base/alloc.h"

/* ---- parameters ---- */

static int param_qualifier(struct as *as, struct macro_param *p)
{
    struct loc at = lex_here(as);
    struct span word = lex_word(as);

    if (span_is(word, "req"))
        p->required = 1;
    else if (span_is(word, "vararg"))
        p->rest = 1;
    else
        return as_error(as, at, "expected req or vararg after ':'");
    return 1;
}

static int param_parse(struct as *as, struct macro_param *p, struct args *a)
{
    struct loc at = lex_here(as);
    struct span word = lex_word(as);

    if (!word.n)
        return as_error(as, at, "expected the name of a parameter");
    p->name = unit_copy(as->u, word);
    p->value = span_of("", 0);
    if (!p->name.s)
        return 0;
    if (lex_accept(as, ':')) {
        lex_blank(as);
        if (!param_qualifier(as, p))
            return 0;
    }
    if (lex_accept(as, '=')) {
        if (!args_next(as, a, &p->value))
            return 0;
        p->value = unit_copy(as->u, p->value);
    }
    return p->value.s != NULL;
}

int args_params(struct as *as, struct macro *m)
{
    enum { MAX_PARAMS = 100 };
    struct macro_param *param = emu_alloc(MAX_PARAMS, sizeof(*param));
    struct args a;
    int ok = args_begin(as, &a) && param;

    lex_accept(as, ',');
    while (ok && !lex_at_end(as)) {
        if (m->params && param[m->params - 1].rest)
            ok = as_error(as, lex_here(as), "a vararg parameter must be the last");
        else if (m->params == MAX_PARAMS)
            ok = as_error(as, lex_here(as), "more than %d parameters", MAX_PARAMS);
        else
            ok = param_parse(as, &param[m->params++], &a);
        lex_accept(as, ',');
    }
    m->param = unit_alloc(as->u, m->params, sizeof(*param));
    if (m->param && param)
        memcpy(m->param, param, m->params * sizeof(*param));
    else
        ok = unit_no_memory(as->u);
    args_end(&a);
    ss_free(param);
    return ok;
}

/* ---- arguments ---- */

int args_begin(struct as *as, struct args *a)
{
    struct frame *f = as->top, saved = *f;
    size_t n;

    lex_skip_statement(as);
    n = (size_t)(f->p - saved.p);
    *f = saved;
    a->used = 0;
    a->text = emu_alloc(n + 1, 1);
    return a->text ? 1 : unit_no_memory(as->u);
}

void args_end(struct args *a)
{
    ss_free(a->text);
    a->text = NULL;
}

static int is_glue(int c)
{
    return c > 0 && strchr("+-~/*%=|^&!<>:", c) != NULL;
}

/* Copies a string without its quotes; escapes stay for the directive that will read them. */
static void take_string(struct as *as, struct args *a)
{
    struct frame *f = as->top;

    for (f->p++; f->p < f->end && *f->p != '\n' && *f->p != '"'; f->p++) {
        if (*f->p == '\\' && f->end - f->p > 1 && f->p[1] != '\n')
            a->text[a->used++] = *f->p++;
        a->text[a->used++] = *f->p;
    }
    if (f->p < f->end && *f->p == '"')
        f->p++;
}

int args_next(struct as *as, struct args *a, struct span *out)
{
    struct frame *f = as->top;
    size_t start = a->used;
    unsigned parens = 0;
    int c;

    lex_blank(as);
    while (!lex_at_end(as)) {
        const char *before;

        c = lex_peek(as);
        if (c == ',' && !parens)
            break;
        if (c == '"') {
            take_string(as, a);
        } else {
            parens += c == '(';
            parens -= c == ')' && parens;
            a->text[a->used++] = (char)c;
            f->p++;
        }
        before = f->p;
        lex_blank(as);
        if (f->p == before || is_glue(c))
            continue;
        if (parens)
            a->text[a->used++] = ' ';
        else if (!is_glue(lex_peek(as)))
            break;
    }
    *out = span_of(a->text + start, a->used - start);
    return 1;
}

/* Whether `name =` stands at the cursor and name is a parameter; steps over it then. */
static int named_argument(struct as *as, const struct macro *m, size_t *index)
{
    struct frame *f = as->top, saved = *f;
    struct span word = lex_word(as);

    if (word.n && lex_accept(as, '=') && lex_peek(as) != '=') {
        for (size_t i = 0; i < m->params; i++) {
            if (m->param[i].name.n == word.n && !memcmp(m->param[i].name.s, word.s, word.n)) {
                *index = i;
                return 1;
            }
        }
    }
    *f = saved;
    return 0;
}

/* The rest of the statement with its quotes, for a vararg parameter. */
static struct span take_rest(struct as *as, struct args *a)
{
    struct span s = lex_statement_text(as);
    char *p = a->text + a->used;

    memcpy(p, s.s, s.n);
    a->used += s.n;
    return span_of(p, s.n);
}

static int args_defaults(struct as *as, const struct macro *m, struct span *value,
                         const unsigned char *given, struct loc at)
{
    for (size_t i = 0; i < m->params; i++) {
        if (given[i])
            continue;
        if (m->param[i].required)
            return as_error(as, at, "macro '%s' needs its argument '%s'", m->n.name,
                            m->param[i].name.s);
        value[i] = m->param[i].value;
    }
    return 1;
}

int args_parse(struct as *as, struct args *a, const struct macro *m, struct span *value,
               unsigned char *given, struct loc at)
{
    size_t i = 0;

    while (!lex_at_end(as)) {
        struct loc here = lex_here(as);
        int quoted;

        named_argument(as, m, &i);
        if (i >= m->params) {
            struct span rest = lex_statement_text(as);

            return as_error(as, here, "macro '%s' takes %zu argument%s; too many: '%.*s'",
                            m->n.name, m->params, m->params == 1 ? "" : "s", (int)rest.n, rest.s);
        }
        lex_blank(as);
        quoted = lex_peek(as) == '"';
        if (m->param[i].rest)
            value[i] = take_rest(as, a);
        else if (!args_next(as, a, &value[i]))
            return 0;
        given[i] = quoted || value[i].n;
        i++;
        lex_accept(as, ',');
    }
    return args_defaults(as, m, value, given, at);
}

/* ---- substitution ---- */

/* Text that grows; failed is set when memory or the limit runs out. */
struct growing {
    char *text;
    size_t used, capacity, limit;
    int too_long, no_memory;
};

static void grow_put(struct growing *g, const char *s, size_t n)
{
    if (g->used + n > g->limit) {
        g->too_long = 1;
        return;
    }
    if (g->capacity - g->used < n) {
        size_t capacity = 2 * g->capacity + n + 256;
        char *text = emu_realloc(g->text, capacity, 1);

        if (!text) {
            g->no_memory = 1;
            return;
        }
        g->text = text;
        g->capacity = capacity;
    }
    memcpy(g->text + g->used, s, n);
    g->used += n;
}

/* The parameter named at s: the longest run of name characters, or that run cut before a '.' or
 * '$'. */
static const struct span *find_param(struct span s, const struct macro_param *param,
                                     const struct span *value, size_t n, size_t *len)
{
    size_t end = 0;

    while (end < s.n && lex_is_name((unsigned char)s.s[end]))
        end++;
    while (end) {
        for (size_t i = 0; i < n; i++) {
            if (param[i].name.n == end && !memcmp(param[i].name.s, s.s, end)) {
                *len = end;
                return &value[i];
            }
        }
        for (end--; end && s.s[end] != '.' && s.s[end] != '$';)
            end--;
    }
    return NULL;
}

/* Where `x_##arg` fails because arg begins with a backslash, cpp leaves the blank before the
 * argument: `x_ \arg`. */
static void join_failed_paste(const struct as *as, struct growing *g)
{
    size_t n = g->used;

    while (n && g->text[n - 1] == ' ')
        n--;
    if (as->markers && n && g->text[n - 1] == '_')
        g->used = n;
}

/* What stands after the backslash at s.s[0]. Returns the characters used up, 0 to keep the
 * backslash. */
static size_t substitute_one(struct as *as, struct growing *g, struct span s,
                             const struct macro_param *param, const struct span *value, size_t n)
{
    const struct span *found;
    size_t blanks = 1, len;

    if (s.n > 1 && s.s[1] == '@' && as->invocations) {
        char count[16];

        grow_put(g, count, (size_t)snprintf(count, sizeof(count), "%u", as->invocations - 1));
        return 2;
    }
    if (s.n > 2 && s.s[1] == '(' && s.s[2] == ')')
        return 3;
    while (blanks < s.n && s.s[blanks] == ' ') /* cpp puts one where it replaced the name */
        blanks++;
    found = find_param(span_of(s.s + blanks, s.n - blanks), param, value, n, &len);
    if (!found)
        return 0;
    join_failed_paste(as, g);
    grow_put(g, found->s, found->n);
    return blanks + len;
}

int args_substitute(struct as *as, struct span body, const struct macro_param *param,
                    const struct span *value, size_t n, char **out, size_t *len)
{
    struct growing g = { NULL, 0, 0, as->u->options.expansion_bytes - as->expanded, 0, 0 };
    size_t i = 0;

    while (i < body.n && !g.too_long && !g.no_memory) {
        const char *slash = memchr(body.s + i, '\\', body.n - i);
        size_t plain = slash ? (size_t)(slash - body.s) - i : body.n - i;
        size_t used;

        grow_put(&g, body.s + i, plain);
        i += plain;
        if (i == body.n)
            break;
        used = substitute_one(as, &g, span_of(body.s + i, body.n - i), param, value, n);
        if (!used)
            grow_put(&g, "\\", 1);
        i += used ? used : 1;
    }
    *out = g.text;
    *len = g.used;
    if (g.no_memory)
        return unit_no_memory(as->u);
    if (g.too_long) {
        as->stop = 1;
        return as_error(as, lex_here(as), "macros and repeats produce more than %zu bytes",
                        as->u->options.expansion_bytes);
    }
    as->expanded += g.used + 1;
    return 1;
}
