/* command_line.c - argp, with the name under which a command is called, and without the hint that
 * argp adds to a complaint.
 */
#include "emu/cli/command_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/cli/commands.h"

enum { NAME_MAX_BYTES = 64 };

struct command_line {
    void *input; /* borrowed */
    FILE *complaints;
    int hinted; /* the hint began */
};

/* What argp says, line by line, up to the hint "Try `NAME --help' ...", which comes last. */
static ssize_t write_complaint(void *cookie, const char *text, size_t bytes)
{
    static const char hint[] = "Try `";
    struct command_line *c = cookie;

    c->hinted |= bytes >= sizeof(hint) - 1 && !memcmp(text, hint, sizeof(hint) - 1);
    if (!c->hinted)
        fwrite(text, 1, bytes, stderr);
    return (ssize_t)bytes;
}

static error_t begin(int key, char *arg, struct argp_state *state)
{
    struct command_line *c = state->input;

    (void)arg;
    if (key != ARGP_KEY_INIT)
        return ARGP_ERR_UNKNOWN;
    state->child_inputs[0] = c->input;
    if (c->complaints)
        state->err_stream = c->complaints;
    return 0;
}

static int parse_named(const struct argp *parser, int argc, char **argv, struct command_line *c)
{
    const struct argp_child children[] = { { parser, 0, NULL, 0 }, { 0 } };
    const struct argp root = { .parser = begin, .children = children };
    char name[NAME_MAX_BYTES], *command = argv[0];
    int bad;

    snprintf(name, sizeof(name), "superstep %s", command);
    argv[0] = name; /* what argp begins its complaints with */
    bad = argp_parse(&root, argc, argv, 0, NULL, c);
    argv[0] = command;
    return bad;
}

int command_line_parse(const struct argp *parser, int argc, char **argv, void *input)
{
    static const cookie_io_functions_t io = { .write = write_complaint };
    struct command_line c = { .input = input };
    int bad;

    c.complaints = fopencookie(&c, "w", io);
    if (c.complaints)
        setvbuf(c.complaints, NULL, _IOLBF, 0);
    argp_err_exit_status = EXIT_BAD;
    bad = parse_named(parser, argc, argv, &c);
    if (c.complaints)
        fclose(c.complaints);
    return bad;
}
