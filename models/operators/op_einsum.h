/* op_einsum.h - the equation of an Einsum: labels of the dimensions of its operands and its result.
 */
#ifndef MODELS_OP_EINSUM_H
#define MODELS_OP_EINSUM_H

#include "models/operators/operators.h"

enum {
    EINSUM_LETTERS = 52,
    EINSUM_LABELS = EINSUM_LETTERS + OP_RANK_MAX, /* behind the letters the dimensions of "..." */
    EINSUM_OPERANDS = 16
};

/* Labels of an operand or of the result. */
struct einsum_term {
    unsigned n;
    uint8_t label[OP_RANK_MAX + 1];
};

struct einsum {
    unsigned operands, dots; /* dots: dimensions of "..." */
    struct einsum_term in[EINSUM_OPERANDS], out;
    int named_out;                /* "->" is there */
    unsigned seen[EINSUM_LABELS]; /* how often it occurs in the operands */
    uint32_t size[EINSUM_LABELS];
};

/* Reads and checks the equation for c->in, or refuses. Operands have a label for each of their
 * dimensions; those of size 1 are broadcast to the label's size. */
enum emu_status op_einsum_of(struct op_call *c, struct einsum *e) EMU_MUST_CHECK;

/* How far apart the elements of an operand of shape s are that follow one another along a label:
 * along the diagonal if it has the label twice; 0: it has not, or is broadcast. */
uint64_t op_einsum_stride(const struct einsum_term *t, const struct op_shape *s, unsigned label);

#endif
