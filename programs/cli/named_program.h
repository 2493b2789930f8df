/* named_program.h - programs that `superstep run NAME` and `superstep compile NAME` find by name.
 */
#ifndef PROGRAMS_NAMED_PROGRAM_H
#define PROGRAMS_NAMED_PROGRAM_H

#include "emu/base/api.h"
#include "programs/session/session.h"

SUPERSTEP_API_BEGIN

/* A number that a user may change: `superstep run NAME --n 100`, or -D n=100. */
struct program_param {
    const char *name;
    uint64_t value, min, max;
    const char *text; /* one line, with the unit */
};

enum { PROGRAM_MAX_PARAMS = 16 };

/* Values 0 .. max of a parameter that are written as words. */
struct param_words {
    const char *param;
    const char *const *word; /* [max + 1] */
};

/* What `superstep run NAME` and `superstep compile NAME` need to know. */
struct named_program {
    const char *name, *text; /* one line */
    const struct program_param *param;
    unsigned params;
    const struct param_words *words; /* ends with a row without param; NULL: all are numbers */
    const char *pair[2]; /* "56x28" for the first parameter sets the second to 28; NULL: no pair */
    /* Builds the graph; value[k] belongs to param[k]. *state: owned by the program, released by
     * done(). */
    enum emu_status (*build)(struct graph *g, const uint64_t *value, void **state);
    /* Writes inputs before the run. NULL: there are none. */
    enum emu_status (*before)(struct session *s, void *state);
    /* Compares the results with a plain calculation on the host, and prints what matters as `key
     * value` lines. EMU_FAULT: they differ; ss_error() says where. */
    enum emu_status (*after)(struct session *s, void *state, struct json_t *answer);
    void (*done)(void *state); /* NULL allowed */
};

/* The programs of programs/lab; ends with NULL. */
extern const struct named_program *const ss_lab_programs[];

/* `superstep run` and `superstep compile` for a name of one of the tables (a NULL ends their list):
 * the command line of an executable that brings tables of its own. argv[0] is "run" or "compile".
 * Returns the exit code: 0 ran; 1 fault, wrong results or too little memory; 2 bad usage or file.
 */
int ss_program_command(int argc, char **argv, const struct named_program *const *const *tables);
/* The same for an executable that is one program: what its main() returns. Its command line has the
 * parameters and the options of `superstep run`, and no name.
 */
int ss_program_main(int argc, char **argv, const struct named_program *program);

SUPERSTEP_API_END

#endif
