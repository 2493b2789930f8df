/* commands.h - what a command is, and how it is called. models/cli/main.c joins the tables of all
 * floors.
 *
 * Results go to stdout, progress and errors to stderr. Exit codes: 0 ran, 1 the emulated program
 * faulted or did not meet its expectations, 2 bad usage or bad file, 3 finished partially.
 */
#ifndef EMU_COMMANDS_H
#define EMU_COMMANDS_H

#include <stdio.h>

#include "emu/cli/request.h"

enum { EXIT_RAN = 0, EXIT_FAULTED = 1, EXIT_BAD = 2, EXIT_PARTIAL = 3 };

enum { NAMES_MACHINES = 1 }; /* bits from 1 on are those of floors above */

struct command {
    const char *name;
    const char *help;                    /* one line for the list of commands */
    use_set uses;                        /* of which a request has one */
    use_set others;                      /* whose options are known, to say where they belong */
    int (*run)(const struct request *q); /* returns the exit code */

    const char *noun;  /* "program": what the arguments are */
    unsigned min, max; /* arguments */
    const char *args;  /* "[NAME|FILE]" for --help */
    const char *doc;   /* argp's: before the options, \v, after them */

    const char *examples; /* for --help: lines of two or three commands; NULL: none */
    unsigned names;       /* what its first argument may name, for completion: NAMES_... */
    const char *words;    /* and other words that it may be, between spaces; NULL: none */

    /* For commands with several uses: finds out which, from the arguments as far as they are known
     * before the options are (what follows an unknown option may be its value). Sets use, what,
     * known, path and bytes. NULL: `uses` is the use. */
    enum emu_status (*look)(struct request *q, const struct option_list *candidates);
    /* The parameters of `known`: whether there is one of that name, `length` characters long, and
     * their help. NULL: there are none. */
    int (*is_parameter)(const struct request *q, const char *name, size_t length);
    void (*print_parameters)(const struct request *q, FILE *f);
    const void *context; /* of look(); borrowed */
};

/* Reads the command line and answers it; argv[0] is the name of the command. What is wrong with the
 * command line is one line on stderr that begins with "superstep COMMAND: ". Returns the exit code.
 */
int command_main(const struct command *c, int argc, char **argv);

/* The same words from a program that calls instead of being typed: only read, nothing is printed,
 * and what command_main() would complain of is the error, in the same words. heard: as in struct
 * request. argv is borrowed as long as the request is there. Errors: EMU_USAGE, those of look(),
 * EMU_NO_MEMORY. *out: free with command_call_free (NULL allowed), which takes the request with it.
 */
struct command_line;
enum emu_status command_call(const struct command *c, FILE *heard, int argc, char **argv,
                             struct command_line **out) EMU_MUST_CHECK;
struct request *command_call_request(const struct command_line *c); /* borrowed */
void command_call_free(struct command_line *c);

/* The command of that name in a table that ends with a row without one; NULL: there is none. */
const struct command *command_find(const struct command *table, const char *name);

extern const struct command emu_commands[]; /* ends with a row whose name is NULL */

#endif
