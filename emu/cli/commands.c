/* commands.c - the table of the machine's commands. */
#include "emu/cli/commands.h"

#include <stddef.h>

#include "emu/cli/cmd_asm.h"
#include "emu/cli/cmd_compile.h"
#include "emu/cli/cmd_diff.h"
#include "emu/cli/cmd_dis.h"
#include "emu/cli/cmd_machines.h"
#include "emu/cli/cmd_run.h"
#include "emu/cli/cmd_tile.h"

const struct command emu_commands[] = {
    { "run", cmd_run, "run a program on a whole machine: a manifest, an image or a name" },
    { "compile", cmd_compile, "write the image of a manifest or of a program with a name" },
    { "diff", cmd_diff, "name the first superstep and tile in which two runs differ" },
    { "asm", cmd_asm, "assemble and link tile assembly" },
    { "dis", cmd_dis, "disassemble what asm wrote" },
    { "tile", cmd_tile, "run one codelet on one tile from a case file" },
    { "machines", cmd_machines, "list the built-in machines, or print one" },
    { NULL, NULL, NULL },
};
