/* ops.h - operations on tensors: each adds compute sets and copies to the sequence `seq` and
 * returns its result. `name` is for reports.
 *
 * Operands are any views. Results of elementwise operations lie where their first operand lies, or
 * the one that is spread best (tile_parts.h); each tile has one vertex. Types are f16 and f32; f16
 * is computed in f32 where f16 would lose accuracy. Errors become the error of the graph
 * (compiler.h).
 */
#ifndef PROGRAMS_OPS_H
#define PROGRAMS_OPS_H

#include "emu/base/api.h"
#include "programs/library/layout/plan.h"
#include "programs/compiler/compiler.h"

SUPERSTEP_API_BEGIN

enum unary_op {
    UNARY_RELU,
    UNARY_SIGMOID,
    UNARY_SWISH,
    UNARY_TANH,
    UNARY_EXP,
    UNARY_SQRT,
    UNARY_RSQRT,
    UNARY_NEG,
    UNARY_ABS,
    UNARY_RECIPROCAL,
    UNARY_LOG,
    UNARY_FLOOR,
    UNARY_CEIL,
    UNARY_ROUND, /* halves to even */
    UNARY_SIGN,  /* -1, 0, 1; NaN for NaN */
    UNARY_ERF,
    UNARY_GELU, /* x (1 + erf(x / sqrt 2)) / 2 */
    UNARY_HARD_SWISH,
    UNARY_SIN, /* good to 2e-6 for numbers up to 50,000 */
    UNARY_COS,
    UNARY_COUNT
};
/* Of max and min a number wins over NaN. Comparisons give 1 or 0, with NaN 0. x to the power of 0
 * is 1; of negative x, powers that are whole are right, others NaN; -0 counts as 0. */
enum binary_op {
    BINARY_ADD,
    BINARY_SUB,
    BINARY_MUL,
    BINARY_MAX,
    BINARY_MIN,
    BINARY_DIV,
    BINARY_POW,
    BINARY_LESS,
    BINARY_LESS_OR_EQUAL,
    BINARY_EQUAL,
    BINARY_COUNT
};
enum reduce_op { REDUCE_SUM, REDUCE_MAX, REDUCE_SUMSQ, REDUCE_COUNT };
enum row_op {
    ROW_OP_SUM,
    ROW_OP_MEAN,
    ROW_OP_MAX,
    ROW_OP_MIN,
    ROW_OP_PROD,
    ROW_OP_SUMSQ,
    ROW_OP_COUNT
};
enum row_softmax { ROW_SOFTMAX, ROW_LOG_SOFTMAX };
enum row_axis { ROW_BY_COLUMN, ROW_BY_ROW };

void ss_op_fill(struct graph *g, struct program seq, struct tensor t, float value,
                const char *name);
struct tensor ss_op_cast(struct graph *g, struct program seq, struct tensor t, enum elem to,
                         const char *name);
struct tensor ss_op_unary(struct graph *g, struct program seq, enum unary_op op, struct tensor t,
                          const char *name);
/* b has the shape of a, or one dimension as long as the last one of a (a value per channel). Both
 * have the same type. */
struct tensor ss_op_binary(struct graph *g, struct program seq, enum binary_op op, struct tensor a,
                           struct tensor b, const char *name);
/* t [blocks][n][..][c], a field, and a number for each channel: v [blocks * c], or [n][blocks * c],
 * of the same type. add, sub, mul, max, min. Each tile fetches the c numbers of its blocks once. */
struct tensor ss_op_binary_channels(struct graph *g, struct program seq, enum binary_op op,
                                    struct tensor t, struct tensor v, const char *name);
struct tensor ss_op_binary_scalar(struct graph *g, struct program seq, enum binary_op op,
                                  struct tensor a, float b, const char *name);
/* The same with the scalar as first operand. */
struct tensor ss_op_scalar_binary(struct graph *g, struct program seq, enum binary_op op, float a,
                                  struct tensor b, const char *name);
/* min(max(t, low), high); NaN stays NaN. Bounds beyond the type are infinite. */
struct tensor ss_op_clamp(struct graph *g, struct program seq, struct tensor t, float low,
                          float high, const char *name);
/* t where it is positive, else slope t. */
struct tensor ss_op_leaky_relu(struct graph *g, struct program seq, struct tensor t, float slope,
                               const char *name);
/* min(max(alpha t + beta, 0), 1); NaN stays NaN. */
struct tensor ss_op_hard_sigmoid(struct graph *g, struct program seq, struct tensor t, float alpha,
                                 float beta, const char *name);
/* a where cond is not 0, else b; all of one shape and type. */
struct tensor ss_op_select(struct graph *g, struct program seq, struct tensor cond, struct tensor a,
                           struct tensor b, const char *name);
/* dy times the slope of a function: at v, of sigmoid and tanh with the result v. Made in f32. */
enum slope_op { SLOPE_RELU, SLOPE_SIGMOID, SLOPE_TANH, SLOPE_SWISH, SLOPE_COUNT };
struct tensor ss_op_slope(struct graph *g, struct program seq, enum slope_op op, struct tensor v,
                          struct tensor dy, const char *name);
/* y += a x, in place. x and y have equal shapes and types. */
void ss_op_axpy(struct graph *g, struct program seq, float a, struct tensor x, struct tensor y,
                const char *name);

/* t [p][n] -> [n] of type `to`, over dimension 0. Sums are f32 within a stage; the stages are
 * chosen by cost (plan_reduce()). */
struct tensor ss_op_reduce(struct graph *g, struct program seq, enum reduce_op op, struct tensor t,
                           enum elem to, const char *name);
/* All elements of t -> one f32. */
struct tensor ss_op_total(struct graph *g, struct program seq, enum reduce_op op, struct tensor t,
                          const char *name);
/* All elements of t -> the index (u32, one element) of the first maximum. */
struct tensor ss_op_argmax(struct graph *g, struct program seq, struct tensor t, const char *name);
/* Softmax over all elements of t, in f32. */
struct tensor ss_op_softmax(struct graph *g, struct program seq, struct tensor t, const char *name);
/* [r][c] -> [c][r]. Moves the data, unlike a view: the result lies in blocks, one per tile. */
struct tensor ss_op_transpose(struct graph *g, struct program seq, struct tensor t,
                              const char *name);

/* Products of matrices: a [batch][m][k] b [batch][k][n] -> [batch][m][n], all f16 or all f32, of
 * any sizes and any views, cut over all compute tiles by cost (plan_product()). On the matrix unit:
 * f16 sums are f32 within 16 terms, and f16 between blocks of these and between tiles; f32 takes
 * eight times as long. Sums without terms are 0. Terms should be neighbours in memory in a, and in
 * b, whose columns are then its rows in memory: as in Q K^T, with b a transposed view of K. An
 * operand in which the other dimension is (V, which is [k][n] in memory) is transposed first, which
 * takes a step of its own; one in which neither is (every other element of a row, say) is fetched
 * element by element, which is slow and takes much exchange code. If b is the same for all of the
 * batch, make the batch rows of one product. */
struct tensor ss_op_product(struct graph *g, struct program seq, struct tensor a, struct tensor b,
                            const char *name);
/* The right operand b [1][k][n] for products with m rows that a loop computes again and again: a
 * copy, made in seq, that lies where ss_op_product() uses it. If several tiles would use the same
 * part of it, or the batch is not 1, it is b itself. */
struct tensor ss_op_product_hold(struct graph *g, struct program seq, uint32_t m, struct tensor b,
                                 const char *name);

/* ---- the rows of a matrix ----
 *
 * t is [r][n], f16 or f32 and not empty; any view will do, so an operation over other dimensions
 * takes them last and the others first (ss_tensor_transpose, ss_tensor_reshape). Rows, and pieces
 * of rows where there are few, are spread over all compute tiles, which fetch them. Everything is
 * computed in f32 and rounded once. */

/* -> [r] of type `to`, f16 or f32. */
struct tensor ss_op_row_reduce(struct graph *g, struct program seq, enum row_op op, struct tensor t,
                               enum elem to, const char *name);
/* -> [r][n]: e^(x - the largest of the row) over their sum, or the logarithm of that. */
struct tensor ss_op_row_softmax(struct graph *g, struct program seq, struct tensor t,
                                enum row_softmax kind, const char *name);
/* -> [r][n]: (x - mean) / root(variance + eps) gamma + beta, the variance being the mean square of
 * the deviations from the mean. gamma, beta: one for each column (n) or for each row (r), as axis
 * says; borrowed during the call; NULL: all 1, all 0. They become constants: those by column on all
 * tiles that have the column. */
struct tensor ss_op_row_norm(struct graph *g, struct program seq, struct tensor t,
                             enum row_axis axis, const float *gamma, const float *beta, float eps,
                             const char *name);

/* ---- loops over rows ----
 *
 * For the body of a ss_program_repeat() that runs once for each row: it takes a row of some
 * matrices and stores one in others, so its code and its exchanges are there once, however many
 * rows there are. A tile has the same columns of all rows, and a counter that says which row is
 * next; the counters are 0 before and after the loop. */
struct row_loop {
    uint32_t rows; /* above 0 */
    struct tensor at;
};
/* Rows of k parts of n elements, f16 or f32, k and n above 0; column j of all parts lies on the
 * tile of column j of the others. Contents are undefined until written. */
struct loop_rows {
    struct tensor all;   /* [rows][k][n] */
    struct tensor parts; /* [tiles][rows][k][columns of a tile] */
};
struct row_loop ss_op_row_loop(struct graph *g, uint32_t rows, const char *name);
struct loop_rows ss_op_loop_rows(struct graph *g, const struct row_loop *l, enum elem e, uint32_t k,
                                 uint32_t n, const char *name);
/* The next row, a new variable [k][n] where it lies. */
struct tensor ss_op_row_get(struct graph *g, struct program seq, const struct row_loop *l,
                            const struct loop_rows *r, const char *name);
/* Stores [k][n] as the next row. */
void ss_op_row_put(struct graph *g, struct program seq, const struct row_loop *l,
                   const struct loop_rows *r, struct tensor row, const char *name);
/* Ends the body: all counters go on. */
void ss_op_row_next(struct graph *g, struct program seq, const struct row_loop *l,
                    const char *name);

/* An operand of a matrix product, in the layout and on the tiles that its plan wants. Two views of
 * one variable: the matrix, and the plan's blocks in order, flat, which the product reads. */
struct matmul_operand {
    struct tensor matrix, blocks;
};

/* Matrix product in f16, c [m][n] = a [m][k] b [k][n], by a plan of ss_plan_matmul(): the first two
 * calls make the operands, the third the result. Tiles that need the same block of an operand hold
 * a part of it each. The result is a view [m][n], whatever its layout. */
struct matmul_operand ss_op_matmul_left(struct graph *g, const struct matmul_plan *plan,
                                        const char *name);
struct matmul_operand ss_op_matmul_right(struct graph *g, const struct matmul_plan *plan,
                                         const char *name);
struct tensor ss_op_matmul(struct graph *g, struct program seq, const struct matmul_plan *plan,
                           struct matmul_operand a, struct matmul_operand b, const char *name);

SUPERSTEP_API_END

#endif
