/* onnx_text.c - short texts of a file. */
#include <string.h>

#include "emu/base/name_text.h"
#include "models/onnx/onnx_text.h"

enum { SHOWN_MAX = 120 };

char *onnx_text_copy(struct wire_span s, char out[ONNX_TEXT_MAX + 1])
{
    size_t n = wire_length(s);

    EMU_ASSERT(n <= ONNX_TEXT_MAX);
    if (n)
        memcpy(out, s.at, n);
    out[n] = '\0';
    return out;
}

enum emu_status onnx_text_check(struct wire_span s)
{
    char text[ONNX_TEXT_MAX + 1];

    if (wire_length(s) > ONNX_TEXT_MAX)
        return FAIL(BAD_FILE, "a text of %zu bytes: at most %d", wire_length(s), ONNX_TEXT_MAX);
    for (const uint8_t *p = s.at; p < s.end; p++) {
        if (*p < 0x20 || *p == 0x7f || (*p == 0xc2 && p + 1 < s.end && p[1] < 0xa0))
            return FAIL(BAD_FILE, "a text with a control character");
    }
    if (!name_is_utf8(onnx_text_copy(s, text)))
        return FAIL(BAD_FILE, "a text that is not UTF-8");
    return EMU_OK;
}

int onnx_text_is(struct wire_span s, const char *text)
{
    size_t n = strlen(text);

    return wire_length(s) == n && (!n || !memcmp(s.at, text, n));
}

int onnx_text_same(struct wire_span a, struct wire_span b)
{
    size_t n = wire_length(a);

    return wire_length(b) == n && (!n || !memcmp(a.at, b.at, n));
}

enum emu_status onnx_text_number(struct wire_span s, uint64_t *out)
{
    *out = 0;
    if (s.at == s.end || wire_length(s) > 18)
        return FAIL(BAD_FILE, "a number of %zu digits", wire_length(s));
    for (const uint8_t *p = s.at; p < s.end; p++) {
        if (*p < '0' || *p > '9')
            return FAIL(BAD_FILE, "a number that is not made of digits");
        *out = *out * 10 + (uint64_t)(*p - '0');
    }
    return EMU_OK;
}

int onnx_text_shown(struct wire_span s)
{
    size_t n = wire_length(s);

    if (n > SHOWN_MAX) {
        n = SHOWN_MAX;
        while (n && (s.at[n] & 0xc0) == 0x80) /* between the bytes of a character */
            n--;
    }
    return (int)n;
}
