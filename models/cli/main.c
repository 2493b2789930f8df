/* main.c - the superstep program: finds the command and hands over. Each floor brings its own table
 * of commands. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/cli/commands.h"
#include "models/cli/commands_models.h"
#include "models/net/net.h"
#include "models/run/model_run.h"
#include "programs/programs.h"

static const struct command *const tables[] = { emu_commands, program_commands, model_commands };
static const struct named_program *const *const programs[] = { lab_programs, NULL };

enum { TABLES = sizeof(tables) / sizeof(tables[0]) };

static void usage(FILE *f)
{
    fprintf(f, "usage: superstep COMMAND [ARGUMENTS]\n\n");
    for (size_t i = 0; i < TABLES; i++) {
        for (const struct command *c = tables[i]; c->name; c++)
            fprintf(f, "  %-10s %s\n", c->name, c->help);
    }
    fprintf(f, "\nPrograms that run and compile know by name:\n\n");
    for (const struct named_program *const *const *t = programs; *t; t++) {
        for (const struct named_program *const *p = *t; *p; p++)
            fprintf(f, "  %-15s %s\n", (*p)->name, (*p)->text);
    }
    fprintf(f, "\nNetworks that they know:\n\n");
    for (unsigned i = 0; net_name(i); i++)
        fprintf(f, "  %-19s %s\n", net_name(i), net_text(i));
    fprintf(f, "\nEach command explains itself: superstep COMMAND --help\n"
               "Exit codes: 0 ran, 1 the emulated program faulted or failed, 2 bad usage or file, "
               "3 finished partially\n");
}

/* `run` and `compile` take names, too; -1 when argv has none. */
static int run_program(int argc, char **argv)
{
    int code;

    if (strcmp(argv[0], "run") && strcmp(argv[0], "compile"))
        return -1;
    code = model_command(argc, argv);
    return code >= 0 ? code : program_command(argc, argv, programs);
}

/* At the end, whoever ends the program: an answer that did not arrive was no success. */
static void check_output(void)
{
    errno = 0;
    if (!fflush(stdout) && !ferror(stdout))
        return;
    fprintf(stderr, "superstep: cannot write the answer: %s\n",
            errno ? strerror(errno) : "an error on standard output");
    _exit(EXIT_BAD);
}

/* A file must not get the number of a closed stdout, which would put the answer into it. What
 * stands in for one fails as a closed one does. */
static void keep_standard_files(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0)
            (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
}

int main(int argc, char **argv)
{
    int code;

    keep_standard_files();
    atexit(check_output);
    if (argc < 2) {
        usage(stderr);
        return EXIT_BAD;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        usage(stdout);
        return EXIT_RAN;
    }
    code = run_program(argc - 1, argv + 1);
    if (code >= 0)
        return code;
    for (size_t i = 0; i < TABLES; i++) {
        for (const struct command *c = tables[i]; c->name; c++) {
            if (!strcmp(c->name, argv[1]))
                return c->run(argc - 1, argv + 1);
        }
    }
    fprintf(stderr, "superstep: no command '%s'; superstep --help lists them\n", argv[1]);
    return EXIT_BAD;
}
