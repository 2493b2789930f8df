/* models_graph.h - `superstep models NAME` and `models FILE.onnx`: the graph of a network, what
 * each node of it takes, and what of it cannot run.
 */
#ifndef MODELS_MODELS_GRAPH_H
#define MODELS_MODELS_GRAPH_H

#include "emu/cli/request.h"

/* Prints the graph to stdout, as a table or with --json as an object (docs/json.md): of a file what
 * is left after folding and fusing, where it is what `run` would run, or is refused as there; of a
 * name as its builder made it. With -o a file is written, after folding and before fusing.
 *
 * Errors: those of model_source_open(); EMU_USAGE, an option that is for networks by name; those of
 * output_open(). */
enum emu_status models_show(const struct request *q) EMU_MUST_CHECK;

#endif
