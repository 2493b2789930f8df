/* step_session.h - `superstep step`: lines from a terminal, a pipe or a script to the shell of a
 * stepper (emu/step). */
#ifndef EMU_STEP_SESSION_H
#define EMU_STEP_SESSION_H

#include "emu/cli/request.h"
#include "emu/step/stepper.h"

/* Whether the request is to step. */
int request_steps(const struct request *q);
/* Steps a run that has its inputs and streams, as q says: until `quit` or the end of the lines.
 * names may be NULL. *code: EXIT_RAN, or EXIT_BAD where a line that did not come from a terminal
 * was wrong. Errors: EMU_IO (the script), those of stepper_new() and stepper_go(). */
enum emu_status step_session(const struct request *q, struct run *r, const struct step_names *names,
                             int *code) EMU_MUST_CHECK;

#endif
