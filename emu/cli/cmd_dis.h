/* cmd_dis.h - the command `superstep dis`. */
#ifndef EMU_CLI_CMD_DIS_H
#define EMU_CLI_CMD_DIS_H

/* Prints a unit that `asm -o` wrote as assembly, which `asm --raw` turns into the same words again.
 * Returns 0, or 2. */
int cmd_dis(int argc, char **argv);

#endif
