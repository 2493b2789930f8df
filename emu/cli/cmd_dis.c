/* cmd_dis.c - prints a unit as assembly. */
#include "emu/cli/cmd_dis.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>

#include "emu/asm/asm.h"
#include "emu/cli/command_line.h"
#include "emu/cli/commands.h"

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    const char **path = state->input;

    switch (key) {
    case ARGP_KEY_ARG:
        if (*path) {
            argp_error(state, "one unit at a time: '%s' is one too many", arg);
            return EINVAL;
        }
        *path = arg;
        return 0;
    case ARGP_KEY_END:
        if (*path)
            return 0;
        argp_error(state, "nothing to disassemble");
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp parser = {
    .parser = parse_option,
    .args_doc = "UNIT",
    .doc = "Print a unit written by `asm -o` as assembly.\v`asm --raw` turns the text into the "
           "same words again.",
};

static enum emu_status run(const char *path)
{
    struct asm_image image;
    enum emu_status st;

    TRY(asm_image_read(path, &image));
    st = asm_disassemble(&image, stdout);
    asm_image_free(&image);
    return st;
}

int cmd_dis(int argc, char **argv)
{
    const char *path = NULL;
    enum emu_status st;

    st = command_line_parse(&parser, argc, argv, &path) ? FAIL(USAGE, "see --help") : run(path);
    if (st == EMU_OK)
        return EXIT_RAN;
    fprintf(stderr, "superstep dis: %s\n", emu_error());
    return EXIT_BAD;
}
