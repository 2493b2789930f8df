/* ops.h - whole operations on tensors: each adds compute sets and copies to a sequence and returns
 * its result.
 *
 * Results of elementwise operations lie where their first operand lies (follow the producer);
 * pieces of a tile that are consecutive in memory become one vertex. Types f16 and f32. Errors are
 * those of the builder (compiler.h).
 */
#ifndef PROGRAMS_OPS_H
#define PROGRAMS_OPS_H

#include "programs/library/layout/plan.h"
#include "programs/compiler/compiler.h"

enum unary_op {
    UNARY_RELU,
    UNARY_SIGMOID,
    UNARY_SWISH,
    UNARY_TANH,
    UNARY_EXP,
    UNARY_SQRT,
    UNARY_RSQRT,
    UNARY_COUNT
};
enum binary_op { BINARY_ADD, BINARY_SUB, BINARY_MUL, BINARY_MAX, BINARY_COUNT };
enum reduce_op { REDUCE_SUM, REDUCE_MAX, REDUCE_SUMSQ, REDUCE_COUNT };

void op_fill(struct graph *g, struct program seq, struct tensor t, float value, const char *name);
struct tensor op_cast(struct graph *g, struct program seq, struct tensor t, enum elem to,
                      const char *name);
struct tensor op_unary(struct graph *g, struct program seq, enum unary_op op, struct tensor t,
                       const char *name);
/* b has the shape of a; or is one dimension, the last one of a (a value per channel). Both of one
 * type. */
struct tensor op_binary(struct graph *g, struct program seq, enum binary_op op, struct tensor a,
                        struct tensor b, const char *name);
struct tensor op_binary_scalar(struct graph *g, struct program seq, enum binary_op op,
                               struct tensor a, float b, const char *name);
/* y += a x, in place; equal shapes and types. */
void op_axpy(struct graph *g, struct program seq, float a, struct tensor x, struct tensor y,
             const char *name);

/* t [p][n] -> [n] of type `to`, over dimension 0. Sums are f32 inside a stage. Stages are chosen by
 * cost (plan_reduce). */
struct tensor op_reduce(struct graph *g, struct program seq, enum reduce_op op, struct tensor t,
                        enum elem to, const char *name);
/* All elements -> one f32. */
struct tensor op_total(struct graph *g, struct program seq, enum reduce_op op, struct tensor t,
                       const char *name);
/* All elements -> the index (u32, one element) of the first maximum. */
struct tensor op_argmax(struct graph *g, struct program seq, struct tensor t, const char *name);
/* Over all elements; f32 out. */
struct tensor op_softmax(struct graph *g, struct program seq, struct tensor t, const char *name);
/* [r][c] -> [c][r], really moved: the result lies in blocks, one per tile. */
struct tensor op_transpose(struct graph *g, struct program seq, struct tensor t, const char *name);

/* An operand of a matrix product, in the layout and on the tiles its plan wants: as a matrix, and
 * as the plan's blocks in order (what the product reads; flat). */
struct matmul_operand {
    struct tensor matrix, blocks;
};

/* Matrix product in f16, c [m][n] = a [m][k] b [k][n], by a plan of plan_matmul(). Tiles that share
 * an operand's block hold a part of it each. The result is a view that looks like [m][n], whatever
 * the layout. */
struct matmul_operand op_matmul_left(struct graph *g, const struct matmul_plan *plan,
                                     const char *name);
struct matmul_operand op_matmul_right(struct graph *g, const struct matmul_plan *plan,
                                      const char *name);
struct tensor op_matmul(struct graph *g, struct program seq, const struct matmul_plan *plan,
                        struct matmul_operand a, struct matmul_operand b, const char *name);

#endif
