/* fusion.h - which layers after a convolution it takes along: a norm whose statistics are known, a
 * sum, an activation.
 */
#ifndef MODELS_FUSION_H
#define MODELS_FUSION_H

#include "models/net/net.h"

struct fusion {
    uint32_t last;      /* layer; the convolution itself if nothing is fused */
    uint32_t norm, add; /* layers; LAYER_NONE */
    uint32_t other;     /* what is added: a layer; LAYER_NONE */
    enum activation_function act;
};

/* How many layers read each layer. users: [n->layers], zero before. */
void fusion_count_users(const struct net *n, uint32_t *users);
/* Whether layer i + 1 is an op that takes layer i, and nobody else does. */
int fusion_follows(const struct net *n, const uint32_t *users, uint32_t i, enum layer_op op);
/* Whether a norm, an add or a fully connected layer i is followed by an activation for itself:
 * that; else ACT_NONE. sigmoid: that one counts, too. */
enum activation_function fusion_activation(const struct net *n, const uint32_t *users, uint32_t i,
                                           int sigmoid);
/* Of convolution i. */
struct fusion fusion_of_conv(const struct net *n, const uint32_t *users, uint32_t i);
/* The last layer of what begins with layer i: i itself, or what is fused after it. */
uint32_t fusion_last(const struct net *n, const uint32_t *users, uint32_t i);

#endif
