/* weights_graph.h - a network with its parameters as an operator graph. */
#ifndef MODELS_WEIGHTS_GRAPH_H
#define MODELS_WEIGHTS_GRAPH_H

#include "models/operators/operators.h"
#include "models/weights/weights.h"

/* The graph of a network: one input "picture" f32 [batch, 3, h, w], normalised; one output "scores"
 * f32 [batch, classes]. Parameters keep their names and are borrowed from w; nodes have the names
 * of layers. Only operators of version 17: swish and group norm are spelt in several.
 * EMU_NO_MEMORY. Free with op_graph_free. */
enum emu_status weights_graph_new(const struct net *n, const struct weights *w,
                                  struct op_graph **out) EMU_MUST_CHECK;

#endif
