/* manifest_internal.h - what the files that build an image from a manifest share: assembled
 * programs. */
#ifndef EMU_MANIFEST_INTERNAL_H
#define EMU_MANIFEST_INTERNAL_H

#include "emu/asm/asm.h"
#include "emu/job/manifest.h"

/* The sources of a program after the C preprocessor, which ran once for all its tiles. */
struct program_text {
    const struct manifest *m;         /* borrowed */
    const struct manifest_program *p; /* borrowed */
    char **text, **name;              /* owned lists of owned strings */
    size_t *bytes;                    /* owned */
    size_t texts;
    int per_tile; /* a text asks for the tile it is for */
};

/* Runs the C preprocessor. Diagnostics go to messages. Errors: EMU_BAD_ASM, EMU_IO, EMU_NO_MEMORY.
 */
enum emu_status program_preprocess(const struct manifest *m, const struct manifest_program *p,
                                   FILE *messages, struct program_text *out) EMU_MUST_CHECK;
void program_text_free(struct program_text *t);

/* Assembles and links the program for the tile at an index of its list. *out is owned by the
 * caller, also after an error: it holds the diagnostics (NULL when there was no memory). Different
 * tiles may be assembled on different threads. */
enum emu_status program_assemble(const struct program_text *t, size_t index,
                                 struct asm_unit **out) EMU_MUST_CHECK;

#endif
