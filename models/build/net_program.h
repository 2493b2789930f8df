/* net_program.h - a network compiled for a machine: graph, plans, image. How much memory a program
 * needs is known once it is compiled; if that is more than expected, it is planned again for less.
 */
#ifndef MODELS_NET_PROGRAM_H
#define MODELS_NET_PROGRAM_H

#include "models/build/net_graph.h"

struct net_program_options {
    struct net_graph_options net;
    /* Not NULL: the program is a loop over batches; net.pixels must be set. NULL: one batch. */
    const struct prefetch_options *prefetch; /* borrowed */
    struct compile_options compile;
    /* 1: do not compile a network that is expected to need NET_HOPELESS times the memory. */
    int give_up;
};

enum { NET_HOPELESS = 2 };

struct net_program { /* all owned */
    struct graph *graph;
    struct net_graph *net_graph;
    struct prefetch prefetch;
    struct compiled *compiled; /* may not fit: compiled_fits(); NULL: given up, plans say why */
};

/* Plans, builds and compiles. n and w are borrowed. Errors: those of graphs and plans; EMU_USAGE
 * when there are too few IO tiles (emu_error() says how many are needed). Free with
 * net_program_free. */
enum emu_status net_program_new(const struct arch *a, const struct net *n, const struct weights *w,
                                const struct net_program_options *o,
                                struct net_program *out) EMU_MUST_CHECK;
void net_program_free(struct net_program *p); /* p may be all zero, and is all zero afterwards */

#endif
