/* progress_meter.h - how far a long stage is, in per cent, and about how long it still takes: on a
 * terminal a line that is written over and over, into a file a line from time to time. For people
 * only, like progress.h: no result depends on it.
 */
#ifndef EMU_PROGRESS_METER_H
#define EMU_PROGRESS_METER_H

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

struct progress_meter {
    FILE *f;           /* borrowed; NULL: quiet */
    const char *stage; /* borrowed, like the unit */
    const char *unit;  /* of what is done: "supersteps" */
    uint64_t all;      /* 0: nobody knows */
    int terminal;
    int64_t begun_ms;
    atomic_int_fast64_t next_ms; /* when a line is due */
    atomic_uint_fast64_t done;
    atomic_int shown; /* a line stands on the terminal */
};

/* A stage begins. Nothing is printed of one that is over in PROGRESS_METER_PATIENCE_MS. */
enum {
    PROGRESS_METER_PATIENCE_MS = 2000, /* before the first line on a terminal */
    PROGRESS_METER_TERMINAL_MS = 500,  /* between lines there, */
    PROGRESS_METER_FILE_MS = 10000     /* and in a file, the first one included */
};
void progress_meter_begin(struct progress_meter *m, FILE *f, const char *stage, const char *unit,
                          uint64_t all);
/* n more are done. Any thread may call it; costs a look at the clock. */
void progress_meter_add(struct progress_meter *m, uint64_t n);
/* So many are done in all. */
void progress_meter_set(struct progress_meter *m, uint64_t done);
/* Takes the line off the terminal: the stage reports itself. */
void progress_meter_end(struct progress_meter *m);

/* The line: "exchange      3.200 s   41 %, about 5 s left". The time left is what the rest takes at
 * the pace so far; it is left out below 1 %. Returns the length as snprintf does. */
int progress_meter_text(char *out, size_t bytes, const struct progress_meter *m, int64_t ms);

#endif
