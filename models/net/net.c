/* net.c - the table of networks, and how one is made from its name and a user's choices. */
#include "models/net/net.h"

#include <inttypes.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "models/net/net_build.h"
#include "models/operators/op_print.h"

struct network {
    const char *name, *text;
    void (*build)(struct net_builder *b, unsigned variant);
    struct net_traits (*traits)(unsigned variant);
    unsigned variant;
};

#define B(n)                                                                                       \
    {                                                                                              \
        "efficientnet-b" #n, "EfficientNet-B" #n ": depthwise, expansion 6, batch norm",           \
            build_efficientnet, efficientnet_traits, n                                             \
    }
#define G16(n)                                                                                     \
    {                                                                                              \
        "efficientnet-b" #n "-g16",                                                                \
            "EfficientNet-B" #n ": groups of 16 channels, expansion 4, group norm",                \
            build_efficientnet, efficientnet_traits, EFFICIENTNET_G16 + n                          \
    }

static const struct network network[] = {
    B(0),
    B(1),
    B(2),
    B(3),
    B(4),
    B(5),
    B(6),
    B(7),
    G16(0),
    G16(1),
    G16(2),
    G16(3),
    G16(4),
    G16(5),
    G16(6),
    G16(7),
    { "resnet-50", "ResNet-50: batch norm, torch padding", build_resnet50, resnet_traits, 0 },
};

const char *net_name(unsigned i)
{
    return i < EMU_COUNT_OF(network) ? network[i].name : NULL;
}

const char *net_text(unsigned i)
{
    return i < EMU_COUNT_OF(network) ? network[i].text : NULL;
}

void net_nearest(struct nearest *s)
{
    for (unsigned i = 0; i < EMU_COUNT_OF(network); i++)
        nearest_try(s, network[i].name);
}

static enum emu_status find_network(const char *name, const struct network **out)
{
    struct nearest meant = { .word = name, .n = strlen(name) };

    for (unsigned i = 0; i < EMU_COUNT_OF(network); i++) {
        if (!strcmp(network[i].name, name)) {
            *out = &network[i];
            return EMU_OK;
        }
    }
    net_nearest(&meant);
    return FAIL(USAGE, "no network '%.60s';%s superstep models lists them", name,
                nearest_hint(&meant).text);
}

static enum emu_status check_range(const char *what, uint32_t v, uint32_t min, uint32_t max)
{
    if (v < min || v > max)
        return FAIL(USAGE, "%s: expected %u to %u, got %u", what, min, max, v);
    return EMU_OK;
}

static const char *const norm_name[] = {
    [NORM_BATCH] = "batch", [NORM_GROUP] = "group", [NORM_GROUP_CONTIGUOUS] = "group-contiguous"
};

/* Sets everything but the layers. */
static enum emu_status choose(const struct network *w, const struct net_options *o, struct net *n,
                              struct net_builder *b)
{
    struct net_traits t = w->traits(w->variant);

    snprintf(n->name, sizeof(n->name), "%s", w->name);
    n->crop = t.crop;
    n->torch_side = t.torch_side;
    n->torch_resize = t.torch_resize;
    n->torch_bilinear = t.torch_bilinear;
    n->batch = o->batch ? o->batch : 1;
    n->resolution = o->resolution ? o->resolution : t.side;
    n->classes = o->classes ? o->classes : 1000;
    TRY(check_range("batch", n->batch, 1, NET_BATCH_MAX));
    TRY(check_range("resolution", n->resolution, NET_SIDE_MIN, NET_SIDE_MAX));
    TRY(check_range("classes", n->classes, 1, NET_CLASSES_MAX));
    n->torch_padding = o->torch_padding || t.torch_only;
    b->batch_eps = n->torch_padding ? t.torch_eps : t.eps;
    n->norm = t.norm;
    for (unsigned k = 0; o->norm && k < EMU_COUNT_OF(norm_name); k++) {
        if (!strcmp(o->norm, norm_name[k])) {
            n->norm = (enum norm_kind)k;
            return EMU_OK;
        }
    }
    return o->norm ? FAIL(USAGE, "norm: expected batch, group or group-contiguous, got '%.40s'",
                          o->norm)
                   : EMU_OK;
}

static enum emu_status build(const struct network *w, struct net_builder *b)
{
    TRY(op_graph_new(b->net->name, &b->net->graph));
    w->build(b, w->variant);
    TRY(b->status);
    return op_graph_check(b->net->graph);
}

enum emu_status net_new(const char *name, const struct net_options *o, struct net **out)
{
    static const struct net_options own = { 0 };
    const struct network *w = NULL;
    struct net_builder b = { 0 };
    enum emu_status s;

    *out = NULL;
    TRY(find_network(name, &w));
    b.net = emu_alloc(1, sizeof(*b.net));
    if (!b.net)
        return FAIL(NO_MEMORY, "a network");
    s = choose(w, o ? o : &own, b.net, &b);
    if (s == EMU_OK)
        s = build(w, &b);
    if (s != EMU_OK) {
        net_free(b.net);
        return s;
    }
    *out = b.net;
    return EMU_OK;
}

void net_free(struct net *n)
{
    if (!n)
        return;
    op_graph_free(n->graph);
    ss_free(n->param);
    ss_free(n);
}

enum emu_status net_resized(const struct net *n, uint32_t resolution, uint32_t batch,
                            struct net **out)
{
    const struct net_options o = { .batch = batch,
                                   .resolution = resolution,
                                   .classes = n->classes,
                                   .torch_padding = n->torch_padding,
                                   .norm = norm_name[n->norm] };

    return net_new(n->name, &o, out);
}

/* ---- for people ---- */

static int is_statistic(const struct net_param *p)
{
    return !strncmp(p->suffix, "running_", 8);
}

uint64_t net_params(const struct net *n)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < n->params; i++)
        sum += is_statistic(&n->param[i]) ? 0 : op_shape_count(net_param_shape(n, i));
    return sum;
}

void net_print(const struct net *n, FILE *f)
{
    op_graph_print(n->graph, f);
    net_print_size(n, f);
}

void net_print_size(const struct net *n, FILE *f)
{
    fprintf(f,
            "%s: %u nodes, %" PRIu64 " parameters, %.1f M multiply-adds for one picture of %ux%u, "
            "%u classes\n",
            n->name, n->graph->nodes, net_params(n),
            (double)op_graph_macs(n->graph) / n->batch / 1e6, n->resolution, n->resolution,
            n->classes);
}
