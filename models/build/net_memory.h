/* net_memory.h - plans of all convolutions of a network under the memory of one chip: which
 * parameters stay on the tiles that use them, which are fetched, and how much a layer may take for
 * itself. Chosen so that the sum of predicted cycles is least.
 */
#ifndef MODELS_NET_MEMORY_H
#define MODELS_NET_MEMORY_H

#include "models/net/net.h"

struct net_graph_options {
    double memory_proportion;    /* of a tile for temporaries of one layer; 0: what is left */
    double parameter_proportion; /* of a tile for parameters of convolutions; 0: what is left */
    uint64_t reserve_bytes;      /* of a tile, besides what is expected to be needed */
    /* Results of layers [keep_begin, keep_end) and what these layers read stay to the end. */
    uint32_t keep_begin, keep_end;
    /* NULL: the host writes the picture. Else it comes so, and the program is left to the caller.
     */
    const struct colours *colours;
};

struct net_plans {
    struct conv_plan *plan; /* owned; by layer, of convolutions */
    uint32_t layers, convs, fetched;
    /* Expected, on the fullest tile: parameters of convolutions, and all at the worst moment. */
    uint64_t resident_bytes, peak_bytes;
    uint64_t cycles; /* of all convolutions */
    int fits;        /* peak_bytes are there; else these are the plans that need least */
};

/* The shape of convolution i with what is fused with it. users: of fusion_count_users(). */
struct conv_shape net_conv_shape(const struct net *n, const uint32_t *users, uint32_t i);

/* For the first tiles of a chip. Errors: of plan_conv, EMU_NO_MEMORY. Free with net_plans_free. */
enum emu_status net_plans_choose(const struct arch *a, uint32_t tiles, const struct net *n,
                                 const struct net_graph_options *o,
                                 struct net_plans *out) EMU_MUST_CHECK;
void net_plans_free(struct net_plans *p);

/* Bytes of activations that lie on all tiles together while layer i runs, temporaries not counted,
 * nor the result of a convolution itself. live: [n->layers], of layers that are not fused with an
 * earlier one. EMU_NO_MEMORY. */
enum emu_status net_live_bytes(const struct net *n, uint32_t keep_begin, uint32_t keep_end,
                               uint64_t *live) EMU_MUST_CHECK;

#endif
