/* names.c - the names of timm, derived from the names of layers; torchvision's are in the network.
 *
 * Source: timm/models/efficientnet.py and _efficientnet_blocks.py (DepthwiseSeparableConv,
 * InvertedResidual); torchvision/models/efficientnet.py. ResNet-50 has the same names in both.
 */
#include "emu/base/fail.h"
#include "models/weights/names.h"

#include <string.h>

const char *names_text(enum name_scheme s)
{
    return s == NAMES_TIMM ? "timm" : "torchvision";
}

/* Parts of a block of EfficientNet. A block without expansion is another class in timm, and its
 * parts are numbered differently. */
static const struct name_part {
    const char *layer, *expanded, *plain;
} part[] = {
    { ".expand", "conv_pw", NULL },
    { ".expand.norm", "bn1", NULL },
    { ".dw", "conv_dw", "conv_dw" },
    { ".dw.norm", "bn2", "bn1" },
    { ".se.fc1", "se.conv_reduce", "se.conv_reduce" },
    { ".se.fc2", "se.conv_expand", "se.conv_expand" },
    { ".project", "conv_pwl", "conv_pw" },
    { ".project.norm", "bn3", "bn2" },
};

/* Layers outside blocks. */
static const struct outer {
    const char *layer, *timm;
} outer[] = {
    { "stem", "conv_stem" }, { "stem.norm", "bn1" }, { "head", "conv_head" },
    { "head.norm", "bn2" },  { "fc", "classifier" },
};

/* timm's prefix for a layer in a block: "block3b" is block 1 of stage 2, and blocks of stage 0 have
 * no expansion. Returns 0 if the layer has no parameters. */
static int timm_block(const struct net_param *l, char out[96])
{
    unsigned stage = (unsigned)(l->block[5] - '1'), index = (unsigned)(l->block[6] - 'a');
    const char *rest = l->layer + strlen(l->block);

    for (size_t i = 0; i < EMU_COUNT_OF(part); i++) {
        const char *name = stage ? part[i].expanded : part[i].plain;

        if (name && !strcmp(rest, part[i].layer)) {
            snprintf(out, 96, "blocks.%u.%u.%s", stage, index, name);
            return 1;
        }
    }
    return 0;
}

static int timm_prefix(const struct net *n, const struct net_param *l, char out[96])
{
    if (strncmp(n->name, "efficientnet", 12))
        return 0;
    for (size_t i = 0; i < EMU_COUNT_OF(outer); i++) {
        if (!strcmp(l->layer, outer[i].layer)) {
            snprintf(out, 96, "%s", outer[i].timm);
            return 1;
        }
    }
    return !strncmp(l->block, "block", 5) && timm_block(l, out);
}

void names_make(const struct net *n, enum name_scheme s, uint32_t param, const char *suffix,
                char out[96])
{
    const struct net_param *p = &n->param[param];
    const char *name = n->graph->value[p->value].name;
    char prefix[96];

    if (s != NAMES_TIMM || !timm_prefix(n, p, prefix))
        snprintf(prefix, sizeof(prefix), "%.*s", (int)(strrchr(name, '.') - name), name);
    snprintf(out, 96, "%.75s.%.19s", prefix, suffix);
}
