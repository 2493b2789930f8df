/* request.h - what a command was asked for: the one struct that the command line becomes, on every
 * floor. Its fields are the rows of options.def.
 *
 *   commands.h           a command: its name, what it takes, the function that answers a request
 *   request.c            the command line to a request
 *   request_machine.c    a request to a machine
 */
#ifndef EMU_REQUEST_H
#define EMU_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "emu/arch/arch.h"
#include "emu/base/fail.h"

/* What `run` and `compile` take. */
enum {
    THING_MANIFEST = 1 << 0, /* FILE.bsp.json */
    THING_SOURCE = 1 << 1,   /* FILE.S: runs on all tiles, from its label main on */
    THING_IMAGE = 1 << 2,    /* FILE.img */
    THING_PROGRAM = 1 << 3,  /* known by name, compiled */
    THING_NETWORK = 1 << 4,  /* known by name */
    THING_ONNX = 1 << 5,     /* FILE.onnx: a network, compiled */
    THING_FILES = THING_MANIFEST | THING_SOURCE | THING_IMAGE,
    THING_ALL = THING_FILES | THING_PROGRAM | THING_NETWORK | THING_ONNX
};

/* Uses: a bit for `run` of each thing, one for `compile` of each, one for `sweep` of three, and one
 * for each other command. */
enum {
    USE_COMPILE_SHIFT = 6,
    USE_RUN = THING_ALL,
    USE_COMPILE = THING_ALL << USE_COMPILE_SHIFT,
    USE_TILE = 1 << 12,
    USE_STREAM = 1 << 13,
    USE_MODELS = 1 << 14,
    USE_MACHINES = 1 << 15,
    USE_ASM = 1 << 16,
    USE_DIS = 1 << 17,
    USE_DIFF = 1 << 18,
    USE_LAB = 1 << 19,  /* the list; a program of the lab is run */
    USE_CASE = 1 << 20, /* `run` of a case, which is for one tile */
    USE_VALIDATE = 1 << 21,
    USE_CACHE = 1 << 22,
    USE_OPERATORS = 1 << 23,
    USE_REPORT = 1 << 24,
    USE_TRAIN = 1 << 25,
    USE_COMPARE = 1 << 26,
    USE_EVALUATE = (int)(1u << 31),
    USE_STEP = 1 << 27,   /* with the use of `run` of the same thing; its options say both */
    USE_SWEEP_SHIFT = 25, /* a bit for `sweep` of a program, of a network, of an ONNX file */
    USE_SWEEP = (THING_PROGRAM | THING_NETWORK | THING_ONNX) << USE_SWEEP_SHIFT
};

/* What was said with an option that may be repeated. */
struct option_list {
    const char **item; /* owned list of borrowed texts */
    size_t count;
};

#define FIELD_FLAG   int
#define FIELD_TEXT   const char *
#define FIELD_NUMBER uint64_t
#define FIELD_PART   double
#define FIELD_REAL   double
#define FIELD_WORD   unsigned
#define FIELD_LIST   struct option_list

struct request {
    const struct command *command; /* borrowed */
    unsigned use;                  /* one of its uses: also what `what` is */
    const char *what;              /* the first argument; NULL: there is none */
    const void *known;             /* what its name means to the command; borrowed */
    char *path;                    /* owned: the file that the name means; else NULL */
    char *bytes;                   /* owned: what came through a pipe; else NULL */
    size_t byte_count;             /* of bytes */
    struct option_list argument;   /* all of them, in order */
    unsigned char *given;          /* owned; by OPTION_x */
#define OPTION(field, kind, letter, name, arg, low, high, uses, help) FIELD_##kind field;
#include "emu/cli/options.def"
};

enum option_id {
#define OPTION(field, kind, letter, name, arg, low, high, uses, help) OPTION_##field,
#include "emu/cli/options.def"
    OPTION_COUNT
};

/* Whether the option was given. */
int request_has(const struct request *q, enum option_id o);

/* Writes "superstep COMMAND: " and emu_error() to stderr; with a subject "superstep COMMAND:
 * SUBJECT: ". Returns EXIT_BAD. */
int request_failed(const struct request *q, const char *subject);

/* The machine of --machine and --set, `fallback` where none was named. Errors: EMU_BAD_MACHINE,
 * EMU_IO, EMU_NO_MEMORY. */
enum emu_status request_machine(const struct request *q, const char *fallback,
                                struct arch *out) EMU_MUST_CHECK;
/* The same for a program to run on; EMU_USAGE, too, for several chips, of which only one is
 * emulated: request_check_arch(). */
enum emu_status request_arch(const struct request *q, const char *fallback,
                             struct arch *out) EMU_MUST_CHECK;
enum emu_status request_check_arch(const struct arch *a) EMU_MUST_CHECK;
/* The same where no name stands for the machine: *a is it, unless --machine names another. */
enum emu_status request_arch_from(const struct request *q, struct arch *a) EMU_MUST_CHECK;

/* A number, decimal or with 0x, from low to high; 0 when the text is none. */
int request_number(const char *text, uint64_t low, uint64_t high, uint64_t *out);

#endif
