/* train_bill.h - cycles and memory of a step by pass. */
#ifndef MODELS_TRAIN_BILL_H
#define MODELS_TRAIN_BILL_H

#include <jansson.h>

#include "models/train/train_chip.h"

enum train_pass {
#define PASS(id, name) PASS_##id,
#include "models/train/train_pass.def"
#undef PASS
    PASSES
};
const char *train_pass_name(enum train_pass p);

/* A superstep counts for the pass that computes in it first; if none computes, for the pass that
 * fetches in its exchange. */
struct pass_bill {
    uint32_t supersteps;
    uint64_t cycles, exchange, compute; /* the rest are waits and syncs */
    uint64_t max_tile_bytes;            /* in use on the fullest tile meanwhile */
};
struct train_bill {
    struct pass_bill pass[PASSES];
    uint64_t cycles; /* of the step: the sum of all passes */
};

/* What the supersteps of a step are for, without cycles: known once it is compiled. */
struct train_passes {
    uint8_t *pass;        /* owned, like the next; enum train_pass by superstep */
    uint64_t *tile_bytes; /* in use on the fullest tile meanwhile */
    size_t supersteps;    /* 0: more than a trace has */
};

/* Of a program that was compiled. EMU_NO_MEMORY. Free with train_passes_free(). */
enum emu_status train_passes_of(const struct train_chip *t,
                                struct train_passes *out) EMU_MUST_CHECK;
void train_passes_free(struct train_passes *p); /* p may be all zero */
/* As a new object, for programs that are kept; NULL: out of memory. */
json_t *train_passes_json(const struct train_passes *p);
/* Takes what train_passes_json() made; nothing in it is trusted. Returns 0 when it is something
 * else; out is valid in any case. */
int train_passes_take(const json_t *o, struct train_passes *out);

/* The bill of the first step that a session has run, of which it has kept the record r. All zero if
 * it has not kept all of that step, or the step has changed no state. */
void train_bill_of(const struct train_passes *p, const struct record *r, struct train_bill *out);

#endif
