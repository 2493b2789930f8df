/* net_program.h - a network compiled for a machine: graph, plans, image. The memory a program needs
 * is known when it is compiled; one that needs more than was expected is planned again for less.
 */
#ifndef MODELS_NET_PROGRAM_H
#define MODELS_NET_PROGRAM_H

#include "models/build/net_graph.h"

struct net_program_options {
    struct net_graph_options net;
    /* With net.colours: a loop over batches that IO tiles fetch. NULL: one batch. */
    const struct prefetch_options *prefetch; /* borrowed */
    struct compile_options compile;
    /* 1: a network that is expected to need NET_HOPELESS times the memory is not compiled. */
    int give_up;
};

enum { NET_HOPELESS = 2 };

struct net_program { /* all owned */
    struct graph *graph;
    struct net_graph *net_graph;
    struct prefetch prefetch;
    struct compiled *compiled; /* may not fit: compiled_fits(); NULL: given up, see the plans */
};

/* Free with net_program_free. n and w are borrowed. Errors: of graphs and plans; EMU_USAGE for IO
 * tiles that are too few (emu_error() says how many are needed). */
enum emu_status net_program_new(const struct arch *a, const struct net *n, const struct weights *w,
                                const struct net_program_options *o,
                                struct net_program *out) EMU_MUST_CHECK;
void net_program_free(struct net_program *p); /* may be all zero, and is afterwards */

#endif
