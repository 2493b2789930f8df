/* step_shell.h - commands to a stepper, as lines of text, and the answers to them.
 *
 *   step_shell.c     lines, words, help
 *   step_move.c      commands that move
 *   step_look.c      commands that look
 */
#ifndef EMU_STEP_SHELL_H
#define EMU_STEP_SHELL_H

#include <stdio.h>

#include "emu/step/stepper.h"

struct step_shell;

/* out: where answers go, borrowed, like the stepper. json: every answer is an object on a line of
 * its own (docs/step.md). EMU_NO_MEMORY. */
enum emu_status step_shell_new(struct stepper *s, FILE *out, int json,
                               struct step_shell **out_shell) EMU_MUST_CHECK;
void step_shell_free(struct step_shell *h);

/* Says where the run is. */
enum emu_status step_shell_begin(struct step_shell *h) EMU_MUST_CHECK;
/* Does a line; an empty one repeats the last if that moved. What is wrong with it is answered in
 * one line. *quits: it was `quit`. Errors: EMU_NO_MEMORY and those of the host's streams, after
 * which it is over. */
enum emu_status step_shell_do(struct step_shell *h, const char *line, int *quits) EMU_MUST_CHECK;
/* How many lines were wrong. */
uint64_t step_shell_wrong(const struct step_shell *h);
/* The full name of the i-th command; NULL: there are no more. */
const char *step_command_name(unsigned i);

#endif
