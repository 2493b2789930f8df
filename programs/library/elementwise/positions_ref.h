/* positions_ref.h - what the C meanings of codelets for layers share: activation functions, and
 * which positions a worker has.
 */
#ifndef PROGRAMS_POSITIONS_REF_H
#define PROGRAMS_POSITIONS_REF_H

#include "programs/library/elementwise/elementwise_ref.h"

enum activation_f16 { ACTIVATION_NONE, ACTIVATION_RELU, ACTIVATION_SWISH, ACTIVATION_SIGMOID };

/* Slots of POSITIONS in positions.inc; of a worker without positions. */
enum { POSITIONS_SLOTS = 25, POSITIONS_NONE_SLOTS = 21 };

/* The positions of a worker: how many, in how many blocks. */
struct positions {
    uint64_t count, blocks;
};

/* Cycles of add_relu_f16 with edges of n elements that lie like this. */
uint64_t add_relu_cycles_at(const struct arch *a, uint32_t n, enum elementwise_place place);

/* The positions of worker w in [blocks][f]. */
struct positions positions_of(const struct arch *a, uint64_t blocks, uint64_t f, unsigned w);

#endif
