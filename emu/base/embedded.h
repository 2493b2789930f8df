/* embedded.h - files that are part of the program, so that it needs nothing beside it. The Makefile
 * lists them; embed_files.sh makes the table.
 */
#ifndef EMU_EMBEDDED_H
#define EMU_EMBEDDED_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct embedded_file {
    const char *name;    /* path in the source tree */
    const uint8_t *data; /* aligned to 16 bytes; a zero follows the last byte */
    size_t bytes;
};

extern const struct embedded_file embedded_files[]; /* ends with a row without a name */

const struct embedded_file *embedded_find(const char *name); /* NULL: there is none */

/* Does open(path, O_RDONLY | flags). If there is no such file, opens the embedded file of that
 * name, if there is one. Returns -1 with errno like open(). */
int embedded_open(const char *path, int flags);
FILE *embedded_fopen(const char *path); /* the same as a stream; NULL with errno */

#endif
