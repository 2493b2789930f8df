/* name_text.c - escapes of JSON, CSV and terminals; what valid UTF-8 is. */
#include "emu/base/alloc.h"
#include "emu/base/name_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

void text_free(struct text_line *t)
{
    ss_free(t->at);
    memset(t, 0, sizeof(*t));
}

void text_add(struct text_line *t, const char *s, size_t n)
{
    if (t->cap - t->count < n) {
        size_t cap = 2 * t->cap + n + 256;
        char *grown = t->failed ? NULL : emu_realloc(t->at, cap, 1);

        t->failed = !grown;
        if (!grown)
            return;
        t->at = grown;
        t->cap = cap;
    }
    if (n && !t->failed)
        memcpy(t->at + t->count, s, n);
    t->count += t->failed ? 0 : n;
}

void text_format(struct text_line *t, const char *fmt, ...)
{
    char s[256];
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(s, sizeof(s), fmt, ap);
    va_end(ap);
    EMU_ASSERT(n >= 0 && (size_t)n < sizeof(s));
    text_add(t, s, (size_t)n);
}

int text_equal(const struct text_line *a, const struct text_line *b)
{
    return a->count == b->count && (!a->count || !memcmp(a->at, b->at, a->count));
}

/* Bytes of the character at s, a text that ends with a zero; 0 when it is not UTF-8. Overlong
 * forms, surrogates and code points above U+10FFFF are not UTF-8. */
static size_t character(const char *s)
{
    const unsigned char *u = (const unsigned char *)s;
    unsigned char low = 0x80, high = 0xbf; /* of the second byte */
    size_t n;

    if (u[0] < 0x80)
        return 1;
    if (u[0] < 0xc2 || u[0] > 0xf4)
        return 0;
    n = u[0] < 0xe0 ? 2 : u[0] < 0xf0 ? 3 : 4;
    if (u[0] == 0xe0)
        low = 0xa0;
    else if (u[0] == 0xed)
        high = 0x9f;
    else if (u[0] == 0xf0)
        low = 0x90;
    else if (u[0] == 0xf4)
        high = 0x8f;
    if (u[1] < low || u[1] > high)
        return 0;
    for (size_t i = 2; i < n; i++) {
        if (u[i] < 0x80 || u[i] > 0xbf)
            return 0;
    }
    return n;
}

int name_ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);

    return n >= m && !memcmp(name + n - m, end, m);
}

int name_is_utf8(const char *name)
{
    while (*name) {
        size_t n = character(name);

        if (!n)
            return 0;
        name += n;
    }
    return 1;
}

/* The character at s, or the replacement of one byte. Returns the bytes of s that were used. */
static size_t add_character(struct text_line *t, const char *s)
{
    size_t n = character(s);

    if (n)
        text_add(t, s, n);
    else
        text_add(t, replacement, sizeof(replacement) - 1);
    return n ? n : 1;
}

void name_add_utf8(struct text_line *t, const char *name)
{
    while (*name)
        name += add_character(t, name);
}

void name_add_json(struct text_line *t, const char *name)
{
    text_add(t, "\"", 1);
    while (*name) {
        unsigned char c = (unsigned char)*name;

        if (c == '"' || c == '\\')
            text_format(t, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            text_format(t, "\\u%04x", c);
        else {
            name += add_character(t, name);
            continue;
        }
        name++;
    }
    text_add(t, "\"", 1);
}

void name_add_csv(struct text_line *t, const char *name)
{
    /* Some readers drop spaces at the ends of a field unless it is quoted. */
    int quoted =
        strpbrk(name, "\",\r\n") || name[0] == ' ' || (*name && name[strlen(name) - 1] == ' ');

    if (quoted)
        text_add(t, "\"", 1);
    while (*name) {
        if (*name == '"')
            text_add(t, "\"", 1);
        name += add_character(t, name);
    }
    if (quoted)
        text_add(t, "\"", 1);
}

void name_add_plain(struct text_line *t, const char *name)
{
    while (*name) {
        unsigned char c = (unsigned char)*name;
        size_t n = character(name);

        /* 0xc2 0x80 to 0xc2 0x9f are control characters, too. */
        if (!n || c < 0x20 || c == 0x7f || c == '\\' ||
            (c == 0xc2 && (unsigned char)name[1] < 0xa0)) {
            text_format(t, "\\x%02x", c);
            name++;
        } else {
            text_add(t, name, n);
            name += n;
        }
    }
}

void name_add_hex(struct text_line *t, const char *name)
{
    for (; *name; name++)
        text_format(t, "%02x", (unsigned char)*name);
}
