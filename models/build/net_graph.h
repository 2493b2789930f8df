/* net_graph.h - a network with its parameters as a graph program: layers that belong together are
 * fused (convolution, folded norm, residual, activation).
 */
#ifndef MODELS_NET_GRAPH_H
#define MODELS_NET_GRAPH_H

#include "models/build/net_memory.h"
#include "models/weights/weights.h"

/* What became of a layer. */
struct layer_graph {
    uint32_t scope; /* the graph's scope of everything that was made for the layer */
    uint32_t into;  /* the layer whose result holds this one's; itself if it was not fused */
    struct activation result; /* of layers that have one */
    int has_result;
    int kept;              /* the host may read the result after the run */
    struct conv_plan plan; /* of a convolution; plan.cut_n is 0 for other layers */
};

struct net_graph {
    const struct net *net;     /* borrowed */
    struct layer_graph *layer; /* owned; by layer */
    struct activation picture; /* the input, [n][h][w][4] */
    struct tensor scores;      /* [n][classes] f32 */
    struct program program;    /* computes one batch */
    struct tensor raw;         /* if the options have pixels: the input of op_pixels() */
    struct conv_plans plans;   /* owned; plans of all convolutions, and the memory they need */
};

/* Builds the network's program in g and makes it the program of g. After a run the host may read
 * the results of layers [o->keep_begin, o->keep_end) and of the layers that these read. Errors:
 * those of the graph and of plans; EMU_USAGE, which names a layer that cannot be lowered;
 * EMU_NO_MEMORY. Free with net_graph_free. */
enum emu_status net_graph_build(struct graph *g, const struct net *n, const struct weights *w,
                                const struct net_graph_options *o,
                                struct net_graph **out) EMU_MUST_CHECK;
void net_graph_free(struct net_graph *ng);

#endif
