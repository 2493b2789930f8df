/* asm_headers.h - the embedded headers as files, for asm_cpp.c. */
#ifndef EMU_ASM_HEADERS_H
#define EMU_ASM_HEADERS_H

#include <signal.h>
#include <stddef.h>

#include "emu/base/status.h"

struct header_folder {
    char path[256];
    int made;
    sigset_t signals; /* that were blocked before */
};

/* Writes all embedded headers below a new folder, under their names. headers_remove() it, also
 * after an error: EMU_IO. */
enum emu_status headers_write(struct header_folder *h) EMU_MUST_CHECK;
void headers_remove(struct header_folder *h);

/* Takes the folder out of all paths in a text, of which one byte more than *len is there. */
void headers_forget(const struct header_folder *h, char *text, size_t *len);

#endif
