/* case.h - a test case: one codelet on one tile, its memory and registers, and what must come out.
 *
 *   case_read       JSON text to struct tile_case                        case_read.c, case_value.c
 *   case_build      assembles, lays memory out, fills the tile           case_build.c, case_place.c
 *   case_execute    runs it                                              case_run.c
 *   case_compare    lists what differs from the expectations             case_compare.c
 *   case_print      the JSON object that `superstep tile` prints         case_print.c
 *
 * docs/case_format.md describes the file. Nothing here knows what a codelet computes.
 */
#ifndef EMU_CASE_H
#define EMU_CASE_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "emu/base/json_read.h"

/* How the codelet is entered. */
enum case_as {
    CASE_WORKER,    /* `run`: worker 0 alone */
    CASE_WORKERS,   /* `runall`: six workers with one vertex state */
    CASE_SUPERVISOR /* `call`: m0 = vertex state, $sp valid, ends with br $lr */
};

/* Element types of arrays. case_value.c has their names, sizes and ranges. */
enum case_type {
    CASE_F16,
    CASE_F32,
    CASE_U32,
    CASE_I32,
    CASE_U16,
    CASE_I16,
    CASE_U8,
    CASE_I8,
    CASE_BYTES, /* a size without values: zeros, printed as u8 */
    CASE_TYPE_COUNT
};

const char *case_type_name(enum case_type t);              /* "f16" */
uint32_t case_type_bytes(enum case_type t);                /* of one element: 1, 2 or 4 */
int case_type_find(const char *name, enum case_type *out); /* 0 if there is no such type */
int case_type_is_float(enum case_type t);

/* A 32-bit word in the data that stands for an address, known only after placing. */
struct case_reloc {
    uint32_t offset;    /* in bytes; the word there holds the addend */
    uint32_t index;     /* element, for messages */
    const char *symbol; /* borrowed from the JSON tree, not terminated */
    uint32_t symbol_len;
};

/* An array of elements, little endian. */
struct case_data {
    enum case_type type;
    uint32_t count, bytes;
    uint8_t *data; /* owned; NULL means zeros */
    struct case_reloc *reloc;
    size_t reloc_count, reloc_cap;
};

/* Where a memory lies. */
struct case_place {
    const char *name; /* borrowed */
    uint32_t region, align;
    int is_fixed;
    uint32_t address; /* "at", where is_fixed */
};

struct case_memory {
    struct case_place place;
    struct case_data init;
};

/* Lane numbers: 0..5 workers, LANE_SUPER the supervisor, and every context that runs. */
enum { CASE_LANE_RUNNING = 255 };

/* Register files: 'm', 'a', 'c' (accumulators), or a CSR space 'W', 'U', 'S'. */
struct case_register {
    uint8_t lane;
    char file;
    uint8_t number;         /* first register, or CSR index */
    struct case_data value; /* consecutive registers, four bytes each */
    const char *name;       /* borrowed: as written, for messages */
    double tolerance, relative;
};

struct case_memory_expect {
    uint32_t memory; /* index in struct tile_case */
    uint32_t from;   /* first element compared, in units of the expectation's type */
    struct case_data value;
    double tolerance,
        relative; /* |got - want| <= tolerance + relative |want|; both 0: equal bits */
};

enum { CASE_WORKER_COUNT = 6 };

struct tile_case {
    json_t *root; /* owned: the strings below live in it */
    char *path;   /* owned: where it was read, for messages */

    const char **source; /* owned array of borrowed paths, relative to the case file */
    size_t source_count;
    const char *text; /* assembly text instead of sources, or NULL */
    const char **include;
    size_t include_count;
    char **define; /* owned array of owned "NAME=VALUE" */
    size_t define_count;
    const char *machine; /* name or file, NULL: mk2 */
    const char *entry;
    enum case_as as;

    struct case_memory *memory;
    size_t memory_count;
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
