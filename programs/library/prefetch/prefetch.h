/* prefetch.h - a loop over batches that come from the host and whose results go back: IO tiles
 * fetch the next ones while the others compute.
 *
 *   compute tiles   | join | body of batch b        | join | body of b + 1 ...
 *   IO tiles        |      | request b + depth, wait for b + 1 |      | ...
 *
 * A tile has one counter of what it still expects ($INCOMING_DCOUNT), so it cannot wait for the
 * first of two batches. Therefore each of `depth` buffers has IO tiles of its own, which ask for
 * their next batch right after they have handed over the last one, and wait for it only before
 * their next turn. At that moment nothing is under way to them, so it is they who take the results
 * of the batch before and send them to the host. With each batch the host says what follows it.
 */
#ifndef PROGRAMS_OPS_PREFETCH_H
#define PROGRAMS_OPS_PREFETCH_H

#include "programs/compiler/compiler.h"

enum { PREFETCH_MAX_DEPTH = 8 };

struct prefetch_options {
    uint32_t tiles; /* IO tiles, the last of the chip: sync group 1, as prefetch_reserve() made it.
                     * 0: the tiles of the data fetch for themselves */
    uint32_t
        depth; /* batches that IO tiles hold, 0 .. PREFETCH_MAX_DEPTH. 0: fetch, then compute */
};

/* Streams of the loop, and where batches wait. */
struct prefetch {
    uint32_t begin; /* depth > 0: one transfer of depth u32, 1 where there is a batch k; there must
                     * be one batch at least */
    uint32_t control; /* transfers of 2 u32. With depth > 0, with each batch b = 0, 1 ..: whether
                       * there is a batch b + 1; whether there is a batch b + depth. With depth 0:
                       * whether there is a batch b, b = 0, 1 ..; nothing. The loop ends with the
                       * first 0 in the first number. */
    uint32_t in, out; /* a batch, its results */
    uint32_t buffer_tiles; /* of each buffer; 0: there is none */
    uint64_t buffer_bytes; /* on the fullest of them */
    uint32_t needed_tiles; /* IO tiles, at least, for the buffers to fit */
};

/* Puts the last tiles of the chip into sync group 1: before anything is mapped. EMU_USAGE when
 * there are not enough tiles for the depth. */
enum emu_status prefetch_reserve(struct graph *g, const struct prefetch_options *o) EMU_MUST_CHECK;

/* The loop around body, which computes out from in; both lie on tiles of group 0. EMU_USAGE when a
 * buffer is larger than the memory of its tiles; emu_error() says how many are needed. */
enum emu_status op_prefetch(struct graph *g, const struct prefetch_options *o, struct tensor in,
                            struct program body, struct tensor out, struct program *loop,
                            struct prefetch *streams) EMU_MUST_CHECK;

#endif
