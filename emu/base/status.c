/* status.c - error texts and the per-thread message of the last failure. */
#include "emu/base/fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const status_names[] = {
#define STATUS(name, text) #name,
#include "emu/base/status.def"
#undef STATUS
};

static const char *const status_texts[] = {
#define STATUS(name, text) text,
#include "emu/base/status.def"
#undef STATUS
};

static _Thread_local char last_error[1024];

const char *ss_status_name(enum emu_status s)
{
    return (unsigned)s < EMU_STATUS_COUNT ? status_names[s] : "?";
}

const char *ss_status_text(enum emu_status s)
{
    return (unsigned)s < EMU_STATUS_COUNT ? status_texts[s] : "?";
}

const char *ss_error(void)
{
    return last_error;
}

enum emu_status ss_fail(enum emu_status s, const char *fmt, ...)
{
    char why[1024]; /* the arguments may point into last_error */
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(why, sizeof(why), fmt, ap);
    va_end(ap);
    /* What could not be had says nothing by itself; a reason that is passed on has the text. */
    if (s == EMU_NO_MEMORY && !strstr(why, status_texts[s]))
        snprintf(last_error, sizeof(last_error), "%s: %.900s", status_texts[s], why);
    else
        snprintf(last_error, sizeof(last_error), "%s", why);
    return s;
}

void emu_abort(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: emulator bug: %s\n", file, line, what);
    abort();
}
