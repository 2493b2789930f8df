/* net_build.h - describes a network part by part; private to models/net.
 *
 * The first error is kept: later calls do nothing and return OP_NONE, which every call accepts.
 * `name` and `param`: a text that begins with '.' is appended to the block's name or prefix, "" is
 * the block's name or prefix itself, any other text is the whole name. Parts return the value that
 * they compute, which has their name.
 */
#ifndef MODELS_NET_BUILD_H
#define MODELS_NET_BUILD_H

#include "models/net/net.h"

struct net_builder {
    struct net *net; /* borrowed; parts are appended to its graph */
    size_t cap;
    char block[NET_NAME_MAX], prefix[NET_NAME_MAX];
    double batch_eps;
    enum emu_status status;
};

struct build_kernels {
    uint32_t out_c, kernel, stride, groups;
};

/* Parts from here on belong to this block. */
void build_block(struct net_builder *b, const char *block, const char *prefix);

/* The picture, normalised: [batch][3][side][side]. */
uint32_t build_picture(struct net_builder *b);
/* A convolution without bias. */
uint32_t build_conv(struct net_builder *b, uint32_t from, const char *name, const char *param,
                    struct build_kernels s);
/* The norm of the network; role: PARAM_NORM or PARAM_BRANCH_NORM. */
uint32_t build_norm(struct net_builder *b, uint32_t from, const char *name, const char *param,
                    enum param_role role);
/* pad: rows and columns on each side if the network has torch's padding (MaxPool2d(2, 2): 0); with
 * SAME padding it is not used. */
uint32_t build_maxpool(struct net_builder *b, uint32_t from, const char *name, uint32_t kernel,
                       uint32_t stride, uint32_t pad);
/* A layer of squeeze and excitation: a convolution of fields of one, with a bias. */
uint32_t build_squeeze(struct net_builder *b, uint32_t from, const char *name, const char *param,
                       uint32_t out_c, enum param_role role);
/* From [n][c][1][1] to the scores of classes, which are the network's output. */
uint32_t build_classifier(struct net_builder *b, uint32_t from, const char *param);
/* An operator of one or two inputs without attributes. */
uint32_t build_unary(struct net_builder *b, enum op_code op, uint32_t from, const char *name);
uint32_t build_binary(struct net_builder *b, enum op_code op, uint32_t x, uint32_t y,
                      const char *name);
/* The channels of a value; 0 after an error. */
uint32_t build_channels(const struct net_builder *b, uint32_t value);

/* Published properties of a network besides its layers. */
struct net_traits {
    uint32_t side; /* of its pictures, in pixels */
    double crop;   /* as net.crop, like the next */
    uint32_t torch_side, torch_resize;
    int torch_bilinear;
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
