/* json_line.h - finds the line of a JSON text on which a value begins; the tree that jansson parses
 * does not record it. */
#ifndef EMU_JSON_LINE_H
#define EMU_JSON_LINE_H

#include <stddef.h>

/* One step from a value to one of its parts. */
struct json_step {
    const char *key; /* of an object; NULL: of an array */
    size_t index;    /* of the array */
};

/* The line, counted from 1, on which a value begins; 0 if there is no such value. The steps lead
 * from the root to the value. text must have been accepted by jansson and need not end with a zero.
 * Keys with escapes are not found. Cost: linear in the text. */
unsigned json_line(const char *text, size_t bytes, const struct json_step *step, size_t steps);

#endif
