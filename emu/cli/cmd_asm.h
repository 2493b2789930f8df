/* cmd_asm.h - the command `superstep asm`. */
#ifndef EMU_CLI_CMD_ASM_H
#define EMU_CLI_CMD_ASM_H

/* Assembles and links files as one unit. Without -o a listing goes to stdout, else the unit to a
 * file. Diagnostics go to stderr. Returns 0, or 2 for bad usage, a bad file, or source with errors.
 */
int cmd_asm(int argc, char **argv);

#endif
