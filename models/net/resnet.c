/* resnet.c - ResNet-50 (arXiv 1512.03385) with the stride in the 3x3 convolution, as torchvision
 * has it; the parameter names are torchvision's and timm's alike. */
#include "emu/base/fail.h"
#include "models/net/net_build.h"

static const struct resnet_stage {
    uint32_t width, blocks, stride;
} stage[] = { { 64, 3, 1 }, { 128, 4, 2 }, { 256, 6, 2 }, { 512, 3, 2 } };

enum { STEM_CHANNELS = 64, EXPANSION = 4 };

static uint32_t bottleneck(struct net_builder *b, uint32_t x, uint32_t width, uint32_t stride,
                           int first)
{
    uint32_t in = x;

    x = build_conv(b, x, ".reduce", ".conv1", (struct build_kernels){ width, 1, 1, 1 });
    x = build_norm(b, x, ".reduce.norm", ".bn1", PARAM_NORM);
    x = build_unary(b, OP_Relu, x, ".reduce.act");
    x = build_conv(b, x, ".conv", ".conv2", (struct build_kernels){ width, 3, stride, 1 });
    x = build_norm(b, x, ".conv.norm", ".bn2", PARAM_NORM);
    x = build_unary(b, OP_Relu, x, ".conv.act");
    x = build_conv(b, x, ".expand", ".conv3", (struct build_kernels){ width * EXPANSION, 1, 1, 1 });
    x = build_norm(b, x, ".expand.norm", ".bn3", PARAM_BRANCH_NORM);
    if (first) {
        in = build_conv(b, in, ".shortcut", ".downsample.0",
                        (struct build_kernels){ width * EXPANSION, 1, stride, 1 });
        in = build_norm(b, in, ".shortcut.norm", ".downsample.1", PARAM_NORM);
    }
    x = build_binary(b, OP_Add, x, in, ".add");
    return build_unary(b, OP_Relu, x, ".act");
}

struct net_traits resnet_traits(unsigned variant)
{
    (void)variant;
    return (struct net_traits){ .side = 224,
                                .crop = 0.875,
                                .torch_side = 224,
                                .torch_resize = 256,
                                .torch_bilinear = 1,
                                .norm = NORM_BATCH,
                                .torch_only = 1,
                                .torch_eps = 1e-5 };
}

void build_resnet50(struct net_builder *b, unsigned variant)
{
    uint32_t x;

    (void)variant;
    x = build_picture(b);
    build_block(b, "stem", "");
    x = build_conv(b, x, "", "conv1", (struct build_kernels){ STEM_CHANNELS, 7, 2, 1 });
    x = build_norm(b, x, ".norm", "bn1", PARAM_NORM);
    x = build_unary(b, OP_Relu, x, ".act");
    x = build_maxpool(b, x, ".pool", 3, 2, 1);
    for (unsigned i = 0; i < EMU_COUNT_OF(stage); i++) {
        for (uint32_t k = 0; k < stage[i].blocks; k++) {
            char block[NET_NAME_MAX], prefix[NET_NAME_MAX];

            snprintf(block, sizeof(block), "block%u%c", i + 1, (char)('a' + k));
            snprintf(prefix, sizeof(prefix), "layer%u.%u", i + 1, k);
            build_block(b, block, prefix);
            x = bottleneck(b, x, stage[i].width, k ? 1 : stage[i].stride, !k);
        }
    }
    build_block(b, "head", "");
    x = build_unary(b, OP_GlobalAveragePool, x, "avgpool");
    build_classifier(b, x, "fc");
}
