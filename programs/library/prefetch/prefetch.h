/* prefetch.h - a loop over batches that come from the host, with results that go back to it: IO
 * tiles fetch the next batches while the other tiles compute.
 *
 *   compute tiles   | join | body of batch b        | join | body of b + 1 ...
 *   IO tiles        |      | request b + depth, wait for b + 1 |      | ...
 *
 * A tile has only one counter of words that it still expects ($INCOMING_DCOUNT), so it cannot wait
 * for the first of two batches. Therefore each of `depth` buffers has IO tiles of its own. They ask
 * for their next batch as soon as they have handed over the last one, and wait for it only before
 * their next turn. At that moment nothing is on its way to them, so they also take the results of
 * the previous batch and send them to the host. With each batch the host says whether others
 * follow.
 */
#ifndef PROGRAMS_PREFETCH_H
#define PROGRAMS_PREFETCH_H

#include "emu/base/api.h"
#include "programs/compiler/compiler.h"

SUPERSTEP_API_BEGIN

enum { PREFETCH_MAX_DEPTH = 8 };

struct prefetch_options {
    /* IO tiles: the last of the chip, in sync group 1 (prefetch_reserve()). 0: there are none, and
     * the tiles that compute fetch for themselves. */
    uint32_t tiles;
    /* Batches that IO tiles hold, 0 .. PREFETCH_MAX_DEPTH. 0: fetch, then compute. */
    uint32_t depth;
};

/* The host streams of the loop, and its buffers. */
struct prefetch {
    /* With depth > 0: one transfer of `depth` u32; number k is 1 if there is a batch k. There must
     * be at least one batch. */
    uint32_t begin;
    /* Transfers of 2 u32. With depth > 0 one with each batch b = 0, 1, ...: whether there is a
     * batch b + 1, and whether there is a batch b + depth. With depth 0 one before each batch b:
     * whether there is a batch b, and a number without meaning. A 0 in the first number ends the
     * loop. */
    uint32_t control;
    uint32_t in, out;      /* a batch; its results */
    uint32_t buffer_tiles; /* tiles of each buffer; 0: there are no buffers */
    uint64_t buffer_bytes; /* of a buffer on its fullest tile */
    uint32_t needed_tiles; /* fewest IO tiles with which the buffers fit */
};

/* Puts the last tiles of the chip into sync group 1; to be called before anything is mapped.
 * EMU_USAGE when there are not enough tiles for the depth. */
enum emu_status prefetch_reserve(struct graph *g, const struct prefetch_options *o) EMU_MUST_CHECK;

/* Builds the loop around body, which computes out from in; both lie on tiles of group 0. EMU_USAGE
 * when a buffer does not fit its tiles; emu_error() says how many are needed. */
enum emu_status op_prefetch(struct graph *g, const struct prefetch_options *o, struct tensor in,
                            struct program body, struct tensor out, struct program *loop,
                            struct prefetch *streams) EMU_MUST_CHECK;

/* One tensor that crosses the link with every batch. */
struct prefetch_transfer {
    struct tensor at; /* what the body reads, or makes; on tiles of group 0 */
    const char *name;
    uint32_t stream;      /* out: transfers of `buffer` */
    struct tensor buffer; /* out: on IO tiles, flat, filled up to whole words */
};

/* A program whose every run takes a fixed number of batches; group 0 has all parts but the
 * transfers. */
struct prefetch_run {
    struct program before, body, after;
    uint32_t times; /* the body, once for each batch */
    struct prefetch_transfer *in, *out;
    uint32_t ins, outs;
};

/* Builds it. The buffers hold one batch, and keep it between runs: while the body computes a batch,
 * the IO tiles fetch the next one, in the last batch that with which the next run begins. So of the
 * first run the host writes the buffers of r->in (session_write()). Results of a batch are sent
 * during the next one, those of the last during `after`.
 *
 *   compute tiles   | before | join | body 0  | join | body 1      | take  | after   |
 *   IO tiles        |        |      | fetch 1 |      | fetch 2, send 0 |   | send 1  |
 *
 * io_tiles: reserved, prefetch_reserve(). EMU_USAGE when buffers do not fit their tiles;
 * emu_error() says how many are needed. */
enum emu_status op_prefetch_run(struct graph *g, uint32_t io_tiles, struct prefetch_run *r,
                                struct program *out) EMU_MUST_CHECK;

SUPERSTEP_API_END

#endif
