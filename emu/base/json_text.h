/* json_text.h - strings of JSON from texts that may have any bytes: names of files, of variables
 * and symbols, and messages with such names in them.
 */
#ifndef EMU_JSON_TEXT_H
#define EMU_JSON_TEXT_H

#include <jansson.h>

/* A new string with the text's characters; each byte that is not UTF-8 becomes U+FFFD, which
 * json_string() would refuse. NULL when out of memory, or for NULL. */
json_t *json_text(const char *text);

#endif
