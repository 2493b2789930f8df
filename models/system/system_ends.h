/* system_ends.h - the host's ends of a program: what must be known of each input and output of the
 * graph to write and read its numbers on the chip.
 */
#ifndef MODELS_SYSTEM_ENDS_H
#define MODELS_SYSTEM_ENDS_H

#include <jansson.h>

#include "models/lower/op_lower.h"

struct system_end {
    enum elem elem;
    unsigned lanes;    /* as in struct lowered_value */
    int is_streamed;   /* 1: it comes and goes with every batch, as a transfer of a stream */
    uint32_t stream;   /* then: its number, */
    uint64_t elements; /* and those of a transfer, with what fills it up */
};

/* Of an open loop: the streams by which the host says what comes, and the buffers. */
struct system_loop {
    uint32_t depth;          /* batches that IO tiles hold */
    uint32_t begin, control; /* as in struct prefetch; UINT32_MAX: there is none */
    uint32_t buffer_tiles;
    uint64_t buffer_bytes;
};

struct system_ends {
    struct system_end *in, *out; /* owned; by input and by output of the graph */
    uint32_t ins, outs;
    struct system_loop loop;
};

/* Those of a program. EMU_NO_MEMORY. Free with system_ends_free(). */
enum emu_status system_ends_of(const struct lowered_network *n, const struct graph *g,
                               struct system_ends *out) EMU_MUST_CHECK;
void system_ends_free(struct system_ends *e); /* e may be all zero */

/* As a new object; NULL: out of memory. */
json_t *system_ends_json(const struct system_ends *e);
/* Takes what system_ends_json() made, for a graph. Nothing in it is trusted: returns 0 when it is
 * something else. out is valid in any case. */
int system_ends_take(const json_t *o, const struct op_graph *g, struct system_ends *out);

#endif
