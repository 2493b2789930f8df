/* class_names.h - names of the classes of a network, from a text file: one a line. */
#ifndef MODELS_CLASS_NAMES_H
#define MODELS_CLASS_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "emu/base/fail.h"

struct class_names {
    char *text;        /* owned */
    const char **name; /* owned list of names in text; name[k] is that of class k */
    uint32_t count;
};

/* Reads a text of `bytes` bytes: UTF-8 without control characters, one name on each line, at least
 * one name. Lines may end as on Windows. classes: how many there must be. path is for messages.
 * Errors: EMU_BAD_FILE, EMU_NO_MEMORY; *out is empty then. Free with class_names_free. */
enum emu_status class_names_take(const void *data, size_t bytes, const char *path, uint32_t classes,
                                 struct class_names *out) EMU_MUST_CHECK;
/* The same of a file; EMU_IO, too. */
enum emu_status class_names_read(const char *path, uint32_t classes,
                                 struct class_names *out) EMU_MUST_CHECK;
void class_names_free(struct class_names *c); /* c may be all zero */

/* The name of a class; "" without names. c: NULL allowed. */
const char *class_name(const struct class_names *c, uint32_t class);

#endif
