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
