/* session_internal.h - the inside of a session; shared by the files of programs/session. */
#ifndef PROGRAMS_SESSION_INTERNAL_H
#define PROGRAMS_SESSION_INTERNAL_H

#include "programs/compiler/compiled.h"
#include "programs/session/session.h"

/* One stream of the image, on one chip of the system. */
struct session_stream {
    struct image_stream of;
    uint32_t number;                 /* for callers: of several chips, with the chip */
    struct host *host;               /* of the chip; borrowed */
    const char *name;                /* borrowed from the image, like the next */
    const struct image_order *order; /* of a transfer; no parts: the program does not use it */
    size_t parts;
    size_t transfer_bytes; /* of one transfer on the link, with what fills it up */
    uint8_t *link;         /* owned, in: bytes in the order of the link */
    size_t bytes, cap;
    uint64_t base; /* bytes that the link had carried before link[0] */

    /* ss_session_connect(): one transfer, in the order of the link (link, at) and of the caller. */
    struct session_calls calls; /* transfer is NULL: not connected */
    uint8_t *user;              /* owned */
    size_t at;
    uint64_t transfers;         /* begun */
    struct session_moment when; /* of the last one */
};

/* What is seen of a chip after every superstep. */
struct session_look {
    const struct session *s; /* borrowed */
    uint32_t chip;           /* of the system */
    struct session_overflow overflow;
    struct session_not_finite not_finite;
    uint64_t superstep;       /* of sync group 0: the first that has not been looked at */
    uint32_t wrong_seen;      /* tiles that had an exception that makes numbers that are none */
    uint32_t *overflow_tiles; /* owned; by superstep */
    size_t overflow_steps, overflow_cap;
    uint32_t overflow_seen;   /* tiles that had one */
    struct trace_step *trace; /* owned, like the next; NULL: no ranges are wanted */
    struct session_range *range;
    size_t steps, measured;   /* of the trace; those that are done in this run, */
    uint64_t first_superstep; /* which began with this one */
};

struct session {
    const struct compiled *c;      /* borrowed; NULL: a session of an image */
    struct run *run;               /* owned */
    struct session_stream *stream; /* owned, in the order of the image, replica by replica */
    size_t streams;
    uint8_t *written;      /* of every variable of every chip: since the last run; owned */
    size_t *written_first; /* by chip of the system: of its variables; owned */
    uint64_t runs;
    struct session_options options; /* as given, where overflow or ranges are looked for */
    const struct compiled
        *program;              /* borrowed: what session_program() has found out; NULL: not yet */
    struct session_look *look; /* owned [chips]; NULL: nothing is looked for */
    uint32_t looks;
    int stopped; /* by a fault, or for another reason that allows no further run */
};

/* Connects to host memory the streams of which the image knows what they carry. The data of streams
 * in comes from ss_session_feed(). Errors: EMU_NO_MEMORY. */
enum emu_status session_open_streams(struct session *s) EMU_MUST_CHECK;
void session_close_streams(struct session *s);

/* The program: the session's own, or the one that session_options.program gives, asked once; NULL:
 * an image alone. Errors: those of the call. */
enum emu_status session_program(struct session *s, const struct compiled **out) EMU_MUST_CHECK;
/* Before the run is made: room for what is seen of so many chips. EMU_NO_MEMORY. */
enum emu_status session_watch_open(struct session *s, uint32_t chips) EMU_MUST_CHECK;
void session_watch_close(struct session *s);
/* Prepares ss_session_ranges(). Errors: those of ss_compiled_trace(); EMU_USAGE, an image alone. */
enum emu_status session_watch_ranges(struct session *s) EMU_MUST_CHECK;
/* A run begins: its steps are those of the trace again. */
void session_watch_begin(struct session *s);
/* run_options.watch of a session that looks for something; ctx: the session. */
void session_watch(void *ctx, const struct machine_superstep *step);
/* The same for what follows the last sync of a run. */
void session_watch_end(struct session *s);

#endif
