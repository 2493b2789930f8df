/* net_count.c - multiply-adds and parameters, counted as published tables do: only convolutions and
 * linear layers have multiply-adds, those with padding count, running statistics are not
 * parameters. */
#include "models/net/net.h"

uint64_t layer_elements(const struct layer *l)
{
    return (uint64_t)l->out_c * l->out_h * l->out_w;
}

/* Weights without bias. */
static uint64_t layer_weights(const struct layer *l)
{
    return (uint64_t)l->out_c * (l->in_c / l->groups) * l->kernel * l->kernel;
}

uint64_t layer_macs(const struct layer *l)
{
    switch (l->op) {
    case LAYER_CONV:
    case LAYER_LINEAR:
        return layer_weights(l) * l->out_h * l->out_w;
    default:
        return 0;
    }
}

uint64_t layer_params(const struct layer *l)
{
    switch (l->op) {
    case LAYER_CONV:
    case LAYER_LINEAR:
        return layer_weights(l) + (l->bias ? l->out_c : 0);
    case LAYER_NORM:
        return 2ull * l->out_c;
    default:
        return 0;
    }
}

uint64_t net_macs(const struct net *n)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < n->layers; i++)
        sum += layer_macs(&n->layer[i]);
    return sum;
}

uint64_t net_params(const struct net *n)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < n->layers; i++)
        sum += layer_params(&n->layer[i]);
    return sum;
}
