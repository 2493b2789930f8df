/* efficientnet.c - EfficientNet B0 to B7 (arXiv 1905.11946), depthwise with expansion 6, or with
 * groups of 16 channels and expansion 4 (arXiv 2106.03640). Parameter names are torchvision's. */
#include "emu/base/fail.h"
#include "models/net/net_build.h"

/* Stages of B0. */
static const struct efficientnet_stage {
    uint32_t kernel, stride, out_c, blocks;
} stage[] = {
    { 3, 1, 16, 1 },  { 3, 2, 24, 2 },  { 5, 2, 40, 2 },  { 3, 2, 80, 3 },
    { 5, 1, 112, 3 }, { 5, 2, 192, 4 }, { 3, 1, 320, 1 },
};

enum { STEM_CHANNELS = 32, HEAD_CHANNELS = 1280, CHANNEL_STEP = 8, SQUEEZE = 4, GROUP_WIDTH = 16 };

/* Multipliers in tenths, so that no rounding depends on binary fractions. */
static const struct scaling {
    uint32_t width10, depth10, side;
    double crop;
    uint32_t torch_side, torch_resize;
} scaling[] = {
    { 10, 10, 224, 0.875, 224, 256 }, { 10, 11, 240, 0.882, 240, 256 },
    { 11, 12, 260, 0.890, 288, 288 }, { 12, 14, 300, 0.904, 300, 320 },
    { 14, 18, 380, 0.922, 380, 384 }, { 16, 22, 456, 0.934, 456, 456 },
    { 18, 26, 528, 0.942, 528, 528 }, { 20, 31, 600, 0.949, 600, 600 },
};

static const struct scaling *scaling_of(unsigned variant)
{
    EMU_ASSERT(variant % EFFICIENTNET_G16 < EMU_COUNT_OF(scaling));
    return &scaling[variant % EFFICIENTNET_G16];
}

struct net_traits efficientnet_traits(unsigned variant)
{
    const struct scaling *z = scaling_of(variant);

    return (struct net_traits){ .side = z->side,
                                .crop = z->crop,
                                .torch_side = z->torch_side,
                                .torch_resize = z->torch_resize,
                                .norm = variant >= EFFICIENTNET_G16 ? NORM_GROUP : NORM_BATCH,
                                .eps = 1e-3,
                                .torch_eps = variant % EFFICIENTNET_G16 < 5 ? 1e-5 : 1e-3 };
}

/* Channels times width, to the nearest multiple of 8, but never more than a tenth below. */
static uint32_t round_channels(uint32_t channels, uint32_t width10)
{
    uint32_t wide = channels * width10, half = 10 * CHANNEL_STEP / 2;
    uint32_t c = (wide + half) / (10 * CHANNEL_STEP) * CHANNEL_STEP;

    if (c < CHANNEL_STEP)
        c = CHANNEL_STEP;
    return 100 * c < 9 * wide ? c + CHANNEL_STEP : c;
}

/* As many groups as divide the channels evenly with at least 16 in each: a field of 24 channels
 * becomes one group, as in the published table of B4. */
static uint32_t groups_of(uint32_t channels)
{
    uint32_t g = channels / GROUP_WIDTH;

    while (g > 1 && channels % g)
        g--;
    return g ? g : 1;
}

/* One inverted bottleneck block. torchvision numbers its parts; without expansion they begin with
 * the depthwise convolution. */
static uint32_t mbconv(struct net_builder *b, uint32_t x, const struct efficientnet_stage *s,
                       uint32_t expand, uint32_t out_c, int g16)
{
    static const char *const conv[] = { ".0.0", ".1.0", ".2.0", ".3.0" };
    static const char *const norm[] = { ".0.1", ".1.1", ".2.1", ".3.1" };
    static const char *const fc1[] = { ".0.fc1", ".1.fc1", ".2.fc1" };
    static const char *const fc2[] = { ".0.fc2", ".1.fc2", ".2.fc2" };
    uint32_t in = x, in_c = build_channels(b, x), mid = in_c * expand, gate, part = 0;
    int adds = s->stride == 1 && in_c == out_c;

    if (b->status != EMU_OK)
        return OP_NONE;
    if (expand > 1) {
        x = build_conv(b, x, ".expand", conv[part], (struct build_kernels){ mid, 1, 1, 1 });
        x = build_norm(b, x, ".expand.norm", norm[part++], PARAM_NORM);
        x = build_unary(b, OP_Swish, x, ".expand.act");
    }
    x = build_conv(b, x, ".dw", conv[part],
                   (struct build_kernels){ mid, s->kernel, s->stride, g16 ? groups_of(mid) : mid });
    x = build_norm(b, x, ".dw.norm", norm[part++], PARAM_NORM);
    x = build_unary(b, OP_Swish, x, ".dw.act");
    gate = build_unary(b, OP_GlobalAveragePool, x, ".se.pool");
    gate = build_squeeze(b, gate, ".se.fc1", fc1[part], in_c / SQUEEZE, PARAM_SQUEEZE);
    gate = build_unary(b, OP_Swish, gate, ".se.act");
    gate = build_squeeze(b, gate, ".se.fc2", fc2[part++], mid, PARAM_GATE);
    gate = build_unary(b, OP_Sigmoid, gate, ".se.sigmoid");
    x = build_binary(b, OP_Mul, x, gate, ".se.scale");
    x = build_conv(b, x, ".project", conv[part], (struct build_kernels){ out_c, 1, 1, 1 });
    x = build_norm(b, x, ".project.norm", norm[part], adds ? PARAM_BRANCH_NORM : PARAM_NORM);
    return adds ? build_binary(b, OP_Add, x, in, ".add") : x;
}

static uint32_t stages(struct net_builder *b, uint32_t x, const struct scaling *z, int g16)
{
    for (unsigned i = 0; i < EMU_COUNT_OF(stage); i++) {
        uint32_t blocks = (stage[i].blocks * z->depth10 + 9) / 10;
        uint32_t out_c = round_channels(stage[i].out_c, z->width10);
        struct efficientnet_stage s = stage[i];

        for (uint32_t k = 0; k < blocks; k++) {
            char block[NET_NAME_MAX], prefix[NET_NAME_MAX];

            snprintf(block, sizeof(block), "block%u%c", i + 1, (char)('a' + k));
            snprintf(prefix, sizeof(prefix), "features.%u.%u.block", i + 1, k);
            build_block(b, block, prefix);
            x = mbconv(b, x, &s, i == 0 ? 1 : g16 ? 4 : 6, out_c, g16);
            s.stride = 1;
        }
    }
    return x;
}

void build_efficientnet(struct net_builder *b, unsigned variant)
{
    const struct scaling *z = scaling_of(variant);
    int g16 = variant >= EFFICIENTNET_G16;
    uint32_t x;

    x = build_picture(b);
    build_block(b, "stem", "features.0");
    x = build_conv(b, x, "", ".0",
                   (struct build_kernels){ round_channels(STEM_CHANNELS, z->width10), 3, 2, 1 });
    x = build_norm(b, x, ".norm", ".1", PARAM_NORM);
    x = build_unary(b, OP_Swish, x, ".act");
    x = stages(b, x, z, g16);
    build_block(b, "head", "features.8");
    x = build_conv(b, x, "", ".0",
                   (struct build_kernels){ round_channels(HEAD_CHANNELS, z->width10), 1, 1, 1 });
    x = build_norm(b, x, ".norm", ".1", PARAM_NORM);
    x = build_unary(b, OP_Swish, x, ".act");
    x = build_unary(b, OP_GlobalAveragePool, x, "avgpool");
    build_classifier(b, x, "classifier.1");
}
