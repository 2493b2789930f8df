/* arithmetic.h - formulas on tensors of one shape, for operators that have no kernel of their own.
 */
#ifndef MODELS_ARITHMETIC_H
#define MODELS_ARITHMETIC_H

#include "models/lower/lowering.h"

/* To which program the operations of a formula are added, and their name. */
struct formula {
    struct lowering *l;
    const char *name;
};

static inline struct tensor fn(const struct formula *f, enum unary_op op, struct tensor x)
{
    return ss_op_unary(f->l->g, f->l->seq, op, x, f->name);
}
static inline struct tensor fn_two(const struct formula *f, enum binary_op op, struct tensor x,
                                   struct tensor y)
{
    return ss_op_binary(f->l->g, f->l->seq, op, x, y, f->name);
}
/* x and a number; the number first. */
static inline struct tensor fn_by(const struct formula *f, enum binary_op op, struct tensor x,
                                  double number)
{
    return ss_op_binary_scalar(f->l->g, f->l->seq, op, x, (float)number, f->name);
}
static inline struct tensor fn_from(const struct formula *f, enum binary_op op, double number,
                                    struct tensor x)
{
    return ss_op_scalar_binary(f->l->g, f->l->seq, op, (float)number, x, f->name);
}
/* x in f32. */
static inline struct tensor fn_wide(const struct formula *f, struct tensor x)
{
    return ss_tensor_elem(f->l->g, x) == ELEM_F32
               ? x
               : ss_op_cast(f->l->g, f->l->seq, x, ELEM_F32, f->name);
}
/* a where cond is not 0, else b. */
static inline struct tensor fn_select(const struct formula *f, struct tensor cond, struct tensor a,
                                      struct tensor b)
{
    return ss_op_select(f->l->g, f->l->seq, cond, a, b, f->name);
}

#endif
