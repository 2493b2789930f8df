/* compare_layers.h - what the machine computed, layer by layer, against the f64 reference of that
 * layer alone, fed with the machine's own inputs: so errors do not add up, and a wrong layer shows
 * itself. Every number has its own bound, see layer_error.h.
 */
#ifndef MODELS_COMPARE_LAYERS_H
#define MODELS_COMPARE_LAYERS_H

#include "models/build/net_graph.h"
#include "models/ref/ref.h"

/* What all comparisons of a run came to. */
struct layer_comparison {
    FILE *f; /* borrowed: the table */
    uint32_t compared, broken;
    char first[256]; /* what broke its bound first */
};

/* Compares the results of layers [begin, end), which the program kept (net_graph_options), and
 * prints a line for each. EMU_NO_MEMORY. */
enum emu_status compare_layers(const struct net_graph *ng, const struct weights *w,
                               struct session *s, uint32_t begin, uint32_t end,
                               struct layer_comparison *sum) EMU_MUST_CHECK;

/* The head of the table, and what it came to. EMU_FAULT when a bound is broken, with the first. */
void compare_layers_begin(const struct layer_comparison *sum);
enum emu_status compare_layers_end(const struct layer_comparison *sum) EMU_MUST_CHECK;

#endif
