/* positions_ref.h - what the references of codelets of layers share: activation functions, and the
 * positions of a worker.
 */
#ifndef PROGRAMS_POSITIONS_REF_H
#define PROGRAMS_POSITIONS_REF_H

#include "programs/library/elementwise/elementwise_ref.h"

enum activation_f16 { ACTIVATION_NONE, ACTIVATION_RELU, ACTIVATION_SWISH, ACTIVATION_SIGMOID };

/* POSITIONS of positions.inc; without any positions. */
enum { POSITIONS_SLOTS = 25, POSITIONS_NONE_SLOTS = 21 };

/* What a worker has: positions, the blocks in which they lie, positions in the last of these. */
struct positions {
    uint64_t count, blocks, tail;
};

/* add_relu_f16: edges of n elements that lie like this. */
uint64_t add_relu_cycles_at(const struct arch *a, uint32_t n, enum elementwise_place place);

struct positions positions_of(const struct arch *a, uint64_t blocks, uint64_t f, unsigned w);

#endif
