/* bad_files.h - names of files that could not be used, and why: thousands in memory, any number in
 * a temporary file.
 */
#ifndef MODELS_BAD_FILES_H
#define MODELS_BAD_FILES_H

#include <stdint.h>
#include <stdio.h>

#include "models/feed/name_text.h"

enum { BAD_FILES_HELD = 4096 };

/* Zero it before use. */
struct bad_files {
    struct bad_file {
        char *name, *reason; /* owned */
    } held[BAD_FILES_HELD];
    uint64_t count;
    FILE *more;    /* owned; from number BAD_FILES_HELD on: name, 0, reason, 0 */
    uint64_t next; /* the number at `at` of more, which is read next */
    off_t at;
    struct text_line record; /* the last one that was read */
};

void bad_files_free(struct bad_files *b);
/* Errors: EMU_NO_MEMORY; EMU_IO, whose message has the name, when the file cannot be written. */
enum emu_status bad_files_add(struct bad_files *b, const char *name,
                              const char *reason) EMU_MUST_CHECK;
/* i < count. Texts are borrowed until the next call. Cheap when i goes up. */
enum emu_status bad_files_get(struct bad_files *b, uint64_t i, const char **name,
                              const char **reason) EMU_MUST_CHECK;

#endif
