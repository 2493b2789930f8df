/* asm_cond.c - conditional assembly. Each .if belongs to the text that contains it: a macro cannot
 * close an .if of its caller. */
#include <string.h>

#include "emu/asm/asm_internal.h"

enum test {
    TEST_NONZERO,
    TEST_ZERO,
    TEST_GT,
    TEST_GE,
    TEST_LT,
    TEST_LE,
    TEST_DEFINED,
    TEST_UNDEFINED,
    TEST_BLANK,
    TEST_NOT_BLANK,
    TEST_SAME,
    TEST_DIFFERENT
};

static const struct test_name {
    const char *name;
    enum test test;
} tests[] = {
    { ".if", TEST_NONZERO },       { ".ifne", TEST_NONZERO },
    { ".ifeq", TEST_ZERO },        { ".ifgt", TEST_GT },
    { ".ifge", TEST_GE },          { ".iflt", TEST_LT },
    { ".ifle", TEST_LE },          { ".ifdef", TEST_DEFINED },
    { ".ifndef", TEST_UNDEFINED }, { ".ifb", TEST_BLANK },
    { ".ifnb", TEST_NOT_BLANK },   { ".ifc", TEST_SAME },
    { ".ifnc", TEST_DIFFERENT },   { ".ifeqs", TEST_SAME },
    { ".ifnes", TEST_DIFFERENT },  { ".ifnotdef", TEST_UNDEFINED },
};

int cond_skipping(const struct as *as)
{
    return as->conditions && !as->condition[as->conditions - 1].active;
}

/* Ends the conditions a text left open. */
int cond_close(struct as *as, unsigned depth)
{
    int ok = 1;

    while (as->conditions > depth) {
        struct condition *c = &as->condition[--as->conditions];

        ok = as_error(as, c->at, "no .endif for this");
    }
    return ok;
}

static struct span unquote(struct span s)
{
    s = span_trim(s);
    if (s.n >= 2 && s.s[0] == '"' && s.s[s.n - 1] == '"')
        return span_of(s.s + 1, s.n - 2);
    return s;
}

/* .ifc a, b: the texts on both sides of the first comma that is not in quotes. */
static int test_same(struct as *as, struct loc at, int *same)
{
    struct span all = lex_statement_text(as), a, b;
    int quoted = 0;
    size_t i;

    for (i = 0; i < all.n && (quoted || all.s[i] != ','); i++)
        quoted ^= all.s[i] == '"';
    if (i == all.n)
        return as_error(as, at, "expected two texts with a comma between them");
    a = unquote(span_of(all.s, i));
    b = unquote(span_of(all.s + i + 1, all.n - i - 1));
    *same = a.n == b.n && !memcmp(a.s, b.s, a.n);
    return 1;
}

static int test_defined(struct as *as, int *defined)
{
    struct span name;
    const struct symbol *s;

    if (!lex_name(as, &name))
        return 0;
    s = symbol_find(as->source, name);
    *defined = s && s->state != SYMBOL_UNDEFINED;
    return 1;
}

static int test_number(struct as *as, enum test test, int *result)
{
    int64_t v;

    if (!expr_parse_number(as, "the condition", &v))
        return 0;
    switch (test) {
    case TEST_ZERO:
        *result = v == 0;
        break;
    case TEST_GT:
        *result = v > 0;
        break;
    case TEST_GE:
        *result = v >= 0;
        break;
    case TEST_LT:
        *result = v < 0;
        break;
    case TEST_LE:
        *result = v <= 0;
        break;
    default:
        *result = v != 0;
        break;
    }
    return 1;
}

static int test_run(struct as *as, enum test test, struct loc at, int *result)
{
    int ok, flip = test == TEST_UNDEFINED || test == TEST_NOT_BLANK || test == TEST_DIFFERENT;

    switch (test) {
    case TEST_DEFINED:
    case TEST_UNDEFINED:
        ok = test_defined(as, result);
        break;
    case TEST_BLANK:
    case TEST_NOT_BLANK:
        *result = lex_statement_text(as).n == 0;
        ok = 1;
        break;
    case TEST_SAME:
    case TEST_DIFFERENT:
        ok = test_same(as, at, result);
        break;
    default:
        ok = test_number(as, test, result);
        break;
    }
    *result ^= flip;
    return ok && lex_expect_end(as);
}

/* A condition that cannot be evaluated skips all its branches. */
static int cond_if(struct as *as, enum test test, struct loc at)
{
    struct condition c = { .parent = (uint8_t)!cond_skipping(as), .taken = 1, .at = at };
    int result = 0, ok = 1;

    if (as->conditions == MAX_CONDITIONS) {
        as->stop = 1;
        return as_error(as, at, "more than %d nested conditions", MAX_CONDITIONS);
    }
    if (!c.parent)
        lex_skip_statement(as);
    else if ((ok = test_run(as, test, at, &result)))
        c.active = c.taken = (uint8_t)result;
    as->condition[as->conditions++] = c;
    return ok;
}

/* The condition that .else, .elseif or .endif belongs to, or NULL. */
static struct condition *innermost(struct as *as, struct span name, struct loc at)
{
    if (as->conditions > as->top->conditions)
        return &as->condition[as->conditions - 1];
    as_error(as, at, "%.*s without .if", (int)name.n, name.s);
    return NULL;
}

static int cond_else(struct as *as, struct span name, struct loc at, int has_test)
{
    struct condition *c = innermost(as, name, at);
    int result = 1, ok = 1;

    if (!c)
        return 0;
    if (c->is_else) {
        c->active = 0;
        return as_error(as, at, "%.*s after .else", (int)name.n, name.s);
    }
    c->is_else = (uint8_t)!has_test;
    c->active = 0;
    if (!c->parent || c->taken) {
        if (has_test)
            lex_skip_statement(as);
    } else if (has_test) {
        ok = test_run(as, TEST_NONZERO, at, &result);
        c->active = c->taken = (uint8_t)(ok && result);
    } else {
        c->active = c->taken = 1;
    }
    return ok && lex_expect_end(as);
}

int cond_directive(struct as *as, struct span name, struct loc at, int *known)
{
    *known = 1;
    for (size_t i = 0; i < EMU_COUNT_OF(tests); i++) {
        if (span_is(name, tests[i].name))
            return cond_if(as, tests[i].test, at);
    }
    if (span_is(name, ".else"))
        return cond_else(as, name, at, 0);
    if (span_is(name, ".elseif"))
        return cond_else(as, name, at, 1);
    if (span_is(name, ".endif")) {
        if (!innermost(as, name, at))
            return 0;
        as->conditions--;
        return lex_expect_end(as);
    }
    *known = 0;
    return 1;
}
