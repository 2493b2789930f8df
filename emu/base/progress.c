/* progress.c - prints named stages and how many seconds they took. */
#include "emu/base/progress.h"

#include <stdarg.h>

struct progress progress_begin(FILE *f)
{
    struct progress p = { .f = f };

    progress_skip(&p);
    return p;
}

void progress_skip(struct progress *p)
{
    clock_gettime(CLOCK_MONOTONIC, &p->since);
}

void progress_report(struct progress *p, const char *stage, const char *fmt, ...)
{
    struct timespec before = p->since;
    va_list ap;

    progress_skip(p);
    if (!p->f)
        return;
    fprintf(p->f, "%-10s %8.3f s   ", stage,
            (double)(p->since.tv_sec - before.tv_sec) +
                1e-9 * (double)(p->since.tv_nsec - before.tv_nsec));
    va_start(ap, fmt);
    vfprintf(p->f, fmt, ap);
    va_end(ap);
    fputc('\n', p->f);
    fflush(p->f);
}
