/* net_check.c - finds layers that cannot be lowered before any time is spent on the network. */
#include "models/build/net_check.h"

#include "emu/base/alloc.h"
#include "models/build/fusion.h"
#include "models/build/net_memory.h"

static enum emu_status refuse(const struct layer *l, const char *what)
{
    return FAIL(USAGE, "layer %s (%s): %s", l->name, layer_op_name(l->op), what);
}

static enum emu_status check_conv(const struct arch *a, const struct net *n, const uint32_t *users,
                                  uint32_t i)
{
    /* The other way of depthwise convolutions needs no other instructions. */
    struct conv_shape s = net_conv_shape(n, users, i, DEPTHWISE_MIXED);
    enum emu_status st = conv_check(a, &s);

    return st == EMU_OK ? EMU_OK : emu_fail(st, "layer %s: %s", n->layer[i].name, emu_error());
}

static enum emu_status check_layer(const struct arch *a, const struct net *n, const uint32_t *users,
                                   uint32_t i)
{
    const struct layer *l = &n->layer[i];

    switch (l->op) {
    case LAYER_CONV:
        return check_conv(a, n, users, i);
    case LAYER_LINEAR:
        return l->in_h == 1 && l->in_w == 1 ? EMU_OK
                                            : refuse(l, "a fully connected layer on a field");
    case LAYER_NORM:
        return l->norm == NORM_GROUP ? EMU_OK
                                     : refuse(l, "a batch norm that follows no convolution");
    case LAYER_SWISH:
    case LAYER_RELU:
    case LAYER_SIGMOID:
        return refuse(l, "an activation that follows nothing it could be fused with");
    default:
        return EMU_OK;
    }
}

enum emu_status net_check(const struct arch *a, const struct net *n)
{
    uint32_t *users = emu_alloc(n->layers + 1, sizeof(*users));
    enum emu_status s = users ? EMU_OK : FAIL(NO_MEMORY, "a network of %u layers", n->layers);

    if (s == EMU_OK)
        fusion_count_users(n, users);
    for (uint32_t i = 0; i < n->layers && s == EMU_OK; i = fusion_last(n, users, i) + 1)
        s = check_layer(a, n, users, i);
    emu_free(users);
    return s;
}
