/* json_text.h - strings of JSON from texts that may have any bytes: names of files, of variables
 * and symbols, and messages with such names in them; numbers of JSON from entries of the cache.
 */
#ifndef EMU_JSON_TEXT_H
#define EMU_JSON_TEXT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* A new string with the text's characters; each byte that is not UTF-8 becomes U+FFFD, which
 * json_string() would refuse. NULL when out of memory, or for NULL. */
json_t *json_text(const char *text);

/* Takes the first n numbers of a list. Returns 0 when it has fewer, or one of them is no integer or
 * below 0. */
int json_take_numbers(const json_t *list, size_t n, uint64_t *out);

#endif
