/* isa_run.h - runs the rows of a block in every mode that must agree. */
#ifndef TESTS_ISA_RUN_H
#define TESTS_ISA_RUN_H

#include "emu/job/case_run.h"
#include "tests/isa/isa_text.h"

/* How the code stands in the program. The supervisor has only the first. */
enum isa_shape { SHAPE_LONE, SHAPE_BUNDLE, SHAPE_RPT, SHAPE_COUNT };

/* Who runs it: one worker, six with the same inputs, six with six different rows, the supervisor.
 */
enum isa_crew { CREW_ONE, CREW_SIX, CREW_MIXED, CREW_SUPER, CREW_COUNT };

struct isa_mode {
    enum isa_shape shape;
    enum isa_crew crew;
    int plain;
};

enum { ISA_MODES = SHAPE_COUNT * CREW_COUNT * 2 };

struct isa_mode isa_mode_at(unsigned i);             /* i < ISA_MODES */
void isa_mode_name(struct isa_mode m, char out[32]); /* "fast-six-bundle" */

/* A block assembled with the {name} columns of one row. */
struct isa_program {
    const struct isa_block *block;
    struct manifest m; /* a case; it owns nothing */
    struct manifest_program program;
    struct tile_case start;
    char *text;           /* owned */
    struct case_run *run; /* owned */
    uint8_t *image[3];    /* owned: memory as loaded, by enum case_as; NULL until needed */
};

/* Whether the code can stand in a worker's program in that shape; whether the block can run in a
 * mode at all. */
int isa_shape_applies(const struct isa_block *b, enum isa_shape shape);
int isa_mode_applies(const struct isa_block *b, struct isa_mode m);

enum emu_status isa_program_new(const struct isa_block *b, const struct isa_row *row,
                                struct isa_program **out) EMU_MUST_CHECK;
void isa_program_free(struct isa_program *p);

/* Checks that the code contains the form the block names, and that its disassembly assembles to the
 * same words. */
enum emu_status isa_program_check(const struct isa_program *p) EMU_MUST_CHECK;

/* Value of a token as an address or number; 0 if it has none ("?", an unknown symbol). */
int isa_token_value(const struct isa_program *p, const char *text, enum isa_shape shape, int super,
                    uint64_t *out);

/* Runs row i (in CREW_MIXED with the rows after it on the other workers). Returns 1 if everything
 * is as expected, else 0 with the first difference in why. */
int isa_run_row(struct isa_program *p, size_t row, struct isa_mode m, char *why, size_t bytes);

#endif
