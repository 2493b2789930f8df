/* liveness_solve.h - when values live, for 64 sets of objects at a time.
 *
 * Bit k of a word belongs to set k. Backward: a value is needed before an operation that reads it,
 * or when it is needed after and not replaced. Forward: it may have been written. Functions are
 * summed up first (what they need, replace, write), and then treated with what any caller needs.
 */
#ifndef PROGRAMS_FLOW_H
#define PROGRAMS_FLOW_H

#include "programs/compiler/lower/lowered.h"

enum { FLOW_EXIT = UINT32_MAX - 1, FLOW_NOWHERE = UINT32_MAX };

struct flow_function {
    uint32_t first, end;
    uint64_t need, replace, write; /* summary */
    uint64_t entry, exit;          /* written before any call; needed after any */
};

struct flow {
    const struct op *op; /* borrowed */
    uint32_t ops, functions;
    uint32_t (*next)[2]; /* where an operation leads; owned, like the rest */
    struct flow_function *function;
    uint32_t *order; /* functions, callers after what they call */
    /* Of every operation. The caller sets read, write, kill before flow_solve(). */
    uint64_t *read, *write, *kill;
    uint64_t host; /* written by the host before the program; also set by the caller */
    uint64_t *in, *out, *before; /* needed before and after it; written before it */
};

enum emu_status flow_init(struct flow *f, const struct lowered *l) EMU_MUST_CHECK;
void flow_free(struct flow *f);
void flow_clear(struct flow *f); /* read, write, kill, host */
void flow_solve(struct flow *f);

/* Sets whose objects are in use during an operation. */
uint64_t flow_used(const struct flow *f, uint32_t op);

#endif
