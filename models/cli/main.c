/* main.c - the superstep program: finds the command and hands over. Each floor brings its own table
 * of commands. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/base/nearest.h"
#include "emu/cli/request_profile.h"
#include "models/cli/commands_models.h"
#include "models/net/net.h"

static void usage(FILE *f)
{
    fprintf(f, "usage: superstep COMMAND [ARGUMENTS]\n\n");
    for (const struct command *const *t = command_tables; *t; t++) {
        for (const struct command *c = *t; c->name; c++)
            fprintf(f, "  %-10s %s\n", c->name, c->help);
    }
    fprintf(f, "\nPrograms that run and compile know by name (and those of superstep lab):\n\n");
    for (const struct named_program *const *const *t = front_programs; *t; t++) {
        for (const struct named_program *const *p = *t; *p; p++)
            fprintf(f, "  %-15s %s\n", (*p)->name, (*p)->text);
    }
    fprintf(f, "\nNetworks that run and compile know by name:\n\n");
    for (unsigned i = 0; net_name(i); i++)
        fprintf(f, "  %-19s %s\n", net_name(i), net_text(i));
    fprintf(f, "\nEach command explains itself: superstep help COMMAND\n"
               "Exit codes: 0 ran, 1 the emulated program faulted or failed, 2 bad usage or file, "
               "3 finished partially\n");
}

/* Runs at every exit: an answer that could not be written is a failure. */
static void check_output(void)
{
    errno = 0;
    if (!fflush(stdout) && !ferror(stdout))
        return;
    fprintf(stderr, "superstep: cannot write the answer: %s\n",
            errno ? strerror(errno) : "an error on standard output");
    _exit(EXIT_BAD);
}

/* If stdout is closed, the next file to be opened would get its number, and the answer would go
 * into that file. So a stand-in is opened that fails like a closed file. */
static void keep_standard_files(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0)
            (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
}

static int run_command(int argc, char **argv)
{
    struct nearest meant = { .word = argv[0], .n = strlen(argv[0]) };

    for (const struct command *const *t = command_tables; *t; t++) {
        const struct command *c = command_find(*t, argv[0]);

        if (c)
            return command_main(c, argc, argv);
    }
    for (const struct command *const *t = command_tables; *t; t++) {
        for (const struct command *c = *t; c->name; c++)
            nearest_try(&meant, c->name);
    }
    fprintf(stderr, "superstep: no command '%s';%s superstep --help lists them\n", argv[0],
            nearest_hint(&meant).text);
    return EXIT_BAD;
}

/* `help`, `help COMMAND`, and `help run WHAT`. */
static int help(int argc, char **argv)
{
    char option[] = "--help", *line[4] = { argv[1], argv[argc - 1], option, NULL };

    if (argc == 1) {
        usage(stdout);
        return EXIT_RAN;
    }
    if (argc == 2)
        line[1] = option;
    return run_command(argc == 2 ? 2 : 3, line);
}

/* Threads that wait spin for some 20 us and then sleep: what they wait for is the slowest tile, and
 * on a host with other work spinning takes the core from the thread that runs it. gcc's OpenMP
 * reads the environment in a constructor, this one comes before it; what the user has set stays. */
__attribute__((constructor(101))) static void let_waiting_threads_sleep(void)
{
    if (!getenv("OMP_WAIT_POLICY"))
        setenv("GOMP_SPINCOUNT", "1000", 0);
}

int main(int argc, char **argv)
{
    const char *first = argc > 1 ? argv[1] : "";

    keep_standard_files();
    atexit(check_output);
    if (argc < 2) {
        usage(stderr);
        return EXIT_BAD;
    }
    if (!strcmp(first, "--version")) {
        printf("superstep %s\n", program_version);
        return EXIT_RAN;
    }
    if (!strcmp(first, "--help") || !strcmp(first, "-h"))
        return help(1, argv);
    if (!strcmp(first, "help"))
        return help(argc - 1, argv + 1);
    return run_command(argc - 1, argv + 1);
}
