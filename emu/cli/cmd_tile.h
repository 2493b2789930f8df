/* cmd_tile.h - the command `superstep tile`. */
#ifndef EMU_CLI_CMD_TILE_H
#define EMU_CLI_CMD_TILE_H

/* Runs `tile --case FILE.json`: one codelet on one tile. argv[0] is the name of the command. The
 * answer, one JSON object, goes to stdout; the trace, and what the assembler has to say, to stderr.
 * Returns the exit code: 0 pass (an expected fault included), 1 fail, fault or timeout, 2 bad usage
 * or a bad file (reason on stderr, nothing on stdout). */
int cmd_tile(int argc, char **argv);

#endif
