/* compare_layers.h - what the machine computed, layer by layer, against the f64 reference of that
 * layer alone, fed with the machine's own inputs: so errors do not add up, and a wrong layer shows
 * itself. Every number has its own bound, see layer_error.h.
 */
#ifndef MODELS_COMPARE_LAYERS_H
#define MODELS_COMPARE_LAYERS_H

#include "models/build/net_graph.h"
#include "models/ref/ref.h"

/* Compares all results that the program kept (net_graph_options.keep_layers) and prints a table.
 * Errors: EMU_FAULT when a bound is broken, with the first layer; EMU_NO_MEMORY. */
enum emu_status compare_layers(const struct net_graph *ng, const struct weights *w,
                               struct session *s, FILE *f) EMU_MUST_CHECK;

#endif
