/* prefetch_parts.h - buffers on IO tiles, what goes into them and comes out, and parts of a sync
 * group; private to programs/library/prefetch.
 */
#ifndef PROGRAMS_PREFETCH_PARTS_H
#define PROGRAMS_PREFETCH_PARTS_H

#include "emu/emu.h"
#include "programs/library/prefetch/prefetch.h"

enum { GROUP_COMPUTE, GROUP_IO };
enum { GO, ASK, CONTROL_WORDS };

struct prefetching {
    struct graph *g;
    struct prefetch *p;
    struct tensor control[PREFETCH_MAX_DEPTH]; /* of an open loop: of the batch in the buffer */
    uint32_t body;                             /* of an open loop: a function */
};

/* Batches that the buffers hold. */
static inline uint32_t prefetch_buffers(const struct prefetch *p)
{
    return p->link.depth ? p->link.depth : 1;
}

static inline int prefetch_is_open(const struct prefetch *p)
{
    return !p->times;
}

/* Makes buffers, control words and streams. EMU_USAGE when buffers do not fit. */
enum emu_status prefetch_make(struct prefetching *x) EMU_MUST_CHECK;

/* What is done with a buffer in the program of IO tiles, or without them of those that compute:
 * transfers in or out, whole or in halves. */
typedef struct program prefetch_transfer_part(struct graph *g, uint32_t stream, struct tensor t);
void prefetch_add_in(struct prefetching *x, struct program seq, uint32_t buffer,
                     prefetch_transfer_part *part);
void prefetch_add_out(struct prefetching *x, struct program seq, uint32_t buffer,
                      prefetch_transfer_part *part);
/* Between a buffer and what the body reads or makes: an exchange of all tiles. */
void prefetch_hand_over(struct prefetching *x, struct program seq, uint32_t buffer);
void prefetch_take_results(struct prefetching *x, struct program seq, uint32_t buffer);

static inline struct program prefetch_for_group(struct graph *g, unsigned group,
                                                struct program part)
{
    return ss_program_together(g, &group, &part, 1);
}

static inline struct program prefetch_both(struct graph *g, struct program compute,
                                           struct program io)
{
    const unsigned groups[] = { GROUP_COMPUTE, GROUP_IO };
    const struct program parts[] = { compute, io };

    return ss_program_together(g, groups, parts, 2);
}

#endif
