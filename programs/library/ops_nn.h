/* ops_nn.h - layers of convolutional networks: each adds compute sets to a sequence and returns its
 * result.
 *
 * Activations are f16 [c16][n][h][w][16]: channels lie in blocks of 16, c16 = ceil(c / 16), and
 * channels after the last one are zero and stay zero. A layer's result lies where its plan computes
 * it; the next layer fetches what it needs. Parameters are constants: every tile that uses them
 * holds them, or, if the plan of a convolution says so, one of these tiles holds them, and the
 * others fetch them with their input. Or they are tensors of the graph, which are always fetched.
 */
#ifndef PROGRAMS_OPS_NN_H
#define PROGRAMS_OPS_NN_H

#include "emu/base/api.h"
#include "programs/library/conv/conv_plan.h"
#include "programs/compiler/compiler.h"

SUPERSTEP_API_BEGIN

/* Channels of an activation that lie together in memory. */
enum { CHANNEL_BLOCK = 16 };

enum activation_function { ACT_NONE, ACT_RELU, ACT_SWISH, ACT_SIGMOID };

/* A network under construction. */
struct nn;

/* Layers are added to seq. memory_bytes: the most temporary memory that a layer may take on a tile;
 * 0: no limit. Errors: EMU_NO_MEMORY, or the graph's error. */
enum emu_status ss_nn_new(struct graph *g, struct program seq, uint64_t memory_bytes,
                          struct nn **out) EMU_MUST_CHECK;
void ss_nn_free(struct nn *nn);
/* Layers are added to another sequence from now on; returns the one of before. */
struct program ss_nn_continue_in(struct nn *nn, struct program seq);
/* Sets the price of a KiB of a convolution's parameters on a tile, in cycles; at first 0. A higher
 * price makes plans slower and the program smaller. */
void ss_nn_set_price(struct nn *nn, uint32_t kib_price);

/* An activation tensor and how many of its channels are real. */
struct activation {
    struct tensor t; /* [c16][n][h][w][16] */
    uint32_t n, c, h, w;
};

/* An input variable for pictures of 3 or 4 channels, [n][h][w][4], which the host writes before
 * every run; ss_op_conv() takes it as a first layer: kernel 3 to 7 square, stride 2, dilation 1.
 * Mapped linearly over all tiles. */
struct activation ss_op_picture(struct nn *nn, uint32_t n, uint32_t h, uint32_t w,
                                const char *name);

/* Turns a picture [n][h][w][4] into an activation, for convolutions that the kernel of first layers
 * cannot do (stride 1, for example). */
struct activation ss_op_picture_blocks(struct nn *nn, struct activation picture, const char *name);

/* The format in which pictures arrive: three channels per pixel. */
struct pixel_format {
    enum elem elem;         /* u8, f16 or f32 */
    uint16_t table[3][256]; /* of u8: the f16 for each byte of each channel */
    float number[3][256];   /* the same in f32 */
};
/* As ss_op_picture(), but the network's first compute set makes it out of *raw: the three channels
 * of all pixels of n pictures, row by row, padded with zeros to a multiple of 4 pixels; flat. */
struct activation ss_op_pixels(struct nn *nn, uint32_t n, uint32_t h, uint32_t w,
                               const struct pixel_format *c, struct tensor *raw, const char *name);

/* Numbers that arrive as bytes in *raw, flat: of f16 or f32, in a new variable of that shape. They
 * are of one channel, or of three in turn, each of `plane` elements in a row, which is then a
 * multiple of 4. raw is filled up to a multiple of 4. */
struct tensor ss_op_bytes(struct nn *nn, enum elem elem, unsigned rank, const uint32_t *shape,
                          uint32_t channels, uint32_t plane, const struct pixel_format *c,
                          struct tensor *raw, const char *name);

/* The type of partial sums, between two blocks of 16 input channels and on their way to the tile
 * that adds them up. F32 takes twice the time in the matrix unit and twice the words in exchanges.
 * Depthwise convolutions ignore it: they sum a pass of the kernel in f32, and passes in f16. */
enum conv_partials { PARTIALS_F16, PARTIALS_F32 };

/* What depthwise convolutions multiply with: the sliding unit and the matrix unit on the same sums,
 * which no published program does, or the sliding unit alone, in more passes. */
enum conv_depthwise { DEPTHWISE_MIXED, DEPTHWISE_SLIDING };

/* A convolution with everything that can be fused after it. Output (y, x) reads, for tap (i, j) of
 * the kernel, input (y stride_h - pad_top + i dilation_h, x stride_w - pad_left + j dilation_w).
 * The result has as many positions as windows fit in the padded input. */
struct conv_layer {
    /* Groups may have any number of channels. Neighbouring ones are joined, and compute with zeros
     * what they do not share, unless they have a multiple of 16, or one each, a kernel of 3 or 5
     * square, stride 1 or 2 and dilation 1. */
    uint32_t out_c, groups;
    uint32_t kernel_h, kernel_w, stride_h, stride_w; /* of any size */
    uint32_t dilation_h, dilation_w;                 /* 1: no gaps in the kernel */
    uint32_t pad_top, pad_bottom, pad_left, pad_right;
    const float *weights; /* [out_c][in_c / groups][kernel_h][kernel_w], borrowed during the call */
    const float *bias;    /* [out_c], borrowed during the call; NULL: all 0 */
    /* Parameters that change from run to run: tensors, f16 or f32 (then rounded first), instead of
     * weights and bias. w has the shape of weights, or the form of ss_conv_weights_home(), with
     * which tiles fetch it like their input; from anything else it is packed first, in pieces as
     * long as its runs of neighbours in memory. NULL: constants. */
    const struct tensor *w, *b;
    enum activation_function act; /* none, relu or swish */
    enum conv_partials partials;
    enum conv_depthwise depthwise;
    /* Added before the activation; NULL: nothing. A layer of its own after sums in f32, depthwise
     * convolutions on the sliding unit, and first layers. */
    const struct activation *add;
    const struct conv_plan *plan; /* borrowed; made for ss_conv_layer_shape(). NULL: the cheapest */
};

/* The shape to be planned. Of x only the sizes matter; of weights, bias, w, b and add only whether
 * they are NULL. */
struct conv_shape ss_conv_layer_shape(const struct activation *x, const struct conv_layer *l);

/* Where weights that are a tensor had best live. `blocks` is what ss_op_conv() takes as w, in
 * memory as the matrix unit, the sliding unit or the kernel of first layers wants it, with zeros
 * for channels that there are not: they must stay zero. `weights` is the same memory as
 * [out_c][in_c / groups][kernel_h][kernel_w], without these zeros. */
struct conv_home {
    struct tensor blocks, weights;
    uint32_t whole; /* elements of blocks, in their order, that had best stay on one tile */
};
/* A new variable for the weights of a layer on x, in whole blocks, dealt out to all compute tiles
 * in turn. Contents are undefined until written, zeros included. */
struct conv_home ss_conv_weights_home(struct nn *nn, const struct activation *x,
                                      const struct conv_layer *l, enum elem e, const char *name);
/* The view `weights` of any tensor in the form of `blocks`, a gradient or a state of an optimiser.
 */
struct tensor ss_conv_weights_matrix(struct nn *nn, const struct activation *x,
                                     const struct conv_layer *l, struct tensor blocks);

/* plan: gets the plan that was used, with its predicted cycles; NULL allowed. */
struct activation ss_op_conv(struct nn *nn, struct activation x, const struct conv_layer *layer,
                             struct conv_plan *plan, const char *name);

/* Mean over the field: [c16][n][1][1][16]. */
struct activation ss_op_global_pool(struct nn *nn, struct activation x, const char *name);
/* Fully connected on [c16][n][1][1][16]: weights [out][x.c], bias [out] or NULL. */
struct activation ss_op_linear(struct nn *nn, struct activation x, uint32_t out,
                               const float *weights, const float *bias,
                               enum activation_function act, const char *name);
/* The same with tensors, f16 or f32, that tiles fetch: w [out][x.c], best row by row in memory; b
 * [out] or NULL. */
struct activation ss_op_linear_tensors(struct nn *nn, struct activation x, struct tensor w,
                                       const struct tensor *b, enum activation_function act,
                                       const char *name);
/* x times s [c16][n][1][1][16], in place; returns x. */
struct activation ss_op_channel_scale(struct nn *nn, struct activation x, struct activation s,
                                      const char *name);
/* act(x scale + shift), a number each for every channel: [c], borrowed during the call; NULL: all
 * 1, all 0. The product is rounded to f16, then the sum. A new activation, where x lies or dealt
 * out anew, whichever is cheaper. act: none, relu or swish. */
struct activation ss_op_channel_affine(struct nn *nn, struct activation x, const float *scale,
                                       const float *shift, enum activation_function act,
                                       const char *name);
/* act(a + b), on the tiles where a lies. */
struct activation ss_op_activation_add(struct nn *nn, struct activation a, struct activation b,
                                       enum activation_function act, const char *name);
/* Pools over windows: output (y, x) sees, for (i, j) of the kernel, input (y stride_h - pad_top + i
 * dilation_h, x stride_w - pad_left + j dilation_w) where there is one. A mean is summed up in f32
 * and divided by the number of inputs that its window sees, with count_pads by that of inputs and
 * pads: it is off by at most 2^-11 of itself, and 2^-23 of the mean magnitude for each of its
 * inputs. EMU_USAGE for a window that sees no input. */
enum pool_function { POOL_MAX, POOL_MEAN };
struct pool_layer {
    enum pool_function function;
    uint32_t kernel_h, kernel_w, stride_h, stride_w;
    uint32_t dilation_h, dilation_w; /* 1: no gaps in the window */
    uint32_t pad_top, pad_bottom, pad_left, pad_right;
    uint32_t out_h, out_w; /* of the result: the last windows may reach beyond the pads */
    int count_pads;
};
struct activation ss_op_pool(struct nn *nn, struct activation x, const struct pool_layer *layer,
                             const char *name);
/* Group norm of each picture, then act, in place. */
struct group_norm_layer {
    uint32_t groups; /* of channels, equally large */
    int strided;     /* 1: group k has channels k, k + groups, ..; 0: neighbours */
    float eps;
    const float *gamma, *beta; /* [c], borrowed during the call */
};
struct activation ss_op_group_norm(struct nn *nn, struct activation x,
                                   const struct group_norm_layer *layer,
                                   enum activation_function act, const char *name);
/* Softmax of each picture: [n][c] in f32, from [c16][n][1][1][16]. */
struct tensor ss_op_scores(struct nn *nn, struct activation x, const char *name);

SUPERSTEP_API_END

#endif
