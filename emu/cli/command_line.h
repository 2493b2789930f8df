/* command_line.h - reads the arguments of a command; whatever is wrong with them is one line. */
#ifndef EMU_COMMAND_LINE_H
#define EMU_COMMAND_LINE_H

#include <argp.h>

/* As argp_parse(), which moves options to the front of argv: parser gets the arguments of command
 * argv[0], and input. Complaints begin with "superstep COMMAND: " and end the program with
 * EXIT_BAD. Returns an errno value, or 0. */
int command_line_parse(const struct argp *parser, int argc, char **argv, void *input);

#endif
