/* ops_nn.h - layers of convolutional networks: each adds compute sets to a sequence and returns its
 * result.
 *
 * Activations are f16 [n][c16][h][w][16]: 16 channels are the atom, c16 = ceil(c / 16), what is
 * behind the last channel is zero and stays zero. A layer's result lies where its plan computes it;
 * the next layer fetches what it needs. Parameters are constants, held by every tile that uses
 * them.
 */
#ifndef PROGRAMS_OPS_NN_H
#define PROGRAMS_OPS_NN_H

#include "programs/plan/plan_conv.h"
#include "programs/programs.h"

enum activation { ACT_NONE, ACT_RELU, ACT_SWISH };

/* An activation tensor and how many of its channels are real. */
struct feature {
    struct tensor t; /* [n][c16][h][w][16] */
    uint32_t n, c, h, w;
};

/* A variable for pictures: [n][1][h][w][4] when c is 3 or 4 (what op_conv() takes as a first
 * layer), else as above; linear over all tiles. */
struct feature op_feature(struct graph *g, uint32_t n, uint32_t c, uint32_t h, uint32_t w,
                          const char *name);

/* A convolution with everything that can be fused behind it. */
struct conv_layer {
    uint32_t out_c, kernel, stride, groups; /* groups: 1, the input's channels, or groups of 16 */
    uint32_t pad_top, pad_bottom, pad_left, pad_right;
    const float *weights; /* [out_c][in_c / groups][kernel][kernel], borrowed during the call */
    const float *bias;    /* [out_c]; NULL: 0 */
    enum activation act;
    const struct feature *add; /* added before the activation; NULL: nothing */
};

/* plan: what was chosen, with its predicted cycles; NULL allowed. memory_bytes: cap on temporary
 * memory of a tile. */
struct feature op_conv(struct graph *g, struct program seq, struct feature x,
                       const struct conv_layer *layer, uint64_t memory_bytes,
                       struct conv_plan *plan, const char *name);

/* Mean over the field: [n][c16][1][1][16]. */
struct feature op_global_pool(struct graph *g, struct program seq, struct feature x,
                              const char *name);
/* Fully connected on [n][c16][1][1][16]: weights [out][in], bias [out] or NULL. sigmoid: of the
 * result, after act. */
struct feature op_linear(struct graph *g, struct program seq, struct feature x, uint32_t out,
                         const float *weights, const float *bias, enum activation act, int sigmoid,
                         const char *name);
/* x [n][c16][h][w][16] times s [n][c16][1][1][16], in place; returns x. */
struct feature op_channel_scale(struct graph *g, struct program seq, struct feature x,
                                struct feature s, const char *name);
/* a + b, where a lies. */
struct feature op_feature_add(struct graph *g, struct program seq, struct feature a,
                              struct feature b, enum activation act, const char *name);
struct feature op_max_pool(struct graph *g, struct program seq, struct feature x, uint32_t kernel,
                           uint32_t stride, uint32_t pad, const char *name);
/* Group norm over groups of channels of each picture, then act. gamma, beta: [c]. */
struct feature op_group_norm(struct graph *g, struct program seq, struct feature x, uint32_t groups,
                             float eps, const float *gamma, const float *beta, enum activation act,
                             const char *name);
/* [n][c] in f32 of [n][c16][1][1][16]: softmax of each picture. */
struct tensor op_scores(struct graph *g, struct program seq, struct feature x, const char *name);

#endif
