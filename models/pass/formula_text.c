/* formula_text.c - tokens of formulas (formula_text.h). */
#include "models/pass/formula_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "emu/base/fail.h"

struct formula_token formula_token_next(const char **at)
{
    const char *text = *at + strspn(*at, " ");
    size_t length = strcspn(text, " ");
    struct formula_token t = { .kind = length ? TOKEN_NUMBER : TOKEN_END };

    EMU_ASSERT(length < FORMULA_WORD);
    memcpy(t.word, text, length);
    *at = text + length;
    if (isupper((unsigned char)text[0])) {
        t.kind = TOKEN_WORD;
    } else if (text[0] == '=' || (islower((unsigned char)text[0]) && length == 1)) {
        t.kind = text[0] == '=' ? TOKEN_NAMED : TOKEN_LETTER;
        t.name = (unsigned)(text[text[0] == '='] - 'a');
        EMU_ASSERT(t.name < FORMULA_NAMES);
    } else if (length) {
        t.number = strtod(t.word, NULL);
    }
    return t;
}
