/* op_error_rules.h - the rules of op_error.h by family, and what they share; private to it. */
#ifndef MODELS_OP_ERROR_RULES_H
#define MODELS_OP_ERROR_RULES_H

#include "models/bound/op_error.h"
#include "models/lower/op_formula.h"

/* Sets the bounds of the results that are there, which are zeros before; their numbers are the
 * reference's. EMU_NO_MEMORY. */
typedef enum emu_status op_error_rule(const struct op_error *o, const struct op_node *n,
                                      const struct bounded_value *const *in,
                                      struct bounded_value *out);

op_error_rule unary_error, slope_error;                /* op_error_function.c */
op_error_rule binary_error;                            /* op_error_elementwise.c */
op_error_rule conv_error, matmul_error, pool_error;    /* op_error_dense.c */
op_error_rule reduce_error, softmax_error, norm_error; /* op_error_rows.c */
op_error_rule recurrent_error;                         /* op_error_cell.c */
op_error_rule conv_back_error;                         /* op_error_dense.c */
op_error_rule loss_error;                              /* op_error_rows.c */
op_error_rule norm_train_error, norm_back_error;       /* op_error_train.c */

/* The value of a formula at x and, of a slope, the gradient d (op_error_function.c). */
struct bounded bounded_formula(const struct rounding *r, const struct op_formula *f,
                               struct bounded x, struct bounded d);

static inline int is_float(const struct bounded_value *x)
{
    return op_type_kind(x->t.shape.type) == OP_KIND_FLOAT;
}
static inline uint64_t count_of(const struct bounded_value *x)
{
    return op_shape_count(&x->t.shape);
}
static inline struct bounded bounded_at(const struct bounded_value *x, uint64_t i)
{
    return (struct bounded){ op_tensor_number(&x->t, i), x->e ? x->e[i] : 0 };
}
/* Whether input k is there. */
static inline int has_input(const struct op_node *n, const struct bounded_value *const *in,
                            uint32_t k)
{
    return k < n->ins && in[k];
}
/* Relative errors of f32. */
#define F32_UNIT 0x1p-24

/* What becomes of numbers by the node, with other floats as inputs; in[k] NULL: absent. *out: of
 * the first result; owned, ss_free. */
enum emu_status op_error_run(const struct op_error *o, const struct op_node *n,
                             const struct op_tensor *const *in, double **out) EMU_MUST_CHECK;
/* Bounds of x, and of a rounding to f16 in addition; NULL: all are 0. Owned, ss_free. */
enum emu_status op_error_as_f16(const struct bounded_value *x, double **out) EMU_MUST_CHECK;

#endif
