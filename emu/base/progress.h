/* progress.h - lines on stderr, or nowhere, that say what a long command has done, and how long
 * each took. For people only: no result depends on them.
 */
#ifndef EMU_PROGRESS_H
#define EMU_PROGRESS_H

#include <stdio.h>
#include <time.h>

#include "emu/base/status.h"

struct progress {
    FILE *f; /* borrowed; NULL: quiet */
    struct timespec since;
};

/* The first stage begins now. */
struct progress progress_begin(FILE *f);
/* "stage      1.234 s   what was done": with the seconds since the line before. */
void progress_report(struct progress *p, const char *stage, const char *fmt, ...) EMU_PRINTF(3, 4);
/* The next stage begins now: others have reported meanwhile. */
void progress_skip(struct progress *p);

#endif
