/* ops_nn.h - layers of convolutional networks: each adds compute sets to a sequence and returns its
 * result.
 *
 * Activations are f16 [c16][n][h][w][16]: 16 channels are the atom, c16 = ceil(c / 16), what is
 * after the last channel is zero and stays zero. A layer's result lies where its plan computes it;
 * the next layer fetches what it needs. Parameters are constants: every tile that uses them holds
 * them, or, where the plan of a convolution says so, one of these tiles does, and the others fetch
 * them with their input.
 */
#ifndef PROGRAMS_OPS_NN_H
#define PROGRAMS_OPS_NN_H

#include "programs/library/conv/conv_plan.h"
#include "programs/compiler/compiler.h"

enum activation_function { ACT_NONE, ACT_RELU, ACT_SWISH, ACT_SIGMOID };

/* A network under construction. */
struct nn;

/* seq: layers are added to it. memory_bytes: cap on the temporary memory of a layer on a tile; 0:
 * no cap. EMU_NO_MEMORY, or the graph's error. */
enum emu_status nn_new(struct graph *g, struct program seq, uint64_t memory_bytes,
                       struct nn **out) EMU_MUST_CHECK;
void nn_free(struct nn *nn);
/* What a KiB of a convolution's parameters on a tile is worth, in cycles (0 before): makes plans
 * slower and the program smaller. */
void nn_set_price(struct nn *nn, uint32_t kib_price);

/* An activation tensor and how many of its channels are real. */
struct activation {
    struct tensor t; /* [c16][n][h][w][16] */
    uint32_t n, c, h, w;
};

/* A variable for pictures of 3 or 4 channels, [n][h][w][4]: what op_conv() takes as a first layer.
 * Linear over all tiles; an input: written before every run. */
struct activation op_picture(struct nn *nn, uint32_t n, uint32_t h, uint32_t w, const char *name);

/* A picture [n][h][w][4] as an activation, for convolutions that are no first layer as above
 * (stride 1, say). */
struct activation op_picture_blocks(struct nn *nn, struct activation picture, const char *name);

/* How pictures come: three colours of a type. */
struct colours {
    enum elem elem;         /* u8, f16, f32 */
    uint16_t table[3][256]; /* u8: what each byte of each colour means, in f16 */
};
/* The same made of *raw, [pixels][3] of n pictures row by row, rounded up to 4 pixels with zeros,
 * flat: by the first compute set of the network. */
struct activation op_pixels(struct nn *nn, uint32_t n, uint32_t h, uint32_t w,
                            const struct colours *c, struct tensor *raw, const char *name);

/* In what sums of products wait for the next block of 16 input channels, and travel to the tile
 * that adds them up. F32 costs twice the time in the matrix unit and twice the words. Depthwise
 * convolutions know one way only, whatever is asked for: sums of a row of the kernel in f32, f16
 * between rows. */
enum conv_partials { PARTIALS_F16, PARTIALS_F32 };

/* A convolution with everything that can be fused after it. */
struct conv_layer {
    /* groups: of any number of channels; joined where 16 does not divide it and it is not 1. */
    uint32_t out_c, kernel, stride, groups;
    uint32_t pad_top, pad_bottom, pad_left, pad_right;
    const float *weights; /* [out_c][in_c / groups][kernel][kernel], borrowed during the call */
    const float *bias;    /* [out_c]; NULL: 0 */
    enum activation_function act; /* none, relu or swish */
    enum conv_partials partials;
    const struct activation *add; /* added before the activation; NULL: nothing */
    const struct conv_plan *plan; /* borrowed; for conv_layer_shape(); NULL: the cheapest one */
};

/* What there is to plan; of x the sizes count, of weights, bias and add only whether there is one.
 */
struct conv_shape conv_layer_shape(const struct activation *x, const struct conv_layer *l);

/* plan: what was chosen, with its predicted cycles; NULL allowed. */
struct activation op_conv(struct nn *nn, struct activation x, const struct conv_layer *layer,
                          struct conv_plan *plan, const char *name);

/* Mean over the field: [c16][n][1][1][16]. */
struct activation op_global_pool(struct nn *nn, struct activation x, const char *name);
/* Fully connected on [c16][n][1][1][16]: weights [out][x.c], bias [out] or NULL. */
struct activation op_linear(struct nn *nn, struct activation x, uint32_t out, const float *weights,
                            const float *bias, enum activation_function act, const char *name);
/* x times s [c16][n][1][1][16], in place; returns x. */
struct activation op_channel_scale(struct nn *nn, struct activation x, struct activation s,
                                   const char *name);
/* a + b, where a lies. */
struct activation op_activation_add(struct nn *nn, struct activation a, struct activation b,
                                    enum activation_function act, const char *name);
struct activation op_max_pool(struct nn *nn, struct activation x, uint32_t kernel, uint32_t stride,
                              uint32_t pad, const char *name);
/* Group norm over groups of channels of each picture, then act, in place. gamma, beta: [c]. */
struct activation op_group_norm(struct nn *nn, struct activation x, uint32_t groups, float eps,
                                const float *gamma, const float *beta, enum activation_function act,
                                const char *name);
/* [n][c] in f32 of [c16][n][1][1][16]: softmax of each picture. */
struct tensor op_scores(struct nn *nn, struct activation x, const char *name);

#endif
