/* fold_ref.h - what the meanings of reduce_* and total_* share: taking one more element into a sum,
 * a sum of squares or a maximum.
 */
#ifndef PROGRAMS_FOLD_REF_H
#define PROGRAMS_FOLD_REF_H

#include "programs/library/kernel/codelet_ref.h"

enum fold_op { FOLD_SUM, FOLD_SUMSQ, FOLD_MAX };

/* Element i of an edge of 16 or 32 bits. */
static inline uint32_t fold_element(const void *data, unsigned bits, size_t i)
{
    return bits == 16 ? ((const uint16_t *)data)[i] : ((const uint32_t *)data)[i];
}

/* The new value of acc, which is f32, or, for maxima, of the type of x. */
static inline uint32_t fold(enum fold_op op, unsigned bits, uint32_t acc, uint32_t x,
                            struct fp_env *env)
{
    uint16_t h = (uint16_t)x;

    switch (op) {
    case FOLD_SUM:
        return fp_f32_add(acc, bits == 16 ? fp_f16_to_f32(h, env) : x, env);
    case FOLD_SUMSQ:
        return bits == 16 ? fp_f32_add_exact_f16_products(acc, &h, &h, 1, env)
                          : fp_f32_fma(x, x, acc, env);
    default:
        return bits == 16 ? fp_f16_max((uint16_t)acc, h, env) : fp_f32_max(acc, x, env);
    }
}

#endif
