/* json_line.h - the line of a JSON text on which a value stands; the tree that jansson makes of it
 * no longer knows. */
#ifndef EMU_JSON_LINE_H
#define EMU_JSON_LINE_H

#include <stddef.h>

/* One step from a value to one of its parts. */
struct json_step {
    const char *key; /* of an object; NULL: of an array */
    size_t index;    /* of the array */
};

/* The line (from 1 on) on which the value begins that `steps` lead to from the root; 0 if there is
 * none. text need not end with a zero and has been accepted by jansson; keys with escapes are not
 * found. Cost: linear in the text. */
unsigned json_line(const char *text, size_t bytes, const struct json_step *step, size_t steps);

#endif
