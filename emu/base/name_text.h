/* name_text.h - lines of text that grow, and names of files in them: a name may have any bytes, and
 * becomes valid JSON, valid CSV, or text that is safe on a terminal.
 */
#ifndef EMU_NAME_TEXT_H
#define EMU_NAME_TEXT_H

#include <stddef.h>

#include "emu/base/status.h"

/* Zero it before use. After a failed allocation nothing is added any more. */
struct text_line {
    char *at; /* owned; not ended by a zero */
    size_t count, cap;
    int failed; /* out of memory */
};

void text_free(struct text_line *t);
void text_add(struct text_line *t, const char *s, size_t n);
void text_format(struct text_line *t, const char *fmt, ...) EMU_PRINTF(2, 3); /* < 256 bytes */

int text_equal(const struct text_line *a, const struct text_line *b);

/* Whether the last bytes of a name are these. */
int name_ends_with(const char *name, const char *end);
int name_is_utf8(const char *name);
/* Adds the name; each byte that is not UTF-8 becomes U+FFFD. */
void name_add_utf8(struct text_line *t, const char *name);
/* Adds "name" with escapes; each byte that is not UTF-8 becomes U+FFFD. */
void name_add_json(struct text_line *t, const char *name);
/* Adds a field of RFC 4180, quoted where necessary; bytes that are not UTF-8 as above. */
void name_add_csv(struct text_line *t, const char *name);
/* Adds the name with control characters, backslashes and bytes that are not UTF-8 as \xhh. */
void name_add_plain(struct text_line *t, const char *name);
/* Adds all bytes in hexadecimal. */
void name_add_hex(struct text_line *t, const char *name);

#endif
