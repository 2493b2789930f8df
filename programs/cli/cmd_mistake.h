/* cmd_mistake.h - what `superstep lab NAME` says of a program with a mistake. */
#ifndef PROGRAMS_CMD_MISTAKE_H
#define PROGRAMS_CMD_MISTAKE_H

#include "emu/cli/request.h"
#include "emu/emu.h"

struct mistake;

/* The mistake that `superstep lab` was asked for; NULL: none. */
const struct mistake *mistake_of_request(const struct request *q);

/* "Title: text", broken between words. */
void lesson_print_text(const char *title, const char *text);

/* What was meant, what the machine said, how to find and mend it, as text or into the answer. */
enum emu_status mistake_answer(const struct request *q, const struct run *r,
                               json_t *report) EMU_MUST_CHECK;
/* Around the report of a program that does not fit. */
void mistake_print_before(const struct mistake *m);
void mistake_print_after(const struct mistake *m);

#endif
