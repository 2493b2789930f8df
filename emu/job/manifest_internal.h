/* manifest_internal.h - what the files that read manifests share, and those that assemble their
 * programs. */
#ifndef EMU_MANIFEST_INTERNAL_H
#define EMU_MANIFEST_INTERNAL_H

#include "emu/asm/asm.h"
#include "emu/job/manifest.h"

/* What the functions of a reader read into. */
struct manifest_reading {
    struct manifest *m;
    const struct manifest_options *o;
};

static inline struct manifest *manifest_of(const struct json_reader *r)
{
    const struct manifest_reading *reading = r->ctx;

    return reading->m;
}

/* What a case has at its root beside the keys of a manifest: how its codelet is entered, with what;
 * an entry of "expect" with "register"; the other expectations. */
enum emu_status case_read_start(const struct json_reader *r) EMU_MUST_CHECK;
enum emu_status case_read_expect_register(const struct json_reader *r, const struct json_path *at,
                                          const json_t *v) EMU_MUST_CHECK;
enum emu_status case_read_expectations(const struct json_reader *r) EMU_MUST_CHECK;

/* Reads "parameters" and puts their values into the tree; `machine` is known. EMU_USAGE: what was
 * given is none of them, or out of range. manifest_params.c */
enum emu_status manifest_resolve_parameters(const struct json_reader *r) EMU_MUST_CHECK;

/* The sources of a program after the C preprocessor, which ran once for all its tiles. */
struct program_text {
    const struct manifest *m;         /* borrowed */
    const struct manifest_program *p; /* borrowed */
    char **text, **name;              /* owned lists of owned strings, or bytes of objects */
    size_t *bytes;                    /* owned */
    size_t texts;
    int per_tile; /* a text asks for the tile it is for */
    int per_chip; /* or for the chip */
    int objects;  /* some are objects or archives */
};

/* Runs the C preprocessor, or only reads the sources (m->raw). Diagnostics go to messages, NULL: to
 * nobody. Errors: EMU_BAD_ASM, EMU_IO, EMU_NO_MEMORY. */
enum emu_status program_preprocess(const struct manifest *m, const struct manifest_program *p,
                                   FILE *messages, struct program_text *out) EMU_MUST_CHECK;
void program_text_free(struct program_text *t);

/* Assembles and links the program for the tile at an index of its list, of a chip. *out is owned by
 * the caller, also after an error: it holds the diagnostics (NULL when there was no memory).
 * Different tiles may be assembled on different threads. */
enum emu_status program_assemble(const struct program_text *t, uint32_t chip, size_t index,
                                 struct asm_unit **out) EMU_MUST_CHECK;

#endif
