/* commands.h - the commands of the machine: one table, joined with those of the other floors in
 * models/cli/main.c.
 *
 * A command gets argv[0] = its name. Results go to stdout, progress and errors to stderr. Exit
 * codes: 0 ran, 1 the emulated program faulted or did not meet its expectations, 2 bad usage or bad
 * file, 3 finished partially.
 */
#ifndef EMU_COMMANDS_H
#define EMU_COMMANDS_H

enum { EXIT_RAN = 0, EXIT_FAULTED = 1, EXIT_BAD = 2, EXIT_PARTIAL = 3 };

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help; /* one line */
};

extern const struct command emu_commands[]; /* ends with a row whose name is NULL */

#endif
