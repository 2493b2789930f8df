/* matrix.h - every class of input with every output, report, engine, state of the cache and verb:
 * the program is run for each, and what it says, writes and ends with is checked.
 *
 * A group is a network (tests/fixtures/small_networks.h) with a batch and a source of numbers. It
 * has a folder and one truth: cycles, digest and results of a plain run that is compiled, against
 * which all other combinations of the group are held.
 */
#ifndef TESTS_MATRIX_H
#define TESTS_MATRIX_H

#include <stdatomic.h>
#include <stdint.h>

#include "models/graph/op_tensor.h"
#include "tests/fixtures/small_networks.h"

enum { PATH_BYTES = 512, WORDS_MAX = 64, OUTPUTS_MAX = 2 };

/* What is wrong with a combination. */
enum wrong {
    WRONG_CRASH,  /* ended by a signal, or not in time */
    WRONG_STATUS, /* another exit status, or a refusal that does not name its option */
    WRONG_LOST,   /* a promised file is not there, empty or not well-formed; or one too many */
    WRONG_NUMBER, /* another number or text than the truth, or than another state of the cache */
    WRONG_KINDS
};

/* Of all processes: in shared memory. */
struct totals {
    atomic_uint combinations, failed[WRONG_KINDS];
};

enum source { SOURCE_DRAWN, SOURCE_FILES, SOURCE_PICTURE, SOURCES };

struct matrix {
    const char *program; /* absolute path */
    char folder[PATH_BYTES];
    unsigned networks; /* all inputs, outputs and batches */
    unsigned share;    /* so many of them for each row of the tables */
    uint64_t seed;     /* which ones */
    struct totals *totals;
};

struct group {
    const struct matrix *m;
    const struct small_input *in;
    const struct small_output *out;
    unsigned batch, network_index; /* below matrix.networks */
    enum source source;
    char folder[PATH_BYTES], network[PATH_BYTES];
    uint32_t combination;                 /* the next number */
    uint64_t stream_cycles, train_cycles; /* of all batches, of a first step; 0: not known yet */
    struct {
        int known, failed;
        uint64_t cycles, fullest; /* bytes of the fullest tile */
        char digest[40];
        struct op_tensor value[OUTPUTS_MAX]; /* by small_output.output */
    } truth;
};

/* ---- command lines and processes (matrix_run.c) ---- */

struct words {
    char text[4096]; /* as people type it */
};

/* Adds words with spaces between them. */
void words_add(struct words *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* How a command ended; texts are owned, ended_free(). */
struct ended {
    int code;   /* exit status; -1: a signal */
    int signal; /* SIGALRM: not in time */
    char *out, *err;
};

/* Runs a command in the group's folder. */
struct ended run_words(const struct group *g, const struct words *w);
void ended_free(struct ended *e);

/* Counts and prints something wrong. */
void say_wrong(const struct group *g, enum wrong kind, const struct words *w, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Whether the next combination is one of those that are run: a row of the tables is run with as
 * many networks as matrix.share says, and if these are not all, one row in four with numbers from
 * files or a picture, too. */
int is_picked(struct group *g);

/* ---- checks (matrix_check.c) ---- */

/* What a combination promises. */
struct promise {
    int code;            /* exit status */
    const char *refused; /* of status 2: what the message must have in it */
    const char *files;   /* "p.db c.svg" */
    unsigned has;        /* HAS_... */
};

enum {
    HAS_CYCLES = 1, /* the screen, or the JSON answer, has the cycles of the truth */
    HAS_JSON = 2,   /* stdout is one JSON value */
    HAS_DIGEST = 4, /* and the digest of the truth */
    HAS_VALUES = 8, /* NAME.npy of each output has the numbers of the truth */
    HAS_TEXT = 16,  /* something is printed */
};

/* Checks how a command ended, and what it left. Returns whether all was right. */
int check_ended(const struct group *g, const struct words *w, const struct ended *e,
                const struct promise *p);
/* Whether a file of the group's folder is there and as its name says: .json, .db, .svg, .html,
 * .npy; else not empty. NULL: it is; else why not. */
const char *check_file(const struct group *g, const char *name);
/* An integer of a JSON object in text, key or "key.key"; UINT64_MAX: there is none. */
uint64_t json_number(const char *text, const char *key);
/* The sum of key of all objects of a list of a JSON object in text; UINT64_MAX: there are none, or
 * one without it. */
uint64_t json_sum(const char *text, const char *list, const char *key);
/* The first value of a query on a database of the group's folder; UINT64_MAX: there is none. */
uint64_t db_number(const struct group *g, const char *name, const char *sql);
/* Reads FOLDER/name.npy; 0: it cannot be read. */
int read_numbers(const struct group *g, const char *name, struct op_tensor *out);
int same_numbers(const struct op_tensor *a, const struct op_tensor *b);

/* ---- combinations (matrix_verbs.c) ---- */

/* Finds the truth and runs all picked combinations of a group. */
void run_group(struct group *g);

#endif
