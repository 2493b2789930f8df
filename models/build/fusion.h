/* fusion.h - which layers become one operation of the chip: a convolution with the batch norm, the
 * sum and the activation after it; a group norm or a fully connected layer with its activation.
 */
#ifndef MODELS_FUSION_H
#define MODELS_FUSION_H

#include "models/net/net.h"

/* What is fused with a convolution. Members are layers. */
struct fusion {
    uint32_t last;      /* the last of them; the convolution itself if nothing is fused */
    uint32_t norm, add; /* LAYER_NONE if there is none */
    uint32_t other;     /* the other operand of add; LAYER_NONE without an add */
    enum activation_function act;
};

/* Counts how many layers read each layer. users: [n->layers], zeroed by the caller. */
void fusion_count_users(const struct net *n, uint32_t *users);
/* Whether layer i + 1 is an `op` and the only layer that reads layer i. */
int fusion_follows(const struct net *n, const uint32_t *users, uint32_t i, enum layer_op op);
/* The activation function that can be fused with layer i (a norm, an add or a fully connected
 * layer); ACT_NONE if there is none. sigmoid: not 0: a sigmoid counts, too. */
enum activation_function fusion_activation(const struct net *n, const uint32_t *users, uint32_t i,
                                           int sigmoid);
/* What is fused with convolution i. */
struct fusion fusion_of_conv(const struct net *n, const uint32_t *users, uint32_t i);
/* The last layer fused with layer i; i itself if there is none. */
uint32_t fusion_last(const struct net *n, const uint32_t *users, uint32_t i);

#endif
