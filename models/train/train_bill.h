/* train_bill.h - cycles and memory of a step by pass. */
#ifndef MODELS_TRAIN_BILL_H
#define MODELS_TRAIN_BILL_H

#include "models/train/train_chip.h"

enum train_pass {
#define PASS(id, name) PASS_##id,
#include "models/train/train_pass.def"
#undef PASS
    PASSES
};
const char *train_pass_name(enum train_pass p);

/* A superstep counts for the pass that computes in it first, an exchange without for the one that
 * fetches. */
struct pass_bill {
    uint32_t supersteps;
    uint64_t cycles, exchange, compute; /* the rest are waits and syncs */
    uint64_t max_tile_bytes;            /* in use on the fullest tile meanwhile */
};
struct train_bill {
    struct pass_bill pass[PASSES];
    uint64_t cycles; /* of the step: the sum of all passes */
};

/* The bill of the first step that a session has run, of which it has kept the record. All zero if
 * it has not kept all of that step, or the step has changed no state. EMU_NO_MEMORY. */
enum emu_status train_bill_of(const struct train_chip *t, struct train_bill *out) EMU_MUST_CHECK;
/* Supersteps of a step. Errors: EMU_NO_MEMORY. */
enum emu_status train_bill_supersteps(const struct train_chip *t, size_t *out) EMU_MUST_CHECK;

#endif
