/* request.h - what a command was asked for: the struct that the command line becomes, with the
 * values of the options of all floors.
 *
 *   commands.h           a command: its name, what it takes, the function that answers a request
 *   request.c            the command line to a request
 *   request_machine.c    a request to a machine
 */
#ifndef EMU_REQUEST_H
#define EMU_REQUEST_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "emu/arch/arch.h"
#include "emu/base/fail.h"

/* A set of uses: a bit for `run` of each thing, one for `compile` of each, one for `sweep` of each,
 * and one for each other command. */
typedef uint64_t use_set;
#define USE_BIT(n) ((use_set)1 << (n))

/* What `run`, `compile` and `sweep` take: bits 0 to 7, 3 to 7 those of floors above. */
#define THING_MANIFEST USE_BIT(0) /* FILE.bsp.json */
#define THING_SOURCE   USE_BIT(1) /* FILE.S: runs on all tiles, from its label main on */
#define THING_IMAGE    USE_BIT(2) /* FILE.img */
#define THING_FILES    (THING_MANIFEST | THING_SOURCE | THING_IMAGE)
#define THING_ALL      (USE_BIT(8) - 1)

/* Uses of things: those of `run` are the bits of the things. */
enum { USE_COMPILE_SHIFT = 8, USE_SWEEP_SHIFT = 16 };
#define USE_RUN     THING_ALL
#define USE_COMPILE (THING_ALL << USE_COMPILE_SHIFT)
#define USE_SWEEP   (THING_ALL << USE_SWEEP_SHIFT)

/* Other commands: 24 to 39; from 40 on those of floors above. */
#define USE_STEP     USE_BIT(24) /* with the use of `run` of the same thing; its options say both */
#define USE_CASE     USE_BIT(25) /* `run` of a case, which is for one tile */
#define USE_TILE     USE_BIT(26)
#define USE_MACHINES USE_BIT(27)
#define USE_ASM      USE_BIT(28)
#define USE_DIS      USE_BIT(29)
#define USE_DIFF     USE_BIT(30)
#define USE_CACHE    USE_BIT(31)
#define USE_REPORT   USE_BIT(32)
#define USE_COMPARE  USE_BIT(33)

#define USE_ANY (~(use_set)0)

/* What was said with an option that may be repeated. */
struct option_list {
    const char **item; /* owned list of borrowed texts */
    size_t count;
};

/* The value of an option, by its kind (options_begin.inc). */
union option_value {
    int flag;
    const char *text;
    uint64_t number;
    double part, real;
    unsigned word;
    struct option_list list;
};

enum {
    OPTIONS_MAX = 192
}; /* more than the tables have rows, so that a new one changes no struct */

/* A plain value: a copy borrows the lists. */
struct request {
    const struct command *command; /* borrowed */
    use_set use;                   /* one of its uses: also what `what` is */
    const char *what;              /* the first argument; NULL: there is none */
    const void *known;             /* what its name means to the command; borrowed */
    char *path;                    /* owned: the file that the name means; else NULL */
    char *bytes;                   /* owned: what came through a pipe; else NULL */
    size_t byte_count;             /* of bytes */
    struct option_list argument;   /* all of them, in order */
    FILE *heard; /* of a request that a program makes by a call: what hears all that is said; NULL:
                  * it was typed, stdout and stderr do. Borrowed */
    unsigned char given[OPTIONS_MAX];
    union option_value value[OPTIONS_MAX]; /* both by OPTION_x */
};

#define OPTION_OF_FLAG(q, o)   (q)->value[o].flag
#define OPTION_OF_TEXT(q, o)   (q)->value[o].text
#define OPTION_OF_NUMBER(q, o) (q)->value[o].number
#define OPTION_OF_PART(q, o)   (q)->value[o].part
#define OPTION_OF_REAL(q, o)   (q)->value[o].real
#define OPTION_OF_WORD(q, o)   (q)->value[o].word
#define OPTION_OF_LIST(q, o)   &(q)->value[o].list
#define OPTION_TYPE_FLAG       int
#define OPTION_TYPE_TEXT       const char *
#define OPTION_TYPE_NUMBER     uint64_t
#define OPTION_TYPE_PART       double
#define OPTION_TYPE_REAL       double
#define OPTION_TYPE_WORD       unsigned
#define OPTION_TYPE_LIST       const struct option_list *

/* A source says with OPTION_READ(kind, x) that it reads the option of the row OPTION(x, kind, ...),
 * whichever floor has it, and has its value as option_x(q), its number as OPTION_x. A row that is
 * not there, or is of another kind, does not link. So a row compiles only the tables
 * (models/cli/front_options.c). Some need the number alone, hence `unused`. */
#define OPTION_READ(kind, field)                                                                   \
    extern const unsigned OPTION_##field, OPTION_##kind##_##field;                                 \
    __attribute__((unused)) static inline OPTION_TYPE_##kind option_##field(                       \
        const struct request *q)                                                                   \
    {                                                                                              \
        return OPTION_OF_##kind(q, OPTION_##kind##_##field);                                       \
    }

/* Where what is no answer goes, and the answers. */
static inline FILE *request_notes(const struct request *q)
{
    return q->heard ? q->heard : stderr;
}
static inline FILE *request_answers(const struct request *q)
{
    return q->heard ? q->heard : stdout;
}
/* Where progress goes; NULL: nowhere, it is a quiet command. */
FILE *request_progress(const struct request *q);

/* Whether the option was given. */
int request_has(const struct request *q, unsigned option);

/* Writes "superstep COMMAND: " and ss_error() to stderr; with a subject "superstep COMMAND:
 * SUBJECT: ", unless the message begins with that already. Returns EXIT_BAD. */
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
/* Both where no name stands for the machine: *a is it, unless --machine names another. */
enum emu_status request_machine_from(const struct request *q, struct arch *a) EMU_MUST_CHECK;
enum emu_status request_arch_from(const struct request *q, struct arch *a) EMU_MUST_CHECK;
/* The same for a program of so many chips, or of one whose machine may have several: *a has as many
 * where nobody says how many; EMU_USAGE where they are no whole replicas. */
enum emu_status request_arch_of_chips(const struct request *q, uint32_t chips,
                                      struct arch *a) EMU_MUST_CHECK;

/* A number, decimal or with 0x, from low to high; 0 when the text is none. */
int request_number(const char *text, uint64_t low, uint64_t high, uint64_t *out);

#endif
