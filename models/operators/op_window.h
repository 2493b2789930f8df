/* op_window.h - the windows of convolutions and pools: which inputs an output position sees, along
 * the dimensions behind batch and channels.
 */
#ifndef MODELS_OP_WINDOW_H
#define MODELS_OP_WINDOW_H

#include "models/operators/operators.h"

enum { OP_WINDOW_DIMS = OP_RANK_MAX - 2 };

/* By dimension, the first one behind the channels. Sizes are below 2^32, the others at most 2^24
 * (an end can be negative: outputs behind the last window). */
struct op_window {
    unsigned dims; /* 1 to OP_WINDOW_DIMS */
    int64_t in[OP_WINDOW_DIMS], out[OP_WINDOW_DIMS];
    int64_t kernel[OP_WINDOW_DIMS], stride[OP_WINDOW_DIMS], dilation[OP_WINDOW_DIMS];
    int64_t begin[OP_WINDOW_DIMS], end[OP_WINDOW_DIMS]; /* padding */
};

/* What a window covers along dimension d. */
static inline int64_t op_window_reach(const struct op_window *w, unsigned d)
{
    return (w->kernel[d] - 1) * w->dilation[d] + 1;
}

/* Reads kernel_shape, strides, dilations, pads and auto_pad (absent ones have their defaults) for
 * an input [N][C][..]. kernel: the sizes, which an attribute must repeat; NULL: the attribute says
 * them. Sets all but the pads and out. */
enum emu_status op_window_read(struct op_call *c, const struct op_shape *in, const uint32_t *kernel,
                               struct op_window *w) EMU_MUST_CHECK;

/* Pads and out: output position o and tap k see the input at
 *
 *   o * stride - begin + k * dilation
 *
 * ceil_mode: a last window that does not fit is counted, unless it begins behind the input. */
enum emu_status op_window_forward(struct op_call *c, int ceil_mode,
                                  struct op_window *w) EMU_MUST_CHECK;

/* Pads and out of a transposed convolution, from output_padding and output_shape, too: input i
 * adds to the output at
 *
 *   i * stride - begin + k * dilation */
enum emu_status op_window_transposed(struct op_call *c, struct op_window *w) EMU_MUST_CHECK;

/* The result's shape: batch and channels as given. */
struct op_shape op_window_shape(const struct op_window *w, enum op_type type, uint32_t batch,
                                uint32_t channels);

/* The product of all sizes in a list of the window. */
uint64_t op_window_span(const struct op_window *w, const int64_t *list);

#endif
