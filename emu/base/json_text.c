/* json_text.c - jansson's strings from bytes that may be no UTF-8. */
#include "emu/base/json_text.h"

#include "emu/base/name_text.h"

json_t *json_text(const char *text)
{
    struct text_line line = { 0 };
    json_t *string;

    if (!text || name_is_utf8(text))
        return json_string(text);
    name_add_utf8(&line, text);
    string = line.failed ? NULL : json_stringn(line.at, line.count);
    text_free(&line);
    return string;
}

int json_take_numbers(const json_t *list, size_t n, uint64_t *out)
{
    int good = json_array_size(list) >= n;

    for (size_t i = 0; i < n && good; i++) {
        const json_t *v = json_array_get(list, i);

        good = json_is_integer(v) && json_integer_value(v) >= 0;
        out[i] = (uint64_t)json_integer_value(v);
    }
    return good;
}
