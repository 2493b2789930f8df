/* commands.c - the table of the machine's commands. */
#include "emu/cli/commands.h"

#include <stddef.h>

#include "emu/cli/cmd_asm.h"
#include "emu/cli/cmd_dis.h"
#include "emu/cli/cmd_machines.h"
#include "emu/cli/cmd_tile.h"

const struct command emu_commands[] = {
    { "asm", cmd_asm, "assemble and link tile assembly" },
    { "dis", cmd_dis, "disassemble what asm wrote" },
    { "tile", cmd_tile, "run one codelet on one tile from a case file" },
    { "machines", cmd_machines, "list the built-in machines, or print one" },
    { NULL, NULL, NULL },
};
