/* net_build.h - describes a network layer by layer; private to models/net.
 *
 * The first error is kept: later calls do nothing and return LAYER_NONE, which every call accepts.
 * `name` and `param`: a text that begins with '.' is appended to the block's name or prefix, "" is
 * the block's name or prefix itself, any other text is the whole name.
 */
#ifndef MODELS_NET_BUILD_H
#define MODELS_NET_BUILD_H

#include "models/net/net.h"

struct net_builder {
    struct net *net; /* borrowed; layers are appended to it */
    size_t cap;
    char block[LAYER_NAME_MAX], prefix[LAYER_NAME_MAX];
    int torch_padding;
    enum norm_kind norm;
    double batch_eps;
    enum emu_status status;
};

struct build_kernels {
    uint32_t out_c, kernel, stride, groups;
};

/* Layers from here on belong to this block. */
void build_block(struct net_builder *b, const char *block, const char *prefix);

uint32_t build_input(struct net_builder *b, uint32_t channels, uint32_t side);
uint32_t build_conv(struct net_builder *b, uint32_t from, const char *name, const char *param,
                    struct build_kernels s);
uint32_t build_norm(struct net_builder *b, uint32_t from, const char *name, const char *param);
/* pad: rows and columns on each side if the network has torch's padding (MaxPool2d(2, 2): 0); with
 * SAME padding it is not used. */
uint32_t build_maxpool(struct net_builder *b, uint32_t from, const char *name, uint32_t kernel,
                       uint32_t stride, uint32_t pad);
/* rank: of its weight in files, 2 or 4. */
uint32_t build_linear(struct net_builder *b, uint32_t from, const char *name, const char *param,
                      uint32_t out_c, unsigned rank);
/* A swish, relu, sigmoid, softmax or average pool. */
uint32_t build_unary(struct net_builder *b, enum layer_op op, uint32_t from, const char *name);
/* A scale or an add. */
uint32_t build_binary(struct net_builder *b, enum layer_op op, uint32_t x, uint32_t y,
                      const char *name);

/* Published properties of a network besides its layers. */
struct net_traits {
    uint32_t side; /* of its pictures, in pixels */
    double crop;   /* as net.crop */
    enum norm_kind norm;
    int torch_only;        /* 1: it exists with torch padding only */
    double eps, torch_eps; /* of batch norm with SAME padding, with torch padding */
};

/* The networks. A variant of EfficientNet is 0..7, + EFFICIENTNET_G16 for groups of 16. The user's
 * options are in b->net, with defaults in place of zeros. */
enum { EFFICIENTNET_G16 = 16 };
struct net_traits efficientnet_traits(unsigned variant);
void build_efficientnet(struct net_builder *b, unsigned variant);
struct net_traits resnet_traits(unsigned variant);
void build_resnet50(struct net_builder *b, unsigned variant);

#endif
