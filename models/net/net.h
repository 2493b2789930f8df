/* net.h - a network as a list of layers: shapes, parameters and where values come from. No tiles,
 * no numbers.
 *
 * Layers are in order of execution; each has one or two inputs that are earlier layers (or the
 * picture), and one output [batch][channels][height][width]. Parameters have the names that
 * torchvision or timm give them, so that files of either can be read.
 */
#ifndef MODELS_NET_H
#define MODELS_NET_H

#include "programs/programs.h"

enum layer_op {
    LAYER_INPUT, /* the picture: normalised, [3][h][w] */
    LAYER_CONV,  /* groups, kernel, stride, padding; weight [out][in / groups][k][k], no bias */
    LAYER_NORM,  /* batch norm in inference (scale, shift from statistics) or group norm */
    LAYER_SWISH,
    LAYER_RELU,
    LAYER_SIGMOID,
    LAYER_MAXPOOL, /* kernel, stride, padding */
    LAYER_AVGPOOL, /* over the whole field -> [c][1][1] */
    LAYER_LINEAR,  /* [c][1][1] -> [out][1][1], weight [out][in], bias */
    LAYER_SCALE,   /* input 0 [c][h][w] times input 1 [c][1][1] */
    LAYER_ADD,     /* input 0 + input 1 */
    LAYER_SOFTMAX,
    LAYER_OP_COUNT
};
const char *layer_op_name(enum layer_op op); /* "conv" */

enum norm_kind { NORM_BATCH, NORM_GROUP };

/* Padding of a convolution or pool before (top, left) and after (bottom, right). */
struct padding {
    uint32_t before_h, after_h, before_w, after_w;
};

enum { LAYER_NAME_MAX = 64, LAYER_NONE = UINT32_MAX };

struct layer {
    char name[LAYER_NAME_MAX];  /* "block2a.expand", as in the published layer tables */
    char block[LAYER_NAME_MAX]; /* "block2a" */
    char param[LAYER_NAME_MAX]; /* prefix of its parameters in files: "features.2.0.block.0.0" */
    enum layer_op op;
    uint32_t input[2]; /* layers; LAYER_NONE */
    uint32_t in_c, in_h, in_w, out_c, out_h, out_w;
    uint32_t kernel, stride, groups;
    struct padding pad;
    enum norm_kind norm;
    uint32_t norm_groups;
    double eps; /* norm */
    int bias;   /* conv and linear: it has one */
};

struct net {
    char name[LAYER_NAME_MAX];
    uint32_t batch, resolution, classes;
    double mean[3], std[3]; /* of the input's normalisation */
    struct layer *layer;    /* owned */
    uint32_t layers;
};

/* What a user may choose; zeros are the network's own. */
struct net_options {
    uint32_t batch, resolution, classes;
    int torch_padding; /* k / 2 on both sides, as torchvision; else TensorFlow's SAME */
    const char *norm;  /* "batch", "group"; NULL: the network's own */
};

/* A network by name: efficientnet-b0 .. -b7, the same with -g16, resnet-50. Errors: EMU_USAGE (no
 * such name; the message lists them), EMU_NO_MEMORY. net_free accepts NULL. */
enum emu_status net_new(const char *name, const struct net_options *o,
                        struct net **out) EMU_MUST_CHECK;
void net_free(struct net *n);
/* Names of all networks, NULL at the end, and one line about each. */
const char *net_name(unsigned i);
const char *net_text(unsigned i);

/* Multiply-adds of a layer for one picture, and its trainable parameters. */
uint64_t layer_macs(const struct layer *l);
uint64_t layer_params(const struct layer *l);
uint64_t net_macs(const struct net *n);
uint64_t net_params(const struct net *n);

/* The layers as a table for people. */
void net_print(const struct net *n, FILE *f);

#endif
