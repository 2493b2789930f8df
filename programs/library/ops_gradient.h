/* ops_gradient.h - gradients of the layers of ops_nn.h: each adds compute sets to a network's
 * sequence and returns its result.
 *
 * Activations and their gradients are f16 [c16][n][h][w][16], with zeros for the channels behind
 * the last one, also in what these functions take; ops_nn.h has more. Errors become the error of
 * the graph.
 */
#ifndef PROGRAMS_OPS_GRADIENT_H
#define PROGRAMS_OPS_GRADIENT_H

#include "emu/base/api.h"
#include "programs/library/ops_nn.h"

SUPERSTEP_API_BEGIN

/* The gradient of a convolution's input, dx, from that of its result, dy; x: that input, of which
 * only the sizes matter. l: the layer with weights w, best in f16 and in the form of
 * ss_conv_weights_home() (else they are rounded, or copied element by element); its bias,
 * activation function, residual and plan are ignored, its partials those of the sums here.
 *
 * A convolution of dy with weights that are transposed on the tiles where they live. Strides above
 * 1: one for each remainder of a position, with the taps that it meets; depthwise and dilated ones
 * instead spread dy with zeros. Positions that no window reads get zeros. Not for first layers. */
struct activation ss_op_conv_data_gradient(struct nn *nn, struct activation dy,
                                           const struct conv_layer *l, const struct activation *x,
                                           const char *name);

/* The gradient of a convolution's weights, f32, from the layer's input x (an activation or a
 * picture) and the gradient of its output: in the form of ss_conv_weights_home()'s `blocks`, with
 * zeros where there are no channels, so that it can be added to a home element by element;
 * ss_conv_weights_matrix() is its view [out_c][in_c / groups][kernel_h][kernel_w]. It lies where it
 * was added up, not where the home lies. Of l everything but the parameters, activation function,
 * residual and plan counts.
 *
 * Products of 16 positions are added up in f32, at most 16 such sums (more, if a row of the field
 * has more than 256 positions) in f16, and all of these in f32. */
struct tensor ss_op_conv_weight_gradient(struct nn *nn, struct activation x, struct activation dy,
                                         const struct conv_layer *l, const char *name);

/* The gradient of a pool's input x, where x lies; y: the pool's result; dy: its gradient. Of a
 * maximum the first of equal numbers of a window, row by row, gets all; dy of a mean is first
 * multiplied by 1 / what the window counts, in f16. A position that several windows see gets the
 * sum, rounded to f16 after each. Four steps a tap, of means one. */
struct activation ss_op_pool_gradient(struct nn *nn, struct activation x, struct activation y,
                                      struct activation dy, const struct pool_layer *l,
                                      const char *name);
/* The same for ss_op_global_pool(): dy [c16][n][1][1][16] over the positions of x, everywhere. Of x
 * only sizes and mapping matter. */
struct activation ss_op_global_pool_gradient(struct nn *nn, struct activation dy,
                                             const struct activation *x, const char *name);

/* A norm whose statistics are those of the data: a list has a number for each column, a channel
 * (batch norm) or a channel of a picture (group norm), [n][channels], channels rounded up to whole
 * blocks. */
struct norm_layer {
    uint32_t groups; /* 0: batch norm; else channels of each picture are in this many groups */
    int strided;     /* 1: group k has channels k, k + groups, ..; 0: neighbours */
    float eps;
    struct tensor gamma, beta; /* lists, f32, 0 for channels that there are not */
};
/* Lists, f32: mean, variance, 1 / root(variance + eps). The variance is for what moves: of four
 * strided groups it is the same list as rstd if nothing does. */
struct norm_statistics {
    struct tensor mean, variance, rstd;
};
/* Lists, f32, of batch norm; each becomes running + rate (now - running): a new list. */
struct norm_running {
    struct tensor mean, variance;
    float rate;
};

/* act(norm(x)), a new activation where x lies; act: none, relu or swish. Sums are f32, the variance
 * is the mean of squares less the square of the mean; scale and shift are rounded to f16.
 * running: NULL, or what is moved. Four compute sets and those of the sums over tiles; group norm
 * one or two more. */
struct activation ss_op_norm_train(struct nn *nn, struct activation x,
                                   const struct norm_layer *layer, enum activation_function act,
                                   struct norm_running *running, struct norm_statistics *out,
                                   const char *name);

/* Its gradients, without act: of x, where x lies, f16 made in f32; of gamma and beta, lists, of
 * group norm for each picture: the caller adds them up. beta of layer is not read. With h the
 * normed x: dx = rstd (g - mean(g) - h mean(g h)), g = gamma dy, which is a factor of dy, one of x
 * and a summand for each column. */
struct norm_gradients {
    struct activation x;
    struct tensor gamma, beta;
};
struct norm_gradients ss_op_norm_gradient(struct nn *nn, struct activation x, struct activation dy,
                                          const struct norm_layer *layer,
                                          const struct norm_statistics *statistics,
                                          const char *name);

SUPERSTEP_API_END

#endif
