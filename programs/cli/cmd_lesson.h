/* cmd_lesson.h - a run of a program of the lab as a lesson: its bill beside the formula. */
#ifndef PROGRAMS_CMD_LESSON_H
#define PROGRAMS_CMD_LESSON_H

#include "emu/cli/request.h"
#include "emu/emu.h"

/* For `superstep lab NAME`: adds "lesson" to the report of a run, what it costs by the formulas of
 * the lesson and what it took; without --json prints it. *printed: whether the report has been
 * said; 0: there is no lesson, another command, a run that failed, or JSON. Errors:
 * EMU_NO_MEMORY, those of bsp_probe(). */
enum emu_status lesson_of_run(const struct request *q, const struct run *r, json_t *report,
                              int *printed) EMU_MUST_CHECK;

#endif
