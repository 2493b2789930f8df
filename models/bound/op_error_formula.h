/* op_error_formula.h - formulas of kernels on numbers with bounds, as models/lower/arithmetic.h has
 * them on tensors; private to op_error.h. */
#ifndef MODELS_OP_ERROR_FORMULA_H
#define MODELS_OP_ERROR_FORMULA_H

#include "models/bound/op_error_rules.h"

/* The type that its kernels are of; p: the attributes that it names. */
struct formula {
    const struct rounding *r;
    double p[2];
};

static inline struct bounded fn(const struct formula *f, enum unary_op op, struct bounded x)
{
    return bounded_unary(f->r, op, x);
}
static inline struct bounded two(const struct formula *f, enum binary_op op, struct bounded a,
                                 struct bounded b)
{
    return bounded_binary(f->r, op, a, b);
}
/* x and a number; the number first. */
static inline struct bounded by(const struct formula *f, enum binary_op op, struct bounded x,
                                double number)
{
    return bounded_binary(f->r, op, x, bounded_constant(f->r, number));
}
static inline struct bounded from(const struct formula *f, enum binary_op op, double number,
                                  struct bounded x)
{
    return bounded_binary(f->r, op, bounded_constant(f->r, number), x);
}

#endif
