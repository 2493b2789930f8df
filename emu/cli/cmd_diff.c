/* cmd_diff.c - compares two files written by `superstep run --digests`. */
#include "emu/cli/cmd_diff.h"

#include <argp.h>
#include <inttypes.h>
#include <stdio.h>

#include "emu/cli/command_line.h"
#include "emu/cli/commands.h"
#include "emu/run/digest_diff.h"

struct request {
    const char *path[2];
    unsigned paths;
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct request *r = state->input;

    switch (key) {
    case ARGP_KEY_ARG:
        if (r->paths == 2)
            argp_error(state, "two files at a time: '%s' is one too many", arg);
        else
            r->path[r->paths++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (r->paths < 2)
            argp_error(state, "which files? diff A B");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp parser = {
    .parser = parse_option,
    .args_doc = "A B",
    .doc = "Name the first superstep and tile in which two runs differ, from the files that `run "
           "--digests` wrote.\v"
           "Exit status: 0 equal, 1 different, 2 bad usage or bad file.",
};

static void print_line(const char *key, const struct digest_line *l)
{
    printf("%s group %" PRIu32 " superstep %" PRIu64 " cycle %" PRIu64 " root %s\n", key, l->group,
           l->superstep, l->cycle, l->root);
}

static void print(const struct digest_diff *d, const struct request *r)
{
    static const char *const status[] = {
        [DIGESTS_EQUAL] = "equal",      [DIGESTS_MACHINE] = "other machine",
        [DIGESTS_ROOT] = "differ",      [DIGESTS_CYCLE] = "other cycle",
        [DIGESTS_ORDER] = "other step", [DIGESTS_LENGTH] = "other length",
    };

    printf("status %s\n", status[d->kind]);
    if (d->kind == DIGESTS_MACHINE)
        return;
    printf("equal_steps %" PRIu64 "\n", d->steps);
    if (d->kind == DIGESTS_EQUAL)
        return;
    if (d->kind == DIGESTS_LENGTH) {
        printf("longer %s\n", r->path[d->longer]);
        print_line("next", &d->line[0]);
        return;
    }
    printf("group %" PRIu32 "\nsuperstep %" PRIu64 "\n", d->line[0].group, d->line[0].superstep);
    if (d->tile >= 0)
        printf("tile %" PRId64 "\n", d->tile);
    print_line("a", &d->line[0]);
    print_line("b", &d->line[1]);
}

int cmd_diff(int argc, char **argv)
{
    struct request r = { .paths = 0 };
    struct digest_diff d;

    if (command_line_parse(&parser, argc, argv, &r) || r.paths < 2)
        return EXIT_BAD;
    if (digest_diff(r.path[0], r.path[1], &d) != EMU_OK) {
        fprintf(stderr, "superstep diff: %s\n", emu_error());
        return EXIT_BAD;
    }
    print(&d, &r);
    return d.kind == DIGESTS_EQUAL ? EXIT_RAN : EXIT_FAULTED;
}
