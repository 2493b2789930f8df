/* cmd_exercise.h - `superstep lab exercise [N]` and `superstep lab check N FILE`. */
#ifndef PROGRAMS_CMD_EXERCISE_H
#define PROGRAMS_CMD_EXERCISE_H

#include "emu/cli/request.h"

/* Whether the first argument of `superstep lab` is one of these. */
int lab_is_exercise(const char *word);

/* Lists the exercises; prints one, and writes its unfinished file; or checks a file. Returns the
 * exit code: 1 when the file does not do what is asked. */
int lab_exercise(const struct request *q);

#endif
