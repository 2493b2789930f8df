/* graph_lex.c - lines, words, names and numbers of a graph file. */
#include "programs/compiler/graph/graph_lex.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "emu/base/name_text.h"

enum { TOKEN_MAX = 64, FOUND_MAX = 40, WHY_MAX = 600 };

/* ---- lines ---- */

/* Goes behind blanks, and to the end of the line where a comment begins. */
static void skip(struct graph_lexer *x)
{
    while (x->at < x->eol && (*x->at == ' ' || *x->at == '\t' || *x->at == '\r'))
        x->at++;
    if (x->at < x->eol && *x->at == '#')
        x->at = x->eol;
}

void token_line(struct graph_lexer *x)
{
    do {
        x->done = x->next >= x->end;
        if (x->done)
            return;
        x->begin = x->next;
        x->eol = memchr(x->begin, '\n', (size_t)(x->end - x->begin));
        x->eol = x->eol ? x->eol : x->end;
        x->next = x->eol < x->end ? x->eol + 1 : x->end;
        x->at = x->begin;
        x->line++;
        while (x->at < x->eol && (*x->at == ' ' || *x->at == '\t'))
            x->at++;
        x->indent = (unsigned)(x->at - x->begin);
        skip(x);
    } while (x->at == x->eol);
}

struct graph_place token_place(const struct graph_lexer *x)
{
    return (struct graph_place){ x->begin, x->line - 1 };
}

void token_return(struct graph_lexer *x, struct graph_place p)
{
    x->next = p.next;
    x->line = p.line;
    token_line(x);
}

/* ---- what is wrong ---- */

/* The rest of the line, for a message. */
static void found_text(const struct graph_lexer *x, char out[FOUND_MAX + 16])
{
    const char *at = x->at;
    size_t n, i;

    while (at < x->eol && (*at == ' ' || *at == '\t'))
        at++;
    n = (size_t)(x->eol - at);
    if (x->done || !n) {
        snprintf(out, FOUND_MAX + 16, "the end of the %s", x->done ? "file" : "line");
        return;
    }
    for (i = 0; i < n && i < FOUND_MAX; i++)
        out[i + 1] = (unsigned char)at[i] < ' ' || at[i] == 127 ? '?' : at[i];
    out[0] = '\'';
    snprintf(out + i + 1, 16, i < n ? "...'" : "'");
}

enum emu_status token_expected(const struct graph_lexer *x, const char *fmt, ...)
{
    char what[WHY_MAX], found[FOUND_MAX + 16];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(what, sizeof(what), fmt, ap);
    va_end(ap);
    found_text(x, found);
    return FAIL(BAD_FILE, "%s:%u: expected %s, found %s", x->file, x->line, what, found);
}

enum emu_status token_wrong(const struct graph_lexer *x, const char *fmt, ...)
{
    char why[WHY_MAX];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(why, sizeof(why), fmt, ap);
    va_end(ap);
    return FAIL(BAD_FILE, "%s:%u: %s", x->file, x->line, why);
}

/* ---- words ---- */

int token_is(struct graph_lexer *x, const char *text)
{
    size_t n = strlen(text);

    skip(x);
    if ((size_t)(x->eol - x->at) < n || memcmp(x->at, text, n))
        return 0;
    return !name_has_char(text[n - 1]) || x->at + n == x->eol || !name_has_char(x->at[n]);
}

int token_take(struct graph_lexer *x, const char *text)
{
    if (!token_is(x, text))
        return 0;
    x->at += strlen(text);
    return 1;
}

enum emu_status token_need(struct graph_lexer *x, const char *text)
{
    return token_take(x, text) ? EMU_OK : token_expected(x, "'%s'", text);
}

int token_take_row(struct graph_lexer *x, const char *const *words, unsigned rows)
{
    for (unsigned k = 0; k < rows; k++) {
        if (words[k] && token_take(x, words[k]))
            return (int)k;
    }
    return -1;
}

int token_is_end(struct graph_lexer *x)
{
    skip(x);
    return x->at == x->eol;
}

enum emu_status token_end(struct graph_lexer *x)
{
    return token_is_end(x) ? EMU_OK : token_expected(x, "the end of the line");
}

/* ---- names ---- */

static int hex_digit(char c)
{
    const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

/* What a backslash and the following characters stand for; 0: nothing. */
static char escaped(struct graph_lexer *x)
{
    int high, low;

    if (x->at < x->eol && (*x->at == '"' || *x->at == '\\'))
        return *x->at++;
    if (x->eol - x->at < 3 || *x->at != 'x')
        return 0;
    high = hex_digit(x->at[1]);
    low = hex_digit(x->at[2]);
    if (high < 0 || low < 0)
        return 0;
    x->at += 3;
    return (char)(16 * high + low);
}

static enum emu_status quoted(struct graph_lexer *x)
{
    for (x->at++; x->at < x->eol && *x->at != '"';) {
        char c = *x->at++;

        if (c == '\\' && !(c = escaped(x)))
            return token_expected(x, "\\\", \\\\ or \\x and two digits");
        if (!c)
            return token_expected(x, "a name without zero bytes");
        TRY(VEC_PUSH(&x->name, c));
    }
    return x->at < x->eol ? (x->at++, EMU_OK) : token_expected(x, "'\"'");
}

enum emu_status token_name(struct graph_lexer *x, const char *what, const char **out)
{
    skip(x);
    x->name.count = 0;
    *out = NULL;
    if (x->at < x->eol && *x->at == '"') {
        TRY(quoted(x));
    } else {
        if (x->at == x->eol || !name_has_char(*x->at) || (*x->at >= '-' && *x->at <= '9'))
            return token_expected(x, "%s", what);
        for (; x->at < x->eol && name_has_char(*x->at); x->at++)
            TRY(VEC_PUSH(&x->name, *x->at));
    }
    TRY(VEC_PUSH(&x->name, '\0'));
    if (!name_is_utf8(x->name.at))
        return token_wrong(x, "expected a name in UTF-8");
    *out = x->name.at;
    return EMU_OK;
}

/* ---- numbers ---- */

int token_is_number(struct graph_lexer *x)
{
    skip(x);
    return x->at < x->eol && *x->at >= '0' && *x->at <= '9';
}

enum emu_status token_number(struct graph_lexer *x, const char *what, uint64_t low, uint64_t high,
                             uint64_t *out)
{
    const char *begin;

    skip(x);
    begin = x->at;
    *out = 0;
    while (x->at < x->eol && *x->at >= '0' && *x->at <= '9' && *out <= UINT64_MAX / 16)
        *out = 10 * *out + (uint64_t)(*x->at++ - '0');
    if (x->at > begin && *out >= low && *out <= high)
        return EMU_OK;
    x->at = begin;
    return token_expected(x, "%s from %llu to %llu", what, (unsigned long long)low,
                          (unsigned long long)high);
}

enum emu_status token_u32(struct graph_lexer *x, const char *what, uint32_t *out)
{
    uint64_t n;

    TRY(token_number(x, what, 0, UINT32_MAX, &n));
    *out = (uint32_t)n;
    return EMU_OK;
}

enum emu_status token_element(struct graph_lexer *x, enum elem e, uint32_t *bits)
{
    char token[TOKEN_MAX];
    const char *expected;
    size_t n = 0;

    skip(x);
    while (x->at + n < x->eol && n < sizeof(token) - 1 &&
           (name_has_char(x->at[n]) || x->at[n] == '+')) {
        token[n] = x->at[n];
        n++;
    }
    token[n] = 0;
    expected = read_element(e, token, bits);
    if (expected)
        return token_expected(x, "%s", expected);
    x->at += n;
    return EMU_OK;
}

enum emu_status token_elem(struct graph_lexer *x, enum elem *out)
{
    for (int e = 0; e < ELEM_COUNT; e++) {
        if (token_take(x, ss_elem_name((enum elem)e))) {
            *out = (enum elem)e;
            return EMU_OK;
        }
    }
    return token_expected(x, "a type: u8, f16, f32, i32 or u32");
}

enum emu_status token_shape(struct graph_lexer *x, unsigned *rank, uint32_t shape[TENSOR_MAX_RANK])
{
    *rank = 0;
    TRY(token_need(x, "["));
    if (token_take(x, "]"))
        return EMU_OK;
    do {
        if (*rank == TENSOR_MAX_RANK)
            return token_expected(x, "at most %d sizes", TENSOR_MAX_RANK);
        TRY(token_u32(x, "a size", &shape[(*rank)++]));
    } while (token_take(x, ","));
    return token_need(x, "]");
}
