/* asm_headers.h - the embedded headers as files, for asm_cpp.c. */
#ifndef EMU_ASM_HEADERS_H
#define EMU_ASM_HEADERS_H

#include <signal.h>
#include <stddef.h>

#include "emu/base/fail.h"

struct header_folder {
    char path[256];
    int made;
    sigset_t signals; /* signals that were blocked before */
};

/* Writes all embedded headers into a new folder, under their own names. Call headers_remove()
 * afterwards, also after an error. Errors: EMU_IO. */
enum emu_status headers_write(struct header_folder *h) EMU_MUST_CHECK;
void headers_remove(struct header_folder *h);

/* Removes the folder's path from all file names in a text of *len bytes, which has room for one
 * byte more. */
void headers_forget(const struct header_folder *h, char *text, size_t *len);

#endif
