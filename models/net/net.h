/* net.h - a network as a list of layers: their shapes, their inputs and the names of their
 * parameters; no values, no tiles.
 *
 * Layers are in order of execution. Each has one or two inputs, which are earlier layers, and one
 * output [batch][channels][height][width]; the first layer is the picture. Parameters have
 * torchvision's names; models/weights/names.h derives timm's.
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
    LAYER_LINEAR,  /* [c][1][1] -> [out][1][1], weight [out][in] or [out][in][1][1], bias */
    LAYER_SCALE,   /* input 0 [c][h][w] times input 1 [c][1][1] */
    LAYER_ADD,     /* input 0 + input 1 */
    LAYER_SOFTMAX,
    LAYER_OP_COUNT
};
const char *layer_op_name(enum layer_op op); /* "conv", "fc": as in the published layer tables */

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
    uint32_t norm_groups; /* group norm only, else 0 */
    double eps;           /* norm */
    int bias;             /* 1: a linear layer with a bias */
    unsigned weight_rank; /* of its weight in files: 4; classifier 2, norm 1, others 0 */
};

struct net {
    char name[LAYER_NAME_MAX];
    uint32_t batch, resolution, classes;
    double mean[3], std[3]; /* by channel: the picture is normalised with them */
    double crop;            /* side of the cut over the shorter side of the resized picture */
    int torch_padding;      /* as in struct net_options */
    struct layer *layer;    /* owned */
    uint32_t layers;
};

enum { NET_BATCH_MAX = 4096, NET_SIDE_MIN = 8, NET_SIDE_MAX = 4096, NET_CLASSES_MAX = 1 << 16 };

/* What a user may choose; 0 means the network's own value (batch 1, 1000 classes).
 *
 * The two public families of EfficientNet differ in padding and in the eps of batch norm:
 * TensorFlow pads as SAME, with eps 1e-3; torchvision and timm's own weights pad k / 2 on both
 * sides, with eps 1e-5 for B0 to B4. ResNet-50 exists with torch padding only and always has it.
 * Group norm has 4 groups and eps 1e-3.
 */
struct net_options {
    uint32_t batch, resolution, classes;
    int torch_padding; /* k / 2 on both sides, as torchvision; else TensorFlow's SAME */
    const char *norm;  /* "batch", "group"; NULL: the network's own */
};

/* A network by name: efficientnet-b0 .. -b7, the same with -g16, resnet-50. NULL o: all zeros.
 * Errors: EMU_USAGE (no such name; the message lists them; or a number out of range),
 * EMU_NO_MEMORY. net_free accepts NULL. */
enum emu_status net_new(const char *name, const struct net_options *o,
                        struct net **out) EMU_MUST_CHECK;
void net_free(struct net *n);
/* The same network, with the same parameters, for another size and number of pictures.
 * EMU_NO_MEMORY. Free with net_free. */
enum emu_status net_resized(const struct net *n, uint32_t resolution, uint32_t batch,
                            struct net **out) EMU_MUST_CHECK;
/* (v / 255 - mean) / std for a byte of channel 0, 1 or 2, in f32. */
float net_normalise(const struct net *n, unsigned channel, uint8_t v);
/* The name of network i, and one line about it; NULL after the last one. */
const char *net_name(unsigned i);
const char *net_text(unsigned i);

/* The first layer with this name; LAYER_NONE if there is none. */
uint32_t net_find(const struct net *n, const char *layer);

/* The layer whose output is the logits; LAYER_NONE if there is none. */
uint32_t net_classifier(const struct net *n);

/* Multiply-adds of a layer for one picture, and its trainable parameters. */
uint64_t layer_macs(const struct layer *l);
uint64_t layer_params(const struct layer *l);
uint64_t net_macs(const struct net *n);
uint64_t net_params(const struct net *n);
/* Numbers in a layer's output of one picture. */
uint64_t layer_elements(const struct layer *l);

/* The layers as a table for people. */
void net_print(const struct net *n, FILE *f);

#endif
