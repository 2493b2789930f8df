/* net_memory.h - plans for all convolutions of a network that together fit the memory of one chip.
 */
#ifndef MODELS_NET_MEMORY_H
#define MODELS_NET_MEMORY_H

#include "models/lower/conv_plans.h"
#include "models/net/net.h"

struct net_graph_options {
    /* Shares of a tile's memory, 0 to 1; 0: what the rest leaves. */
    double memory_proportion;    /* for the temporaries of one layer */
    double parameter_proportion; /* for the parameters of convolutions */
    uint64_t reserve_bytes;      /* of a tile, kept free beyond the expected need */
    enum conv_depthwise depthwise;
    /* The results of layers [keep_begin, keep_end) and of the layers these read stay to the end. */
    uint32_t keep_begin, keep_end;
    /* NULL: the host writes the normalised picture before the run. Else pictures come in this
     * format, and the caller makes the graph's program out of net_graph.program. */
    const struct pixel_format *pixels;
};

/* The sizes of a convolution, without what is fused with it and without parameters. */
struct conv_layer net_conv_layer(const struct layer *l);
/* The shape of convolution i with what is fused with it. users: see fusion_count_users(). */
struct conv_shape net_conv_shape(const struct net *n, const uint32_t *users, uint32_t i,
                                 enum conv_depthwise depthwise);

/* Plans for the first `tiles` tiles of a chip, by layer; only convolutions have one. Errors: those
 * of plan_conv(), EMU_NO_MEMORY. Free with conv_plans_free. */
enum emu_status net_plans_choose(const struct arch *a, uint32_t tiles, const struct net *n,
                                 const struct net_graph_options *o,
                                 struct conv_plans *out) EMU_MUST_CHECK;

/* Bytes of activations on all tiles together while layer i runs, without temporaries and without
 * the result of layer i if it is a convolution. live: [n->layers]; entries of layers that are fused
 * with an earlier one mean nothing. EMU_NO_MEMORY. */
enum emu_status net_live_bytes(const struct net *n, uint32_t keep_begin, uint32_t keep_end,
                               uint64_t *live) EMU_MUST_CHECK;

#endif
