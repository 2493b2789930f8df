/* request_look.h - a look into tiles during and after a run: --show, --trace, --steps, --check. */
#ifndef EMU_REQUEST_LOOK_H
#define EMU_REQUEST_LOOK_H

#include <jansson.h>

#include "emu/cli/request.h"
#include "emu/job/run_image.h"

/* Reads --show, --trace and --tiles for an image, before the run. EMU_USAGE: what is wrong. */
enum emu_status request_look_check(const struct request *q, const struct image *im) EMU_MUST_CHECK;

struct look_trace;

/* Begins the trace that is wanted: every issue of the tile goes to stderr with its cycle and
 * values. *out is NULL when none is; else end it after the run, also after one that failed.
 * EMU_NO_MEMORY, EMU_USAGE. */
enum emu_status request_trace_begin(const struct request *q, struct run *r,
                                    struct look_trace **out) EMU_MUST_CHECK;
void request_trace_end(struct look_trace *t); /* NULL allowed */

/* After a run: prints the places of --show to f; with --json adds them to the answer as "memory".
 * Does nothing when there are none. Errors: EMU_USAGE. */
enum emu_status request_show(const struct request *q, const struct run *r, json_t *answer,
                             FILE *f) EMU_MUST_CHECK;

/* After a run: the table of supersteps of --steps and --tiles to f, or, of an answer (not NULL),
 * into it. Does nothing when it is not wanted. Errors: EMU_USAGE, those of run_put_steps(). */
enum emu_status request_put_steps(const struct request *q, const struct run *r, json_t *answer,
                                  FILE *f) EMU_MUST_CHECK;

/* After a run of a compiled program with --check: whether there are findings (0 without it). Says
 * on stderr, one line each, what they are, unless the answer has them (listed), and how the program
 * would have no clashes. */
int request_findings(const struct request *q, struct run *r, int listed);

#endif
