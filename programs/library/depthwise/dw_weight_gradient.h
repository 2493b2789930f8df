/* dw_weight_gradient.h - the gradient of a depthwise convolution's weights. Private to
 * programs/library/conv.
 */
#ifndef PROGRAMS_DW_WEIGHT_GRADIENT_H
#define PROGRAMS_DW_WEIGHT_GRADIENT_H

#include "programs/library/layout/network.h"
#include "programs/library/ops_nn.h"

/* The gradient of the weights of layer l, one channel a group, of any kernel, with input x and the
 * gradient dy of its output: f32, [blocks][kernel_h][kernel_w][1][16], the form of
 * ss_conv_weights_home(). Channels of the last block that there are not get sums, too. */
struct tensor dw_weight_gradient(struct nn *nn, const struct activation *x,
                                 const struct activation *dy, const struct conv_layer *l);

#endif
