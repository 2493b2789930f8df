/* op_gradient.h - gradients of operators: each node's is made of nodes, by its family.
 *
 * The gradient of a value is how a scalar, the loss, changes with each of its elements; it has the
 * value's shape and type. A family's gradient function gets the gradients of a node's results, and
 * makes those of its inputs. The nodes that are made are named "NODE.back" and belong to the node's
 * block; if the node computes in f32 among others in f16 (op_node.precision), so does that.
 */
#ifndef MODELS_OP_GRADIENT_H
#define MODELS_OP_GRADIENT_H

#include "models/operators/operators.h"

/* Appends nodes for the gradients of `of`, a float of one element, by the values in `by`, which are
 * no constants. seed: the gradient of `of` itself, of its shape and type (a loss scale, say);
 * OP_NONE: 1. out: by `by`; OP_NONE: `of` does not depend on it. Errors: EMU_BAD_FILE names a node
 * on the way that has no gradient, and says why; EMU_NO_MEMORY. */
enum emu_status op_gradients(struct op_graph *g, uint32_t of, uint32_t seed, const uint32_t *by,
                             uint32_t count, uint32_t *out) EMU_MUST_CHECK;

/* --- for families -------------------------------------------------------------------------- */

/* A node whose gradient is made. The first error is kept: later calls do nothing and return
 * OP_NONE, which all accept. */
struct op_gradient {
    struct op_graph *g;
    const struct op_node *n;
    const uint32_t *out;   /* by result: its gradient; OP_NONE: 0 */
    const uint8_t *wanted; /* by input: somebody asks for its gradient */
    uint32_t *in;          /* by input: its gradient, to be set; OP_NONE at first: 0 */
    enum emu_status status;
};

static inline int gradient_is(const struct op_gradient *x, enum op_code op)
{
    return op_node_is(x->n, op);
}
/* The shape of a value, by value: the graph's list of them grows with every node. */
static inline struct op_shape gradient_shape(const struct op_gradient *x, uint32_t value)
{
    return x->g->value[value].shape;
}

/* There is none: fails with the reason. */
void gradient_refuse(struct op_gradient *x, const char *fmt, ...) EMU_PRINTF(2, 3);

/* Nodes. They have one result, which is returned. Names of attributes are borrowed. */
struct op_named_attr gradient_int(const char *name, int64_t i);
struct op_named_attr gradient_float(const char *name, double f);
struct op_named_attr gradient_text(const char *name, const char *text);
struct op_named_attr gradient_ints(const char *name, const int64_t *list, uint32_t count);
uint32_t gradient_node(struct op_gradient *x, enum op_code op, const uint32_t *in, uint32_t ins,
                       const struct op_named_attr *attr, uint32_t attrs);
uint32_t gradient_unary(struct op_gradient *x, enum op_code op, uint32_t a);
uint32_t gradient_binary(struct op_gradient *x, enum op_code op, uint32_t a, uint32_t b);
/* A constant of no dimensions, of the type of a value. */
uint32_t gradient_number(struct op_gradient *x, uint32_t like, double number);
/* a OP number. */
uint32_t gradient_scaled(struct op_gradient *x, enum op_code op, uint32_t a, double number);
/* Zeros of a shape. */
uint32_t gradient_zeros(struct op_gradient *x, struct op_shape s);
uint32_t gradient_reshape(struct op_gradient *x, uint32_t a, struct op_shape to);
uint32_t gradient_expand(struct op_gradient *x, uint32_t a, struct op_shape to);
/* perm: by dimension of the result. */
uint32_t gradient_transpose(struct op_gradient *x, uint32_t a, const unsigned *perm);
/* The last two dimensions swapped. */
uint32_t gradient_turn(struct op_gradient *x, uint32_t a);
/* A reduction over a set of axes, which stay as dimensions of 1. */
uint32_t gradient_reduce(struct op_gradient *x, enum op_code op, uint32_t a, uint32_t axes);
/* a added up over what broadcasting `to` has repeated. */
uint32_t gradient_sum_to(struct op_gradient *x, uint32_t a, struct op_shape to);

#endif
