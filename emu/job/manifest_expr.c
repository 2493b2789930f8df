/* manifest_expr.c - integer expressions in manifests: "tile * 3 + i", "tile < 4 ? 1 : 2". One pass,
 * no tree. */
#include <string.h>

#include "emu/job/manifest.h"

enum { MAX_DEPTH = 64 };

struct parser {
    const char *p;
    const struct expr_variable *variable;
    size_t variables;
    unsigned depth;
    const char *why; /* NULL while all is well */
};

static const struct infix {
    char text[3];
    uint8_t level;
    char op;
} infixes[] = {
    /* two characters before one */
    { "||", 1, 'O' }, { "&&", 2, 'A' }, { "==", 6, '=' }, { "!=", 6, 'n' }, { "<=", 7, 'l' },
    { ">=", 7, 'g' }, { "<<", 8, 'L' }, { ">>", 8, 'R' }, { "|", 3, '|' },  { "^", 4, '^' },
    { "&", 5, '&' },  { "<", 7, '<' },  { ">", 7, '>' },  { "+", 9, '+' },  { "-", 9, '-' },
    { "*", 10, '*' }, { "/", 10, '/' }, { "%", 10, '%' },
};

static int64_t ternary(struct parser *q);

static int64_t fail(struct parser *q, const char *why)
{
    if (!q->why)
        q->why = why;
    return 0;
}

static void skip_blanks(struct parser *q)
{
    while (*q->p == ' ' || *q->p == '\t' || *q->p == '\n')
        q->p++;
}

static int is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int digit_value(char c)
{
    if (is_digit(c))
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'z' ? c - 'a' + 10 : 99;
}

static int64_t number(struct parser *q)
{
    int base = 10;
    uint64_t v = 0;

    if (q->p[0] == '0' && (q->p[1] | 0x20) == 'x') {
        base = 16;
        q->p += 2;
        if (digit_value(*q->p) >= base)
            return fail(q, "expected digits after 0x");
    }
    for (; digit_value(*q->p) < base; q->p++) {
        if (__builtin_mul_overflow(v, (uint64_t)base, &v) ||
            __builtin_add_overflow(v, (uint64_t)digit_value(*q->p), &v) || v > INT64_MAX)
            return fail(q, "a number of more than 63 bits");
    }
    return is_letter(*q->p) ? fail(q, "a letter in a number") : (int64_t)v;
}

static int64_t variable(struct parser *q)
{
    const char *start = q->p;

    while (is_letter(*q->p) || is_digit(*q->p))
        q->p++;
    for (size_t i = 0; i < q->variables; i++) {
        const char *name = q->variable[i].name;

        if (strlen(name) == (size_t)(q->p - start) && !memcmp(name, start, strlen(name)))
            return q->variable[i].value;
    }
    return fail(q, "an unknown name");
}

static int64_t unary(struct parser *q)
{
    int64_t v;
    char c;

    skip_blanks(q);
    c = *q->p;
    if (is_digit(c))
        return number(q);
    if (is_letter(c))
        return variable(q);
    if (!c || !strchr("(-~!+", c))
        return fail(q, "expected a number, a name or '('");
    if (q->depth == MAX_DEPTH)
        return fail(q, "nested too deeply");
    q->depth++;
    q->p++;
    v = c == '(' ? ternary(q) : unary(q);
    q->depth--;
    skip_blanks(q);
    if (c == '(' && !q->why) {
        if (*q->p != ')')
            return fail(q, "expected ')'");
        q->p++;
    }
    return c == '-' ? (int64_t)(0 - (uint64_t)v) : c == '~' ? ~v : c == '!' ? !v : v;
}

static int64_t divide(struct parser *q, char op, int64_t a, int64_t b)
{
    if (!b)
        return fail(q, "division by zero");
    if (b == -1)
        return op == '/' ? (int64_t)(0 - (uint64_t)a) : 0;
    return op == '/' ? a / b : a % b;
}

static int64_t apply(struct parser *q, char op, int64_t a, int64_t b)
{
    uint64_t x = (uint64_t)a, y = (uint64_t)b;

    switch (op) {
    case 'O':
        return a || b;
    case 'A':
        return a && b;
    case '=':
        return a == b;
    case 'n':
        return a != b;
    case 'l':
        return a <= b;
    case 'g':
        return a >= b;
    case '<':
        return a < b;
    case '>':
        return a > b;
    case 'L':
        return y < 64 ? (int64_t)(x << y) : 0;
    case 'R':
        return y < 64 ? a >> y : a >> 63;
    case '|':
        return a | b;
    case '^':
        return a ^ b;
    case '&':
        return a & b;
    case '+':
        return (int64_t)(x + y);
    case '-':
        return (int64_t)(x - y);
    case '*':
        return (int64_t)(x * y);
    default:
        return divide(q, op, a, b);
    }
}

static const struct infix *peek_infix(struct parser *q)
{
    skip_blanks(q);
    for (size_t i = 0; i < EMU_COUNT_OF(infixes); i++) {
        if (*q->p == infixes[i].text[0] && !strncmp(q->p, infixes[i].text, strlen(infixes[i].text)))
            return &infixes[i];
    }
    return NULL;
}

static int64_t binary(struct parser *q, unsigned level)
{
    int64_t v = unary(q);
    const struct infix *o;

    while (!q->why && (o = peek_infix(q)) && o->level >= level) {
        q->p += strlen(o->text);
        v = apply(q, o->op, v, binary(q, o->level + 1u));
    }
    return v;
}

/* Both branches are read, and a division by zero in either is an error. */
static int64_t ternary(struct parser *q)
{
    int64_t v = binary(q, 1), yes, no;

    skip_blanks(q);
    if (q->why || *q->p != '?')
        return v;
    if (q->depth == MAX_DEPTH)
        return fail(q, "nested too deeply");
    q->depth++;
    q->p++;
    yes = ternary(q);
    skip_blanks(q);
    if (!q->why && *q->p != ':')
        return fail(q, "expected ':'");
    q->p += *q->p == ':';
    no = ternary(q);
    q->depth--;
    return v ? yes : no;
}

int expr_evaluate(const char *text, const struct expr_variable *v, size_t variables, int64_t *out,
                  const char **why)
{
    struct parser q = { .p = text, .variable = v, .variables = variables };

    *out = ternary(&q);
    skip_blanks(&q);
    if (!q.why && *q.p)
        fail(&q, "expected an operator or the end");
    *why = q.why;
    return !q.why;
}
