/* op_random.h - what DropoutMask means to the bit. */
#ifndef MODELS_OP_RANDOM_H
#define MODELS_OP_RANDOM_H

#include <stdint.h>

/* What operations' numbers are mixed with: RANDOM_OPERATION of programs/library/ops_random.h. */
#define OP_MASK_OPERATION 0x55555555u

/* A probability as f16v4rmask takes it. */
uint32_t op_mask_keep(double keep);

#endif
