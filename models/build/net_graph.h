/* net_graph.h - a network with its parameters as a graph program: layers that belong together are
 * fused (convolution, folded norm, residual, activation).
 */
#ifndef MODELS_NET_GRAPH_H
#define MODELS_NET_GRAPH_H

#include "models/build/net_memory.h"
#include "models/weights/weights.h"

/* What became of a layer. */
struct layer_graph {
    uint32_t scope; /* of the graph: all that was made for the layer */
    uint32_t into;  /* the layer whose result holds this one's, itself if it was not fused */
    struct activation result; /* of layers that have one */
    int has_result;
    int kept;              /* the host may read the result after the run */
    struct conv_plan plan; /* convolutions; plan.cut_n is 0 for others */
};

struct net_graph {
    const struct net *net;     /* borrowed */
    struct layer_graph *layer; /* owned; by layer */
    struct activation picture; /* the input, [n][h][w][4] */
    struct tensor scores;      /* [n][classes] f32 */
    struct program program;    /* of one batch */
    struct tensor raw;         /* with colours: what op_pixels() takes */
    struct net_plans plans;    /* owned; of convolutions, and the memory expected with them */
};

/* Adds the network's program to a graph and makes it the graph's. The host may read the results of
 * layers [o->keep_begin, o->keep_end) and what these layers read. Errors: of the graph and of
 * plans, EMU_USAGE for a layer that cannot be lowered (named), EMU_NO_MEMORY. Free with
 * net_graph_free. */
enum emu_status net_graph_build(struct graph *g, const struct net *n, const struct weights *w,
                                const struct net_graph_options *o,
                                struct net_graph **out) EMU_MUST_CHECK;
void net_graph_free(struct net_graph *ng);

#endif
