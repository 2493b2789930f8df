/* byte_store.h - bytes that are put one after the other and taken in the same order: states of a
 * machine that it may be put back into, in the process that made them.
 */
#ifndef EMU_BYTE_STORE_H
#define EMU_BYTE_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "emu/base/fail.h"

struct byte_store {
    uint8_t *data; /* owned; all zero: empty */
    size_t bytes, cap;
    size_t at;  /* where the next bytes are taken */
    int failed; /* there was no memory for some that were put */
};

void byte_store_free(struct byte_store *b);
void byte_put(struct byte_store *b, const void *data, size_t bytes);
/* Asserts that they are there. */
void byte_take(struct byte_store *b, void *out, size_t bytes);
/* A list of `count` elements, and its length. */
void byte_put_list(struct byte_store *b, const void *list, size_t count, size_t size);
/* *list is owned and has room for *cap elements: it grows where it must. EMU_NO_MEMORY. */
enum emu_status byte_take_list(struct byte_store *b, void **list, size_t *count, size_t *cap,
                               size_t size) EMU_MUST_CHECK;

#endif
