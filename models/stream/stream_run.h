/* stream_run.h - a network that takes one batch of pictures after the other from the host, and what
 * the time of each went into.
 *
 * Pictures are asked for and results handed over by calls, in order, on the thread of stream_run():
 * a stream may be longer than memory. Held are 2 depth + 2 batches that IO tiles may still ask for.
 */
#ifndef MODELS_STREAM_RUN_H
#define MODELS_STREAM_RUN_H

#include "models/build/net_graph.h"

enum { STREAM_ROWS_MAX = 4096 };

struct stream_options {
    struct prefetch_options prefetch;
    enum elem input; /* how pictures cross the link: u8, f16 or f32; three colours */
    double memory_proportion, parameter_proportion; /* net_graph_options */
    struct compile_options compile;
    struct session_options session; /* threads, plain, check, host */
};

struct stream_calls {
    void *ctx;
    /* The next picture, [side][side][3]; *more = 0: there is none. */
    enum emu_status (*next)(void *ctx, uint8_t *rgb, int *more);
    /* The scores of picture 0, 1 .., one for each class. */
    enum emu_status (*result)(void *ctx, uint64_t picture, const float *scores);
    /* Not 0: no more pictures, and the end after the batch in hand. NULL: never. */
    int (*stop)(void *ctx);
};

/* A batch. Cycles since the start; 0: it did not come so far, or there is no such thing (joins
 * without IO tiles). */
struct stream_batch {
    uint32_t pictures;
    uint64_t asked, begun, here; /* by the host link: request, first and last bytes in memory */
    uint64_t joined;             /* all tiles met for the join */
    uint64_t computing, computed;
    uint64_t taken; /* the host has its results */
};

/* What bounds the time from batch to batch. */
enum stream_bound { STREAM_BY_HOST, STREAM_BY_IO, STREAM_BY_COMPUTE, STREAM_BOUNDS };
const char *stream_bound_name(enum stream_bound b);

struct stream_record {
    uint64_t batches, pictures; /* whose results came */
    struct stream_batch *row;   /* owned; of the first batches, at most STREAM_ROWS_MAX */
    size_t rows, cap;
    uint64_t cycles;      /* of all */
    uint64_t batch_bytes; /* of a batch on the link */
    uint64_t bytes_in, bytes_out, packets_in;
    uint64_t link_cycles; /* the link carried batches */
    int stopped;          /* by stop() */

    /* Means over the batches in the steady part: [first, end) of row. */
    size_t first, end;
    double period, transfer, join, compute, wait; /* cycles; transfer: asked to here */

    /* The rule of thumb, in cycles: bytes over bandwidth, of the longer way; what the IO tiles of
     * one buffer need for a batch, over the number of buffers; join and computing. */
    double rule[STREAM_BOUNDS];
    double expected; /* period by the rule */
    enum stream_bound bound;
};

struct picture_stream;

/* Plans and compiles. net, w, a: borrowed. EMU_USAGE for IO tiles that are too few (emu_error()
 * says how many are needed), and the errors of graphs. */
enum emu_status stream_new(const struct net *net, const struct weights *w, const struct arch *a,
                           const struct stream_options *o,
                           struct picture_stream **out) EMU_MUST_CHECK;
void stream_free(struct picture_stream *s);
const struct compiled *
stream_compiled(const struct picture_stream *s); /* may not fit: compiled_fits() */
const struct prefetch *stream_prefetch(const struct picture_stream *s);
struct session *stream_session(struct picture_stream *s); /* NULL before stream_run() */

/* Runs until the pictures end. Once. Also on an error, and when stopped, the record says what was
 * done; EMU_FAULT: the machine faulted. */
enum emu_status stream_run(struct picture_stream *s,
                           const struct stream_calls *calls) EMU_MUST_CHECK;
const struct stream_record *stream_record(const struct picture_stream *s);

#endif
