/* fusion.c - finds the layers that are fused with the one before them. */
#include "models/build/fusion.h"

void fusion_count_users(const struct net *n, uint32_t *users)
{
    for (uint32_t i = 0; i < n->layers; i++) {
        for (int k = 0; k < 2; k++) {
            if (n->layer[i].input[k] != LAYER_NONE)
                users[n->layer[i].input[k]]++;
        }
    }
}

int fusion_follows(const struct net *n, const uint32_t *users, uint32_t i, enum layer_op op)
{
    const struct layer *next = i + 1 < n->layers ? &n->layer[i + 1] : NULL;

    return next && next->op == op && users[i] == 1 && (next->input[0] == i || next->input[1] == i);
}

enum activation_function fusion_activation(const struct net *n, const uint32_t *users, uint32_t i,
                                           int sigmoid)
{
    if (fusion_follows(n, users, i, LAYER_SWISH))
        return ACT_SWISH;
    if (fusion_follows(n, users, i, LAYER_RELU))
        return ACT_RELU;
    return sigmoid && fusion_follows(n, users, i, LAYER_SIGMOID) ? ACT_SIGMOID : ACT_NONE;
}

struct fusion fusion_of_conv(const struct net *n, const uint32_t *users, uint32_t i)
{
    struct fusion f = { .last = i, .norm = LAYER_NONE, .add = LAYER_NONE, .other = LAYER_NONE };
    int norm = fusion_follows(n, users, i, LAYER_NORM);

    if (norm && n->layer[i + 1].norm == NORM_BATCH)
        f.norm = ++f.last;
    if (fusion_follows(n, users, f.last, LAYER_ADD) && (f.norm != LAYER_NONE || !norm)) {
        const struct layer *add = &n->layer[f.last + 1];

        f.other = add->input[0] == f.last ? add->input[1] : add->input[0];
        f.add = ++f.last;
    }
    f.act = fusion_activation(n, users, f.last, 0);
    f.last += f.act != ACT_NONE;
    return f;
}

uint32_t fusion_last(const struct net *n, const uint32_t *users, uint32_t i)
{
    switch (n->layer[i].op) {
    case LAYER_CONV:
        return fusion_of_conv(n, users, i).last;
    case LAYER_NORM:
        return i + (fusion_activation(n, users, i, 0) != ACT_NONE);
    case LAYER_LINEAR:
        return i + (fusion_activation(n, users, i, 1) != ACT_NONE);
    default:
        return i;
    }
}
