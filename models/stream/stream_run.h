/* stream_run.h - a network that takes batch after batch of pictures from the host, with a record of
 * what each batch spent its time on.
 *
 * Callbacks ask for pictures and take results, in order, on the thread of stream_run(). A stream
 * may be longer than memory, because only the 2 depth + 2 batches are held that IO tiles may still
 * ask for.
 */
#ifndef MODELS_STREAM_RUN_H
#define MODELS_STREAM_RUN_H

#include "models/feed/feed.h"
#include "models/system/system.h"

enum { STREAM_ROWS_MAX = 4096 };

struct stream_options {
    struct lower_options lower; /* loop.link: the IO tiles and what they hold; the rest of the loop
                                   is the stream's */
    enum elem input;            /* how pictures cross the link: u8, f16 or f32; three channels */
    const char *folder;         /* of what is kept between runs, as in struct system_options */
    const struct net_cache_input *kept_as; /* borrowed, what names the program there, as in
                                              system_find_ready(); NULL: it is compiled */
    struct progress *progress;             /* as in struct system_options */
    struct compile_options compile;
    struct session_options session;   /* threads, plain, check, host */
    struct schedule_store *schedules; /* as in struct op_program_options, like outlook */
    int outlook;
};

/* What the caller provides. An error of a call ends the run with it. */
struct stream_calls {
    void *ctx;
    /* Writes the next picture, [side][side][3]; *more = 0: there is none. */
    enum emu_status (*next)(void *ctx, uint8_t *rgb, int *more);
    /* Takes the scores of a picture, one for each class. Pictures come in order: 0, 1, ... */
    enum emu_status (*result)(void *ctx, uint64_t picture, const float *scores);
    /* Not 0: take no more pictures, and end after those taken. NULL: never. */
    int (*stop)(void *ctx);
};

/* When things happened to a batch, in cycles since the start. 0: it did not get that far, or there
 * is no such moment (a join without IO tiles). */
struct stream_batch {
    uint32_t pictures;
    uint64_t asked, begun, here;  /* its request; its first and last bytes are in memory */
    uint64_t joined;              /* all tiles have met for the join */
    uint64_t computing, computed; /* the network begins, ends */
    uint64_t taken;               /* the host has its results */
};

/* What bounds the time from batch to batch. */
enum stream_bound { STREAM_BY_HOST, STREAM_BY_IO, STREAM_BY_COMPUTE, STREAM_BOUNDS };
const char *stream_bound_name(enum stream_bound b);

struct stream_record {
    uint64_t batches, pictures; /* that have results */
    struct stream_batch *row;   /* owned; the first batches, at most STREAM_ROWS_MAX */
    size_t rows, cap;
    uint64_t cycles;      /* of the whole run */
    uint64_t batch_bytes; /* of a batch on the link */
    uint64_t bytes_in, bytes_out, packets_in;
    uint64_t link_cycles; /* in which the link carried batches */
    int stopped;          /* 1: stop() ended the stream */

    /* Mean cycles over the steady part of the stream, batches [first, end) of row. */
    size_t first, end;
    double period;   /* from batch to batch */
    double transfer; /* from asked to here */
    double join, compute, wait;

    /* A rule of thumb for the period, in cycles, by what may bound it. By the host: bytes over
     * bandwidth, in the direction that takes longer. By IO tiles: what those of one buffer need for
     * a batch, over the number of buffers. By computing: join and network. */
    double rule[STREAM_BOUNDS];
    double expected; /* the period by the rule */
    enum stream_bound bound;
};

struct picture_stream;

/* What a stream runs. */
struct stream_network {
    const char *name;             /* borrowed, like the graph */
    const struct op_graph *graph; /* one input, pictures; one output, scores of classes */
    uint32_t batch, classes;
    struct picture_recipe recipe; /* of the pictures */
};

/* Plans and compiles. net and a are borrowed; the graph of net has its parameters, and passes have
 * been run (pass_all()). EMU_USAGE when there are too few IO tiles
 * (ss_error() says how many are needed), and the errors of graphs. */
enum emu_status stream_new(const struct stream_network *net, const struct arch *a,
                           const struct stream_options *o,
                           struct picture_stream **out) EMU_MUST_CHECK;
void stream_free(struct picture_stream *s);
/* The network on its machine, which may not fit (system_fits()). Borrowed. */
struct system *stream_system(struct picture_stream *s);

/* Runs until the pictures end; to be called once. After an error or a stop, too, the record says
 * what was done. EMU_FAULT: the machine faulted. */
enum emu_status stream_run(struct picture_stream *s,
                           const struct stream_calls *calls) EMU_MUST_CHECK;
/* Keeps the program for the next stream, if it was compiled now. After stream_run(). */
void stream_keep(struct picture_stream *s);
const struct stream_record *stream_record(const struct picture_stream *s);

#endif
