/* cmd_machines.h - the command `superstep machines`. */
#ifndef EMU_CLI_CMD_MACHINES_H
#define EMU_CLI_CMD_MACHINES_H

/* Runs `machines [NAME|FILE] [--set field=value ...] [--json]`; argv[0] is the name of the command.
 * Results go to stdout. Returns the exit code: 0, or 2 for bad usage, a bad file or an impossible
 * machine (reason on stderr). */
int cmd_machines(int argc, char **argv);

#endif
