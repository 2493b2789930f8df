/* liveness_solve.h - during which steps objects are in use, for 64 classes of objects at a time.
 *
 * Bit k of every word belongs to class k, whose objects have equal accesses. Two passes of dataflow
 * over the steps find out where a class is in use. Backward: its contents are needed before a step
 * if the step reads them, or if they are needed after the step and the step does not replace them.
 * Forward: they may have been written before a step. Between two steps a class is in use where both
 * hold. Functions are summed up first (what they need, replace and write); then each is solved
 * once, with what any of its callers has written before the call and needs after it.
 */
#ifndef PROGRAMS_LIVENESS_SOLVE_H
#define PROGRAMS_LIVENESS_SOLVE_H

#include "programs/compiler/lower/lowered.h"

enum { DATAFLOW_EXIT = UINT32_MAX - 1, DATAFLOW_NOWHERE = UINT32_MAX };

struct dataflow_function {
    uint32_t first, end;
    uint64_t need, replace, write; /* the summary: before the call, by it, in it */
    uint64_t entry, exit; /* written before a call by any caller; needed after a call by any */
};

struct dataflow {
    const struct step *step; /* borrowed */
    uint32_t steps, functions;
    uint32_t (*next)[2]; /* where a step leads; owned, like the rest */
    struct dataflow_function *function;
    uint32_t *order; /* functions, each after those that it calls */
    /* By step. The caller sets read, write and kill before dataflow_solve(). */
    uint64_t *read, *write, *kill;
    uint64_t host; /* written by the host before the program starts; also set by the caller */
    uint64_t *in, *out, *before; /* needed before and after it; written before it */
};

/* Reads the control flow of a lowered program that lowered_check() would pass; l is borrowed.
 * EMU_NO_MEMORY only, and *f is then empty. Free with dataflow_free. */
enum emu_status dataflow_init(struct dataflow *f, const struct lowered *l) EMU_MUST_CHECK;
void dataflow_free(struct dataflow *f);
/* Zeroes read, write, kill and host. */
void dataflow_clear(struct dataflow *f);
/* Computes in, out and before from them. Cost: steps times the depth of nested loops. */
void dataflow_solve(struct dataflow *f);

/* The classes whose objects are in use during a step. */
uint64_t dataflow_used(const struct dataflow *f, uint32_t step);

#endif
