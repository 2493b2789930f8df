/* cmd_exercise.h - `superstep lab exercise [N]`, `check N FILE`, `solution N` and `source NAME`. */
#ifndef PROGRAMS_CMD_EXERCISE_H
#define PROGRAMS_CMD_EXERCISE_H

#include "emu/cli/request.h"

/* Whether the first argument of `superstep lab` is one of these. */
int lab_is_exercise(const char *word);
const char *lab_word(size_t i); /* the i-th of them; NULL: there are no more */

/* Lists the exercises; prints one, and writes its unfinished file; or checks a file; or prints a
 * solution, or the source of a program. Returns the
 * exit code: 1 when the file does not do what is asked. */
int lab_exercise(const struct request *q);

#endif
