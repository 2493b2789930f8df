/* compare_layers.h - compares what the machine computed, layer by layer, with the f64 reference of
 * each layer. The reference takes the machine's own inputs, so errors do not add up from layer to
 * layer, and a wrong layer stands out. Every number has a bound of its own, see layer_error.h.
 */
#ifndef MODELS_COMPARE_LAYERS_H
#define MODELS_COMPARE_LAYERS_H

#include <jansson.h>

#include "models/build/net_graph.h"
#include "models/ref/ref.h"

/* The outcome of all comparisons of a run. */
struct layer_comparison {
    FILE *f;                   /* borrowed: where the table goes, or one JSON object */
    json_t *rows;              /* borrowed: the list of its layers; NULL: a table is wanted */
    uint32_t compared, broken; /* layers; those with a number beyond its bound */
    char first[256];           /* the first of these, as text */
};

/* Compares the results of layers [begin, end), which the program has kept (net_graph_options), and
 * adds a row for each. EMU_NO_MEMORY. */
enum emu_status compare_layers(const struct net_graph *ng, const struct weights *w,
                               struct session *s, uint32_t begin, uint32_t end,
                               struct layer_comparison *sum) EMU_MUST_CHECK;

/* Print the head of the table and its summary, or at the end all of it as JSON. EMU_FAULT when a
 * number is beyond its bound; the message has the first. EMU_NO_MEMORY. */
void compare_layers_begin(const struct layer_comparison *sum);
enum emu_status compare_layers_end(const struct layer_comparison *sum) EMU_MUST_CHECK;

#endif
