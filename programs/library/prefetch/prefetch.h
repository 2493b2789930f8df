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
 * the previous batch and send them to the host.
 *
 * The number of batches of a run is either fixed or open. In an open loop the host says with each
 * batch whether others follow, and a run begins and ends with empty buffers. A fixed number is for
 * programs that run again and again: the buffer is full from run to run.
 */
#ifndef PROGRAMS_PREFETCH_H
#define PROGRAMS_PREFETCH_H

#include "emu/base/api.h"
#include "programs/compiler/compiler.h"

SUPERSTEP_API_BEGIN

enum { PREFETCH_MAX_DEPTH = 8 };

struct prefetch_options {
    /* IO tiles: the last of the chip, in sync group 1 (ss_prefetch_reserve()). 0: there are none,
     * and the tiles that compute fetch for themselves. */
    uint32_t tiles;
    /* Batches that IO tiles hold, 0 .. PREFETCH_MAX_DEPTH; of a fixed number at most 1. 0: fetch,
     * then compute. */
    uint32_t depth;
};

/* One tensor that crosses the link with every batch. */
struct prefetch_transfer {
    struct tensor at; /* what the body reads, or makes; on tiles of group 0 */
    const char *name;
    uint32_t stream; /* out: transfers of a buffer */
    /* out: one for each batch that IO tiles hold, flat, and filled up to whole words if they share
     * it. Without IO tiles the first one is `at`, flat. */
    struct tensor buffer[PREFETCH_MAX_DEPTH];
};

struct prefetch {
    struct prefetch_options link;
    uint32_t times; /* batches of a run; 0: as many as the host says, at least one */
    /* What group 0 computes in front of the batches, for each of them, and behind them. */
    struct program before, body, after;
    struct prefetch_transfer *in, *out; /* borrowed */
    uint32_t ins, outs;

    /* The rest is what ss_op_prefetch() makes of it. Of an open loop, streams in; UINT32_MAX: there
     * is none. begin: with depth > 0 one transfer of `depth` u32; number k is 1 if there is a batch
     * k. control: transfers of 2 u32. With depth > 0 one with each batch b = 0, 1, ...: whether
     * there is a batch b + 1, and whether there is a batch b + depth. With depth 0 one before each
     * batch b: whether there is a batch b, and a number without meaning. A 0 in the first number
     * ends the loop. */
    uint32_t begin, control;
    uint32_t buffer_tiles; /* tiles of the buffers of a batch; 0: there are none */
    uint64_t buffer_bytes; /* of what comes with a batch, on the fullest of them */
    uint32_t needed_tiles; /* fewest IO tiles with which the buffers fit; 0: no number of them */
};

/* Puts the last tiles of the chip into sync group 1; to be called before anything is mapped.
 * EMU_USAGE when there are not enough tiles for the depth. */
enum emu_status ss_prefetch_reserve(struct graph *g,
                                    const struct prefetch_options *o) EMU_MUST_CHECK;

/* Builds the loop. What the body reads and makes lies on tiles of group 0. EMU_USAGE when buffers
 * do not fit their tiles (ss_error() says how many are needed), or a fixed number of batches is to
 * be held several batches ahead.
 *
 * With a fixed number and depth 1 the IO tiles fetch, in the last batch of a run, that with which
 * the next run begins, so for the first run the host writes the buffers of p->in
 * (ss_session_write()). Results of a batch are sent during the next one, those of the last during
 * `after`.
 *
 *   compute tiles   | before | join | body 0  | join | body 1      | take  | after   |
 *   IO tiles        |        |      | fetch 1 |      | fetch 2, send 0 |   | send 1  | */
enum emu_status ss_op_prefetch(struct graph *g, struct prefetch *p,
                               struct program *out) EMU_MUST_CHECK;

SUPERSTEP_API_END

#endif
