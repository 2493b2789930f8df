/* bad_files.h - names of files that could not be used, and why: the first BAD_FILES_HELD in memory,
 * the others in a temporary file.
 */
#ifndef MODELS_BAD_FILES_H
#define MODELS_BAD_FILES_H

#include <stdint.h>
#include <stdio.h>

#include "emu/base/name_text.h"

enum { BAD_FILES_HELD = 4096 };

/* Zero it before use. */
struct bad_files {
    struct bad_file {
        char *name, *reason; /* owned */
    } held[BAD_FILES_HELD];
    uint64_t count;
    FILE *more;    /* owned; entries from BAD_FILES_HELD on, each: name, 0, reason, 0 */
    uint64_t next; /* the entry that begins at byte `at` of more */
    off_t at;
    struct text_line record; /* the entry of more that was read last */
};

void bad_files_free(struct bad_files *b);
/* Errors: EMU_NO_MEMORY; EMU_IO when the temporary file cannot be written; its message has the
 * name of the bad file. */
enum emu_status bad_files_add(struct bad_files *b, const char *name,
                              const char *reason) EMU_MUST_CHECK;
/* i < count. Texts are borrowed until the next call. Cheap if i goes up from call to call. */
enum emu_status bad_files_get(struct bad_files *b, uint64_t i, const char **name,
                              const char **reason) EMU_MUST_CHECK;

#endif
