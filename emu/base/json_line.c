/* json_line.c - walks a JSON text that is known to be valid, and counts its lines. */
#include "emu/base/json_line.h"

#include <string.h>

struct scan {
    const char *p, *end;
    unsigned line;
};

/* The character at the place, 0 at the end. */
static char peek(const struct scan *s)
{
    return s->p < s->end ? *s->p : 0;
}

static void skip(struct scan *s)
{
    s->line += peek(s) == '\n';
    s->p += s->p < s->end;
}

static void skip_space(struct scan *s)
{
    while (peek(s) && strchr(" \t\r\n", peek(s)))
        skip(s);
}

/* Past one of these characters, if it is next. */
static int accept(struct scan *s, char c)
{
    skip_space(s);
    if (peek(s) != c)
        return 0;
    skip(s);
    return 1;
}

static void skip_string(struct scan *s)
{
    skip(s);
    while (peek(s) && peek(s) != '"') {
        if (peek(s) == '\\')
            skip(s);
        skip(s);
    }
    skip(s);
}

/* Past one value: up to the comma or bracket that follows it. */
static void skip_value(struct scan *s)
{
    unsigned depth = 0;

    for (;;) {
        char c = peek(s);

        if (!c || (!depth && strchr(",]}", c)))
            return;
        if (c == '"') {
            skip_string(s);
            continue;
        }
        depth += c == '[' || c == '{';
        depth -= c == ']' || c == '}';
        skip(s);
    }
}

/* Into an array, to the start of one of its values. */
static int enter_array(struct scan *s, size_t index)
{
    if (!accept(s, '['))
        return 0;
    while (index--) {
        skip_value(s);
        if (!accept(s, ','))
            return 0;
    }
    return 1;
}

/* Into an object, to the start of the value of a key. */
static int enter_object(struct scan *s, const char *key)
{
    size_t n = strlen(key);

    if (!accept(s, '{'))
        return 0;
    do {
        const char *name;
        int found;

        skip_space(s);
        name = s->p + 1;
        skip_string(s);
        found = (size_t)(s->p - name) == n + 1 && !memcmp(name, key, n);
        if (!accept(s, ':'))
            return 0;
        if (found)
            return 1;
        skip_value(s);
    } while (accept(s, ','));
    return 0;
}

unsigned json_line(const char *text, size_t bytes, const struct json_step *step, size_t steps)
{
    struct scan s = { text, text + bytes, 1 };

    for (size_t i = 0; i < steps; i++) {
        if (!(step[i].key ? enter_object(&s, step[i].key) : enter_array(&s, step[i].index)))
            return 0;
    }
    skip_space(&s);
    return peek(&s) ? s.line : 0;
}
