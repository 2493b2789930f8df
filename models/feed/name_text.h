/* name_text.h - lines of text that grow, and names of files in them: any bytes become valid JSON,
 * CSV or something to show on a terminal.
 */
#ifndef MODELS_NAME_TEXT_H
#define MODELS_NAME_TEXT_H

#include "programs/programs.h"

/* Zero it before use. After a failed allocation nothing more is added. */
struct text_line {
    char *at; /* owned; not ended by a zero */
    size_t count, cap;
    int failed; /* out of memory */
};

void text_free(struct text_line *t);
void text_add(struct text_line *t, const char *s, size_t n);
void text_format(struct text_line *t, const char *fmt, ...) EMU_PRINTF(2, 3); /* < 256 bytes */

int text_equal(const struct text_line *a, const struct text_line *b);

int name_is_utf8(const char *name);
/* "name" with escapes; each byte that is not UTF-8 becomes U+FFFD. */
void name_add_json(struct text_line *t, const char *name);
/* A field of RFC 4180, in quotes when it must be; odd bytes as above. */
void name_add_csv(struct text_line *t, const char *name);
/* Control characters, backslashes and odd bytes as \xhh. */
void name_add_plain(struct text_line *t, const char *name);
/* All bytes in hexadecimal. */
void name_add_hex(struct text_line *t, const char *name);

#endif
