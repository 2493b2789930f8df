/* case.h - a test case: one codelet on one tile, its memory and registers, and what must come out.
 *
 *   case_read       JSON text to struct tile_case                        case_read.c, case_value.c
 *   case_build      assembles, lays memory out, fills the tile           case_build.c, case_place.c
 *   case_execute    runs it                                              case_run.c
 *   case_compare    lists what differs from the expectations             case_compare.c
 *   case_print      the JSON object that `superstep tile` prints         case_print.c
 *
 * The program of a case, with its memories, is that of a manifest with one tile, and is read by the
 * same code. docs/case_format.md describes the file. Nothing here knows what a codelet computes.
 */
#ifndef EMU_CASE_H
#define EMU_CASE_H

#include <stdint.h>
#include <stdio.h>

#include "emu/job/manifest.h"

/* How the codelet is entered. */
enum case_as {
    CASE_WORKER,    /* `run`: worker 0 alone */
    CASE_WORKERS,   /* `runall`: six workers with one vertex state */
    CASE_SUPERVISOR /* `call`: m0 = vertex state, $sp valid, ends with br $lr */
};

struct case_memory_expect {
    uint32_t memory; /* of the program: its index */
    uint32_t from;   /* first element compared, in units of the expectation's type */
    struct case_data value;
    double tolerance,
        relative; /* |got - want| <= tolerance + relative |want|; both 0: equal bits */
};

enum { CASE_WORKER_COUNT = 6 };

struct tile_case {
    json_t *root; /* owned: the strings below live in it */
    char *path;   /* owned: where it was read, for messages */

    struct manifest_program program; /* on tile 0; memories are placed after its code */
    const char **include;            /* owned list of borrowed paths */
    size_t include_count;
    const char *machine; /* name or file, NULL: mk2 */
    enum case_as as;

    struct case_data state; /* u32 words */
    struct case_register *set;
    size_t set_count;
    struct case_data weights; /* common weight state from entry 0 on, count 0: zeros */

    struct case_memory_expect *expect;
    size_t expect_count;
    struct case_register *expect_register;
    size_t expect_register_count;
    struct json_range expect_cycles;
    struct json_range expect_slots[CASE_WORKER_COUNT], expect_instructions;
    int expect_fault; /* enum fault, -1: none is expected */
    uint64_t max_cycles;
    uint32_t stack_bytes, scratch_bytes;
};

/* Reads a case from a file or from text. name appears in messages.
 *
 * out    owned by the caller, NULL on failure; free with case_free
 * Errors EMU_IO, EMU_BAD_FILE (file, line of a syntax error, JSON path, what was expected),
 * EMU_NO_MEMORY Cost   linear in the text */
enum emu_status case_read(const char *path, struct tile_case **out) EMU_MUST_CHECK;
enum emu_status case_read_text(const char *text, size_t bytes, const char *name,
                               struct tile_case **out) EMU_MUST_CHECK;
void case_free(struct tile_case *c); /* NULL allowed */

#endif
