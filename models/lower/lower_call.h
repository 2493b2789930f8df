/* lower_call.h - equal blocks as one function of the program; private to models/lower.
 *
 * The first stretch of a class (equal_blocks.h) is lowered as the body of a function, on values of
 * its own: formal ones, which lie like those that this stretch reads. Every stretch of the class is
 * then a call: its operands are copied to the formal values, and results that are needed later are
 * copied from where the function has made them. Parameters of equal blocks lie alike
 * (lower_state.c), so these copies stay on their tiles; what one block hands to the next moves
 * where their plans differ. Results that are not needed after the next call are not copied
 * (lent_values.h).
 */
#ifndef MODELS_LOWER_CALL_H
#define MODELS_LOWER_CALL_H

#include "models/lower/lent_values.h"
#include "models/lower/lowering.h"

/* A class of blocks as a function. */
struct block_function {
    int is_known;      /* 1: making it was tried */
    uint32_t function; /* of the graph; OP_NONE: its operands cannot be handed over */
    uint32_t convs;    /* that its body has */
    /* By number of the value; owned. */
    struct placed *formal; /* what it reads */
    struct placed *made;   /* all values as they are at the end of the body */
    uint8_t *parts;        /* which tensors a formal value has, a set of enum placed_part */
    uint8_t *is_lent;      /* a formal value is where another function makes it */
};

/* What must be known before states are placed: l->blocks, l->function and l->like. Free with
 * lower_calls_end. EMU_NO_MEMORY. */
enum emu_status lower_calls_begin(struct lowering *l, struct equal_blocks *blocks) EMU_MUST_CHECK;
void lower_calls_end(struct lowering *l);

/* Lowers the stretch that begins with group l->group as a call. *groups: how many it has; 0: there
 * is none, or it cannot be called. */
enum emu_status lower_call_stretch(struct lowering *l, uint32_t *groups) EMU_MUST_CHECK;

/* Memory for so many values in l->storage_left, if blocks are functions. */
uint32_t lower_storages(const struct lowering *l);

#endif
