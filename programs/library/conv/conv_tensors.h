/* conv_tensors.h - parameters of a convolution that are tensors of the graph: views of them in the
 * order in which the codelets read them. Private to convolutions.
 *
 * The form of ss_conv_weights_home(), by method:
 *
 *   GEMM, WINDOW   [out blocks][in blocks of a group][kernel_h][kernel_w][16 out][16 in]
 *   DEPTHWISE      [blocks][kernel_h][kernel_w][1][16]
 *   FIRST          [out blocks][kernel_h][16 out][kernel_w][4 in]
 *
 * A layer whose groups are joined has none: its home has the shape of the weights.
 */
#ifndef PROGRAMS_CONV_TENSORS_H
#define PROGRAMS_CONV_TENSORS_H

#include "programs/library/conv/conv.h"

/* l->w in the form of ss_conv_weights_home() for a method; a layer that is not to be joined.
 * channels: input channels of a group. */
struct tensor conv_weight_blocks(struct nn *nn, const struct conv_layer *l, enum conv_method method,
                                 uint32_t channels);

/* t, or t rounded to f16. */
struct tensor conv_f16(struct nn *nn, struct tensor t, const char *name);
/* f16 zeros that tiles may fetch, flat. */
struct tensor conv_some_zeros(struct nn *nn);
/* t, f16, with zeros added to a dimension up to `size`. */
struct tensor conv_pad(struct nn *nn, struct tensor t, unsigned dim, uint32_t size);

/* What tiles fetch as parts of the parameters: parts (i, o) of a plan, flat, in the order of their
 * numbers, o running fastest. All parts, one after the other: the parts themselves if they are f16
 * and each block of them is neighbours in memory, else copies on one user's tile each. */
struct tensor conv_fetched(struct nn *nn, const struct conv_plan *plan, const struct tensor *part);

/* l->b as [blocks * 16] in f16, with zeros after the last channel. */
struct tensor conv_bias_tensor(struct nn *nn, const struct conv_layer *l);

#endif
