/* progress.h - lines on stderr that say which stages a long command has completed, and how long
 * each took; a quiet command prints none. They are for people only: no result depends on them.
 */
#ifndef EMU_PROGRESS_H
#define EMU_PROGRESS_H

#include <stdio.h>
#include <time.h>

#include "emu/base/fail.h"

struct progress {
    FILE *f; /* borrowed; NULL: quiet */
    struct timespec since;
};

/* The first stage begins now. */
struct progress progress_begin(FILE *f);
/* "stage      1.234 s   what was done": with the seconds since the line before. */
void progress_report(struct progress *p, const char *stage, const char *fmt, ...) EMU_PRINTF(3, 4);
/* Starts the clock of the next stage now: other code has reported the time until here. */
void progress_skip(struct progress *p);

#endif
