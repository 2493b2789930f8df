/* op_error.h - a node in f64, with a bound for the error of each number that the machine may make
 * of the same inputs.
 *
 * u = 2^-11 is the relative error of a rounding to f16, t = 2^-25 its absolute error among
 * subnormals; v = 2^-24 that of a rounding to f32. Where numbers are f32, u and t are those of f32.
 * Constants are rounded once: w is off by what that changes, known exactly. Errors of operands go
 * through a node as its slopes say; those below come in addition.
 *
 *   convolution   y = sum of n products. Within 16 input channels at a place of the window a sum is
 *                 f32: less than 2^-20 S together, S = sum of |x w|. A partial sum is rounded to
 *                 f16 once for every 16 channels and place, and up to four times more (sums of
 *                 several tiles, bias, residual, result). No sum of some of the products is larger
 *                 than P = (S + |y|) / 2, since the products of either sign add up to (S + y) / 2
 *                 and (S - y) / 2: roundings x (u P + t). Sums may begin with the residual r: u |r|
 *                 more for every 16 channels and place, and for the bias. With partial sums in
 *                 f32 v P for every 16 channels, and two roundings of the result; depthwise ones
 *                 are as before
 *   dense layer   as a convolution of one place; of few rows (ss_op_linear) all sums are f32: n v P
 *                 and a rounding of the result
 *   product       as a convolution of one place; in f32 (n + 4) v P + v S
 *   elementwise   kernel by kernel: bounded.h. What is made of several kernels is composed of them
 *                 (op_error_function.c, op_error_elementwise.c)
 *   max pool      exact
 *   mean pool     of a whole field n v A, A = mean of |x|, and two roundings; of windows one more
 *                 rounding u A for each tap along either side
 *   views, picks  exact, but for constants: they are rounded
 *   cast          a rounding if the result is a float
 *   reductions    f32: sums of n numbers n v sum |x|, then rounded; products n v |y|; extremes and
 *                 their places exact. L1, L2, logarithms: composed
 *   softmax       in f32: y (n + 5 + distance from the largest) v, then rounded; its logarithm
 *                 v times all that is added, then rounded
 *   layer norm    in f32, rounded once: op_error_rows.c
 *   group norm    in f16 x, mean and shift are rounded at most six times:
 *                 6 (u (|s g x| + |s g mean| + |b|) + t); in f32 as a layer norm, scaled, shifted
 *   batch norm    factor and summand are rounded, and both results: 2 u |a x| + u |b| + u |y|
 *   norms that train: as layers of the library or as formulas in f32, with the errors of mean and
 *                 variance: op_error_train.c
 *   LSTM, GRU     step by step, composed of products and kernels; the state before a step is the
 *                 machine's own where that is known (op_error_cell.c)
 *   cross entropy in f32: of rows the errors of log softmax times targets, n v of the terms, and a
 *                 rounding for each row
 *
 * Of gradients, of which dy may be a constant, and then is rounded:
 *
 *   slopes        kernel by kernel, as functions are (op_error_function.c)
 *   by data       of a convolution, ConvTranspose: as a convolution of dy; a bias is added in f16
 *   by weights    S = sum of |x dy| over all positions. Within 16 positions a sum is f32: 2^-20 S;
 *                 at most 16 of these, or those of one row, are added in f16: as many times u S,
 *                 and t for each position; these in f32: v S for each position. Depthwise: u S and
 *                 2 v S for each position. The result is f32
 *   norms         op_error_train.c
 *   max pool      dy is added where the largest number is, of numbers rounded to f16: a rounding u
 *                 for each window that sees a position but the first, of the sum of their |dy|
 *   mean pool     two roundings more, of the share and of the product, and t for each window
 *   gather        a matrix of ones times dy: as a product
 */
#ifndef MODELS_OP_ERROR_H
#define MODELS_OP_ERROR_H

#include "models/operators/operators.h"
#include "models/bound/bounded.h"

/* Numbers of the reference. */
struct bounded_value {
    struct op_tensor t; /* owned */
    double *e;          /* owned: bounds of the errors of its elements; NULL: all are exact */
};
void bounded_value_free(struct bounded_value *x);
/* A constant of the graph, which the machine has rounded to a type. EMU_NO_MEMORY. */
enum emu_status bounded_value_constant(const struct op_graph *g, uint32_t value, enum elem e,
                                       struct bounded_value *out) EMU_MUST_CHECK;

/* Adds a rounding to the bounds of the results of a node, if they are floats. */
void bounded_value_round(enum elem e, struct bounded_value *x);

/* How nodes are computed. */
struct op_error {
    const struct op_graph *g;
    enum elem elem; /* of the result of the group */
    enum conv_partials partials;
    const struct op_tensor *made; /* by output: the machine's results of the node; any NULL: not
                                     known. Cells take their state from them */
    const struct bounded_value *added; /* of the result's shape: what sums of products may begin
                                        * with; NULL: nothing */
};

/* Computes a node on given inputs; absent ones are NULL. out: by output of the node; free each with
 * bounded_value_free, also after an error. A bound is infinite where nothing is known.
 * EMU_NO_MEMORY. */
enum emu_status op_error_node(const struct op_error *o, const struct op_node *n,
                              const struct bounded_value *const *in,
                              struct bounded_value *out) EMU_MUST_CHECK;

#endif
