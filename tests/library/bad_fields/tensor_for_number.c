/* tensor_for_number.c - a tensor where a number belongs. */
#include "programs/library/kernel/vertex_fields.h"

uint32_t f(struct graph *g, struct tensor t, uint32_t n, float x);

uint32_t f(struct graph *g, struct tensor t, uint32_t n, float x)
{
    const struct codelet *c = KERNEL_ROW(add_scalar_f32);

    VERTEX_OF(scalar, c, g, 0, 1, .a = t, .b = x, .out = t);
    return VERTEX(norm_fold_f32, g, 0, 1, .sum = t, .sumsq = t, .totals = t, .first = t, .each = 16,
                  .channels = n);
}
